"""Gemini CLI records, old and new. (SPEC RD-GEM)"""

import json
from pathlib import Path
from typing import Any

import pytest
from plain_record import FIELDS, HARNESSES, codes, knows_nothing, open_items, write

from verdict_core.errors import Unreadable
from verdict_core.readers.gemini_cli import read
from verdict_core.readers.reading import NO_TEXT, Reading

HEAD = {"sessionId": "s1", "projectHash": "h", "startTime": "t", "kind": "main"}
GO = {"id": "u1", "timestamp": "t", "type": "user", "content": [{"text": "go"}]}
DONE = {"id": "g9", "timestamp": "t", "type": "gemini", "content": "Done."}
TASK = {"description": "write it", "status": "pending"}
ASK = {"questions": [{"question": "Which?"}, {"question": "Where?"}]}


def model(name: str, text: str = "", *calls: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "timestamp": "t", "type": "gemini", "content": text, "toolCalls": calls}


def call(name: str, args: Any, status: str = "success", output: str = "", **more: Any) -> Any:
    response = {"functionResponse": {"name": name, "response": {"output": output}}}
    return {"id": "c", "name": name, "args": args, "status": status, "result": [response], **more}


def test_the_lines_of_a_record_are_read(tmp_path: Path) -> None:
    """RD-GEM-1."""
    wrote = model("g1", "", call("write_todos", {"todos": [TASK, {**TASK, "status": "completed"}]}))
    found = read(write(tmp_path / "r", HEAD, GO, wrote, DONE))
    assert open_items(found) == {"todos": ["write it"]}
    assert (found.session, set(found.unknown), found.reader) == ("s1", set(), "gemini-cli")


def test_the_record_of_a_sub_agent_is_called_one(tmp_path: Path) -> None:
    """todo-03: its empty list says nothing of its parent's, which stands in another record."""
    found = read(write(tmp_path / "r", {**HEAD, "kind": "subagent"}, GO, DONE))
    assert codes(found) == ["subagent"]


@pytest.mark.parametrize("indent", [1, None])
def test_the_older_single_object_is_read_too(tmp_path: Path, indent: int | None) -> None:
    """RD-GEM-1."""
    messages = [GO, model("g1", "", call("write_todos", {"todos": [TASK]})), DONE]
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**HEAD, "messages": messages}, indent=indent))
    found = read(path)
    assert open_items(found) == {"todos": ["write it"]}
    assert (found.session, set(found.unknown)) == ("s1", set())


def test_of_an_older_record_that_was_cut_off_the_head_is_read(tmp_path: Path) -> None:
    """RD-GEM-1."""
    messages = [GO, model("g1", "", call("write_todos", {"todos": [TASK]})), DONE]
    text = json.dumps({**HEAD, "messages": messages}, indent=1)
    path = tmp_path / "r.json"
    path.write_text(text[: text.index("Done")])
    found = read(path)
    assert open_items(found)["todos"] == ["write it"]
    assert found.unknown == set(FIELDS)
    assert codes(found) == ["damaged_lines"]


def test_an_older_record_that_is_no_json_at_all_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(b"{\n\x00\x00 nonsense")
    assert knows_nothing(read(path))


def test_messages_without_an_id_are_all_read(tmp_path: Path) -> None:
    messages = [{"type": "user", "content": "go"}, {"type": "gemini", "content": "Shall I?"}]
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**HEAD, "messages": messages}, indent=1))
    assert open_items(read(path)) == {"questions": ["Shall I?"]}


def test_of_the_records_with_one_id_the_last_counts_in_the_place_of_the_first(
    tmp_path: Path,
) -> None:
    """RD-GEM-2."""
    wrote = model("g1", "Shall I?", call("write_todos", {"todos": [TASK]}))
    rows = [HEAD, GO, model("g1", "Shall I?"), {**GO, "id": "u2"}, DONE, wrote]
    assert open_items(read(write(tmp_path / "r", *rows))) == {"todos": ["write it"]}


def test_what_was_rewound_never_happened(tmp_path: Path) -> None:
    """RD-GEM-3."""
    wrote = model("g1", "", call("write_todos", {"todos": [TASK]}))
    later = [{**GO, "id": "u2"}, model("g2", "", call("write_todos", {"todos": []}))]
    rows = [HEAD, GO, wrote, DONE, *later]
    assert open_items(read(write(tmp_path / "r", *rows))) == {"next_steps": ["(running) go"]}
    found = read(write(tmp_path / "r", *rows, {"$rewindTo": "u2"}))
    assert open_items(found) == {"todos": ["write it"]}
    assert knows_nothing(read(write(tmp_path / "r", *rows, {"$rewindTo": "nobody"})))


def test_a_history_that_was_cut_to_a_summary_still_happened(tmp_path: Path) -> None:
    """RD-GEM-4."""
    wrote = model("g1", "", call("write_todos", {"todos": [TASK]}))
    asked = model("g2", "Shall I push?")
    summary = {**GO, "id": "x", "content": "<state_snapshot>so far</state_snapshot>"}
    cut = {"$set": {"messages": [summary, model("y", "Got it.")], "lastUpdated": "t"}}
    found = read(write(tmp_path / "r", HEAD, GO, wrote, asked, cut))
    assert open_items(found) == {"todos": ["write it"], "questions": ["Shall I push?"]}


