"""What a hook stopped, and when first.

In: a run's directory and the key of a stop. Out: whether the compaction is to be stopped now. Law:
a key is stopped for ten seconds from its first firing and never after them, whatever processes
ask at once. (SPEC HK-STOP-3)
"""

import os
import time
from pathlib import Path

from verdict_core import disk
from verdict_core.wire import digest

WINDOW_S = 10.0
# The clock of files is coarser than the system's, and so a little behind.
_COARSE_S = 1.0


def hook_directory(state: Path, run: str) -> Path:
    """Where a run's stops are kept. (SPEC HK-STOP-3)"""
    return state / "hooks" / run


def must_stop(directory: Path, key: str) -> bool:
    """Whether a compaction with this key is stopped: the first, and those within `WINDOW_S` of it.
    Raises OSError where that cannot be remembered. (SPEC HK-STOP-3)"""
    disk.make_private(directory)
    if _is_fresh(_file(directory, "passed", key)):
        return False
    # One empty file a key: making it is the question and the answer in one, so that of several
    # processes one is the first; its time is when.
    file = _file(directory, "stopped", key)
    try:
        made = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return _is_fresh(file)
    try:
        os.fsync(made)
    finally:
        os.close(made)
    disk.sync_names(directory)
    return True


def let_pass(directory: Path, key: str) -> None:
    """Has compactions with this key pass for `WINDOW_S`. Raises OSError. (SPEC HK-STOP-4)"""
    file = _file(directory, "passed", key)
    file.touch(0o600)


def _file(directory: Path, word: str, key: str) -> Path:
    return directory / f"{word}-{digest(key.encode())[7:39]}"


def _is_fresh(file: Path) -> bool:
    try:
        return -_COARSE_S < time.time() - file.lstat().st_mtime < WINDOW_S
    except FileNotFoundError:
        return False
