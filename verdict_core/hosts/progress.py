"""`verdict-core progress`: verify a claim, and read what was kept.

In: a claim, a scope and a command that checks it. Out: the ruling, as text or JSON. Laws: exit
status 0 is progress and nothing else is; what was fingerprinted is always said. (SPEC PG-CLI)
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from verdict_core.errors import BadConfig, VerdictCoreError, visible
from verdict_core.hosts import cli
from verdict_core.progress import sandbox
from verdict_core.progress.admission import Outcome
from verdict_core.progress.episode import Episode, verify
from verdict_core.progress.fingerprint import take
from verdict_core.progress.ledger import Ledger
from verdict_core.progress.projection import Standing, stale
from verdict_core.progress.runs import run_directory, run_id
from verdict_core.progress.scope import resolve
from verdict_core.progress.verifier import CheckVerifier, CommandVerifier, Verifier

EXIT_EVIDENCE = 10
EXIT_BROKEN = 1
# Fewer files than this are hashed before anybody could read the line.
_MANY_FILES = 2_000


def state_directory(given: str | None) -> Path:
    """Where runs are kept: as given, else the user's state directory. (SPEC PG-RUN-2)"""
    from platformdirs import user_state_path

    return Path(given) if given is not None else user_state_path("verdict-core")


def ledger_of(options: argparse.Namespace) -> Ledger:
    """The ledger of the run that the options name: a session's, or the workspace's."""
    run = run_id(options.session, Path(options.workspace))
    return Ledger(run_directory(state_directory(options.state_dir), run))


def run_verify(options: argparse.Namespace) -> int:
    """`progress verify`. (SPEC PG-CLI-1)"""
    episode = episode_of(options)
    if options.json:
        cli.emit_json(episode_answer(episode))
    else:
        cli.emit(_text(episode))
    return 0 if episode.ruling.outcome is Outcome.PROGRESS else EXIT_EVIDENCE


def episode_of(options: argparse.Namespace) -> Episode:
    """The episode that the options ask for. Without a command nobody is asked. (PG-EPI-5)"""
    ledger = ledger_of(options)
    home = options.harness_home or os.environ.get("DSH_HOME")
    scope = resolve(
        options.scope,
        Path(options.workspace),
        state_dir=ledger.directory,
        harness_home=Path(home) if home else None,
        ignores=options.ignore,
    )
    verifier = verifier_of(options, scope.workspace)
    return verify(options.claim, scope, verifier, ledger, progress=_progress_line())


def verifier_of(options: argparse.Namespace, workspace: Path) -> Verifier | None:
    """The verifier that the options name, or None. Raises BadConfig, VerifierRefused."""
    argv = options.command
    if not argv:
        return None
    if options.sandbox:
        argv = sandbox.sandboxed(argv, workspace)
    kind = CheckVerifier if options.check else CommandVerifier
    try:
        return kind(argv, float(options.timeout))
    except ValueError:
        raise BadConfig(f"not a number: {options.timeout!r}", path="--timeout") from None
    except BadConfig as error:
        raise BadConfig(error.message, path="--timeout") from None


