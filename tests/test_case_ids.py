"""Every case from a public bug report is a test that bears its id."""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
LINES = (HERE / "data" / "cases.jsonl").read_text(encoding="utf-8")
CASES = [json.loads(line) for line in LINES.split("\n") if line]


def test_every_case_has_a_test_that_bears_its_id() -> None:
    files = [path for path in HERE.rglob("test_*.py") if path != Path(__file__)]
    tests = "".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r"def test_([a-z]+)_(\d\d)_", tests))
    # A test that is a row of a table bears its id in the row, or in its docstring.
    named |= set(re.findall(r"\b([a-z]+)-(\d\d)\b", tests))
    borne = {f"{kind}-{number}" for kind, number in named}
    assert len(CASES) == 65
    assert {case["id"] for case in CASES} <= borne
