"""What a hook does about one firing.

In: a firing and the settings. Out: a decision. Laws: the verdict is the one that `check` would give
of what is not landed yet, and whether anything is stopped is another matter; a compaction that
nobody asked for is never stopped. (SPEC HK-STOP, HK-AUTO, HK-BACK)
"""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from verdict_core import git
from verdict_core.context import Summary, Verdict, build, judge
from verdict_core.context.state import render
from verdict_core.errors import VerdictCoreError, visible
from verdict_core.hosts import hook_memory, hook_words
from verdict_core.hosts.hook_answer import Act, Decision
from verdict_core.hosts.hook_child import Tell
from verdict_core.hosts.hook_payload import Firing, Kind
from verdict_core.landing import Landing
from verdict_core.progress.ledger import Ledger
from verdict_core.progress.runs import run_directory, run_id
from verdict_core.readers import formats, git_status, progress_ledger
from verdict_core.readers.jsonlines import scalar
from verdict_core.readers.reading import Note, Reading, combine
from verdict_core.services.setting import service_of

STILL_S = 0.25
# How many of the items that could not be landed a line of the journal names.
MOST_UNLANDED = 100
_LOOK_S = 0.025
# Parts of the time that is left: the record may come late and a service may be slow, but landing
# has to have begun.
_OF_WAITING = 0.3
_OF_ASKING = 0.4
_OF_LANDING = 0.9


@frozen
class Setting:
    """What the command line fixes: the harness, where state is kept, seconds for the whole hook,
    and how it is judged."""

    harness: str
    state: Path
    deadline_s: float
    wait_min: int
    max_chars: int
    service: str | None


@frozen
class _Judged:
    verdict: Verdict
    reasons: tuple[str, ...]
    digest: str


def decide(firing: Firing, setting: Setting, until: float, tell: Tell) -> Decision:
    """What is done about this firing, before `until` (a `time.monotonic()` value). Of a compaction
    `tell` is given early, as `{"draft": summary}`, what is open, for whoever goes on if this does
    not come to its end. Raises what readers and services raise."""
    if firing.is_agent:
        return Decision(Act.PASSED, "sub_agent")
    if firing.kind is Kind.ELSE:
        return Decision(Act.PASSED, "no_compaction")
    summary, top = _look(firing, setting, until, tell)
    if firing.kind is Kind.RESUMED:
        return _give_back(summary, firing, setting)
    left = Landing(setting.state, run_of(firing)).remaining(summary, top)
    judged = _judged(left, setting, until)
    facts = {**facts_of(left), "verdict": judged.verdict, "reasons": judged.reasons,
             "digest": judged.digest}  # fmt: skip
    if judged.verdict is Verdict.SAFE_TO_COMPACT:
        return Decision(Act.PASSED, "safe", hook_words.safe(), facts)
    forgotten = ""
    if firing.kind is Kind.MANUAL:
        try:
            is_due = hook_memory.must_stop(directory_of(firing, setting), judged.digest)
        except OSError as error:
            is_due, forgotten = False, f"It was not stopped: that cannot be remembered: {error}"
        if is_due:
            by_hand = _land_by_hand(firing, setting)
            text = hook_words.stopped(left, judged.verdict, judged.reasons, by_hand)
            return Decision(Act.STOPPED, "unsafe", text, facts)
    tell({"draft": summary.payload()})
    # The whole summary, so that the newest ref and handoff are whole in themselves.
    text, landed = land(summary, top, firing, setting, _part(until, _OF_LANDING))
    text = f"verdict-core: {judged.verdict}: {text}\n{visible(forgotten)}".rstrip()
    decision = Decision(Act.PASSED, "landed", text, {**facts, **landed})
    tell(decision.payload())
    _let_the_rest_pass(summary, top, firing, setting)
    return decision


def land(
    summary: Summary, top: Path | None, firing: Firing, setting: Setting, until: float
) -> tuple[str, dict[str, Any]]:
    """Writes down what is open, by `until`: what to say of it, and facts. Raises what landing
    raises. (SPEC HK-AUTO-1, HK-AUTO-2)"""
    done = Landing(setting.state, run_of(firing)).land(summary, top, deadline=until)
    handoff = None if done.handoff is None else hook_words.shown(done.handoff)
    unlanded = [{"item": one.item, "code": one.code} for one in done.unlanded]
    facts = {
        "ref": done.ref,
        "handoff": handoff,
        "unlanded": unlanded[:MOST_UNLANDED],
        "unlanded_count": len(unlanded),
    }
    return hook_words.landed(summary, done.ref, handoff, unlanded), facts


