"""opencode's database and its older tree of files, through the real SQLite. (SPEC RD-OC)"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from plain_record import HARNESSES, codes, knows_nothing, open_items

from verdict_core.errors import Unreadable
from verdict_core.readers.opencode import read

SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
  time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
  time_updated INTEGER, data TEXT);
CREATE TABLE todo (session_id TEXT, content TEXT, status TEXT, priority TEXT, position INTEGER);
"""
OPEN, DONE = {"content": "write it", "status": "pending"}, {"completed": 2}
ASK = {"questions": [{"question": "Which?"}, {"question": "Where?"}]}


class Host:
    """Writes a database as the host does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.connection = sqlite3.connect(path)
        self.connection.executescript(SCHEMA)

    def session(self, name: str, directory: str, updated: int, parent: str | None = None) -> None:
        self._run("INSERT INTO session VALUES (?, ?, ?, ?)", name, parent, directory, updated)

    def message(self, session: str, role: str, *parts: Any, **more: Any) -> None:
        self.count += 1
        own = f"msg{self.count:03d}"
        time = {"created": 1} | more.pop("time", {"completed": 2} if role == "assistant" else {})
        data = more.pop("data", None) or json.dumps({"role": role, "time": time, **more})
        self._run("INSERT INTO message VALUES (?, ?, ?, 0, ?)", own, session, self.count, data)
        for number, part in enumerate(parts):
            text = part if isinstance(part, str | bytes) else json.dumps(part)
            name = f"prt{self.count:03d}{number}"
            self._run("INSERT INTO part VALUES (?, ?, ?, 0, 0, ?)", name, own, session, text)

    def go(self, session: str = "s1") -> None:
        self.message(session, "user", text("go"))

    def todo(self, content: str, status: str, position: int = 0, session: str = "s1") -> None:
        self._run(
            "INSERT INTO todo VALUES (?, ?, ?, 'high', ?)", session, content, status, position
        )

    def saved(self) -> Path:
        self.connection.close()
        return self.path

    def _run(self, query: str, *values: Any) -> None:
        self.connection.execute(query, values)
        self.connection.commit()


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.chdir(tmp_path)
    made = Host(tmp_path / "opencode.db")
    made.session("s1", str(tmp_path), 5)
    yield made
    made.connection.close()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(name: str, given: Any, status: str = "completed", **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": name, "state": {"status": status, "input": given, **state}}


def test_a_session_is_read(host: Host) -> None:
    """RD-OC-1."""
    host.go()
    host.message("s1", "assistant", tool("edit", {}), {"type": "patch"}, text("Shall I push?"))
    found = read(host.saved())
    assert open_items(found) == {"questions": ["Shall I push?"]}
    assert (found.session, set(found.unknown), codes(found)) == ("s1", set(), ["session"])


@pytest.mark.parametrize("broken", ['{"role":', "[]", b"\xff\xfe"])
def test_what_cannot_be_read_is_lost(host: Host, broken: Any) -> None:
    """RD-OC-1."""
    host.message("s1", "assistant", text("So."), broken)
    found = read(host.saved())
    assert found.unknown == {"todos", "questions", "decisions", "next_steps"}
    assert codes(found) == ["session", "damaged_lines"]


def test_a_lost_message_before_the_persons_last_one_leaves_the_todos_unknown(host: Host) -> None:
    host.message("s1", "user", data="{")
    host.go()
    host.message("s1", "assistant", text("Done."))
    assert read(host.saved()).unknown == {"todos", "decisions"}


def test_the_newest_session_of_this_directory_is_it_and_never_a_childs(
    host: Host, tmp_path: Path
) -> None:
    """RD-OC-2, todo-03: a sub-agent's empty list says nothing of its parent's."""
    host.session("s0", str(tmp_path), 1)
    host.session("s8", "/elsewhere", 8)
    host.session("s9", str(tmp_path), 9, parent="s1")
    host.go()
    host.message("s1", "assistant", tool("todowrite", {"todos": [OPEN]}), text("Done."))
    host.message("s9", "assistant", tool("todowrite", {"todos": []}), text("Done."))
    found = read(host.saved())
    assert (found.session, open_items(found)) == ("s1", {"todos": ["write it"]})


def test_the_only_session_is_it_wherever_it_was(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RD-OC-2."""
    host.go()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    found = read(host.saved())
    assert (found.session, set(found.unknown)) == ("s1", set())