def _progress_line() -> Callable[[int, int], None] | None:
    """A line on a terminal while many files are hashed; nothing anywhere else."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        if total >= _MANY_FILES:
            end = "\r\x1b[K" if done >= total else ""
            print(f"\rfingerprint: {done} of {total} files{end}", end="", file=sys.stderr)

    return show


def episode_answer(episode: Episode) -> Mapping[str, Any]:
    """The object that says what came of an episode. (SPEC PG-CLI-1)"""
    ruling = episode.ruling
    return {
        "outcome": ruling.outcome,
        "status": ruling.status,
        "integrity": ruling.integrity,
        "contract": ruling.contract,
        "reasons": episode.reasons,
        "changed": [{"path": path, "change": kind} for path, kind in episode.changed],
        "gaps": episode.gaps,
        "number": episode.number,
        "run": episode.run,
    }


def _text(episode: Episode) -> str:
    ruling = episode.ruling
    lines = [
        f"Fingerprinted: {visible(episode.fingerprinted)}",
        f"{ruling.outcome}: {ruling.status}, {ruling.integrity}, {ruling.contract}",
    ]
    if episode.changed:
        lines.append("the workspace changed during the episode (it is not known who did it):")
        lines += [f"  {visible(path)} ({kind})" for path, kind in episode.changed]
    if episode.hints:
        lines.append("  all of it looks like caches, which --ignore NAME/ would declare")
    if episode.ignored_changes:
        lines.append(f"declared ignores hid {episode.ignored_changes} changes")
    lines += [f"not compared: {visible(gap)}" for gap in episode.gaps]
    if episode.reasons:
        lines.append(f"why: {', '.join(episode.reasons)}")
    lines.append(f"entry {episode.number} of {episode.run}")
    return "\n".join([*lines, ""])


def run_ledger(options: argparse.Namespace) -> int:
    """`progress ledger`: the entries, and where what is none lies. (SPEC PG-CLI-2)"""
    answer = ledger_answer(options)
    if options.json:
        cli.emit_json(answer)
        return 0
    entries, damaged = answer["entries"], answer["damaged"]
    path = ledger_of(options).path
    lines = [f"{path}: {len(entries)} entries, {len(damaged)} damaged lines"]
    for entry in entries:
        ruled = entry.get("outcome") or "claimed"
        lines.append(f"{entry['number']:>6} {entry['time']} {ruled}: {visible(entry['claim'])}")
        if entry.get("reasons"):
            lines.append(f"       {', '.join(entry['reasons'])}")
    lines += [f"  line {d['line']} (byte {d['offset']}) is damaged: {d['why']}" for d in damaged]
    cli.emit("\n".join([*lines, ""]))
    return 0


def ledger_answer(options: argparse.Namespace) -> dict[str, Any]:
    """The object that shows a ledger. (SPEC PG-CLI-2)"""
    ledger = ledger_of(options)
    reading = ledger.read()
    damaged = [
        {"line": d.line, "offset": d.offset, "length": d.length, "why": d.why}
        for d in reading.damaged
    ]
    run = ledger.directory.name
    return {"run": run, "entries": reading.entries, "damaged": damaged, "torn": reading.torn}


def state_answer(options: argparse.Namespace) -> dict[str, Any]:
    """The object that says what a run comes to. (SPEC PG-CLI-3)"""
    ledger = ledger_of(options)
    state = ledger.state()
    old = stale(state, lambda one: _digest_now(one, Path(options.workspace)))
    return {
        "run": ledger.directory.name,
        "number": state.number,
        "verified_rounds": state.verified_rounds,
        "stale": old,
        "rejected_rounds": state.rejected_rounds,
        "pending": [_claimed(one) for one in state.pending],
        "verified": [_claimed(one) for one in state.standing if one.outcome == "progress"],
        "rejected": [
            {**_claimed(one), "reasons": one.reasons}
            for one in state.standing
            if one.outcome != "progress"
        ],
        "open_items": [{"round": one.round, "item": one.item} for one in state.open_items],
    }


def run_state(options: argparse.Namespace) -> int:
    """`progress state`: what the entries come to, and what is stale now. (SPEC PG-CLI-3)"""
    answer = state_answer(options)
    if options.json:
        cli.emit_json(answer)
        return 0
    path, rounds, old = ledger_of(options).path, answer["verified_rounds"], answer["stale"]
    lines = [f"{path}: {len(rounds)} rounds verified, {len(old)} stale now"]
    for word in ("verified", "rejected", "pending"):
        for one in answer[word]:
            mark = " (stale: the content is no longer the same)" if one["round"] in old else ""
            why = f" ({', '.join(one['reasons'])})" if one.get("reasons") else ""
            lines.append(f"  {word} {one['round']}: {visible(one['claim'])}{why}{mark}")
    lines += [f"  open {one['round']}: {visible(one['item'])}" for one in answer["open_items"]]
    cli.emit("\n".join([*lines, ""]))
    return 0


def _claimed(one: Any) -> dict[str, Any]:
    return {"round": one.round, "claim": one.claim, "scope": one.scope}


def _digest_now(one: Standing, workspace: Path) -> str | None:
    try:
        return take(resolve(one.scope, workspace, ignores=one.ignored)).content_digest
    except VerdictCoreError:
        return None


def run_audit(options: argparse.Namespace) -> int:
    """`progress audit`: exit status 0 for an unbroken chain, 1 for a broken one. (PG-CLI-4)"""
    ledger = ledger_of(options)
    audit = ledger.audit()
    breaks = [{"line": one.line, "flaw": one.flaw} for one in audit.breaks]
    if options.json:
        cli.emit_json(
            {
                "run": ledger.directory.name,
                "unbroken": audit.unbroken,
                "lines": audit.lines,
                "entries": audit.entries,
                "damaged": len(audit.damaged),
                "torn": audit.torn,
                "breaks": breaks,
            }
        )
    else:
        word = "unbroken" if audit.unbroken else "BROKEN"
        lines = [f"{ledger.path}: {word}, {audit.entries} entries on {audit.lines} lines"]
        lines += [f"  breaks at line {one['line']}: {one['flaw']}" for one in breaks]
        lines += [f"  line {d.line} is damaged: {d.why}" for d in audit.damaged]
        cli.emit("\n".join([*lines, ""]))
    return 0 if audit.unbroken else EXIT_BROKEN
