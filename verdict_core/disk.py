"""What is on the disk when a call returns, and open to its owner alone.

In: paths, bytes. Out: nothing, once names and bytes are durable. Laws: a file is what it was or
holds all of the new bytes, whatever happens; every function raises OSError. (SPEC LD-HAND, HK-INST)
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def make_private(directory: Path) -> None:
    """Makes a directory, and those above it that are missing, for their owner alone (0700), and
    their names durable. (SPEC LD-HAND-3, HK-LOG-1)"""
    missing = [one for one in (directory, *directory.parents) if not one.is_dir()]
    for one in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(one, 0o700)
        sync_names(one.parent)


def sync_names(directory: Path) -> None:
    """Makes the names in a directory durable. (SPEC LD-HAND-4, HK-INST-6)"""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def replace(
    path: Path, data: bytes, *, mode: int = 0o600, before: Callable[[], None] | None = None
) -> None:
    """The file at `path` holds `data` now, with these permission bits. `before` runs when all but
    the renaming is done, and stops it by what it raises. (SPEC LD-HAND-4, HK-INST-6)"""
    handle, half = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if before is not None:
            before()
        os.replace(half, path)
    except BaseException:  # an interruption, too, leaves no half of a file behind
        with suppress(OSError):
            os.unlink(half)
        raise
    sync_names(path.parent)
