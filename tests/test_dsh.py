"""DSH records: each rule, and records of the real program. (SPEC RD-DSH)

Where the records come from: tests/data/dsh/PROVENANCE.tsv.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from attrs import define, field

from verdict_core.errors import Unreadable
from verdict_core.readers import streams
from verdict_core.readers.dsh import FIELDS, read
from verdict_core.readers.dsh_events import Listener
from verdict_core.readers.flow_fold import RUNNING
from verdict_core.readers.reading import Reading

DATA = Path(__file__).parent / "data" / "dsh"
RECORDS = sorted(DATA.glob("*.jsonl"))
QUESTION = "Which line ending is the default?"
LEFT_OPEN: dict[str, dict[str, list[str]]] = {
    "01-todo-goal-mcp-question-subagent": {
        "todos": ["run tests", "commit", "parser handles CRLF input"],
        "questions": [QUESTION],
    },
    "03-compaction-vetoed": {
        "todos": ["write parser", "run tests"],
        "decisions": [f"{QUESTION} = LF"],
    },
    "04-plan-mode-prune-compaction": {
        "todos": ["write parser", "run tests"],
        "decisions": ["# CRLF plan\n\n1. write parser\n2. run tests"],
    },
}


@define
class Record:
    """Builds a record, row by row; each method appends one and returns the record."""

    head: dict[str, Any] = field(factory=dict)
    rows: list[bytes] = field(factory=list)
    calls: int = 0

    def __attrs_post_init__(self) -> None:
        self.raw({"type": "session", "version": 0, "id": "session-1", **self.head})

    def raw(self, row: Any) -> "Record":
        text = row if isinstance(row, str) else json.dumps(row, separators=(",", ":"))
        self.rows.append(text.encode() + b"\n")
        return self

    def row(self, kind: str, **data: Any) -> "Record":
        return self.raw({"type": kind, "seq": len(self.rows) - 1, "time": 1, "data": data})

    def said(self, text: str, kind: str = "user") -> "Record":
        return self.row("user/message", **message(text, kind))

    def answer(self, text: str) -> "Record":
        content = [{"type": "text", "text": text}]
        return self.row("assistant/message", turn=1, message={"content": content})

    def call(self, name: str, given: Any, output: str | None = None, **more: Any) -> "Record":
        self.calls += 1
        call = f"call_{self.calls}"
        self.row("tool/call", turn=1, callId=call, name=name, arguments=json.dumps(given))
        return self if output is None else self.result(call, output, **more)

    def result(self, call: str, output: str, *, failed: bool = False) -> "Record":
        block = {"type": "tool-result", "content": [{"type": "text", "text": output}]}
        content = [{**block, "isError": failed}]
        return self.row("tool/result", message={"source": {"callId": call}, "content": content})

    def todos(self, *todos: tuple[str, str]) -> "Record":
        return self.row("todo/write", todos=[{"content": c, "status": s} for c, s in todos])

    def read(self, place: Path) -> Reading:
        path = place / "session.jsonl"
        path.write_bytes(b"".join(self.rows))
        return read(path, named=True)


def message(text: str, kind: str = "user") -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "source": {"kind": kind}, "role": "user"}


def asked(record: Record, output: str | None = None, **more: Any) -> Record:
    questions = [{"id": "q1", "question": QUESTION, "options": [{"label": "LF"}]}]
    return record.call("ask_user_question", {"questions": questions}, output, **more)


ANSWER = '{"answers":[{"id":"q1","selected":["LF"]}]}'


def items(reading: Reading) -> dict[str, list[str]]:
    return {name: list(reading.items[name]) for name in FIELDS}


def codes(reading: Reading) -> set[str]:
    return {note.code for note in reading.notes}


def every_line(self: Listener, chunk: bytes) -> Iterator[tuple[int, int, bytes]]:
    for line in chunk.splitlines(keepends=True):
        yield 0, 0, line


def test_the_records_are_there_and_each_has_its_provenance() -> None:
    lines = (DATA / "PROVENANCE.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == [path.name for path in RECORDS]
    assert set(LEFT_OPEN) <= {path.stem for path in RECORDS}


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_real_record_reads_as_it_ended_and_stays_as_it_is(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RD-DSH-8: and it is read alike whatever is skipped, and from frames."""
    data, status = path.read_bytes(), path.stat()
    usual = read(path, named=True)
    left = LEFT_OPEN.get(path.stem, {})
    assert items(usual) == {name: left.get(name, []) for name in FIELDS}
    assert usual.unknown == frozenset()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (data, status.st_mtime_ns)
    packed = tmp_path / "session.jsonl.zstd"
    frames = (data[place : place + 5000] for place in range(0, len(data), 5000))
    packed.write_bytes(b"".join(map(zstandard.ZstdCompressor().compress, frames)))
    assert read(packed, named=True) == usual
    monkeypatch.setattr(streams, "_CHUNK", 900)
    assert read(path, named=True) == usual
    monkeypatch.setattr(Listener, "unread", every_line)
    assert read(path, named=True) == usual


