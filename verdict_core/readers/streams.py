"""A record's bytes as pieces, whether it is compressed or not.

In: the path of a file. Out: its content, in pieces of any size. Laws: what is compressed is told by
its first bytes, never by its name; frames that stand one after the other are one content; a frame
that ends too early gives what it holds and is torn. (SPEC RD-ZST)
"""

import importlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from attrs import define, field

_MAGIC = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
# A frame can blow up a hundredfold, so little of it is read at a time.
_PACKED_CHUNK = 1 << 14
_MODULES = ("compression.zstd", "zstandard")


class NoZstd(Exception):
    """Nothing here can read Zstandard. (SPEC RD-ZST-2)"""

    def __str__(self) -> str:
        return "the record is compressed: pip install 'verdict-core[zstd]' to read it"


@define
class Source:
    """One record that is read once, piece by piece. `torn`: the last frame is not whole, or what
    follows the last whole one is none; known after the last piece."""

    path: Path
    torn: bool = field(default=False, init=False)

    def pieces(self) -> Iterator[bytes]:
        """The content. Raises OSError, and NoZstd where it is compressed and nothing reads that.
        (SPEC RD-ZST-1)"""
        if not stat.S_ISREG(self.path.stat().st_mode):
            raise OSError(f"{self.path} is not a file")
        with self.path.open("rb", buffering=0) as stream:
            head = stream.read(len(_MAGIC))
            stream.seek(0)
            if head == _MAGIC:
                yield from self._unpacked(stream)
            else:
                while piece := stream.read(_CHUNK):
                    yield piece

    def lines(self) -> Iterator[bytes]:
        """The lines of the content, each with the 0x0A that ends it. (SPEC RD-LINE-1)"""
        rest: list[bytes] = []
        for piece in self.pieces():
            first, *lines = piece.split(b"\n")
            rest.append(first)
            if lines:
                yield b"".join(rest) + b"\n"
                rest = [lines.pop()]
                for line in lines:
                    yield line + b"\n"
        if last := b"".join(rest):
            yield last

    def _unpacked(self, stream: IO[bytes]) -> Iterator[bytes]:
        zstd = _zstd()
        frame = None
        data = stream.read(_PACKED_CHUNK)
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
            data = data or stream.read(_PACKED_CHUNK)
        self.torn = frame is not None


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
