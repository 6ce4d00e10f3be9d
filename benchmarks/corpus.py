"""Verifying a corpus: time a case beside orjson.loads of its line, and memory at a million cases.

In: nothing. Out: lines of the table; `python -m benchmarks.corpus` prints these alone. CPU time, in
turn, medians of ratios; two processes are seen in wall time only, so theirs is a ratio to one.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from benchmarks.rows import HEAD
from verdict_core import corpus

CASES = 20_000
ROUNDS = 5
MILLION = 1_000_000
MEMORY_MB = 150
# What it reaches today, with room for a busy machine: two readings, each of which parses, walks,
# structures and renders, and a judgement, which renders again.
GOAL = 70.0
GOAL_TWO = 45.0

_PEAK = """\
import sys
from verdict_core.hosts.cli import main
status = main(sys.argv[1:])
peak = next(row for row in open("/proc/self/status") if row.startswith("VmHWM:"))
print(peak.split()[1], file=sys.stderr)
"""


def case(number: int) -> bytes:
    """A line of the corpus: two open items at the most, a field unknown now and then."""
    summary = {
        "session": f"s-{number % 997}",
        "todos": [f"todo number {number}: write down what was decided"] * (number % 3 == 0),
        "uncommitted": [f"src/parser/module_{number % 50}.py"] * (number % 2),
        "questions": [],
        "decisions": [],
        "next_steps": [],
        "unknown": ["decisions"] * (number % 7 == 0),
    }
    label = "lost" if number % 3 == 0 else "keep"
    return orjson.dumps({"id": f"case-{number}", "label": label, "summary": summary}) + b"\n"


def lines() -> Iterator[str]:
    """The lines for time, then the one for memory."""
    with tempfile.TemporaryDirectory() as place:
        yield from _times(Path(place, "corpus.jsonl"))
        yield _memory(Path(place, "million.jsonl"))


def _times(file: Path) -> Iterator[str]:
    file.write_bytes(b"".join(map(case, range(CASES))))

    def limit() -> None:
        with open(file, "rb") as given:
            for line in given:
                orjson.loads(line)

    with corpus.in_process() as one, corpus.processes(2) as two:

        def run(engine: corpus.Engine) -> Callable[[], object]:
            def work() -> None:
                with corpus.sources_of([str(file)]) as sources:
                    corpus.verify(sources, engine=engine, piece_bytes=256 * 1024)

            return work

        works = {"limit": limit, "one": run(one), "two": run(two)}
        cpu: dict[str, list[float]] = {name: [] for name in works}
        wall: dict[str, list[float]] = {name: [] for name in works}
        for work in works.values():
            work()
        for _ in range(ROUNDS):
            for name, work in works.items():
                start, began = time.process_time(), time.perf_counter()
                work()
                cpu[name].append(time.process_time() - start)
                wall[name].append(time.perf_counter() - began)
    limit_us = statistics.median(cpu["limit"]) / CASES * 1e6
    alone = _ratio(cpu["one"], cpu["limit"])
    ratios = {"one": alone, "two": alone * _ratio(wall["two"], wall["one"])}
    for name, said, goal in (("one", "in this process", GOAL), ("two", "two processes", GOAL_TWO)):
        met = "met" if ratios[name] <= goal else "MISSED"
        speed = 1e6 / (limit_us * ratios[name])
        yield (
            f"| verify, {said}, {speed:,.0f} cases a second | orjson.loads of a line,"
            f" {limit_us:.2f} us | - | {ratios[name]:.1f} | {goal} | {met} |"
        )


def _ratio(mine: list[float], its: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(mine, its, strict=True))


def _memory(file: Path) -> str:
    peaks = []
    for number in (10_000, MILLION):
        with open(file, "wb") as out:
            out.writelines(map(case, range(number)))
        command = [sys.executable, "-c", _PEAK, "verify", str(file), "--json"]
        done = subprocess.run(command, capture_output=True, check=True)
        assert orjson.loads(done.stdout)["cases"] == number
        peaks.append(int(done.stderr) / 1024)
    met = "met" if peaks[1] <= MEMORY_MB else "MISSED"
    return (
        f"| verify, most memory at {MILLION:,} cases | {MEMORY_MB} MB | at 10,000:"
        f" {peaks[0]:.0f} MB | {peaks[1]:.0f} MB | {MEMORY_MB} MB | {met} |"
    )


def main() -> None:
    print(HEAD)
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
