"""What several tests need: the specification's text, and the command line."""

from pathlib import Path

import pytest
from running import Run, runner

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def spec() -> str:
    return (ROOT / "SPEC.md").read_text(encoding="utf-8")


@pytest.fixture
def command(tmp_path: Path) -> Run:
    return runner(tmp_path)
