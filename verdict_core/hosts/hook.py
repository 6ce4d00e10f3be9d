"""`verdict-core hook HARNESS`: one firing on standard input, one answer.

In: what the harness writes. Out: what it reads, within the deadline. Laws: whatever crashes, hangs
or cannot be read is said and taken for nothing else; a manual compaction that nobody could judge is
stopped once, and only where that can be remembered. (SPEC HK-FAIL, HK-LOG)
"""

import argparse
import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import evolve

from verdict_core.context import Summary
from verdict_core.errors import BadConfig, VerdictCoreError, visible
from verdict_core.hosts import cli, hook_memory, hook_payload, hook_words, journal
from verdict_core.hosts.hook_answer import Act, Decision, output
from verdict_core.hosts.hook_child import GRACE_S, Ended, Result, Tell, within
from verdict_core.hosts.hook_judge import Setting, decide, directory_of, facts_of, land, run_of
from verdict_core.hosts.hook_payload import Firing, Kind
from verdict_core.hosts.progress import state_directory

DEFAULT_DEADLINE_S = 5.0
MIN_DEADLINE_S, MAX_DEADLINE_S = 1.0, 600.0
# What the work may not use: the time to remember a stop, to keep the journal and to answer.
_RESERVE = 0.3
_MOST_RESERVE_S = 1.5
_CHUNK = 1 << 16


def run(options: argparse.Namespace) -> int:
    """Answer one firing. (SPEC HK-FORM-1)"""
    began = time.monotonic()
    fault: VerdictCoreError | None = None
    try:
        setting = setting_of(options)
    except BadConfig as error:
        # Whoever wrote this into the settings is not there to read a refusal.
        setting, fault = _plain(options), error
    decision = answered(_standard_input(began + setting.deadline_s / 2), setting, began, fault)
    said = output(setting.harness, decision)
    sys.stdout.buffer.write(said.stdout)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(said.stderr)
    sys.stderr.buffer.flush()
    return said.status


def setting_of(options: argparse.Namespace) -> Setting:
    """The settings on the command line. Raises BadConfig. (SPEC HK-FAIL-2)"""
    from verdict_core.services.setting import service_of

    if options.service is not None:
        service_of(options.service)
    return evolve(
        _plain(options),
        deadline_s=_seconds(options.deadline),
        wait_min=cli.number(options.wait_min, "--wait-min"),
        max_chars=cli.number(options.max_chars, "--max-chars"),
        service=options.service,
    )


def _plain(options: argparse.Namespace) -> Setting:
    state = Path(os.path.abspath(state_directory(options.state_dir)))
    return Setting(options.harness, state, DEFAULT_DEADLINE_S, 0, 0, None)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not MIN_DEADLINE_S <= seconds <= MAX_DEADLINE_S:
        message = f"expected {MIN_DEADLINE_S:g} to {MAX_DEADLINE_S:g} seconds, got {text!r}"
        raise BadConfig(message, path="--deadline")
    return seconds


def _standard_input(until: float) -> bytes:
    """All that comes by `until`; a harness that never closes it is not waited for."""
    data = b""
    source = sys.stdin.fileno()
    while select.select([source], [], [], max(0.0, until - time.monotonic()))[0]:
        more = os.read(source, _CHUNK)
        if not more:
            break
        data += more
    return data


def answered(
    data: bytes, setting: Setting, began: float, fault: VerdictCoreError | None = None
) -> Decision:
    """The decision on the firing in `data`, journalled. `began`: `time.monotonic()` at the start;
    `fault`: why the settings were refused, where they were. (SPEC HK-FAIL, HK-LOG-1)"""
    until = began + setting.deadline_s - 2 * GRACE_S
    try:
        firing = hook_payload.read(data)
    except VerdictCoreError as error:
        text = hook_words.passed_unjudged(error.code, f"the payload could not be read: {error}")
        decision = Decision(Act.PASSED, "unreadable_payload", text, {"verdict": "wait"})
        return _kept(decision, None, setting, until)
    if fault is not None:
        result = Result(Ended.REFUSED, code=fault.code, fault=str(fault))
    else:
        reserve = min(_MOST_RESERVE_S, setting.deadline_s * _RESERVE)
        result = _tried(until - reserve, lambda tell: _work(firing, setting, until - reserve, tell))
    if result.ended is Ended.DONE and result.said is not None:
        return Decision.of(result.said)
    return _settled(result, firing, setting, until)


