"""`python -m mutants`: every fault has to be found by the test that is named for it."""

import argparse
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path

from mutants import runner
from mutants.chosen import changed_since, chosen, part_of
from mutants.faults import RECORDS, ROOT, BadRecord, Fault, by_hand
from mutants.generated import from_data

Groups = dict[str, list[Fault]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--records", type=Path, default=RECORDS, help="a folder of records")
    parser.add_argument("--only", metavar="GLOB", default="*", help="ids to run")
    parser.add_argument("--changed-since", metavar="COMMIT", help="the faults of what changed")
    parser.add_argument("--parts", type=int, default=8, help="and one of so many parts of the rest")
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
    groups = _those_of(groups, options)
    every = [fault for faults in groups.values() for fault in faults]
    verdicts, failing = runner.run(every, processes=options.processes)
    for file, said in failing.items():
        print(f"{file} fails without a fault, and so finds none:\n{said}")
    good = bool(groups) and not failing and not _repeated(every)
    for name, faults in groups.items():
        print(f"\n== {name}")
        good = runner.report([v for v in verdicts if v.fault in faults]) and good
    print(f"\n{len(every)} faults in {time.monotonic() - began:.0f} s")
    return 0 if good else 1


def _those_of(groups: Groups, options: argparse.Namespace) -> Groups:
    """What of the groups is asked for. A group that has none of it is not there."""
    if options.changed_since:
        paths = changed_since(options.changed_since)
        part, parts = part_of(ROOT, options.parts), options.parts
        count = sum(map(len, groups.values()))
        groups = {name: chosen(faults, paths, part, parts) for name, faults in groups.items()}
        some = sum(map(len, groups.values()))
        which = f"what decides, what changed since {options.changed_since}"
        print(f"{some} of {count} faults: {which}, and part {part + 1} of {parts} of the others")
    if options.only != "*":
        found = {
            name: [fault for fault in faults if fnmatchcase(fault.id, options.only)]
            for name, faults in groups.items()
        }
        return {name: faults for name, faults in found.items() if faults}
    return groups


def _repeated(faults: list[Fault]) -> bool:
    ids = [fault.id for fault in faults]
    twice = {name for name in ids if ids.count(name) > 1}
    if twice:
        print(f"ids that stand twice: {', '.join(sorted(twice))}")
    return bool(twice)


if __name__ == "__main__":
    sys.exit(main())
