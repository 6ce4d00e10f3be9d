"""What a harness tells a hook on standard input.

In: the bytes. Out: a `Firing`. Laws: a manual compaction is one only where that was positively
read; bytes that cannot be read are no firing of any kind, and never an empty one. (SPEC HK-READ)
"""

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.errors import InvalidJson, MissingField, WrongType, child

PRE_COMPACT = "PreCompact"
SESSION_START = "SessionStart"
MANUAL = "manual"
COMPACT = "compact"


class Kind(StrEnum):
    """What a firing is to the hook. (SPEC HK-READ-2)"""

    MANUAL = "manual"
    """somebody asked for this compaction, and it can be stopped without harm"""
    OTHER = "other"
    """any other compaction: it is never stopped"""
    RESUMED = "resumed"
    """a compaction is over"""
    ELSE = "else"
    """nothing that this hook has a part in"""


@frozen
class Firing:
    """One call of the hook. `event` and `cause` (trigger or source) as the harness wrote them;
    `record` is None where it names none; `is_agent`: it is a sub-agent's."""

    event: str
    cause: str | None
    session: str | None
    record: Path | None
    cwd: Path
    is_agent: bool

    @property
    def kind(self) -> Kind:
        if self.event == PRE_COMPACT:
            return Kind.MANUAL if self.cause == MANUAL else Kind.OTHER
        if self.event == SESSION_START and self.cause == COMPACT:
            return Kind.RESUMED
        return Kind.ELSE


def read(data: bytes) -> Firing:
    """The firing that one JSON object tells of; keys that are not known are passed over, since
    harnesses add some. Raises InvalidJson, WrongType or MissingField. (SPEC HK-READ-1)"""
    payload = _parsed(data)
    if not isinstance(payload, dict):
        raise WrongType(f"expected an object, got {wire.kind(payload)}")
    path = child("$", "hook_event_name")
    if "hook_event_name" not in payload:
        raise MissingField("a hook is told which event it serves", path=path)
    event = wire.text(payload["hook_event_name"], path)
    cause = _text(payload, "trigger" if event == PRE_COMPACT else "source")
    record = _text(payload, "transcript_path")
    cwd = _text(payload, "cwd")
    return Firing(
        event=event,
        cause=cause,
        session=_text(payload, "session_id"),
        record=None if record is None else Path(record),
        cwd=Path(cwd or "."),
        is_agent=payload.get("agent_id") not in (None, ""),
    )


def _parsed(data: bytes) -> Any:
    try:
        return wire.parse(data)
    except InvalidJson as error:
        # What a person types is handed on as it is, a half of an emoji too, and what else is read
        # here decides whether anything is stopped.
        if error.code != "lone_surrogate":
            raise
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise error from None


def _text(payload: dict[str, Any], key: str) -> str | None:
    value = payload.get(key)
    return value if isinstance(value, str) and value else None
