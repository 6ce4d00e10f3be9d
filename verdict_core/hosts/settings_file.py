"""A settings file, replaced whole or not at all.

In: a path, the bytes that were read, and those that are to stand there. Out: nothing. Laws: mode
and links stay; what somebody else wrote meanwhile is not written over. (SPEC HK-INST-6)
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from verdict_core.errors import Unwritable


def replaced(path: Path, before: bytes | None, after: bytes | None, *, inside: Path | None) -> None:
    """Puts `after` where `before` stood; None is no file. A link is followed; where `inside` is
    given, not out of it. Raises Unwritable. (SPEC HK-INST-6)"""
    target = Path(os.path.realpath(path))
    if inside is not None and not target.is_relative_to(os.path.realpath(inside)):
        raise Unwritable(f"a link leads out of the project, to {target}", path=str(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if after is None:
            _refuse_changed(path, target, before)
            target.unlink()
        else:
            _written(path, target, before, after)
        _sync(target.parent)
    except OSError as error:
        raise Unwritable(str(error.strerror or error), path=str(path)) from None


def _written(path: Path, target: Path, before: bytes | None, after: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as draft:
            draft.write(after)
            draft.flush()
            os.fchmod(draft.fileno(), _mode(target))
            os.fsync(draft.fileno())
        _refuse_changed(path, target, before)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _refuse_changed(path: Path, target: Path, before: bytes | None) -> None:
    now = target.read_bytes() if target.exists() else None
    if now != before:
        raise Unwritable("somebody else changed it meanwhile; nothing was changed", path=str(path))


def _mode(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o644 & ~mask


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
