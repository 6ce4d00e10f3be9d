"""An OpenHands conversation, read into todos, questions and next steps.

In: the directory of a conversation (`base_state.json`, `events/event-*.json`), its `events`
directory, or its events as JSON Lines. Out: a `Reading`. Laws: the last task list that the tracker
did not refuse counts; a condensation settles nothing; decisions have no form in this record, so
they are unknown. (SPEC RD-OH)
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.reading import Reading
from verdict_core.readers.turns import Event, mapping, text_of

READER = "openhands"
STATE = "base_state.json"
_NAME = re.compile(r"event-(\d+)-.+\.json")
# What a kind of row says, where that is the same for each row of it.
_PLAIN: dict[str, Event] = {
    "ACPToolCallEvent": turns.Worked(),
    "PauseEvent": turns.Stopped(),
    "InterruptEvent": turns.Stopped(),
}


def read(path: Path, *, named: bool = False) -> Reading:
    """What the conversation at `path` says. (SPEC RD-OH-1)"""
    return turns.opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    lines = Lines()
    session = None
    if path.is_dir():
        folder = path / "events" if (path / "events").is_dir() else path
        events = list(_events(_files(folder, lines)))
        session = _session(folder.parent / STATE)
    else:
        with path.open("rb") as stream:
            if stream.readline().strip() == b"{":
                text = "this holds no events; name the directory of the conversation"
                return turns.nothing(READER, "no_events", text)
            stream.seek(0)
            events = list(_events(turns.rows(stream, lines)))
    notes = turns.line_notes(READER, lines)
    return turns.fold(READER, events, session=session, unread=("decisions",), notes=notes)


def _files(folder: Path, lines: Lines) -> Iterator[Object | None]:
    """The events in the order of their numbers, and None where a number is missing. (RD-OH-4)"""
    named = ((_NAME.fullmatch(file.name), file) for file in folder.iterdir())
    files = sorted((int(match[1]), file) for match, file in named if match)
    for place, (number, file) in enumerate(files):
        if number > (files[place - 1][0] + 1 if place else 0):
            yield None
        found = lines.read(file.read_bytes())
        yield from found
        if not found:
            yield None


def _session(state: Path) -> str | None:
    try:
        found = Lines().read(state.read_bytes())
    except OSError:
        return None
    name = found[0].get("id") if found else None
    return name if isinstance(name, str) else None


def _events(rows: Iterable[Object | None]) -> Iterator[Event]:
    for row in rows:
        if row is None:
            yield turns.Lost()
            continue
        kind = str(row.get("kind"))
        if kind in _PLAIN:
            yield _PLAIN[kind]
        elif kind == "MessageEvent":
            yield _message(row)
        elif kind == "ActionEvent":
            yield from _action(str(row.get("tool_call_id")), mapping(row.get("action")))
        elif kind == "ObservationEvent":
            yield from _observation(str(row.get("tool_call_id")), mapping(row.get("observation")))
        elif kind in ("AgentErrorEvent", "UserRejectObservation"):
            yield turns.Failed(str(row.get("tool_call_id")))
            yield turns.Worked()


def _message(row: Object) -> Event:
    message = mapping(row.get("llm_message"))
    text = text_of(message.get("content"))
    if message.get("role") == "assistant":
        return turns.Spoke(text)
    # The environment nudges in the person's role.
    return turns.Worked() if row.get("source") in ("environment", "hook") else turns.Said(text)


def _action(call: str, action: Mapping[str, Any]) -> Iterator[Event]:
    if action.get("kind") == "FinishAction":
        yield turns.Spoke(str(action.get("message")))
        yield turns.Ended()
        return
    yield turns.Worked()
    if action.get("kind") == "TaskTrackerAction" and action.get("command") == "plan":
        yield turns.Listed(action.get("task_list"), call)


def _observation(call: str, seen: Mapping[str, Any]) -> Iterator[Event]:
    if seen.get("kind") == "FinishObservation":
        return
    yield turns.Worked()
    if seen.get("is_error") is True:
        yield turns.Failed(call)
    elif seen.get("kind") == "TaskTrackerObservation":
        yield turns.Listed(seen.get("task_list"))
    elif "exit_code" in seen:
        output, over = text_of(seen.get("content")), seen.get("exit_code") == 0
        yield from turns.commit_of(seen.get("command"), output, over=over)
