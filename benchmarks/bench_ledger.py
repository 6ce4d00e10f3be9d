"""`python -m benchmarks.bench_ledger`: a ledger's append, and reading a million lines back.

In: nothing, or `--lines N`. Out: the two rows, limit and peers beside ours. Law: an append is
compared in wall time, since it is waiting for the disk, and in the same round as its limit; reading
is compared in CPU time and peak memory, each in a process of its own.
"""

import argparse
import hashlib
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.rows import HEAD
from verdict_core.progress.ledger import Disk, Ledger
from verdict_core.progress.projection import EMPTY, State, project
from verdict_core.progress.runs import ZEROS, bare_lines, drafted, entry, sealed
from verdict_core.wire import canonical

CLAIMS = 20
BATCH = 20
TREE = {"count": 12, "digest": "sha256:" + "b" * 64}
REPORT = (
    "Status: complete\nIntegrity: clean\nContract audit: aligned\nEvidence:\n- all tests pass\n"
)


def body(number: int) -> dict[str, Any]:
    """The body of the entry with that number: claims and rulings in turn, of twenty claims."""
    turn = (number - 1) // 2
    claim = {
        "kind": "claim",
        "claim": f"step {turn % CLAIMS}: the parser handles CRLF input",
        "scope": "src/parser/**",
        "fingerprinted": "src/parser",
        "ignored": ["node_modules/"],
        "verifier": ["pytest", "-q"],
        "before": TREE,
    }
    if number % 2:
        return claim
    controls = {"status": "complete", "integrity": "clean", "contract": "aligned"}
    return claim | {
        "kind": "ruling",
        "claim_number": number - 1,
        "after": TREE,
        "changed": [],
        "evidence_gaps": [],
        "declared": controls,
        "final": controls,
        "outcome": "progress" if turn % 3 else "evidence",
        "reasons": [],
        "evidence": ["all tests pass"],
        "missing": [],
        "report": REPORT,
    }


def history(count: int) -> Iterator[bytes]:
    """That many lines of one unbroken chain."""
    prev = ZEROS
    for number in range(1, count + 1):
        draft = drafted(body(number))
        time_ = f"2026-01-01T00:00:{number % 60:02}.000000Z"
        line = canonical(sealed(draft, number=number, time=time_, run="s-a", prev=prev))
        prev = hashlib.sha256(line).hexdigest()
        yield line + b"\n"


# --- append


class LineAlone(Ledger):
    """What the line costs without `state.json`."""

    def _covering(self, tail: object) -> State:
        return EMPTY

    def _remember(self, state: State, *added: bytes) -> None:
        pass


class Counting(Disk):
    flushes = 0

    def fsync(self, fd: int) -> None:
        self.flushes += 1
        super().fsync(fd)


def _sqlite(path: Path) -> Callable[[int], object]:
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE entry (number INTEGER PRIMARY KEY, line BLOB)")
    line = next(history(2))
    return lambda n: base.execute("INSERT INTO entry (line) VALUES (?)", (line,))


def _lmdb(path: Path) -> Callable[[int], object] | None:
    try:
        lmdb = import_module("lmdb")
    except ImportError:
        return None
    base = lmdb.open(str(path), map_size=1 << 26)
    line = next(history(2))

    def put(number: int) -> None:
        with base.begin(write=True) as transaction:
            transaction.put(number.to_bytes(8, "big"), line)

    return put


