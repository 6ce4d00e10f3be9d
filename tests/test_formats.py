"""Which harness wrote a record is told from what is in it. (SPEC RD-FMT)"""

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from claude_record import Conversation
from gitrepo import Repo, isolate
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_record import FIELDS, HARNESSES, codes, knows_nothing, open_items, write
from running import Run

from verdict_core.errors import Unreadable, Usage
from verdict_core.readers import formats, streams
from verdict_core.readers.formats import NAMES, read, recognise
from verdict_core.readers.reading import Reading
from verdict_core.wire import parse

DATA = Path(__file__).parent / "data"
SPEC = Path(__file__).parents[1] / "SPEC.md"
FOLDERS = {
    "gemini-cli": "gemini-cli",
    "kimi": "kimi-code",
    "opencode": "opencode",
    "openhands": "openhands",
    "copilot": "copilot-cli",
    "cursor": "cursor",
}
# Real files that are no record of a session.
NO_RECORD = {
    "fx_wire14_assistant_tools.state.json",
    "cp_vscode_chatsession.jsonl",
    "oc_min_schema.sql",
}
REAL = [file for folder in FOLDERS for file in sorted((HARNESSES / folder).iterdir())]
GO = {"role": "user", "message": {"content": [{"type": "text", "text": "go"}]}}
# One row of each format, as short as it is claimed.
ROWS: dict[str, Any] = {
    "claude-code": {"parentUuid": None, "type": "user", "uuid": "u"},
    "codex": {"timestamp": "t", "type": "session_meta", "payload": {"id": "1"}},
    "dsh": {"type": "session", "version": 0, "id": "1", "createdAt": 1, "cwd": "/w"},
    "gemini-cli": {"sessionId": "s", "projectHash": "h", "kind": "main"},
    "kimi-code": {"type": "metadata", "protocol_version": "1.4"},
    "opencode": {"id": "1", "sessionID": "s", "type": "text"},
    "openhands": {"id": "1", "timestamp": "t", "source": "user", "kind": "MessageEvent"},
    "langchain": {"todos": []},
    "copilot-cli": {"type": "session.start", "data": {}, "id": "1", "parentId": None},
    "cursor": GO,
}


@pytest.mark.parametrize("file", REAL, ids=lambda file: file.name)
def test_a_real_file_is_recognised_and_read(file: Path) -> None:
    """RD-FMT-1, RD-FMT-3."""
    expected = None if file.name in NO_RECORD else FOLDERS[file.parent.name]
    assert recognise(file) == expected
    found = read(file)
    assert found.reader == (expected or "record")
    if expected is None:
        assert (knows_nothing(found), codes(found)) == (True, ["format_unknown"])


@pytest.mark.parametrize(
    ("files", "name"),
    [("records/c[cl]*", "claude-code"), ("codex/c[lx]*", "codex"), ("dsh/0*", "dsh")],
)
def test_the_real_records_of_the_other_harnesses_are_recognised_and_read(
    files: str, name: str
) -> None:
    """RD-FMT-1."""
    paths = sorted(DATA.glob(files))
    assert len(paths) > 5
    assert {recognise(path) for path in paths} == {name}
    # The longest take their time, and are read by tests of their own.
    for path in sorted(paths, key=lambda path: path.stat().st_size)[:5]:
        found = read(path)
        assert (found.reader, whole(found)) == (name, True)


@pytest.mark.parametrize("file", ["codex/cx_0.125_small.jsonl", "dsh/01-child-spawn.jsonl",
                                  "harnesses/kimi/legacy_wire14_large.jsonl"])  # fmt: skip
def test_a_compressed_record_is_recognised_by_what_it_holds(tmp_path: Path, file: str) -> None:
    """RD-FMT-1."""
    zstandard = pytest.importorskip("zstandard", reason="the extra zstd is not installed")
    path = tmp_path / "record.jsonl"
    path.write_bytes(zstandard.compress((DATA / file).read_bytes()))
    assert path.read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert recognise(path) == recognise(DATA / file)
    assert read(path) == read(DATA / file)