def test_where_no_session_is_of_this_directory_nothing_is_sure(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RD-OC-2."""
    host.session("s2", "/elsewhere", 2)
    host.go()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    found = read(host.saved())
    assert (found.session, len(found.unknown)) == ("s1", 4)
    assert open_items(found) == {"next_steps": ["(running) go"]}
    assert codes(found) == ["session", "session_unclear"]


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_what_a_running_host_wrote_last_is_read_and_nothing_is_left_behind(
    host: Host, tmp_path: Path
) -> None:
    """RD-OC-3: the rows stand in the write-ahead log alone."""
    host.connection.execute("PRAGMA journal_mode=wal")
    host.connection.execute("PRAGMA wal_autocheckpoint=0")
    host.go()
    host.todo("write it", "pending")
    assert (tmp_path / "opencode.db-wal").stat().st_size > 0
    before = files(tmp_path)
    found = read(host.path)
    assert open_items(found) == {"todos": ["write it"], "next_steps": ["(running) go"]}
    after = files(tmp_path)
    # The index of the log is memory that all who read share; it is no part of the store.
    assert {name: data for name, data in after.items() if "shm" not in name} == {
        name: data for name, data in before.items() if "shm" not in name
    }
    assert after.keys() == before.keys()


def test_a_log_that_a_killed_host_left_is_read_without_an_index(host: Host, tmp_path: Path) -> None:
    """RD-OC-3."""
    host.connection.execute("PRAGMA journal_mode=wal")
    host.connection.execute("PRAGMA wal_autocheckpoint=0")
    host.todo("write it", "pending")
    host.go()
    left = tmp_path / "left"
    left.mkdir()
    for name in ("opencode.db", "opencode.db-wal"):
        shutil.copy(tmp_path / name, left)
    before = files(left)
    assert open_items(read(left / "opencode.db"))["todos"] == ["write it"]
    assert files(left) == before


def test_a_database_at_rest_is_read_and_nothing_is_left_behind(host: Host, tmp_path: Path) -> None:
    """RD-OC-3."""
    host.go()
    path = host.saved()
    path.chmod(0o400)
    before = files(tmp_path)
    assert open_items(read(path)) == {"next_steps": ["(running) go"]}
    assert files(tmp_path) == before


def test_the_stored_list_counts_in_its_order(host: Host) -> None:
    """RD-OC-4."""
    host.go()
    host.message("s1", "assistant", tool("todowrite", {"todos": [OPEN]}), text("Done."))
    host.todo("second", "in_progress", 1)
    host.todo("first", "pending", 0)
    host.todo("third", "cancelled", 2)
    assert open_items(read(host.saved())) == {"todos": ["first", "second"]}


def test_beside_an_empty_table_the_last_list_that_was_written_counts(host: Host) -> None:
    """RD-OC-4."""
    failed = tool("todowrite", {"todos": []}, "error", error="no")
    host.go()
    host.message("s1", "assistant", tool("todowrite", {"todos": [OPEN]}), failed, text("Done."))
    assert open_items(read(host.saved())) == {"todos": ["write it"]}


@pytest.mark.parametrize(
    ("state", "answers"),
    [
        ("running", None),
        ("running", [["a"], ["b"]]),
        ("error", None),
        ("completed", None),
        ("completed", [[], []]),
        ("completed", [None, 3]),
    ],
)
def test_a_question_without_an_answer_is_open(host: Host, state: str, answers: Any) -> None:
    """RD-OC-5."""
    host.go()
    asked = tool("question", ASK, state, metadata={"answers": answers})
    host.message("s1", "assistant", asked, text("So."))
    assert open_items(read(host.saved())) == {"questions": ["Which?", "Where?"]}


def test_an_answered_question_is_a_decision_until_a_commit(host: Host) -> None:
    """RD-OC-5."""
    host.go()
    asked = tool("question", ASK, metadata={"answers": [["a", "b"]]})
    host.message("s1", "assistant", asked, text("So."))
    path = host.path
    assert open_items(read(path)) == {"questions": ["Where?"], "decisions": ["Which? = a, b"]}
    commit = tool("bash", {"command": "git commit -m x"}, output="no", metadata={"exit": 1})
    host.message("s1", "assistant", commit, text("So."))
    assert open_items(read(path))["decisions"] == ["Which? = a, b"]
    commit["state"]["metadata"]["exit"] = 0
    host.message("s1", "assistant", commit, text("So."))
    assert "decisions" not in open_items(read(path))


def test_what_the_host_added_is_no_message(host: Host) -> None:
    """RD-OC-6."""
    host.message("s1", "user", text("go"), text("file contents", synthetic=True))
    host.message("s1", "assistant", tool("question", ASK, "running"), text("So."))
    host.message("s1", "user", text("Continue", synthetic=True))
    assert open_items(read(host.saved())) == {
        "questions": ["Which?", "Where?"],
        "next_steps": ["(running) go"],
    }


@pytest.mark.parametrize(("auto", "runs"), [(True, True), (False, False)])
def test_a_compaction_by_hand_begins_no_turn(host: Host, auto: bool, runs: bool) -> None:
    """RD-OC-6."""
    host.go()
    host.message("s1", "assistant", text("Shall I push?"))
    host.message("s1", "user", {"type": "compaction", "auto": auto})
    host.message("s1", "assistant", text("A summary?"), summary=True)
    expected = {"next_steps": ["(running) go"]} if runs else {"questions": ["Shall I push?"]}
    found = open_items(read(host.saved()))
    assert {name: found[name] for name in expected} == expected
    assert "A summary?" not in found.get("questions", [])


def test_where_the_turn_stands(host: Host) -> None:
    running = {"next_steps": ["(running) go"]}
    host.go()
    assert open_items(read(host.path)) == running
    host.message("s1", "assistant", text("So."), time={})
    assert open_items(read(host.path)) == running
    host.message("s1", "assistant", {"type": "reasoning", "text": "hm"})
    assert open_items(read(host.path)) == running
    host.message("s1", "assistant", tool("edit", {}), error={"name": "MessageAbortedError"})
    assert open_items(read(host.path)) == {}
    for finish in ("tool-calls", "unknown"):
        host.go()
        host.message("s1", "assistant", tool("edit", {}), text("So."), finish=finish)
        assert open_items(read(host.path)) == running
    host.message("s1", "assistant", text("So."), finish="stop")
    assert open_items(read(host.path)) == {}
    host.message("s1", "user", {"type": "file", "url": "x"})
    assert open_items(read(host.path)) == {"next_steps": ["(running) (no text)"]}


def test_a_database_of_something_else_says_nothing(tmp_path: Path) -> None:
    """RD-FMT-3."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE checkpoints (x)")
    assert codes(read(path)) == ["no_store"]


