"""Calls of tools inside a script that the model wrote (code mode).

In: JavaScript. Out: the calls of the tools that matter, each with its first argument. Law: an
argument that is no literal, and a call that does not stand as one, is unreadable; it is never
guessed and never passed over. (SPEC RD-CX-4)
"""

import re
from collections.abc import Iterator
from typing import Any

from attrs import define, field, frozen

_TOKEN = re.compile(
    r"""
      (?P<space>\s+ | //[^\n]* | /\*.*?\*/)
    | (?P<text>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | `(?:[^`\\]|\\.)*`)
    | (?P<word>[A-Za-z_$][\w$]*)
    | (?P<number>-?\d[\w.]*)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r\n|.)", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}
_DEEPEST = 32


class NotLiteral(ValueError):
    """Not a literal."""


@frozen
class Call:
    """A call of a tool. `given`: its first argument, or None where that is no literal object."""

    tool: str
    given: dict[str, Any] | None


def calls(script: str, tools: frozenset[str]) -> Iterator[Call]:
    """The calls of `tools`, in the order of the text. (SPEC RD-CX-4)"""
    tokens = [m for m in _TOKEN.finditer(script) if m.lastgroup != "space"]
    found = dict.fromkeys(tools, 0)
    for place, token in enumerate(tokens):
        follows = tokens[place + 1][0] if place + 1 < len(tokens) else ""
        if token[0] in tools and follows == "(":
            found[token[0]] += 1
            yield Call(token[0], _given(tokens, place + 2))
    for tool, count in found.items():
        # Called by its name in brackets, or from a text that was taken for a string.
        if len(re.findall(rf"\b{tool}\b[\"'`\]]*\s*\(", script)) > count:
            yield Call(tool, None)


def _given(tokens: "list[re.Match[str]]", place: int) -> dict[str, Any] | None:
    try:
        value = _Reader(tokens, place).value(0)
    except NotLiteral:
        return None
    return value if isinstance(value, dict) else None


@define
class _Reader:
    """Reads one literal."""

    tokens: "list[re.Match[str]]" = field(repr=False)
    place: int

    def value(self, depth: int) -> Any:
        kind, text = self._next()
        if kind == "text":
            return _text(text)
        if kind == "number":
            return text
        if kind == "word" and text in _WORDS:
            return _WORDS[text]
        if depth < _DEEPEST and text == "[":
            return self._list(depth)
        if depth < _DEEPEST and text == "{":
            return self._object(depth)
        raise NotLiteral(text)

    def _list(self, depth: int) -> list[Any]:
        values: list[Any] = []
        while not self._closes("]"):
            values.append(self.value(depth + 1))
            self._comma("]")
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not self._closes("}"):
            kind, text = self._next()
            if kind not in ("word", "text") or self._next()[1] != ":":
                raise NotLiteral(text)
            members[_text(text) if kind == "text" else text] = self.value(depth + 1)
            self._comma("}")
        return members

    def _closes(self, mark: str) -> bool:
        if self._peek() != mark:
            return False
        self.place += 1
        return True

    def _comma(self, closes: str) -> None:
        if self._peek() == ",":
            self.place += 1
        elif self._peek() != closes:
            raise NotLiteral(self._peek())

    def _peek(self) -> str:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self.place >= len(self.tokens):
            raise NotLiteral("")
        token = self.tokens[self.place]
        self.place += 1
        return token.lastgroup or "", token[0]


def _text(literal: str) -> str:
    """What a string literal says."""
    if literal[0] == "`" and "${" in literal:
        raise NotLiteral(literal)
    return _ESCAPE.sub(_unescape, literal[1:-1])


def _unescape(found: "re.Match[str]") -> str:
    escape = found[1]
    if len(escape) > 1 and escape[0] in "ux":
        code = int(escape[1:].strip("{}"), 16)
        if code > 0x10FFFF:
            raise NotLiteral(escape)
        return chr(code)
    if escape in ("\n", "\r\n"):
        return ""
    return _SHORT.get(escape, escape)