def test_a_list_of_messages_at_the_beginning_is_the_history(tmp_path: Path) -> None:
    found = read(write(tmp_path / "r", HEAD, {"$set": {"messages": [GO, model("g", "So?")]}}))
    assert open_items(found) == {"questions": ["So?"]}


@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_a_list_whose_call_failed_changes_nothing(tmp_path: Path, status: str) -> None:
    """RD-GEM-5."""
    wrote = model("g1", "", call("write_todos", {"todos": [TASK]}))
    failed = model("g2", "", call("write_todos", {"todos": []}, status))
    assert open_items(read(write(tmp_path / "r", GO, wrote, failed, DONE)))["todos"] == ["write it"]


def test_tasks_of_the_tracker_lie_outside_the_record(tmp_path: Path) -> None:
    """RD-GEM-5."""
    tracked = model("g1", "", call("tracker_create_task", {"title": "t"}))
    found = read(write(tmp_path / "r", GO, tracked, DONE))
    assert (set(found.unknown), codes(found)) == ({"todos"}, ["tracker_tasks"])


def asked(tmp_path: Path, status: str, output: str) -> Reading:
    return read(
        write(tmp_path / "r", GO, model("g1", "", call("ask_user", ASK, status, output)), DONE)
    )


@pytest.mark.parametrize(
    ("status", "output"),
    [
        ("success", "User dismissed ask_user dialog without answering."),
        ("success", '{"answers":{}}'),
        ("success", '{"answers":{"7":"far","x":"y"}}'),
        ("cancelled", '{"answers":{"0":"a","1":"b"}}'),
        ("awaiting_approval", ""),
    ],
)
def test_a_question_without_an_answer_is_open(tmp_path: Path, status: str, output: str) -> None:
    """RD-GEM-6."""
    found = asked(tmp_path, status, output)
    assert open_items(found)["questions"] == ["Which?", "Where?"]
    assert "decisions" not in open_items(found)


def test_an_answered_question_is_a_decision(tmp_path: Path) -> None:
    """RD-GEM-6."""
    found = asked(tmp_path, "success", '{"answers":{"1":"here","0":" "}}')
    assert open_items(found) == {"questions": ["Which?"], "decisions": ["Where? = here"]}


def test_questions_that_cannot_be_read_are_one_without_text(tmp_path: Path) -> None:
    wrote = model("g1", "", call("ask_user", {}, "executing"))
    assert open_items(read(write(tmp_path / "r", GO, wrote, DONE))) == {"questions": [NO_TEXT]}


@pytest.mark.parametrize(
    ("shown", "decisions"),
    [("Plan approved: /p/plan.md", ["plan.md"]), ("Rejected (no feedback)", [])],
)
def test_a_plan_is_a_decision_where_it_was_approved(
    tmp_path: Path, shown: str, decisions: list[str]
) -> None:
    """RD-GEM-6."""
    plan = call("exit_plan_mode", {"plan_filename": "plan.md"}, resultDisplay=shown)
    found = read(write(tmp_path / "r", GO, model("g1", "", plan), DONE))
    assert open_items(found).get("decisions", []) == decisions


def test_a_commit_settles_the_decisions(tmp_path: Path) -> None:
    answered = model("g1", "", call("ask_user", ASK, output='{"answers":{"0":"a","1":"b"}}'))
    commit = model("g2", "", call("run_shell_command", {"command": "git commit -m x"}, output="ok"))
    assert open_items(read(write(tmp_path / "r", GO, answered, commit, DONE))) == {}
    scratch = {"command": "git init d && git -C d commit -m x"}
    for other in (call("run_shell_command", scratch), call("run_shell_command", {}, "error")):
        found = read(write(tmp_path / "r", GO, answered, model("g2", "", other), DONE))
        assert open_items(found) == {"decisions": ["Which? = a", "Where? = b"]}


@pytest.mark.parametrize("text", ["/compress", "?", "<session_context>\nx", "<hook_context>x", " "])
def test_the_hosts_own_words_are_no_message(tmp_path: Path, text: str) -> None:
    """RD-GEM-7."""
    found = read(
        write(tmp_path / "r", GO, model("g", "Shall I?"), {**GO, "id": "u2", "content": text})
    )
    assert open_items(found) == {"questions": ["Shall I?"]}


def test_calls_that_were_all_cancelled_end_the_turn(tmp_path: Path) -> None:
    one, other = call("replace", {}, "cancelled"), call("replace", {}, "success")
    assert open_items(read(write(tmp_path / "r", GO, model("g1", "", one, one)))) == {}
    found = read(write(tmp_path / "r", GO, model("g1", "", one, other)))
    assert open_items(found) == {"next_steps": ["(running) go"]}


def test_a_record_that_is_not_there_is_unknown_or_refused(tmp_path: Path) -> None:
    """RD-FMT-3."""
    assert knows_nothing(read(tmp_path / "absent"))
    with pytest.raises(Unreadable) as caught:
        read(tmp_path / "absent", named=True)
    assert caught.value.path == str(tmp_path / "absent")


def test_the_real_records_are_over_and_leave_nothing_open() -> None:
    for file in sorted((HARNESSES / "gemini-cli").iterdir()):
        found = read(file)
        assert open_items(found) == {}
        assert found.unknown == (set(FIELDS) if "tiny" in file.name else set())
