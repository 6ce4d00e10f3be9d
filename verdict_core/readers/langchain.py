"""A LangChain agent's state, read into todos, questions and next steps.

In: the path of a JSON file with the state, or with a LangGraph snapshot that holds it under
`values`. Out: a `Reading`. Laws: a state without `todos` has unknown todos, not none; decisions
have no form in it, so they are unknown. (SPEC RD-LC)
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Lines
from verdict_core.readers.reading import Note, Reading
from verdict_core.readers.turns import Event, mapping, objects, text_of

READER = "langchain"
_PERSON = frozenset({"human", "user", "HumanMessage"})
_ASSISTANT = frozenset({"ai", "assistant", "AIMessage", "AIMessageChunk"})
_TOOL = frozenset({"tool", "ToolMessage"})


def read(path: Path, *, named: bool = False) -> Reading:
    """What the state at `path` says. (SPEC RD-LC-1)"""
    return turns.opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    lines = Lines()
    found = lines.read(path.read_bytes())
    if len(found) != 1 or lines.damaged:
        return turns.nothing(READER, "not_a_state", "this is not one JSON object")
    state = found[0]
    values = mapping(state.get("values", state))
    events = list(_events(values, state))
    unread = {"decisions"}
    if not isinstance(values.get("messages"), list):
        unread |= {"questions", "next_steps"}
    notes = [*turns.line_notes(READER, lines)]
    if "todos" not in values:
        notes.append(Note(READER, "no_todos", "the state has no todos: not known is not none"))
    return turns.fold(
        READER,
        events,
        session=_session(state),
        unread=unread,
        todos_need_a_list=True,
        notes=notes,
    )


def _session(state: Mapping[str, Any]) -> str | None:
    settings = mapping(mapping(state.get("config")).get("configurable"))
    name = settings.get("thread_id")
    return name if isinstance(name, str) else None


def _events(values: Mapping[str, Any], state: Mapping[str, Any]) -> Iterator[Event]:
    for message in objects(values.get("messages")):
        yield from _message(message)
    if "todos" in values:
        yield turns.Listed(values["todos"])
    # A snapshot names the nodes that would run next, and what it waits for.
    if state.get("next"):
        yield turns.Worked()
    for interrupt in objects(state.get("interrupts")):
        value = interrupt.get("value")
        yield turns.Asked((value if isinstance(value, str) else text_of(value),))


def _message(message: Mapping[str, Any]) -> Iterator[Event]:
    """A message as LangChain writes it: plain, with its members in `data`, or in `kwargs`."""
    inner = mapping(message.get("data") or message.get("kwargs") or message)
    path = message.get("id")
    kind = path[-1] if isinstance(path, list) and path else inner.get("type", message.get("type"))
    kind = kind or inner.get("role")
    if kind in _PERSON:
        yield turns.Said(text_of(inner.get("content")))
    elif kind in _TOOL:
        yield turns.Worked()
    elif kind in _ASSISTANT:
        yield turns.Spoke(text_of(inner.get("content")))
        if inner.get("tool_calls"):
            yield turns.Worked()
