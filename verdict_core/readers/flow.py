"""What happens in a session whose rows stand in one line, in the words of no harness.

In: a reader's findings, row by row. Out: events, in file order. Law: an event says what the record
shows, and settles nothing by itself. (SPEC RD-FLOW)
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from attrs import frozen


@frozen
class Said:
    """Words of the person. `sure`: the harness says so; otherwise they were told from the host's
    words by how they begin, and count only in a record that has no sure ones. `plan`: the plan
    that they have carried out."""

    row: int
    text: str
    sure: bool = True
    plan: str | None = None


@frozen
class Answer:
    """A text of the assistant. `asks`: the text, where it ends in a question mark. `final`: the
    harness calls it the last of its turn."""

    asks: str | None = None
    final: bool = False


class Work(Enum):
    """The assistant worked: a call, or a result or a thought. Where, nobody asks."""

    CALL = 1
    REST = 2


# An enumeration's member is looked up slowly.
_CALL, _REST = Work


@frozen
class Turn:
    """A turn begins, or ends however it does."""

    row: int
    begins: bool


@frozen
class Listed:
    """A whole todo list, as it stands. `call`: the call that wrote it, which can fail later."""

    row: int
    todos: Any
    call: str | None = None


@frozen
class Goal:
    """The one goal of the session: what is known of it now, or None where there is none."""

    row: int
    goal: Mapping[str, Any] | None
    call: str | None = None


@frozen
class Doubt:
    """Todos may have changed in a way that cannot be read. `code` and `text` make a note."""

    row: int
    code: str
    text: str


@frozen
class Asked:
    """The question tool was called."""

    row: int
    questions: tuple[str, ...]


@frozen
class Answered:
    """Answers of the person, by question."""

    row: int
    answers: Mapping[str, str]


@frozen
class Decided:
    """The person approved a plan."""

    row: int
    text: str


@frozen
class Committed:
    """A commit succeeded whose call stands at `row`."""

    row: int


@frozen
class RolledBack:
    """The person took back so many of their last messages, and all that followed them."""

    row: int
    turns: int


Event = (
    Said
    | Answer
    | Work
    | Turn
    | Listed
    | Goal
    | Doubt
    | Asked
    | Answered
    | Decided
    | Committed
    | RolledBack
)


def add_work(events: list[Event], work: Work) -> None:
    """Appends work. Without a break one event is as good as many, and a call says all that other
    work says."""
    last = events[-1] if events else None
    if last is _REST:
        events[-1] = work
    elif last is not _CALL:
        events.append(work)


def alive(events: Sequence[Event]) -> Iterator[Event]:
    """The events that count: without messages in doubt where there are sure ones, and without what
    was rolled back. (SPEC RD-FLOW-1)"""
    sure = any(isinstance(event, Said) and event.sure for event in events)
    left: list[Event] = []
    for event in events:
        if isinstance(event, RolledBack):
            del left[_turn_start(left, event.turns) :]
            left.append(Turn(event.row, begins=False))
        elif event.sure or not sure if isinstance(event, Said) else True:
            left.append(event)
    yield from left


def _turn_start(events: Sequence[Event], turns: int) -> int:
    """Where the last so many messages begin."""
    places = [n for n, event in enumerate(events) if isinstance(event, Said)]
    return places[-min(turns, len(places))] if turns > 0 and places else len(events)
