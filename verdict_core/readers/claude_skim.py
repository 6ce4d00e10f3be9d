"""Rows that need no parsing: their place in the graph is taken from the bytes.

In: a line. Out: whether it was one row that can tell no more than its place; then that is added.
Laws: a skimmed line begins and ends as one row and holds no second one; whatever a byte test does
not prove is left to the parser; with or without skimming a record reads the same.
(SPEC RD-CC)
"""

import re

from attrs import define, field, frozen

from verdict_core.readers.claude_events import Listener
from verdict_core.readers.claude_rows import TALKS, Role, Rows
from verdict_core.readers.jsonlines import Lines

# How a row begins, up to its first block. Inside a string a quote is escaped, so a bare quote and
# a name are found outside of strings alone. `=` is a colon and `;` a comma, each with the space
# that the record has after it. The first brace behind the head opens the first member that is an
# object, so the members before it are the row's own.
_HEAD = r"""
    \{"parentUuid"="([^"\\]{36})";"isSidechain"=false;[^{]*"(?:
        type"="(progress)";"data"=\{
      | type"="user";"message"=\{"role"="user";"content"=\[\{
            (?:"type"="tool_result";)?"tool_use_id"="([^"\\]+)"(?:;"type"="tool_result")?
      | message"=\{[^{[]*"id"="([^"\\]+)"[^{[]*"content"=\[\{"type"="(?:
            (thinking)"
          | text";"text"="(\w)
          | tool_use";"id"="([^"\\]+)";"name"="([^"\\]+)"
        )
    )
"""
_PROGRESS, _RESULT, _ANSWER, _THOUGHT, _TEXT, _CALL, _NAME = range(2, 9)
_FLAGS = {
    _RESULT: TALKS | Role.RESULT,
    _THOUGHT: TALKS | Role.THOUGHT,
    _TEXT: TALKS | Role.TEXT,
    _NAME: TALKS | Role.CALL,
}
_UUID = 36
# A result's text, and with it a rejection, begins this near to the call's id, or it is parsed.
_NEAR = 250
# With these a text ends in no question mark, nor in what may close behind one.
_PLAIN_ENDS = frozenset(bytes((byte,)) for byte in b".:,;!") | {
    bytes((byte,)) for byte in range(128) if chr(byte).isalnum()
}
# The rows without a place in the graph that can be long.
_APART = (b'{"type":"file-history-snapshot"', b'{"type": "file-history-snapshot"')


def _spaced(text: str, space: str) -> bytes:
    return text.replace("=", ":" + space).replace(";", "," + space).encode()


@frozen
class _Needles:
    """What to look for in a record that has `space` after each colon and comma."""

    head: "re.Pattern[bytes]"
    uuid: bytes
    assistant: bytes
    kind: bytes
    given: bytes
    model: bytes
    synthetic: bytes
    stop: bytes
    to_call: bytes
    next: bytes


def _needles(space: str) -> _Needles:
    escaped = space.replace(" ", r"\ ")
    return _Needles(
        head=re.compile(_spaced(_HEAD, escaped), re.VERBOSE),
        uuid=_spaced('"uuid"="', space),
        assistant=_spaced('"type"="assistant"', space),
        kind=_spaced('"type"="', space),
        given=_spaced('"content"="', space),
        model=_spaced('"model"="', space),
        synthetic=_spaced('"model"="<synthetic>"', space),
        stop=_spaced('"stop_reason"=', space),
        to_call=_spaced('"stop_reason"="tool_use"', space),
        next=_spaced('";"', space),
    )


_COMPACT, _SPACED = _needles(""), _needles(" ")


