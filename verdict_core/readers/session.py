"""What every reader of a session record does alike: the fields, what is unreadable, the notes.

In: a path and what is said of it. Out: a `Reading`. Law: a record that cannot be read leaves every
field unknown, never empty. (SPEC RD-CC-1, RD-CX-1, RD-DSH-1)
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from verdict_core.errors import Unreadable
from verdict_core.readers.flow_fold import Outcome
from verdict_core.readers.jsonlines import Lines
from verdict_core.readers.reading import Note, Reading

FIELDS = ("todos", "questions", "decisions", "next_steps")
# How many places a note names.
_NAMED = 20


def nothing(reader: str, code: str, text: str, *more: Note) -> Reading:
    """A reading of all four fields in which each is unknown."""
    return Reading(
        reader,
        items=dict.fromkeys(FIELDS, ()),
        unknown=frozenset(FIELDS),
        notes=(Note(reader, code, text), *more),
    )


def unreadable(reader: str, path: Path, error: Exception, *, named: bool) -> Reading:
    """What a record says that cannot be opened: Unreadable where a person named it, else nothing
    known."""
    if named:
        raise Unreadable(f"no session record: {error}", path=str(path)) from None
    return nothing(reader, "record_missing", f"the record cannot be read: {error}")


def line_notes(reader: str, lines: Lines) -> Iterator[Note]:
    """What there is to say of damaged, joined and mended lines."""
    if lines.damaged:
        places = ", ".join(f"{d.line} (byte {d.offset})" for d in lines.damaged[:_NAMED])
        yield Note(reader, "damaged_lines", f"damaged lines: {len(lines.damaged)}; at {places}")
    if lines.joined:
        text = f"lines with several rows, all read: {_list(lines.joined)}"
        yield Note(reader, "joined_lines", text)
    if lines.mended:
        text = f"lone surrogates replaced in lines: {_list(lines.mended)}"
        yield Note(reader, "mended_text", text)


def told(
    reader: str,
    outcome: Outcome,
    unknown: frozenset[str],
    session: str | None,
    lines: Lines,
    notes: Iterable[tuple[str, str]] = (),
) -> Reading:
    """The reading of an outcome."""
    texts: Mapping[str, str] = dict([*notes, *outcome.notes.items()])
    return Reading(
        reader,
        items=outcome.items,
        unknown=unknown,
        session=session,
        notes=(
            *line_notes(reader, lines),
            *(Note(reader, code, text) for code, text in texts.items()),
        ),
    )


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:_NAMED]))
