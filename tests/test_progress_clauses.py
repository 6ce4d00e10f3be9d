"""What SPEC.md promises of the progress half and no other test would miss: one clause a test."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from verdict_core.progress import admission, episode, report, runs, tree, verifier
from verdict_core.progress.admission import Outcome
from verdict_core.progress.episode import verify
from verdict_core.progress.fingerprint import ChangeKind, Gap, Snapshot, take
from verdict_core.progress.ledger import Ledger
from verdict_core.progress.report import Contract, Integrity, Status, read_report
from verdict_core.progress.scope import GuardScope, resolve
from verdict_core.progress.verifier import (
    CheckVerifier,
    CommandVerifier,
    Reason,
    Testimony,
    prompt,
    weigh,
)
from verdict_core.readers import progress_ledger
from verdict_core.wire import canonical

GOOD = "Status: complete\nIntegrity: clean\nContract audit: aligned\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    (top / "src").mkdir(parents=True)
    (top / "src" / "a.py").write_text("a = 1\n")
    return top


@pytest.fixture
def scope(workspace: Path) -> GuardScope:
    return resolve("src/**", workspace)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "state" / "verified-progress" / "runs" / "s-a")


class Says:
    """A verifier that gives this report, after it did something."""

    argv = ("says",)

    def __init__(self, report: str, does: Callable[[], object] = lambda: None) -> None:
        self.report, self.does = report, does

    def __call__(self, claim: str, scope: str, workspace: Path) -> Testimony:
        self.does()
        return Testimony.of(self.report.encode())


def test_a_mark_before_a_report_is_no_text() -> None:
    """PG-REPORT-2: at its beginning, and nowhere else."""
    assert read_report("\ufeff" + GOOD) == read_report(GOOD)
    assert read_report("\ufeff" + GOOD).status is Status.COMPLETE
    assert read_report("x\n\ufeff" + GOOD).status is not Status.COMPLETE


def test_a_pattern_guards_all_below_its_root(workspace: Path) -> None:
    """PG-SCOPE-2: what it says about names narrows nothing."""
    for name in ("b.txt", "c.pyc", "d"):
        (workspace / "src" / name).touch()
    whole = take(resolve("src", workspace)).entries.keys()
    assert len(whole) == 5
    for pattern in ("src/*.py", "src/**/*.md", "src/[a]*", "src/{a,b}.py"):
        assert take(resolve(pattern, workspace)).entries.keys() == whole


@pytest.mark.parametrize("report", [GOOD, "Status: incomplete\n", "Status: blocked\n", ""])
def test_a_change_counts_whatever_the_report_says(
    workspace: Path, scope: GuardScope, ledger: Ledger, report: str
) -> None:
    """PG-EPI-3."""
    ruling = verify("x", scope, Says(report, (workspace / "src/new").touch), ledger).ruling
    assert (ruling.status, ruling.integrity) == ("blocked", "violation")


@pytest.mark.parametrize("which", [0, 1])
def test_a_gap_in_either_fingerprint_holds_integrity_at_suspect(
    scope: GuardScope, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """PG-EPI-4."""
    taken: list[Snapshot] = []

    class Suspect(Snapshot):
        suspect = True

    def one_is_suspect(*args: Any, **options: Any) -> Snapshot:
        snapshot = take(*args, **options)
        taken.append(snapshot)
        if len(taken) == which + 1:
            return Suspect(snapshot.entries, snapshot.heads, snapshot.ignored)
        return snapshot

    monkeypatch.setattr(episode, "take", one_is_suspect)
    ruled = verify("x", scope, Says(GOOD), ledger)
    assert (ruled.ruling.integrity, ruled.ruling.outcome) == ("suspect", "evidence")
    assert "evidence_unreadable" in ruled.reasons
    assert len(taken) == 2


def test_nothing_of_a_verified_claim_is_open(scope: GuardScope, ledger: Ledger) -> None:
    """PG-STATE-5: what a report of progress calls missing cannot be there; what one did is not."""
    verify("x", scope, Says(GOOD + "Missing:\n- a test\n"), ledger)
    assert [one.item for one in ledger.state().open_items] == ["a test"]
    verify("x", scope, Says(GOOD), ledger)
    assert ledger.state().open_items == ()
    body = dict(ledger.read().entries[-1])
    for added in ("format", "number", "time", "run", "claim_digest", "prev", "hash", "counts"):
        del body[added]
    body["report"] = None
    # By another hand: progress, and something missing. It stands verified, so nothing is open.
    ledger.append({**body, "missing": ["a test"]})
    assert ledger.state().open_items == ()


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()
    }


@pytest.mark.parametrize("state_json", ["there", "missing", "torn"])
def test_an_audit_writes_nothing(scope: GuardScope, ledger: Ledger, state_json: str) -> None:
    """PG-AUDIT-1: also where `state.json` would have to be made anew."""
    verify("x", scope, Says(GOOD), ledger)
    if state_json == "missing":
        ledger.state_path.unlink()
    elif state_json == "torn":
        ledger.state_path.write_bytes(ledger.state_path.read_bytes()[:-9])
    before = files(ledger.directory)
    assert Ledger(ledger.directory).audit().unbroken
    assert files(ledger.directory) == before


def test_a_verifier_is_told_claim_and_scope_and_nothing_else(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PG-VERIFY-1: what reaches a command is the prompt; a check is told nothing at all."""
    monkeypatch.setenv("CONVERSATION", "what was said before")
    echo = (sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())")
    said = CommandVerifier(echo)("the claim", "src/**", workspace)
    assert said.text == prompt("the claim", "src/**")
    assert "what was said before" not in said.text
    argv = (sys.executable, "-c", "import os, sys; print(sys.argv[1:], os.getcwd())")
    checked = CheckVerifier(argv)("the claim", "src/**", workspace)
    assert checked.text == f"[] {os.path.realpath(workspace)}\n"


