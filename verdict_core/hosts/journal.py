"""The journal of the hooks: a line for each decision, added to and never taken from.

In: a state directory and an entry. Out: nothing, once the line is on the disk. Laws: the file is
its owner's alone; a torn line is closed off and never glued to the next. (SPEC HK-LOG)
"""

import fcntl
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from verdict_core import disk, wire

FORMAT = "verdict-core/hook-journal/1"


def journal_path(state: Path) -> Path:
    """Where the journal is. (SPEC HK-LOG-1)"""
    return state / "hooks" / "journal.jsonl"


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """Adds `entry` with `format` and `time` as one line, and syncs it. Raises OSError where it
    cannot be kept. (SPEC HK-LOG-1, HK-LOG-2)"""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = wire.compact({"format": FORMAT, "time": now, **entry}) + b"\n"
    disk.make_private(path.parent)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(path, flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(file, line) != len(line):
            raise OSError(f"the line was written in part: {path}")
        os.fsync(file)
        if not size:
            disk.sync_names(path.parent)
    finally:
        os.close(file)
