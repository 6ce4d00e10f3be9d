"""A Gemini CLI session record, read into todos, questions, decisions and next steps.

In: the path of a `session-*.jsonl`, or of an older `session-*.json`. Out: a `Reading`. Laws: of the
records with one id the last counts; what was rewound never happened; a history that the host cut
down to a summary still happened. (SPEC RD-GEM)
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import jiter
from attrs import define, field

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import Record, arguments, mapping, opened, text_of
from verdict_core.readers.turns import Turns, objects

READER = "gemini-cli"
_TODOS = "write_todos"
_QUESTION = "ask_user"
_PLAN = "exit_plan_mode"
_SHELL = "run_shell_command"
# Tasks of these tools lie in files of the host, and the record does not hold them.
_TRACKER = "tracker_"
_UNDONE = ("error", "cancelled")
_PADDING = b" \t\r\n\xef\xbb\xbf"
# How words begin that the host writes in the person's name, and commands of its own.
_NOT_SAID = ("/", "?", "<session_context>", "<hook_context>")


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says. `named`: the person named it, so that failing to open it
    raises Unreadable. (SPEC RD-GEM-1)"""
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    record = turns.plain(path, _Log())
    with path.open("rb") as stream:
        # The older form is one object over many lines.
        older = stream.readline().strip(_PADDING) == b"{"
    if older:
        _whole(record, path.read_bytes())
    else:
        record.hear()
    record.listener.replay()
    return turns.finish(READER, record)


def _whole(record: "Record[_Log]", data: bytes) -> None:
    """Reads an older record; of one that was cut off, its head. (SPEC RD-GEM-1)"""
    record.take(data)
    if record.lost and not record.listener.rows:
        with suppress(ValueError):
            head = jiter.from_json(data.lstrip(_PADDING), partial_mode=True)
            record.listener.hear(dict(mapping(head)))
            record.lost.append(record.listener.rows)


@define
class _Log(Turns):
    """Keeps the messages by id, each with the row that said it last."""

    _messages: dict[str, tuple[int, Mapping[str, Any]]] = field(factory=dict)

    def hear(self, row: Object) -> None:
        """Takes one row of the record."""
        self.step()
        rewound = row.get("$rewindTo")
        if isinstance(rewound, str):
            self._rewind(rewound)
        elif isinstance(row.get("id"), str):
            self._put(row)
        else:
            self._header(mapping(row.get("$set", row)))

    def replay(self) -> None:
        """Makes the events, once the whole record is heard."""
        for row, message in self._messages.values():
            self.at = row
            kind, text = message.get("type"), _text(message)
            if kind == "user":
                if text.strip() and not text.lstrip().startswith(_NOT_SAID):
                    self.said(text)
            elif kind in ("gemini", "model"):
                self.spoke(text)
                self._calls(list(objects(message.get("toolCalls"))))

    def _put(self, message: Mapping[str, Any]) -> None:
        own = message.get("id")
        # What has no id of its own gets one that no message has.
        name = own if isinstance(own, str) else f"\0{len(self._messages)}"
        self._messages[name] = (self.at, message)

    def _header(self, header: Mapping[str, Any]) -> None:
        """The head of a record, a change of it, or a whole older record."""
        if isinstance(header.get("sessionId"), str):
            self.session = header["sessionId"]
        if header.get("kind") == "subagent":
            self.notes["subagent"] = "the record of a sub-agent, which speaks for itself alone"
        # A later list is what is left after the host cut its history down to a summary: it takes
        # nothing back, and what is new in it nobody said. (SPEC RD-GEM-4)
        if not self._messages:
            for message in objects(header.get("messages")):
                self._put(message)

    def _rewind(self, to: str) -> None:
        """Takes away this message and all behind it; all, if it is not there. (SPEC RD-GEM-3)"""
        ids = list(self._messages)
        place = ids.index(to) if to in self._messages else 0
        for name in ids[place:]:
            del self._messages[name]

    def _calls(self, calls: list[Mapping[str, Any]]) -> None:
        for call in calls:
            self._call(call)
        # The host goes on after any call that was not cancelled.
        if calls and all(call.get("status") == "cancelled" for call in calls):
            self.over()

    def _call(self, call: Mapping[str, Any]) -> None:
        """One call with its result, which stand in one object."""
        name, args, status = str(call.get("name")), mapping(call.get("args")), call.get("status")
        self.worked()
        if name == _TODOS and status not in _UNDONE:
            self.listed(args.get("todos"))
        elif name == _QUESTION:
            questions = turns.questions_of(args)
            self.asked(questions)
            if status not in _UNDONE:
                self.answered(_answers(_output(call), questions))
        elif name == _PLAN and str(call.get("resultDisplay")).startswith("Plan approved"):
            self.decided(str(args.get("plan_filename") or args.get("plan_path")))
        elif name == _SHELL and status == "success":
            self.ran(args.get("command"), _output(call), over=True)
        elif name.startswith(_TRACKER):
            self.unread.add("todos")
            self.notes["tracker_tasks"] = "tasks of the tracker lie outside the record"


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or message.get("parts")
    parts = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, map(text_of, parts)))


def _output(call: Mapping[str, Any]) -> str:
    """What the call gave the model."""
    results = (mapping(part.get("functionResponse")) for part in objects(call.get("result")))
    responses = (mapping(result.get("response")) for result in results)
    return "\n".join(str(given.get("output", given.get("error", ""))) for given in responses)


def _answers(output: str, questions: tuple[str, ...]) -> Mapping[str, str]:
    """The answers by question; the host numbers them from 0."""
    answers = mapping((arguments(output) or {}).get("answers"))
    return {
        questions[int(key)]: turns.joined(answer)
        for key, answer in answers.items()
        if key.isdecimal() and int(key) < len(questions)
    }
