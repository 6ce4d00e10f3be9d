"""OpenHands conversations, as directories and as lines. (SPEC RD-OH)"""

import json
from pathlib import Path
from typing import Any

import pytest
from plain_record import FIELDS, HARNESSES, codes, knows_nothing, open_items, write

from verdict_core.readers.openhands import read

TASK = {"title": "write it", "notes": "", "status": "todo"}
CONDENSED = {"kind": "Condensation", "source": "environment", "forgotten_event_ids": ["0"]}


def said(text: str, role: str = "user", source: str = "user") -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"kind": "MessageEvent", "source": source, "llm_message": message}


def action(kind: str, call: str = "c", **more: Any) -> dict[str, Any]:
    return {"kind": "ActionEvent", "tool_call_id": call, "action": {"kind": kind, **more}}


def seen(kind: str, call: str = "c", **more: Any) -> dict[str, Any]:
    observation = {"kind": kind, "is_error": False, **more}
    return {"kind": "ObservationEvent", "tool_call_id": call, "observation": observation}


def plan(*tasks: Any, call: str = "c") -> dict[str, Any]:
    return action("TaskTrackerAction", call, command="plan", task_list=list(tasks))


GO, DONE = said("go"), said("Done.", "assistant", "agent")


def conversation(folder: Path, *events: Any, numbers: list[int] | None = None) -> Path:
    (folder / "events").mkdir(parents=True)
    (folder / "base_state.json").write_text(json.dumps({"id": "s1", "agent": {}}, indent=1))
    for place, event in enumerate(events):
        number = numbers[place] if numbers else place
        name = f"event-{number:05d}-0a1b2c3d-{place}.json"
        text = event if isinstance(event, str) else json.dumps(event, indent=2)
        (folder / "events" / name).write_text(text)
    (folder / "events" / ".eventlog.lock").write_text("")
    return folder


def test_a_conversation_is_read_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    """RD-OH-1."""
    events = [GO, plan(TASK), seen("TaskTrackerObservation", task_list=[TASK]), DONE]
    folder = conversation(tmp_path / "c", *events)
    for place in (folder, folder / "events"):
        found = read(place)
        assert open_items(found) == {"todos": ["write it"]}
        assert (found.session, set(found.unknown)) == ("s1", {"decisions"})


def test_a_longer_number_comes_later(tmp_path: Path) -> None:
    """RD-OH-1."""
    folder = conversation(tmp_path / "c", DONE, GO, numbers=[100_000, 99_999])
    assert open_items(read(folder)) == {}
    folder = conversation(tmp_path / "d", GO, DONE, numbers=[100_000, 99_999])
    assert open_items(read(folder)) == {"next_steps": ["(running) go"]}


def test_events_as_lines_are_read_alike(tmp_path: Path) -> None:
    """RD-OH-1."""
    found = read(write(tmp_path / "r", GO, plan(TASK), DONE))
    assert (open_items(found), set(found.unknown)) == ({"todos": ["write it"]}, {"decisions"})


def test_todos_are_the_last_list_that_was_not_refused(tmp_path: Path) -> None:
    """RD-OH-2."""
    shown = seen("TaskTrackerObservation", task_list=[TASK, {**TASK, "status": "done"}])
    viewed = action("TaskTrackerAction", "c2", command="view", task_list=[])
    rows = [GO, plan(TASK, TASK), shown, viewed]
    assert open_items(read(write(tmp_path / "r", *rows, DONE))) == {"todos": ["write it"]}
    refused = [
        seen("TaskTrackerObservation", "c3", task_list=[], is_error=True),
        {"kind": "AgentErrorEvent", "tool_call_id": "c3", "error": "no"},
        {"kind": "UserRejectObservation", "tool_call_id": "c3"},
    ]
    for event in refused:
        found = read(write(tmp_path / "r", *rows, plan(call="c3"), event, DONE))
        assert open_items(found) == {"todos": ["write it"]}
    assert open_items(read(write(tmp_path / "r", *rows, plan(call="c3"), DONE))) == {}


