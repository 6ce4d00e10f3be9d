"""`verdict-core conformance` as it is typed. (SPEC CF-RUN-2)"""

import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verdict_core.conformance import differ
from verdict_core.conformance.examples import EXAMPLES
from verdict_core.errors import BadConfig, Unwritable, Usage
from verdict_core.hosts import cli, conformance

CHILDREN = Path(__file__).parent / "conformance_children.py"
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def child(name: str = "") -> list[str]:
    return [sys.executable, str(CHILDREN), name]


def called(*arguments: str) -> int:
    """In this process, so that what it imports is measured."""
    return cli.main(["conformance", *arguments])


ONE = ("--only", "PG-ADMIT-3", "--examples", "5")


def test_the_reference_behind_the_same_door_passes(command: Run, tmp_path: Path) -> None:
    """CF-RUN-2: and nothing is left in the working directory."""
    place = tmp_path / "empty"
    place.mkdir()
    ours = [sys.executable, "-m", "verdict_core", "conformance", "serve"]
    done = command("conformance", *ONE, "--", *ours, cwd=place)
    assert done.returncode == 0, done.stderr
    assert b"passed         PG-ADMIT-3" in done.stdout
    assert b"passed (exit status 0)" in done.stdout
    assert (done.stderr, list(place.iterdir())) == (b"", [])


def test_serve_replies_until_the_end(monkeypatch: pytest.MonkeyPatch, command: Run) -> None:
    """CF-PROTO-10."""
    hello = b'{"id": 1, "op": "hello", "protocol": 1}\n'
    done = command("conformance", "serve", stdin=hello)
    assert done.returncode == 0
    assert json.loads(done.stdout)["result"]["name"] == "verdict-core"
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(hello)))
    monkeypatch.setattr(sys, "stdout", out)
    assert called("serve") == 0
    assert json.loads(out.buffer.getvalue())["id"] == 1


def test_a_run_writes_its_reports(tmp_path: Path, capfdbinary: Any) -> None:
    """CF-RUN-2, CF-RUN-8: also where a command has options and a `--` of its own."""
    files = tmp_path / "report.json", tmp_path / "report.xml"
    written = ["--json", str(files[0]), "--junit", str(files[1])]
    assert called(*ONE, "--seed", "7", *written, "--", *child("crash"), "--only", "--") == 1
    report = json.loads(files[0].read_text())
    assert (report["exit"], report["seed"], report["examples"]) == (1, 7, 5)
    assert report["command"][-2:] == ["--only", "--"]
    assert files[1].read_text().startswith("<?xml")
    assert oct(files[0].stat().st_mode & 0o777) == "0o644"
    assert b"FAILED         PG-ADMIT-3" in capfdbinary.readouterr().out
    assert not list(tmp_path.glob(".conformance-*"))


def test_a_baseline_is_read_from_its_file(tmp_path: Path, capfdbinary: Any) -> None:
    """CF-BASE-1."""
    known = tmp_path / "known"
    known.write_text("PG-ADMIT-4: one reason is enough for us\n")
    only = ("--only", "PG-ADMIT-4", "--examples", "5")
    assert called("--baseline", str(known), *only, "--", *child("ExpectsAnAnswer")) == 0
    assert b"one reason is enough for us" in capfdbinary.readouterr().out


def test_what_is_skipped_exits_4(capfdbinary: Any) -> None:
    """CF-RUN-2."""
    assert called(*ONE, "--", *child("unsupported")) == 4
    assert b"incomplete (exit status 4)" in capfdbinary.readouterr().out


def test_two_implementations_are_compared(
    tmp_path: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CF-DIFF-1."""
    file = tmp_path / "differences.json"
    monkeypatch.setattr(differ, "EXAMPLES", {"read_report": EXAMPLES["read_report"]})
    other = shlex.join(child("ReadsQuotes"))
    options = ["--examples", "150", "--json", str(file), "--against", other]
    assert called(*options, "--", *child()) == 1
    assert json.loads(file.read_text())["format"] == "verdict-core/conformance-difference/1"
    assert b"read_report" in capfdbinary.readouterr().out


REFUSED: list[tuple[list[str], str]] = [
    ([], "the following arguments are required: COMMAND"),
    (["--", "/nowhere/at-all"], "/nowhere/at-all: usage: cannot be started"),
    (["--only", "CV-CLI-1", "--", "x"], "--only: usage: no clause"),
    (["--seed", "-1", "--", "x"], "--seed"),
    (["--examples", "0", "--", "x"], "--examples: bad_config: expected 1 or more"),
    (["--examples", "x", "--", "x"], "--examples: bad_config"),
    (["--time-limit", "0", "--", "x"], "--time-limit: bad_config"),
    (["--time-limit", "nan", "--", "x"], "--time-limit: bad_config"),
    (["--time-limit", "x", "--", "x"], "--time-limit: bad_config"),
    (["--baseline", "/nowhere/at-all", "--", "x"], "/nowhere/at-all: unreadable"),
    (["--against", " ", "--", "x"], "--against: usage: an empty command"),
    (["--against", "x", "--only", "CV-*", "--", "x"], "--against: usage: goes with none"),
    (["--against", "x", "--junit", "f", "--", "x"], "--against: usage: goes with none"),
    (["--no-such-option", "--", "x"], "usage"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_usage_exits_3(arguments: list[str], said: str, capsys: Any) -> None:
    """CF-RUN-2, CV-CLI-5."""
    assert called(*arguments) == 3
    assert said in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_said_after_the_result(
    tmp_path: Path, capfd: Any
) -> None:
    """CV-CLI-5: what came of the run stands on stdout all the same."""
    nowhere = str(tmp_path / "nothing" / "report.json")
    assert called(*ONE, "--json", nowhere, "--", *child()) == 3
    captured = capfd.readouterr()
    assert "passed (exit status 0)" in captured.out
    assert f"{nowhere}: unwritable" in captured.err


def test_a_report_goes_into_a_pipe_as_well(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    conformance._write(str(pipe), b"x")
    assert os.read(reader, 9) == b"x"
    os.close(reader)
    with pytest.raises(Unwritable):
        conformance._write(str(tmp_path), b"x")


def test_without_its_extra_the_suite_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """CF-RUN-2."""
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert called("--", "x") == 3
    assert "pip install 'verdict-core[conformance]'" in capsys.readouterr().err


@pytest.mark.parametrize("before", [None, "/tmp/somewhere"])
def test_where_hypothesis_keeps_its_things_is_put_back(
    monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    name = "HYPOTHESIS_STORAGE_DIRECTORY"
    monkeypatch.delenv(name, raising=False)
    if before:
        monkeypatch.setenv(name, before)
    with conformance._storage():
        assert os.environ[name] == before or before is None
    assert os.environ.get(name) == before


def test_refusals_are_errors_of_the_library() -> None:
    assert issubclass(BadConfig, Exception)
    assert Usage("x").exit_status == 3
