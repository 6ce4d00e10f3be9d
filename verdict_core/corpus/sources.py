"""Where the lines of a corpus come from: a file that is read twice, or a pipe that is spooled.

In: a name, or bytes. Out: pieces of whole lines, and a digest of all that was read. Law: a piece
and one line are the most that is held at a time. (SPEC CP-LINE)
"""

import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from typing import BinaryIO

from attrs import frozen

from verdict_core.corpus.cases import MAX_LINE
from verdict_core.errors import Unreadable

STDIN = "-"


@frozen(eq=False)
class Source:
    """One file of a corpus: its `name` as it was given, its `size` in bytes, and `open`, which
    gives it from its beginning as often as it is called."""

    name: str
    size: int
    open: Callable[[], BinaryIO]


@contextmanager
def sources_of(names: Iterable[str]) -> Iterator[list[Source]]:
    """The sources that names stand for: files, pipes, or stdin for `-`.

    What is no regular file can be read once only, so it is copied to a temporary file first, which
    goes away with the block. Raises Unreadable. (SPEC CP-LINE-8)
    """
    with ExitStack() as spools:
        yield [_source(name, spools) for name in names]


def held(name: str, data: bytes) -> Source:
    """A source of bytes that are already in memory."""
    return Source(name, len(data), lambda: BytesIO(data))


class Reading:
    """One reading of all sources, in order: `(source, piece)`, a piece being whole lines.

    `digests` has, for each source that was read to its end, the SHA-256 of its bytes: what tells
    a second reading from the first. (SPEC CP-LINE-9)
    """

    def __init__(self, sources: Iterable[Source], piece_bytes: int) -> None:
        self.digests: dict[Source, str] = {}
        self._sources = sources
        self._size = piece_bytes

    def __iter__(self) -> Iterator[tuple[Source, bytes]]:
        for source in self._sources:
            for piece in self._pieces(source):
                yield source, piece

    def _pieces(self, source: Source) -> Iterator[bytes]:
        digest = hashlib.sha256()
        try:
            with source.open() as file:
                while piece := file.read(self._size):
                    if not piece.endswith(b"\n"):
                        # A line over the limit comes cut, and still over the limit: whoever reads
                        # it refuses it, so what follows is never taken for lines.
                        piece += file.readline(MAX_LINE + 1)
                    digest.update(piece)
                    yield piece
        except OSError as error:
            raise _unreadable(source.name, error) from None
        self.digests[source] = digest.hexdigest()


def _source(name: str, spools: ExitStack) -> Source:
    try:
        if name == STDIN:
            return spools.enter_context(_spooled(name, sys.stdin.buffer))
        status = os.stat(name)
        if stat.S_ISREG(status.st_mode):
            return Source(name, status.st_size, lambda: open(name, "rb"))
        with open(name, "rb") as stream:
            return spools.enter_context(_spooled(name, stream))
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from None


@contextmanager
def _spooled(name: str, stream: BinaryIO) -> Iterator[Source]:
    with tempfile.TemporaryFile() as spool:
        shutil.copyfileobj(stream, spool, 1024 * 1024)
        size = spool.tell()

        def again() -> BinaryIO:
            spool.seek(0)
            return open(os.dup(spool.fileno()), "rb")

        yield Source(name, size, again)


def _unreadable(name: str, error: Exception) -> Unreadable:
    return Unreadable(str(getattr(error, "strerror", None) or error), path=name)
