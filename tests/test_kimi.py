"""Kimi Code records, new and old. (SPEC RD-KIMI)"""

import json
from pathlib import Path
from typing import Any

import pytest
from plain_record import FIELDS, HARNESSES, codes, knows_nothing, open_items, write

from verdict_core.errors import Unreadable
from verdict_core.readers.kimi import read

HEAD = {"type": "metadata", "protocol_version": "1.4", "created_at": 1}
TASK = {"title": "write it", "status": "pending"}
ASK = {"questions": [{"question": "Which?"}, {"question": "Where?"}]}
COMPACTED = {"type": "context.apply_compaction", "summary": "s", "compactedCount": 2}


def person(text: str, **origin: Any) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "user",
        "content": [{"type": "text", "text": text}],
        "toolCalls": [],
    }
    if origin:
        message["origin"] = origin
    return {"type": "context.append_message", "message": message}


def event(**members: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": members}


def says(text: str) -> dict[str, Any]:
    return event(type="content.part", part={"type": "text", "text": text})


def call(name: str, args: Any, **more: Any) -> dict[str, Any]:
    return event(type="tool.call", uuid=f"{name}_0", name=name, args=args, **more)


def result(name: str, output: Any = "", **more: Any) -> dict[str, Any]:
    return event(type="tool.result", parentUuid=f"{name}_0", result={"output": output, **more})


def store(*todos: Any) -> dict[str, Any]:
    return {"type": "tools.update_store", "key": "todo", "value": list(todos)}


GO, DONE = person("go", kind="user"), says("Done.")


def test_the_list_that_is_stored_is_the_list(tmp_path: Path) -> None:
    """RD-KIMI-1, RD-KIMI-2."""
    old = call("TodoList", {"todos": [TASK, TASK]})
    now = [store({**TASK, "status": "done"}, TASK), result("TodoList")]
    other = {"type": "tools.update_store", "key": "other", "value": []}
    found = read(write(tmp_path / "r", HEAD, GO, old, *now, other, DONE))
    assert open_items(found) == {"todos": ["write it"]}
    assert (set(found.unknown), found.reader) == (set(), "kimi-code")


@pytest.mark.parametrize("failed", [True, False])
def test_a_call_that_failed_changes_nothing(tmp_path: Path, failed: bool) -> None:
    """RD-KIMI-2."""
    emptied = [call("TodoList", {"todos": []}), result("TodoList", "no", isError=failed)]
    found = read(write(tmp_path / "r", GO, store(TASK), *emptied, DONE))
    assert open_items(found) == ({"todos": ["write it"]} if failed else {})


def test_a_call_without_a_list_only_reads(tmp_path: Path) -> None:
    """RD-KIMI-2."""
    looked = [call("TodoList", {}), result("TodoList")]
    found = read(write(tmp_path / "r", GO, store(TASK), *looked, DONE))
    assert (open_items(found), set(found.unknown)) == ({"todos": ["write it"]}, set())


def answered(tmp_path: Path, output: str, **more: Any) -> dict[str, list[str]]:
    rows = [GO, call("AskUserQuestion", ASK), result("AskUserQuestion", output, **more), DONE]
    return open_items(read(write(tmp_path / "r", *rows)))


def test_a_question_is_open_until_its_result_has_an_answer(tmp_path: Path) -> None:
    """RD-KIMI-3."""
    nothing = {"questions": ["Which?", "Where?"]}
    assert answered(tmp_path, '{"answers":{},"note":"dismissed"}') == nothing
    assert answered(tmp_path, "task_id: 7") == nothing
    assert answered(tmp_path, '{"answers":{"Which?":"a","Where?":"b"}}', isError=True) == nothing
    assert answered(tmp_path, '{"answers":{"Which?":["a","b"],"Where?":null}}') == {
        "questions": ["Where?"],
        "decisions": ["Which? = a, b"],
    }


@pytest.mark.parametrize(
    ("output", "decisions"),
    [
        ("Exited plan mode. Plan mode deactivated.\n## Approved Plan:\nthe plan", ["the plan"]),
        ("Plan approval dismissed. Plan mode remains active.", []),
        ("User rejected the plan. Feedback:\n\nno", []),
        ("User requested revisions. Plan mode remains active.", []),
        ("Plan rejected by user. Plan mode deactivated.", []),
    ],
)
def test_a_plan_is_a_decision_where_it_was_approved(
    tmp_path: Path, output: str, decisions: list[str]
) -> None:
    """RD-KIMI-3."""
    shown = {"kind": "plan_review", "plan": "the plan"}
    rows = [GO, call("ExitPlanMode", {}, display=shown), result("ExitPlanMode", output), DONE]
    assert open_items(read(write(tmp_path / "r", *rows))).get("decisions", []) == decisions


def test_a_plan_that_is_not_shown_is_what_the_result_says(tmp_path: Path) -> None:
    rows = [GO, call("ExitPlanMode", {}), result("ExitPlanMode", "Approved: it"), DONE]
    assert open_items(read(write(tmp_path / "r", *rows))) == {"decisions": ["Approved: it"]}


def test_a_commit_settles_the_decisions(tmp_path: Path) -> None:
    rows = [GO, call("ExitPlanMode", {}), result("ExitPlanMode", "the plan")]
    commit = [call("Bash", {"command": "git commit -m x"}), result("Bash", "[main 1a2b3c4] x")]
    assert open_items(read(write(tmp_path / "r", *rows, *commit, DONE))) == {}


def test_an_undone_turn_takes_its_talk_back_and_not_what_is_stored(tmp_path: Path) -> None:
    """RD-KIMI-4."""
    first = [HEAD, GO, store(TASK), says("Shall I push?")]
    second = [person("yes"), store(TASK, TASK), call("ExitPlanMode", {})]
    third = [result("ExitPlanMode", "plan"), person("more"), says("Really?")]
    rows = [*first, *second, *third]
    both = {"todos": ["write it", "write it"]}
    undo = {"type": "context.undo"}
    assert open_items(read(write(tmp_path / "r", *rows, {**undo, "count": 2}))) == {
        **both,
        "questions": ["Shall I push?"],
    }
    assert open_items(read(write(tmp_path / "r", *rows, {**undo, "count": 9}))) == both
    assert open_items(read(write(tmp_path / "r", *rows, {"type": "context.clear"}))) == both
    for count in (0, "2"):
        found = read(write(tmp_path / "r", *rows, {**undo, "count": count}))
        assert open_items(found)["questions"] == ["Really?"]
    nobody = write(tmp_path / "r", store(TASK), {**undo, "count": 1})
    assert open_items(read(nobody)) == {"todos": ["write it"]}


def test_a_compaction_settles_nothing(tmp_path: Path) -> None:
    """RD-KIMI-5."""
    rows = [HEAD, GO, store(TASK), says("Shall I push?"), COMPACTED]
    found = read(write(tmp_path / "r", *rows))
    assert open_items(found) == {"todos": ["write it"], "questions": ["Shall I push?"]}
    assert codes(found) == ["compactions"]


@pytest.mark.parametrize(
    "kind", ["injection", "shell_command", "compaction_summary", "hook_result"]
)
def test_what_stands_aside_is_no_message_and_no_work(tmp_path: Path, kind: str) -> None:
    """RD-KIMI-6."""
    found = read(write(tmp_path / "r", GO, says("Shall I push?"), person("x", kind=kind)))
    assert open_items(found) == {"questions": ["Shall I push?"]}


@pytest.mark.parametrize(
    "origin",
    [
        {"kind": "system_trigger", "name": "subagent"},
        {"kind": "cron_job"},
        {"kind": "skill_activation", "trigger": "model-tool"},
    ],
)
def test_what_triggers_the_assistant_is_not_the_person(
    tmp_path: Path, origin: dict[str, Any]
) -> None:
    """RD-KIMI-6."""
    ask = call("AskUserQuestion", ASK)
    found = read(write(tmp_path / "r", GO, ask, DONE, person("x", **origin)))
    assert open_items(found) == {
        "questions": ["Which?", "Where?"],
        "next_steps": ["(running) go"],
    }


@pytest.mark.parametrize("kind", ["user", "skill_activation", "plugin_command"])
def test_what_the_person_typed_is_a_message(tmp_path: Path, kind: str) -> None:
    said = person("do", kind=kind, trigger="user-slash")
    found = read(write(tmp_path / "r", GO, call("AskUserQuestion", ASK), said))
    assert open_items(found) == {"next_steps": ["(running) do"]}


def test_messages_of_the_assistant_are_its_words(tmp_path: Path) -> None:
    spoke = person("Shall I push?")
    spoke["message"]["role"] = "assistant"
    system = person("x")
    system["message"]["role"] = "system"
    assert open_items(read(write(tmp_path / "r", GO, spoke, system))) == {
        "questions": ["Shall I push?"]
    }


def test_the_goal_is_open_until_it_is_reached_or_given_up(tmp_path: Path) -> None:
    """RD-KIMI-7."""
    made = {"type": "goal.create", "goalId": "g", "objective": "ship it"}
    spent = {"type": "goal.update", "tokensUsed": 5}
    rows = [GO, made, spent, DONE]
    assert open_items(read(write(tmp_path / "r", *rows))) == {"todos": ["ship it"]}
    blocked = {"type": "goal.update", "status": "blocked"}
    assert open_items(read(write(tmp_path / "r", *rows, blocked))) == {"todos": ["ship it"]}
    for end in ({"type": "goal.update", "status": "complete"}, {"type": "goal.clear"}):
        assert open_items(read(write(tmp_path / "r", *rows, end))) == {}


def test_where_the_turn_stands(tmp_path: Path) -> None:
    prompt = {"type": "turn.prompt", "input": [], "origin": {"kind": "user"}}
    step = event(type="step.begin", step=1)
    running = {"next_steps": ["(running) go"]}
    assert open_items(read(write(tmp_path / "r", HEAD, prompt, GO, step))) == running
    assert open_items(read(write(tmp_path / "r", HEAD, GO, DONE, step))) == running
    assert open_items(read(write(tmp_path / "r", HEAD, GO, DONE, event(type="step.end")))) == {}
    for end in ({"type": "turn.ended", "reason": "failed"}, {"type": "turn.cancel", "turnId": 1}):
        assert open_items(read(write(tmp_path / "r", HEAD, GO, step, end))) == {}
    queued = {"type": "turn.cancel", "target": "queued"}
    assert open_items(read(write(tmp_path / "r", HEAD, GO, step, queued))) == running


# --- The older forms


def wire(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": 1.0, "message": {"type": kind, "payload": payload}}


def tool(name: str, arguments: str, id: str = "t1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return wire("ToolCall", type="function", id=id, function=function)


def gave(output: Any = "", *, id: str = "t1", failed: bool = False, display: Any = ()) -> Any:
    value = {"is_error": failed, "output": output, "display": list(display)}
    return wire("ToolResult", tool_call_id=id, return_value=value)


BEGIN, END = wire("TurnBegin", user_input="go"), wire("TurnEnd")
LIST = json.dumps({"todos": [TASK]})


def test_the_older_wire_is_read(tmp_path: Path) -> None:
    """RD-KIMI-1, RD-KIMI-2."""
    rows = [HEAD, BEGIN, wire("StepBegin", n=1), tool("SetTodoList", LIST), gave()]
    spoke = wire("ContentPart", type="text", text="Done.")
    assert open_items(read(write(tmp_path / "r", *rows, spoke, END))) == {"todos": ["write it"]}
    failed = [tool("SetTodoList", '{"todos": []}', "t2"), gave(id="t2", failed=True)]
    found = read(write(tmp_path / "r", *rows, *failed, spoke, END))
    assert open_items(found) == {"todos": ["write it"]}


def test_arguments_that_come_in_parts_are_joined(tmp_path: Path) -> None:
    """RD-KIMI-2."""
    parts = [wire("ToolCallPart", arguments_part=part) for part in (LIST[5:9], LIST[9:], None)]
    rows = [BEGIN, tool("SetTodoList", LIST[:5]), *parts]
    assert open_items(read(write(tmp_path / "r", *rows)))["todos"] == ["write it"]
    found = read(write(tmp_path / "r", *rows[:-2]))
    assert (set(found.unknown), codes(found)) == ({"todos"}, ["bad_todos"])
    shown = [{"type": "brief"}, {"type": "todo", "items": [TASK]}]
    found = read(write(tmp_path / "r", *rows[:-2], gave(display=shown), END))
    assert (open_items(found), set(found.unknown)) == ({"todos": ["write it"]}, set())


def test_a_call_without_arguments_only_reads(tmp_path: Path) -> None:
    found = read(write(tmp_path / "r", BEGIN, tool("SetTodoList", ""), gave(), END))
    assert (open_items(found), set(found.unknown)) == ({}, set())


def test_a_sub_agents_rows_do_not_count(tmp_path: Path) -> None:
    inner = tool("SetTodoList", '{"todos": []}')["message"]
    wrapped = wire("SubagentEvent", task_tool_call_id="t", event=inner)
    rows = [BEGIN, tool("SetTodoList", LIST), gave(), wrapped, END]
    assert open_items(read(write(tmp_path / "r", *rows))) == {"todos": ["write it"]}


def test_an_older_turn_ends_or_is_interrupted(tmp_path: Path) -> None:
    works = [BEGIN, wire("StepBegin", n=1)]
    assert open_items(read(write(tmp_path / "r", *works))) == {"next_steps": ["(running) go"]}
    for end in (END, wire("StepInterrupted")):
        assert open_items(read(write(tmp_path / "r", *works, end))) == {}
    silent = wire("TurnBegin", user_input=[{"type": "text", "text": " "}])
    assert knows_nothing(read(write(tmp_path / "r", HEAD, silent)))


def context(*calls: Any) -> list[dict[str, Any]]:
    return [
        {"role": "_system_prompt", "content": "x"},
        {"role": "user", "content": "go"},
        {"role": "user", "content": "<system>CHECKPOINT 1</system>"},
        {"role": "assistant", "content": [{"type": "text", "text": "So."}], "tool_calls": calls},
    ]


def test_the_older_context_is_read(tmp_path: Path) -> None:
    """RD-KIMI-1, RD-KIMI-5."""
    made = {"type": "function", "id": "t1", "function": {"name": "SetTodoList", "arguments": LIST}}
    answer = {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "ok"}]}
    found = read(write(tmp_path / "r", *context(made), answer))
    assert open_items(found) == {"todos": ["write it"], "next_steps": ["(running) go"]}
    assert found.unknown == frozenset()
    failed = {**answer, "content": "<system>ERROR: no</system>"}
    assert "todos" not in open_items(read(write(tmp_path / "r", *context(made), failed)))


def test_without_a_list_a_context_may_have_lost_one(tmp_path: Path) -> None:
    """RD-KIMI-5."""
    found = read(write(tmp_path / "r", *context()))
    assert (open_items(found), set(found.unknown)) == ({}, {"todos"})


# --- Places, and the real ones


@pytest.mark.parametrize("place", ["agents/main/wire.jsonl", "wire.jsonl", "context.jsonl"])
def test_a_sessions_directory_is_the_record_of_its_main_agent(tmp_path: Path, place: str) -> None:
    """RD-KIMI-1, todo-03."""
    write(tmp_path / "s" / place, GO, store(TASK), DONE)
    write(tmp_path / "s" / "agents" / "agent-0" / "wire.jsonl", GO, store(), DONE)
    assert open_items(read(tmp_path / "s")) == {"todos": ["write it"]}


def test_a_directory_without_a_record_is_unknown_or_refused(tmp_path: Path) -> None:
    assert knows_nothing(read(tmp_path))
    with pytest.raises(Unreadable):
        read(tmp_path, named=True)


REAL: dict[str, dict[str, list[str]]] = {
    "fx_wire11_compaction.jsonl": {"next_steps": ["(running) text dc891959"]},
    "fx_wire14_assistant_tools.jsonl": {"decisions": ["text dafd8dd2"]},
    "fx_wire14_subagent.jsonl": {},
    "legacy_context_large.jsonl": {"next_steps": ["(running) text f017135e"]},
    "legacy_wire14_large.jsonl": {
        "todos": ["text cf1b32a7", "text cb8533a7"],
        "next_steps": ["(running) text a88008e1"],
    },
}


@pytest.mark.parametrize("name", REAL)
def test_a_real_record_is_read(name: str) -> None:
    found = read(HARNESSES / "kimi" / name)
    assert (open_items(found), set(found.unknown)) == (REAL[name], set())


@pytest.mark.parametrize(
    "name", ["fx_broken_state_wire.jsonl", "fx_wire14_assistant_tools.state.json"]
)
def test_a_real_file_without_a_conversation_says_nothing(name: str) -> None:
    """RD-FMT-3."""
    found = read(HARNESSES / "kimi" / name)
    assert knows_nothing(found)
    assert found.unknown == set(FIELDS)