def test_length_and_digest_are_of_all_that_was_seen() -> None:
    """PG-VERIFY-2: the text ends after a mebibyte, and says itself where it is no UTF-8."""
    seen = b"\xff\xe9" + b"x" * (1 << 20)
    said = Testimony.of(seen)
    assert (said.length, said.is_damaged) == (len(seen), True)
    assert said.digest == f"sha256:{hashlib.sha256(seen).hexdigest()}"
    assert said.text == "\ufffd\ufffd" + "x" * ((1 << 20) - 2)


def test_an_entry_that_was_written_anew_breaks_the_chain_behind_it(
    scope: GuardScope, ledger: Ledger
) -> None:
    """PG-AUDIT-2: its number and its hash are right; what was chained to it tells."""
    verify("x", scope, Says(""), ledger)
    verify("y", scope, Says(""), ledger)
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[1])
    del entry["hash"]
    assert entry["outcome"] == "evidence"
    entry["outcome"] = "progress"
    entry["hash"] = hashlib.sha256(canonical(entry)).hexdigest()
    lines[1] = canonical(entry) + b"\n"
    ledger.path.write_bytes(b"".join(lines))
    ledger.state_path.unlink()
    assert len(ledger.read().entries) == 4
    assert [(one.line, one.flaw) for one in ledger.audit().breaks] == [(3, "prev")]


def test_a_pending_claim_is_a_next_step(scope: GuardScope, ledger: Ledger) -> None:
    """RD-PG-1: its verifier died, so nobody knows."""

    def dies() -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify("was it done?", scope, Says("", dies), ledger)
    verify("not done", scope, Says(""), ledger)
    verify("done", scope, Says(GOOD), ledger)
    reading = progress_ledger.read(ledger)
    assert sorted(reading.items["next_steps"]) == ["not done", "was it done?"]
    assert reading.unknown == frozenset()


