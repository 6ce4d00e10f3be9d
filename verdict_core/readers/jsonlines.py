"""A record's bytes, line by line, as JSON objects.

In: the lines of a file that was opened in binary mode. Out: the objects on them, and a count of
what could not be read. Laws: only the byte 0x0A ends a line; every whole object is given, in order;
what is left of a damaged line is counted with its place, never guessed, and ends nothing.
(SPEC RD-LINE)
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import jiter
from attrs import define, field, frozen

Object = dict[str, Any]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_BETWEEN_NULS = re.compile(rb"[^\0]+")
_PADDING = re.compile("[ \t\r\n\ufeff]*")
_DECODER = json.JSONDecoder()
# After a whole row stands another one or nothing. Before one of these a value is a part of
# something whose head is lost, and taking it for a row would be a guess.
_INSIDE = frozenset(",:]}")


@frozen
class Damage:
    """Where something stands that is no object: `line` counts from 1, `offset` is in bytes from
    the start of the file."""

    line: int
    offset: int


def scalar(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD. (SPEC RD-LINE-5)"""
    return _LONE_SURROGATE.sub("\ufffd", text)


@define
class Lines:
    """Reads one line after the other and keeps the tally: `count` lines and `offset` bytes so far,
    the places of damage, the numbers of lines with several objects (`joined`) and of lines in which
    a lone surrogate was replaced (`mended`)."""

    count: int = 0
    offset: int = 0
    damaged: list[Damage] = field(factory=list)
    joined: list[int] = field(factory=list)
    mended: list[int] = field(factory=list)

    def objects(self, lines: Iterable[bytes]) -> Iterator[Object]:
        """The objects of all `lines`, each of which ends after its 0x0A. (SPEC RD-LINE-1)"""
        for line in lines:
            yield from self.read(line)

    def skip(self, count: int, size: int) -> None:
        """Counts so many lines, of so many bytes in all, that the caller has no need to read."""
        self.count += count
        self.offset += size

    def read(self, line: bytes) -> list[Object]:
        """The objects of the next line. (SPEC RD-LINE-2)"""
        start = self.offset
        self.skip(1, len(line))
        try:
            # Not strict: a record is evidence, and NaN or a repeated key in it loses no row.
            value = jiter.from_json(line)
        except ValueError:
            return self._salvage(line, start)
        if isinstance(value, dict):
            return [value]
        self.damaged.append(Damage(self.count, start))
        return []

    def _salvage(self, line: bytes, start: int) -> list[Object]:
        """The objects of a line that is not one JSON text; NUL separates, as it is in no text."""
        found: list[Object] = []
        lost: list[int] = []
        for piece in _BETWEEN_NULS.finditer(line):
            text, whole = _decode(piece[0])
            end = self._take(text, found)
            if end is None and not whole:
                end = len(text)
            if end is not None:
                lost.append(start + piece.start() + len(text[:end].encode()))
        if lost:
            self.damaged.append(Damage(self.count, lost[0]))
        if len(found) > 1:
            self.joined.append(self.count)
        return found

    def _take(self, text: str, found: list[Object]) -> int | None:
        """Appends the objects at the head of `text` to `found`; returns where it stopped short of
        the end, or None."""
        place = _skip_padding(text, 0)
        while place < len(text):
            try:
                value, end = _DECODER.raw_decode(text, place)
            except (ValueError, RecursionError):
                return place
            after = _skip_padding(text, end)
            if not isinstance(value, dict) or text[after : after + 1] in _INSIDE:
                return place
            found.append(self._mend(value, text[place:end]))
            place = after
        return None

    def _mend(self, value: Object, source: str) -> Object:
        if not _SURROGATE_ESCAPE.search(source):
            return value
        text = json.dumps(value, ensure_ascii=False)
        mended = scalar(text)
        if mended == text:
            return value
        self.mended.append(self.count)
        # Reading the text again reaches keys and values at any depth without a walk of our own.
        result: Object = json.loads(mended)
        return result


def _skip_padding(text: str, place: int) -> int:
    found = _PADDING.match(text, place)
    assert found is not None  # the pattern matches the empty string
    return found.end()


def _decode(piece: bytes) -> tuple[str, bool]:
    """The text up to the first byte that is not UTF-8, and whether that is all of it."""
    try:
        return piece.decode(), True
    except UnicodeDecodeError as error:
        return piece[: error.start].decode(), False
