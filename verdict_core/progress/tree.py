"""What stands below a guard scope's root, read from the disk entry by entry.

In: a guard scope and a cap in bytes. Out: an `Entry` for each path, and where repositories stand.
Laws: a link is never followed; nothing but a regular file is opened, and only the one that was
seen; what is not read whole is a gap and never looks like content. (SPEC PG-FP)
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from operator import attrgetter

from attrs import evolve, frozen

from verdict_core.progress.scope import GuardScope

CAP = 16 * 2**20
"""The size, in bytes, up to which content is hashed; equal is hashed. (SPEC PG-FP-5)"""

Progress = Callable[[int, int], None]


class Kind(StrEnum):
    """What an entry is. (SPEC PG-FP-2)"""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    CHARACTER_DEVICE = "character_device"
    BLOCK_DEVICE = "block_device"
    UNKNOWN = "unknown"


class Gap(StrEnum):
    """Why an entry's content is not known. (SPEC PG-FP-6)"""

    OVER_CAP = "over_cap"
    SPECIAL = "special"
    UNREADABLE = "unreadable"
    UNSTABLE = "unstable"
    HEAD_UNREADABLE = "head_unreadable"


GAP_TEXTS = {
    Gap.OVER_CAP: "over hash cap, content not compared",
    Gap.SPECIAL: "special file",
    Gap.UNREADABLE: "unreadable",
    Gap.UNSTABLE: "changed while it was read",
    Gap.HEAD_UNREADABLE: "HEAD of this repository cannot be read",
}

SUSPECT_GAPS = frozenset({Gap.UNREADABLE, Gap.HEAD_UNREADABLE})
"""Gaps that hold integrity at suspect: something could have been read, and was not. (PG-FP-7)"""


@frozen
class Entry:
    """One path. `mode` is the twelve permission bits, `size` in bytes, `content` the lower-case
    hex SHA-256 of a file or the target of a link; None where there is neither, and `gap` says why.
    A directory has kind and mode alone: its size and times follow what is made in it, and that
    may be ignored. (SPEC PG-FP-2, PG-FP-3)"""

    kind: Kind
    mode: int
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    content: bytes | None = None
    gap: Gap | None = None


_KINDS = {
    stat.S_IFREG: Kind.FILE,
    stat.S_IFDIR: Kind.DIRECTORY,
    stat.S_IFLNK: Kind.SYMLINK,
    stat.S_IFIFO: Kind.FIFO,
    stat.S_IFSOCK: Kind.SOCKET,
    stat.S_IFCHR: Kind.CHARACTER_DEVICE,
    stat.S_IFBLK: Kind.BLOCK_DEVICE,
}
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER_FLAGS = _FILE_FLAGS | os.O_DIRECTORY
# What these say of a name that was just listed is that somebody has changed it since.
_CHANGED = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE, errno.ENXIO, errno.EINVAL}
# A path may be longer than any that the system takes in one call; it is opened in pieces then.
_LONGEST = 3000
_PIECE = re.compile(rb"(.{1,%d})(?:/|\Z)" % _LONGEST, re.DOTALL)

# One file a task costs more than the second thread gains.
_THREADS = 2
_CHUNK_FILES = 256
_CHUNK_BYTES = 8 * 2**20
_BUFFER_BYTES = 256 * 2**10

_Facts = tuple[int, int, int, int, int, int]
_facts: Callable[[os.stat_result], _Facts] = attrgetter(
    "st_dev", "st_ino", "st_mode", "st_size", "st_mtime_ns", "st_ctime_ns"
)


