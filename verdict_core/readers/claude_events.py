"""What a row of a Claude Code record says that a summary is made of.

In: one row, as an object. Out: its place in the graph with its role in the turn, and events: calls
and results of the few tools that matter, the person's words, whole task lists, the queue. Law:
nothing is taken from sidechain rows, from rows that the host wrote for itself, or from copies of
messages in other rows. (SPEC RD-CC)
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from verdict_core.readers import claude_words as words
from verdict_core.readers.claude_rows import BOUNDARY, SIDE, TALKS, Role, Rows
from verdict_core.readers.jsonlines import Object

QUESTION_TOOL = "AskUserQuestion"
PLAN_TOOL = "ExitPlanMode"
TODO_TOOL = "TodoWrite"
TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate", "TaskList"})
_WANTED = TASK_TOOLS | {QUESTION_TOOL, PLAN_TOOL, TODO_TOOL}
_WANTED_NAMES = frozenset(name.encode() for name in _WANTED)
# What JSON writes as it is.
_PLAIN = re.compile(r"[A-Za-z0-9 ,.:;_()-]+")


@frozen
class Call:
    """A call of a tool that matters. `input` is as it stands; of Bash it is whether it commits
    into a `scratch` repository, of Write the `plan` that it writes down."""

    row: int
    id: str
    name: str
    input: Mapping[str, Any]


@frozen
class Result:
    """What a call gave. `value` is the host's structured form, where there is one."""

    row: int
    call: str
    failed: bool
    text: str
    value: Any

    @property
    def rejected(self) -> bool:
        """The person did not let the call through."""
        return self.failed and self.text.startswith(words.REJECTED)

    @property
    def reason(self) -> str | None:
        """What the person said when rejecting, or None for a rejection without words."""
        return words.reason(self.text) if self.rejected else None


@frozen
class Words:
    """Words that were given to the assistant. `said`: by the person; else a notification. `queued`:
    they were delivered from the queue in mid-turn. `plan`: the plan that they hand over."""

    row: int
    text: str
    said: bool
    queued: bool = False
    plan: str | None = None


@frozen
class Asked:
    """A text of the assistant that ends in a question mark."""

    row: int
    text: str


@frozen
class TaskReminder:
    """The host's own list of all tasks."""

    row: int
    tasks: Any


@frozen
class Queued:
    """An operation on the queue of typed input and notifications."""

    row: int
    operation: str
    content: str | None


@frozen
class Blocked:
    """A hook blocked the prompt before this row."""

    row: int


Event = Call | Result | Words | Asked | TaskReminder | Queued | Blocked


