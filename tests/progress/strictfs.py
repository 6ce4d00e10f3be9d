"""A file system in memory on which only what was synced survives.

In: the calls that a ledger makes on the disk. Out: after each of them, every image that a power cut
at that moment can leave. Laws: bytes survive once their file is synced, a name once its directory
is; of bytes that were not synced any prefix can survive, with or without zeros up to the length
that the file had; after a failed sync the lost bytes read back as if nothing had happened.
"""

import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from attrs import define, field, frozen

from verdict_core.progress.ledger import Disk

Image = dict[Path, bytes]


TREE = {"count": 2, "digest": "sha256:" + "b" * 64}
CONTROLS = {"status": "complete", "integrity": "clean", "contract": "aligned"}


def claim_body(claim: str = "it parses", **members: Any) -> dict[str, Any]:
    """The body of a claim, as `Ledger.append` takes it."""
    body = {
        "kind": "claim",
        "claim": claim,
        "scope": "src/**",
        "fingerprinted": "src",
        "ignored": [],
        "verifier": ["make", "check"],
        "before": TREE,
    }
    return {**body, **members}


def ruling_body(number: int, claim: str = "it parses", **members: Any) -> dict[str, Any]:
    """The body of the ruling on the claim entry with that number."""
    body = {
        "kind": "ruling",
        "claim_number": number,
        "after": TREE,
        "changed": [],
        "evidence_gaps": [],
        "declared": CONTROLS,
        "final": CONTROLS,
        "outcome": "progress",
        "reasons": [],
        "evidence": [],
        "missing": [],
        "report": "Status: complete",
    }
    return {**claim_body(claim), **body, **members}


class Killed(Exception):
    """The process ends here; what it wrote stays in the kernel."""


@define(eq=False)
class Node:
    """A file, or a directory where `names` is not None; each as it is now and as it is on disk."""

    names: dict[str, "Node"] | None = None
    synced_names: dict[str, "Node"] = field(factory=dict)
    data: bytes = b""
    synced: bytes = b""
    lost: list[tuple[int, int]] = field(factory=list)

    def sync(self) -> None:
        if self.names is not None:
            self.synced_names = dict(self.names)
        data = bytearray(self.data)
        for start, end in self.lost:
            data[start:end] = bytes(end - start)
        self.synced = bytes(data)


