"""States of LangChain agents. (SPEC RD-LC)"""

import json
from pathlib import Path
from typing import Any

import pytest
from plain_record import codes, knows_nothing, open_items

from verdict_core.readers.langchain import read
from verdict_core.readers.reading import Reading

TASK = {"content": "write it", "status": "pending"}
GO = {"type": "human", "content": "go"}
SO = {"type": "ai", "content": "Shall I push?", "tool_calls": []}
CALLS = {"type": "ai", "content": "So.", "tool_calls": [{"name": "x", "args": {}, "id": "1"}]}


def given(tmp_path: Path, state: Any) -> Reading:
    path = tmp_path / "state.json"
    path.write_text(state if isinstance(state, str) else json.dumps(state, indent=1))
    return read(path)


def test_a_state_is_read(tmp_path: Path) -> None:
    """RD-LC-1."""
    done = {**TASK, "status": "completed"}
    found = given(tmp_path, {"messages": [GO, SO], "todos": [TASK, done]})
    assert open_items(found) == {"todos": ["write it"], "questions": ["Shall I push?"]}
    assert (set(found.unknown), found.session) == ({"decisions"}, None)


def test_a_snapshot_that_holds_a_state_is_read(tmp_path: Path) -> None:
    """RD-LC-1."""
    config = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
    values = {"messages": [GO, SO], "todos": [TASK]}
    found = given(tmp_path, {"values": values, "next": [], "config": config})
    assert open_items(found) == {"todos": ["write it"], "questions": ["Shall I push?"]}
    assert found.session == "t1"


@pytest.mark.parametrize("state", ["", "[]", "{}\n{}", '{"todos": [', '{"todos": []} x'])
def test_what_is_no_one_object_says_nothing(tmp_path: Path, state: str) -> None:
    """RD-LC-1."""
    found = given(tmp_path, state)
    assert (knows_nothing(found), codes(found)[0]) == (True, "not_a_state")


def test_a_state_without_todos_is_not_one_without_any(tmp_path: Path) -> None:
    """RD-LC-2."""
    found = given(tmp_path, {"messages": [GO, SO]})
    assert (set(found.unknown), codes(found)) == ({"todos", "decisions"}, ["no_todos"])
    assert given(tmp_path, {"messages": [GO, SO], "todos": []}).unknown == {"decisions"}
    found = given(tmp_path, {"messages": [GO, SO], "todos": None})
    assert (set(found.unknown), codes(found)) == ({"todos", "decisions"}, ["bad_todos"])


def test_a_state_without_messages_tells_nothing_of_the_talk(tmp_path: Path) -> None:
    """RD-LC-2."""
    found = given(tmp_path, {"todos": [TASK]})
    assert open_items(found) == {"todos": ["write it"]}
    assert found.unknown == {"questions", "decisions", "next_steps"}


def test_a_snapshot_that_would_go_on_is_a_running_turn(tmp_path: Path) -> None:
    """RD-LC-3."""
    values = {"messages": [GO, SO], "todos": []}
    found = given(tmp_path, {"values": values, "next": ["tools"]})
    assert open_items(found) == {"next_steps": ["(running) go"]}


def test_what_a_snapshot_waits_for_is_a_question(tmp_path: Path) -> None:
    """RD-LC-3."""
    waits = [{"value": "Push it?", "id": "1"}, {"value": {"action_requests": []}}, 7]
    found = given(tmp_path, {"values": {"messages": [GO], "todos": []}, "interrupts": waits})
    assert open_items(found)["questions"] == ["Push it?", "(no text)"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda one: one,
        lambda one: {"type": one["type"], "data": one},
        lambda one: {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", {"human": "HumanMessage", "ai": "AIMessage",
                                                       "tool": "ToolMessage"}[one["type"]]],
            "kwargs": one,
        },
        lambda one: {"role": {"human": "user", "ai": "assistant"}.get(one["type"], "tool"),
                     **{key: value for key, value in one.items() if key != "type"}},
    ],
)  # fmt: skip
def test_every_form_of_a_message_is_read(tmp_path: Path, wrap: Any) -> None:
    """RD-FMT-4."""
    tool = {"type": "tool", "content": "ok", "tool_call_id": "1"}
    for rows, expected in (
        ([GO, CALLS], {"next_steps": ["(running) go"]}),
        ([GO, CALLS, tool], {"next_steps": ["(running) go"]}),
        ([GO, CALLS, tool, SO], {"questions": ["Shall I push?"]}),
    ):
        state = {"messages": [wrap(row) for row in rows], "todos": []}
        assert open_items(given(tmp_path, state)) == expected


def test_a_state_that_holds_nothing_is_unknown(tmp_path: Path) -> None:
    """RD-FMT-3."""
    assert knows_nothing(given(tmp_path, {}))


def test_other_messages_say_nothing(tmp_path: Path) -> None:
    system = {"type": "system", "content": "You are."}
    assert open_items(given(tmp_path, {"messages": [system, GO, SO, system], "todos": []})) == {
        "questions": ["Shall I push?"]
    }
