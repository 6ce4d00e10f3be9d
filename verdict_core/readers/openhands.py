"""An OpenHands conversation, read into todos, questions and next steps.

In: the directory of a conversation (`base_state.json`, `events/event-*.json`), its `events`
directory, or its events as JSON Lines. Out: a `Reading`. Laws: the last task list that the tracker
did not refuse counts; a condensation settles nothing; decisions have no form in this record, so
they are unknown. (SPEC RD-OH)
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import Record, mapping, nothing, opened, text_of
from verdict_core.readers.turns import Turns

READER = "openhands"
STATE = "base_state.json"
_NAME = re.compile(r"event-(\d+)-.+\.json")
_NUDGES = ("environment", "hook")
_STOPS = ("PauseEvent", "InterruptEvent")
_REFUSED = ("AgentErrorEvent", "UserRejectObservation")


def read(path: Path, *, named: bool = False) -> Reading:
    """What the conversation at `path` says. (SPEC RD-OH-1)"""
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    record = turns.plain(path, _Log(unread={"decisions"}))
    if path.is_dir():
        folder = path / "events" if (path / "events").is_dir() else path
        record.listener.session = _session(folder.parent / STATE)
        _hear_files(record, folder)
        return turns.finish(READER, record)
    with path.open("rb") as stream:
        if stream.readline().strip() == b"{":
            text = "this holds no events; name the directory of the conversation"
            return nothing(READER, "no_events", text)
    record.hear()
    return turns.finish(READER, record)


def _hear_files(record: "Record[_Log]", folder: Path) -> None:
    """Hears the events in the order of their numbers; where one is missing a row is lost.
    (SPEC RD-OH-4)"""
    named = ((_NAME.fullmatch(file.name), file) for file in folder.iterdir())
    due = 0
    for number, file in sorted((int(match[1]), file) for match, file in named if match):
        if number > due:
            record.lost.append(record.listener.rows)
            record.listener.notes["events_missing"] = f"no event between {due} and {number - 1}"
        due = number + 1
        record.take(file.read_bytes())


def _session(state: Path) -> str | None:
    try:
        found = Lines().read(state.read_bytes())
    except OSError:
        return None
    name = found[0].get("id") if found else None
    return name if isinstance(name, str) else None


@define
class _Log(Turns):
    def hear(self, row: Object) -> None:
        """Takes one event."""
        self.step()
        kind, call = row.get("kind"), str(row.get("tool_call_id"))
        if kind == "MessageEvent":
            self._message(row)
        elif kind == "ActionEvent":
            self._action(call, mapping(row.get("action")))
        elif kind == "ObservationEvent":
            self._observation(call, mapping(row.get("observation")))
        elif kind in _STOPS:
            self.over()
        elif kind in _REFUSED:
            self.failed.add(call)
            self.worked()
        elif kind == "ACPToolCallEvent":
            self.worked()

    def _message(self, row: Object) -> None:
        message = mapping(row.get("llm_message"))
        text = text_of(message.get("content"))
        if message.get("role") == "assistant":
            self.spoke(text)
        elif row.get("source") in _NUDGES:
            # The environment speaks in the person's role.
            self.worked()
        else:
            self.said(text)

    def _action(self, call: str, action: Mapping[str, Any]) -> None:
        if action.get("kind") == "FinishAction":
            self.spoke(str(action.get("message")))
            return
        self.worked()
        if action.get("kind") == "TaskTrackerAction" and action.get("command") == "plan":
            self.listed(action.get("task_list"), call)

    def _observation(self, call: str, seen: Mapping[str, Any]) -> None:
        # What answers the last words of the assistant is no work.
        if seen.get("kind") == "FinishObservation":
            return
        self.worked()
        if seen.get("is_error") is True:
            self.failed.add(call)
        elif seen.get("kind") == "TaskTrackerObservation":
            self.listed(seen.get("task_list"))
        elif "exit_code" in seen:
            output, over = text_of(seen.get("content")), seen.get("exit_code") == 0
            self.ran(seen.get("command"), output, over=over)