def test_rd_dsh_1_what_cannot_be_read_is_unknown_and_not_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "none").unknown == frozenset(FIELDS)
    with pytest.raises(Unreadable):
        read(tmp_path / "none", named=True)
    (tmp_path / "empty").write_bytes(b"\n")
    assert read(tmp_path / "empty", named=True).unknown == frozenset(FIELDS)


def test_rd_dsh_1_a_record_without_its_head_is_a_slice(tmp_path: Path) -> None:
    record = Record().said("Build").todos(("a", "pending"))
    del record.rows[0]
    reading = record.read(tmp_path)
    assert reading.unknown == {"decisions"}
    assert codes(reading) == {"starts_mid_session"}
    assert Record().read(tmp_path).unknown == frozenset()
    again = Record().raw({"type": "session", "id": "other"}).read(tmp_path)
    assert (again.session, again.unknown) == ("session-1", frozenset())


def test_rd_dsh_2_todos_are_folded_over_the_whole_file(tmp_path: Path) -> None:
    record = Record().row("turn/start", turn=1).todos(("a", "pending")).row("turn/end", turn=1)
    record.row("turn/start", turn=2).said("And?").answer("So").row("turn/end", turn=2)
    assert items(record.read(tmp_path))["todos"] == ["a"]
    assert items(record.todos(("a", "completed")).read(tmp_path))["todos"] == []
    reading = record.row("todo/write", todos="{").read(tmp_path)
    assert reading.unknown == {"todos"}
    assert "bad_todos" in codes(reading)


def test_rd_dsh_2_the_goal_is_open_until_it_is_settled_or_cleared(tmp_path: Path) -> None:
    record = Record()
    for phase, left in (("active", 1), ("paused", 1), ("blocked", 1), ("complete", 0)):
        record.row("goal/change", operation="update", goal={"objective": "Ship", "phase": phase})
        assert items(record.read(tmp_path))["todos"] == ["Ship"] * left
        assert record.read(tmp_path).notes == ()
    record.row("goal/change", operation="create", goal={"objective": "More", "phase": "active"})
    assert items(record.read(tmp_path))["todos"] == ["More"]
    record.row("goal/change", operation="clear", goal={"objective": "More", "phase": "active"})
    assert items(record.read(tmp_path))["todos"] == []
    assert record.row("goal/change", operation="new").read(tmp_path).unknown == {"todos"}


def test_rd_dsh_3_only_a_users_messages_are_the_persons(tmp_path: Path) -> None:
    record = asked(Record().said("Build")).said("host text", "plugin").said("goal text", "goal")
    assert items(record.read(tmp_path))["questions"] == [QUESTION]
    assert items(record.said("LF").read(tmp_path))["questions"] == []


def test_rd_dsh_4_a_question_without_an_answer_is_open(tmp_path: Path) -> None:
    failed = asked(Record(), "Error: no user-questions provider is registered", failed=True)
    for record in (failed, asked(Record()), asked(Record(), '{"answers":[{"id":"q1"}]}')):
        assert items(record.read(tmp_path))["questions"] == [QUESTION]
    reading = asked(Record(), ANSWER).result("call_1", "[pruned]").read(tmp_path)
    assert items(reading)["questions"] == []
    assert items(reading)["decisions"] == [f"{QUESTION} = LF"]
    other = asked(Record(), '{"answers":[{"id":"q1","selected":[],"text":"CR"}]}')
    assert items(other.read(tmp_path))["decisions"] == [f"{QUESTION} = CR"]


def test_a_session_that_was_killed_with_a_question_pending(tmp_path: Path) -> None:
    record = asked(Record().row("turn/start", turn=1).said("Build").todos(("a", "pending")))
    assert items(record.read(tmp_path)) == {
        "todos": ["a"],
        "questions": [QUESTION],
        "decisions": [],
        "next_steps": [RUNNING + "Build"],
    }


