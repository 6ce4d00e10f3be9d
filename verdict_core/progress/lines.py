"""Whose each line of a report is, and what it declares.

In: a text. Out: its lines, each with its standing and, where it begins with a label, the label and
the value. Laws: only LF, CRLF and CR end a line; a line that is not surely the report's own is not
called its own, and one that declares something is never called prose. (SPEC PG-REPORT)
"""

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum, StrEnum

from attrs import frozen


class Label(StrEnum):
    """What a line can begin with: three control labels, a binding, two lists. (PG-REPORT-1)"""

    STATUS = "Status"
    INTEGRITY = "Integrity"
    CONTRACT = "Contract audit"
    CLAIM = "Claim"
    MISSING = "Missing"
    EVIDENCE = "Evidence"


HIDING = (
    "blockquote", "code", "pre", "script", "style", "template", "textarea", "think", "thinking",
)  # fmt: skip
"""HTML elements whose text is not shown as the report's own. (SPEC PG-REPORT-8)"""

TAB_COLUMNS = 4
INDENTED_COLUMNS = 4

_BREAK = re.compile(r"\r\n|\r|\n")
DECORATION = " \t*_`"
_MARK = r"(?:[-*+]|\d{1,9}[.)])"
_MARKS = rf"[ \t]*(?:{_MARK}[ \t]+)*"
ITEM_MARK = re.compile(rf"[ \t]*{_MARK}(?:[ \t]+|$)", re.ASCII)
HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_QUOTE = re.compile(rf"{_MARKS}>", re.ASCII)
_FENCE = re.compile(rf"({_MARKS})(?:(`{{3,}})[^`]*|(~{{3,}}).*)$", re.ASCII)
_HIDE = re.compile(rf"<(?:!--|({'|'.join(HIDING)})(?=[\s/>]|$))", re.ASCII | re.IGNORECASE)
_BLOCK = re.compile(_MARKS, re.ASCII)
_LABELS = "(?P<label>status|integrity|contract{}audit|claim|missing|evidence)"
_OWN = re.compile(
    rf" *(?:{_MARK}(?: {{1,4}}|\t)|#{{1,6}}[ \t]+)?[*_`]*"
    + _LABELS.format(r"[ \t]+")
    + r"[*_`]*[ \t]*[:\uff1a](?P<value>.*)",
    re.ASCII | re.IGNORECASE,
)
# On a line without what nobody sees: any marks, check boxes and decoration, in any order.
_NEARLY = re.compile(
    r"(?:[ #*+_`-]|\d{1,9}[.)]|\[[ x]?\])*" + _LABELS.format("[ *_`]+") + r"[ *_`]*:(?P<value>.*)",
    re.ASCII | re.IGNORECASE,
)
_BY_NAME = {label.lower(): label for label in Label}
_CLOSERS = {"": re.compile("-->")} | {
    name: re.compile(rf"</{name}[ \t]*>", re.ASCII | re.IGNORECASE) for name in HIDING
}
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_UNSEEN = frozenset({"Cf", "Me", "Mn"})
_BLANKS = frozenset({"Cc", "Zl", "Zp", "Zs"})


class Standing(Enum):
    """Whose a line is. In doubt is (SPEC PG-REPORT-6 to 9):

    - a line below a quoted line with no blank line between: a paragraph of the quote may go on;
    - a line in an HTML comment, or in one of the elements of `HIDING`;
    - all that follows a line that lies left of the fence which it is in, where the fence stands
      behind a list mark or is indented by four columns or more: the fence may have ended there;
    - a line that declares something only when several marks, a check box, or characters that are
      not seen or only look different are overlooked.
    """

    UNREAD = 0
    IN_DOUBT = 1
    OWN = 2


@frozen
class Line:
    """One line: what it declares, if it does, and whether a list mark stands before the label."""

    text: str
    standing: Standing
    label: Label | None = None
    value: str = ""
    marked: bool = False


_NOTHING = Line("", Standing.UNREAD)


