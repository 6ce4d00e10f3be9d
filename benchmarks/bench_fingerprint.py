"""The rows of the fingerprint: a whole tree read and hashed, and read again with nothing changed.

In: a number of files and their size in bytes (`python -m benchmarks.bench_fingerprint --help`).
Out: lines of a table, CPU and wall apart: the fingerprint reads on two threads, and what that is
worth depends on whether a second core is free. Law: only what ran in the same round is compared.
"""

import argparse
import hashlib
import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from verdict_core.progress.fingerprint import take
from verdict_core.progress.scope import resolve

Work = Callable[[], object]
Cost = tuple[float, float]  # CPU seconds of this process and its children, wall seconds

FILES, SIZE, ROUNDS = 10_000, 40_000, 5
CPU_GOAL, WALL_GOAL = 1.1, 0.65
HEAD = "| work | limit (1.0): CPU, wall | peers, CPU | ours, CPU | ours, wall | goal |\n" + (
    "|---|---|---|---|---|---|"
)


def make_tree(top: Path, files: int, size: int) -> None:
    """`files` different files of `size` bytes, twenty a directory, as a source tree has them."""
    noise = random.Random(1).randbytes(2 * size)
    for number in range(files):
        folder = top / f"package{number // 400}" / f"part{number // 20 % 20}"
        if number % 20 == 0:
            folder.mkdir(parents=True)
        start = number % size
        (folder / f"module_{number}.py").write_bytes(b"%016d" % number + noise[start:][: size - 16])


def cost(work: Work) -> Cost:
    """What one call takes."""
    before, start = _cpu(), time.perf_counter()
    work()
    return _cpu() - before, time.perf_counter() - start


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def ratios(works: Mapping[str, Work], rounds: int) -> dict[str, Cost]:
    """Of each work to the first one, round by round, the median; the first one's in seconds."""
    for work in works.values():
        work()
    costs: dict[str, list[Cost]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            costs[name].append(cost(work))
    limit, *others = works
    found = {limit: _medians(costs[limit])}
    for name in others:
        found[name] = _medians(
            [
                (cpu / limit_cpu, wall / limit_wall)
                for (cpu, wall), (limit_cpu, limit_wall) in zip(
                    costs[name], costs[limit], strict=True
                )
            ]
        )
    return found


def _medians(costs: list[Cost]) -> Cost:
    cpu, wall = map(statistics.median, zip(*costs, strict=True))
    return cpu, wall


def read_and_hash(top: Path) -> dict[str, bytes]:
    """The limit: one thread, no check of what is read, names and hashes alone."""
    found = {}
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = f"{folder}/{name}"
            with open(path, "rb") as file:
                found[path] = hashlib.sha256(file.read()).digest()
    return found


def fingerprint(top: Path) -> object:
    snapshot = take(resolve("**", top))
    return snapshot.content_digest


def shell(top: Path, *command: str) -> Work:
    return lambda: subprocess.run(command, cwd=top, check=True, stdout=subprocess.DEVNULL)


def peers(top: Path) -> dict[str, Work]:
    """Those that are installed."""
    found: dict[str, Work] = {}
    if shutil.which("openssl"):
        script = "find . -type f -print0 | xargs -0 openssl dgst -sha256"
        found["find + openssl"] = shell(top, "sh", "-c", script)
    if find_spec("dirhash"):
        found["dirhash"] = partial(import_module("dirhash").dirhash, top, "sha256")
    if find_spec("checksumdir"):
        found["checksumdir"] = partial(import_module("checksumdir").dirhash, str(top), "sha256")
    if shutil.which("git"):
        script = "find . -type f | git hash-object --no-filters --stdin-paths"
        found["git hash-object (SHA-1)"] = shell(top, "sh", "-c", script)
    return found


def first(top: Path, name: str, rounds: int) -> str:
    limit = "read + SHA-256, one thread"
    others = peers(top)
    works = {limit: lambda: read_and_hash(top), "ours": lambda: fingerprint(top), **others}
    return line(name, limit, tuple(others), ratios(works, rounds), f"{CPU_GOAL}, {WALL_GOAL}")


def second(top: Path, name: str, rounds: int) -> str:
    """Nothing changed. Ours reads it all again: the guard never trusts a saved fingerprint."""
    shell(top, "git", "init", "-q")()
    shell(top, "git", "add", ".")()
    limit = "git status"
    status = shell(top, "git", "status", "--porcelain")
    full = "full hash"
    works = {limit: status, "ours": lambda: fingerprint(top), full: lambda: read_and_hash(top)}
    return line(name, limit, (full,), ratios(works, rounds), "none")


def line(
    work: str, limit: str, others: tuple[str, ...], found: Mapping[str, Cost], goal: str
) -> str:
    cpu, wall = found[limit]
    beside = ", ".join(f"{name} {found[name][0]:.2f}" for name in others) or "-"
    ours_cpu, ours_wall = found["ours"]
    return (
        f"| {work} | {limit}: {cpu:.2f} s, {wall:.2f} s | {beside}"
        f" | {ours_cpu:.2f} | {ours_wall:.2f} | {goal} |"
    )


def lines(files: int = FILES, size: int = SIZE, rounds: int = ROUNDS) -> Iterator[str]:
    """The two rows, warm: what was just written is in the page cache."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        make_tree(top, files, size)
        about = f"{files:,} files, {files * size / 1e9:.1f} GB, warm"
        yield first(top, f"fingerprint, {about}", rounds)
        yield second(top, f"second fingerprint, {about}", rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--size", type=int, default=SIZE, help="bytes of each file")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} at the start. Medians of ratios.\n\n{HEAD}")
    for row in lines(options.files, options.size, options.rounds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
