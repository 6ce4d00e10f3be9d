"""Records that hold no todo state: Copilot CLI and Cursor. (SPEC RD-CP)"""

from pathlib import Path
from typing import Any

import pytest
from plain_record import HARNESSES, knows_nothing, open_items, write

from verdict_core.readers import copilot_cli, cursor

ASK = {"question": "Which?", "choices": ["a", "b"]}


def row(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "e", "timestamp": "t", "parentId": None}


def calls(name: str, arguments: Any, text: str = "") -> dict[str, Any]:
    request = {"toolCallId": "c1", "name": name, "arguments": arguments}
    return row("assistant.message", content=text, toolRequests=[request])


def done(output: str, success: bool = True) -> dict[str, Any]:
    return row(
        "tool.execution_complete", toolCallId="c1", success=success, result={"content": output}
    )


START = row("session.start", sessionId="s1", version=1)
GO = row("user.message", content="go", attachments=[])
SO = row("assistant.message", content="So.", toolRequests=[])


def test_a_copilot_record_has_no_todos_and_says_so(tmp_path: Path) -> None:
    """RD-FMT-6."""
    found = copilot_cli.read(write(tmp_path / "r", START, GO, SO))
    assert (open_items(found), found.session) == ({}, "s1")
    assert found.unknown == {"todos", "decisions"}
    nobody = row("session.start", version=1)
    assert copilot_cli.read(write(tmp_path / "r", nobody, GO, SO)).session is None


def test_where_a_copilot_turn_stands(tmp_path: Path) -> None:
    """RD-FMT-4."""
    running = {"next_steps": ["(running) go"]}
    start = row("tool.execution_start", toolCallId="c1", toolName="bash", arguments={})
    end = row("assistant.turn_end", turnId="1")
    for rows in ([GO], [GO, calls("bash", {}, "So.")], [GO, SO, start, end], [GO, SO, done("ok")]):
        assert open_items(copilot_cli.read(write(tmp_path / "r", *rows))) == running
    found = copilot_cli.read(write(tmp_path / "r", GO, start, row("abort", reason="user")))
    assert open_items(found) == {}
    asks = row("assistant.message", content="Shall I push?")
    found = copilot_cli.read(write(tmp_path / "r", GO, asks, end))
    assert open_items(found) == {"questions": ["Shall I push?"]}


@pytest.mark.parametrize("arguments", [ASK, '{"question": "Which?"}'])
def test_a_question_is_open_until_it_has_a_result(tmp_path: Path, arguments: Any) -> None:
    """RD-CP-1: a call is told twice, and is one question."""
    started = row("tool.execution_start", toolCallId="c1", toolName="ask_user", arguments=arguments)
    rows = [GO, calls("ask_user", arguments), started]
    for more in ([], [done("no", success=False)], [done(" ")]):
        found = copilot_cli.read(write(tmp_path / "r", *rows, *more, SO))
        assert open_items(found) == {"questions": ["Which?"]}
    found = copilot_cli.read(write(tmp_path / "r", *rows, done("a"), SO))
    assert open_items(found) == {"decisions": ["Which? = a"]}


def test_a_commit_settles_an_answer(tmp_path: Path) -> None:
    """RD-FMT-6: what is known of an unknown field stands, until it is settled."""
    answered = [GO, calls("ask_user", ASK), done("a")]
    commit = calls("bash", {"command": "git commit -m x"})
    commit["data"]["toolRequests"][0]["toolCallId"] = "c2"
    ended = done("[main 1a2b3c4] x")
    ended["data"]["toolCallId"] = "c2"
    found = copilot_cli.read(write(tmp_path / "r", *answered, commit, ended, SO))
    assert (open_items(found), set(found.unknown)) == ({}, {"todos", "decisions"})


@pytest.mark.parametrize("member", ["parentToolCallId", "parentAgentTaskId"])
def test_a_sub_agents_rows_do_not_count(tmp_path: Path, member: str) -> None:
    """RD-CP-1."""
    asks = row("assistant.message", content="Shall I push?")
    side = row("user.message", content="look", **{member: "c9"})
    found = copilot_cli.read(write(tmp_path / "r", GO, asks, side))
    assert open_items(found) == {"questions": ["Shall I push?"]}


COPILOT = {
    "cp_cli_1.0.45_events.jsonl": ["(running) text 10c797d2"],
    "cp_vscode_transcript_stream.jsonl": ["(running) text 89cd2328"],
    "fx_events_large.jsonl": ["(running) text 394c36dd"],
    "fx_events_small.jsonl": ["(running) text 6ff13f88"],
}


@pytest.mark.parametrize("name", COPILOT)
def test_a_real_copilot_record_is_read(name: str) -> None:
    """RD-FMT-6."""
    found = copilot_cli.read(HARNESSES / "copilot" / name)
    assert open_items(found) == {"next_steps": COPILOT[name]}
    assert found.unknown == {"todos", "decisions"}


def test_a_chat_of_the_editor_is_no_record_of_the_command_line() -> None:
    """RD-FMT-3."""
    assert knows_nothing(copilot_cli.read(HARNESSES / "copilot" / "cp_vscode_chatsession.jsonl"))


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


USE = {"type": "tool_use", "name": "Read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": []}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([said("user", text("go"))], {"next_steps": ["(running) go"]}),
        ([said("user", text("go")), said("assistant", text("So."), USE)],
         {"next_steps": ["(running) go"]}),
        ([said("user", text("go")), said("assistant", USE), said("user", RESULT)],
         {"next_steps": ["(running) go"]}),
        ([said("user", text("go")), said("assistant", USE, text(" "), text("Shall I?"))],
         {"questions": ["Shall I?"]}),
        ([{"role": "user", "message": {"content": "go"}}, said("assistant", "So.")], {}),
    ],
)  # fmt: skip
def test_where_a_cursor_turn_stands(
    tmp_path: Path, rows: list[Any], expected: dict[str, list[str]]
) -> None:
    """RD-FMT-4, RD-FMT-6."""
    found = cursor.read(write(tmp_path / "r", *rows))
    assert (open_items(found), set(found.unknown)) == (expected, {"todos", "decisions"})


CURSOR: dict[str, dict[str, list[str]]] = {
    "cur_real_redacted.jsonl": {},
    "fx_large.jsonl": {},
    "fx_subagent_child.jsonl": {},
    "fx_subagent_parent.jsonl": {"next_steps": ["(running) text 1d2e9fdb"]},
}


@pytest.mark.parametrize("name", CURSOR)
def test_a_real_cursor_record_is_read(name: str) -> None:
    """RD-FMT-6."""
    found = cursor.read(HARNESSES / "cursor" / name)
    assert (open_items(found), set(found.unknown)) == (CURSOR[name], {"todos", "decisions"})
