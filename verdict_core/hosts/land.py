"""`verdict-core land`: write unlanded work down, list it, show it, bring it back, delete it.

In: where to look, as `check` does. Out: what was landed and what was not. Law: exit status 0 says
that judging again would find nothing, and nothing unknown. (SPEC LD-CLI)
"""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from verdict_core import git
from verdict_core.context import Summary
from verdict_core.errors import BadConfig, Usage, visible
from verdict_core.hosts import cli
from verdict_core.hosts.progress import state_directory
from verdict_core.landing import Kept, Landing, Shown, runs
from verdict_core.landing.handoffs import Handoff
from verdict_core.progress.runs import run_id
from verdict_core.readers.reading import NO_SESSION, combine

EXIT_UNLANDED = 10
_CHANGES = {(False, True): "added", (True, True): "changed", (True, False): "removed"}


def top_of(repo: Path | None) -> Path | None:
    """The top level that was named, or the one around the working directory; None where git
    answers for none."""
    try:
        return git.find_top(Path()) if repo is None else git.named_top(repo)
    except git.GitFailed:
        return None


def landing_of(summary: Summary, repo: Path | None, state: str | None) -> Landing:
    """The landings of the summary's session; without a session, of the top level, or of the
    directory where there is none. (SPEC LD-CLI-4)"""
    session = None if summary.session == NO_SESSION else summary.session
    place = top_of(repo) or repo or Path()
    return Landing(state_directory(state), run_id(session, place))


def run(options: argparse.Namespace) -> int:
    """`land`, whichever way it is asked."""
    back = options.show or options.forget or options.restore_into is not None
    if options.of is not None and not back:
        raise Usage("goes with --show, --restore-into and --forget", path="--run")
    if options.number is not None and (options.forget or not back):
        raise Usage("goes with --show and --restore-into", path="--number")
    repo = None if options.repo is None else Path(options.repo)
    if options.list:
        return _list(options, top_of(repo))
    if options.of is not None:
        landing = Landing(state_directory(options.state_dir), options.of)
    else:
        whole = _read(options)
        landing = landing_of(whole, repo, options.state_dir)
        if not back:
            # What was named and is no top level is told as such, not as nothing.
            return _land(landing, whole, top_of(repo) or repo, as_json=options.json)
    if options.show:
        return _show(landing, top_of(repo), _number(options.number), as_json=options.json)
    if options.forget:
        return _forget(landing, top_of(repo), as_json=options.json)
    return _restore(landing, repo, options)


def _read(options: argparse.Namespace) -> Summary:
    from verdict_core.hosts import check

    return combine(
        check.gather(
            repo=options.repo,
            record=options.record,
            record_format=options.format,
            summary=options.summary,
            progress=options.progress,
            state_dir=options.state_dir,
        )
    )


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    number = cli.number(text, "--number")
    if number == 0:
        raise BadConfig("refs are numbered from 1", path="--number")
    return number


def _land(landing: Landing, summary: Summary, top: Path | None, *, as_json: bool) -> int:
    landed = landing.land(summary, top)
    handoff = None if landed.handoff is None else _shown(landed.handoff)
    count = summary.count - len(landed.unlanded)
    if as_json:
        cli.emit_json(
            {
                "run": landing.run,
                "ref": landed.ref,
                "handoff": handoff,
                "landed": count,
                "unlanded": [
                    {"field": u.field, "item": u.item, "code": u.code, "text": visible(u.text)}
                    for u in landed.unlanded
                ],
                "unknown": summary.unknown,
            }
        )
    else:
        lines = [f"{landing.run}: {count} landed, {len(landed.unlanded)} not"]
        lines += [f"  ref: {landed.ref}"] if landed.ref else []
        lines += [f"  handoff: {visible(handoff)}"] if handoff else []
        for u in landed.unlanded:
            lines.append(
                f"  not landed: {u.field}: {visible(u.item)} ({u.code}: {visible(u.text)})"
            )
        lines += [f"  unknown, which no landing changes: {name}" for name in summary.unknown]
        cli.emit("\n".join([*lines, ""]))
    return EXIT_UNLANDED if landed.unlanded or summary.unknown else 0


