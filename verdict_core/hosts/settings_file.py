"""A settings file, replaced whole or not at all.

In: a path, the bytes that were read, and those that are to stand there. Out: nothing. Laws: mode
and links stay; what somebody else wrote meanwhile is not written over. (SPEC HK-INST-6)
"""

import os
import stat
from functools import partial
from pathlib import Path

from verdict_core import disk
from verdict_core.errors import Unwritable


def replaced(path: Path, before: bytes | None, after: bytes | None, *, inside: Path | None) -> None:
    """Puts `after` where `before` stood; None is no file. A link is followed; where `inside` is
    given, not out of it. Raises Unwritable. (SPEC HK-INST-6)"""
    target = Path(os.path.realpath(path))
    if inside is not None and not target.is_relative_to(os.path.realpath(inside)):
        raise Unwritable(f"a link leads out of the project, to {target}", path=str(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unchanged = partial(_refuse_changed, path, target, before)
        if after is None:
            unchanged()
            target.unlink()
            disk.sync_names(target.parent)
        else:
            disk.replace(target, after, mode=_mode(target), before=unchanged)
    except OSError as error:
        raise Unwritable(str(error.strerror or error), path=str(path)) from None


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
