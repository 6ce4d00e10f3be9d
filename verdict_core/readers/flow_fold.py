"""Todos, questions, decisions and next steps of a session whose rows stand in one line.

In: events in file order, and the places of lost rows. Out: the items of the four fields, and which
of them are unknown. Laws: a call that failed changes nothing; only the person settles a question,
only a commit settles a decision; a lost row could have held anything. (SPEC RD-FLOW)
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from verdict_core.errors import BadValue
from verdict_core.readers.flow import (
    Answer,
    Answered,
    Asked,
    Committed,
    Decided,
    Doubt,
    Event,
    Goal,
    Listed,
    Said,
    Turn,
    Work,
    alive,
)
from verdict_core.readers.reading import NO_TEXT
from verdict_core.readers.todo_status import Todo, item, read_todo, read_todos

RUNNING = "(running) "


@frozen
class Outcome:
    """`items` by field. `sure` has for each field the row from which on nothing older matters, -1
    for none; `doubtful` the rows of todos that could not be read. `notes` has a text a code."""

    items: Mapping[str, tuple[str, ...]]
    sure: Mapping[str, int]
    doubtful: tuple[int, ...]
    notes: Mapping[str, str]

    def then(self, name: str, items: tuple[str, ...]) -> "Outcome":
        """With more items at the end of a field."""
        return evolve(self, items={**self.items, name: (*self.items[name], *items)})

    def unknown(self, lost: Iterable[int]) -> frozenset[str]:
        """The fields that a lost row could have changed. A row is lost behind as many rows as each
        of `lost` says. (SPEC RD-FLOW-2)"""
        lost = tuple(lost)
        fields = {name for name, row in self.sure.items() if any(n > row for n in lost)}
        if any(row > self.sure["todos"] for row in self.doubtful):
            fields.add("todos")
        return frozenset(fields)


@define
class _Todos:
    """The last whole list, and the goal."""

    listed: tuple[Todo, ...] = ()
    goal: Todo | None = None
    # The row of the last whole state of either kind, for each kind that is in use.
    since: dict[str, int] = field(factory=dict)
    doubtful: list[int] = field(factory=list)
    notes: dict[str, str] = field(factory=dict)

    def write(self, event: Listed) -> None:
        try:
            todos = read_todos(event.todos)
        except BadValue as error:
            self.doubt(
                Doubt(event.row, "bad_todos", f"a todo list cannot be read: {error.message}")
            )
            return
        self.listed, self.since["list"] = todos.todos, event.row
        if todos.encoded:
            self.notes["string_encoded"] = "a todo list came as a JSON string: decoded once"

    def aim(self, event: Goal) -> None:
        self.since["goal"] = event.row
        if event.goal is None:
            self.goal = None
            return
        known = self.goal.text if self.goal else NO_TEXT
        status = event.goal.get("status", event.goal.get("phase"))
        text = item(event.goal.get("objective"))
        self.goal = read_todo(
            {"id": "goal", "content": known if text == NO_TEXT else text, "status": status}, 0
        )

    def doubt(self, event: Doubt) -> None:
        self.doubtful.append(event.row)
        self.notes[event.code] = event.text

    @property
    def all(self) -> tuple[Todo, ...]:
        return self.listed if self.goal is None else (*self.listed, self.goal)


@define
class _Turn:
    """Where the turn stands. `marked`: the record says where turns begin and end."""

    marked: bool = False
    open: bool = False
    worked: bool = False
    final: bool = False
    spoken: Said | None = None
    answered: bool = True
    asks: str | None = None

    def take(self, event: Said | Answer | Work | Turn) -> None:
        if isinstance(event, Turn):
            self.marked, self.open = True, event.begins
            self.worked = self.final = False
            return
        self.worked, self.final = True, False
        if isinstance(event, Said):
            self.spoken, self.answered, self.asks = event, False, None
            return
        self.answered = True
        if isinstance(event, Answer):
            # Without marks, words of the assistant are what a turn ends with.
            self.asks, self.final = event.asks, event.final or not self.marked
        elif event is Work.CALL:
            self.asks = None

    def next_steps(self) -> tuple[str, ...]:
        """The turn that is still running, else the last message when nothing answered it.
        (SPEC RD-FLOW-3)"""
        message = item(self.spoken.text) if self.spoken else NO_TEXT
        # A turn of which nothing stands yet is how a compaction by hand begins.
        if self.worked and not self.final and (self.open or not self.marked):
            return (RUNNING + message,)
        return () if self.answered else (message,)


@define
class _Fold:
    failed: Collection[str]
    todos: _Todos = field(factory=_Todos)
    turn: _Turn = field(factory=_Turn)
    asked: list[str] = field(factory=list)
    decisions: list[Decided] = field(factory=list)
    committed: int = -1

    def take(self, event: Event) -> None:
        match event:
            case Said() | Answer() | Work() | Turn():
                self.turn.take(event)
                if isinstance(event, Said):
                    self.asked.clear()
                    self.decisions += [Decided(event.row, event.plan)] if event.plan else []
            case Listed() if event.call not in self.failed:
                self.todos.write(event)
            case Goal() if event.call not in self.failed:
                self.todos.aim(event)
            case Doubt():
                self.todos.doubt(event)
            case Asked():
                self.asked += event.questions
            case Answered():
                self._answered(event)
            case Decided():
                self.decisions.append(event)
            case Committed():
                self.committed = max(self.committed, event.row)
                self.decisions = [d for d in self.decisions if d.row > event.row]
            case _:
                pass

    def _answered(self, event: Answered) -> None:
        """The same question put again, and answered, was answered."""
        answers = event.answers
        self.asked = [question for question in self.asked if question not in answers]
        self.decisions += [Decided(event.row, f"{q} = {a}") for q, a in answers.items()]

    def questions(self) -> tuple[str, ...]:
        asks = () if self.turn.asks is None else (item(self.turn.asks),)
        return (*self.asked, *asks)


def fold(events: Sequence[Event], failed: Collection[str] = ()) -> Outcome:
    """What `events` leave open. `failed` are the calls that failed. (SPEC RD-FLOW-1)"""
    state = _Fold(failed)
    for event in alive(events):
        state.take(event)
    todos, spoken = state.todos, state.turn.spoken
    row = spoken.row if spoken else -1
    notes = dict(todos.notes)
    for todo in todos.all:
        if todo.doubt:
            notes[todo.doubt] = f"todo {todo.id} counts as open"
    return Outcome(
        items={
            "todos": tuple(todo.text for todo in todos.all if todo.open),
            "questions": state.questions(),
            "decisions": tuple(decision.text for decision in state.decisions),
            "next_steps": state.turn.next_steps(),
        },
        sure={
            "todos": min(todos.since.values(), default=-1),
            "questions": row,
            "decisions": state.committed,
            "next_steps": row,
        },
        doubtful=tuple(todos.doubtful),
        notes=notes,
    )
