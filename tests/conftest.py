"""What several tests need: the specification's text, the command line, places, an MCP server."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitrepo import isolate
from running import Run, runner

if TYPE_CHECKING:
    from mcp_host import Hosted

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def spec() -> str:
    return (ROOT / "SPEC.md").read_text(encoding="utf-8")


@pytest.fixture
def command(tmp_path: Path) -> Run:
    return runner(tmp_path)


@pytest.fixture
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Git reads no settings of the person who runs the tests."""
    isolate(monkeypatch, tmp_path / "home")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A directory that an ordinary user can reach; the one that pytest makes is root's alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Hosted"]:
    """One MCP server for the tests that leave no trace in it."""
    from mcp_host import CHECK, hosted, place

    top = tmp_path_factory.mktemp("host")
    with hosted("--state-dir", top / "state", *CHECK, cwd=place(top)) as server:
        yield server
