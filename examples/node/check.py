"""The suite against the Node implementation: it passes, and each seeded fault fails its clause.

`python examples/node/check.py` runs the whole suite, then the checks of each fault's clause against
that fault. With `--consequences` it runs the whole suite against each fault too, with fewer
examples, and writes down what else fails.
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
    # The whole suite once a fault takes long; its vectors find most of what fails beside.
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
        own = {one: pool.submit(failed, one, one) for one in faults}
        all_ = {one: pool.submit(failed, one, None) for one in faults if whole}
        missed = [clause for clause in faults if clause not in own[clause].result()]
    print(text_of(sound.result()))
    for clause in missed:
        print(f"{clause} does not fail where {faults[clause]}")
    if whole:
        others = {
            name: [one for one in fell.result() if one != name] for name, fell in all_.items()
        }
        CONSEQUENCES.write_text(json.dumps(others, indent=1) + "\n", encoding="utf-8")
    told = json.loads(CONSEQUENCES.read_text(encoding="utf-8"))
    if told.keys() != faults.keys():
        print(f"{CONSEQUENCES.name} is of other faults: {sorted(told.keys() ^ faults.keys())}")
    print(f"{len(faults) - len(missed)} of {len(faults)} seeded faults are found by their clause")
    return sound.result().exit_status or bool(missed) or told.keys() != faults.keys()


if __name__ == "__main__":
    sys.exit(main())