def test_a_condensation_settles_nothing(tmp_path: Path) -> None:
    """RD-OH-3."""
    asks = said("Shall I push?", "assistant", "agent")
    found = read(write(tmp_path / "r", GO, plan(TASK), asks, CONDENSED))
    assert open_items(found) == {"todos": ["write it"], "questions": ["Shall I push?"]}


def test_a_missing_number_is_a_lost_row(tmp_path: Path) -> None:
    """RD-OH-4."""
    found = read(conversation(tmp_path / "c", GO, DONE, numbers=[0, 2]))
    assert (set(found.unknown), codes(found)) == (set(FIELDS), ["events_missing"])
    found = read(conversation(tmp_path / "d", GO, DONE, numbers=[1, 2]))
    assert found.unknown == {"todos", "decisions"}


def test_an_event_that_cannot_be_read_is_lost(tmp_path: Path) -> None:
    found = read(conversation(tmp_path / "c", GO, DONE, "{torn"))
    assert (set(found.unknown), codes(found)) == (set(FIELDS), ["damaged_lines"])


@pytest.mark.parametrize("source", ["environment", "hook"])
def test_the_environment_is_not_the_person(tmp_path: Path, source: str) -> None:
    """RD-OH-5."""
    found = read(write(tmp_path / "r", GO, DONE, said("go on", source=source)))
    assert open_items(found) == {"next_steps": ["(running) go"]}


@pytest.mark.parametrize("kind", ["PauseEvent", "InterruptEvent"])
def test_a_pause_ends_the_turn_until_it_goes_on(tmp_path: Path, kind: str) -> None:
    """RD-OH-5."""
    rows = [GO, action("TerminalAction"), {"kind": kind, "source": "user"}]
    assert open_items(read(write(tmp_path / "r", *rows))) == {}
    found = read(write(tmp_path / "r", *rows, action("TerminalAction")))
    assert open_items(found) == {"next_steps": ["(running) go"]}


def test_where_the_turn_stands(tmp_path: Path) -> None:
    running = {"next_steps": ["(running) go"]}
    state = {"kind": "ConversationStateUpdateEvent", "key": "stats", "value": {}}
    assert open_items(read(write(tmp_path / "r", GO, state))) == running
    edited = [action("FileEditorAction"), seen("FileEditorObservation", path="/w/x")]
    assert open_items(read(write(tmp_path / "r", GO, *edited))) == running
    acp = {"kind": "ACPToolCallEvent", "tool_call_id": "c"}
    assert open_items(read(write(tmp_path / "r", GO, DONE, acp))) == running
    finish = [action("FinishAction", message="All done?"), seen("FinishObservation")]
    found = read(write(tmp_path / "r", GO, *finish))
    assert open_items(found) == {"questions": ["All done?"]}


def test_a_commit_is_seen_in_what_the_terminal_shows(tmp_path: Path) -> None:
    """What was lost before it could have held a decision; decisions are unknown all the same."""
    commit = seen("TerminalObservation", command="git commit -m x", exit_code=0, content=[])
    found = read(write(tmp_path / "r", GO, commit, DONE))
    assert (open_items(found), set(found.unknown)) == ({}, {"decisions"})


def test_a_state_alone_says_nothing(tmp_path: Path) -> None:
    """RD-FMT-3."""
    real = read(HARNESSES / "openhands" / "oh_v1_11_5_base_state.json")
    assert (knows_nothing(real), codes(real)) == (True, ["no_events"])
    assert knows_nothing(read(conversation(tmp_path / "c")))


def test_a_directory_without_a_state_has_no_session(tmp_path: Path) -> None:
    folder = conversation(tmp_path / "c", GO, DONE)
    for left in ("", "[]", '{"id": 7}'):
        (folder / "base_state.json").write_text(left)
        assert read(folder).session is None
    (folder / "base_state.json").unlink()
    assert read(folder).session is None


def test_the_real_events_are_in_the_middle_of_a_turn() -> None:
    found = read(HARNESSES / "openhands" / "oh_goal_events.jsonl")
    assert open_items(found) == {"next_steps": ["(running) (no text)"]}
    assert found.unknown == {"decisions"}
