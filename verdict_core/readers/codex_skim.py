"""Rows of a Codex record that need no parsing.

In: a line. Out: whether it was one row that can tell no more than that the assistant worked, or
nothing at all; then it is counted. Laws: a skimmed line begins and ends as one row and holds no
second one; whatever a byte test does not prove is left to the parser; with or without skimming a
record reads the same. (SPEC RD-LINE-4, RD-CX)
"""

import re
from collections.abc import Iterator
from enum import Enum

from attrs import define, field, frozen

from verdict_core.readers.codex_events import Listener
from verdict_core.readers.flow import Work, add_work
from verdict_core.readers.session import Unread


class _Skip(Enum):
    """What has to be looked at before a row of a kind is skipped."""

    NOTHING = 1
    ITEM = 2  # which kind of item was completed
    THOUGHT = 3
    CALL = 4  # whether it is of a tool that matters
    RESULT = 5  # whether its call waits for it
    COMPACTION = 6


# An enumeration's member is looked up slowly.
_NOTHING, _ITEM, _THOUGHT, _CALL, _RESULT, _COMPACTION = _Skip
_WORKS, _RESTS = Work
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


@frozen
class _Shape:
    """What to look for in a record that has a space, or none, after each colon and comma.

    `stamp` is the length of a head up to its type where no number stands between; `rare` stands in
    each row, is rare elsewhere, and is quickly found; `kinds` has what to do by the bytes from a
    row's type to its payload's, `apart` by those from a row's type to its payload.
    """

    row: bytes
    stamp: int
    payload: bytes
    rare: bytes
    kind: bytes
    type: bytes
    kinds: dict[bytes, _Skip]
    apart: dict[bytes, _Skip]
    call: "re.Pattern[bytes]"
    item: "re.Pattern[bytes]"


def _shape(space: str) -> _Shape:
    def spaced(text: str) -> bytes:
        return text.replace("=", ":" + space).replace(";", "," + space).encode()

    return _Shape(
        row=spaced('{"timestamp"='),
        stamp=len(spaced('{"timestamp"="2026-11-30T18:15:55.980Z";')),
        payload=spaced('"payload"={'),
        rare=spaced('";"payload"={"'),
        kind=spaced('"payload"={"type"="'),
        type=spaced('"type"="'),
        kinds={
            spaced(f'"type"="{row}";"payload"={{"type"="{kind}'): skip
            for skip, (row, kinds) in _KINDS.items()
            for kind in kinds.split()
        },
        apart={spaced(f'"type"="{row}";'): skip for skip, rows in _APART.items() for row in rows},
        call=re.compile(spaced(r'";(?:"id"="[^"\\]*";)?"call_id"="([^"\\]+)"')),
        item=re.compile(spaced(r'"item"=\{"type"="(\w+)"')),
    )


_COMPACT, _SPACED = _shape(""), _shape(" ")


# Start and end of a line, what can be skipped of it, and where its kind ends.
_Line = tuple[int, int, _Skip | None, int]


@define
class Skimmer:
    """Skims for one listener."""

    _listener: Listener
    _shape: _Shape = field(default=_COMPACT)

    def unread(self, chunk: bytes) -> Iterator[Unread]:
        """The lines of a chunk that need parsing; the rows of all others are counted.
        (SPEC RD-LINE-4)"""
        if chunk.startswith(_SPACED.row):
            self._shape = _SPACED
        listener, count, size = self._listener, 0, 0
        for start, stop, skip, end in self._lines(chunk):
            # Where a sub-agent's copied rows end is told by rows that are skimmed otherwise.
            if (
                skip
                and not listener.subagent
                and (skip is _NOTHING or self._take(chunk, start, stop, skip, end))
            ):
                count += 1
                size += stop - start
            else:
                listener.rows += count
                yield count, size, chunk[start:stop]
                count = size = 0
        listener.rows += count
        yield count, size, b""

    def _lines(self, chunk: bytes) -> list[_Line]:
        """The lines of a chunk. When anything is odd in it nothing is skipped."""
        shape, lines, start, size = self._shape, list[_Line](), 0, len(chunk)
        find, known = chunk.find, shape.kinds.get
        row, kind, length, stamp = shape.row, shape.kind, len(shape.kind), shape.stamp
        others = 0
        while start < size:
            stop = find(b"\n", start) + 1 or size
            place = find(kind, start, start + _HEAD)
            end = find(b'"', place + length)
            skip = known(chunk[start + stamp : end])
            if skip is None:
                skip, end = self._other(chunk, start, stop)
            if chunk[stop - 3 : stop] != b"}}\n" or not chunk.startswith(row, start):
                skip = None
            if skip is None:
                others += chunk.count(shape.rare, start, stop) - 1
            lines.append((start, stop, skip, end))
            start = stop
        # A second row in a line has a payload of its own.
        if b"\0" in chunk or chunk.count(shape.rare) != len(lines) + others:
            return [(start, stop, None, 0) for start, stop, _, _ in lines]
        return lines

    def _other(self, chunk: bytes, start: int, stop: int) -> tuple[_Skip | None, int]:
        """What can be skipped of a line that has a number in its head, or a payload without a
        type; and where the head ends."""
        shape = self._shape
        place = chunk.find(shape.payload, start, min(start + _HEAD, stop))
        begin = chunk.rfind(shape.type, start, place)
        end = chunk.find(b'"', place + len(shape.kind), stop)
        return shape.kinds.get(chunk[begin:end]) or shape.apart.get(chunk[begin:place]), end

    def _take(self, chunk: bytes, start: int, stop: int, skip: _Skip, end: int) -> bool:
        """Whether the row can be skipped; then it is heard that the assistant worked."""
        listener = self._listener
        if skip is _RESULT:
            if listener.waits:
                call = self._shape.call.match(chunk, end, stop)
                if call is None or listener.wants_result(call[1].decode()):
                    return False
        elif skip is _CALL:
            if listener.watches_terminals or any(
                chunk.find(needle, start, stop) >= 0 for needle in _NEEDLES
            ):
                return False
            add_work(listener.events, _WORKS)
            return True
        elif skip is _COMPACTION:
            listener.compactions += 1
            return True
        elif skip is _ITEM:
            item = self._shape.item.search(chunk, end, min(end + _NEAR, stop))
            return item is not None and item[1] not in (b"UserMessage", b"Plan")
        add_work(listener.events, _RESTS)
        return True
