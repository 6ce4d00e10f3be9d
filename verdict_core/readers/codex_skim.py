"""Rows of a Codex record that need no parsing.

In: a line. Out: whether it was one row that can tell no more than that the assistant worked, or
nothing at all; then it is counted. Laws: a skimmed line begins and ends as one row and holds no
second one; whatever a byte test does not prove is left to the parser; with or without skimming a
record reads the same. (SPEC RD-LINE-4, RD-CX)
"""

import re
from collections.abc import Iterator
from enum import Enum
from io import BytesIO

from attrs import define, field, frozen

from verdict_core.readers.codex_events import PATCH_TOOL, Listener
from verdict_core.readers.flow import Answer, Work, add_work
from verdict_core.readers.session import Unread


class _Skip(Enum):
    """What has to be looked at before a row of a kind is skipped."""

    NOTHING = 1
    ITEM = 2  # which kind of item was completed
    THOUGHT = 3
    CALL = 4  # whether it is of a tool that matters
    RESULT = 5  # whether its call waits for it
    COMPACTION = 6
    MESSAGE = 7  # whether it is the assistant's, and asks nothing


# An enumeration's member is looked up slowly.
_NOTHING, _ITEM, _THOUGHT, _CALL, _RESULT, _COMPACTION, _MESSAGE = _Skip
_WORKS, _RESTS = Work
_ANSWER, _FINAL = Answer(), Answer(final=True)
# What every other kind of row says is left to the parser.
_KINDS = {
    _Skip.NOTHING: (
        "event_msg",
        "token_count exec_command_end agent_message agent_reasoning agent_reasoning_raw_content"
        " patch_apply_end mcp_tool_call_end web_search_end context_compacted sub_agent_activity"
        " collab_agent_spawn_end collab_waiting_end collab_close_end image_generation_end",
    ),
    _Skip.ITEM: ("event_msg", "item_completed"),
    _Skip.THOUGHT: ("response_item", "reasoning"),
    _Skip.CALL: ("response_item", "function_call custom_tool_call local_shell_call"),
    _Skip.MESSAGE: ("response_item", "message"),
    _Skip.RESULT: ("response_item", "function_call_output custom_tool_call_output"),
}
_APART = {
    _Skip.NOTHING: ("turn_context", "world_state", "token_usage_record"),
    _Skip.COMPACTION: ("compacted",),
}
# How near to the head of a row its kind stands, and behind that its item.
_HEAD, _NEAR = 160, 400
# A call without one of these in its line changes no plan, asks nothing, and does not commit. What
# is escaped could spell anything.
_NEEDLES = (b"update_plan", b"commit", b"request_user_input", b"_goal", b"\\u00")
_WATCHING = (*_NEEDLES, b"write_stdin")
# With these a text ends in no question mark, nor in what may close behind one.
_PLAIN_ENDS = frozenset(b".:,;!0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


@frozen
class _Shape:
    """What to look for in a record that has a space, or none, after each colon and comma.

    `row` is how a row begins; what is behind that is looked at. `stamp` is where its type stands if
    no number comes before it, and `quote`, from there, is inside the payload's type. `kinds` has
    what to do by the bytes from the row's type to its payload's; `apart` by how those begin.
    """

    row: bytes
    stamp: int
    quote: int
    type: bytes
    kinds: dict[bytes, _Skip]
    apart: dict[bytes, _Skip]
    call: "re.Pattern[bytes]"
    answer: "re.Pattern[bytes]"
    final: bytes
    item: "re.Pattern[bytes]"
    patch: bytes


def _shape(space: str) -> _Shape:
    def spaced(text: str) -> bytes:
        return text.replace("=", ":" + space).replace(";", "," + space).encode()

    return _Shape(
        row=spaced('{"timestamp"="20'),
        stamp=len(spaced('26-11-30T18:15:55.980Z";')),
        quote=len(spaced('"type"="response_item";"payload"={"type"="')) + 1,
        type=spaced('"type"="'),
        kinds={
            spaced(f'"type"="{row}";"payload"={{"type"="{kind}'): skip
            for skip, (row, kinds) in _KINDS.items()
            for kind in kinds.split()
        },
        apart={
            spaced(f'"type"="{row}";"payload"={{"'): skip
            for skip, rows in _APART.items()
            for row in rows
        },
        call=re.compile(spaced(r'";(?:"id"="[^"\\]*";)?"call_id"="([^"\\]+)"')),
        answer=re.compile(
            spaced(
                r'";(?:"id"="[^"\\]*";)?"role"="assistant";(?:"phase"="\w+";)?'
                r'"content"=\[\{"type"="output_text";"text"="'
            )
        ),
        final=spaced('"phase"="final_answer"'),
        patch=spaced(f'"name"="{PATCH_TOOL}"'),
        item=re.compile(spaced(r'"item"=\{"type"="(\w+)"')),
    )


_COMPACT, _SPACED = _shape(""), _shape(" ")


@define
class Skimmer:
    """Skims for one listener."""

    _listener: Listener
    _shape: _Shape = field(default=_COMPACT)

    def unread(self, chunk: bytes) -> Iterator[Unread]:
        """The lines of a chunk that need parsing; the rows of all others are counted.
        (SPEC RD-LINE-4)"""
        if b"\0" in chunk:
            yield from ((0, 0, line) for line in BytesIO(chunk))
            return
        if chunk.startswith(_SPACED.row):
            self._shape = _SPACED
        listener, shape = self._listener, self._shape
        known, stamp, quote = shape.kinds.get, shape.stamp, shape.stamp + shape.quote
        # What is behind the head of a row ends where the next one begins, whatever stands between.
        held, *pieces = chunk.split(shape.row)
        count = size = 0
        if held.endswith(b"\n"):
            yield from ((0, 0, line) for line in BytesIO(held))
            held = b""
        for piece in pieces:
            end = piece.find(b'"', quote)
            skip = known(piece[stamp:end])
            if skip is None:
                skip, end = self._other(piece)
            if (
                skip
                and not held
                and piece.endswith(b"}}\n")
                and piece.find(b"\n") == len(piece) - 1
                # Where a sub-agent's copied rows end is told by rows that are skimmed otherwise.
                and not listener.subagent
                and (skip is _NOTHING or self._take(piece, skip, end))
            ):
                count += 1
                size += len(piece)
                continue
            held += shape.row + piece
            if held.endswith(b"\n"):
                listener.rows += count
                size += count * len(shape.row)
                for line in BytesIO(held):
                    yield count, size, line
                    count = size = 0
                held = b""
        listener.rows += count
        yield count, size + count * len(shape.row), b""
        yield from ((0, 0, line) for line in BytesIO(held))

    def _other(self, piece: bytes) -> tuple[_Skip | None, int]:
        """What can be skipped of a row that has a number in its head, or whose payload has no type;
        and where its payload's type ends."""
        shape = self._shape
        start = piece.find(shape.type, 0, _HEAD)
        end = piece.find(b'"', start + shape.quote)
        skip = shape.kinds.get(piece[start:end])
        if skip is None:
            for begin, apart in shape.apart.items():
                if piece.startswith(begin, start):
                    return apart, end
        return skip, end

    def _take(self, piece: bytes, skip: _Skip, end: int) -> bool:
        """Whether the row can be skipped; then it is heard that the assistant worked."""
        listener = self._listener
        if skip is _RESULT:
            if listener.pending:
                call = self._shape.call.match(piece, end)
                if call is None or call[1].decode() in listener.pending:
                    return False
        elif skip is _CALL:
            if piece.find(self._shape.patch, end, end + _NEAR) < 0:
                for needle in _WATCHING if listener.terminals else _NEEDLES:
                    if needle in piece:
                        return False
            add_work(listener.events, _WORKS)
            return True
        elif skip is _MESSAGE:
            return self._message(piece, end)
        elif skip is _COMPACTION:
            listener.compactions += 1
            return True
        elif skip is _ITEM:
            item = self._shape.item.search(piece, end, end + _NEAR)
            return item is not None and item[1] not in (b"UserMessage", b"Plan")
        add_work(listener.events, _RESTS)
        return True

    def _message(self, piece: bytes, end: int) -> bool:
        """Whether it is one text of the assistant that surely asks nothing and proposes nothing."""
        shape = self._shape
        head = shape.answer.match(piece, end)
        if head is None:
            return False
        # An escaped quote can stand here, or the end of the text.
        close = piece.find(b'"}]', head.end())
        if (
            piece[close - 1] not in _PLAIN_ENDS
            or b"proposed_plan" in piece
            or piece.find(b"compaction_output", close) >= 0
        ):
            return False
        final = piece.find(shape.final, end) >= 0
        self._listener.events.append(_FINAL if final else _ANSWER)
        return True
