"""One path of a working tree, as git would store it without a filter.

In: the top level, opened, and the bytes of a path. Out: the blob that stands there, or None where
nothing does. Laws: no link is followed, also not on the way; nothing but a regular file is opened;
a file that changes while it is read is none. (SPEC LD-TREE)
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from attrs import frozen

MAX_FILE_BYTES = 16 << 20

FILE, EXECUTABLE, LINK, SUBMODULE = b"100644", b"100755", b"120000", b"160000"
_ALGORITHMS = {40: "sha1", 64: "sha256"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, for the pipe that may have come in the place of the file that was seen.
_CONTENT = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


Found = TypeVar("Found")


class Unfit(Exception):
    """A path that cannot be stored: `code` is of the table in SPEC section 19, `text` a line."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@frozen
class Blob:
    """What stands at a path: git's mode in octal digits, and the bytes or the link's target."""

    mode: bytes
    data: bytes

    def oid(self, digits: int) -> bytes:
        """The id of the object, in a repository whose ids have so many hex digits."""
        return blob_oid(self.data, digits)


def blob_oid(data: bytes, digits: int) -> bytes:
    """The id that git gives to a blob of these bytes."""
    digest = hashlib.new(_ALGORITHMS[digits], b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest().encode()


@contextmanager
def opened(top: Path) -> Iterator[int]:
    """A descriptor of the directory `top`. Raises OSError."""
    root = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield root
    finally:
        os.close(root)


def look(root: int, path: bytes) -> Blob | None:
    """What stands at `path` below `root`; None where nothing does, or a directory, or where the
    way leads through what is no directory. Raises Unfit. (SPEC LD-TREE-1 to LD-TREE-5)"""
    return _at(root, path, _stored)


def is_folder(root: int, path: bytes) -> bool:
    """Whether a directory stands at `path` below `root`. Raises Unfit."""
    return bool(_at(root, path, _folder_stands))


def _at(root: int, path: bytes, act: Callable[[int, bytes], Found]) -> Found | None:
    """What `act` says of a directory and a name in it; None where there is no such directory, or
    nothing of that name."""
    *folders, name = path.split(b"/")
    if {b"", b".", b".."} & {*folders, name} or b"\0" in path:
        raise Unfit("not_reported", "no path below the top level")
    try:
        parent = _walked(root, folders)
        try:
            return act(parent, name)
        finally:
            os.close(parent)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unfit("unreadable", error.strerror or str(error)) from None


def _folder_stands(parent: int, name: bytes) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _walked(root: int, folders: list[bytes]) -> int:
    """A descriptor of the directory that `folders` lead to. A link on the way is no directory, as
    it is none for git: what it leads to stands elsewhere."""
    here = os.dup(root)
    for folder in folders:
        try:
            below = os.open(folder, _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _stored(parent: int, name: bytes) -> Blob | None:
    seen = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISDIR(seen.st_mode):
        return None
    if stat.S_ISLNK(seen.st_mode):
        return Blob(LINK, os.readlink(name, dir_fd=parent))
    if not stat.S_ISREG(seen.st_mode):
        raise Unfit("special_file", "neither a file nor a link")
    if seen.st_size > MAX_FILE_BYTES:
        raise Unfit("too_large", f"{seen.st_size} bytes; a file of at most 16 MiB is stored")
    data = _content(parent, name, seen)
    return Blob(EXECUTABLE if seen.st_mode & stat.S_IXUSR else FILE, data)


def _content(parent: int, name: bytes, seen: os.stat_result) -> bytes:
    with open(os.open(name, _CONTENT, dir_fd=parent), "rb") as file:
        if _facts(os.fstat(file.fileno())) == _facts(seen):
            data = file.read(seen.st_size + 1)
            if len(data) == seen.st_size and _facts(os.fstat(file.fileno())) == _facts(seen):
                return data
    raise Unfit("changed_meanwhile", "it changed while it was read")


def _facts(about: os.stat_result) -> tuple[int, ...]:
    return (
        about.st_dev,
        about.st_ino,
        about.st_mode,
        about.st_size,
        about.st_mtime_ns,
        about.st_ctime_ns,
    )
