"""What one reader found, and how several readings become one summary.

In: readings, in the order given summary, git, session record, progress ledger. Out: a `Summary`.
Law: a field that nobody read, or that a reader could not read whole, is unknown; never empty.
(SPEC RD-SUM)
"""

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from verdict_core.context import FIELDS, Summary

NO_SESSION = "(no session)"
NO_TEXT = "(no text)"


@frozen
class Note:
    """Something that a reader noticed and a person may want to know. `code` is a stable word,
    `text` says it in one line."""

    reader: str
    code: str
    text: str


@frozen
class Reading:
    """`items` has a key for each field that this reader answers for; `unknown` names those of them
    that it could not read whole (their known items still stand in `items`)."""

    reader: str
    items: Mapping[str, tuple[str, ...]]
    unknown: frozenset[str] = frozenset()
    session: str | None = None
    notes: tuple[Note, ...] = field(default=())


def combine(readings: Iterable[Reading]) -> Summary:
    """One summary of several readings: items one after the other, unknowns united. (RD-SUM-1)"""
    readings = tuple(readings)
    unread = set(FIELDS).difference(*(reading.items for reading in readings))
    unknown = unread.union(*(reading.unknown for reading in readings))
    session = next((r.session for r in readings if r.session), NO_SESSION)
    items = {
        name: tuple(item for reading in readings for item in reading.items.get(name, ()))
        for name in FIELDS
    }
    return Summary(session=session, unknown=tuple(n for n in FIELDS if n in unknown), **items)
