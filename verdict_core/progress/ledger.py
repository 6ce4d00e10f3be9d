"""The ledger of a run: one entry a line, added to and never taken from.

In: bodies of claims and rulings; a file in any condition. Out: an entry, once its line is on the
disk; what can be read, and where the rest lies. Laws: nothing removes an entry; a line that was
acknowledged survives every crash; damage breaks nothing else, and is shown. (SPEC PG-LEDGER,
PG-AUDIT)
"""

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from attrs import frozen

from verdict_core.errors import LedgerFault
from verdict_core.progress.projection import (
    EMPTY,
    Audit,
    State,
    audited,
    project,
    rendered,
    restored,
)
from verdict_core.progress.runs import (
    ZEROS,
    Damage,
    Line,
    bare,
    bare_lines,
    drafted,
    lines,
    number_of,
    sealed,
    sealed_at,
)
from verdict_core.wire import canonical

_BLOCK = 1 << 12


class Disk:
    """Every call that the ledger makes on the operating system. A test puts a stricter one in its
    place. The lock on a file ends with the descriptor."""

    def mkdir(self, path: Path) -> None:
        os.mkdir(path, 0o700)

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags, 0o600)

    def lock(self, fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def pread(self, fd: int, count: int, offset: int) -> bytes:
        return os.pread(fd, count, offset)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def reader(self, path: Path) -> BinaryIO:
        return open(path, "rb")


DISK = Disk()


@frozen
class Reading:
    """What a ledger says: its entries and its damaged lines, each in the order of the file.
    `torn`: the last line has no LF. (SPEC PG-READ-1)"""

    entries: tuple[Mapping[str, Any], ...]
    damaged: tuple[Damage, ...]
    torn: bool


@frozen
class _Tail:
    """The end of a ledger: number and SHA-256 of its last physical line, whether an LF is missing
    after it, and the hash of its last entry."""

    number: int = 0
    prev: str = ZEROS
    torn: bool = False
    hash: str = ZEROS


class Ledger:
    """The ledger in one run's directory, which is made with the first entry. (SPEC PG-LEDGER-1)

    A handle holds no descriptor, so threads can share it and a fork inherits nothing: each append
    opens, locks, writes and syncs for itself.
    """

    def __init__(self, directory: Path, disk: Disk = DISK) -> None:
        self.directory = directory.absolute()
        self.path = self.directory / "ledger.jsonl"
        self.state_path = self.directory / "state.json"
        self._disk = disk
        self._poisoned = False
        self._known: tuple[bytes, State | None] = (b"", None)

    def append(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Adds a claim or a ruling; gives its entry, `number` and all, once that is on the disk.

        Raises what is wrong with the body, or LedgerFault: `append_failed`, the line may be there
        or not; `ledger_poisoned`, a write or sync of this handle failed before; `ledger_cut`,
        nothing was written. (SPEC PG-LEDGER-2 to PG-LEDGER-9)
        """
        draft = drafted(body)
        if self._poisoned:
            raise self._fault("ledger_poisoned", "a write or sync of this handle failed before")
        # What would not even fit as the first entry leaves no file behind.
        sealed(draft, number=1, time=_now(), run=self.directory.name, prev=ZEROS)
        with self._os_errors("append_failed"):
            fd = self._opened()
            try:
                self._lock(fd)
                return self._add(fd, draft)
            finally:
                self._disk.close(fd)

    def shrink(self) -> NoReturn:
        """Refuses, with the code `append_only`: a limit that is counted from old entries has to
        find them. No operation removes an entry. (SPEC PG-LEDGER-10)"""
        raise self._fault("append_only", "no operation removes an entry")

    def read(self) -> Reading:
        """All that the file says; a missing one says nothing. Raises LedgerFault
        `ledger_unreadable`. (SPEC PG-READ-1)"""
        entries: list[Mapping[str, Any]] = []
        damaged: list[Damage] = []
        torn = False
        for line in self._lines():
            said = line.said()
            torn = not line.ended
            if isinstance(said, Damage):
                damaged.append(said)
            else:
                entries.append(said)
        return Reading(tuple(entries), tuple(damaged), torn)

    def state(self) -> State:
        """What the entries add up to: read from `state.json` where that covers the last one, else
        made anew and put there. Raises LedgerFault `ledger_unreadable`, `ledger_cut`.
        (SPEC PG-STATE-3, PG-STATE-7)"""
        with self._os_errors("ledger_unreadable"):
            # state.json first: an append in between makes it look behind, and never ahead.
            saved = self._saved()
            try:
                fd = self._disk.open(self.path, os.O_RDONLY)
            except FileNotFoundError:
                return self._caught_up(saved, ())
            try:
                if saved is not None and saved.hash == self._tail(fd).hash:
                    return saved
                self._lock(fd)
                state = self._covering(self._tail(fd))
                self._remember(state)
                return state
            finally:
                self._disk.close(fd)

    def audit(self) -> Audit:
        """Follows the chain from the first line on, and compares it with `state.json`; writes
        nothing. Raises LedgerFault `ledger_unreadable`. (SPEC PG-AUDIT-1)"""
        with self._os_errors("ledger_unreadable"):
            saved = self._saved()
        return audited(self._lines(), saved or EMPTY)

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        try:
            return self._disk.open(self.path, flags)
        except FileNotFoundError:
            self._make(self.directory)
            return self._disk.open(self.path, flags)

    def _make(self, directory: Path) -> None:
        try:
            self._disk.mkdir(directory)
        except FileExistsError:
            pass
        except FileNotFoundError:
            self._make(directory.parent)
            self._make(directory)

    def _lock(self, fd: int) -> None:
        self._disk.lock(fd)

    def _add(self, fd: int, draft: Mapping[str, Any]) -> dict[str, Any]:
        if self._disk.size(fd) == 0:
            # Before the first byte: who finds one knows that the names leading to it are durable.
            self._sync_names()
        tail = self._tail(fd)
        state = self._covering(tail)
        run = self.directory.name
        added = sealed(draft, number=tail.number + 1, time=_now(), run=run, prev=tail.prev)
        line = canonical(added)
        self._commit(fd, self._closing(tail) + line + b"\n")
        self._remember(state, line)
        return added

    def _closing(self, tail: _Tail) -> bytes:
        return b"\n" if tail.torn else b""

    def _commit(self, fd: int, data: bytes) -> None:
        try:
            self._write(fd, data)
            self._sync(fd)
        except OSError:
            # After a failed sync the kernel takes the lost pages for clean: a second would succeed.
            self._poisoned = True
            raise

    def _write(self, fd: int, data: bytes) -> None:
        written = self._disk.write(fd, data)
        if written != len(data):
            raise OSError(errno.EIO, f"{written} of {len(data)} bytes were written")

    def _sync(self, fd: int) -> None:
        self._disk.fsync(fd)

    def _sync_names(self) -> None:
        """Makes durable the name of the ledger and of each directory that leads to it, whichever
        process made them."""
        self._sync_directory(self.directory)
        for directory in self.directory.parents:
            try:
                self._sync_directory(directory)
            except OSError as error:
                # A directory that cannot be read or synced is none that this library makes.
                if error.errno not in (errno.EACCES, errno.EINVAL):
                    raise

    def _sync_directory(self, directory: Path) -> None:
        fd = self._disk.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._disk.fsync(fd)
        finally:
            self._disk.close(fd)

    def _tail(self, fd: int) -> _Tail:
        """Read from the end: the last entry says its number, and what follows it is counted."""
        pieces = self._backwards(fd)
        offset, last = next(pieces)
        torn = last != b""
        if not torn and offset:
            offset, last = next(pieces)
        elif not torn:
            return _Tail()
        prev = hashlib.sha256(last).hexdigest()
        for after, (start, raw) in enumerate(chain([(offset, last)], pieces)):
            line = bare(raw, start)
            if (at := sealed_at(line)) and (number := number_of(line)):
                return _Tail(number + after, prev, torn, line[at : at + 64].decode())
        return _Tail(after + 1, prev, torn)

    def _backwards(self, fd: int) -> Iterator[tuple[int, bytes]]:
        """Offset and bytes of each physical line, the last one first: it is empty where the file
        ends with an LF."""
        start, count, rest = self._disk.size(fd), _BLOCK, b""
        while start:
            count = min(count, start)
            start -= count
            rest = self._disk.pread(fd, count, start) + rest
            # Twice as much each time, or a long line would be copied once a block.
            count *= 2
            while (at := rest.rfind(b"\n")) >= 0:
                yield start + at + 1, rest[at + 1 :]
                rest = rest[:at]
        yield 0, rest

    def _lines(self) -> Iterator[Line]:
        with self._os_errors("ledger_unreadable"):
            try:
                with self._disk.reader(self.path) as file:
                    yield from lines(file)
            except FileNotFoundError:
                return

    def _saved(self) -> State | None:
        try:
            with self._disk.reader(self.state_path) as file:
                data = file.read()
        except FileNotFoundError:
            return None
        known = self._known
        if data != known[0]:
            known = self._known = (data, restored(data))
        return known[1]

    def _covering(self, tail: _Tail) -> State:
        saved = self._saved()
        if (saved or EMPTY).hash == tail.hash:
            return saved or EMPTY
        with self._disk.reader(self.path) as file:
            return self._caught_up(saved, bare_lines(file))

    def _caught_up(self, saved: State | None, rest: Iterable[bytes]) -> State:
        if saved is None or saved.number == 0:
            return project(rest)
        rest = iter(rest)
        named = f'"hash":"{saved.hash}"'.encode()
        if not any(named in line and sealed_at(line) for line in rest):
            raise self._fault(
                "ledger_cut",
                f"state.json covers entry {saved.number} with hash {saved.hash}, which is not"
                " there; nothing is written until someone has moved state.json away",
            )
        return project(rest, saved)

    def _remember(self, state: State, *added: bytes) -> None:
        """Replaces state.json. Nothing waits for it: the ledger holds all that it would say."""
        state = project(added, state)
        data = rendered(state)
        fresh = self.state_path.with_suffix(".new")
        with suppress(OSError):
            fd = self._disk.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                self._write(fd, data)
            finally:
                self._disk.close(fd)
            self._disk.replace(fresh, self.state_path)
            self._known = (data, state)

    @contextmanager
    def _os_errors(self, code: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._fault(code, str(error)) from error

    def _fault(self, code: str, said: str) -> LedgerFault:
        return LedgerFault(said, path=str(self.path), code=code)


def _now() -> str:
    """RFC 3339, UTC. (SPEC PG-ENTRY-3)"""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
