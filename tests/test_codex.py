"""Codex records: each rule with the shapes of the real program. (SPEC RD-CX, RD-FLOW)"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codex_record import NAME, Rollout, answered, ran

from verdict_core.errors import Unreadable
from verdict_core.readers.codex import FIELDS, read
from verdict_core.readers.flow_fold import RUNNING
from verdict_core.readers.reading import NO_TEXT, Reading

OPEN = [("Write parser", "in_progress"), ("Add tests", "pending")]


def todos(reading: Reading) -> list[str]:
    return list(reading.items["todos"])


def codes(reading: Reading) -> set[str]:
    return {note.code for note in reading.notes}


def test_rd_cx_1_a_record_that_is_not_there_leaves_everything_unknown(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        reading = read(path)
        assert reading.unknown == frozenset(FIELDS)
        assert codes(reading) == {"record_missing"}
        with pytest.raises(Unreadable) as caught:
            read(path, named=True)
        assert caught.value.path == str(path)


def test_rd_cx_1_a_record_without_a_row_is_unknown_and_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    for data in (b"", b"\n\n", b'{"timestamp":"2026', b"[1]\n"):
        path.write_bytes(data)
        reading = read(path, named=True)
        assert reading.unknown == frozenset(FIELDS)
        assert "no_rows" in codes(reading)


def test_a_session_in_which_nothing_was_done_is_known_and_empty(tmp_path: Path) -> None:
    reading = Rollout().read(tmp_path)
    assert reading.unknown == frozenset()
    assert reading.session == NAME
    assert not any(reading.items.values())


def test_rd_cx_2_a_record_that_begins_in_mid_session_is_unknown_until_it_is_sure(
    tmp_path: Path,
) -> None:
    record = Rollout(headless=True).said("Go on")
    reading = record.read(tmp_path)
    assert reading.unknown == {"todos", "decisions"}
    assert "starts_mid_session" in codes(reading)
    record.plan(*OPEN).shell("git commit -m x", ran("[main 1234567] x"))
    reading = record.read(tmp_path)
    assert reading.unknown == frozenset()
    assert todos(reading) == ["Write parser", "Add tests"]


def test_rd_cx_3_todos_are_the_last_plan_whose_call_did_not_fail(tmp_path: Path) -> None:
    """RD-FLOW-1."""
    record = (
        Rollout().said("Build").plan(("a", "pending")).plan(("b", "pending"), ("c", "completed"))
    )
    assert todos(record.read(tmp_path)) == ["b"]
    record.plan(("d", "pending"), output="failed to parse function arguments: missing field")
    record.plan(("e", "pending"), output="unsupported call: update_plan")
    assert todos(record.read(tmp_path)) == ["b"]
    record.plan(("f", "pending"), output=None)
    assert todos(record.read(tmp_path)) == ["f"]


def test_rd_cx_3_a_plan_that_cannot_be_read_is_unknown_until_the_next(tmp_path: Path) -> None:
    record = Rollout().plan(("a", "pending")).call("update_plan", "{torn", "Plan updated")
    reading = record.read(tmp_path)
    assert reading.unknown == {"todos"}
    assert (todos(reading), "bad_todos" in codes(reading)) == (["a"], True)
    assert record.plan(("b", "completed")).read(tmp_path).unknown == frozenset()


def test_statuses_that_no_table_knows_are_open_and_noted(tmp_path: Path) -> None:
    reading = Rollout().plan(("a", "parked"), ("b", "Completed")).read(tmp_path)
    assert todos(reading) == ["a"]
    assert "unknown_status" in codes(reading)


DONE = "Script completed\nWall time 0.0 seconds\nOutput:\n"
SCRIPT = 'const r = await tools.update_plan({plan: [{step: "a", status: "pending"}]});'


def test_rd_cx_4_a_plan_inside_a_script_counts(tmp_path: Path) -> None:
    output = [{"type": "input_text", "text": DONE}, {"type": "input_text", "text": "{}"}]
    record = Rollout().script(SCRIPT, output)
    assert todos(record.read(tmp_path)) == ["a"]
    twice = SCRIPT + SCRIPT.replace('"pending"', "'completed'")
    assert todos(record.script(twice, output).read(tmp_path)) == []
    other = {"source": SCRIPT}
    assert todos(record.call("functions.exec", other, output).read(tmp_path)) == ["a"]


@pytest.mark.parametrize(
    "script",
    [
        "const plan = make(); await tools.update_plan({plan});",
        "await tools.update_plan({plan: steps.map(s => s)});",
        'await tools["update_plan"]({plan: []});',
        "await tools.update_plan(`{plan: ${p}}`);",
    ],
)
def test_rd_cx_4_a_plan_that_is_no_literal_makes_todos_unknown(script: str, tmp_path: Path) -> None:
    reading = Rollout().plan(("a", "pending")).script(script, DONE).read(tmp_path)
    assert reading.unknown == {"todos"}
    assert todos(reading) == ["a"]


def test_rd_cx_4_a_script_that_failed_makes_todos_unknown(tmp_path: Path) -> None:
    reading = Rollout().script(SCRIPT, "Script failed\nError: no").read(tmp_path)
    assert reading.unknown == {"todos"}
    assert "script_failed" in codes(reading)


def test_rd_cx_4_a_commit_in_a_script_counts_only_where_it_is_shown(tmp_path: Path) -> None:
    commit = 'await tools.exec_command({cmd: "git commit -m \\"x\\""});'
    record = Rollout().ask("Which?", answered("that"))
    record.script(commit, DONE + "Process exited with code 0")
    assert record.read(tmp_path).items["decisions"] == ("Which? = that",)
    record.script(commit, DONE + "[main 1234567] x")
    assert record.read(tmp_path).items["decisions"] == ()


def test_rd_cx_4_goal_and_question_inside_a_script(tmp_path: Path) -> None:
    record = Rollout().script('await tools.create_goal({objective: "Ship"});', DONE)
    assert todos(record.read(tmp_path)) == ["Ship"]
    record.script('await tools.update_goal({status: "complete"});', DONE)
    assert todos(record.read(tmp_path)) == []
    record.script('await tools.request_user_input({questions: [{question: "Which?"}]});', DONE)
    assert record.read(tmp_path).items["questions"] == ("Which?",)
    kept = [{"question": "Which?\nThis: one.", "answer": "This"}]
    record.row("retained_context", {"type": "verified_answer", "call_id": "x", "questions": kept})
    reading = record.read(tmp_path)
    assert (reading.items["questions"], reading.items["decisions"]) == ((), ("Which? = This",))


def child(**meta: Any) -> Rollout:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}
    return Rollout(meta={"forked_from_id": "p", "source": source, **meta}).row(
        "session_meta", {"id": "p", "source": "cli"}
    )


def test_rd_cx_5_nothing_that_was_copied_from_the_parent_speaks(tmp_path: Path) -> None:
    record = child().started().said("Parent's").plan(("theirs", "pending"))
    reading = record.read(tmp_path)
    assert (todos(reading), reading.unknown) == ([], frozenset(FIELDS))
    assert codes(reading) == {"only_inherited"}
    record.call("spawn_agent", {}, "You are the newly spawned agent. The history was forked.")
    reading = record.read(tmp_path)
    assert (todos(reading), reading.unknown) == ([], frozenset())
    record.started().said("Own task").plan(("own", "pending"))
    reading = record.read(tmp_path)
    assert todos(reading) == ["own"]
    assert reading.items["next_steps"] == (RUNNING + "Own task",)
    assert "subagent" in codes(reading)


def test_rd_cx_5_copied_rows_are_told_by_their_number(tmp_path: Path) -> None:
    record = child(subagent_history_start_ordinal=8)
    plan = json.dumps({"plan": [{"step": "theirs", "status": "pending"}]})
    given = {"type": "function_call", "name": "update_plan", "arguments": plan, "call_id": "c"}
    record.row("response_item", given, ordinal=7)
    assert todos(record.read(tmp_path)) == []
    record.row("response_item", given | {"call_id": "d"}, ordinal=8)
    assert todos(record.read(tmp_path)) == ["theirs"]


def test_damage_in_what_was_copied_does_not_matter(tmp_path: Path) -> None:
    record = child().started().raw(b'{"torn\n')
    record.call("spawn_agent", {}, "You are the newly spawned agent.").started().complete()
    assert record.read(tmp_path).unknown == frozenset()
    assert record.raw(b'{"torn\n').read(tmp_path).unknown == frozenset(FIELDS)


@pytest.mark.parametrize("base", [{"thread_id": "p", "end_ordinal_exclusive": 24}, None])
def test_rd_cx_6_a_fork_without_its_history_is_unknown_until_it_is_sure(
    base: Any, tmp_path: Path
) -> None:
    record = Rollout(meta={"forked_from_id": "p", "history_base": base}).said("Forked")
    reading = record.read(tmp_path)
    assert reading.unknown == {"todos", "decisions"}
    assert "history_elsewhere" in codes(reading)
    assert "todos" not in record.plan(*OPEN).read(tmp_path).unknown


def test_a_fork_that_copied_its_history_is_whole(tmp_path: Path) -> None:
    record = Rollout(meta={"forked_from_id": "p"}).row("session_meta", {"id": "p"})
    assert record.read(tmp_path).unknown == frozenset()


def goal(status: str | None) -> str:
    state = None if status is None else {"objective": "Ship", "status": status}
    return json.dumps({"goal": state, "remainingTokens": None})


def test_rd_cx_7_the_goal_is_open_until_it_is_settled(tmp_path: Path) -> None:
    record = Rollout().call("create_goal", {"objective": "Ship"})
    assert todos(record.read(tmp_path)) == ["Ship"]
    record.call("get_goal", {}, goal("active")).plan(("a", "pending"))
    assert todos(record.read(tmp_path)) == ["a", "Ship"]
    record.call("update_goal", {"status": "complete"})
    assert todos(record.read(tmp_path)) == ["a", "Ship"]
    record.call("update_goal", {"status": "complete"}, goal("complete"))
    assert todos(record.read(tmp_path)) == ["a"]
    record.event("thread_goal_updated", goal={"objective": "More", "status": "paused"})
    assert todos(record.read(tmp_path)) == ["a", "More"]
    record.event("thread_goal_cleared")
    assert todos(record.read(tmp_path)) == ["a"]
    record.call("get_goal", {}, goal("active")).call("get_goal", {}, goal(None))
    assert todos(record.read(tmp_path)) == ["a"]


def test_rd_cx_7_a_goal_call_that_failed_changes_nothing(tmp_path: Path) -> None:
    record = Rollout().call("create_goal", {"objective": "Ship"}, "error: there is a goal already")
    assert todos(record.read(tmp_path)) == []
    record.event("thread_goal_updated")
    assert record.read(tmp_path).unknown == {"todos"}


def test_rd_cx_8_a_commit_counts_when_its_terminal_shows_it(tmp_path: Path) -> None:
    record = Rollout().ask("Which?", answered("that"))
    record.shell("git commit -m x", "Process running with session ID 77\nOutput:\n")
    assert record.read(tmp_path).items["decisions"] == ("Which? = that",)
    record.call("write_stdin", {"session_id": 78, "chars": ""}, ran("[main 1234567] x"))
    assert record.read(tmp_path).items["decisions"] == ("Which? = that",)
    record.call("write_stdin", {"session_id": 77, "chars": ""}, ran("[main 1234567] x"))
    assert record.read(tmp_path).items["decisions"] == ()


@pytest.mark.parametrize("host", ["<environment_context>x", "# AGENTS.md\n\nx", "<turn_aborted>"])
def test_rd_cx_9_what_the_host_writes_is_nobodys_message(host: str, tmp_path: Path) -> None:
    for record in (Rollout(), Rollout().said("Build").answer("Done")):
        record.ask("Which?").user(host).event("user_message", message=host)
        assert record.read(tmp_path).items["questions"] == ("Which?",)


def test_rd_cx_9_user_rows_count_only_where_no_event_does(tmp_path: Path) -> None:
    record = Rollout().ask("Which?").user("Go on")
    reading = record.read(tmp_path)
    assert (reading.items["questions"], reading.items["next_steps"]) == ((), (RUNNING + "Go on",))
    record.ask("That?").event("user_message", message="Sure").ask("This?").user("<new_host_text>")
    assert record.read(tmp_path).items["questions"] == ("This?",)


def test_rd_cx_9_newer_hosts_say_what_each_part_is(tmp_path: Path) -> None:
    kinds = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["goal.context"]}}
    record = Rollout().ask("Which?").user("Continue towards the goal", **kinds)
    assert record.read(tmp_path).items["questions"] == ("Which?",)
    item = {"type": "UserMessage", "content": [{"type": "text", "text": "This"}]}
    record.event("item_completed", thread_id="t", turn_id="t", item=item)
    assert record.read(tmp_path).items["questions"] == ()


def test_a_message_of_pictures_alone_is_a_message(tmp_path: Path) -> None:
    record = Rollout().ask("Which?").event("user_message", message="", images=["data:x"])
    assert record.read(tmp_path).items["next_steps"] == (RUNNING + NO_TEXT,)


def test_rd_cx_10_a_plan_is_a_decision_when_it_is_carried_out(tmp_path: Path) -> None:
    record = Rollout().said("Plan it").answer("<proposed_plan>\n# Plan\n</proposed_plan>")
    assert record.read(tmp_path).items["decisions"] == ()
    record.said("Implement the plan.")
    assert record.read(tmp_path).items["decisions"] == ("# Plan",)
    item = {"type": "Plan", "id": "1", "text": "# Other"}
    record.event("item_completed", thread_id="t", turn_id="t", item=item)
    record.said("Implement the plan.").said("Implement the plan.")
    assert record.read(tmp_path).items["decisions"] == ("# Plan", "# Other")
    fresh = Rollout().said("A previous agent produced the plan below.\n# Plan")
    assert fresh.read(tmp_path).items["decisions"] == ("# Plan",)


def test_rd_flow_1_what_was_taken_back_does_not_count(tmp_path: Path) -> None:
    record = Rollout().started().said("One").plan(("a", "pending")).answer("Done").complete()
    record.started().said("Two").plan(("b", "pending")).ask("Which?")
    record.event("thread_rolled_back", num_turns=1)
    reading = record.read(tmp_path)
    assert (todos(reading), reading.items["questions"]) == (["a"], ())
    assert reading.items["next_steps"] == ()
    assert "rolled_back" in codes(reading)
    assert todos(record.event("thread_rolled_back", num_turns=9).read(tmp_path)) == []


def test_rd_flow_2_a_lost_row_makes_unknown_what_it_could_have_held(tmp_path: Path) -> None:
    record = Rollout().started().said("One").plan(("a", "pending")).answer("Done").complete()
    record.raw(b'{"timestamp":"2026-11-30T18:15:55.980Z","ty\n')
    reading = record.read(tmp_path)
    assert reading.unknown == frozenset(FIELDS)
    assert todos(reading) == ["a"]
    assert record.plan(("b", "pending")).read(tmp_path).unknown == {
        "questions",
        "decisions",
        "next_steps",
    }
    assert record.said("Two").read(tmp_path).unknown == {"decisions"}
    record.shell("git commit -m x", ran("[main 1234567] x"))
    assert record.read(tmp_path).unknown == frozenset()
    assert "damaged_lines" in codes(record.read(tmp_path))


def test_rd_flow_2_a_plan_makes_no_goal_sure(tmp_path: Path) -> None:
    record = Rollout().call("get_goal", {}, goal("active")).raw(b"torn\n").plan(("a", "pending"))
    assert "todos" in record.read(tmp_path).unknown
    assert "todos" not in record.call("get_goal", {}, goal("active")).read(tmp_path).unknown


def test_rd_flow_3_a_turn_that_runs_is_a_next_step(tmp_path: Path) -> None:
    record = Rollout().started().said("Build")
    steps: tuple[Callable[[], Rollout], ...] = (
        lambda: record,
        lambda: record.answer("I look first", phase="commentary"),
        lambda: record.shell("ls"),
        lambda: record.item("reasoning", summary=[]),
        lambda: record.item("web_search_call", status="completed"),
        lambda: record.row("compacted", {"message": "", "replacement_history": []}),
    )
    for step in steps:
        assert step().read(tmp_path).items["next_steps"] == (RUNNING + "Build",)
    record.answer("Done")
    assert record.read(tmp_path).items["next_steps"] == ()
    record.event("user_message", message="And more")
    assert record.read(tmp_path).items["next_steps"] == (RUNNING + "And more",)
    assert record.complete().read(tmp_path).items["next_steps"] == ("And more",)


def test_rd_flow_3_how_a_compaction_by_hand_begins_is_no_running_turn(tmp_path: Path) -> None:
    record = Rollout().started().said("Build").answer("Done").complete().started()
    assert record.read(tmp_path).items["next_steps"] == ()
    content = [{"type": "output_text", "text": "A summary. Ready?"}]
    message = {"type": "message", "role": "assistant", "content": content}
    record.row("response_item", message, metadata={"compaction_output": True})
    reading = record.read(tmp_path)
    assert (reading.items["next_steps"], reading.items["questions"]) == ((), ())


def test_rd_flow_3_an_interrupted_turn_leaves_a_message_that_nothing_answered(
    tmp_path: Path,
) -> None:
    record = Rollout().started().said("Build").event("turn_aborted", reason="interrupted")
    assert record.read(tmp_path).items["next_steps"] == ("Build",)
    record.started().answer("So", None).event("turn_aborted", reason="interrupted")
    assert record.read(tmp_path).items["next_steps"] == ()


def test_rd_flow_3_in_a_record_without_marks_the_last_thing_decides(tmp_path: Path) -> None:
    record = Rollout().said("Build").answer("Done", phase=None)
    assert record.read(tmp_path).items["next_steps"] == ()
    assert record.shell("ls").read(tmp_path).items["next_steps"] == (RUNNING + "Build",)


def test_rd_flow_4_a_question_is_open_until_the_person_speaks(tmp_path: Path) -> None:
    for output in (None, '{"answers":{}}', "request_user_input is unavailable", '{"answers":[]}'):
        record = Rollout().started().said("Build").ask("Which?", output)
        assert record.read(tmp_path).items["questions"] == ("Which?",)
        assert record.said("That one").read(tmp_path).items["questions"] == ()
    record = Rollout().ask("Which?").ask("Which?", answered("A", "B"))
    reading = record.read(tmp_path)
    assert (reading.items["questions"], reading.items["decisions"]) == ((), ("Which? = A, B",))
    assert Rollout().call("request_user_input", "{torn").read(tmp_path).items["questions"] == (
        NO_TEXT,
    )


def test_rd_flow_4_a_last_text_that_asks_is_a_question(tmp_path: Path) -> None:
    record = Rollout().started().said("Build").answer("Shall I go on?**")
    assert record.complete().read(tmp_path).items["questions"] == ("Shall I go on?**",)
    assert record.shell("ls").read(tmp_path).items["questions"] == ()
    record.answer("Really?").said("Yes")
    assert record.read(tmp_path).items["questions"] == ()


@pytest.mark.parametrize(
    ("command", "output", "left"),
    [
        ("git commit -m x", ran("[main 1234567] x"), 0),
        ("git commit -q -m x", ran(""), 0),
        ("git commit -q -m x", ran("", 1), 1),
        ("git commit -m x", ran("nothing to commit, working tree clean", 0), 1),
        ("git commit -m x && git push", ran("[main 1234567] x\nfatal: no remote", 128), 0),
        ("git commit -m x", None, 1),
        ("echo git commit", ran(""), 0),
        ("echo 'git commit'", ran(""), 1),
        ("git init && git commit -m x", ran("[main 1234567] x"), 1),
        ("git commit -q", "text\nOutput:\nProcess exited with code 0", 1),
        ("git commit -q", '{"output":"","metadata":{"exit_code":0}}', 0),
    ],
)
def test_rd_flow_5_only_a_commit_that_succeeded_settles_decisions(
    command: str, output: str | None, left: int, tmp_path: Path
) -> None:
    record = Rollout().ask("Which?", answered("that")).shell(command, output)
    assert len(record.read(tmp_path).items["decisions"]) == left


def test_rd_flow_5_other_shells_commit_too(tmp_path: Path) -> None:
    for name, given in (
        ("shell", {"command": ["bash", "-lc", "git commit -m x"]}),
        ("shell", {"command": ["git", "commit", "-m", "x"]}),
        ("shell_command", {"command": "git commit -m x"}),
    ):
        record = Rollout().ask("Which?", answered("that")).call(name, given, "[main 1234567] x")
        assert record.read(tmp_path).items["decisions"] == ()
    record = Rollout().ask("Which?", answered("that"))
    action = {"type": "exec", "command": ["git", "commit", "-q"]}
    record.item("local_shell_call", call_id="c", status="completed", action=action)
    record.item("function_call_output", call_id="c", output={"content": "Exit code: 0\nx"})
    assert record.read(tmp_path).items["decisions"] == ()


def test_rd_flow_6_a_compaction_settles_nothing(tmp_path: Path) -> None:
    record = Rollout().started().said("Build").plan(*OPEN).ask("Which?", answered("A")).ask("That?")
    before = record.read(tmp_path)
    record.row("compacted", {"message": "All done", "replacement_history": []})
    record.event("context_compacted")
    after = record.read(tmp_path)
    assert after.items == before.items
    assert "compactions" in codes(after)


def test_records_of_2025_have_the_items_themselves_as_rows(tmp_path: Path) -> None:
    rows = [
        {"id": "old", "timestamp": "2025-05-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Build"}]},
        {"record_type": "state", "type": "state"},
        {"type": "reasoning", "summary": []},
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    reading = read(path)
    assert (reading.session, reading.unknown) == ("old", frozenset())
    assert reading.items["next_steps"] == (RUNNING + "Build",)


def test_several_rows_on_one_line_are_all_read(tmp_path: Path) -> None:
    record = Rollout(space=" ").event("token_count", info="x" * 900).plan(*OPEN)
    record.rows[1] = record.rows[1].rstrip(b"\n")
    reading = record.read(tmp_path)
    assert todos(reading) == ["Write parser", "Add tests"]
    assert "joined_lines" in codes(reading)


def test_a_list_or_arguments_in_another_form_are_read(tmp_path: Path) -> None:
    steps = json.dumps([{"step": "a", "status": "pending"}])
    reading = Rollout().call("update_plan", {"plan": steps}, "Plan updated").read(tmp_path)
    assert (todos(reading), codes(reading)) == (["a"], {"string_encoded"})
    record = Rollout()
    plan = {"plan": [{"step": "b", "status": "pending"}]}
    record.item("function_call", name="update_plan", arguments=plan, call_id="c")
    assert todos(record.read(tmp_path)) == ["b"]


def test_what_is_no_answer_and_no_command_is_passed_over(tmp_path: Path) -> None:
    record = Rollout().ask("Which?", '{"answers":{"q1":{"answers":[" "]},"q2":"B"}}')
    kept = {"type": "verified_answer", "call_id": "x", "questions": [{"question": "That?"}, 3]}
    record.row("retained_context", kept).row("retained_context", {"type": "other"})
    record.shell(3, "").call("shell", "[1]", "").item("message", role="developer", content="x")
    reading = record.read(tmp_path)
    assert (reading.items["questions"], reading.items["decisions"]) == (("Which?",), ("q2 = B",))
