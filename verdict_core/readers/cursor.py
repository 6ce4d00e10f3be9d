"""A Cursor session record, read into questions and next steps.

In: the path of a transcript as JSON Lines. Out: a `Reading`. Laws: the record holds no todo state,
so todos are unknown, not empty; nor has it a form for decisions. (SPEC RD-FMT-7)
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.reading import Reading
from verdict_core.readers.turns import Event, mapping, text_of

READER = "cursor"


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says. (SPEC RD-FMT-7)"""
    return turns.opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    lines = Lines()
    with path.open("rb") as stream:
        events = list(_events(turns.rows(stream, lines)))
    notes = turns.line_notes(READER, lines)
    return turns.fold(READER, events, unread=("todos", "decisions"), notes=notes)


def _events(rows: Iterable[Object | None]) -> Iterator[Event]:
    for row in rows:
        if row is None:
            yield turns.Lost()
            continue
        content = mapping(row.get("message")).get("content")
        blocks = content if isinstance(content, list) else [content]
        says = turns.Said if row.get("role") == "user" else turns.Spoke
        for block in blocks:
            text = text_of(block)
            if mapping(block).get("type", "text") != "text":
                yield turns.Worked()
            elif text.strip():
                yield says(text)
