"""A record's bytes as chunks of whole lines, whether it is compressed or not.

In: the path of a file. Out: its content, chunk by chunk. Laws: what is compressed is told by
its first bytes, never by its name; frames that stand one after the other are one content; a frame
that ends too early gives what it holds and is torn. (SPEC RD-ZST)
"""

import importlib
import stat
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from attrs import define, field

_MAGIC = b"\x28\xb5\x2f\xfd"
# What fits into the nearer caches; a compressed chunk can blow up a hundredfold.
_CHUNK = 1 << 17
_MODULES = ("compression.zstd", "zstandard")


class NoZstd(Exception):
    """Nothing here can read Zstandard. (SPEC RD-ZST-2)"""

    def __str__(self) -> str:
        return "the record is compressed: pip install 'verdict-core[zstd]' to read it"


@define
class Source:
    """One record that is read once, piece by piece. `torn`: the last frame is not whole, or what
    follows the last whole one is none; known after the last chunk."""

    path: Path
    torn: bool = field(default=False, init=False)

    def chunks(self) -> Iterator[bytes]:
        """The content, cut behind a 0x0A each time; only the last chunk can end without one.
        Raises OSError, and NoZstd where it is compressed and nothing reads that. (SPEC RD-ZST-1)"""
        if not stat.S_ISREG(self.path.stat().st_mode):
            raise OSError(f"{self.path} is not a file")
        with FileIO(self.path) as stream:
            packed = stream.read(len(_MAGIC)) == _MAGIC
            stream.seek(0)
            yield from _cut(self._unpacked(stream) if packed else _read(stream))

    def _unpacked(self, stream: FileIO) -> Iterator[bytes]:
        zstd = _zstd()
        frame = None
        data = stream.read(_CHUNK)
        while data:
            if frame is None:
                frame = _frame(zstd)
            try:
                piece = frame.decompress(data)
            except zstd.ZstdError:
                self.torn = True
                return
            if piece:
                yield piece
            data = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = None
            data = data or stream.read(_CHUNK)
        self.torn = frame is not None


def _read(stream: FileIO) -> Iterator[bytes]:
    while piece := stream.read(_CHUNK):
        yield piece


def _cut(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces as chunks that end behind a 0x0A; what is behind the last one is the last."""
    rest: list[bytes | memoryview] = []
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join((*rest, memoryview(piece)[:end]))
            rest.clear()
        rest.append(piece[end:])
    if last := b"".join(rest):
        yield last


def _frame(zstd: Any) -> Any:
    """A decompressor of one frame. The two modules differ in this one thing."""
    made = zstd.ZstdDecompressor()
    return made.decompressobj() if hasattr(made, "decompressobj") else made


def _zstd() -> Any:
    """The module that reads Zstandard. (SPEC RD-ZST-2)"""
    for name in _MODULES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise NoZstd
