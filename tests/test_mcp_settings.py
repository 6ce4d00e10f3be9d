"""What the command line fixes when the server starts, and no call can change. (SPEC MC-SET)"""

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_host import CASES, CHECK, CLAIM, DOCUMENT, OPEN, Hosted, hosted, place
from running import Run

from verdict_core.hosts import cli
from verdict_core.hosts.mcp_surface import TOOLS

# These start and end many processes, and wait for some: `make test-long`.
pytestmark = pytest.mark.long


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return place(tmp_path)


SETTINGS = ["verifier", "check", "command", "ignore", "ignores", "workspace", "session", "timeout"]
SETTINGS += ["state_dir", "wait_min", "max_chars", "service", "sandbox", "harness_home", "safe_max"]


def test_no_argument_is_a_setting(host: Hosted) -> None:
    """MC-SET-1: whoever claims does not choose who checks."""
    given: dict[str, Any] = {
        "context_verdict_build": {"summary": OPEN},
        "context_verdict_judge": DOCUMENT,
        "context_verdict_verify": {"cases": CASES},
        "verified_progress_verify": CLAIM,
    }
    named = {name for tool in TOOLS for name in tool["inputSchema"]["properties"]}
    assert named.isdisjoint(SETTINGS)
    for number, setting in enumerate(SETTINGS):
        tool = TOOLS[number % len(TOOLS)]["name"]
        sent = {**given.get(tool, {}), setting: "true"}
        assert host.refused(tool, sent) == ("unknown_field", f"$.{setting}")


def test_a_service_is_asked_as_the_command_line_said(workspace: Path, tmp_path: Path) -> None:
    """MC-SET-1: and what it answers against the rules is refused, not passed on."""
    answers = tmp_path / "answers"
    answers.write_text('{"choice": "preserve_first", "score": 0.5}')
    with hosted("--service", f"command:cat {answers}", cwd=workspace) as server:
        judged = server.answer("context_verdict_judge", DOCUMENT)
        assert (judged["verdict"], judged["score"]) == ("preserve_first", 0.5)
        assert server.answer("context_verdict_verify", {"cases": CASES})["asked"] == 1
        answers.write_text('{"choice": "wait", "score": 0.5, "rank": 1}')
        assert server.refused("context_verdict_judge", DOCUMENT) == ("forbidden_key", "$.rank")


WRONG: list[tuple[list[str], str, str]] = [
    (["--wait-min", "3.0"], "bad_config", "--wait-min"),
    (["--max-chars", "-1"], "bad_config", "--max-chars"),
    (["--service", "shell:x"], "bad_config", "--service"),
    (["--workspace", "absent"], "bad_config", "--workspace"),
    (["--workspace", sys.executable], "bad_config", "--workspace"),
    (["--ignore", "../x"], "bad_config", "--ignore"),
    (["--timeout", "soon", *CHECK], "bad_config", "--timeout"),
    (["--timeout", "0", *CHECK], "bad_config", "--timeout"),
    (["--check"], "usage", "mcp"),
    (["--", "true"], "usage", "mcp"),
    (["--check", "--verifier", "--", "true"], "usage", "verdict-core mcp"),
    (["--wait-min"], "usage", "verdict-core mcp"),
]


@pytest.mark.parametrize(("words", "code", "path"), WRONG)
def test_what_cannot_be_served_with_is_refused_at_the_start(
    command: Run, words: list[str], code: str, path: str
) -> None:
    """MC-SET-2."""
    done = command("mcp", *words)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.decode().startswith(f"verdict-core: {path}: {code}: ")
    assert done.stderr.count(b"\n") == 1


def test_a_sandbox_that_cannot_work_is_refused_at_the_start(command: Run, tmp_path: Path) -> None:
    """MC-SET-2."""
    done = command("mcp", "--sandbox", *CHECK, env={"PATH": str(tmp_path)})
    assert (done.returncode, b": sandbox_missing: " in done.stderr) == (3, True)


def test_without_the_sdk_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """MC-SET-2."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main(["mcp"]) == 3
    assert "pip install 'verdict-core[mcp]'" in capsys.readouterr().err


def test_an_empty_workspace_is_one(tmp_path: Path) -> None:
    top = tmp_path / "workspace"
    top.mkdir()
    with hosted("--state-dir", tmp_path / "state", *CHECK, cwd=top) as server:
        given = {**CLAIM, "guard_scope": "."}
        assert server.refused("verified_progress_verify", given) == ("scope_empty", ".")


def test_the_workspace_is_the_one_that_stood_there_at_the_start(
    workspace: Path, tmp_path: Path
) -> None:
    """MC-SET-3: a link that is moved does not move what is checked, nor where it is kept."""
    other, link = place(tmp_path / "other"), tmp_path / "link"
    (other / "src" / "a.py").write_text("x = 2\n")
    link.symlink_to(workspace)
    with hosted("--workspace", link, "--state-dir", "../state", *CHECK, cwd=workspace) as server:
        link.unlink()
        link.symlink_to(other)
        assert server.answer("verified_progress_verify", CLAIM)["outcome"] == "progress"
    assert len(list((tmp_path / "state").rglob("ledger.jsonl"))) == 1


def test_without_a_verifier_a_claim_is_evidence(workspace: Path, tmp_path: Path) -> None:
    """MC-SET-4."""
    with hosted("--state-dir", tmp_path / "state", cwd=workspace) as server:
        ruled = server.answer("verified_progress_verify", CLAIM)
    assert (ruled["outcome"], ruled["status"], ruled["reasons"][0]) == (
        "evidence", "blocked", "no_verifier",
    )  # fmt: skip
    assert "every claim will be kept as evidence" in (tmp_path / "stderr").read_text()


def test_the_workspace_lends_no_modules(workspace: Path, tmp_path: Path) -> None:
    """MC-SET-5: or whoever claims would write who checks."""
    mark = tmp_path / "mark"
    for name in ("attrs", "orjson", "json", "verdict_core", "sitecustomize"):
        (workspace / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\n")
    with hosted("--state-dir", tmp_path / "state", *CHECK, cwd=workspace) as server:
        assert server.answer("verified_progress_verify", CLAIM)["outcome"] == "progress"
        assert server.answer("context_verdict_build", {"summary": OPEN}) == DOCUMENT
    assert not mark.exists()
