"""Small records by hand, and what a reading says. The shapes are those of tests/data/harnesses."""

import json
from pathlib import Path
from typing import Any

from verdict_core.readers.reading import Reading

FIELDS = ("todos", "questions", "decisions", "next_steps")
HARNESSES = Path(__file__).parent / "data" / "harnesses"


def write(path: Path, *rows: Any) -> Path:
    """JSON Lines; a row of bytes stands as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows]
    path.write_bytes(b"".join(lines))
    return path


def open_items(reading: Reading) -> dict[str, list[str]]:
    """The items of the fields that have some."""
    assert list(reading.items) == list(FIELDS)
    return {name: list(items) for name, items in reading.items.items() if items}


def codes(reading: Reading) -> list[str]:
    return [note.code for note in reading.notes]


def knows_nothing(reading: Reading) -> bool:
    return reading.unknown == set(FIELDS) and open_items(reading) == {} and bool(reading.notes)
