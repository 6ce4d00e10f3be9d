"""The suite against the Node implementation: it passes, and each seeded fault fails its clause.

`python examples/node/check.py` runs the whole suite, then the checks of each fault's clause against
that fault. With `--consequences` it runs the whole suite against each fault, and writes down what
else fails.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from verdict_core.conformance.checks import Fate
from verdict_core.conformance.child import Child
from verdict_core.conformance.report import Report
from verdict_core.conformance.run import run
from verdict_core.conformance.text import text_of

HERE = Path(__file__).parent
NODE = ("node", str(HERE / "main.mjs"))
CONSEQUENCES = HERE / "consequences.json"


def report_on(fault: str | None, only: str | None) -> Report:
    """What the suite, or a clause of it, says of the implementation, or of one with a fault."""
    command = NODE if fault is None else (*NODE, "--fault", fault)
    # All of the suite for each of the faults is long; the vectors find most of it.
    return run(Child(command), only=only, examples=20 if fault and only is None else 100)


def failed(fault: str, only: str | None) -> list[str]:
    """The clauses that fail with a fault."""
    return [row.clause for row in report_on(fault, only).rows if row.fate is Fate.FAILED]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--consequences", action="store_true")
    whole = parser.parse_args().consequences
    listed = subprocess.run([*NODE, "--faults"], capture_output=True, check=True).stdout
    faults: dict[str, str] = json.loads(listed)

    with ProcessPoolExecutor(2) as pool:
        sound = pool.submit(report_on, None, None)
        found = {one: pool.submit(failed, one, None if whole else one) for one in faults}
        fell = {clause: one.result() for clause, one in found.items()}
    print(text_of(sound.result()))
    missed = [clause for clause in faults if clause not in fell[clause]]
    for clause in missed:
        print(f"{clause} does not fail where {faults[clause]}")
    if whole:
        others = {name: [one for one in all_ if one != name] for name, all_ in fell.items()}
        CONSEQUENCES.write_text(json.dumps(others, indent=1) + "\n", encoding="utf-8")
    print(f"{len(faults) - len(missed)} of {len(faults)} seeded faults are found by their clause")
    return sound.result().exit_status or bool(missed)


if __name__ == "__main__":
    sys.exit(main())
