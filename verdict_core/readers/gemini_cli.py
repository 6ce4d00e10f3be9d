"""A Gemini CLI session record, read into todos, questions, decisions and next steps.

In: the path of a `session-*.jsonl`, or of an older `session-*.json`. Out: a `Reading`. Laws: of the
records with one id the last counts; what was rewound never happened; a history that the host cut
down to a summary still happened. (SPEC RD-GEM)
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import jiter
from attrs import define, field

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.reading import Note, Reading
from verdict_core.readers.turns import Event, json_of, mapping, objects, text_of

READER = "gemini-cli"
_TODOS = "write_todos"
_QUESTION = "ask_user"
_PLAN = "exit_plan_mode"
_SHELL = "run_shell_command"
# Tasks of these tools lie in files of the host, and the record does not hold them.
_TRACKER = "tracker_"
_UNDONE = frozenset({"error", "cancelled"})
# How words begin that the host writes in the person's name, and commands of its own.
_PADDING = b" \t\r\n\xef\xbb\xbf"
_NOT_SAID = ("/", "?", "<session_context>", "<hook_context>")


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says. `named` as for every reader: failing to open it raises
    Unreadable. (SPEC RD-GEM-1)"""
    return turns.opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    log, lines = _Log(), Lines()
    with path.open("rb") as stream:
        if stream.readline().strip(_PADDING) == b"{":
            # The older form is one object over many lines.
            stream.seek(0)
            log.take_all(_whole(stream.read(), lines))
        else:
            stream.seek(0)
            log.take_all(turns.rows(stream, lines))
    notes = [*turns.line_notes(READER, lines)]
    events, tracked = _events(log.rows())
    if tracked:
        text = "tasks of the tracker lie outside the record"
        notes.append(Note(READER, "tracker_tasks", text))
    unread = ("todos",) if tracked else ()
    return turns.fold(READER, events, session=log.session, unread=unread, notes=notes)


def _whole(data: bytes, lines: Lines) -> Iterator[Object | None]:
    """The objects of an older record; of one that was cut off, its head. (SPEC RD-GEM-1)"""
    found = lines.read(data)
    yield from found
    if lines.damaged:
        if not found:
            with suppress(ValueError):
                head = jiter.from_json(data.lstrip(_PADDING), partial_mode=True)
                yield head if isinstance(head, dict) else None
        yield None


@define
class _Log:
    """The messages by id, in the order in which their ids came first; None stands where something
    was lost."""

    session: str | None = None
    _messages: dict[str, Object | None] = field(factory=dict)

    def rows(self) -> Iterator[Object | None]:
        yield from self._messages.values()

    def take_all(self, rows: Iterable[Object | None]) -> None:
        for row in rows:
            rewound = None if row is None else row.get("$rewindTo")
            if isinstance(rewound, str):
                self._rewind(rewound)
            elif row is None or isinstance(row.get("id"), str):
                self._put(row)
            else:
                self._header(mapping(row.get("$set", row)))

    def _put(self, row: Object | None) -> None:
        own = None if row is None else row.get("id")
        # What has no id of its own gets one that no message has.
        self._messages[own if isinstance(own, str) else f"\0{len(self._messages)}"] = row

    def _header(self, header: Mapping[str, Any]) -> None:
        """The head of a record, a change of it, or a whole older record."""
        if isinstance(header.get("sessionId"), str):
            self.session = header["sessionId"]
        # A later list is what is left after the host cut its history down to a summary: it takes
        # nothing back, and what is new in it nobody said. (SPEC RD-GEM-4)
        if not self._messages:
            for message in objects(header.get("messages")):
                self._put(dict(message))

    def _rewind(self, to: str) -> None:
        """Takes away this message and all behind it; all, if it is not there. What was lost stays
        lost. (SPEC RD-GEM-3)"""
        ids = list(self._messages)
        place = ids.index(to) if to in self._messages else 0
        for name in ids[place:]:
            if self._messages[name] is not None:
                del self._messages[name]


def _events(rows: Iterable[Object | None]) -> tuple[list[Event], bool]:
    """The events of messages, and whether the tracker's tools were used."""
    events: list[Event] = []
    tracked = False
    for row in rows:
        if row is None:
            events.append(turns.Lost())
            continue
        kind, text = row.get("type"), text_of(row.get("content") or row.get("parts"))
        if kind == "user":
            if text.strip() and not text.lstrip().startswith(_NOT_SAID):
                events.append(turns.Said(text))
        elif kind in ("gemini", "model"):
            calls = list(objects(row.get("toolCalls")))
            tracked |= any(str(call.get("name")).startswith(_TRACKER) for call in calls)
            events.append(turns.Spoke(text))
            events += [event for call in calls for event in _call(call)]
            # The host goes on after any call that was not cancelled.
            if calls and all(call.get("status") == "cancelled" for call in calls):
                events.append(turns.Stopped())
    return events, tracked


def _call(call: Mapping[str, Any]) -> Iterator[Event]:
    """One call with its result, which stand in one object."""
    name, args = call.get("name"), mapping(call.get("args"))
    undone = call.get("status") in _UNDONE
    output = _output(call)
    yield turns.Worked()
    if name == _TODOS and not undone:
        yield turns.Listed(args.get("todos"))
    elif name == _QUESTION:
        questions = turns.questions_of(args)
        yield turns.Asked(questions)
        if not undone:
            yield turns.Answered(_answers(output, questions))
    elif name == _PLAN and str(call.get("resultDisplay")).startswith("Plan approved"):
        yield turns.Decided(str(args.get("plan_filename") or args.get("plan_path")))
    elif name == _SHELL and call.get("status") == "success":
        yield from turns.commit_of(args.get("command"), output, over=True)


def _output(call: Mapping[str, Any]) -> str:
    """What the call gave the model."""
    results = (mapping(part.get("functionResponse")) for part in objects(call.get("result")))
    responses = (mapping(result.get("response")) for result in results)
    return "\n".join(str(given.get("output", given.get("error", ""))) for given in responses)


def _answers(output: str, questions: tuple[str, ...]) -> Mapping[str, str]:
    """The answers by question; the host numbers them from 0."""
    answers = mapping(mapping(json_of(output)).get("answers"))
    return {
        questions[int(key)]: answer
        for key, answer in answers.items()
        if key.isdecimal() and int(key) < len(questions)
    }