@define
class Listener:
    """Hears row after row: puts each into `rows`, and what it says into `events`, in file order.
    `counts` has what only the notes tell; `session` and `timestamp` are the last ones."""

    rows: Rows = field(factory=Rows)
    events: list[Event] = field(factory=list)
    counts: dict[str, int] = field(factory=dict)
    session: str | None = None
    timestamp: str | None = None
    # Each plan, and bytes that stand in every line which writes it down.
    _plans: dict[str, bytes] = field(factory=dict)
    _kept: set[bytes] = field(factory=set)
    _passed: int = -1

    def hear(self, row: Object) -> None:
        """Takes one row of the record. (SPEC RD-CC-6)"""
        kind = row.get("type")
        if kind == "queue-operation":
            content = words.text_of(row.get("content"))
            self.events.append(Queued(len(self.rows), str(row.get("operation")), content))
        elif isinstance(row.get("uuid"), str) or kind in ("user", "assistant"):
            self._graph(kind, row)

    def wants_call(self, name: bytes, line: bytes) -> bool:
        """Whether a call of this tool, somewhere in `line`, may be an event."""
        if name == b"Bash":
            return b"commit" in line
        if name == b"Write":
            return any(needle in line for needle in self._plans.values())
        return name in _WANTED_NAMES

    def wants_result(self, call: bytes) -> bool:
        """Whether the result of this call may be an event. A result can stand before its call, so
        one of a call that is not known yet may be, too."""
        return call in self._kept or call not in self.rows.call_rows

    def pass_by(self, number: int, row: Object) -> None:
        """Takes what only the last row tells, if there is none behind row `number`."""
        if number < self._passed:
            return
        self._passed = number
        session, timestamp = row.get("sessionId"), row.get("timestamp")
        if isinstance(session, str):
            self.session = session
        if isinstance(timestamp, str):
            self.timestamp = timestamp

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _graph(self, kind: Any, row: Object) -> None:
        uuid = row.get("uuid")
        parent = row.get("parentUuid") or row.get("logicalParentUuid")
        flags = _flags(kind, row)
        number = self.rows.add(
            uuid.encode() if isinstance(uuid, str) else b"",
            parent.encode() if isinstance(parent, str) else None,
            flags,
        )
        if flags & SIDE:
            return
        self.pass_by(number, row)
        match kind:
            case "assistant":
                role = self._assistant(number, row)
            case "user":
                role = self._user(number, row)
            case "attachment":
                role = self._attachment(number, _mapping(row.get("attachment")))
            case "system":
                role = self._system(number, row)
            case _:
                return
        self.rows.set_role(number, role)

    def _system(self, number: int, row: Object) -> Role:
        if row.get("subtype") == "compact_boundary":
            self._count("compactions")
        if str(row.get("content")).startswith(words.BLOCKED_BY_HOOK):
            self.events.append(Blocked(number))
            return Role.STOP
        return Role.NOTHING

    def _attachment(self, number: int, attachment: Mapping[str, Any]) -> Role:
        match attachment.get("type"):
            case "task_reminder":
                self.events.append(TaskReminder(number, attachment.get("content")))
            case "queued_command":
                return self._delivered(number, attachment)
            case "hook_stopped_continuation":
                return Role.STOP
        return Role.NOTHING

    def _delivered(self, number: int, attachment: Mapping[str, Any]) -> Role:
        text = "\n".join(_texts(attachment.get("prompt")))
        typed = attachment.get("commandMode", "prompt") == "prompt"
        said = typed and not text.startswith(words.NOT_SAID) and _is_person(attachment)
        self.events.append(Words(number, text, said, queued=True))
        return Role.MESSAGE if said else Role.NUDGE

    def _assistant(self, number: int, row: Object) -> Role:
        message = _mapping(row.get("message"))
        answer = words.text_of(message.get("id"))
        if answer:
            self.rows.add_answer(number, answer.encode())
        if message.get("model") == words.SYNTHETIC or row.get("isApiErrorMessage") is True:
            # The host's own words where there was no answer.
            self._count("synthetic_answer")
            return Role.NOTHING
        role = Role.NOTHING
        for block in _blocks(message.get("content")):
            role = self._answer_block(number, block)
        # Words before a call that is not on disk yet.
        calls = role == Role.TEXT and message.get("stop_reason") == "tool_use"
        return Role.CALL if calls else role

    def _answer_block(self, number: int, block: Mapping[str, Any]) -> Role:
        if block.get("type") == "tool_use":
            self._call(number, block)
            return Role.CALL
        text = block.get("text") if block.get("type") == "text" else None
        if not isinstance(text, str) or not text.strip():
            return Role.THOUGHT
        if words.asks(text):
            self.events.append(Asked(number, text))
        return Role.TEXT

    def _call(self, number: int, block: Mapping[str, Any]) -> None:
        call, name = str(block.get("id")), str(block.get("name"))
        kept = self._kept_input(name, _mapping(block.get("input")))
        self.rows.call_rows[call.encode()] = number
        if kept is not None:
            self._kept.add(call.encode())
            self.events.append(Call(number, call, name, kept))

    def _kept_input(self, name: str, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if name == PLAN_TOOL:
            self._remember_plan(given.get("plan"))
        if name in _WANTED:
            return given
        if name == "Bash":
            command = str(given.get("command"))
            return {"scratch": words.makes_repository(command)} if words.commits(command) else None
        if name == "Write" and "/.claude/" not in str(given.get("file_path")):
            text = f"\n{given.get('content')}\n"
            plan = next((plan for plan in self._plans if f"\n{plan}\n" in text), None)
            return None if plan is None else {"plan": plan}
        return None

    def _remember_plan(self, plan: Any) -> None:
        if isinstance(plan, str) and plan.strip():
            plan = plan.strip()
            self._plans[plan] = max(_PLAIN.findall(plan), key=len, default="")[:64].encode()

    def _user(self, number: int, row: Object) -> Role:
        content = _mapping(row.get("message")).get("content")
        role = Role.NOTHING
        for block in _blocks(content):
            if block.get("type") == "tool_result":
                role = self._result(number, block, row.get("toolUseResult"))
        if row.get("isMeta") is True or row.get("isCompactSummary") is True:
            return role
        return self._words(number, row, content) or role

    def _result(self, number: int, block: Mapping[str, Any], value: Any) -> Role:
        call = str(block.get("tool_use_id"))
        failed = block.get("is_error") is True
        text = "\n".join(_texts(block.get("content")))
        result = Result(number, call, failed, text, value)
        self.rows.add_result(number, call.encode())
        if self.wants_result(call.encode()):
            self.events.append(result)
        return Role.STOP if result.rejected and result.reason is None else Role.RESULT

    def _words(self, number: int, row: Object, content: Any) -> Role:
        texts = [text for text in _texts(content) if text.strip()]
        images = any(block.get("type") == "image" for block in _blocks(content))
        typed = [text for text in texts if not text.startswith(words.NOT_SAID)]
        if typed or images:
            return self._say(number, row, "\n".join(typed))
        for text in texts:
            if text.startswith(words.STOPPED_BY_HOOK):
                self.events.append(Blocked(number))
            if text.startswith((words.STOPPED_BY_HOOK, words.INTERRUPTED)):
                return Role.STOP
            if text.startswith(words.NOTIFICATIONS):
                self.events.append(Words(number, text, said=False))
                return Role.NUDGE
        return Role.NOTHING

    def _say(self, number: int, row: Object, text: str) -> Role:
        said = _is_person(row)
        handed = text if text.startswith(words.PLAN_MESSAGE) else None
        plan = words.text_of(row.get("planContent")) or handed
        if plan is not None:
            self._remember_plan(plan.removeprefix(words.PLAN_MESSAGE))
        self.events.append(Words(number, text, said, plan=plan))
        return Role.MESSAGE if said else Role.NUDGE


def _flags(kind: Any, row: Object) -> int:
    flags = TALKS if kind in ("user", "assistant") else 0
    if row.get("isSidechain") is True:
        flags |= SIDE
    if row.get("subtype") == "compact_boundary" or row.get("isCompactSummary") is True:
        flags |= BOUNDARY
    return flags


def _is_person(row: Mapping[str, Any]) -> bool:
    return _mapping(row.get("origin")).get("kind") in (None, "human")


def _blocks(content: Any) -> Iterator[Mapping[str, Any]]:
    for block in content if isinstance(content, list) else (content,):
        if isinstance(block, str):
            yield {"type": "text", "text": block}
        elif isinstance(block, dict):
            yield block


def _texts(content: Any) -> Iterator[str]:
    for block in _blocks(content):
        text = block.get("text") if block.get("type") == "text" else None
        if isinstance(text, str):
            yield text


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
