"""`make bench`: every row, limit and peers beside ours, from one run."""

import sys

from benchmarks import core, process, records
from benchmarks.rows import HEAD, measure


def main() -> None:
    print(f"Python {sys.version.split()[0]}, {sys.platform}. CPU time, medians of ratios.\n")
    print(HEAD)
    for row in core.rows():
        print(measure(row), flush=True)
    print(process.line(), flush=True)
    for line in records.lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
