"""What several tests need: the specification's text, and the command line as a real process."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="session")
def spec() -> str:
    return (ROOT / "SPEC.md").read_text(encoding="utf-8")


@pytest.fixture
def command(tmp_path: Path) -> Run:
    """Run the command as its own process, in an empty directory and an empty home."""

    def run(
        *arguments: str | os.PathLike[str],
        stdin: bytes = b"",
        cwd: Path = tmp_path,
        env: dict[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[bytes]":
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        variables = {**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
        return subprocess.run(
            [sys.executable, "-m", "verdict_core", *arguments],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env={**variables, **(env or {})},
            timeout=60,
            check=False,
        )

    return run
