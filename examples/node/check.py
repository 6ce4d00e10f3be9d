"""The suite against the Node implementation: it passes, and each seeded fault fails its clause.

`python examples/node/check.py` runs the whole suite, then the checks of each fault's clause against
that fault. With `--consequences` it runs the whole suite against each fault, and writes down what
else fails.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NODE = ["node", str(HERE / "main.mjs")]
CONSEQUENCES = HERE / "consequences.json"


def report_on(command: list[str], *options: str) -> Mapping[str, Any]:
    """What the conformance command says of an implementation."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        ours = [sys.executable, "-m", "verdict_core", "conformance", *options, "--json", file.name]
        done = subprocess.run([*ours, "--", *command], capture_output=True, text=True)
        said = json.loads(Path(file.name).read_bytes() or "null")
    if not said:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return {**said, "text": done.stdout}


def failed(clause: str, *options: str) -> list[str]:
    """The clauses that fail where the fault of one is switched on."""
    report = report_on([*NODE, "--fault", clause], *options)
    return [row["clause"] for row in report["clauses"] if row["fate"] == "failed"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--consequences", action="store_true")
    whole = parser.parse_args().consequences
    listed = subprocess.run([*NODE, "--faults"], capture_output=True, check=True).stdout
    faults: dict[str, str] = json.loads(listed)

    with ThreadPoolExecutor(2) as pool:
        sound = pool.submit(report_on, NODE)
        found = {
            clause: pool.submit(failed, clause, *([] if whole else ["--only", clause]))
            for clause in faults
        }
    fell = {clause: one.result() for clause, one in found.items()}
    print(sound.result()["text"])
    missed = [clause for clause in faults if clause not in fell[clause]]
    for clause in missed:
        print(f"{clause} does not fail where {faults[clause]}")
    if whole:
        others = {name: [one for one in all_ if one != name] for name, all_ in fell.items()}
        CONSEQUENCES.write_text(json.dumps(others, indent=1) + "\n", encoding="utf-8")
    print(f"{len(faults) - len(missed)} of {len(faults)} seeded faults are found by their clause")
    return 1 if missed or sound.result()["outcome"] != "passed" else 0


if __name__ == "__main__":
    sys.exit(main())