def test_a_damaged_database_is_unknown_or_refused(host: Host) -> None:
    path = host.saved()
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 4000)
    assert knows_nothing(read(path))
    with pytest.raises(Unreadable):
        read(path, named=True)


def test_a_database_without_a_session_says_nothing(tmp_path: Path) -> None:
    path = Host(tmp_path / "opencode.db").saved()
    assert codes(read(path)) == ["no_rows"]


def test_the_schema_of_an_older_version_is_read(tmp_path: Path) -> None:
    """RD-OC-1: the real one that has neither sessions nor todos."""
    path = tmp_path / "opencode.db"
    schema = (HARNESSES / "opencode" / "oc_min_schema.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
    for place in (path, tmp_path):
        found = read(place)
        assert (open_items(found), set(found.unknown)) == ({}, set())
        assert found.session == "test-session-123"


# --- The older tree


def tree(root: Path, directory: str, *messages: tuple[str, list[Any]], todos: Any = None) -> Path:
    def put(place: str, value: Any) -> None:
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))

    put("session/p/s1.json", {"id": "s1", "directory": directory, "time": {"updated": 5}})
    for number, (role, parts) in enumerate(messages):
        data = {"id": f"m{number}", "sessionID": "s1", "role": role, "time": {"completed": 1}}
        put(f"message/s1/m{number}.json", data)
        for place, part in enumerate(parts):
            put(f"part/m{number}/p{place}.json", part)
    if todos is not None:
        put("todo/s1.json", todos)
    return root


SPOKE = [("user", [text("go")]), ("assistant", [tool("edit", {}), text("Shall I push?")])]


def test_the_older_tree_is_read(tmp_path: Path) -> None:
    """RD-OC-1."""
    tree(tmp_path / "storage", "/w", *SPOKE, todos=[OPEN, {**OPEN, "status": "completed"}])
    for place in (tmp_path, tmp_path / "storage"):
        found = read(place)
        assert open_items(found) == {"todos": ["write it"], "questions": ["Shall I push?"]}
        assert (found.session, set(found.unknown)) == ("s1", set())


def test_files_of_the_tree_that_cannot_be_read_are_lost(tmp_path: Path) -> None:
    """RD-OC-1."""
    root = tree(tmp_path, "/w", *SPOKE, todos="[{")
    found = read(root)
    assert found.unknown == {"todos"}
    assert "bad_todos" in codes(found)
    tree(root, "/w", ("user", ["{"]), *SPOKE[1:])
    (root / "message" / "s1" / "m7.json").write_text("torn")
    found = read(root)
    assert len(found.unknown) == 4
    assert "damaged_lines" in codes(found)


def test_a_tree_without_a_session_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "message").mkdir()
    assert codes(read(tmp_path)) == ["no_rows"]


def test_a_part_alone_says_nothing(tmp_path: Path) -> None:
    """RD-FMT-3."""
    for file in sorted((HARNESSES / "opencode").iterdir()):
        assert knows_nothing(read(file))
    assert codes(read(tmp_path)) == ["no_store"]


def test_the_real_parts_are_read_in_their_place(tmp_path: Path) -> None:
    real = HARNESSES / "opencode"
    parts = [json.loads(file.read_text()) for file in sorted(real.glob("*_part_*.json"))]
    root = tree(tmp_path, "/w", ("user", [text("go")]), ("assistant", parts))
    shutil.copy(real / "oc_storage_v2_session.json", root / "session" / "p" / "s1.json")
    found = read(root)
    # The real message ends with a thought, behind its words.
    assert (open_items(found), set(found.unknown)) == (
        {"next_steps": ["(running) go"]},
        set(),
    )
