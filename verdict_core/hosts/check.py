"""The main job: read this repository and this session, judge them, say why.

In: where to look. Out: one judgement with the summary it rests on and what the readers noticed.
(SPEC CV-CLI-2)
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import evolve

from verdict_core import git
from verdict_core.context import FIELDS, Service, Summary, build, judge
from verdict_core.errors import Usage
from verdict_core.hosts import cli, land, people
from verdict_core.readers import claude_find, codex_find, formats, git_status
from verdict_core.readers.reading import Note, Reading, combine


def run(
    *,
    repo: str | None,
    record: str | None,
    record_format: str | None,
    summary: str | None,
    progress: str | None,
    state_dir: str | None,
    wait_min: int,
    max_chars: int,
    service: Service | None,
    as_json: bool,
) -> int:
    """Print the judgement and give its exit status."""
    readings = gather(
        repo=repo,
        record=record,
        record_format=record_format,
        summary=summary,
        progress=progress,
        state_dir=state_dir,
    )
    place = Path(repo) if repo is not None else None
    whole, landed = _unlanded(combine(readings), place, state_dir)
    state = build(whole, max_chars=max_chars)
    judgement = judge(whole, state, wait_min=wait_min, service=service)
    notes = [*(note for reading in readings for note in reading.notes), *landed]
    if as_json:
        cli.emit_json(
            {
                **judgement.payload(),
                "summary": whole.payload(),
                "notes": [{"reader": n.reader, "code": n.code, "text": n.text} for n in notes],
            }
        )
    else:
        colour = sys.stdout.isatty()
        cli.emit(people.judgement(whole, judgement, wait_min, notes=notes, colour=colour))
    return cli.EXIT_VERDICT[judgement.verdict]


def _unlanded(
    whole: Summary, repo: Path | None, state_dir: str | None
) -> tuple[Summary, tuple[Note, ...]]:
    """The summary without what is landed, and a note on that. (SPEC LD-STAY)"""
    landing = land.landing_of(whole, repo, state_dir)
    left = landing.remaining(whole, land.top_of(repo))
    if left == whole:
        return left, ()
    text = f"{whole.count - left.count} items are landed in {landing.run}: `land --show` has them"
    return left, (Note("landing", "landed", text),)


def gather(
    *,
    repo: str | None,
    record: str | None,
    record_format: str | None = None,
    summary: str | None,
    progress: str | None,
    state_dir: str | None,
) -> list[Reading]:
    """The readings, in the order in which their items stand in a field. (SPEC RD-SUM-1)"""
    if record_format is not None and record is None:
        raise Usage("this is the format of a --record, and none is given", path="--format")
    readings = []
    if summary is not None:
        readings.append(_given(Summary.from_json(cli.read_input(summary))))
    readings.append(git_status.read(Path(repo) if repo is not None else None))
    if record is not None:
        readings.append(formats.read(Path(record), named=True, format=record_format))
    elif summary is None:
        readings.append(_newest(Path(repo) if repo is not None else None))
    if progress is not None:
        readings.append(_run(progress, state_dir))
    return readings


def _run(name: str, state_dir: str | None) -> Reading:
    """What the ledger of a run knows; `name` is a run's id, or the directory of one."""
    from verdict_core.hosts.progress import state_directory
    from verdict_core.progress.ledger import Ledger
    from verdict_core.progress.runs import run_directory
    from verdict_core.readers import progress_ledger

    is_id = "/" not in name and not Path(name).is_dir()
    directory = run_directory(state_directory(state_dir), name) if is_id else Path(name)
    return progress_ledger.read(Ledger(directory))


def _given(summary: Summary) -> Reading:
    items: dict[str, Any] = {name: getattr(summary, name) for name in FIELDS}
    return Reading("summary", items, frozenset(summary.unknown), summary.session)


def _newest(repo: Path | None) -> Reading:
    """The newest record of the repository that was named; else of the directory where one stands,
    or of the top level around it, where the session may have been started."""
    directory = repo or Path.cwd()
    found = _newest_of(directory)
    if found is None and repo is None:
        with suppress(git.GitFailed):
            found = _newest_of(git.find_top(directory))
    if found is None:
        text = f"no session record of {directory.absolute()} was found (Claude Code, Codex);"
        note = Note(formats.READER, "no_record", f"{text} give --record")
        return Reading(formats.READER, {}, notes=(note,))
    reading = formats.read(found)
    named = Note(reading.reader, "record", f"the newest record of this directory: {found}")
    return evolve(reading, notes=(named, *reading.notes))


def _newest_of(directory: Path) -> Path | None:
    """The record of either harness that was written last. (SPEC RD-FMT-5)"""
    claude = claude_find.find_newest(directory)
    since = 0 if claude is None else claude.stat().st_mtime_ns
    return codex_find.find_newest(directory, since=since) or claude
