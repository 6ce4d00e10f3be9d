"""What both services share: how long they may take, how much they may say, and the fence.

In: a reply as it came. Out: the answer's text for the core to read. Law: one closed code fence
around the whole reply is taken off; nothing else is repaired. (SPEC SV-TIME, SV-FENCE)
"""

import threading
from typing import Any

from verdict_core.errors import BadConfig

DEADLINE_S = 8.0
"""Seconds that one asking may take, from first to last. (SPEC SV-TIME-1)"""

REPLY_BYTES = 64 << 10
"""The longest reply that is read; a longer one is `unreadable`. (SPEC SV-TIME-4)"""

_FENCE = b"```"
_BLANK = b" \t\r\n"


def unfenced(reply: bytes) -> bytes:
    """The inside of one closed fence of three backticks that stands around the whole reply; any
    other reply as it is, for the core to refuse. (SPEC SV-FENCE-1)"""
    opening, _, rest = reply.strip(_BLANK).partition(b"\n")
    inside, _, closing = rest.rpartition(b"\n")
    info = opening.removeprefix(_FENCE).strip(_BLANK)
    fenced = opening.startswith(_FENCE) and closing.strip(_BLANK) == _FENCE
    if not fenced or _FENCE in inside or not (info.isalnum() or info == b""):
        return reply
    return inside


def seconds(_: Any, attribute: Any, value: Any) -> None:
    """Refuse a deadline that is no number of seconds above 0. Raises BadConfig. (SPEC SV-TIME-1)"""
    if type(value) not in (int, float) or not 0 < value <= threading.TIMEOUT_MAX:
        raise BadConfig("expected a number of seconds above 0", path=attribute.name)
