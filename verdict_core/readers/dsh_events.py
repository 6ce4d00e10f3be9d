"""What a row of a DSH record says that a summary is made of.

In: one row, as an object. Out: events, and what waits in the inbox. Laws: only a message whose
source is a user is the person's; the host's own events of todos and goal are believed, calls of the
tools behind them are not read. (SPEC RD-DSH)
"""

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

from attrs import define, field, frozen

from verdict_core.readers import claude_words as shell
from verdict_core.readers import flow
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.session import Unread, arguments, mapping, text_of
from verdict_core.readers.todo_status import first_text, item

QUESTION_TOOL = "ask_user_question"
PLAN_TOOL = "exit_plan_mode"
SHELL_TOOL = "bash"
WANTED = frozenset({QUESTION_TOOL, PLAN_TOOL, SHELL_TOOL})
_APPROVED = "Plan approved"
# Rows that say nothing; what they are pieces of stands whole in a later row.
_PIECES = (b'{"type":"assistant/chunk",', b'{"type":"request/', b'{"type":"step/')
# Where a host keeps the words of an answer, beside the id of its question.
_NO_ANSWER = frozenset({"id", "question", "header"})


@frozen
class _Waiting:
    """A call that waits for its result. `questions`: the text of each by its id."""

    row: int
    name: str
    given: Mapping[str, Any]
    questions: Mapping[str, str]


