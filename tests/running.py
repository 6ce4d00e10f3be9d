"""The command line as a real process, and a user for whom permission bits bind."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# How long to wait for what never takes long. Under a fault it may never come, and only holds up.
PATIENCE_S = 9.0 if os.environ.get("VERDICT_CORE_PROFILE") == "mutants" else 30.0

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def runner(tmp_path: Path) -> Run:
    """Runs the command as its own process, in an empty directory and with an empty home."""

    def run(
        *arguments: str | os.PathLike[str],
        stdin: bytes = b"",
        cwd: Path = tmp_path,
        env: dict[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[bytes]":
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        hosts = {"CLAUDE_CONFIG_DIR": str(home / ".claude"), "CODEX_HOME": str(home / ".codex")}
        variables = {**os.environ, "HOME": str(home), **hosts}
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


NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[None]:
    """No right of root applies: permission bits bind."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