def _list(options: argparse.Namespace, top: Path | None) -> int:
    state = state_directory(options.state_dir)
    found = {run: Landing(state, run).list(top) for run in runs(state, top)}
    if options.json:
        cli.emit_json({"runs": [{"run": run, **_kept(kept)} for run, kept in found.items()]})
        return 0
    lines = [] if found else ["nothing is landed here"]
    for run, kept in found.items():
        lines.append(f"{run}:")
        lines += [f"  {_time(ref.time)} {ref.name}" for ref in kept.refs]
        lines += [f"  {_when(one)} {visible(_shown(one.path))}" for one in kept.handoffs]
    cli.emit("\n".join([*lines, ""]))
    return 0


def _kept(kept: Kept) -> Mapping[str, Any]:
    return {
        "refs": [
            {"ref": ref.name, "commit": ref.commit.decode(), "time": _time(ref.time)}
            for ref in kept.refs
        ],
        "handoffs": [
            {"path": _shown(one.path), "time": one.payload["time"] if one.payload else None}
            for one in kept.handoffs
        ],
    }


def _show(landing: Landing, top: Path | None, number: int | None, *, as_json: bool) -> int:
    shown = landing.show(top, number)
    paths = _paths(shown)
    handoff = shown.handoff
    if as_json:
        cli.emit_json(
            {
                "run": landing.run,
                "ref": shown.ref.name if shown.ref else None,
                "paths": [{"path": path, "change": change} for path, change in paths],
                "handoff": {"path": _shown(handoff.path), **(handoff.payload or {})}
                if handoff
                else None,
            }
        )
        return 0
    lines = [f"{landing.run}:"]
    if shown.ref:
        lines.append(f"{shown.ref.name}, {_time(shown.ref.time)}")
        lines += [f"  {change} {visible(path)}" for path, change in paths]
    if handoff and handoff.payload:
        lines.append(f"{visible(_shown(handoff.path))}, {_when(handoff)}")
        for name in ("todos", "questions", "decisions", "next_steps"):
            lines += [f"  {name}: {visible(item)}" for item in handoff.payload[name]]
    cli.emit("\n".join([*lines, ""]))
    return 0


def _paths(shown: Shown) -> list[tuple[str, str]]:
    return [
        (git.show_path(one.path), _CHANGES[one.old is not None, one.new is not None])
        for one in shown.changes
    ]


def _restore(landing: Landing, repo: Path | None, options: argparse.Namespace) -> int:
    # Not top_of: without a repository there is nothing to bring back, and git says why.
    top = git.find_top(Path()) if repo is None else git.named_top(repo)
    directory = Path(options.restore_into)
    restored = landing.restore_into(directory, top, _number(options.number))
    if options.json:
        answer = {"run": landing.run, "ref": restored.ref, "directory": _shown(directory)}
        cli.emit_json({**answer, "restored": restored.paths, "lost": restored.lost})
    else:
        lines = [f"{restored.ref}: {len(restored.paths)} files below {visible(str(directory))}"]
        lines += [f"  not restored: {visible(path)}" for path in restored.lost]
        cli.emit("\n".join([*lines, ""]))
    return EXIT_UNLANDED if restored.lost else 0


def _forget(landing: Landing, top: Path | None, *, as_json: bool) -> int:
    gone = landing.forget(top)
    if as_json:
        cli.emit_json({"run": landing.run, "refs": gone.refs, "handoffs": gone.handoffs})
    else:
        cli.emit(
            f"{landing.run}: deleted {len(gone.refs)} refs and {gone.handoffs} handoffs; git"
            " deletes the objects when it next prunes\n"
        )
    return 0


def _when(handoff: Handoff) -> str:
    return str(handoff.payload["time"]) if handoff.payload else "(cannot be read)"


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(path: Path) -> str:
    return git.show_path(bytes(path))
