"""A LangChain agent's state, read into todos, questions and next steps.

In: the path of a JSON file with the state, or with a LangGraph snapshot that holds it under
`values`. Out: a `Reading`. Laws: a state without `todos` has unknown todos, not none; decisions
have no form in it, so they are unknown. (SPEC RD-LC)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import mapping, nothing, opened, text_of
from verdict_core.readers.todo_status import item
from verdict_core.readers.turns import Turns, objects

READER = "langchain"
_PERSON = ("human", "user", "HumanMessage")
_ASSISTANT = ("ai", "assistant", "AIMessage", "AIMessageChunk")
_TOOL = ("tool", "ToolMessage")


def read(path: Path, *, named: bool = False) -> Reading:
    """What the state at `path` says. (SPEC RD-LC-1)"""
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    record = turns.plain(path, _Log(unread={"decisions"}))
    record.take(path.read_bytes())
    if record.listener.rows != 1 or record.lost:
        return nothing(READER, "not_a_state", "this is not one JSON object", record.lines)
    return turns.finish(READER, record)


@define
class _Log(Turns):
    def hear(self, row: Object) -> None:
        """Takes the state, or the snapshot that holds it."""
        self.step()
        values = mapping(row.get("values", row))
        name = mapping(mapping(row.get("config")).get("configurable")).get("thread_id")
        self.session = name if isinstance(name, str) else None
        if not isinstance(values.get("messages"), list):
            self.unread |= {"questions", "next_steps"}
        for message in objects(values.get("messages")):
            self._message(message)
        if "todos" in values:
            self.listed(values["todos"])
        else:
            self.unread.add("todos")
            self.notes["no_todos"] = "the state has no todos: not known is not none"
        # A snapshot names the nodes that would run next, and what it waits for.
        if row.get("next"):
            self.worked()
        for interrupt in objects(row.get("interrupts")):
            self.asked((item(text_of(interrupt.get("value"))),))

    def _message(self, message: Mapping[str, Any]) -> None:
        """A message as LangChain writes it: plain, with its members in `data`, or in `kwargs`."""
        inner = mapping(message.get("data") or message.get("kwargs") or message)
        path = message.get("id")
        kind = path[-1] if isinstance(path, list) and path else message.get("type")
        kind = kind or message.get("role")
        if kind in _PERSON:
            self.said(text_of(inner.get("content")))
        elif kind in _TOOL:
            self.worked()
        elif kind in _ASSISTANT:
            self.spoke(text_of(inner.get("content")))
            if inner.get("tool_calls"):
                self.worked()