class Nobody:
    """Stands for a module that may not be asked."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"{name} was asked")


def test_what_a_testimony_comes_to_follows_from_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """PG-VERIFY-3: no file, clock or process is asked."""
    for name in ("os", "time", "glob", "selectors", "signal", "Popen", "Path"):
        monkeypatch.setattr(verifier, name, Nobody())
    for ended in (None, Reason.TIMEOUT):
        for status in (None, Status.COMPLETE):
            for text in (GOOD, "", "Status: blocked\n"):
                said = Testimony.of(text.encode(), status=status, ended=ended)
                assert weigh(said, "x") == weigh(said, "x")
    assert weigh(Testimony.of(GOOD.encode()), "x").status is Status.COMPLETE


def test_the_words_of_the_progress_half_are_those_of_the_specification(spec: str) -> None:
    """PG-REPORT-1, PG-ADMIT-1, PG-REASON-1, PG-DIFF-2, PG-FP-6: none renamed, none added."""
    labels = re.search(r"^`Status`: (.*?)\. `Integrity`: (.*?)\. `Contract audit`: (.*?)\. ", spec,
                       re.M | re.S)  # fmt: skip
    assert labels is not None
    for values, said in zip((Status, Integrity, Contract), labels.groups(), strict=True):
        assert list(values) == re.split(r",\s+", said)
    assert list(Outcome) == ["progress", "evidence"]
    table = spec.split("| from | reasons |")[1].split("\n\n")[0]
    rows = [line.split("|")[2].split(",") for line in table.splitlines()[2:]]
    words = [[word.strip() for word in row] for row in rows]
    registries = (verifier.Reason, report.Reason, episode.Reason, admission.Reason)
    assert words == [list(registry) for registry in registries]
    clauses = dict(re.findall(r"^- \*\*([A-Z-]+-\d)\*\* (.*?)(?=^- |^$)", spec, re.M | re.S))
    assert list(ChangeKind) == re.findall(r"`(\w+)`", clauses["PG-DIFF-2"])
    assert list(Gap) == re.findall(r"`(\w+)`", clauses["PG-FP-6"])


def test_the_bounds_of_the_progress_half_are_those_of_the_specification() -> None:
    """PG-FP-5, PG-ENTRY-4, PG-VERIFY-7."""
    kib, mib = 1 << 10, 1 << 20
    assert (16 * mib, mib, mib) == (tree.CAP, runs.LINE_BYTES, verifier.OUTPUT_BYTES)
    assert (
        256 * kib,
        256 * kib,
        96 * kib,
    ) == (runs.CLAIM_BYTES, runs.REPORT_BYTES, runs.LIST_BYTES)


HIDING = [
    "blockquote", "code", "pre", "script", "style", "template", "textarea", "think", "thinking",
]  # fmt: skip


@pytest.mark.parametrize("name", HIDING)
def test_a_line_in_each_hiding_element_is_in_doubt(name: str) -> None:
    """PG-REPORT-8: the list is that of the clause, and not the code's own."""
    assert read_report(GOOD).status is Status.COMPLETE
    for opener in (f"<{name}>", f"<{name.upper()} x='y'>", f"- <{name}>"):
        assert read_report(f"{opener}\n{GOOD}").status is Status.INCOMPLETE
    assert read_report(f"<{name}>\nStatus: blocked\n</{name}>\n{GOOD}").status is Status.BLOCKED


@pytest.mark.parametrize("name", [".git", ".hg", ".svn"])
def test_metadata_is_left_out_at_any_depth(workspace: Path, name: str) -> None:
    """PG-SCOPE-9."""
    scope = resolve("src/**", workspace)
    for path in (name, f"src/{name}", f"src/a/b/{name}"):
        assert scope.leaves_out(path)
    for path in (f"src/{name}x", f"src/x{name}", "src/git"):
        assert not scope.leaves_out(path)


def test_four_columns_are_indented_and_three_are_not() -> None:
    """PG-REPORT-6."""
    for indent, status in (("   ", "complete"), ("    ", "incomplete"), (" \t", "incomplete")):
        assert read_report(GOOD.replace("Status", f"{indent}Status")).status == status


def test_a_tab_ends_at_the_next_column_of_four() -> None:
    """PG-REPORT-7: a fence behind a list mark and a tab stands at column four, and what lies left
    of it is in doubt."""
    fenced = "-\t```\n{}x\n\t```\n\n" + GOOD
    assert read_report(fenced.format("    ")).status is Status.COMPLETE
    assert read_report(fenced.format("   ")).status is Status.INCOMPLETE
