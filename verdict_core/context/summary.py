"""The closed summary of a session's unlanded work.

In: seven fields, from Python or from JSON. Out: a frozen `Summary`, or the first fault in document
order. Law: five fields are items and are counted; what is not known is never taken for empty.
(SPEC CV-SUM)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.errors import ROOT, BadValue, VerdictCoreError
from verdict_core.forbidden import refuse_forbidden

FIELDS = ("todos", "uncommitted", "questions", "decisions", "next_steps")


def _unknown(value: Any, path: str) -> tuple[str, ...]:
    names = wire.texts(value, path)
    if names != tuple(name for name in FIELDS if name in names):
        raise BadValue(
            f"names of {', '.join(FIELDS)}, in this order and without repeats", path=path
        )
    return names


SLOTS: Mapping[str, Callable[..., Any]] = {
    "session": wire.text,
    **dict.fromkeys(FIELDS, wire.texts),
    "unknown": _unknown,
}


@frozen(init=False)
class Summary:
    """What a session holds that is landed nowhere else.

    `session` is a non-empty string; the five fields are lists of non-empty strings, one an item;
    `unknown` names those fields whose record was not read whole. All seven are required: a field
    that was left out would read as empty. Raises WrongType or BadValue. (SPEC CV-SUM-1)
    """

    session: str
    todos: tuple[str, ...]
    uncommitted: tuple[str, ...]
    questions: tuple[str, ...]
    decisions: tuple[str, ...]
    next_steps: tuple[str, ...]
    unknown: tuple[str, ...]

    def __init__(
        self,
        *,
        session: str,
        todos: Sequence[str],
        uncommitted: Sequence[str],
        questions: Sequence[str],
        decisions: Sequence[str],
        next_steps: Sequence[str],
        unknown: Sequence[str],
    ) -> None:
        self.__attrs_init__(
            wire.text(session, "$.session"),
            wire.texts(todos, "$.todos"),
            wire.texts(uncommitted, "$.uncommitted"),
            wire.texts(questions, "$.questions"),
            wire.texts(decisions, "$.decisions"),
            wire.texts(next_steps, "$.next_steps"),
            _unknown(unknown, "$.unknown"),
        )

    @property
    def count(self) -> int:
        """How many items are unlanded: the lengths of the five fields, added. (SPEC CV-SUM-6)"""
        return (
            len(self.todos)
            + len(self.uncommitted)
            + len(self.questions)
            + len(self.decisions)
            + len(self.next_steps)
        )

    @classmethod
    def from_json(cls, data: bytes | str) -> "Summary":
        """The summary that one JSON text holds. Raises what SPEC CV-ERR-3 lists, in its order."""
        payload = wire.parse(data)
        refuse_forbidden(payload)
        return cls.from_payload(payload)

    @classmethod
    def from_payload(cls, payload: Any, path: str = ROOT) -> "Summary":
        """The summary in a value that was parsed and holds no forbidden name. (SPEC CV-SUM-2)"""
        try:
            return cls(**payload)
        except (TypeError, VerdictCoreError):
            # The constructor reads in its own order; the fault to name is the document's first.
            return cls(**wire.closed(payload, path, SLOTS))

    def payload(self) -> dict[str, Any]:
        """The object that stands on the wire, with all seven keys. (SPEC CV-SUM-1)"""
        return {name: getattr(self, name) for name in SLOTS}
