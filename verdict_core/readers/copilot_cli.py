"""A Copilot CLI session record, read into questions and next steps.

In: the path of an `events.jsonl`. Out: a `Reading`. Laws: the record holds no todo state, so todos
are unknown, not empty; decisions have no form of their own, so they are unknown, and answers that
were given stand. (SPEC RD-FMT-7)
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.reading import NO_TEXT, Reading
from verdict_core.readers.turns import Event, json_of, mapping, objects, text_of

READER = "copilot-cli"
_QUESTION_TOOL = "ask_user"
_SHELLS = frozenset({"bash", "shell", "powershell"})
# Members that name the call or the task of a sub-agent, whose rows speak for itself alone.
_SUBAGENT = ("parentToolCallId", "parentAgentTaskId")


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says. (SPEC RD-FMT-7)"""
    return turns.opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    lines, log = Lines(), _Log()
    with path.open("rb") as stream:
        events = [event for row in turns.rows(stream, lines) for event in log.take(row)]
    notes = turns.line_notes(READER, lines)
    unread = ("todos", "decisions")
    return turns.fold(READER, events, session=log.session, unread=unread, notes=notes)


@define
class _Log:
    session: str | None = None
    # The name and the arguments of each call, by its id.
    _calls: dict[str, tuple[str, Mapping[str, Any]]] = field(factory=dict)

    def take(self, row: Object | None) -> Iterator[Event]:
        """The events of one row."""
        if row is None:
            yield turns.Lost()
            return
        data = mapping(row.get("data"))
        if any(data.get(name) for name in _SUBAGENT):
            return
        match row.get("type"):
            case "session.start":
                name = data.get("sessionId")
                self.session = name if isinstance(name, str) else None
            case "user.message":
                yield turns.Said(text_of(data.get("content")))
            case "assistant.message":
                yield turns.Spoke(text_of(data.get("content")))
                for call in objects(data.get("toolRequests")):
                    yield from self._call(call, call.get("name"))
            case "tool.execution_start":
                yield from self._call(data, data.get("toolName"))
            case "tool.execution_complete":
                yield from self._result(data)
            case "abort":
                yield turns.Stopped()

    def _call(self, call: Mapping[str, Any], tool: Any) -> Iterator[Event]:
        """A call is told twice: when it is asked for, and when it starts."""
        yield turns.Worked()
        name, args = str(call.get("toolCallId")), mapping(json_of(call.get("arguments")))
        if name not in self._calls and tool == _QUESTION_TOOL:
            yield turns.Asked((_question(args),))
        self._calls.setdefault(name, (str(tool), args))

    def _result(self, data: Mapping[str, Any]) -> Iterator[Event]:
        yield turns.Worked()
        tool, args = self._calls.get(str(data.get("toolCallId")), ("", {}))
        output = text_of(mapping(data.get("result")).get("content"))
        if data.get("success") is not True:
            return
        if tool == _QUESTION_TOOL:
            yield turns.Answered({_question(args): output})
        elif tool in _SHELLS:
            yield from turns.commit_of(args.get("command"), output, over=True)


def _question(args: Mapping[str, Any]) -> str:
    question = args.get("question")
    return question if isinstance(question, str) and question.strip() else NO_TEXT
