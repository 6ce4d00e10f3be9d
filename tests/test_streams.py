"""Records as chunks of whole lines, compressed or not. (SPEC RD-ZST)"""

import importlib
import os
from pathlib import Path

import pytest
import zstandard
from codex_record import Rollout

from verdict_core.readers import codex, dsh, streams
from verdict_core.readers.session import FIELDS
from verdict_core.readers.streams import NoZstd, Source

LINES = [b"x" * n + b"\n" for n in (0, 1, 5, 200, 3, 70)]


def packed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("size", [1, 7, 1 << 17])
@pytest.mark.parametrize("tail", [b"", b"no end"])
def test_chunks_are_the_content_and_end_behind_a_line(
    size: int, tail: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_CHUNK", size)
    data = b"".join(LINES) + tail
    frames = b"".join(map(packed, [data[:3], data[3:100], b"", data[100:]]))
    for name, content in (("plain", data), ("packed", frames)):
        path = tmp_path / name
        path.write_bytes(content)
        source = Source(path)
        *chunks, last = source.chunks()
        assert b"".join((*chunks, last)) == data
        assert all(chunk.endswith(b"\n") for chunk in chunks)
        assert not source.torn


def rollout() -> Rollout:
    return Rollout().started().said("Build").plan(("a", "pending")).answer("Done").complete()


def test_rd_zst_1_a_compressed_record_reads_as_the_record_does(tmp_path: Path) -> None:
    record = rollout()
    usual = record.read(tmp_path)
    path = tmp_path / "any.name"
    path.write_bytes(b"".join(packed(row) for row in record.rows))
    assert codex.read(path, named=True) == usual


def test_rd_zst_1_a_frame_that_is_not_whole_loses_a_row(tmp_path: Path) -> None:
    record = rollout()
    path = tmp_path / "rollout.jsonl.zst"
    whole = [packed(row) for row in record.rows]
    for torn in (whole[-1][:-3], b"no frame at all", whole[-1][:2]):
        path.write_bytes(b"".join(whole[:-1]) + torn)
        reading = codex.read(path, named=True)
        assert reading.items["todos"] == ("a",)
        assert reading.unknown == frozenset(FIELDS)
        assert "torn_frame" in [note.code for note in reading.notes]


def test_rd_zst_2_without_a_reader_of_it_a_compressed_record_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> None:
        raise ImportError(name)

    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(packed(b"".join(rollout().rows)))
    monkeypatch.setattr(importlib, "import_module", nothing)
    for reader in (codex, dsh):
        reading = reader.read(path, named=True)
        assert reading.unknown == frozenset(FIELDS)
        (note,) = reading.notes
        assert note.code == "zstd_missing"
        assert "verdict-core[zstd]" in note.text
    with pytest.raises(NoZstd):
        list(Source(path).chunks())


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a file"):
        list(Source(tmp_path / "fifo").chunks())


class Frame:
    """A decompressor as `compression.zstd` makes it."""

    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor().decompressobj()

    def decompress(self, data: bytes) -> bytes:
        return self._inner.decompress(data)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


class Standard:
    """The module of the standard library, as far as it is used."""

    ZstdError = zstandard.ZstdError
    ZstdDecompressor = Frame


def test_the_module_of_the_standard_library_is_preferred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def module(name: str) -> type[Standard]:
        asked.append(name)
        return Standard

    path = tmp_path / "packed"
    path.write_bytes(packed(b"a\n") + packed(b"b\n"))
    monkeypatch.setattr(importlib, "import_module", module)
    assert b"".join(Source(path).chunks()) == b"a\nb\n"
    assert asked == ["compression.zstd"]
