"""The todos of a Claude Code record: the old whole lists, and the tasks.

In: the live events in file order. Out: the open todos, what is in doubt about them, and from where
on the state is sure. Laws: a call that failed changes nothing; a whole list replaces what it lists;
a compaction changes nothing. (SPEC RD-CC)
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from verdict_core.errors import BadValue
from verdict_core.readers.claude_events import (
    TASK_TOOLS,
    TODO_TOOL,
    Call,
    Event,
    Result,
    TaskReminder,
)
from verdict_core.readers.todo_status import Todo, item, read_todo, read_todos

_CREATED = re.compile(r"Task #(\S+) created")
_NOT_FOUND = re.compile(r"not found", re.IGNORECASE)


@frozen
class Todos:
    """`items` are the open ones. `sure_from` is the row from which on nothing older matters; -1
    when no whole list was seen. `doubtful` are the rows of what could not be read whole. `doubts`
    has `reason:id` for each status that no table knows, `notes` a text for each code."""

    items: tuple[str, ...]
    sure_from: int
    doubtful: tuple[int, ...]
    doubts: tuple[str, ...]
    notes: Mapping[str, str]


@define
class _Fold:
    results: Mapping[str, Result]
    listed: tuple[Todo, ...] = ()
    tasks: dict[str, Todo] = field(factory=dict)
    # The row of the last whole list of either kind, or None where that kind is not in use.
    listed_from: int | None = None
    tasks_from: int | None = None
    doubtful: list[int] = field(factory=list)
    notes: dict[str, str] = field(factory=dict)

    def take(self, event: Event) -> None:
        if isinstance(event, TaskReminder):
            self._whole(event.row, event.tasks)
        elif isinstance(event, Call) and event.name == TODO_TOOL:
            self._write(event)
        elif isinstance(event, Call) and event.name in TASK_TOOLS:
            result = self.results.get(event.id)
            if result is not None and not _changed_nothing(result):
                self._task(event, result)

    def _write(self, call: Call) -> None:
        result = self.results.get(call.id)
        if result is not None and result.failed:
            return
        try:
            todos = read_todos(call.input.get("todos"))
        except BadValue as error:
            self._doubt(call.row, "bad_todos", f"a todo list cannot be read: {error.message}")
            return
        self.listed, self.listed_from = todos.todos, call.row
        if todos.encoded:
            self.notes["string_encoded"] = "a todo list came as a JSON string: decoded once"

    def _task(self, call: Call, result: Result) -> None:
        if self.tasks_from is None:
            self.tasks_from = -1
        if call.name == "TaskList":
            self._whole(call.row, _mapping(result.value).get("tasks"))
        elif call.name == "TaskCreate":
            name = _created_id(result)
            if name is None:
                # A task without an id can never be settled by a later call.
                name = f"({call.id})"
            self.tasks[name] = Todo(item(call.input.get("subject")), name, open=True)
        else:
            self._update(call)

    def _update(self, call: Call) -> None:
        name = str(call.input.get("taskId"))
        known = self.tasks.get(name)
        if known is None:
            # Made before the record began, or in another one: there may be more of them.
            self._doubt(call.row, "task_unseen", "a task was updated that this record never made")
        old = known or Todo(item(None), name, open=True)
        subject = call.input.get("subject")
        text = item(subject) if isinstance(subject, str) else old.text
        if "status" not in call.input:
            self.tasks[name] = Todo(text, name, old.open, old.doubt)
            return
        new = read_todo({"id": name, "status": call.input["status"]}, 0)
        self.tasks[name] = Todo(text, name, new.open, new.doubt)

    def _whole(self, row: int, tasks: Any) -> None:
        try:
            todos = read_todos(tasks).todos
        except BadValue as error:
            self._doubt(row, "bad_todos", f"a task list cannot be read: {error.message}")
            return
        self.tasks = {todo.id: todo for todo in todos}
        self.tasks_from = row

    def _doubt(self, row: int, code: str, text: str) -> None:
        self.doubtful.append(row)
        self.notes[code] = text

    def done(self) -> Todos:
        todos = (*self.listed, *self.tasks.values())
        whole = [row for row in (self.listed_from, self.tasks_from) if row is not None]
        return Todos(
            items=tuple(todo.text for todo in todos if todo.open),
            sure_from=min(whole, default=-1),
            doubtful=tuple(self.doubtful),
            doubts=tuple(f"{todo.doubt}:{todo.id}" for todo in todos if todo.doubt),
            notes=self.notes,
        )


def fold_todos(events: Sequence[Event], results: Mapping[str, Result]) -> Todos:
    """The todos that `events` leave. `results` are those of live calls. (SPEC RD-CC-7)"""
    fold = _Fold(results)
    for event in events:
        fold.take(event)
    return fold.done()


def _changed_nothing(result: Result) -> bool:
    """A failed call, or an update of a task that is not there."""
    value = _mapping(result.value)
    if result.failed or value.get("success") is False:
        return True
    return not value and _NOT_FOUND.search(result.text) is not None


def _created_id(result: Result) -> str | None:
    name = _mapping(_mapping(result.value).get("task")).get("id")
    if isinstance(name, str | int) and name != "":
        return str(name)
    found = _CREATED.search(result.text)
    return found[1] if found else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