def test_rd_dsh_5_only_an_approved_plan_is_a_decision(tmp_path: Path) -> None:
    record = Record().call("exit_plan_mode", {"plan": "# Plan"})
    record.call("exit_plan_mode", {"plan": "# Plan"}, "Plan rejected: no")
    record.call("exit_plan_mode", {"plan": "# Plan"}, "Plan approved", failed=True)
    assert items(record.read(tmp_path))["decisions"] == []
    record.call("exit_plan_mode", {"plan": "# Plan"}, "Plan approved — carry out the plan.")
    assert items(record.read(tmp_path))["decisions"] == ["# Plan"]
    record.call("bash", {"command": "git init && git commit -m x"}, "[main 1234567] x")
    record.call("bash", {"command": "git commit -m x"}, "nothing to commit", failed=True)
    record.call("bash", {"command": "git status"}, "[main 1234567] x")
    reading = record.read(tmp_path)
    assert (items(reading)["decisions"], codes(reading)) == (["# Plan"], {"scratch_commit"})
    record.call("bash", {"command": "git commit -q -m x"}, "")
    assert items(record.read(tmp_path))["decisions"] == []


def test_rd_dsh_6_what_waits_in_the_inbox_is_a_next_step(tmp_path: Path) -> None:
    def splice(**data: Any) -> Record:
        return record.row("agent/inbox/spliced", **data)

    record = Record()
    splice(target="next-turn", start=0, inserted=[message("One"), message("x", "goal")])
    splice(target="this-turn", start=0, inserted=[message("Two")])
    splice(target="next-turn", start=2, inserted=[message("Three")])
    assert items(record.read(tmp_path))["next_steps"] == ["One", "Three", "Two"]
    splice(target="next-turn", start=0, removedCount=1, inserted=[])
    assert items(record.read(tmp_path))["next_steps"] == ["Three", "Two"]
    splice(target="next-turn", start=-1, removedCount="all", inserted=None)
    assert items(record.read(tmp_path))["next_steps"] == ["Three", "Two"]


def test_rd_dsh_7_a_childs_record_names_its_parent(tmp_path: Path) -> None:
    reading = Record(head={"parentSession": "session-0"}).todos(("own", "pending")).read(tmp_path)
    assert (reading.session, items(reading)["todos"]) == ("session-1", ["own"])
    assert [note.text for note in reading.notes] == ["the record of a child of session-0"]


def test_a_compaction_settles_nothing_and_an_open_turn_runs(tmp_path: Path) -> None:
    record = asked(Record().row("turn/start", turn=1).said("Build").todos(("a", "pending")), ANSWER)
    record.row("compaction/start", compactionId="1").row("compaction/end", compactionId="1")
    reading = record.read(tmp_path)
    assert items(reading)["todos"] == ["a"]
    assert items(reading)["decisions"] == [f"{QUESTION} = LF"]
    assert items(reading)["next_steps"] == [RUNNING + "Build"]
    assert codes(reading) == {"compactions"}
    record.answer("Done. More?").row("turn/end", turn=1)
    assert items(record.read(tmp_path))["questions"] == ["Done. More?"]
    assert items(record.read(tmp_path))["next_steps"] == []


def test_pieces_of_an_answer_are_skipped_and_damage_among_them_is_seen(tmp_path: Path) -> None:
    record = Record().said("Build").todos(("a", "pending"))
    for text in ("x", "y"):
        record.row("assistant/chunk", turn=1, chunk={"type": "text-delta", "text": text})
    assert record.read(tmp_path).unknown == frozenset()
    whole = record.rows[-1]
    for spoilt in (whole[:-3] + b"\n", whole[:30] + b"\0" + whole[30:], whole[:40] + whole):
        record.rows[-1] = spoilt
        assert record.read(tmp_path).unknown == frozenset(FIELDS)
    record.rows[-1] = whole.rstrip(b"\n") + record.todos(("b", "pending")).rows.pop()
    assert items(record.read(tmp_path))["todos"] == ["b"]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_wherever_a_record_is_cut_nothing_is_invented(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    chance = random.Random(path.stem)
    ends = [n + 1 for n, byte in enumerate(data) if byte == 0x0A]
    for place in [*ends, *chance.sample(range(len(data)), 40)]:
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(data[:place])
        reading = read(cut, named=True)
        text = data[:place].decode(errors="replace").replace("\\\\", "\\").replace('\\"', '"')
        for item in (item for found in reading.items.values() for item in found):
            words = item.removeprefix(RUNNING).partition(" = ")[0]
            assert words == "(no text)" or words.replace("\n", "\\n") in text
        assert data[:place].endswith((b"\n", b"}")) or reading.unknown