class Tree:
    """The entries of one scope: `walk` finds them, `hash` reads the files among them."""

    def __init__(self, scope: GuardScope, cap: int) -> None:
        self.entries: dict[bytes, Entry] = {}
        self.ignored: dict[bytes, int] = {}
        self.repositories: list[str] = []
        self._scope = scope
        self._cap = cap
        self._top = os.path.join(os.fsencode(scope.workspace), b"")
        self._files: list[tuple[bytes, _Facts]] = []
        self._folders: list[tuple[str, tuple[int, int], bool]] = []

    def walk(self) -> None:
        """Find every entry, a folder at a time and without recursion. The targets of links are
        read here; files are left for `hash`. (SPEC PG-FP-1)"""
        for path in (*self._scope.links, self._scope.root):
            absolute = self._absolute(path)
            if os.path.lexists(absolute):
                self._see(os.fsdecode(path), os.fsdecode(absolute), None, ignored=False)
        while self._folders:
            folder, identity, ignored = self._folders.pop()
            try:
                self._list(folder, identity, ignored)
            except OSError as error:
                if not ignored:
                    key = os.fsencode(folder)
                    self.entries[key] = evolve(self.entries[key], gap=_gap(error))

    def hash(self, progress: Progress | None) -> None:
        """Read the files that `walk` found, on two threads. `progress` is told how many files are
        done, and of how many, in the caller's thread. (SPEC PG-FP-4, PG-FP-5)"""
        done, total = 0, len(self._files)
        with ThreadPoolExecutor(_THREADS) as pool:
            for entries in pool.map(self._read_all, _chunks(self._files)):
                self.entries.update(entries)
                done += len(entries)
                if progress:
                    progress(done, total)

    def _absolute(self, path: bytes) -> bytes:
        return self._top + path

    def _list(self, folder: str, identity: tuple[int, int], ignored: bool) -> None:
        descriptor = _open(self._absolute(os.fsencode(folder)), _FOLDER_FLAGS)
        try:
            if _identity(os.fstat(descriptor)) != identity:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            start = "" if folder == "." else folder + "/"
            for name in os.listdir(descriptor):
                if not self._scope.leaves_out(start + name):
                    self._see(start + name, name, descriptor, ignored=ignored)
                elif name == ".git" and not ignored:
                    self.repositories.append(folder)
        finally:
            os.close(descriptor)

    def _see(self, path: str, name: str, folder: int | None, *, ignored: bool) -> None:
        key = os.fsencode(path)
        try:
            status = os.lstat(name, dir_fd=folder)
        except OSError as error:
            if not ignored:
                self.entries[key] = Entry(Kind.UNKNOWN, 0, gap=_gap(error))
            return
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), Kind.UNKNOWN)
        ignored = ignored or self._scope.ignores_entry(path, kind is Kind.DIRECTORY)
        if kind is Kind.DIRECTORY:
            self._folders.append((path, _identity(status), ignored))
        if ignored:
            if kind is not Kind.DIRECTORY:
                self.ignored[key] = hash(_facts(status))
        elif kind is Kind.FILE and status.st_size <= self._cap:
            self._files.append((key, _facts(status)))
        elif kind is Kind.DIRECTORY:
            self.entries[key] = Entry(kind, stat.S_IMODE(status.st_mode))
        else:
            content, gap = _unopened(kind, name, folder)
            self.entries[key] = _entry(kind, _facts(status), content, gap)

    def _read_all(self, files: list[tuple[bytes, _Facts]]) -> dict[bytes, Entry]:
        buffer = memoryview(bytearray(_BUFFER_BYTES))
        entries = {}
        for key, facts in files:
            content, gap = _read(self._absolute(key), facts, buffer)
            entries[key] = _entry(Kind.FILE, facts, content, gap)
        return entries


def _read(path: bytes, facts: _Facts, buffer: memoryview) -> tuple[bytes | None, Gap | None]:
    """The hash of the file that had these facts when it was seen; a gap when it has others before
    or after it is read, or another length. (SPEC PG-FP-4)"""
    try:
        descriptor = _open(path, _FILE_FLAGS)
        try:
            if _facts(os.fstat(descriptor)) == facts:
                content, length = _hash(descriptor, facts[3], buffer)
                if length == facts[3] and _facts(os.fstat(descriptor)) == facts:
                    return content, None
        finally:
            os.close(descriptor)
    except OSError as error:
        return None, _gap(error)
    return None, Gap.UNSTABLE


def _hash(descriptor: int, size: int, buffer: memoryview) -> tuple[bytes, int]:
    """The hash of what the descriptor gives, and how much that was: up to the end, or until there
    is more than `size`. The end is not read for where the size is met; a growth shows in fstat."""
    digest = hashlib.sha256()
    length = 0
    while True:
        count = os.readv(descriptor, [buffer])
        digest.update(buffer[:count])
        length += count
        if not count or length >= size:
            return digest.hexdigest().encode(), length


def _unopened(kind: Kind, name: str, folder: int | None) -> tuple[bytes | None, Gap | None]:
    if kind is Kind.FILE:
        return None, Gap.OVER_CAP
    if kind is not Kind.SYMLINK:
        return None, Gap.SPECIAL
    try:
        return os.readlink(os.fsencode(name), dir_fd=folder), None
    except OSError as error:
        return None, _gap(error)


def _entry(kind: Kind, facts: _Facts, content: bytes | None, gap: Gap | None) -> Entry:
    _, inode, mode, size, mtime_ns, ctime_ns = facts
    return Entry(kind, stat.S_IMODE(mode), size, mtime_ns, ctime_ns, inode, content, gap)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _gap(error: OSError) -> Gap:
    return Gap.UNSTABLE if error.errno in _CHANGED else Gap.UNREADABLE


def _open(path: bytes, flags: int) -> int:
    """A descriptor of the file or folder at a path of any length. Links on the way are followed:
    whether this is what was seen, the caller tells by identity."""
    if len(path) <= _LONGEST:
        return os.open(path, flags)
    *folders, last = _PIECE.findall(path)
    outer = os.open(b"/", _FOLDER_FLAGS)
    for piece, piece_flags in (*((folder, _FOLDER_FLAGS) for folder in folders), (last, flags)):
        try:
            inner = os.open(piece, piece_flags, dir_fd=outer)
        finally:
            os.close(outer)
        outer = inner
    return outer


def _chunks(files: list[tuple[bytes, _Facts]]) -> Iterator[list[tuple[bytes, _Facts]]]:
    start = size = 0
    for index, (_, facts) in enumerate(files, 1):
        size += facts[3]
        if index - start == _CHUNK_FILES or size >= _CHUNK_BYTES or index == len(files):
            yield files[start:index]
            start, size = index, 0
