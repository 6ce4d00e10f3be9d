"""What the tests in real programs share: a project, an environment of its own, the journal.

In: an empty directory. Out: a `Stage`. Law: the program finds no configuration and no key but its
own, and no address but the scripted model's.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from attrs import frozen
from gitrepo import Repo, new_repo

# A stop holds for ten seconds; a little more, so that no clock is too coarse.
WINDOW_S = 10.5


@frozen
class Stage:
    """`env` is all that the program gets to know of this machine."""

    root: Path
    repo: Repo
    env: dict[str, str]

    def run(self, *command: str, env: dict[str, str] | None = None) -> Any:
        return subprocess.run(
            command,
            cwd=self.repo.path,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def ours(self, *arguments: str) -> str:
        """Standard output of our own command."""
        done = self.run(sys.executable, "-P", "-m", "verdict_core", *arguments)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def journal(self) -> list[dict[str, Any]]:
        """The hooks' lines about compactions."""
        file = self.root / "home/.local/state/verdict-core/hooks/journal.jsonl"
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def wait_until_it_may_pass(self) -> None:
        time.sleep(WINDOW_S)


def new_stage(root: Path, **env: str) -> Stage:
    (root / "home").mkdir()
    (root / "tmp").mkdir()
    plain = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    mine = {"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "TERM": "dumb"}
    repo = new_repo(root / "project")
    repo.commit(readme="a\n")
    return Stage(root, repo, {**plain, **mine, **env})
