"""Broken ledgers: each is the real one with one fault, which one named check of the tests finds.

A check that passes on the ledger it is for proves nothing, so tests/progress runs every check on
its broken ledger too, and requires it to fail there.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verdict_core.errors import VerdictCoreError
from verdict_core.progress.ledger import DISK, Disk, Ledger, _Tail
from verdict_core.progress.projection import State, project
from verdict_core.progress.runs import Damage, Line, entry


class NeverSyncs(Ledger):
    """Acknowledges what is written and not on the disk."""

    def _sync(self, fd: int) -> None:
        pass


class SyncsWithTheNext(Ledger):
    """Acknowledges too early: a line is on the disk when the one after it is acknowledged."""

    def __init__(self, directory: Path, disk: Disk = DISK) -> None:
        super().__init__(directory, disk)
        self._writes = 0

    def _sync(self, fd: int) -> None:
        self._writes += 1
        if self._writes % 2 == 0:
            super()._sync(fd)


class NeverSyncsNames(Ledger):
    """Syncs the file and not the directories that lead to it."""

    def _sync_names(self) -> None:
        pass


class SyncsOneName(Ledger):
    """Syncs the directory of the file and not those that were made above it."""

    def _sync_names(self) -> None:
        self._sync_directory(self.directory)


class SyncsNamesAfterwards(Ledger):
    """Writes the first line before its name is durable: a second process finds a file that is not
    empty, and takes its name for durable."""

    def _add(self, fd: int, draft: Mapping[str, Any]) -> dict[str, Any]:
        is_first = self._disk.size(fd) == 0
        added = super()._add(fd, draft)
        if is_first:
            super()._sync_names()
        return added

    def _sync_names(self) -> None:
        pass


class GluesToTheTail(Ledger):
    """Writes behind what a torn append left, on the same line."""

    def _closing(self, tail: _Tail) -> bytes:
        return b""


class TakesShortWrites(Ledger):
    """Does not look at how much was written."""

    def _write(self, fd: int, data: bytes) -> None:
        self._disk.write(fd, data)


class WritesTheEndApart(Ledger):
    """Writes a line and its LF in two calls."""

    def _write(self, fd: int, data: bytes) -> None:
        super()._write(fd, data[:-1])
        super()._write(fd, data[-1:])


class NeverLocks(Ledger):
    """Takes the number without a lock."""

    def _lock(self, fd: int) -> None:
        pass


class LocksTheWriteOnly(Ledger):
    """Locks, but takes the number before."""

    def _lock(self, fd: int) -> None:
        pass

    def _commit(self, fd: int, data: bytes) -> None:
        super()._lock(fd)
        super()._commit(fd, data)


class CountsByItself(Ledger):
    """Looks at the file once, and from then on at a counter of its own."""

    def __init__(self, directory: Path, disk: Disk = DISK) -> None:
        super().__init__(directory, disk)
        self._own: _Tail | None = None

    def _tail(self, fd: int) -> _Tail:
        tail = super()._tail(fd)
        if self._own is not None:
            tail = _Tail(self._own.number + 1, tail.prev, tail.torn, tail.hash)
        self._own = tail
        return tail


class SyncsTwice(Ledger):
    """Tries a failed sync again; the kernel has dropped the bytes, and says yes."""

    def _sync(self, fd: int) -> None:
        try:
            super()._sync(fd)
        except OSError:
            super()._sync(fd)


class GoesOnAfterAFailedSync(Ledger):
    """Reports the append as failed and takes the next one, on top of bytes that are not there."""

    def _commit(self, fd: int, data: bytes) -> None:
        try:
            super()._commit(fd, data)
        finally:
            self._poisoned = False


class RebuildsOverACut(Ledger):
    """Takes a `state.json` that is ahead of the ledger for a bad one, and replaces it."""

    def _caught_up(self, saved: State | None, rest: Iterable[bytes]) -> State:
        return project(rest)


class RewritesTheFile(Ledger):
    """Appends by writing all of the file anew, and renaming it."""

    def _commit(self, fd: int, data: bytes) -> None:
        with self._disk.reader(self.path) as file:
            whole = file.read() + data
        fresh = self.path.with_suffix(".rewritten")
        other = self._disk.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        super()._commit(other, whole)
        self._disk.close(other)
        self._disk.replace(fresh, self.path)


class _Trusting(Line):
    def said(self) -> dict[str, Any] | Damage:
        try:
            return entry(self.bare)
        except VerdictCoreError:
            return super().said()


class TrustsTheJson(Ledger):
    """Takes a line for an entry when it parses, whatever its hash says."""

    def _lines(self) -> Iterator[Line]:
        for line in super()._lines():
            yield _Trusting(line.number, line.offset, line.raw, line.bare, line.ended)
