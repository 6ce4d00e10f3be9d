"""One episode, with real files, real processes and a real ledger. (SPEC PG-EPI)"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verdict_core.errors import BadValue, LedgerFault, WrongType
from verdict_core.progress.admission import Outcome
from verdict_core.progress.episode import verify
from verdict_core.progress.fingerprint import take
from verdict_core.progress.ledger import Ledger
from verdict_core.progress.projection import stale
from verdict_core.progress.scope import GuardScope, resolve
from verdict_core.progress.verifier import CheckVerifier, CommandVerifier, Testimony

GOOD = "Status: complete\nIntegrity: clean\nContract audit: aligned\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    (path / "src").mkdir(parents=True)
    (path / "src" / "a.py").write_text("x = 1\n")
    (path / "elsewhere").mkdir()
    return path


@pytest.fixture
def scope(workspace: Path) -> GuardScope:
    return resolve("src/**", workspace)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "state" / "run")


def says(report: str, then: str = "") -> CommandVerifier:
    """A verifier that writes this report, after having done something."""
    code = f"import sys; sys.stdin.read(); {then}\nsys.stdout.write({report!r})"
    return CommandVerifier([sys.executable, "-c", code])


def entries(ledger: Ledger) -> list[Any]:
    reading = ledger.read()
    assert (reading.damaged, reading.torn) == ((), False)
    assert ledger.audit().unbroken
    return list(reading.entries)


def test_a_true_claim_is_progress_and_both_entries_are_kept(
    scope: GuardScope, ledger: Ledger
) -> None:
    """PG-EPI-1, PG-EPI-2."""
    report = GOOD + "Evidence:\n- ran it\n"
    verifier = says(report)
    episode = verify("x is set", scope, verifier, ledger)
    assert (episode.ruling.outcome, episode.reasons, episode.changed) == (Outcome.PROGRESS, (), ())
    claim, ruling = entries(ledger)
    assert [claim["kind"], ruling["kind"]] == ["claim", "ruling"]
    assert (claim["number"], ruling["number"], ruling["claim_number"]) == (1, 2, 1)
    assert (episode.claim_number, episode.number, episode.run) == (1, 2, "run")
    assert claim["before"] == ruling["before"] == ruling["after"]
    assert ruling["final"] == ruling["declared"] == {
        "status": "complete", "integrity": "clean", "contract": "aligned",
    }  # fmt: skip
    assert (ruling["outcome"], ruling["evidence"], ruling["missing"]) == (
        "progress",
        ["ran it"],
        [],
    )
    assert ruling["report"]["text"] == report
    assert (ruling["fingerprinted"], ruling["scope"]) == (episode.fingerprinted, "src/**")
    assert episode.fingerprinted == "src"
    assert claim["verifier"] == ruling["verifier"] == list(verifier.argv)


def test_a_false_claim_is_evidence_and_stays_with_its_reasons(
    scope: GuardScope, ledger: Ledger
) -> None:
    report = "Status: incomplete\nIntegrity: clean\nContract audit: aligned\nMissing:\n- y\n"
    episode = verify("y is set", scope, says(report), ledger)
    assert episode.ruling.outcome is Outcome.EVIDENCE
    assert episode.reasons == ("status_incomplete",)
    assert entries(ledger)[1]["missing"] == ["y"]


def test_the_claim_is_on_the_disk_before_the_verifier_runs(
    workspace: Path, scope: GuardScope, ledger: Ledger
) -> None:
    """PG-EPI-2: so a crash leaves it pending (and hook-09: pending is neither of the others)."""
    seen: list[Any] = []
    asked: list[tuple[str, str, Path]] = []

    class Looking:
        argv = ("looking",)

        def __call__(self, claim: str, scope: str, workspace: Path) -> Testimony:
            asked.append((claim, scope, workspace))
            seen.extend(entries(ledger))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify("c1", scope, Looking(), ledger)
    assert [entry["kind"] for entry in seen] == ["claim"]
    assert asked == [("c1", "src/**", workspace)]
    state = Ledger(ledger.directory).state()
    assert [(one.round, one.claim) for one in state.pending] == [(1, "c1")]
    assert (state.verified_rounds, state.rejected_rounds) == ((), ())


def test_prog_11_without_a_verifier_there_is_only_a_claim(
    scope: GuardScope, ledger: Ledger
) -> None:
    """PG-EPI-5."""
    episode = verify("done", scope, None, ledger)
    ruling = episode.ruling
    assert (ruling.status, ruling.integrity, ruling.contract) == ("blocked", "suspect", "unknown")
    assert episode.reasons[0] == "no_verifier"
    claim, ruled = entries(ledger)
    assert (claim["verifier"], ruled["outcome"], ruled["report"]) == ([], "evidence", None)
    assert ruled["declared"] == {"status": None, "integrity": None, "contract": None}


@pytest.mark.parametrize("report", [GOOD, "Status: incomplete\n", "nothing"])
def test_a_changed_workspace_never_admits(
    workspace: Path, scope: GuardScope, ledger: Ledger, report: str
) -> None:
    """PG-EPI-3, PG-EPI-1, and fp-03: the change is stated, nobody is accused."""
    write = f"open({str(workspace / 'src' / 'b.py')!r}, 'w').close()"
    episode = verify("clean", scope, says(report, write), ledger)
    assert (episode.ruling.status, episode.ruling.integrity) == ("blocked", "violation")
    assert episode.ruling.outcome is Outcome.EVIDENCE
    assert episode.changed == (("src/b.py", "added"),)
    assert "workspace_changed" in episode.reasons
    assert entries(ledger)[1]["changed"] == [{"change": "added", "path": "src/b.py"}]


def test_a_write_that_is_put_back_is_seen(
    workspace: Path, scope: GuardScope, ledger: Ledger
) -> None:
    """PG-EPI-3: write, run, restore is what the guard is for."""
    path = str(workspace / "src" / "a.py")
    trick = (
        f"import os; p = {path!r}; s = os.stat(p); t = open(p).read(); open(p, 'w').write('');"
        " open(p, 'w').write(t); os.utime(p, ns=(s.st_atime_ns, s.st_mtime_ns))"
    )
    episode = verify("x", scope, says(GOOD, trick), ledger)
    assert episode.changed == (("src/a.py", "rewritten"),)
    assert episode.ruling.status == "blocked"


def test_what_lies_outside_the_scope_may_change(
    workspace: Path, scope: GuardScope, ledger: Ledger
) -> None:
    write = f"open({str(workspace / 'elsewhere' / 'b')!r}, 'w').close()"
    assert verify("x", scope, says(GOOD, write), ledger).ruling.outcome is Outcome.PROGRESS


def test_fp_02_a_declared_ignore_is_counted_and_kept_in_the_entry(
    workspace: Path, ledger: Ledger
) -> None:
    cache = workspace / "src" / "__pycache__"
    write = f"import os; os.mkdir({str(cache)!r}); open({str(cache / 'm.pyc')!r}, 'w').close()"
    blocked = verify("x", resolve("src/**", workspace), says(GOOD, write), ledger)
    assert blocked.changed == (("src/__pycache__/m.pyc", "added"),)
    assert (blocked.ruling.integrity, blocked.hints) == ("violation", ("derived_only",))
    write = write.split(";")[-1].replace("m.pyc", "n.pyc")
    ignoring = resolve("src/**", workspace, ignores=["__pycache__/"])
    passed = verify("x", ignoring, says(GOOD, write), ledger)
    assert (passed.ruling.outcome, passed.ignored_changes) == (Outcome.PROGRESS, 1)
    assert entries(ledger)[3]["ignored"] == ["__pycache__/"]


def test_a_gap_that_holds_integrity_at_suspect(workspace: Path, ledger: Ledger) -> None:
    """PG-EPI-4. Root may read every file; what nobody can read is HEAD of a broken repository."""
    subprocess.run(["git", "init", "-q", workspace], check=True)
    with (workspace / ".git" / "config").open("a") as file:
        file.write("[broken")
    episode = verify("x", resolve("src/**", workspace), says(GOOD), ledger)
    assert (episode.ruling.status, episode.ruling.integrity) == ("complete", "suspect")
    assert episode.ruling.outcome is Outcome.EVIDENCE
    assert episode.reasons == ("evidence_unreadable", "integrity_suspect")
    assert episode.gaps == (".: HEAD of this repository cannot be read",)
    assert entries(ledger)[1]["evidence_gaps"] == [{"path": ".", "why": "head_unreadable"}]
    violation = verify("x", resolve("src/**", workspace), says(GOOD + "Integrity: violation\n"),
                       ledger)  # fmt: skip
    assert violation.ruling.integrity == "violation"


@pytest.mark.parametrize("breaks", [True, False])
def test_what_cannot_be_read_at_one_end_alone_holds_integrity_too(
    workspace: Path, ledger: Ledger, breaks: bool
) -> None:
    """PG-EPI-4: it became unreadable, or was so and no longer is."""
    subprocess.run(["git", "init", "-q", workspace], check=True)
    config = workspace / ".git" / "config"
    sound, broken = config.read_text(), "[broken"
    config.write_text(sound if breaks else broken)
    write = f"open({str(config)!r}, 'w').write({broken if breaks else sound!r})"
    episode = verify("x", resolve("src/**", workspace), says(GOOD, write), ledger)
    assert episode.reasons[0] == "evidence_unreadable"
    assert episode.ruling.outcome is Outcome.EVIDENCE


def test_whoever_waits_is_told_of_both_fingerprints(scope: GuardScope, ledger: Ledger) -> None:
    told: list[tuple[int, int]] = []
    verify("x", scope, says(GOOD), ledger, progress=lambda done, of: told.append((done, of)))
    assert told.count((1, 1)) == 2


def test_a_file_over_the_cap_is_named_as_not_compared(
    workspace: Path, scope: GuardScope, ledger: Ledger
) -> None:
    with (workspace / "src" / "big").open("wb") as file:
        file.truncate((16 << 20) + 1)
    episode = verify("x", scope, says(GOOD), ledger)
    assert (episode.ruling.outcome, episode.gaps) == (
        Outcome.PROGRESS,
        ("src/big: over hash cap, content not compared",),
    )


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["/no/such/verifier"], "verifier_not_startable"),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "verifier_signal"),
        ([sys.executable, "-c", "import sys; print('Status: complete'); sys.exit(1)"],
         "verifier_failed"),
        ([sys.executable, "-c", "while True: print('x' * 65536)"], "verifier_flood"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], "verifier_timeout"),
    ],
)  # fmt: skip
def test_a_verifier_that_does_not_end_well_is_blocked_and_kept(
    scope: GuardScope, ledger: Ledger, argv: list[str], reason: str
) -> None:
    """PG-EPI-6."""
    episode = verify("x", scope, CommandVerifier(argv, timeout_s=1.5), ledger)
    ruling = episode.ruling
    assert (ruling.status, ruling.integrity, ruling.contract) == ("blocked", "suspect", "unknown")
    assert episode.reasons[0] == reason
    assert entries(ledger)[1]["declared"] == dict.fromkeys(("status", "integrity", "contract"))


def test_invalid_utf8_is_kept_with_replacement_characters(
    scope: GuardScope, ledger: Ledger
) -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff' + sys.argv[1].encode())"
    verifier = CommandVerifier([sys.executable, "-c", code, "\n" + GOOD])
    assert verify("x", scope, verifier, ledger).ruling.outcome is Outcome.PROGRESS
    assert entries(ledger)[1]["report"]["text"].startswith("\ufffd\n")


@pytest.mark.parametrize(("status", "outcome"), [(0, "progress"), (1, "evidence")])
def test_the_exit_status_of_a_check_is_its_report(
    scope: GuardScope, ledger: Ledger, status: int, outcome: str
) -> None:
    code = f"print('Status: blocked'); raise SystemExit({status})"
    episode = verify("x", scope, CheckVerifier([sys.executable, "-c", code]), ledger)
    assert episode.ruling.outcome == outcome
    declared = {0: "complete", 1: "incomplete"}[status]
    assert entries(ledger)[1]["declared"] == {
        "status": declared, "integrity": "clean", "contract": "aligned",
    }  # fmt: skip


@pytest.mark.parametrize(
    "claim",
    ["x", GOOD, f"done\n{GOOD}", "Status: complete", "\n\nStatus: complete\r\nIntegrity: clean\r",
     "```\n" + GOOD, "\u2028Status: complete", '"\n' + GOOD],
)  # fmt: skip
def test_an_echo_of_the_claim_earns_nothing(scope: GuardScope, ledger: Ledger, claim: str) -> None:
    """PG-VERIFY-8, with the real cat."""
    assert verify(claim, scope, CommandVerifier(["cat"]), ledger).ruling.outcome == "evidence"


@pytest.mark.parametrize("claim", ["", 7, None, "\udc88"])
def test_a_claim_that_is_none_is_refused_before_anything_is_written(
    scope: GuardScope, ledger: Ledger, claim: Any
) -> None:
    with pytest.raises((WrongType, BadValue)) as caught:
        verify(claim, scope, None, ledger)
    assert caught.value.path == "$.claim"
    assert not ledger.path.exists()


def test_where_the_claim_cannot_be_kept_nobody_is_asked(scope: GuardScope, tmp_path: Path) -> None:
    """PG-EPI-2."""
    (tmp_path / "file").write_text("")
    marker = tmp_path / "asked"
    verifier = says(GOOD, f"open({str(marker)!r}, 'w').close()")
    with pytest.raises(LedgerFault) as caught:
        verify("x", scope, verifier, Ledger(tmp_path / "file" / "run"))
    assert caught.value.code == "append_failed"
    assert not marker.exists()


def test_prog_15_a_verified_round_goes_stale_with_its_content(
    workspace: Path, scope: GuardScope, ledger: Ledger
) -> None:
    """PG-STATE-6: digest, not time, decides; and the ledger does not change."""
    verify("parser handles CRLF", scope, says(GOOD), ledger)
    before = ledger.path.read_bytes()
    now = lambda one: take(resolve(one.scope, workspace)).content_digest  # noqa: E731  # short
    os.utime(workspace / "src" / "a.py", (1, 1))
    assert stale(ledger.state(), now) == ()
    (workspace / "src" / "a.py").write_text("x = 2\n")
    state = ledger.state()
    assert (state.verified_rounds, stale(state, now)) == ((1,), (1,))
    assert ledger.path.read_bytes() == before


def test_an_interruption_leaves_a_pending_claim_and_a_clean_ledger(
    workspace: Path, tmp_path: Path
) -> None:
    """PG-EPI-2, as the command meets it: SIGINT while the verifier sleeps."""
    marker = tmp_path / "running"
    code = f"import time; open({str(marker)!r}, 'w').close(); time.sleep(60)"
    command = [
        sys.executable, "-m", "verdict_core", "progress", "verify", "--claim", "c", "--scope",
        "src", "--state-dir", str(tmp_path / "state"), "--session", "s1", "--check", "--",
        sys.executable, "-c", code,
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=workspace, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:  # fmt: skip
        while not marker.exists() and child.poll() is None:
            pass
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert (child.returncode, err) == (130, b"verdict-core: interrupted\n")
    run = Ledger(tmp_path / "state" / "verified-progress" / "runs" / "s-s1")
    assert [entry["kind"] for entry in entries(run)] == ["claim"]
    assert [one.claim for one in run.state().pending] == ["c"]