@define
class Skimmer:
    """Skims for one listener."""

    _listener: Listener
    _rows: Rows = field(init=False)
    # The last row that was skimmed, and its number.
    _last: bytes = b""
    _number: int = -1

    def __attrs_post_init__(self) -> None:
        self._rows = self._listener.rows

    def skim(self, line: bytes) -> bool:
        """Whether `line` needs no parsing; then its row, if it has one, is in the graph.
        (SPEC RD-LINE-4)"""
        needles = _SPACED if line.startswith(b'{"parentUuid": ') else _COMPACT
        head = needles.head.match(line)
        if head is None:
            return _is_apart(line)
        if (
            not line.endswith(b"}\n")
            or b"\0" in line
            or line.find(b'"parentUuid"', len(b'{"parentUuid"')) >= 0
        ):
            return False
        kind = head.lastindex
        if kind == _RESULT:
            return self._result(line, needles, head)
        uuid = line.rfind(needles.uuid)
        # Only the row's own brace closes behind its id, or the id is another one's.
        if uuid < 0 or line.find(b"}", uuid) != len(line) - 2:
            return False
        uuid += len(needles.uuid)
        if kind == _PROGRESS:
            return self._link(line, head, uuid, 0)
        return self._answer(line, needles, head, uuid)

    def finish(self) -> None:
        """Reads the last skimmed row for what only the last row tells."""
        for row in Lines().read(self._last):
            self._listener.pass_by(self._number, row)

    def _link(self, line: bytes, head: "re.Match[bytes]", uuid: int, flags: int) -> bool:
        """Adds the row whose id stands at `uuid`, if it has the form that all ids have."""
        own = line[uuid : uuid + _UUID]
        if line.find(b'"', uuid) != uuid + _UUID or b"\\" in own:
            return False
        self._last = line
        self._number = self._rows.link(own, head[1], flags)
        return True

    def _result(self, line: bytes, needles: _Needles, head: "re.Match[bytes]") -> bool:
        """A user row with the result of one call that is of no interest, and was not rejected."""
        place, call = head.end(), head[_RESULT]
        given = line[place : place + _NEAR]
        if (
            needles.given not in given
            or b"The user doesn" in given
            or b"User rejected" in given
            or b"[Request interr" in given
            or self._listener.wants_result(call)
        ):
            return False
        uuid = line.find(needles.uuid, place)
        # A row's own id stands behind its message; a second one can be anybody's.
        if (
            uuid < 0
            or line.find(needles.uuid, uuid + 1) >= 0
            or line.find(needles.kind, place, uuid) >= 0
            or not self._link(line, head, uuid + len(needles.uuid), _FLAGS[_RESULT])
        ):
            return False
        self._rows.add_result(self._number, call)
        return True

    def _answer(self, line: bytes, needles: _Needles, head: "re.Match[bytes]", uuid: int) -> bool:
        """An assistant row with one block: a thought, words that ask nothing, or a call that is of
        no interest."""
        kind = head.lastindex or 0
        own = line.rfind(needles.assistant)
        if own < 0 or line.find(needles.kind, head.end(), own) >= 0:
            return False
        if kind == _NAME and self._listener.wants_call(head[_NAME], line):
            return False
        if kind == _TEXT and not _is_plain_text(line, needles, head.end(), own):
            return False
        if not self._link(line, head, uuid, _FLAGS[kind]):
            return False
        self._rows.add_answer(self._number, head[_ANSWER])
        if kind == _NAME:
            self._rows.call_rows[head[_CALL]] = self._number
        return True


def _is_plain_text(line: bytes, needles: _Needles, place: int, own: int) -> bool:
    """Whether a text surely asks nothing, is the assistant's, and comes before no call."""
    # The end of the text, if no other member follows it in its block; or an escaped quote in it.
    end = line.find(b'"}]', place, own)
    model = line.find(needles.model, 0, place)
    stop = line.rfind(needles.stop, 0, own)
    return (
        line[end - 1 : end] in _PLAIN_ENDS
        and line.find(needles.next, place, end) < 0
        and model >= 0
        and not line.startswith(needles.synthetic, model)
        and not line.startswith(needles.to_call, stop)
        and b'"isApiErrorMessage"' not in line
    )


def _is_apart(line: bytes) -> bool:
    """Whether this is one row that has no place in the graph and says nothing."""
    # Every row has a type, so where a second one is named there can be a second row.
    return (
        line.startswith(_APART)
        and line.endswith(b"}\n")
        and b"\0" not in line
        and line.find(b'"type"', len(b'{"type"')) < 0
    )
