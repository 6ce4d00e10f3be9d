"""What a todo list says is open: the one table of settled spellings, and the reading of a list.

In: the value that a harness stored as its list. Out: todos, each open or settled. Laws: whatever
the table does not settle is open and is named; a list that is no list of todos is refused, never
taken for an empty one. (SPEC RD-TODO)
"""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.errors import ROOT, BadValue, InvalidJson, child
from verdict_core.readers.jsonlines import scalar
from verdict_core.readers.reading import NO_TEXT

# Spellings after `_spelling`. A word is settled here or it is open; no other place decides.
SETTLED = frozenset({"completed", "complete", "done", "cancelled", "canceled", "deleted"})
KNOWN_OPEN = frozenset({"pending", "in_progress", "todo", "open", "blocked", "paused", "active"})
# Where harnesses put the words of a todo, first come first served.
_TEXT_KEYS = ("content", "subject", "step", "title", "description", "text")
# Keys of other harnesses, or of a later version, for what is called "status" in all that we know.
_RENAMED = ("state", "phase")


@frozen
class Todo:
    """One todo: its words as they stand, its `id` (or its place in the list, from 1), and `doubt`:
    why it counts as open although no known word says so, or None."""

    text: str
    id: str
    open: bool
    doubt: str | None = None


@frozen
class TodoList:
    """A list in its own order. `encoded`: it came as a JSON string and was decoded once."""

    todos: tuple[Todo, ...]
    encoded: bool = False

    @property
    def unlanded(self) -> tuple[str, ...]:
        """The words of the open todos. (SPEC RD-TODO-1)"""
        return tuple(todo.text for todo in self.todos if todo.open)

    @property
    def doubts(self) -> tuple[str, ...]:
        """`reason:id` for each todo whose status is in doubt. (SPEC RD-TODO-2)"""
        return tuple(f"{todo.doubt}:{todo.id}" for todo in self.todos if todo.doubt)


def item(value: object) -> str:
    """`value` as an item of a summary: verbatim, without lone surrogates; NO_TEXT where it is no
    text or a blank one. (SPEC RD-SUM-3)"""
    return scalar(value) if isinstance(value, str) and value.strip() else NO_TEXT


def is_settled(status: str) -> bool:
    """Whether the table settles this word, in any case and with any separator. (RD-TODO-1)"""
    return _spelling(status) in SETTLED


def doubt_of(status: object) -> str | None:
    """Why a status is none that we know: unknown_status, null_status, or None. (RD-TODO-2)"""
    if status is None:
        return "null_status"
    if isinstance(status, str) and _spelling(status) in SETTLED | KNOWN_OPEN:
        return None
    return "unknown_status"


def read_todo(value: object, place: int, path: str = ROOT) -> Todo:
    """One todo: an object, or a plain string, which is open. `place` counts from 1.

    Raises BadValue `bad_todos` for anything else. (SPEC RD-TODO-3)
    """
    if isinstance(value, str):
        return Todo(item(value), str(place), open=True)
    if not isinstance(value, Mapping):
        raise BadValue(f"{value!r:.40} is no todo", path=path, code="bad_todos")
    name = value.get("id")
    status = value.get("status")
    doubt = _missing(value) if "status" not in value else doubt_of(status)
    return Todo(
        text=first_text(value, _TEXT_KEYS),
        id=str(name) if isinstance(name, str | int) and name != "" else str(place),
        open=not (isinstance(status, str) and is_settled(status)),
        doubt=doubt,
    )


def read_todos(value: object, path: str = ROOT) -> TodoList:
    """A whole list. A JSON string is decoded once. Raises BadValue `bad_todos` at the path of what
    is no list or no todo. (SPEC RD-TODO-4)"""
    encoded = isinstance(value, str)
    if isinstance(value, str):
        value = _decode(value, path)
    if not isinstance(value, list):
        raise BadValue("not a list of todos", path=path, code="bad_todos")
    todos = tuple(read_todo(one, i + 1, child(path, i)) for i, one in enumerate(value))
    return TodoList(todos, encoded)


def first_text(value: Mapping[str, Any], keys: Iterable[str]) -> str:
    """The first of these members that is a text, as an item."""
    texts = (item(value.get(key)) for key in keys)
    return next((text for text in texts if text != NO_TEXT), NO_TEXT)


def _missing(value: Mapping[str, object]) -> str:
    return "renamed_field" if any(key in value for key in _RENAMED) else "missing_status"


def _decode(text: str, path: str) -> object:
    try:
        value: object = wire.parse(text)
    except InvalidJson as error:
        raise BadValue(
            f"a list as a JSON string that is none: {error.message}", path=path, code="bad_todos"
        ) from None
    return value


def _spelling(word: str) -> str:
    return word.strip().casefold().replace("-", "_").replace(" ", "_")