def test_a_compressed_record_that_nothing_reads_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RD-FMT-3."""
    monkeypatch.setattr(streams, "_MODULES", ())
    path = tmp_path / "r.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    for name in (None, "codex", "kimi-code"):
        found = read(path, named=True, format=name)
        assert (knows_nothing(found), codes(found)) == (True, ["zstd_missing"])


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_enough_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    """RD-FMT-1."""
    assert set(ROWS) == set(NAMES)
    path = write(
        tmp_path / "rollout-opencode.db.txt",
        b"{torn\n",
        b"\n",
        b"\xff\n",
        [1],
        {"v": 1},
        ROWS[name],
    )
    assert recognise(path) == name


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"type": "last-prompt", "leafUuid": "u", "sessionId": "s"}, "claude-code"),
        ({"type": "assistant", "uuid": "u", "message": {}}, "claude-code"),
        ({"timestamp": "t", "type": "summary", "payload": {}}, "codex"),
        ({"$set": {"lastUpdated": "t"}}, "gemini-cli"),
        ({"$rewindTo": "u"}, "gemini-cli"),
        ({"id": "1", "timestamp": "t", "type": "user", "content": "go"}, "gemini-cli"),
        ({"timestamp": 1.0, "message": {"type": "TurnBegin", "payload": {}}}, "kimi-code"),
        ({"role": "_checkpoint", "id": 0}, "kimi-code"),
        ({"agent": {}, "workspace": {}, "execution_status": "idle"}, "openhands"),
        ({"id": "1", "projectID": "p", "directory": "/w"}, "opencode"),
        ({"values": {"messages": []}, "next": []}, "langchain"),
        ({"type": "user", "message": {}}, None),
        ({"role": 7}, None),
        ({"type": {}, "payload": {}, "timestamp": "t"}, None),
        ({"values": [], "kind": 0}, None),
        ({"role": "user", "content": "go"}, None),
    ],
)
def test_other_rows_of_a_format_are_claimed_too(
    tmp_path: Path, row: dict[str, Any], name: str | None
) -> None:
    """RD-FMT-1."""
    assert recognise(write(tmp_path / "r", row)) == name


def test_a_first_row_longer_than_what_is_looked_at_is_enough(tmp_path: Path) -> None:
    """RD-FMT-1."""
    row = {**ROWS["codex"], "payload": {"instructions": "x" * (1 << 21)}}
    assert recognise(write(tmp_path / "r", row)) == "codex"


def test_an_object_over_many_lines_is_enough_even_when_it_is_cut_off(tmp_path: Path) -> None:
    """RD-FMT-1."""
    path = tmp_path / "r"
    text = json.dumps({**ROWS["gemini-cli"], "messages": [{"content": "x"}]}, indent=1)
    path.write_text(text[:-20])
    assert recognise(path) == "gemini-cli"


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("base_state.json", "openhands"),
        ("event-00000-0a1b2c3d.json", "openhands"),
        ("events/event-00000-0a1b2c3d.json", "openhands"),
        ("opencode.db", "opencode"),
        ("storage/message/s/m.json", "opencode"),
        ("message/s/m.json", "opencode"),
        ("agents/main/wire.jsonl", "kimi-code"),
        ("wire.jsonl", "kimi-code"),
        ("context.jsonl", "kimi-code"),
        ("other.jsonl", None),
    ],
)
def test_a_directory_is_told_by_what_it_holds(tmp_path: Path, place: str, name: str | None) -> None:
    """RD-FMT-1."""
    write(tmp_path / "d" / place, {})
    assert recognise(tmp_path / "d") == name
    if name is None:
        assert codes(read(tmp_path / "d")) == ["format_unknown"]


def test_a_database_is_opencodes(tmp_path: Path) -> None:
    """RD-FMT-1."""
    with closing(sqlite3.connect(tmp_path / "x")) as connection:
        connection.execute("CREATE TABLE t (x)")
    assert (recognise(tmp_path / "x"), codes(read(tmp_path / "x"))) == ("opencode", ["no_store"])


@pytest.mark.parametrize("content", [b"", b"\n\n", b"prose", b"{}", b"[]", b"\0\0\0", b"{\n"])
def test_what_no_format_claims_leaves_everything_unknown(tmp_path: Path, content: bytes) -> None:
    """RD-FMT-3."""
    path = tmp_path / "r"
    path.write_bytes(content)
    found = read(path, named=True)
    assert (knows_nothing(found), codes(found)) == (True, ["format_unknown"])
    assert all(name in found.notes[0].text for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_named_format_is_used_whatever_the_content_looks_like(tmp_path: Path, name: str) -> None:
    """RD-FMT-2, RD-FMT-3."""
    found = read(write(tmp_path / "r", b"prose\n"), format=name)
    assert found.reader == name
    assert (knows_nothing(found), "format_unknown" in codes(found)) == (True, False)


def test_a_named_format_beats_what_would_be_recognised(tmp_path: Path) -> None:
    """RD-FMT-2."""
    path = write(tmp_path / "r", GO)
    assert open_items(read(path)) == {"next_steps": ["(running) go"]}
    assert read(path, format="kimi-code").reader == "kimi-code"


@pytest.mark.parametrize("name", ["", "Codex", "claude", "claude-code "])
def test_a_name_that_is_none_is_refused_with_those_that_are(tmp_path: Path, name: str) -> None:
    """RD-FMT-2."""
    with pytest.raises(Usage) as caught:
        read(tmp_path, format=name)
    assert caught.value.path == "--format"
    assert all(known in caught.value.message for known in NAMES)


def test_a_record_that_is_not_there_is_unknown_or_refused(tmp_path: Path) -> None:
    """RD-FMT-3."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "absent", tmp_path / "pipe", Path("nul\0")):
        found = read(path)
        assert (knows_nothing(found), codes(found)) == (True, ["record_missing"])
        with pytest.raises(Unreadable):
            read(path, named=True)


