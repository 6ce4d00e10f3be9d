"""A Copilot CLI session record, read into questions and next steps.

In: the path of an `events.jsonl`. Out: a `Reading`. Laws: the record holds no todo state, so todos
are unknown, not empty; decisions have no form of their own, so they are unknown, and answers that
were given stand. (SPEC RD-FMT-6, RD-CP-1)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import arguments, mapping, opened, text_of
from verdict_core.readers.todo_status import item
from verdict_core.readers.turns import Turns, objects

READER = "copilot-cli"
_QUESTION_TOOL = "ask_user"
_SHELLS = ("bash", "shell", "powershell")
# Members that name the call or the task of a sub-agent, whose rows speak for itself alone.
_SUBAGENT = ("parentToolCallId", "parentAgentTaskId")


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says. (SPEC RD-FMT-6)"""
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    record = turns.plain(path, _Log(unread={"todos", "decisions"}))
    record.hear()
    return turns.finish(READER, record)


@define
class _Log(Turns):
    # The name and the arguments of each call, by its id.
    _made: dict[str, tuple[str, Mapping[str, Any]]] = field(factory=dict)

    def hear(self, row: Object) -> None:
        """Takes one row of the record."""
        self.step()
        data = mapping(row.get("data"))
        if any(data.get(name) for name in _SUBAGENT):
            return
        match row.get("type"):
            case "session.start":
                name = data.get("sessionId")
                self.session = name if isinstance(name, str) else None
            case "user.message":
                self.said(text_of(data.get("content")))
            case "assistant.message":
                self.spoke(text_of(data.get("content")))
                for call in objects(data.get("toolRequests")):
                    self._call(call, call.get("name"))
            case "tool.execution_start":
                self._call(data, data.get("toolName"))
            case "tool.execution_complete":
                self._result(data)
            case "abort":
                self.over()

    def _call(self, call: Mapping[str, Any], tool: Any) -> None:
        """A call is told twice: when it is asked for, and when it starts."""
        self.worked()
        name, args = str(call.get("toolCallId")), arguments(call.get("arguments")) or {}
        if name not in self._made and tool == _QUESTION_TOOL:
            self.asked((item(args.get("question")),))
        self._made.setdefault(name, (str(tool), args))

    def _result(self, data: Mapping[str, Any]) -> None:
        self.worked()
        tool, args = self._made.get(str(data.get("toolCallId")), ("", {}))
        output = text_of(mapping(data.get("result")).get("content"))
        if data.get("success") is not True:
            return
        if tool == _QUESTION_TOOL:
            self.answered({item(args.get("question")): output})
        elif tool in _SHELLS:
            self.ran(args.get("command"), output, over=True)
