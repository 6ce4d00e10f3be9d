"""One labelled case: a line of JSON in, a closed `Case` out, or the first fault of the line.

Law: a corpus line is a payload like any other: strict JSON, no forbidden name, nothing coerced.
(SPEC CP-LINE)
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.context import Summary
from verdict_core.errors import ROOT, BadValue, VerdictCoreError
from verdict_core.forbidden import refuse_forbidden

MAX_LINE = 16 * 1024 * 1024
"""The longest line in bytes, without its LF. (SPEC CP-LINE-3)"""


class Label(StrEnum):
    """What is true of the session, whatever the rules say of it. (SPEC CP-LINE-1)"""

    LOST = "lost"
    KEEP = "keep"


@frozen
class Case:
    """`id` is a non-empty string, `label` what is true, `summary` what is judged. (CP-LINE-1)"""

    id: str
    label: Label
    summary: Summary


@frozen
class Fault:
    """What is wrong with one line of a piece, in a form that can travel between processes (an
    exception with a constructor of its own cannot). `index` counts lines from 0."""

    index: int
    kind: type[VerdictCoreError]
    facts: dict[str, Any]

    @classmethod
    def of(cls, index: int, error: VerdictCoreError, said: str = "") -> "Fault":
        """The fault that `error` is, at line `index`; `said` comes before its message."""
        facts = {**vars(error), "message": f"{said}{error.message}"}
        return cls(index, type(error), facts)

    def at(self, name: str, first: int) -> VerdictCoreError:
        """The error again: `first` is the number of the piece's first line in the file `name`.
        Its path is `NAME:LINE:$...`. (SPEC CP-LINE-4)"""
        error = self.kind.__new__(self.kind)
        place = f"{name}:{first + self.index}:{self.facts['path']}"
        error.__dict__.update(self.facts, path=place)
        return error


def read_case(line: bytes) -> Case:
    """The case of one line, without its LF.

    Raises InvalidJson, ForbiddenKey, WrongType, UnknownField, MissingField or BadValue, with the
    path within the line. (SPEC CP-LINE-1, CP-LINE-2)
    """
    if len(line) > MAX_LINE:
        raise BadValue(f"a line of more than {MAX_LINE} bytes")
    payload = wire.parse(line)
    refuse_forbidden(payload)
    return Case(**wire.closed(payload, ROOT, _SLOTS))


def lines_of(piece: bytes) -> list[bytes]:
    """The lines of a piece: split on LF alone; an LF at the end begins no further line."""
    lines = piece.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _label(value: Any, path: str) -> Label:
    try:
        return Label(wire.text(value, path))
    except ValueError:
        raise BadValue(f"expected {' or '.join(Label)}", path=path) from None


_SLOTS: Mapping[str, Callable[[Any, str], Any]] = {
    "id": wire.text,
    "label": _label,
    "summary": Summary.from_payload,
}