# --- What the specification's table says


def table() -> dict[str, dict[str, str]]:
    """The cells of the table `harness by field`, by the format's name."""
    text = SPEC.read_text(encoding="utf-8")
    part = text[text.index("### The format of a record") :]
    rows = re.findall(r"^\|(.*)\|$", part[: part.index("### Gemini CLI")], re.MULTILINE)
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    head = cells[0][1:]
    return {
        row[0].lower().replace(" ", "-"): dict(zip(head, row[1:], strict=True)) for row in cells[2:]
    }


def over(name: str, tmp_path: Path) -> Path:
    """A whole record of a session in which nothing is open."""
    person = {"type": "user.message", "data": {"content": "go"}, "parentId": None}
    rows: dict[str, list[Any]] = {
        "gemini-cli": [ROWS[name], {"id": "1", "type": "user", "content": "go"},
                       {"id": "2", "type": "gemini", "content": "Done."}],
        "kimi-code": [ROWS[name], {"type": "context.append_message", "message": {
            "role": "assistant", "content": "Done."}}],
        "openhands": [{**ROWS[name], "llm_message": {"role": "assistant", "content": "Done."}}],
        "langchain": [{"todos": [], "messages": [{"type": "ai", "content": "Done."}]}],
        "copilot-cli": [ROWS["copilot-cli"], person, {"type": "assistant.message", "parentId": None,
                                                      "data": {"content": "Done."}}],
        "cursor": [GO, {"role": "assistant", "message": {"content": "Done."}}],
    }  # fmt: skip
    if name == "codex":
        return DATA / "codex" / "cx_0.125_small.jsonl"
    if name == "dsh":
        return DATA / "dsh" / "07-mcp-errors-timeout.jsonl"
    if name == "claude-code":
        return Conversation().person("go").says("Done.").write(tmp_path / "r")
    if name == "opencode":
        path = tmp_path / "r.db"
        schema = (HARNESSES / "opencode" / "oc_min_schema.sql").read_text(encoding="utf-8")
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(schema)
        return path
    return write(tmp_path / "r", *rows[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_harness_tells_what_the_table_says_that_it_tells(tmp_path: Path, name: str) -> None:
    """RD-FMT-6: the table in the specification against the readers."""
    cells = table()[name]
    found = read(over(name, tmp_path))
    assert (found.reader, open_items(found)) == (name, {})
    assert found.unknown == {field for field in FIELDS if cells[field] == "unknown"}
    assert {cells[field] for field in FIELDS} <= {"read", "unknown"}


def test_the_table_has_every_format() -> None:
    """RD-FMT-6."""
    assert set(table()) == {*NAMES, "git", "progress-ledger"}


# --- Damage


def whole(reading: Reading) -> bool:
    return list(reading.items) == list(FIELDS) and reading.unknown <= set(FIELDS)


HARM = [b"\0" * 64, b"", b"\xff", b"}{", b"\n", b"[", b"\\ud800"]
CUT = [file for file in REAL if file.name not in NO_RECORD]


@pytest.mark.parametrize("file", CUT, ids=lambda file: file.name)
def test_a_record_cut_at_any_line_is_read(file: Path, tmp_path: Path) -> None:
    """RD-FMT-3: by its own reader and by the recognised one."""
    name = FOLDERS[file.parent.name]
    lines = file.read_bytes().splitlines(keepends=True)
    path = tmp_path / "r"
    for count in range(len(lines)):
        for tail in (b"", lines[count][: len(lines[count]) // 2]):
            path.write_bytes(b"".join(lines[:count]) + tail)
            assert whole(read(path))
            assert whole(read(path, format=name))


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_damage_crashes_a_reader(data: st.DataObject) -> None:
    """RD-FMT-3: joined lines, blocks of NUL, bytes that are no text, at any place."""
    file = data.draw(st.sampled_from(CUT))
    content = bytearray(file.read_bytes()[:20_000])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        harm = data.draw(
            st.sampled_from([b"\0" * 64, b"", b"\xff", b"}{", b"\n", b"[", b"\\ud800"])
        )
        content[place : place + data.draw(st.sampled_from([0, 1, 7]))] = harm
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r")
        path.write_bytes(content)
        assert whole(read(path))
        assert whole(read(path, format=FOLDERS[file.parent.name]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each container in `value` with each of its keys."""
    pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    inner = [place for _, one in pairs if isinstance(one, dict | list) for place in _places(one)]
    return [(value, key) for key, _ in pairs] + inner


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_no_shape_of_a_row_crashes_a_reader(data: st.DataObject) -> None:
    """RD-FMT-3: any member of a real row can be of any kind."""
    file = data.draw(st.sampled_from([one for one in CUT if one.suffix == ".jsonl"]))
    rows = [json.loads(line) for line in file.read_bytes().splitlines()[:40]]
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(_places(rows)))
        holder[key] = data.draw(JSON)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder, "r"), *rows)
        assert whole(read(path))
        assert whole(read(path, format=FOLDERS[file.parent.name]))


@pytest.mark.parametrize("name", ["gemini-cli", "kimi-code", "openhands", "copilot-cli", "cursor"])
def test_joined_lines_are_read_and_torn_ones_are_lost(tmp_path: Path, name: str) -> None:
    """RD-FMT-4: in every format of lines."""
    lines = over(name, tmp_path).read_bytes().splitlines()
    path = tmp_path / "joined"
    path.write_bytes(b"\0\0".join(lines) + b"\n")
    found = read(path, format=name)
    assert found.unknown == read(over(name, tmp_path)).unknown
    assert ("joined_lines" in codes(found)) == (len(lines) > 1)
    path.write_bytes(b"\n".join(lines) + b'\n{"torn')
    found = read(path)
    assert (set(found.unknown), codes(found)) == (set(FIELDS), ["damaged_lines"])


# --- The command


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    isolate(monkeypatch, tmp_path / "person")
    path = tmp_path / "repo"
    path.mkdir()
    Repo(path).git("init", "-q")
    return path


def test_check_reads_a_record_of_any_harness(command: Run, repo: Path, tmp_path: Path) -> None:
    """RD-FMT-1, RD-FMT-6."""
    record = HARNESSES / "kimi" / "legacy_wire14_large.jsonl"
    answer = parse(command("check", "--json", "--repo", repo, "--record", record).stdout)
    assert answer["summary"]["todos"] == ["text cf1b32a7", "text cb8533a7"]
    record = HARNESSES / "cursor" / "fx_large.jsonl"
    done = command("check", "--json", "--repo", repo, "--record", record)
    assert (parse(done.stdout)["unknown"], done.returncode) == (["todos", "decisions"], 10)


def test_the_format_can_be_named(command: Run, repo: Path, tmp_path: Path) -> None:
    """RD-FMT-2, CV-CLI-7."""
    record = write(tmp_path / "r", GO)
    done = command("check", "--json", "--repo", repo, "--record", record, "--format", "cursor")
    assert parse(done.stdout)["summary"]["next_steps"] == ["(running) go"]
    done = command("check", "--json", "--repo", repo, "--record", record, "--format", "dsh")
    assert len(parse(done.stdout)["unknown"]) == 4


@pytest.mark.parametrize(
    "arguments", [["--record", "r", "--format", "cursr"], ["--format", "cursor"]]
)
def test_a_format_that_is_of_no_use_is_refused(
    command: Run, repo: Path, tmp_path: Path, arguments: list[str]
) -> None:
    """RD-FMT-2."""
    write(tmp_path / "r", GO)
    done = command("check", "--json", "--repo", repo, *arguments)
    refused = parse(done.stdout)["refused"]
    assert (done.returncode, refused["code"], refused["path"]) == (3, "usage", "--format")
    assert done.stderr.count(b"\n") == 1


def test_a_record_that_nothing_recognises_is_no_permission(
    command: Run, repo: Path, tmp_path: Path
) -> None:
    """RD-FMT-3."""
    record = write(tmp_path / "r", b"prose\n")
    done = command("check", "--json", "--repo", repo, "--record", record)
    assert done.returncode == 10
    assert "format_unknown" in [note["code"] for note in parse(done.stdout)["notes"]]


def test_only_what_is_read_is_imported(command: Run, tmp_path: Path) -> None:
    """A reader's module is loaded when a record is its."""
    code = (
        "import sys; from pathlib import Path; from verdict_core.readers import formats;"
        "formats.read(Path(sys.argv[1]));"
        "names = [f'verdict_core.readers.{n}' for n in formats._MODULES.values()];"
        "print([n.rpartition('.')[2] for n in names if n in sys.modules])"
    )
    path = write(tmp_path / "r", GO)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, check=True, text=True
    )
    assert done.stdout == "['cursor']\n"
    assert formats.NAMES[0] == "claude-code"
