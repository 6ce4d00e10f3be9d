"""What a ref holds, written below an empty directory.

In: a ref, a directory. Out: the paths that were written, and those that could not be. Law: nothing
is written outside the directory, over anything, or through a link. (SPEC LD-BACK)
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from verdict_core.errors import Unwritable
from verdict_core.git import show_path
from verdict_core.landing.held import readable
from verdict_core.landing.repository import Change, Ref, Repository
from verdict_core.landing.worktree import EXECUTABLE, LINK

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class Restored:
    """What came back: the ref's name, the paths that were written, in the form of GT-PATH-1, and
    those whose content is lost or that nothing may be written to."""

    ref: str
    paths: tuple[str, ...]
    lost: tuple[str, ...]


def stored(repository: Repository, ref: Ref) -> tuple[Change, ...]:
    """What a ref holds otherwise than the commit it stands on: the work that was landed."""
    return tuple(repository.differences([(ref.commit, *ref.parents[:1])]))


def restore(repository: Repository, ref: Ref, directory: Path) -> Restored:
    """Writes the files of `ref` below `directory`, which is empty, or is made. Raises Unwritable
    or `GitFailed`. (SPEC LD-BACK-1 to LD-BACK-3)"""
    files: dict[bytes, list[Change]] = {}
    lost: dict[bytes, None] = {}
    for change in stored(repository, ref):
        if change.new is not None:
            lost[change.path] = None
            files.setdefault(change.new[1], []).append(change)
    written: list[bytes] = []
    with _target(repository, directory) as root:
        for oid, data in readable(repository, files):
            for change in files[oid]:
                if _write(root, change, data):
                    written.append(change.path)
                    del lost[change.path]
    return Restored(ref.name, _shown(written), _shown(lost))


def _shown(paths: "list[bytes] | dict[bytes, None]") -> tuple[str, ...]:
    return tuple(show_path(path) for path in sorted(paths))


@contextmanager
def _target(repository: Repository, directory: Path) -> Iterator[int]:
    try:
        _refuse_metadata(repository, directory)
        if not os.path.lexists(directory):
            os.mkdir(directory, 0o700)
        root = os.open(directory, _FOLDER)
    except (OSError, ValueError) as error:
        raise _unwritable(directory, getattr(error, "strerror", None) or str(error)) from None
    try:
        if os.listdir(root):
            raise _unwritable(directory, "it is not empty, and nothing is ever written over")
        yield root
    finally:
        os.close(root)


def _refuse_metadata(repository: Repository, directory: Path) -> None:
    """Below `.git` a file can be a hook, or a setting."""
    place = Path(os.path.realpath(directory))
    for question in ("--git-dir", "--git-common-dir"):
        answer = os.fsdecode(repository.git("rev-parse", question).removesuffix(b"\n"))
        metadata = Path(os.path.realpath(repository.top / answer))
        if place.is_relative_to(metadata):
            raise _unwritable(directory, f"it is inside {metadata}")


def _write(root: int, change: Change, data: bytes) -> bool:
    """Whether the path was written: not where it leads out, or over something."""
    *folders, name = change.path.split(b"/")
    if any(part.lower() in (b"", b".", b"..", b".git") for part in (*folders, name)):
        return False
    assert change.new is not None
    mode = change.new[0]
    try:
        parent = _made(root, folders)
        try:
            if mode == LINK:
                os.symlink(data, name, dir_fd=parent)
                return True
            fd = os.open(name, _NEW, 0o777 if mode == EXECUTABLE else 0o666, dir_fd=parent)
            with open(fd, "wb") as file:
                file.write(data)
        finally:
            os.close(parent)
    except OSError:
        return False
    return True


def _made(root: int, folders: list[bytes]) -> int:
    here = os.dup(root)
    for folder in folders:
        try:
            try:
                below = os.open(folder, _FOLDER, dir_fd=here)
            except FileNotFoundError:
                os.mkdir(folder, dir_fd=here)
                below = os.open(folder, _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _unwritable(directory: Path, why: str) -> Unwritable:
    return Unwritable(why, path=str(directory))
