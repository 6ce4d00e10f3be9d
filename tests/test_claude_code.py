"""A Claude Code record as a reading, rule by rule. (SPEC RD-CC)

Every record here is read twice, with and without skimming, and must say the same.
"""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verdict_core.context import Summary
from verdict_core.errors import Unreadable
from verdict_core.readers import claude_code, claude_find
from verdict_core.readers.claude_code import FIELDS, find_newest, read
from verdict_core.readers.claude_events import Listener
from verdict_core.readers.claude_find import slug
from verdict_core.readers.claude_skim import Skimmer
from verdict_core.readers.reading import NO_TEXT, Reading, combine

RUNNING = "(running) "
WORDLESS = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). STOP what you are doing and wait"
    " for the user to tell you how to proceed."
)
WORDED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you"
    " how to proceed, the user said:\n"
)
CLARIFY = WORDED + "The user wants to clarify these questions.\n    This means they may ask."
INTERRUPTED = "[Request interrupted by user for tool use]"


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


class Record:
    """Rows as the real program writes them; `tip` is the row that the next one hangs on."""

    def __init__(self, tmp_path: Path, *, parent: str | None = None) -> None:
        self.path = tmp_path / "record.jsonl"
        self.lines: list[bytes] = []
        self.tip = parent
        self.count = 0
        self.answer = 0

    def row(self, kind: str, *, side: bool = False, **members: Any) -> str:
        """A row on the tip; `parentUuid` and `uuid` can be given."""
        self.count += 1
        own = {
            "uuid": uid(self.count),
            "timestamp": f"2026-03-01T10:{self.count // 60:02d}:{self.count % 60:02d}.000Z",
        }
        row = {
            "parentUuid": self.tip,
            "isSidechain": side,
            "userType": "external",
            "cwd": "/w/project",
            "sessionId": "session-1",
            "version": "2.1.100",
            "type": kind,
        } | members
        # The order of members is the real one: it differs with the kind.
        if kind == "assistant":
            row["type"] = row.pop("type")
        use = {"toolUseResult": row.pop("toolUseResult")} if "toolUseResult" in row else {}
        row |= own | {key: row.pop(key) for key in own if key in row} | use
        self.raw(row)
        self.tip = row["uuid"]
        return str(self.tip)

    def raw(self, row: object) -> None:
        self.damage(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def damage(self, line: bytes = b'{"parentUuid":"torn\n') -> None:
        self.lines.append(line)

    def person(self, text: Any, **members: Any) -> str:
        return self.row("user", message={"role": "user", "content": text}, **members)

    def block(self, block: dict[str, Any], *, answer: str = "", **members: Any) -> str:
        self.answer += 1
        message = {
            "model": "claude-x",
            "id": answer or f"msg_{self.answer}",
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": members.pop("stop", None),
        }
        return self.row("assistant", message=message | members.pop("message", {}), **members)

    def says(self, text: str, **members: Any) -> str:
        return self.block({"type": "text", "text": text}, **members)

    def thinks(self, **members: Any) -> str:
        return self.block({"type": "thinking", "thinking": "hm", "signature": "s"}, **members)

    def call(self, name: str, given: Any = None, *, id: str = "", **members: Any) -> str:
        """A call without its result; returns its id."""
        call = id or f"toolu_{self.count + 1}"
        self.block({"type": "tool_use", "id": call, "name": name, "input": given or {}}, **members)
        return call

    def result(
        self, call: str, text: Any = "done", use: Any = None, failed: Any = None, **members: Any
    ) -> str:
        block = {"tool_use_id": call, "type": "tool_result", "content": text}
        if failed is not None:
            block["is_error"] = failed
        message = {"role": "user", "content": [block]}
        return self.row("user", message=message, toolUseResult=use, **members)

    def calls(self, name: str, given: Any = None, *result: Any, **members: Any) -> str:
        """A call and its result: text, structured form, whether it failed. `members` are those of
        both rows."""
        call = self.call(name, given, **members)
        self.result(call, *result, **members)
        return call

    def todos(self, *todos: tuple[str, Any], **members: Any) -> str:
        rows = [{"content": text, "status": how, "activeForm": "x"} for text, how in todos]
        return self.calls("TodoWrite", {"todos": rows}, "Todos have been modified", **members)

    def task(self, number: Any, subject: Any = "", **members: Any) -> str:
        use = {"task": {"id": str(number), "subject": subject}}
        given = {"subject": subject, "description": "d"}
        return self.calls("TaskCreate", given, f"Task #{number} created successfully", use)

    def update(self, number: Any, result: str = "Updated", use: Any = None, **given: Any) -> str:
        use = {"success": True, "taskId": str(number)} if use is None else use
        return self.calls("TaskUpdate", {"taskId": number, **given}, result, use)

    def task_list(self, *tasks: tuple[str, str, str]) -> str:
        rows = [{"id": i, "subject": s, "status": how, "blockedBy": []} for i, s, how in tasks]
        return self.calls("TaskList", {}, "list", {"tasks": rows})

    def attach(self, kind: str, **members: Any) -> str:
        return self.row("attachment", attachment={"type": kind, **members})

    def reminds(self, *tasks: tuple[str, str, str]) -> str:
        rows = [{"id": i, "subject": s, "status": how} for i, s, how in tasks]
        return self.attach("task_reminder", content=rows, itemCount=len(rows))

    def asks(self, *questions: str, answers: Any = None, result: str = "answered") -> str:
        given = {"questions": [{"question": q, "header": "h", "options": []} for q in questions]}
        use = {"questions": given["questions"], "answers": answers or {}}
        return self.calls("AskUserQuestion", given, result, use)

    def rejects(self, *questions: str, text: str = WORDLESS) -> str:
        given = {"questions": [{"question": q, "header": "h", "options": []} for q in questions]}
        return self.calls("AskUserQuestion", given, text, "User rejected tool use", True)

    def plan(self, plan: Any, *result: Any) -> str:
        result = result or ("User has approved your plan.", {"plan": plan, "filePath": "/p.md"})
        return self.calls("ExitPlanMode", {"plan": plan}, *result)

    def bash(self, command: str, output: str = "", failed: bool = False, **use: Any) -> str:
        value = {"stdout": output, "stderr": "", "interrupted": False, **use}
        return self.calls("Bash", {"command": command}, output, value, failed)

    def commit(self, output: str = "[main 1a2b3c4] work\n 1 file changed") -> str:
        return self.bash("git commit -m 'work'", output)

    def boundary(self, logical: str | None = None) -> str:
        self.row(
            "system",
            parentUuid=None,
            logicalParentUuid=logical,
            subtype="compact_boundary",
            content="Conversation compacted",
            compactMetadata={"trigger": "auto", "preTokens": 1},
        )
        return self.person("This session is being continued", isCompactSummary=True)

    def queue(self, operation: str, content: str | None = None) -> None:
        row = {"type": "queue-operation", "operation": operation, "timestamp": "t"}
        self.raw(row if content is None else row | {"content": content})

    def write(self) -> Path:
        self.path.write_bytes(b"".join(self.lines))
        return self.path

    def read(self) -> Reading:
        path = self.write()
        readings = []
        with pytest.MonkeyPatch.context() as patch:
            for short in (0, 1 << 40):
                patch.setattr(claude_code, "_SHORT", short)
                readings.append(read(path, named=True))
        assert readings[0] == readings[1]
        return readings[0]

    def items(self, name: str) -> list[str]:
        """The items of a field that is known."""
        reading = self.read()
        assert name not in reading.unknown
        return list(reading.items[name])

    def unknown(self) -> list[str]:
        return sorted(self.read().unknown)

    def notes(self) -> dict[str, str]:
        return {note.code: note.text for note in self.read().notes}


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """A record with one message of the person."""
    record = Record(tmp_path)
    record.person("begin")
    return record


# What cannot be read


def test_a_record_that_is_not_there_leaves_every_field_unknown(tmp_path: Path) -> None:
    """RD-CC-1."""
    reading = read(tmp_path / "forked.jsonl")
    assert reading.unknown == frozenset(FIELDS)
    assert reading.items == dict.fromkeys(FIELDS, ())
    assert reading.session is None
    assert [note.code for note in reading.notes] == ["record_missing"]


def test_a_record_that_the_person_named_must_be_there(tmp_path: Path) -> None:
    """RD-CC-1."""
    path = tmp_path / "named.jsonl"
    with pytest.raises(Unreadable) as caught:
        read(path, named=True)
    assert caught.value.path == str(path)
    assert caught.value.code == "unreadable"


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("a\0b")):
        assert read(path).unknown == frozenset(FIELDS)
        with pytest.raises(Unreadable):
            read(path, named=True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"{}\n",
        b"not a record\n",
        b'{"type":"summary","summary":"s","leafUuid":"x"}\n{"type":"file-history-snapshot"}\n',
        b'{"type":"queue-operation","operation":"enqueue","content":"x"}\n',
        b'{"type":"progress","uuid":"u","parentUuid":null,"data":{}}\n',
        b'{"type":"new-kind","message":{"content":"x"}}\n',
    ],
)
def test_a_record_without_rows_that_we_know_is_unknown_and_not_empty(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "record.jsonl"
    path.write_bytes(data)
    reading = read(path, named=True)
    assert reading.unknown == frozenset(FIELDS)
    codes = [note.code for note in reading.notes]
    assert codes == ["no_rows"] + ["damaged_lines"] * data.startswith(b"not")


def test_a_record_of_sidechain_rows_alone_speaks_for_no_session(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.person("task", side=True)
    record.todos(("a", "pending"), side=True)
    reading = record.read()
    assert reading.unknown == frozenset(FIELDS)
    assert reading.items["todos"] == ()


def test_a_record_with_nothing_left_open_is_known_to_be_empty(record: Record) -> None:
    record.says("Done.")
    reading = record.read()
    assert reading.unknown == frozenset()
    assert reading.items == dict.fromkeys(FIELDS, ())
    assert reading.reader == "claude-code"
    assert reading.session == "session-1"


def test_the_session_and_the_last_timestamp_are_those_of_the_last_row(record: Record) -> None:
    record.says("Done.", sessionId="session-2", timestamp="2026-03-01T11:00:00.000Z")
    record.person("side", side=True, sessionId="other", timestamp="2026-03-01T12:00:00.000Z")
    assert record.read().session == "session-2"
    assert record.notes() == {
        "sidechain_rows": "rows of sub-agents left out: 1",
        "last_timestamp": "2026-03-01T11:00:00.000Z",
    }


def test_rows_without_session_or_time_take_nothing_away(record: Record) -> None:
    record.says("Done.", sessionId=None, timestamp=None)
    assert record.read().session == "session-1"


# Which rows are alive


def test_a_rewound_branch_does_not_count(record: Record) -> None:
    """RD-CC-3."""
    start = record.tip
    record.person("first try")
    record.todos(("dead", "pending"))
    record.says("Dead?")
    record.tip = start
    record.person("second try")
    record.says("Done.")
    assert record.items("todos") == []
    assert record.items("questions") == []
    assert record.notes()["rows_off_branch"] == "rows off the live branch: 4"


def test_a_row_whose_parent_is_missing_is_joined_to_the_row_before_it(record: Record) -> None:
    """RD-CC-3."""
    record.todos(("kept", "pending"))
    record.says("Done.", parentUuid=uid(999))
    assert record.items("todos") == ["kept"]
    assert record.notes()["parent_missing"] == "rows joined to the row before them: 1"


def test_the_row_before_is_never_a_sidechain_row(record: Record) -> None:
    record.todos(("kept", "pending"))
    record.tip = None
    record.todos(("side", "pending"), side=True)
    record.says("Done.", parentUuid=uid(999))
    assert record.items("todos") == ["kept"]


@pytest.mark.parametrize("logical", [uid(999), None])
def test_a_compaction_settles_nothing_whatever_parent_it_names(
    record: Record, logical: str | None
) -> None:
    """RD-CC-12."""
    record.todos(("kept", "pending"))
    record.plan("The plan")
    record.says("So far.")
    record.boundary(logical)
    record.says("On we go.")
    assert record.items("todos") == ["kept"]
    assert record.items("decisions") == ["The plan"]
    assert record.notes()["compactions"] == "compactions in the record: 1"


def test_a_compaction_follows_its_logical_parent(record: Record) -> None:
    record.todos(("kept", "pending"))
    leaf = record.says("So far.")
    record.tip = uid(1)
    record.todos(("dead", "pending"))
    record.boundary(leaf)
    assert record.items("todos") == ["kept"]


def test_a_boundary_can_be_the_leaf(record: Record) -> None:
    record.todos(("kept", "pending"))
    record.says("So far.")
    record.boundary(record.tip)
    record.lines.pop()
    assert record.items("todos") == ["kept"]
    assert record.items("next_steps") == []


def test_a_row_without_any_parent_begins_a_conversation(record: Record) -> None:
    """RD-CC-4."""
    record.todos(("old", "pending"))
    record.plan("Old plan")
    record.says("Old?")
    record.tip = None
    record.person("new")
    record.says("Done.")
    reading = record.read()
    assert reading.items == dict.fromkeys(FIELDS, ())
    assert reading.unknown == frozenset()
    assert record.notes()["conversation_restarted"] == "nothing before row 7 counts"
    assert record.notes()["rows_off_branch"] == "rows off the live branch: 6"


def test_rows_before_a_new_conversation_stay_dead_even_with_a_live_answers_id(
    record: Record,
) -> None:
    record.todos(("old", "pending"), answer="msg_same")
    record.tip = None
    record.person("new")
    record.says("Done.", answer="msg_same")
    assert record.items("todos") == []


def test_a_first_row_whose_parent_is_missing_makes_a_slice(tmp_path: Path) -> None:
    """RD-CC-2."""
    record = Record(tmp_path, parent=uid(999))
    record.row("system", subtype="stop_hook_summary")
    record.person("go on")
    record.says("Done.")
    assert record.unknown() == ["decisions", "todos"]
    assert "starts_mid_session" in record.notes()
    assert "conversation_restarted" not in record.notes()


def test_a_slice_is_known_again_where_the_record_itself_makes_it_sure(tmp_path: Path) -> None:
    record = Record(tmp_path, parent=uid(999))
    record.says("go on")
    assert record.unknown() == ["decisions", "next_steps", "questions", "todos"]
    record.todos(("a", "pending"))
    assert record.unknown() == ["decisions", "next_steps", "questions"]
    record.commit()
    assert record.unknown() == ["next_steps", "questions"]
    record.person("next")
    record.says("Done.")
    assert record.unknown() == []


def test_blocks_of_a_live_answer_are_live_and_so_are_results_of_live_calls(record: Record) -> None:
    """RD-CC-5."""
    first = record.call("TaskCreate", {"subject": "one"}, answer="msg_p")
    one = record.tip
    second = record.call("TaskCreate", {"subject": "two"}, answer="msg_p")
    two = record.tip
    # The block of a third call hangs beside the chain as well.
    third = record.call("TaskCreate", {"subject": "three"}, answer="msg_p", parentUuid=one)
    for number, (call, parent) in enumerate([(first, one), (third, record.tip), (second, two)], 1):
        record.tip = parent
        record.result(call, f"Task #{number} created successfully: x")
    record.says("Done.")
    assert record.items("todos") == ["one", "two", "three"]
    assert "rows_off_branch" not in record.notes()


def test_a_result_can_stand_before_its_call(record: Record) -> None:
    start = record.tip
    record.result("toolu_x", "Task #1 created successfully: x", uuid=uid(50), parentUuid=uid(51))
    record.tip = start
    record.call("TaskCreate", {"subject": "one"}, id="toolu_x", uuid=uid(51))
    record.tip = uid(50)
    record.says("Done.")
    assert record.items("todos") == ["one"]
    assert "parent_missing" not in record.notes()
    assert "rows_off_branch" not in record.notes()


def test_a_result_of_no_call_at_all_changes_nothing(record: Record) -> None:
    record.result("toolu_nowhere", "Task #1 created successfully: x")
    record.says("Done.")
    assert record.items("todos") == []


def test_a_result_of_a_dead_call_is_dead(record: Record) -> None:
    start = record.tip
    record.calls("TaskCreate", {"subject": "dead"}, "Task #1 created successfully: dead")
    record.tip = start
    record.says("Done.")
    assert record.items("todos") == []


def test_a_circle_of_parents_ends_and_kills_nothing_before_it(record: Record) -> None:
    record.todos(("kept", "pending"))
    record.says("a", uuid=uid(60), parentUuid=uid(61))
    record.says("b", uuid=uid(61), parentUuid=uid(60))
    assert record.items("todos") == ["kept"]


def test_a_row_that_is_its_own_parent_is_joined(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.says("a", uuid=uid(1), parentUuid=uid(1))
    assert record.read().items["todos"] == ()
    assert "starts_mid_session" in record.notes()


def test_what_hangs_behind_the_leaf_counts(record: Record) -> None:
    record.calls("Bash", {"command": "ls"})
    record.attach("total_tokens_reminder")
    record.reminds(("1", "from the host", "pending"))
    record.row("attachment", side=True, attachment={"type": "task_reminder", "content": []})
    assert record.items("todos") == ["from the host"]


def test_what_hangs_behind_the_leaf_on_a_dead_row_does_not_count(record: Record) -> None:
    start = record.tip
    dead = record.says("dead")
    record.tip = start
    record.says("Done.")
    record.tip = dead
    record.reminds(("1", "dead", "pending"))
    assert record.items("todos") == []


def test_todo_03_a_sub_agents_list_says_nothing_about_its_parents(record: Record) -> None:
    """RD-CC-6."""
    record.todos(("1", "pending"), ("2", "in_progress"))
    record.says("Started.")
    record.tip = None
    record.person("sub-task", side=True)
    record.todos(side=True)
    record.todos(("child", "pending"), side=True)
    assert record.items("todos") == ["1", "2"]
    assert record.notes()["sidechain_rows"] == "rows of sub-agents left out: 5"


def test_sidechain_questions_decisions_and_messages_do_not_count(record: Record) -> None:
    record.says("Shall I?")
    tip = record.tip
    record.tip = None
    record.person("sub-task", side=True)
    record.calls("ExitPlanMode", {"plan": "p"}, "ok", {"plan": "p"}, side=True)
    record.says("Sub?", side=True)
    record.tip = tip
    assert record.items("questions") == ["Shall I?"]
    assert record.items("decisions") == []
    assert record.items("next_steps") == []


def test_a_chain_through_a_sidechain_row_does_not_make_it_count(record: Record) -> None:
    record.todos(("side", "pending"), side=True)
    record.says("Done.")
    assert record.items("todos") == []


def test_calls_nested_in_progress_do_not_count(record: Record) -> None:
    call = record.call("Task", {"prompt": "p"})
    todo = {"todos": [{"content": "nested", "status": "pending"}]}
    use = {"type": "tool_use", "id": "toolu_n", "name": "TodoWrite", "input": todo}
    nested = {"type": "assistant", "uuid": uid(900), "message": {"id": "m", "content": [use]}}
    record.row("progress", data={"type": "agent_progress", "message": nested}, toolUseID="t")
    record.result(call)
    record.says("Done.")
    assert record.items("todos") == []


def test_copies_of_messages_in_other_rows_do_not_count(record: Record) -> None:
    record.says("Done.")
    content = [{"type": "text", "text": "What now?"}]
    record.raw({"type": "api-request-blob", "message": {"role": "user", "content": content}})
    record.raw({"type": "last-prompt", "lastPrompt": "What now?", "leafUuid": record.tip})
    assert record.read().items == dict.fromkeys(FIELDS, ())


def test_rows_without_ids_are_joined_where_they_stand(record: Record) -> None:
    record.raw({"type": "assistant", "message": {"content": "Bare?"}, "parentUuid": uid(999)})
    assert record.items("questions") == ["Bare?"]


@pytest.mark.parametrize("message", [None, "text", [], {}, {"content": None}, {"content": [3]}])
def test_a_message_of_another_shape_says_nothing(record: Record, message: object) -> None:
    record.says("Done.")
    record.row("user", message=message)
    record.row("assistant", message=message)
    record.row("attachment", attachment=message)
    reading = record.read()
    assert reading.items["todos"] == reading.items["questions"] == ()


# Todos


def test_the_last_todo_list_counts(record: Record) -> None:
    record.todos(("a", "pending"), ("b", "pending"))
    record.todos(("a", "completed"), ("b", "in_progress"), ("c", "cancelled"), ("d", "deleted"))
    assert record.items("todos") == ["b"]


def test_a_todo_list_whose_call_failed_changes_nothing(record: Record) -> None:
    """RD-CC-7."""
    record.todos(("a", "pending"))
    record.calls("TodoWrite", {"todos": []}, "<tool_use_error>InputValidationError", "e", True)
    assert record.items("todos") == ["a"]


def test_a_todo_list_that_has_no_result_yet_counts(record: Record) -> None:
    record.todos(("a", "pending"))
    record.call("TodoWrite", {"todos": [{"content": "b", "status": "pending"}]})
    assert record.items("todos") == ["b"]


def test_unknown_statuses_and_plain_strings_are_open_and_named(record: Record) -> None:
    todos = [
        "plain",
        {"id": "3", "content": "c", "status": "won't do"},
        {"content": "d"},
        {"content": "e", "status": None},
        {"content": "f", "state": "completed"},
        {"status": "pending"},
    ]
    record.calls("TodoWrite", {"todos": todos})
    assert record.items("todos") == ["plain", "c", "d", "e", "f", NO_TEXT]
    notes = record.notes()
    assert notes["unknown_status"] == "todo 3 counts as open"
    assert notes["missing_status"] == "todo 3 counts as open"
    assert notes["null_status"] == "todo 4 counts as open"
    assert notes["renamed_field"] == "todo 5 counts as open"


def test_a_list_that_came_as_a_string_is_decoded_once(record: Record) -> None:
    record.calls("TodoWrite", {"todos": '[{"content": "a", "status": "pending"}]'})
    assert record.items("todos") == ["a"]
    assert "string_encoded" in record.notes()


@pytest.mark.parametrize("todos", ["not json", [1, 2], {"todos": []}, None, '"[]"'])
def test_a_list_that_cannot_be_read_leaves_the_todos_unknown(record: Record, todos: object) -> None:
    record.todos(("a", "pending"))
    record.calls("TodoWrite", {"todos": todos})
    record.says("Done.")
    assert record.unknown() == ["todos"]
    assert record.read().items["todos"] == ("a",)
    assert "bad_todos" in record.notes()
    record.todos(("b", "pending"))
    assert record.items("todos") == ["b"]


def test_tasks_have_the_ids_of_their_results(record: Record) -> None:
    record.task(1, "one")
    record.task(2, "two")
    record.update(1, status="completed")
    record.update("2", status="in_progress")
    assert record.items("todos") == ["two"]


@pytest.mark.parametrize("use", [None, {"task": {}}, {"task": {"id": ""}}])
def test_the_id_of_a_task_can_stand_in_the_text_alone(record: Record, use: object) -> None:
    record.calls("TaskCreate", {"subject": "one"}, "Task #7 created successfully: one", use)
    record.update(7, status="completed")
    assert record.items("todos") == []


def test_a_task_whose_id_is_nowhere_stays_open(record: Record) -> None:
    record.calls("TaskCreate", {"subject": "one"}, "made")
    record.calls("TaskCreate", {"subject": ""}, "made")
    assert record.items("todos") == ["one", NO_TEXT]


def test_a_task_that_failed_or_has_no_result_was_not_made(record: Record) -> None:
    record.calls("TaskCreate", {"subject": "one"}, "error", "error", True)
    record.call("TaskCreate", {"subject": "two"})
    assert record.items("todos") == []


@pytest.mark.parametrize(
    ("text", "use", "failed"),
    [
        ("Updated task #1 status", {"success": True}, True),
        ("Task not found", {"success": False, "error": "Task not found"}, False),
        ("Task not found", "Task not found", False),
        ("Task #1 Not Found", None, None),
    ],
)
def test_an_update_that_was_refused_changes_nothing(
    record: Record, text: str, use: object, failed: bool | None
) -> None:
    """RD-CC-7."""
    record.task(1, "one")
    record.calls("TaskUpdate", {"taskId": "1", "status": "completed"}, text, use, failed)
    record.says("Done.")
    assert record.items("todos") == ["one"]


def test_an_update_without_a_result_changes_nothing(record: Record) -> None:
    record.task(1, "one")
    record.call("TaskUpdate", {"taskId": "1", "status": "completed"})
    assert record.items("todos") == ["one"]


def test_an_update_can_change_the_subject_and_not_the_status(record: Record) -> None:
    record.task(1, "one")
    record.update(1, subject="one, not found")
    assert record.items("todos") == ["one, not found"]
    record.update(1, owner="me")
    record.update(1, "Updated task #1: not found", status="deleted")
    assert record.items("todos") == []


def test_a_status_that_no_table_knows_leaves_a_task_open(record: Record) -> None:
    record.task(1, "one")
    record.update(1, status="parked")
    assert record.items("todos") == ["one"]
    assert record.notes()["unknown_status"] == "todo 1 counts as open"


def test_an_id_that_is_created_again_is_a_new_task(record: Record) -> None:
    record.task(1, "old")
    record.update(1, status="completed")
    record.task(1, "new")
    assert record.items("todos") == ["new"]


def test_a_task_list_replaces_every_task(record: Record) -> None:
    record.task(1, "one")
    record.task(2, "two")
    record.task_list(("2", "two", "completed"), ("3", "three", "pending"))
    assert record.items("todos") == ["three"]
    record.task_list()
    assert record.items("todos") == []


def test_a_task_list_without_its_structured_form_leaves_the_todos_unknown(record: Record) -> None:
    record.task(1, "one")
    record.calls("TaskList", {}, "#1 [completed] one")
    record.says("Done.")
    assert record.unknown() == ["todos"]
    assert record.read().items["todos"] == ("one",)


def test_the_hosts_reminder_replaces_every_task_even_when_it_is_empty(record: Record) -> None:
    """RD-CC-7."""
    record.task(1, "one")
    record.reminds(("4", "four", "in_progress"))
    record.says("Done.")
    assert record.items("todos") == ["four"]
    record.reminds()
    record.says("Done.")
    assert record.items("todos") == []


def test_todos_and_tasks_stand_side_by_side(record: Record) -> None:
    record.todos(("old", "pending"))
    record.task(1, "new")
    assert record.items("todos") == ["old", "new"]


def test_an_update_of_a_task_that_the_record_did_not_make_leaves_the_todos_unknown(
    record: Record,
) -> None:
    record.update(5, status="in_progress")
    record.says("Done.")
    reading = record.read()
    assert reading.unknown == frozenset({"todos"})
    assert reading.items["todos"] == (NO_TEXT,)
    assert "task_unseen" in record.notes()
    record.task_list(("5", "five", "pending"))
    record.says("Done.")
    assert record.items("todos") == ["five"]


# Questions


@pytest.mark.parametrize(
    "text",
    [
        "Shall I?",
        "Shall I? ",
        'He said "why?"',
        "(Ready?)",
        "**Go on?**",
        "可以吗？",
        "هل؟",
        "Go?)",
    ],
)
def test_a_last_text_that_ends_in_a_question_mark_is_a_question(record: Record, text: str) -> None:
    """RD-CC-8."""
    record.says(text)
    assert record.items("questions") == [text]


@pytest.mark.parametrize("text", ["Done.", "Why? Because.", "? done", "a?b", "", " ", "见。"])
def test_any_other_last_text_is_no_question(record: Record, text: str) -> None:
    record.says(text)
    assert record.items("questions") == []


def test_a_question_is_over_when_the_person_speaks_or_a_call_follows(record: Record) -> None:
    record.says("First?")
    record.person("yes")
    record.says("Second?")
    record.calls("Read", {"file_path": "f"})
    record.says("Done.")
    assert record.items("questions") == []


def test_a_question_stays_open_behind_thoughts_interruptions_and_commands(record: Record) -> None:
    record.says("Shall I?")
    record.thinks(stop="tool_use")
    record.person(INTERRUPTED)
    record.person("<command-name>/model</command-name>")
    record.says("API Error", message={"model": "<synthetic>"}, isApiErrorMessage=True)
    assert record.items("questions") == ["Shall I?"]


def test_a_text_before_a_call_that_is_not_written_yet_is_no_question(record: Record) -> None:
    record.says("Let me look, shall I?", stop="tool_use")
    assert record.items("questions") == []
    assert record.items("next_steps") == [RUNNING + "begin"]


def test_the_last_of_several_texts_in_one_row_is_the_question(record: Record) -> None:
    blocks = [{"type": "text", "text": text} for text in ("One?", "Two?")]
    record.row("assistant", message={"id": "m", "content": blocks})
    assert record.items("questions") == ["Two?"]


def test_ctx_05_an_answered_question_is_not_open(record: Record) -> None:
    record.asks("use port 8080?", answers={"use port 8080?": "yes"})
    record.says("Done.")
    assert record.items("questions") == []


@pytest.mark.parametrize("answers", [{}, {"Which?": ""}, {"Which?": None}, "yes", None])
def test_no_answers_are_no_answer(record: Record, answers: object) -> None:
    given = {"questions": [{"question": "Which?"}]}
    record.calls("AskUserQuestion", given, "answered", {"answers": answers})
    record.says("Hm.")
    assert record.items("questions") == ["Which?"]
    record.person("this one")
    record.says("Done.")
    assert record.items("questions") == []


def test_a_question_without_a_result_is_open(record: Record) -> None:
    """RD-CC-8."""
    record.call("AskUserQuestion", {"questions": [{"question": "Which?"}, "plain", {}]})
    assert record.items("questions") == ["Which?", "plain", NO_TEXT]


@pytest.mark.parametrize("given", [{}, {"questions": []}, {"questions": "Which?"}])
def test_a_question_tool_without_readable_questions_asks_something(
    record: Record, given: object
) -> None:
    record.call("AskUserQuestion", given)
    assert record.items("questions") == [NO_TEXT]


def test_a_result_without_a_structured_form_answers_nothing(record: Record) -> None:
    record.calls("AskUserQuestion", {"questions": [{"question": "Which?"}]}, "text", "text")
    assert record.items("questions") == ["Which?"]


def test_the_questions_that_were_left_out_of_an_answer_stay_open(record: Record) -> None:
    record.asks("One?", "Two?", answers={"One?": "1"})
    assert record.items("questions") == ["Two?"]


def test_a_question_put_again_and_answered_is_answered(record: Record) -> None:
    record.rejects("One?", text="<tool_use_error>InputValidationError")
    assert record.items("questions") == ["One?"]
    record.asks("One?", answers={"One?": "1"})
    assert record.items("questions") == []


@pytest.mark.parametrize("text", [WORDLESS, CLARIFY, INTERRUPTED])
def test_a_question_that_was_rejected_is_open_until_the_person_speaks(
    record: Record, text: str
) -> None:
    record.rejects("Which?", text=text)
    record.person(INTERRUPTED)
    assert record.items("questions") == ["Which?"]
    record.person("the second")
    record.says("Done.")
    assert record.items("questions") == []


def test_a_question_that_was_rejected_with_words_is_settled(record: Record) -> None:
    record.rejects("Which?", text=WORDED + "neither, drop it")
    assert record.items("questions") == []


# Decisions


def test_an_answer_is_a_decision(record: Record) -> None:
    """RD-CC-9."""
    record.asks("One?", "Two?", answers={"One?": "1", "Two?": ["a", "b"]})
    assert record.items("decisions") == ["One? = 1", "Two? = a, b"]


def test_an_approved_plan_is_a_decision(record: Record) -> None:
    record.plan("The plan")
    record.plan("Asked", "ok", {"plan": "Edited", "filePath": "/p.md"})
    record.plan("Input", "ok", {"plan": None})
    record.plan(None, "ok", {"plan": None})
    record.plan(" ", "ok", "approved")
    assert record.items("decisions") == ["The plan", "Edited", "Input", NO_TEXT, NO_TEXT]


def test_a_plan_without_an_answer_or_with_a_refusal_is_no_decision(record: Record) -> None:
    record.plan("Refused", WORDED + "smaller", "Error", True)
    assert "plan_refused" not in record.notes()
    record.plan("Wordless", WORDLESS, "User rejected tool use", True)
    record.plan("Failed", "<tool_use_error>", "Error", True)
    record.call("ExitPlanMode", {"plan": "Pending"})
    assert record.items("decisions") == []
    assert "plan_refused" in record.notes()


def test_a_plan_that_opens_a_conversation_is_a_decision(record: Record) -> None:
    record.plan("The plan", WORDLESS, "User rejected tool use", True)
    record.tip = None
    record.person("Implement the following plan:\n\nshort form", planContent="The plan")
    record.says("Done.")
    assert record.items("decisions") == ["The plan"]


def test_a_plan_message_is_a_decision_without_its_plan_member(record: Record) -> None:
    record.person("Implement the following plan:\n\nThe plan", planContent="")
    record.says("Done.")
    assert record.items("decisions") == ["Implement the following plan:\n\nThe plan"]


def test_a_commit_settles_the_decisions_before_it(record: Record) -> None:
    record.asks("One?", answers={"One?": "1"})
    record.plan("Before")
    record.commit()
    record.plan("After")
    assert record.items("decisions") == ["After"]


def test_a_decision_that_came_after_the_call_that_commits_is_not_settled_by_it(
    record: Record,
) -> None:
    ask = record.call("AskUserQuestion", {"questions": [{"question": "One?"}]}, answer="m")
    commit = record.call("Bash", {"command": "git commit -m x"}, answer="m")
    record.result(commit, "[main 1a2b3c4] x")
    record.result(ask, "answered", {"answers": {"One?": "1"}})
    assert record.items("decisions") == ["One? = 1"]


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'x'",
        "git add -A && git commit -qm x",
        "git -C /w/project -c user.name=me commit --amend --no-edit",
        "git --no-pager commit -F - <<'EOF'\nfix\nEOF",
        "cd sub; git\tcommit -a",
    ],
)
def test_what_commits(record: Record, command: str) -> None:
    record.plan("Plan")
    record.bash(command, "")
    assert record.items("decisions") == []


@pytest.mark.parametrize(
    "command",
    [
        "git log --grep commit",
        "git commit-tree HEAD^{tree}",
        "git show commit",
        'echo "then git commit -m x"',
        "echo 'git commit'",
        "git status && echo commit",
        "git commit --dry-run",
        "legit commit",
        "git add . ; # commit later",
    ],
)
def test_what_does_not_commit(record: Record, command: str) -> None:
    record.plan("Plan")
    record.bash(command, "")
    assert record.items("decisions") == ["Plan"]


@pytest.mark.parametrize(
    ("output", "failed", "use", "settled"),
    [
        ("[main 1a2b3c4] x", False, {}, True),
        ("hook ran\n[main (root-commit) 1a2b3c4] x", False, {}, True),
        ("[detached HEAD 1a2b3c4d] x\npush failed", True, {}, True),
        ("[main 1a2b3c4] x", False, {"interrupted": True}, True),
        ("", False, {}, True),
        ("error: hook failed", True, {}, False),
        ("On branch main\nnothing to commit, working tree clean", False, {}, False),
        ("nothing added to commit but untracked files present", False, {}, False),
        ("no changes added to commit", False, {}, False),
        ("", False, {"interrupted": True}, False),
        ("Command running in background", False, {"backgroundTaskId": "b1"}, False),
        ("[note] nothing to commit", False, {}, False),
    ],
)
def test_when_a_commit_succeeded(
    record: Record, output: str, failed: bool, use: dict[str, Any], settled: bool
) -> None:
    """RD-CC-9."""
    record.plan("Plan")
    record.bash("git commit -m x", output, failed, **use)
    assert record.items("decisions") == ([] if settled else ["Plan"])


def test_a_commit_without_a_structured_result_counts(record: Record) -> None:
    record.plan("Plan")
    record.calls("Bash", {"command": "git commit -m x"}, "[main 1a2b3c4] x")
    assert record.items("decisions") == []


@pytest.mark.parametrize(
    "command", ["git init && git commit -m x", "git clone -q a b && cd b && git -C . commit -m x"]
)
def test_a_commit_into_a_scratch_repository_settles_nothing(record: Record, command: str) -> None:
    """RD-CC-9."""
    record.plan("Plan")
    record.bash(command, "[main (root-commit) 1a2b3c4] x")
    assert record.items("decisions") == ["Plan"]
    assert "scratch_commit" in record.notes()


def test_a_commit_without_a_result_settles_nothing(record: Record) -> None:
    record.plan("Plan")
    record.call("Bash", {"command": "git commit -m x"})
    assert record.items("decisions") == ["Plan"]
    assert "commit_in_flight" in record.notes()


PLAN = "# Plan\n\n1. Do *this*\n2. Then that"


def test_a_plan_that_was_written_down_is_settled(record: Record) -> None:
    record.plan(PLAN)
    record.plan("Another")
    record.asks("One?", answers={"One?": PLAN})
    document = f"Title\n{PLAN}\nmore\n"
    record.calls("Write", {"file_path": "/w/docs/plan.md", "content": document}, "ok")
    assert record.items("decisions") == ["Another", f"One? = {PLAN}"]


def test_a_plan_that_was_sent_as_a_message_can_be_written_down(record: Record) -> None:
    record.person(f"Implement the following plan:\n\n{PLAN}\n")
    record.calls("Write", {"file_path": "/w/docs/plan.md", "content": PLAN}, "ok")
    assert record.items("decisions") == []


@pytest.mark.parametrize(
    ("path", "content", "failed"),
    [
        ("/home/me/.claude/plans/p.md", PLAN, False),
        ("/w/plan.md", PLAN, True),
        ("/w/plan.md", PLAN.replace("2.", "3."), False),
        ("/w/plan.md", "x" + PLAN, False),
        ("/w/plan.md", None, False),
    ],
)
def test_what_does_not_write_a_plan_down(
    record: Record, path: str, content: str | None, failed: bool
) -> None:
    record.plan(PLAN)
    record.calls("Write", {"file_path": path, "content": content}, "result", None, failed)
    record.call("Write", {"file_path": "/w/p.md", "content": PLAN})
    assert record.items("decisions") == [PLAN]


def test_a_plan_of_signs_alone_can_be_written_down(record: Record) -> None:
    record.plan("→")
    record.calls("Write", {"file_path": "/w/p.md", "content": "→"}, "ok")
    assert record.items("decisions") == []


# Next steps: the turn


def test_a_message_without_an_answer_is_a_running_turn(record: Record) -> None:
    """RD-CC-11."""
    assert record.items("next_steps") == [RUNNING + "begin"]


def test_a_turn_that_ended_in_words_is_over(record: Record) -> None:
    record.calls("Read", {"file_path": "f"})
    record.says("Done.")
    assert record.items("next_steps") == []


def make_call(record: Record) -> None:
    record.call("Read", {"file_path": "f"})


def make_result(record: Record) -> None:
    record.calls("Read", {"file_path": "f"})


def make_failure(record: Record) -> None:
    record.calls("Read", {"file_path": "f"}, "no such file", "Error", True)


def make_worded_rejection(record: Record) -> None:
    record.calls("Edit", {}, WORDED + "otherwise", "Error", True)


def make_thought(record: Record) -> None:
    record.thinks()


def make_blank(record: Record) -> None:
    record.says("\n\n")


def make_other_block(record: Record) -> None:
    record.block({"type": "server_tool_use", "id": "s"})


def make_notification(record: Record) -> None:
    record.says("Done.")
    record.person("<task-notification>x</task-notification>")


def make_other_origin(record: Record) -> None:
    record.says("Done.")
    record.person("a channel's words", origin={"kind": "channel"})


def make_delivered_notification(record: Record) -> None:
    record.says("Done.")
    text = "<task-notification>x</task-notification>"
    record.attach("queued_command", prompt=text, commandMode="task-notification")


@pytest.mark.parametrize(
    "make",
    [
        make_call,
        make_result,
        make_failure,
        make_worded_rejection,
        make_thought,
        make_blank,
        make_other_block,
        make_notification,
        make_other_origin,
        make_delivered_notification,
    ],
)
def test_a_turn_is_running_behind(record: Record, make: Callable[[Record], None]) -> None:
    """RD-CC-11."""
    make(record)
    assert record.items("next_steps") == [RUNNING + "begin"]


@pytest.mark.parametrize(
    "quiet",
    [
        "<local-command-stdout>x</local-command-stdout>",
        "<local-command-caveat>x",
        "<command-name>/exit</command-name>",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>x</bash-stdout>",
        "<bash-stderr>x</bash-stderr>",
        "<user-memory-input>x",
        "<system-reminder>x",
        "<ide_selection>x",
        "Caveat: The messages below were generated by the user",
        "This session is being continued from a previous conversation",
        " ",
    ],
)
def test_what_is_not_a_message_neither_ends_a_turn_nor_begins_one(
    record: Record, quiet: str
) -> None:
    record.call("Read")
    record.person(quiet)
    assert record.items("next_steps") == [RUNNING + "begin"]
    record.says("Shall I?")
    record.person([{"type": "text", "text": quiet}])
    assert record.items("next_steps") == []
    assert record.items("questions") == ["Shall I?"]


@pytest.mark.parametrize("flag", ["isMeta", "isCompactSummary"])
def test_rows_that_the_host_wrote_for_itself_are_no_messages(record: Record, flag: str) -> None:
    record.says("Shall I?")
    record.person("Base directory for this skill", **{flag: True})
    assert record.items("questions") == ["Shall I?"]
    assert record.items("next_steps") == []


def test_a_command_that_is_a_prompt_is_a_message(record: Record) -> None:
    text = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    record.says("Shall I?")
    record.person(text)
    assert record.items("questions") == []
    assert record.items("next_steps") == [RUNNING + text]


def test_the_persons_words_are_those_that_the_host_did_not_put_beside_them(record: Record) -> None:
    texts = ["<ide_opened_file>f</ide_opened_file>", "do this", "and that"]
    record.person([{"type": "text", "text": text} for text in texts])
    assert record.items("next_steps") == [RUNNING + "do this\nand that"]


def test_a_message_of_the_person_keeps_its_words_as_they_are(record: Record) -> None:
    record.person(" a \n\n- b\t\u202e ", origin={"kind": "human"})
    assert record.items("next_steps") == [RUNNING + " a \n\n- b\t\u202e "]


def test_a_picture_is_a_message_without_text(record: Record) -> None:
    record.says("Shall I?")
    record.person([{"type": "image", "source": {}}])
    assert record.items("next_steps") == [RUNNING + NO_TEXT]
    assert record.items("questions") == []


def test_words_beside_a_result_are_a_message(record: Record) -> None:
    call = record.call("Read")
    result = {"type": "tool_result", "tool_use_id": call, "content": "x"}
    content = [result, {"type": "text", "text": "stop there"}]
    record.row("user", message={"role": "user", "content": content})
    assert record.items("next_steps") == [RUNNING + "stop there"]


def test_a_running_turn_whose_message_is_unknown_says_so(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.person("<command-name>/goal</command-name>")
    record.call("Read")
    assert record.items("next_steps") == [RUNNING + NO_TEXT]


@pytest.mark.parametrize("text", [INTERRUPTED, "[Request interrupted by user]"])
def test_an_interrupted_turn_is_not_running(record: Record, text: str) -> None:
    """RD-CC-11."""
    record.call("Read")
    record.person([{"type": "text", "text": text}])
    assert record.items("next_steps") == []


def test_a_message_that_was_interrupted_before_any_answer_is_a_next_step(record: Record) -> None:
    record.says("Done.")
    record.person("too soon")
    record.person(INTERRUPTED)
    assert record.items("next_steps") == ["too soon"]


def test_a_wordless_rejection_ends_the_turn(record: Record) -> None:
    record.calls("Edit", {}, WORDLESS, "User rejected tool use", True)
    assert record.items("next_steps") == []


def test_a_hook_that_ended_the_turn_ended_it(record: Record) -> None:
    record.calls("Read")
    record.attach("hook_stopped_continuation", message="no")
    assert record.items("next_steps") == []


def test_the_hosts_own_answer_is_no_answer(record: Record) -> None:
    record.says("Prompt is too long", message={"model": "<synthetic>"})
    assert record.items("next_steps") == [RUNNING + "begin"]
    assert record.notes()["synthetic_answer"].endswith(": 1")


BLOCKED = "UserPromptSubmit operation blocked by hook:\nno\n\nOriginal prompt: blocked"


def test_a_prompt_that_a_hook_blocked_is_no_message(record: Record) -> None:
    """RD-CC-14."""
    record.says("Shall I?")
    record.person("blocked")
    record.row("system", subtype="informational", content=BLOCKED)
    record.person("<local-command-stdout>x</local-command-stdout>")
    assert record.items("questions") == ["Shall I?"]
    assert record.items("next_steps") == []


def test_a_prompt_that_a_hook_stopped_is_no_message(record: Record) -> None:
    record.says("Shall I?")
    record.person("stopped")
    record.person("Operation stopped by hook: no")
    assert record.items("questions") == ["Shall I?"]
    assert record.items("next_steps") == []


def test_a_blocked_prompt_without_a_row_of_its_own_blocks_no_older_message(record: Record) -> None:
    record.says("Shall I?")
    record.person("yes")
    record.calls("Read")
    record.row("system", subtype="informational", content=BLOCKED)
    assert record.items("questions") == []
    record.calls("Read")
    assert record.items("next_steps") == [RUNNING + "yes"]


def test_a_compaction_in_mid_turn_leaves_it_running(record: Record) -> None:
    record.calls("Read")
    record.boundary(record.tip)
    assert record.items("next_steps") == [RUNNING + "begin"]


# Next steps: the queue


@pytest.fixture
def idle(record: Record) -> Record:
    record.says("Done.")
    return record


def test_typed_input_that_waits_is_a_next_step(idle: Record) -> None:
    """RD-CC-10."""
    idle.queue("enqueue", "then this")
    idle.queue("enqueue", "then that")
    idle.queue("enqueue", "<task-notification>x</task-notification>")
    assert idle.items("next_steps") == ["then this", "then that"]


def test_a_running_turn_comes_before_what_waits(record: Record) -> None:
    record.queue("enqueue", "then this")
    record.queue("enqueue", "")
    assert record.items("next_steps") == [RUNNING + "begin", "then this", NO_TEXT]


@pytest.mark.parametrize("operation", ["dequeue", "remove"])
def test_an_operation_with_content_takes_that(idle: Record, operation: str) -> None:
    idle.queue("enqueue", "a")
    idle.queue("enqueue", "b")
    idle.queue(operation, "b")
    idle.queue(operation, "never queued")
    assert idle.items("next_steps") == ["a"]


def test_an_operation_without_content_takes_what_the_next_rows_show(idle: Record) -> None:
    note = "<task-notification>x</task-notification>"
    for text in ("a", note, "b"):
        idle.queue("enqueue", text)
    idle.queue("remove")
    idle.queue("remove")
    idle.attach("queued_command", prompt=note, commandMode="task-notification")
    idle.attach("queued_command", prompt=[{"type": "text", "text": "b"}], commandMode="prompt")
    idle.says("Done.")
    assert idle.items("next_steps") == ["a"]


def test_a_dequeued_prompt_becomes_a_message(idle: Record) -> None:
    idle.queue("enqueue", "a")
    idle.queue("enqueue", "b")
    idle.queue("dequeue")
    idle.person("b")
    idle.says("Done.")
    assert idle.items("next_steps") == ["a"]


def test_an_operation_that_nothing_explains_takes_typed_input_first_oldest_first(
    idle: Record,
) -> None:
    for text in ("<task-notification>x", "a", "b"):
        idle.queue("enqueue", text)
    idle.queue("remove")
    assert idle.items("next_steps") == ["b"]
    idle.queue("remove")
    idle.queue("remove")
    idle.queue("remove")
    idle.queue("enqueue", "c")
    assert idle.items("next_steps") == ["c"]


def test_a_delivery_can_be_shown_before_its_operation(idle: Record) -> None:
    idle.queue("enqueue", "a")
    idle.queue("enqueue", "b")
    idle.attach("queued_command", prompt="b")
    idle.queue("remove")
    idle.says("Done.")
    assert idle.items("next_steps") == ["a"]


def test_popping_everything_takes_typed_input_alone(idle: Record) -> None:
    note = "<task-notification>x</task-notification>"
    for text in ("a", note, "b"):
        idle.queue("enqueue", text)
    idle.queue("remove")
    idle.queue("popAll", "b")
    idle.queue("enqueue", "c")
    idle.queue("remove", note)
    assert idle.items("next_steps") == ["c"]


def test_an_operation_whose_input_is_gone_already_takes_nothing(idle: Record) -> None:
    idle.queue("enqueue", "a")
    idle.queue("remove")
    idle.queue("remove", "a")
    idle.queue("enqueue", "b")
    assert idle.items("next_steps") == ["b"]


def test_an_operation_never_takes_what_was_queued_after_it(idle: Record) -> None:
    idle.queue("enqueue", "<task-notification>x</task-notification>")
    idle.queue("remove")
    idle.queue("enqueue", "a")
    idle.queue("enqueue", "b")
    idle.queue("remove")
    assert idle.items("next_steps") == ["b"]


def test_the_same_words_typed_again_are_not_taken_for_the_queued_ones(idle: Record) -> None:
    idle.queue("enqueue", "continue")
    idle.person("continue")
    idle.says("Done.")
    assert idle.items("next_steps") == ["continue"]


def test_input_that_was_delivered_in_mid_turn_is_a_message(record: Record) -> None:
    record.says("Shall I?")
    record.calls("Read")
    record.attach("queued_command", prompt="also this", commandMode="prompt")
    assert record.items("next_steps") == [RUNNING + "also this"]


@pytest.mark.parametrize(
    "members",
    [
        {"prompt": "<system-reminder>x"},
        {"prompt": "x", "commandMode": "task-notification"},
        {"prompt": "x", "origin": {"kind": "channel"}},
    ],
)
def test_what_was_delivered_and_not_typed_is_no_message(
    idle: Record, members: dict[str, Any]
) -> None:
    idle.says("Shall I?")
    idle.attach("queued_command", **members)
    assert idle.items("questions") == ["Shall I?"]


# Damage


def test_a_torn_last_line_could_have_held_anything(record: Record) -> None:
    """RD-CC-2."""
    record.todos(("a", "pending"))
    record.plan("Plan")
    record.says("Shall I?")
    record.damage(b'{"parentUuid":"x","type":"user","mess')
    reading = record.read()
    assert reading.unknown == frozenset(FIELDS)
    assert reading.items["todos"] == ("a",)
    assert reading.items["decisions"] == ("Plan",)
    assert reading.items["questions"] == ("Shall I?",)
    size = sum(map(len, record.lines[:-1]))
    assert record.notes()["damaged_lines"] == f"damaged lines: 1; at 7 (byte {size})"


def test_a_fragments_head_does_not_tell_what_else_it_held(record: Record) -> None:
    record.says("Done.")
    record.damage(b'{"type":"file-history-snapshot","snapshot":{"tr\n')
    assert record.unknown() == sorted(FIELDS)


def test_damage_in_an_earlier_conversation_does_not_matter(record: Record) -> None:
    record.damage()
    record.tip = None
    record.person("new")
    record.says("Done.")
    assert record.unknown() == []
    assert "damaged_lines" in record.notes()


def test_a_lost_row_does_not_kill_what_stands_before_it(record: Record) -> None:
    record.todos(("kept", "pending"))
    record.says("lost")
    record.lines[-1] = record.lines[-1][:50] + b"\n"
    record.says("Done.")
    assert record.read().items["todos"] == ("kept",)
    assert record.unknown() == sorted(FIELDS)


@pytest.mark.parametrize(
    "whole",
    [
        lambda record: record.todos(("a", "pending")),
        lambda record: record.task_list(("1", "a", "pending")),
        lambda record: record.reminds(("1", "a", "pending")),
    ],
    ids=["TodoWrite", "TaskList", "task_reminder"],
)
def test_a_whole_list_makes_the_todos_sure_again(
    record: Record, whole: Callable[[Record], str]
) -> None:
    whole(record)
    record.damage()
    record.says("Done.")
    assert record.unknown() == sorted(FIELDS)
    whole(record)
    record.says("Done.")
    assert record.unknown() == ["decisions", "next_steps", "questions"]
    assert record.items("todos") == ["a"]


def test_a_whole_list_of_one_kind_does_not_vouch_for_the_other(record: Record) -> None:
    record.task(1, "one")
    record.damage()
    record.todos(("a", "pending"))
    record.says("Done.")
    assert "todos" in record.read().unknown


def test_a_list_whose_result_is_lost_is_not_sure(record: Record) -> None:
    record.todos(("a", "pending"))
    record.call("TodoWrite", {"todos": []})
    record.damage()
    record.says("Done.")
    assert "todos" in record.read().unknown


def test_a_message_of_the_person_makes_questions_and_next_steps_sure_again(record: Record) -> None:
    record.damage()
    record.person("<task-notification>x")
    record.says("Done.")
    assert record.unknown() == sorted(FIELDS)
    record.person("go on")
    record.says("Done.")
    assert record.unknown() == ["decisions", "todos"]


def test_a_commit_makes_the_decisions_sure_again(record: Record) -> None:
    record.damage()
    record.commit("nothing to commit")
    assert record.unknown() == sorted(FIELDS)
    record.commit()
    assert record.unknown() == ["next_steps", "questions", "todos"]


def test_joined_and_mended_lines_are_noted_and_read(record: Record) -> None:
    record.says("Done.")
    record.todos(("a", "pending"))
    last = record.lines.pop()
    record.lines[-1] = record.lines[-1].rstrip(b"\n") + last
    record.says("x")
    record.lines[-1] = record.lines[-1].replace(b'"x"', rb'"lone \ud83d?"')
    assert record.items("todos") == ["a"]
    assert record.items("questions") == ["lone \ufffd?"]
    notes = record.notes()
    assert notes["joined_lines"] == "lines with several rows, all read: 3"
    assert notes["mended_text"] == "lone surrogates replaced in lines: 4"
    assert "damaged_lines" not in notes


def test_a_record_without_any_time_has_no_last_one(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.person("begin", timestamp=None)
    assert record.notes() == {}


def combined(reading: Reading) -> Summary:
    """The summary that the reading makes; building it refuses whatever is no item."""
    return combine([reading])


def test_every_reading_makes_a_summary(record: Record) -> None:
    record.calls("TodoWrite", {"todos": ["", {"content": "\x00"}]})
    record.asks("", answers={"": " x"})
    record.plan("")
    record.queue("enqueue", " ")
    summary = combined(record.read())
    assert summary.todos == (NO_TEXT, "\x00")
    assert summary.decisions == (NO_TEXT + " =  x", NO_TEXT)
    assert summary.questions == ()
    assert summary.next_steps == (RUNNING + "begin", NO_TEXT)
    assert summary.unknown == ("uncommitted",)


def busy(tmp_path: Path) -> Record:
    """A record with a row of every kind that says something."""
    record = Record(tmp_path)
    record.person("begin")
    record.todos(("a", "pending"))
    record.task(1, "one")
    record.update(1, status="completed")
    record.task_list(("1", "one", "pending"))
    record.reminds(("2", "two", "pending"))
    record.queue("enqueue", "later")
    record.queue("remove")
    record.attach("queued_command", prompt="later")
    record.asks("One?", answers={"One?": "1"})
    record.rejects("Two?")
    record.plan(PLAN)
    record.calls("Write", {"file_path": "/w/p.md", "content": PLAN})
    record.commit()
    record.boundary(record.tip)
    record.row("progress", data={"type": "hook_progress"})
    record.row("system", subtype="informational", content=BLOCKED)
    record.thinks()
    record.says("Shall I?")
    return record


KEYS = st.sampled_from(["id", "type", "text", "content", "status", "plan", "questions"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**60) | st.text(max_size=3) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)


@settings(deadline=None, max_examples=40, derandomize=True, database=None)
@given(st.data())
def test_no_record_crashes_the_reader_or_makes_an_item_that_is_none(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        record = busy(Path(folder))
        rows = [json.loads(line) for line in record.lines]
        for _ in range(data.draw(st.integers(1, 4))):
            place = rows[data.draw(st.integers(0, len(rows) - 1))]
            while True:
                keys = sorted(place) if isinstance(place, dict) else range(len(place))
                key = data.draw(st.sampled_from(list(keys)))
                deeper = place[key]
                if not (isinstance(deeper, dict | list) and deeper and data.draw(st.booleans())):
                    break
                place = deeper
            place[key] = data.draw(VALUES)
        record.lines = [json.dumps(row).encode() + b"\n" for row in rows]
        combined(record.read())


@settings(deadline=None, max_examples=40, derandomize=True, database=None)
@given(st.data())
def test_no_damage_crashes_the_reader_or_goes_unnoticed(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        record = busy(Path(folder))
        number = data.draw(st.integers(0, len(record.lines) - 1))
        line = record.lines[number]
        cut = data.draw(st.integers(1, len(line) - 2))
        end = data.draw(st.sampled_from([b"", b"\n", b"\0", b"\xff\n"]))
        record.lines[number] = line[:cut] + end
        reading = record.read()
        assert "damaged_lines" in [note.code for note in reading.notes]
        combined(reading)


# Skimming


def skim(line: bytes, *before: bytes) -> bool:
    """Whether `line` is skimmed behind the rows of the lines `before`."""
    listener = Listener()
    for row in map(json.loads, before):
        listener.hear(row)
    return Skimmer(listener).skim(line)


def spaced(line: bytes) -> bytes:
    return json.dumps(json.loads(line), ensure_ascii=False).encode() + b"\n"


def make_progress(record: Record) -> None:
    record.row("progress", data={"type": "bash_progress", "output": "x{y}"}, toolUseID="t")


def make_agent_progress(record: Record) -> None:
    nested = {"type": "user", "uuid": uid(900), "message": {"content": [{"type": "text"}]}}
    record.row("progress", data={"type": "agent_progress", "message": nested}, toolUseID="t")


def make_text(record: Record) -> None:
    record.says('He said "no". Done.')


def make_snapshot(record: Record) -> None:
    record.raw({"type": "file-history-snapshot", "messageId": "m" * 300, "snapshot": {}})


@pytest.mark.parametrize(
    "make",
    [
        make_progress,
        make_agent_progress,
        make_thought,
        make_text,
        make_call,
        make_result,
        make_failure,
        make_snapshot,
    ],
)
def test_rows_that_tell_only_their_place_are_skimmed(
    record: Record, make: Callable[[Record], None]
) -> None:
    make(record)
    *before, line = record.lines
    assert skim(line, *before)
    assert skim(spaced(line), *before)


def test_a_result_with_its_members_in_the_other_order_is_skimmed(record: Record) -> None:
    make_result(record)
    *before, line = record.lines
    row = json.loads(line)
    block = row["message"]["content"][0]
    row["message"]["content"] = [{"type": block.pop("type")} | block]
    assert skim(json.dumps(row).encode() + b"\n", *before)


UNSURE: dict[str, Callable[[Record], object]] = {
    "message": lambda r: r.person("hello"),
    "no parent": lambda r: r.thinks(parentUuid=None),
    "short parent": lambda r: r.thinks(parentUuid="u-1"),
    "short id": lambda r: r.thinks(uuid="u-1"),
    "escaped id": lambda r: r.thinks(uuid=uid(3)[:-2] + "\\"),
    "no id": lambda r: r.thinks(uuid=None),
    "sidechain": lambda r: r.thinks(side=True),
    "question": lambda r: r.says("Shall I?"),
    "closed question": lambda r: r.says('"Shall I?"'),
    "full-width question": lambda r: r.says("可以吗？"),
    "blank": lambda r: r.says("\n"),
    "not ASCII": lambda r: r.says("見。"),
    "quoted end": lambda r: r.says('as "}] shows'),
    "synthetic": lambda r: r.says("x", message={"model": "<synthetic>"}),
    "no model": lambda r: r.says("x", message={"model": None}),
    "api error": lambda r: r.says("x", isApiErrorMessage=True),
    "call to come": lambda r: r.says("x", stop="tool_use"),
    "cited": lambda r: r.block({"type": "text", "text": "why?", "citations": "n"}),
    "two blocks": lambda r: r.thinks(message={"content": [{"type": "thinking"}, {"type": "text"}]}),
    "wanted call": lambda r: r.call("TodoWrite", {"todos": []}),
    "commit": lambda r: r.call("Bash", {"command": "git commit"}),
    "typed input": lambda r: r.call("Task", {"x": {"type": "text"}}),
    "other block": lambda r: r.block({"type": "redacted_thinking"}),
    "wanted result": lambda r: r.todos(("a", "pending")),
    "unknown call": lambda r: r.result("toolu_nowhere"),
    "rejection": lambda r: r.calls("Edit", {}, WORDLESS, "User rejected tool use", True),
    "result in blocks": lambda r: r.calls("Task", {}, [{"type": "text", "text": "x"}]),
    "result with an id": lambda r: r.calls("Task", {}, "x", {"uuid": uid(9)}),
    "result without an id": lambda r: r.calls("Task", uuid=None),
    "progress with an id behind its own": lambda r: r.raw(
        {
            "parentUuid": uid(1),
            "isSidechain": False,
            "uuid": uid(70),
            "type": "progress",
            "data": {"type": "agent_progress", "message": {"uuid": uid(900)}},
        }
    ),
    "system": lambda r: r.row("system", subtype="turn_duration"),
    "attachment": lambda r: r.attach("date"),
    "other apart": lambda r: r.raw({"type": "summary", "summary": "s"}),
}


@pytest.mark.parametrize("name", UNSURE)
def test_what_is_not_sure_is_parsed(record: Record, name: str) -> None:
    """RD-LINE-4."""
    UNSURE[name](record)
    *before, line = record.lines
    assert not skim(line, *before)
    record.read()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: line[:-1],
        lambda line: line[:-1] + b"\r\n",
        lambda line: line[:200] + b"\0" + line[200:],
        lambda line: line[:-1] + line,
        lambda line: line[:250] + line,
        lambda line: b" " + line,
        lambda line: b"\xef\xbb\xbf" + line,
        lambda line: line[:-3] + b"\n",
    ],
)
@pytest.mark.parametrize(
    "make",
    [make_progress, make_thought, make_text, make_call, make_result, make_snapshot],
)
def test_a_line_that_may_be_damaged_or_joined_is_parsed(
    record: Record, make: Callable[[Record], None], spoil: Callable[[bytes], bytes]
) -> None:
    make(record)
    *before, line = record.lines
    assert skim(line, *before)
    assert not skim(spoil(line), *before)


def test_a_snapshot_line_that_holds_another_row_is_parsed(record: Record) -> None:
    make_snapshot(record)
    torn = record.lines[-1][:40]
    record.queue("enqueue", "later")
    assert not skim(torn + record.lines[-1])
    assert not skim(torn + record.lines[0])


def test_writing_is_parsed_only_where_it_may_write_a_plan_down(record: Record) -> None:
    record.plan(PLAN)
    record.call("Write", {"file_path": "p", "content": "other"})
    assert skim(record.lines[-1], *record.lines[:-1])
    record.call("Write", {"file_path": "p", "content": PLAN})
    assert not skim(record.lines[-1], *record.lines[:-1])


def test_the_last_row_tells_session_and_time_even_when_it_was_skimmed(record: Record) -> None:
    record.says("x", sessionId="session-2", timestamp="2026-03-01T11:00:00.000Z")
    record.call("Read", sessionId="session-3", timestamp="2026-03-01T12:00:00.000Z")
    assert record.read().session == "session-3"
    record.raw({"type": "mode", "mode": "normal", "sessionId": "session-4"})
    assert record.notes()["last_timestamp"] == "2026-03-01T12:00:00.000Z"
    record.person("y", sessionId="session-5")
    assert record.read().session == "session-5"


# Finding the record of a directory


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory of work."""
    path = tmp_path / "work.d" / "my_project"
    path.mkdir(parents=True)
    return path


def put(tmp_path: Path, name: str, folder: str, cwd: Path | str | None, age: int) -> Path:
    """A record named `name` that was written `age` seconds ago."""
    path = tmp_path / "config" / "projects" / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = [{"type": "summary", "cwd": 3}]
    if cwd is not None:
        rows += [{"type": "user", "cwd": str(cwd)}, {"type": "user", "cwd": "/elsewhere"}]
    path.write_text("torn\n" + "".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("/w/my_project.d", "-w-my-project-d"),
        ("/W/Ab9", "-W-Ab9"),
        ("/w/é", "-w--"),
        ("/w/\U0001f600", "-w---"),
    ],
)
def test_every_character_but_ascii_letters_and_digits_becomes_a_dash(
    directory: str, name: str
) -> None:
    assert slug(directory) == name


def test_the_newest_record_of_the_directory_is_found(tmp_path: Path, project: Path) -> None:
    """RD-CC-13."""
    folder = slug(str(project))
    put(tmp_path, "old.jsonl", folder, project, 20)
    newest = put(tmp_path, "a.jsonl", folder, project, 10)
    put(tmp_path, "agent-1.jsonl", folder, project, 1)
    put(tmp_path, "notes.txt", folder, project, 1)
    config = tmp_path / "config"
    assert find_newest(project, config=config) == newest
    later = put(tmp_path, "b.jsonl", folder, project, 10)
    assert find_newest(project, config=config) == later


def test_a_record_of_another_directory_in_the_same_folder_is_not_believed(
    tmp_path: Path, project: Path
) -> None:
    """RD-CC-13."""
    folder = slug(str(project))
    put(tmp_path, "other.jsonl", folder, str(project).replace("_", "-"), 1)
    assert find_newest(project, config=tmp_path / "config") is None
    silent = put(tmp_path, "silent.jsonl", folder, None, 10)
    assert find_newest(project, config=tmp_path / "config") == silent


def test_a_directory_without_records_has_none(tmp_path: Path, project: Path) -> None:
    assert find_newest(project, config=tmp_path / "config") is None
    put(tmp_path, "x.jsonl", "-elsewhere", "/elsewhere", 1)
    assert find_newest(project, config=tmp_path / "config") is None


def test_a_directory_is_found_under_its_links_name_and_under_its_own(
    tmp_path: Path, project: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    real = put(tmp_path, "real.jsonl", slug(str(project)), project, 10)
    assert find_newest(link, config=tmp_path / "config") == real
    linked = put(tmp_path, "linked.jsonl", slug(str(link)), link, 1)
    assert find_newest(link, config=tmp_path / "config") == linked


def test_a_name_that_is_too_long_is_cut_and_gets_a_hash(tmp_path: Path) -> None:
    project = tmp_path / ("x" * 120) / ("y" * 120)
    project.mkdir(parents=True)
    cut = slug(str(project))[:200]
    record = put(tmp_path, "r.jsonl", cut + "-1x9k2f", project, 10)
    put(tmp_path, "r.jsonl", cut + "z-1x9k2f", project, 1)
    assert find_newest(project, config=tmp_path / "config") == record


def test_the_hosts_directory_comes_from_the_environment_or_from_home(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = put(tmp_path, "r.jsonl", slug(str(project)), project, 1)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    assert find_newest(project) == record
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert find_newest(project) is None
    (tmp_path / "home").mkdir()
    (tmp_path / "config").rename(tmp_path / "home" / ".claude")
    found = find_newest(project)
    assert found is not None
    assert found.name == "r.jsonl"


def test_a_record_that_can_no_longer_be_opened_is_not_found(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = put(tmp_path, "older.jsonl", slug(str(project)), project, 10)
    newer = put(tmp_path, "newer.jsonl", slug(str(project)), project, 1)
    really = open

    def open_or_not(path: str, mode: str) -> Any:
        if path == str(newer):
            raise PermissionError(13, "Permission denied", path)
        return really(path, mode)

    monkeypatch.setattr(claude_find, "open", open_or_not, raising=False)
    assert find_newest(project, config=tmp_path / "config") == older


def test_what_is_no_file_is_not_found(tmp_path: Path, project: Path) -> None:
    folder = tmp_path / "config" / "projects" / slug(str(project))
    folder.mkdir(parents=True)
    (folder / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    assert find_newest(project, config=tmp_path / "config") is None