@frozen
class Moment:
    """What is in force after one call: files by their synced names, each with its synced bytes and
    those of now; the same by the names of now; and how many appends were acknowledged."""

    synced: dict[Path, tuple[bytes, bytes]]
    now: dict[Path, tuple[bytes, bytes]]
    acknowledged: int

    def images(self, ledger: Path, state: Path, step: int = 1) -> Iterator[Image]:
        """Every image that a power cut at this moment can leave; of those that differ in how many
        bytes survived, every `step`-th."""
        strict = {path: synced for path, (synced, _) in self.synced.items()}
        yield strict
        yield {path: now for path, (_, now) in self.now.items()}
        for content in _survivors(*self.synced.get(ledger, (b"", b"")), step):
            yield {**strict, ledger: content}
        # A rename can reach the disk before the bytes of the file, and before or after any sync.
        if state in self.now:
            whole = self.now[state][1]
            for content in (whole, b"", bytes(len(whole)), whole[: len(whole) // 2]):
                yield {**strict, state: content}


def _survivors(synced: bytes, now: bytes, step: int) -> Iterator[bytes]:
    for end in range(len(synced) + 1, len(now) + 1, step):
        yield now[:end]
        yield now[:end] + bytes(len(now) - end)


class StrictDisk(Disk):
    """The disk, empty or with the files of an image on it, all of them synced.

    `kill_at` is the number of the call, from 0, in front of which the process is killed, a write
    half done; `fail_sync_at` that of the sync of a file which fails.
    """

    def __init__(
        self,
        image: Image | None = None,
        *,
        kill_at: int | None = None,
        fail_sync_at: int | None = None,
    ) -> None:
        self.root = Node(names={})
        self.moments: list[Moment] = []
        self.acknowledged = 0
        self.calls: list[str] = []
        self.kill_at = kill_at
        self._fail_sync_at = fail_sync_at
        self._syncs = 0
        self._open: dict[int, Node] = {}
        self._next = 100
        for path, data in (image or {}).items():
            names = self._names(path.parent, make=True)
            names[path.name] = Node(data=data, synced=data)
            self._sync_all(self.root)

    def moment(self) -> None:
        """Keeps what is in force now."""
        self.moments.append(
            Moment(
                dict(_files(Path("/"), self.root, synced=True)),
                dict(_files(Path("/"), self.root, synced=False)),
                self.acknowledged,
            )
        )

    def strict_image(self) -> Image:
        """What was synced, and nothing else."""
        return {path: data for path, (data, _) in _files(Path("/"), self.root, synced=True)}

    def mkdir(self, path: Path) -> None:
        self._call("mkdir")
        names = self._names(path.parent)
        if path.name in names:
            raise FileExistsError(errno.EEXIST, "exists", str(path))
        names[path.name] = Node(names={})
        self.moment()

    def open(self, path: Path, flags: int) -> int:
        self._call("open")
        if path == Path("/"):
            return self._descriptor(self.root)
        names = self._names(path.parent)
        if path.name not in names:
            if not flags & os.O_CREAT:
                raise FileNotFoundError(errno.ENOENT, "not there", str(path))
            names[path.name] = Node()
        node = names[path.name]
        if flags & os.O_TRUNC:
            node.data = b""
        self.moment()
        return self._descriptor(node)

    def lock(self, fd: int) -> None:
        self._call("lock")

    def size(self, fd: int) -> int:
        return len(self._open[fd].data)

    def pread(self, fd: int, count: int, offset: int) -> bytes:
        return self._open[fd].data[offset : offset + count]

    def write(self, fd: int, data: bytes) -> int:
        node = self._open[fd]
        if len(self.calls) == self.kill_at:
            node.data += data[: len(data) // 2]
        self._call("write")
        node.data += data
        self.moment()
        return len(data)

    def fsync(self, fd: int) -> None:
        self._call("fsync")
        node = self._open[fd]
        if node.names is None:
            self._syncs += 1
            if self._syncs - 1 == self._fail_sync_at:
                node.lost.append((len(node.synced), len(node.data)))
                raise OSError(errno.EIO, "Input/output error")
        node.sync()
        self.moment()

    def close(self, fd: int) -> None:
        del self._open[fd]

    def replace(self, source: Path, target: Path) -> None:
        self._call("replace")
        self._names(target.parent)[target.name] = self._names(source.parent).pop(source.name)
        self.moment()

    def reader(self, path: Path) -> BinaryIO:
        names = self._names(path.parent)
        if path.name not in names:
            raise FileNotFoundError(errno.ENOENT, "not there", str(path))
        return io.BytesIO(names[path.name].data)

    def _call(self, name: str) -> None:
        if len(self.calls) == self.kill_at:
            raise Killed
        self.calls.append(name)

    def _descriptor(self, node: Node) -> int:
        self._next += 1
        self._open[self._next] = node
        return self._next

    def _names(self, directory: Path, *, make: bool = False) -> dict[str, Node]:
        names = self.root.names
        assert names is not None
        for part in directory.parts[1:]:
            if part not in names:
                if not make:
                    raise FileNotFoundError(errno.ENOENT, "not there", str(directory))
                names[part] = Node(names={})
            below = names[part].names
            assert below is not None
            names = below
        return names

    def _sync_all(self, node: Node) -> None:
        node.sync()
        for below in (node.names or {}).values():
            self._sync_all(below)


def _files(at: Path, node: Node, *, synced: bool) -> Iterator[tuple[Path, tuple[bytes, bytes]]]:
    if node.names is None:
        yield at, (node.synced, node.data)
        return
    for name, below in (node.synced_names if synced else node.names).items():
        yield from _files(at / name, below, synced=synced)
