"""README.md is true: its Python example is run, its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from verdict_core.corpus import SHIPPED, Rate, held, verify
from verdict_core.wire import compact, parse

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(compile(code, "README.md", "exec"), {})
    assert f"prints `{capsys.readouterr().out.strip()}`" in README


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"verdict-core ([a-z]+) (?:-|$)", README, re.M))
    assert {"check", "build", "judge"} <= named
    for name in named:
        command = [sys.executable, "-m", "verdict_core", name, "--help"]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0, name


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in target and target not in ("CONTRIBUTING.md", "CHANGELOG.md"):
            assert (ROOT / target).exists(), target


def said(rate: Rate) -> str:
    return f"{rate.count} of {rate.of}"


def test_the_rates_are_those_of_the_real_cases() -> None:
    """CP-RATE-1, CP-RATE-2, CP-RATE-4: also those that a clean repository would have."""
    lines = SHIPPED[0].read_bytes().splitlines(keepends=True)
    cases = [parse(line) for line in lines]
    unread = [case["summary"]["unknown"] for case in cases]
    shown = f"`uncommitted` is unknown in {sum('uncommitted' in names for names in unread)} of them"
    assert shown in README.replace("\n", " ")
    real = verify([held("real", b"".join(lines))])
    for rate, words in ((real.lost_let_through, "lost cases"), (real.keep_refused, "keep cases")):
        low, high = (f"{100 * end:.1f}" for end in rate.interval or ())
        assert re.search(f"{said(rate)} {words}\\s(were let through|refused)", README)
        assert re.search(
            rf"\({100 * (rate.rate or 0):.1f} %, (95 % interval )?{low} to {high}\)", README
        )
    for names in unread:
        names[:] = [name for name in names if name != "uncommitted"]
    clean = verify([held("clean", b"\n".join(map(compact, cases)))])
    refused, lost = said(clean.keep_refused), said(clean.lost_let_through)
    assert f"{refused} would be refused and {lost} let through" in README
