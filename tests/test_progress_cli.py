"""`verdict-core progress` as a real process, and what the context half learns of it.

(SPEC PG-CLI, RD-PG)
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from running import Run

from verdict_core.progress.ledger import Ledger
from verdict_core.readers import progress_ledger
from verdict_core.wire import parse


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    (path / "src").mkdir(parents=True)
    (path / "src" / "a.py").write_text("x = 1\n")
    return path


class Progress:
    """The command, in one workspace with one state directory."""

    def __init__(self, command: Run, workspace: Path, state: Path) -> None:
        self.command, self.workspace, self.state = command, workspace, state

    def __call__(self, verb: str, *arguments: str, json: bool = True) -> Any:
        words = ["progress", verb, "--state-dir", str(self.state), *["--json"] * json, *arguments]
        return self.command(*words, cwd=self.workspace)

    def check(self, claim: str, *argv: str, more: tuple[str, ...] = ()) -> tuple[Any, int]:
        done = self("verify", "--claim", claim, "--scope", "src/**", *more, "--check", "--", *argv)
        return parse(done.stdout), done.returncode

    def ledger(self) -> Ledger:
        (run,) = (self.state / "verified-progress" / "runs").iterdir()
        return Ledger(run)


@pytest.fixture
def progress(command: Run, workspace: Path, tmp_path: Path) -> Progress:
    return Progress(command, workspace, tmp_path / "state")


def test_a_true_claim_exits_0_and_a_false_one_10(progress: Progress) -> None:
    """PG-CLI-1."""
    true, status = progress.check("x is set", "grep", "-q", "x = 1", "src/a.py")
    assert list(true) == [
        "outcome", "status", "integrity", "contract", "reasons", "changed", "gaps", "number", "run",
    ]  # fmt: skip
    assert (true["outcome"], true["reasons"], true["number"], status) == ("progress", [], 2, 0)
    assert re.fullmatch(r"d-[0-9a-f]{32}", true["run"])
    false, status = progress.check("y is set", "grep", "-q", "y = 1", "src/a.py")
    assert (false["outcome"], false["status"], false["number"]) == ("evidence", "incomplete", 4)
    assert (false["reasons"], status) == (["check_failed", "status_incomplete"], 10)


def test_what_was_fingerprinted_is_always_printed(progress: Progress) -> None:
    """PG-CLI-1."""
    done = progress("verify", "--claim", "c", "--scope", "src/**", "--check", "--", "touch",
                    "src/b.py", json=False)  # fmt: skip
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "Fingerprinted: src"
    assert lines[1] == "evidence: blocked, violation, aligned"
    assert "  src/b.py (added)" in lines
    assert "why: workspace_changed" in lines
    assert done.returncode == 10


def test_hints_ignores_and_gaps_are_said(progress: Progress, workspace: Path) -> None:
    with (workspace / "src" / "big").open("wb") as file:
        file.truncate((16 << 20) + 1)
    make = ("sh", "-c", "mkdir -p src/__pycache__ && touch src/__pycache__/$0.pyc")
    words = ("verify", "--claim", "c", "--scope", "src", "--check")
    first = progress(*words, "--", *make, "a", json=False).stdout.decode()
    assert "--ignore NAME/" in first
    assert "not compared: src/big: over hash cap, content not compared" in first
    second = progress(*words, "--ignore", "__pycache__/", "--", *make, "b", json=False)
    assert "declared ignores hid 1 changes" in second.stdout.decode()
    assert second.returncode == 0


def test_a_report_verifier_is_read(progress: Progress) -> None:
    code = "import sys; sys.stdin.read(); print('Status: complete\\nIntegrity: clean')"
    done = progress("verify", "--claim", "c", "--scope", "src", "--verifier", "--",
                    sys.executable, "-c", code)  # fmt: skip
    answer = parse(done.stdout)
    assert (answer["status"], answer["contract"]) == ("incomplete", "unknown")
    assert "contract_undeclared" in answer["reasons"]


BAD: list[tuple[list[str], str]] = [
    (["--scope", "/etc", "--check", "--", "true"], "scope_absolute"),
    (["--scope", "../x", "--check", "--", "true"], "scope_parent"),
    (["--scope", "absent", "--check", "--", "true"], "scope_missing"),
    (["--scope", " ", "--check", "--", "true"], "scope_required"),
    (["--scope", "src", "--workspace", "absent", "--check", "--", "true"], "scope_missing"),
    (["--scope", ".", "--state-dir", "state", "--check", "--", "true"], "state_inside_scope"),
    (["--scope", "src", "--timeout", "soon", "--check", "--", "true"], "bad_config"),
    (["--scope", "src", "--timeout", "-1", "--check", "--", "true"], "bad_config"),
    (["--scope", "src", "--check", "--verifier", "--", "true"], "usage"),
    (["--scope", "src", "--", "true"], "usage"),
    (["--scope", "src", "--check"], "usage"),
    (["--check", "--", "true"], "usage"),
]


@pytest.mark.parametrize(("words", "code"), BAD)
def test_bad_input_gets_one_line_and_nothing_is_kept(
    command: Run, workspace: Path, tmp_path: Path, words: list[str], code: str
) -> None:
    """PG-CLI-5."""
    state = ["--state-dir", str(tmp_path / "kept")] if "--state-dir" not in words else []
    done = command("progress", "verify", "--json", "--claim", "c", *state, *words, cwd=workspace)
    assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, code)
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "kept").exists()
    assert not (workspace / "state").exists()


def test_a_state_directory_that_cannot_be_written_is_named(
    progress: Progress, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file")
    done = progress("verify", "--claim", "c", "--scope", "src", "--check", "--", "true")
    refused = parse(done.stdout)["refused"]
    assert (done.returncode, refused["code"]) == (3, "append_failed")
    assert str(tmp_path / "state") in refused["path"]


def test_the_ledger_shows_every_entry_and_every_damaged_line(progress: Progress) -> None:
    """PG-CLI-2."""
    progress.check("one", "true")
    with progress.ledger().path.open("ab") as file:
        file.write(b'{"torn')
    progress.check("two", "false")
    answer = parse(progress("ledger").stdout)
    assert list(answer) == ["run", "entries", "damaged", "torn"]
    assert [entry["claim"] for entry in answer["entries"]] == ["one", "one", "two", "two"]
    assert [entry["number"] for entry in answer["entries"]] == [1, 2, 4, 5]
    assert [(d["line"], d["length"]) for d in answer["damaged"]] == [(3, 6)]
    text = progress("ledger", json=False).stdout.decode()
    assert "evidence: two" in text
    assert "line 3" in text


def test_the_state_says_what_is_verified_stale_rejected_pending_and_open(
    progress: Progress, workspace: Path
) -> None:
    """PG-CLI-3."""
    progress.check("one", "true")
    progress.check("two", "false")
    code = (
        "print('Status: incomplete\\nIntegrity: clean\\nContract audit: aligned\\nMissing:\\n- z')"
    )
    progress("verify", "--claim", "three", "--scope", "src", "--verifier", "--",
             sys.executable, "-c", code)  # fmt: skip
    ledger = progress.ledger()
    last = ledger.read().entries[-2]
    asked = ("claim", "scope", "fingerprinted", "ignored", "verifier", "before")
    ledger.append({"kind": "claim", **{name: last[name] for name in asked}, "claim": "four"})
    state = parse(progress("state").stdout)
    assert (state["verified_rounds"], state["rejected_rounds"], state["stale"]) == ([1], [3, 5], [])
    assert [one["claim"] for one in state["pending"]] == ["four"]
    assert [one["claim"] for one in state["rejected"]] == ["two", "three"]
    assert state["open_items"] == [{"round": 5, "item": "z"}]
    (workspace / "src" / "a.py").write_text("other\n")
    assert parse(progress("state").stdout)["stale"] == [1]
    text = progress("state", json=False).stdout.decode()
    assert "verified 1: one (stale" in text
    assert "pending 7: four" in text
    assert "open 5: z" in text
    (workspace / "src" / "a.py").unlink()
    (workspace / "src").rmdir()
    assert parse(progress("state").stdout)["stale"] == [1]


def test_an_audit_exits_1_for_a_broken_chain(progress: Progress) -> None:
    """PG-CLI-4."""
    progress.check("one", "true")
    done = progress("audit")
    assert (done.returncode, parse(done.stdout)["unbroken"]) == (0, True)
    assert "unbroken" in progress("audit", json=False).stdout.decode()
    path = progress.ledger().path
    path.write_bytes(path.read_bytes().replace(b'"claim":"one"', b'"claim":"0ne"', 1))
    done = progress("audit")
    answer = parse(done.stdout)
    assert (done.returncode, answer["unbroken"], answer["breaks"][0]["line"]) == (1, False, 1)
    text = progress("audit", json=False).stdout.decode()
    assert "BROKEN" in text
    assert "line 1" in text


def test_a_run_that_has_nothing_says_so(progress: Progress) -> None:
    assert parse(progress("ledger").stdout)["entries"] == []
    assert parse(progress("state").stdout)["verified_rounds"] == []
    assert progress("audit").returncode == 0


def test_led_10_nothing_shrinks_a_ledger(progress: Progress) -> None:
    """There is no such command, and the library refuses."""
    for _ in range(5):
        progress.check("c", "false")
    done = progress("shrink")
    assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, "usage")
    assert len(parse(progress("state").stdout)["rejected_rounds"]) == 5


def test_the_state_directory_is_the_users_unless_it_is_given(
    command: Run, workspace: Path, tmp_path: Path
) -> None:
    """PG-RUN-2: where the run was kept, `check` finds it."""
    env = {"XDG_STATE_HOME": str(tmp_path / "xdg")}
    done = command("progress", "verify", "--claim", "c", "--scope", "src", "--session", "abc",
                   "--json", "--check", "--", "true", cwd=workspace, env=env)  # fmt: skip
    assert (done.returncode, parse(done.stdout)["run"]) == (0, "s-abc")
    runs = tmp_path / "xdg" / "verdict-core" / "verified-progress" / "runs"
    assert (runs / "s-abc" / "ledger.jsonl").is_file()
    summary = {"session": "s", "todos": [], "uncommitted": [], "questions": [], "decisions": [],
               "next_steps": [], "unknown": []}  # fmt: skip
    (tmp_path / "s.json").write_text(json.dumps(summary))
    checked = command("check", "--json", "--summary", tmp_path / "s.json", "--progress", "s-abc",
                      env=env)  # fmt: skip
    assert parse(checked.stdout)["unknown"] == ["uncommitted"]
    elsewhere = command("check", "--json", "--summary", tmp_path / "s.json", "--progress", "s-abc",
                        "--state-dir", tmp_path / "xdg" / "verdict-core")  # fmt: skip
    assert parse(elsewhere.stdout)["unknown"] == ["uncommitted"]


@pytest.mark.skipif(
    not any(os.access(Path(p) / "bwrap", os.X_OK) for p in os.environ["PATH"].split(":")),
    reason="bubblewrap (bwrap) is not installed",
)
def test_in_a_sandbox_the_workspace_cannot_be_written(progress: Progress, workspace: Path) -> None:
    """PG-SANDBOX-1."""
    answer, status = progress.check("c", "touch", "src/b.py", more=("--sandbox",))
    assert (answer["changed"], answer["status"], status) == ([], "incomplete", 10)
    assert not (workspace / "src" / "b.py").exists()
    answer, status = progress.check("c", "true", more=("--sandbox",))
    assert (answer["outcome"], status) == ("progress", 0)


def test_without_bubblewrap_a_sandbox_is_refused(
    command: Run, workspace: Path, tmp_path: Path
) -> None:
    """PG-SANDBOX-2."""
    done = command("progress", "verify", "--claim", "c", "--scope", "src", "--json", "--sandbox",
                   "--state-dir", tmp_path / "kept", "--check", "--", "true",
                   cwd=workspace, env={"PATH": str(tmp_path)})  # fmt: skip
    assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, "sandbox_missing")
    assert not (tmp_path / "kept").exists()


# --- what the context half learns


def test_pending_and_rejected_claims_are_next_steps(progress: Progress, command: Run) -> None:
    """RD-PG-1: a step that was claimed and not verified is never taken for landed."""
    progress.check("verified", "true")
    progress.check("rejected", "false")
    progress.check("rejected, then verified", "false")
    progress.check("rejected, then verified", "true")
    reading = progress_ledger.read(progress.ledger())
    assert reading.items == {"next_steps": ("rejected",)}
    assert reading.unknown == frozenset()
    directory = progress.ledger().directory
    done = command("check", "--json", "--repo", "absent", "--progress", directory)
    answer = parse(done.stdout)
    assert answer["summary"]["next_steps"] == ["rejected"]
    assert "claims" in [note["code"] for note in answer["notes"]]


def test_a_ledger_that_cannot_be_believed_leaves_the_field_unknown(
    progress: Progress, command: Run, tmp_path: Path
) -> None:
    """RD-PG-2."""
    absent = progress_ledger.read(Ledger(tmp_path / "absent"))
    assert absent.unknown == {"next_steps"}
    assert absent.notes[0].code == "no_ledger"
    progress.check("rejected", "false")
    progress.check("other", "false")
    path = progress.ledger().path
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"claim":"rejected"', b'"claim":"Rejected"', 1))
    broken = progress_ledger.read(progress.ledger())
    assert broken.unknown == {"next_steps"}
    assert broken.notes[0].code == "broken_chain"
    assert "other" in broken.items["next_steps"]
    path.write_bytes(whole[: whole.index(b"\n") + 1])
    cut = progress_ledger.read(progress.ledger())
    assert cut.unknown == {"next_steps"}
    assert cut.notes[0].code == "ledger_cut"