def _renamed_beside(place: Path) -> Callable[[int], object]:
    """The least that a `state.json` can cost: its bytes, written and renamed."""
    data = b"x" * 6000

    write = _limit(place / "beside")

    def append(number: int) -> None:
        write(number)
        fd = os.open(place / "fresh", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(fd, data)
        os.close(fd)
        os.replace(place / "fresh", place / "state")

    return append


def _limit(path: Path) -> Callable[[int], object]:
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    lines = list(islice(history(1 << 20), 40))

    def write(number: int) -> None:
        os.write(fd, lines[number % len(lines)])
        os.fsync(fd)

    return write


def append_row(rounds: int, place: Path) -> str:
    """Each round appends twenty entries to each; the ratios of a round are its own."""
    disk = Counting()
    ledger, alone = Ledger(place / "ledger", disk), LineAlone(place / "alone")
    works: dict[str, Callable[[int], object]] = {
        "limit": _limit(place / "limit"),
        "line": lambda n: alone.append(body(n)),
        "with state.json": lambda n: ledger.append(body(n)),
        "a file renamed beside it": _renamed_beside(place),
        "sqlite WAL FULL": _sqlite(place / "db"),
    }
    lmdb = _lmdb(place / "mdb")
    if lmdb is not None:
        works["lmdb"] = lmdb
    times: dict[str, list[float]] = {name: [] for name in works}
    for start in range(1, rounds * BATCH, BATCH):
        for name, work in works.items():
            began = time.perf_counter()
            for number in range(start, start + BATCH):
                work(number)
            times[name].append((time.perf_counter() - began) / BATCH)
    ratio = {
        name: statistics.median(a / b for a, b in zip(mine, times["limit"], strict=True))
        for name, mine in times.items()
    }
    before = disk.flushes
    ledger.append(body(1))
    flushes = disk.flushes - before
    peers = ", ".join(
        f"{name} {ratio[name]:.1f}" if name in ratio else f"{name} not installed"
        for name in ("a file renamed beside it", "sqlite WAL FULL", "lmdb")
    )
    met = ratio["line"] <= 1.2 and ratio["with state.json"] <= 1.9 and flushes == 1
    return (
        f"| ledger append | one write + fsync, {statistics.median(times['limit']) * 1e6:.0f} us"
        f" | {peers} | line {ratio['line']:.2f}, with state.json {ratio['with state.json']:.2f},"
        f" {flushes} flush | 1.2, 1.9, 1 flush | {'met' if met else 'MISSED'} |"
    )


# --- read back


def _orjson_loop(path: Path, count: int) -> None:
    import orjson

    last = {}
    with path.open("rb") as file:
        for line in islice(file, count):
            value = orjson.loads(line)
            last[value["claim_digest"]] = value


def _json_loop(path: Path, count: int) -> None:
    import json

    last = {}
    with path.open("rb") as file:
        for line in islice(file, count):
            value = json.loads(line)
            last[value["claim_digest"]] = value


def _every_entry(path: Path, count: int) -> None:
    last = {}
    with path.open("rb") as file:
        for line in islice(file, count):
            value = entry(line[:-1])
            last[value["claim_digest"]] = value


def _ours(path: Path, count: int) -> None:
    with path.open("rb") as file:
        state = project(islice(bare_lines(file), count))
    assert state.number == count


READERS = {
    "orjson loop": _orjson_loop,
    "json loop": _json_loop,
    "every entry checked": _every_entry,
    "ours": _ours,
}


def read_alone(name: str, path: Path, count: int) -> None:
    """Prints CPU seconds and peak megabytes of one reader in this process."""
    start = time.process_time()
    READERS[name](path, count)
    seconds = time.process_time() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _reading(name: str, path: Path, count: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.bench_ledger", "--read", name, str(path)]
    said = subprocess.run(
        [*command, "--lines", str(count)], check=True, capture_output=True, text=True
    ).stdout.split()
    return float(said[0]), float(said[1])


def read_row(count: int, place: Path, rounds: int = 3) -> str:
    """Limit and ours in turn; the slow peers read a tenth."""
    path = place / "ledger.jsonl"
    with path.open("wb") as file:
        file.writelines(history(count))
    pairs = [
        (_reading("orjson loop", path, count), _reading("ours", path, count)) for _ in range(rounds)
    ]
    ratio = statistics.median(ours[0] / limit[0] for limit, ours in pairs)
    limit, memory = statistics.median(one[0][0] for one in pairs), max(one[1][1] for one in pairs)
    tenth = count // 10
    base = _reading("orjson loop", path, tenth)[0]
    peers = ", ".join(
        f"{name} {_reading(name, path, tenth)[0] / base:.1f}"
        for name in ("json loop", "every entry checked")
    )
    met = "met" if ratio <= 1.25 and memory <= 60 else "MISSED"
    return (
        f"| read back {count:,} lines, last wins"
        f" | orjson loop, {limit:.2f} CPU s, {pairs[0][0][1]:.0f} MB | {peers}"
        f" | {ratio:.2f}, {memory:.0f} MB | 1.25, 60 MB | {met} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench_ledger", description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--read", nargs=2, metavar=("READER", "FILE"))
    options = parser.parse_args()
    if options.read:
        read_alone(options.read[0], Path(options.read[1]), options.lines)
        return
    print(HEAD)
    with tempfile.TemporaryDirectory() as place:
        print(append_row(options.rounds, Path(place)), flush=True)
        print(read_row(options.lines, Path(place)), flush=True)


if __name__ == "__main__":
    main()
