"""Real repositories for tests.

In: an empty directory. Out: a `Repo` made by the git that is installed. Law: a test sees no
configuration but its own (`isolate`).
"""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from attrs import frozen

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def isolate(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """An empty home, no system configuration, and no GIT_ variable of whoever runs the tests."""
    home.mkdir()
    for name in os.environ:
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@frozen
class Repo:
    path: Path

    def git(self, *args: str, input: bytes = b"") -> bytes:
        """Standard output of a plain git, as a person would call it; a failure is an error."""
        command = ["git", "-c", "protocol.file.allow=always", *IDENTITY, *args]
        return subprocess.run(
            command, cwd=self.path, input=input, check=True, stdout=-1, stderr=subprocess.PIPE
        ).stdout

    def plain_status(self) -> bytes:
        """What a status without any precaution says. It writes no index."""
        return self.git("--no-optional-locks", "status", "--porcelain")

    def write(self, name: str, content: str = "work\n") -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode())
        return file

    def commit(self, **files: str) -> None:
        """Writes `files` (a name without a dot gets none) and commits all that there is."""
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "commit")

    def config(self, name: str, value: str) -> None:
        self.git("config", name, value)


def new_repo(path: Path, *args: str) -> Repo:
    path.mkdir(parents=True, exist_ok=True)
    repo = Repo(path)
    repo.git("init", "-q", "--initial-branch=main", *args)
    return repo


def with_submodule(path: Path) -> tuple[Repo, Repo]:
    """A clean repository with the clean submodule `sub`, and that submodule."""
    source = new_repo(path / "source")
    source.commit(a="a\n")
    outer = new_repo(path / "outer")
    outer.git("submodule", "-q", "add", str(source.path), "sub")
    outer.commit()
    return outer, Repo(outer.path / "sub")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def fake_git(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> str:
    """Puts a shell script before the git on PATH. `$REAL_GIT` in it is the real one."""
    real = shutil.which("git")
    assert real is not None
    script(folder / "git", text)
    monkeypatch.setenv("REAL_GIT", real)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return real


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below `folder`: mode, mtime in nanoseconds, bytes or target."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        about = path.lstat()
        content = b""
        if stat.S_ISREG(about.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(about.st_mode):
            content = os.fsencode(os.readlink(path))
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_mtime_ns, content)
    return found