def read_lines(text: str) -> Iterator[Line]:
    """The lines of a text with their standing. LF, CRLF or CR alone ends a line and nothing else
    does; a byte order mark before the first is no part of it. (SPEC PG-REPORT-2, PG-REPORT-3)"""
    place = _Place()
    for line in _BREAK.split(text.removeprefix("\ufeff")):
        standing = place.standing(line)
        yield _declaring(line, standing) if line else _NOTHING


def _declaring(line: str, standing: Standing) -> Line:
    if standing is Standing.UNREAD or (line.isascii() and ":" not in line):
        return Line(line, standing)
    found = _OWN.match(line)
    if not found:
        found = _NEARLY.match(_seen(line))
        if not found:
            return Line(line, standing)
        standing = Standing.IN_DOUBT
    # The only label of two words, however they are parted.
    label = _BY_NAME.get(found["label"].lower(), Label.CONTRACT)
    return Line(line, standing, label, found["value"].strip(DECORATION), is_item(line))


def is_item(line: str) -> bool:
    """Whether a list mark stands first."""
    return ITEM_MARK.match(line) is not None


def is_blank(line: str) -> bool:
    """Whether nothing but spaces and tabs stands there."""
    return not line.strip(" \t")


def _seen(line: str) -> str:
    """The line as a person sees it: without colour and invisible characters, forms folded."""
    line = _COLOUR.sub("", line.replace("\ufffd", ""))
    return "".join(map(_glimpse, unicodedata.normalize("NFKC", line)))


def _glimpse(character: str) -> str:
    category = unicodedata.category(character)
    if category in _BLANKS:
        return " "
    return "" if category in _UNSEEN else character


@frozen
class _Fence:
    """An open fence. `column` is 0 where neither a list mark nor four columns stand before it."""

    column: int
    character: str
    length: int

    def closed_by(self, line: str, column: int) -> bool:
        body = line.strip(" \t")
        is_fence = len(body) >= self.length and not body.strip(self.character)
        return is_fence and column < self.column + INDENTED_COLUMNS


class _Place:
    """What is open where the next line begins."""

    def __init__(self) -> None:
        self._fence: _Fence | None = None
        self._disputed = False
        self._quoted = False
        self._closer: re.Pattern[str] | None = None
        self._is_block = False

    def standing(self, line: str) -> Standing:
        if self._in_fence(line):
            return Standing.UNREAD
        if is_blank(line):
            self._quoted = False
            if not self._is_block:
                self._closer = None
            return Standing.UNREAD
        in_doubt = self._disputed or self._quoted or self._closer is not None
        is_quote = _QUOTE.match(line) is not None
        is_unread = is_quote or _column(line) >= INDENTED_COLUMNS
        self._quoted |= is_quote
        self._hide(line, opens=not is_unread)
        if is_unread:
            return Standing.UNREAD
        return Standing.IN_DOUBT if in_doubt else Standing.OWN

    def _in_fence(self, line: str) -> bool:
        if not self._fence:
            return self._opens_fence(line)
        column = _column(line)
        if column < self._fence.column and not is_blank(line):
            self._fence, self._disputed = None, True
            return False
        if self._fence.closed_by(line, column):
            self._fence = None
        return True

    def _opens_fence(self, line: str) -> bool:
        # Inside a block of HTML a fence is text, and from a disputed line on nobody can tell.
        if self._disputed or (self._closer and self._is_block):
            return False
        found = _FENCE.match(line)
        if not found:
            return False
        before, fence = found[1], found[2] or found[3]
        column = len(before.expandtabs(TAB_COLUMNS))
        stands_alone = column < INDENTED_COLUMNS and not before.strip(" \t")
        self._fence = _Fence(0 if stands_alone else column, fence[0], len(fence))
        self._quoted, self._closer = False, None
        return True

    def _hide(self, line: str, opens: bool) -> None:
        at = 0
        while self._closer or opens:
            found = (self._closer or _HIDE).search(line, at)
            if not found:
                return
            at = found.end()
            if self._closer:
                self._closer = None
            else:
                self._closer = _CLOSERS[(found[1] or "").lower()]
                self._is_block = _BLOCK.fullmatch(line, 0, found.start()) is not None


def _column(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(TAB_COLUMNS))