def _let_the_rest_pass(
    summary: Summary, top: Path | None, firing: Firing, setting: Setting
) -> None:
    """One compaction can fire several times: what landing left of it stops none of the others."""
    if firing.kind is Kind.MANUAL:
        left = Landing(setting.state, run_of(firing)).remaining(summary, top)
        with suppress(OSError):
            hook_memory.let_pass(directory_of(firing, setting), render(left).digest)


def run_of(firing: Firing) -> str:
    """The run that a firing belongs to. (SPEC PG-RUN-1)"""
    return run_id(firing.session, firing.cwd)


def _judged(summary: Summary, setting: Setting, until: float) -> _Judged:
    """The verdict; where judging is refused, `wait` with the refusal's code. (SPEC HK-STOP-1)"""
    digest = render(summary).digest
    try:
        state = build(summary, max_chars=setting.max_chars)
        seconds = max(0.1, _part(until, _OF_ASKING) - time.monotonic())
        service = None
        if setting.service is not None:
            service = service_of(setting.service, deadline_s=seconds)
        said = judge(summary, state, wait_min=setting.wait_min, service=service)
    except VerdictCoreError as error:
        return _Judged(Verdict.WAIT, (error.code,), digest)
    return _Judged(said.verdict, tuple(map(str, said.reasons)), digest)


def _give_back(summary: Summary, firing: Firing, setting: Setting) -> Decision:
    written = Landing(setting.state, run_of(firing)).list(None).handoffs
    handoff = written[-1].path if written else None
    text = hook_words.given_back(summary, handoff)
    why = "compacted" if text else "nothing_open"
    return Decision(Act.GIVEN_BACK, why, text, facts_of(summary))


def facts_of(summary: Summary) -> dict[str, Any]:
    """What the journal has of a summary: no item, and how many."""
    return {"count": summary.count, "unknown": summary.unknown}


def _look(
    firing: Firing, setting: Setting, until: float, tell: Tell
) -> tuple[Summary, Path | None]:
    """The session as it stands, and its repository where there is one."""
    # The session is the harness's word: the record of a forked one still names another.
    session = Reading("hook", {}, session=scalar(firing.session) if firing.session else None)
    record = _record(firing, setting, until)
    ledger = Ledger(run_directory(setting.state, run_of(firing)))
    claims = [progress_ledger.read(ledger)] if ledger.directory.exists() else []
    if firing.kind is not Kind.RESUMED:
        tell({"draft": combine([session, *record, *claims]).payload()})
    top = None
    with suppress(git.GitFailed):
        top = git.find_top(firing.cwd)
    work = git_status.read(top, cwd=firing.cwd)
    return combine([session, work, *record, *claims]), top


def _record(firing: Firing, setting: Setting, until: float) -> list[Reading]:
    """What the session record says; none, or one that is still written, is unknown and not empty.
    (SPEC HK-READ-4)"""
    if firing.record is None:
        return []
    still = is_still(firing.record, _part(until, _OF_WAITING))
    reading = formats.read(firing.record, format=setting.harness)
    if still:
        return [reading]
    note = Note(reading.reader, "still_written", "the record was still being written")
    return [evolve(reading, unknown=frozenset(reading.items), notes=(*reading.notes, note))]


def is_still(path: Path, until: float) -> bool:
    """Waits until the file at `path`, or its absence, has stayed the same for `STILL_S`, and says
    whether it has by `until`. (SPEC HK-READ-4)"""
    seen = _stamp(path)
    since = time.monotonic()
    while (now := time.monotonic()) - since < STILL_S:
        if now >= until:
            return False
        time.sleep(_LOOK_S)
        if (stamp := _stamp(path)) != seen:
            seen, since = stamp, time.monotonic()
    return True


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        about = path.stat()
    except (OSError, ValueError):
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns


def _land_by_hand(firing: Firing, setting: Setting) -> list[str]:
    """The command that lands this session's work, for a person to run in its repository."""
    command = [sys.executable, "-P", "-m", "verdict_core", "land"]
    command += ["--state-dir", str(setting.state)]
    return command if firing.record is None else [*command, "--record", str(firing.record)]


def _part(until: float, part: float) -> float:
    now = time.monotonic()
    return now + part * max(0.0, until - now)


def directory_of(firing: Firing, setting: Setting) -> Path:
    """Where the hooks of this firing's run remember things."""
    return hook_memory.hook_directory(setting.state, run_of(firing))