def _work(firing: Firing, setting: Setting, until: float, tell: Tell) -> None:
    decision = decide(firing, setting, until, tell)
    # Told before it is kept: a journal that hangs changes no decision.
    tell(decision.payload())
    tell(_journalled(decision, firing, setting).payload())


def _settled(result: Result, firing: Firing, setting: Setting, until: float) -> Decision:
    """The decision where the work did not come to its end. (SPEC HK-FAIL-1)"""
    said = result.said or {}
    if "act" in said:
        return _kept(Decision.of(said), firing, setting, until)
    why = result.code or str(result.ended)
    facts = {"verdict": "wait", "fault": visible(result.fault)}
    if firing.kind is Kind.RESUMED:
        text = hook_words.nothing_given(why, result.fault)
        return _kept(Decision(Act.PASSED, why, text, facts), firing, setting, until)
    summary, more = None, ""
    if "draft" in said:
        summary = Summary.from_payload(said["draft"])
        more = f"\n{hook_words.unfinished(summary)}"
        facts |= facts_of(summary)
    passes = Decision(Act.PASSED, why, hook_words.passed_unjudged(why, result.fault) + more, facts)
    stops = None
    if firing.kind is Kind.MANUAL and not firing.is_agent:
        text = hook_words.stopped_unjudged(why, result.fault) + more
        stops = Decision(Act.STOPPED, why, text, facts)
    return _kept(passes, firing, setting, until, stops=stops, rescue=summary)


def _kept(
    decision: Decision,
    firing: Firing | None,
    setting: Setting,
    until: float,
    *,
    stops: Decision | None = None,
    rescue: Summary | None = None,
) -> Decision:
    """`decision`, or `stops` where that can be remembered and is due. What passes has `rescue`
    written down, as far as that needs no git; the decision is journalled. Each where the time that
    is left allows it."""

    def work(tell: Tell) -> None:
        chosen = decision
        if stops is not None and firing is not None:
            with suppress(OSError):
                is_due = hook_memory.must_stop(directory_of(firing, setting), stops.why)
                chosen = stops if is_due else decision
        tell(chosen.payload())
        if chosen is decision and rescue is not None and firing is not None:
            chosen = _rescued(decision, rescue, firing, setting, until)
            tell(chosen.payload())
        tell(_journalled(chosen, firing, setting).payload())

    result = _tried(until, work)
    chosen = decision if result.said is None else Decision.of(result.said)
    if result.ended is Ended.DONE or not chosen.text:
        return chosen
    return evolve(chosen, text=f"{chosen.text}\n{_not_kept(result.fault)}")


def _rescued(
    decision: Decision, summary: Summary, firing: Firing, setting: Setting, until: float
) -> Decision:
    left = until - time.monotonic()
    try:
        text, facts = land(summary, None, firing, setting, until - left / 4)
    except (VerdictCoreError, OSError) as error:
        return evolve(
            decision, text=f"{decision.text}\nWriting it down failed: {visible(str(error))}"
        )
    said = decision.text.partition("\n")[0]
    return evolve(decision, text=f"{said}\n{text}", facts={**decision.facts, **facts})


def _tried(until: float, work: Any) -> Result:
    try:
        return within(until, work)
    except OSError as error:
        return Result(Ended.CRASHED, fault=f"no process can be made: {error}")


def _journalled(decision: Decision, firing: Firing | None, setting: Setting) -> Decision:
    """The decision once its line is in the journal; a line that cannot be kept is said and changes
    nothing else. (SPEC HK-LOG-2)"""
    entry = {"harness": setting.harness, **_about(firing), "act": decision.act,
             "why": decision.why, **decision.facts}  # fmt: skip
    try:
        journal.append(journal.journal_path(setting.state), entry)
    except OSError as error:
        return evolve(decision, text=f"{decision.text}\n{_not_kept(str(error))}".lstrip())
    return decision


def _about(firing: Firing | None) -> dict[str, Any]:
    if firing is None:
        return {"event": None, "cause": None, "run": None, "session": None, "is_agent": None}
    return {
        "event": visible(firing.event),
        "cause": None if firing.cause is None else visible(firing.cause),
        "run": run_of(firing),
        "session": None if firing.session is None else visible(firing.session),
        "is_agent": firing.is_agent,
    }


def _not_kept(why: str) -> str:
    return f"verdict-core: this decision is not in the journal: {visible(why)}"
