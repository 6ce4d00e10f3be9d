"""What every reader of a session record does alike: hearing its rows, what is unreadable, notes.

In: a path, and who listens to the rows. Out: a `Reading`. Law: a record that cannot be read leaves
every field unknown, never empty. (SPEC RD-CC-1, RD-CX-1, RD-DSH-1)
"""

import json
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from attrs import define, field

from verdict_core.errors import Unreadable
from verdict_core.readers.flow_fold import Outcome
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.reading import Note, Reading
from verdict_core.readers.streams import NoZstd, Source

FIELDS = ("todos", "questions", "decisions", "next_steps")
# How many places a note names.
_NAMED = 20


class Hears(Protocol):
    """Who takes the rows of a record, and counts them in `rows`."""

    rows: int

    def hear(self, row: Object) -> None:
        """Takes one row."""


# How many lines, of how many bytes, need no reading, and the line that does, or none at the end.
Unread = tuple[int, int, bytes]
Listening = TypeVar("Listening", bound=Hears)


@define
class Record(Generic[Listening]):
    """One record while it is read. `unread`: the lines of a chunk that need reading; of the others
    it has taken what they say. `lost` has, for each damaged line, the number of rows before it;
    `torn`: the last compressed frame is not whole."""

    path: Path
    listener: Listening
    unread: Callable[[bytes], Iterable[Unread]]
    lines: Lines = field(factory=Lines)
    lost: list[int] = field(factory=list)
    torn: bool = False

    def hear(self) -> None:
        """Hears every row. Raises OSError and NoZstd."""
        source = Source(self.path)
        for chunk in source.chunks():
            for count, size, line in self.unread(chunk):
                self.lines.skip(count, size)
                if line:
                    self.take(line)
        self.torn = source.torn
        if source.torn:
            self.lost.append(self.listener.rows)

    def take(self, line: bytes) -> None:
        """Parses one line and hears its rows."""
        damaged = len(self.lines.damaged)
        for row in self.lines.read(line):
            self.listener.hear(row)
        if len(self.lines.damaged) > damaged:
            self.lost.append(self.listener.rows)


def opened(reader: str, path: Path, named: bool, parse: Callable[[Path], Reading]) -> Reading:
    """`parse(path)`; where the record is not there or cannot be read, Unreadable if the person
    `named` it, else a reading in which nothing is known. (SPEC RD-FMT-3)"""
    try:
        _look(path)
        return parse(path)
    except NoZstd as error:
        return nothing(reader, "zstd_missing", str(error))
    except OSError as error:
        if named:
            raise Unreadable(f"no session record: {error}", path=str(path)) from None
        return nothing(reader, "record_missing", f"the record cannot be read: {error}")


def _look(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except ValueError as error:
        raise OSError(str(error)) from None
    # Opening a pipe waits for somebody to write into it.
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError("neither a file nor a directory")


def nothing(reader: str, code: str, text: str, lines: Lines | None = None) -> Reading:
    """A reading of all four fields in which each is unknown."""
    more = () if lines is None else line_notes(reader, lines)
    return Reading(
        reader,
        items=dict.fromkeys(FIELDS, ()),
        unknown=frozenset(FIELDS),
        notes=(Note(reader, code, text), *more),
    )


def told(
    reader: str,
    record: "Record[Any]",
    outcome: Outcome,
    unknown: frozenset[str],
    session: str | None,
    notes: Iterable[tuple[str, str]],
) -> Reading:
    """The reading of an outcome."""
    texts = dict([*notes, *outcome.notes.items()])
    if record.torn:
        texts["torn_frame"] = "the last compressed frame is not whole"
    return Reading(
        reader,
        items=outcome.items,
        unknown=unknown,
        session=session,
        notes=(
            *line_notes(reader, record.lines),
            *(Note(reader, code, text) for code, text in texts.items()),
        ),
    )


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


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(content: Any) -> str:
    """The text of a message or of an output: a string, a list of blocks, or an object with one."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        inner = content.get("content", content.get("text"))
        return inner if isinstance(inner, str) else ""
    blocks = content if isinstance(content, list) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def arguments(text: Any) -> dict[str, Any] | None:
    """The arguments of a call, which come as a JSON text; None where they are no object."""
    if isinstance(text, dict):
        return text
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:_NAMED]))
