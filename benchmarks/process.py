"""The row of the whole process: what `verdict-core judge` costs beside an empty Python.

In: nothing. Out: a line of the table. Wall time of real processes, in turn.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from verdict_core import Summary, build, wire

GOAL = 7.0
ROUNDS = 15


def line() -> str:
    """The line for `verdict-core judge`, beside `python -c pass` and what peers cost to import."""
    summary = Summary(session="s", todos=["a"], uncommitted=[], questions=[], decisions=[],
                      next_steps=[], unknown=[])  # fmt: skip
    document = wire.compact({"summary": summary.payload(), "state": build(summary).payload()})
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "document.json")
        file.write_bytes(document)
        commands = {
            "": ["-c", "pass"],
            "ours": ["-m", "verdict_core", "judge", "--json", str(file)],
            "import attrs, cattrs": ["-c", "import attrs, cattrs"],
            "import click": ["-c", "import click"],
            "import pydantic": ["-c", "import pydantic; pydantic.BaseModel"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, arguments in commands.items():
                start = time.perf_counter()
                subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
                times[name].append(time.perf_counter() - start)
    ratios = {
        name: statistics.median(a / b for a, b in zip(times[name], times[""], strict=True))
        for name in commands
    }
    peers = ", ".join(f"{name} {ratios[name]:.1f}" for name in commands if name not in ("", "ours"))
    met = "met" if ratios["ours"] <= GOAL else "MISSED"
    limit = statistics.median(times[""]) * 1e3
    return (
        f"| `verdict-core judge`, whole process | `python -c pass`, {limit:.1f} ms | {peers}"
        f" | {ratios['ours']:.2f} | {GOAL} | {met} |"
    )
