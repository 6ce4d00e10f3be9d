"""`python -m mutants`: every fault has to be found by the test that is named for it."""

import argparse
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path

from mutants import runner
from mutants.faults import RECORDS, BadRecord, Fault, by_hand
from mutants.generated import from_data

CORE = tuple(
    f"verdict_core/{part}" for part in ("context/", "progress/", "errors", "forbidden", "wire")
)
"""Where what decides stands: a fault there can turn a verdict, a ruling or a ledger."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--records", type=Path, default=RECORDS, help="a folder of records")
    parser.add_argument("--only", metavar="GLOB", default="*", help="ids to run")
    parser.add_argument("--core", action="store_true", help="only the faults of what decides")
    parser.add_argument("--processes", type=int, default=3)
    options = parser.parse_args()
    began = time.monotonic()
    try:
        groups = {"by hand": by_hand(options.records)}
        if options.records == RECORDS:
            groups["from data"] = from_data()
    except BadRecord as error:
        print(error)
        return 1
    chosen = {
        name: [fault for fault in faults if _is_chosen(fault, options)]
        for name, faults in groups.items()
    }
    if options.only != "*" or options.core:
        chosen = {name: faults for name, faults in chosen.items() if faults}
    every = [fault for faults in chosen.values() for fault in faults]
    verdicts, failing = runner.run(every, processes=options.processes)
    for file, said in failing.items():
        print(f"{file} fails without a fault, and so finds none:\n{said}")
    good = bool(chosen) and not failing and not _repeated(every)
    for name, faults in chosen.items():
        print(f"\n== {name}")
        good = runner.report([v for v in verdicts if v.fault in faults]) and good
    print(f"\n{len(every)} faults in {time.monotonic() - began:.0f} s")
    return 0 if good else 1


def _is_chosen(fault: Fault, options: argparse.Namespace) -> bool:
    decides = str(fault.target).startswith(CORE)
    return fnmatchcase(fault.id, options.only) and (decides or not options.core)


def _repeated(faults: list[Fault]) -> bool:
    ids = [fault.id for fault in faults]
    twice = {name for name in ids if ids.count(name) > 1}
    if twice:
        print(f"ids that stand twice: {', '.join(sorted(twice))}")
    return bool(twice)


if __name__ == "__main__":
    sys.exit(main())
