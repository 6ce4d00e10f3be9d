"""Where Codex keeps the records of a directory.

In: a directory. Out: the path of its newest rollout, or None. Law: all directories share one tree,
so only a record whose head names the directory is its; a sub-agent's never is. (SPEC RD-FMT-5)
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from verdict_core.readers.jsonlines import Lines
from verdict_core.readers.session import mapping
from verdict_core.readers.streams import NoZstd, Source

# So many of the last records are looked at. What is further back is not what a person works on.
_LOOKED_AT = 1000


def find_newest(directory: Path, *, home: Path | None = None, since: int = 0) -> Path | None:
    """The record of `directory` that was written last, and not before `since` (mtime in ns).
    `home` is the host's directory: $CODEX_HOME, else ~/.codex. (SPEC RD-FMT-5)"""
    if home is None:
        home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    names = {os.path.abspath(directory), os.path.realpath(directory)}
    found = sorted(_records(home / "sessions", since), reverse=True)[:_LOOKED_AT]
    return next((path for _, path in found if _is_of(path, names)), None)


def _records(sessions: Path, since: int) -> Iterator[tuple[int, Path]]:
    for path in sessions.glob("*/*/*/rollout-*"):
        try:
            status = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_mtime_ns >= since:
            yield status.st_mtime_ns, path


def _is_of(path: Path, names: set[str]) -> bool:
    try:
        head = next(Source(path).chunks(), b"").split(b"\n", 1)[0]
    except (OSError, NoZstd):
        return False
    payload = mapping(next(iter(Lines().read(head)), {}).get("payload"))
    source = payload.get("source")
    child = isinstance(source, dict) and "subagent" in source
    return payload.get("cwd") in names and not child