@define
class Listener:
    """Hears row after row, and has what they say. `inbox` has the messages that wait, by target;
    `begun`: the first row opened the record; `parent`: the session that this one is a child of."""

    events: list[flow.Event] = field(factory=list)
    rows: int = 0
    begun: bool = False
    session: str | None = None
    parent: str | None = None
    compactions: int = 0
    inbox: dict[str, list[Mapping[str, Any]]] = field(factory=dict)
    notes: dict[str, str] = field(factory=dict)
    _pending: dict[str, _Waiting] = field(factory=dict)

    def hear(self, row: Object) -> None:
        """Takes one row of the record. (SPEC RD-DSH-1)"""
        number, self.rows = self.rows, self.rows + 1
        data = mapping(row.get("data"))
        match row.get("type"):
            case "session":
                self._open(number, row)
            case "turn/start" | "turn/end" as kind:
                self.events.append(flow.Turn(number, begins=kind == "turn/start"))
            case "user/message":
                self._message(number, data)
            case "assistant/message":
                self._answer(mapping(data.get("message")))
            case "tool/call":
                self._call(number, data)
            case "tool/result":
                self._result(number, data)
            case "todo/write":
                self.events.append(flow.Listed(number, data.get("todos")))
            case "goal/change":
                self._goal(number, data)
            case "agent/inbox/spliced":
                self._splice(data)
            case "compaction/start":
                self.compactions += 1

    def unread(self, chunk: bytes) -> Iterator[Unread]:
        """The lines of a chunk that need parsing; pieces of an answer that comes whole later do
        not. (SPEC RD-LINE-4)"""
        count = size = 0
        for line in BytesIO(chunk):
            # A second row in the line has a number of its own.
            if (
                line.startswith(_PIECES)
                and line.endswith(b"}}\n")
                and b"\0" not in line
                and line.count(b'"seq":') == 1
            ):
                count += 1
                size += len(line)
            else:
                self.rows += count
                yield count, size, line
                count = size = 0
        self.rows += count
        yield count, size, b""

    @property
    def queued(self) -> tuple[str, ...]:
        """Typed input that still waits. (SPEC RD-DSH-6)"""
        waiting = (message for messages in self.inbox.values() for message in messages)
        return tuple(item(text_of(one.get("content"))) for one in waiting if _is_person(one))

    def _open(self, number: int, row: Object) -> None:
        if number == 0:
            self.begun = True
            name, parent = row.get("id"), row.get("parentSession")
            self.session = name if isinstance(name, str) else None
            self.parent = parent if isinstance(parent, str) else None

    def _message(self, number: int, data: Mapping[str, Any]) -> None:
        if _is_person(data):
            self.events.append(flow.Said(number, text_of(data.get("content"))))

    def _answer(self, message: Mapping[str, Any]) -> None:
        blocks = message.get("content")
        kinds = [mapping(one).get("type") for one in blocks] if isinstance(blocks, list) else []
        if "tool-call" in kinds:
            flow.add_work(self.events, flow.Work.CALL)
            return
        text = text_of(blocks)
        self.events.append(flow.Answer(text if shell.asks(text) else None))

    def _call(self, number: int, data: Mapping[str, Any]) -> None:
        flow.add_work(self.events, flow.Work.CALL)
        name, given = str(data.get("name")), arguments(data.get("arguments")) or {}
        questions: dict[str, str] = {}
        if name == QUESTION_TOOL:
            asked = given.get("questions")
            listed = asked if isinstance(asked, list) and asked else [given]
            for place, one in enumerate(listed):
                text = first_text(mapping(one), ("question", "header"))
                questions[str(mapping(one).get("id", place))] = text
            self.events.append(flow.Asked(number, tuple(questions.values())))
        elif name == SHELL_TOOL and not self._commits(str(given.get("command"))):
            return
        if name in WANTED:
            call = str(data.get("callId"))
            self._pending[call] = _Waiting(number, name, given, questions)

    def _commits(self, command: str) -> bool:
        if not shell.commits(command):
            return False
        if shell.makes_repository(command):
            self.notes["scratch_commit"] = (
                "a commit into a repository made by the same command settles nothing"
            )
            return False
        return True

    def _result(self, number: int, data: Mapping[str, Any]) -> None:
        flow.add_work(self.events, flow.Work.REST)
        message = mapping(data.get("message"))
        waiting = self._pending.pop(str(mapping(message.get("source")).get("callId")), None)
        if waiting is None:
            return
        blocks = message.get("content")
        block = mapping(blocks[0]) if isinstance(blocks, list) and blocks else {}
        text = text_of(block.get("content"))
        failed = block.get("isError") is True or "error" in data
        if waiting.name == SHELL_TOOL:
            if shell.committed(text, over=not failed):
                self.events.append(flow.Committed(waiting.row))
        elif failed:
            return
        elif waiting.name == QUESTION_TOOL:
            found = _answers(text, waiting.questions)
            if found:
                self.events.append(flow.Answered(number, found))
        elif text.startswith(_APPROVED):
            self.events.append(flow.Decided(number, item(waiting.given.get("plan"))))

    def _goal(self, number: int, data: Mapping[str, Any]) -> None:
        goal = data.get("goal")
        if data.get("operation") == "clear":
            self.events.append(flow.Goal(number, None))
        elif isinstance(goal, dict):
            self.events.append(flow.Goal(number, goal))
        else:
            self.events.append(flow.Doubt(number, "bad_goal", "a goal cannot be read"))

    def _splice(self, data: Mapping[str, Any]) -> None:
        waiting = self.inbox.setdefault(str(data.get("target")), [])
        start, count = data.get("start"), data.get("removedCount")
        start = start if isinstance(start, int) and start >= 0 else len(waiting)
        count = count if isinstance(count, int) and count >= 0 else 0
        inserted = data.get("inserted")
        messages = inserted if isinstance(inserted, list) else []
        waiting[start : start + count] = [mapping(message) for message in messages]


def _is_person(message: Mapping[str, Any]) -> bool:
    return mapping(message.get("source")).get("kind") == "user"


def _answers(text: str, questions: Mapping[str, str]) -> dict[str, str]:
    """The answers that are some, by question."""
    given = (arguments(text) or {}).get("answers")
    found: dict[str, str] = {}
    for one in given if isinstance(given, list) else ():
        parts = [part for key, value in mapping(one).items() if key not in _NO_ANSWER
                 for part in (value if isinstance(value, list) else [value])]  # fmt: skip
        answer = ", ".join(part for part in parts if isinstance(part, str) and part.strip())
        name = str(mapping(one).get("id"))
        if answer:
            found[questions.get(name, name)] = answer
    return found
