"""The newest record of a directory, of the harnesses that keep one a directory. (SPEC RD-FMT-5)"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from claude_record import Conversation
from gitrepo import Repo, isolate
from plain_record import write
from running import Run

from verdict_core.readers import codex_find, streams
from verdict_core.readers.codex_find import find_newest
from verdict_core.wire import parse

FOLDER = Path("sessions", "2026", "03", "01")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".codex"


def rollout(home: Path, name: str, cwd: Any, at: int, *more: Any, **meta: Any) -> Path:
    head = {"timestamp": "t", "type": "session_meta", "payload": {"id": name, "cwd": cwd, **meta}}
    path = write(home / FOLDER / f"rollout-{name}.jsonl", head, *more)
    os.utime(path, (at, at))
    return path


def test_the_record_that_was_written_last_is_found(home: Path, tmp_path: Path) -> None:
    """RD-FMT-5."""
    here = str(tmp_path)
    last = rollout(home, "b", here, 3)
    rollout(home, "c", here, 2)
    rollout(home, "d", "/elsewhere", 4)
    rollout(home, "e", None, 5)
    assert find_newest(tmp_path, home=home) == last
    assert find_newest(tmp_path, home=home, since=3 * 10**9) == last
    assert find_newest(tmp_path, home=home, since=3 * 10**9 + 1) is None


def test_a_sub_agents_record_is_never_it(home: Path, tmp_path: Path) -> None:
    """RD-FMT-5."""
    own = rollout(home, "a", str(tmp_path), 1, source="cli")
    rollout(home, "b", str(tmp_path), 2, source={"subagent": "review"})
    assert find_newest(tmp_path, home=home) == own


def test_a_directory_is_found_under_its_links_name_and_under_its_own(
    home: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / "link").symlink_to(own)
    found = rollout(home, "a", str(own), 1)
    assert find_newest(tmp_path / "link", home=home) == found
    found = rollout(home, "b", str(tmp_path / "link"), 2)
    assert find_newest(tmp_path / "link", home=home) == found
    assert find_newest(own, home=home) != found


def test_what_cannot_be_read_is_not_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_MODULES", ())
    folder = home / FOLDER
    folder.mkdir(parents=True)
    (folder / "rollout-a.jsonl").mkdir()
    (folder / "rollout-b.jsonl").symlink_to(folder / "nowhere")
    (folder / "rollout-c.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (folder / "rollout-d.jsonl").write_bytes(b"")
    (folder / "rollout-e.jsonl").write_bytes(b"{torn")
    assert find_newest(tmp_path, home=home) is None


def test_only_the_last_ones_are_looked_at(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollout(home, "a", str(tmp_path), 1)
    rollout(home, "b", "/elsewhere", 2)
    monkeypatch.setattr(codex_find, "_LOOKED_AT", 1)
    assert find_newest(tmp_path, home=home) is None


def test_the_hosts_directory_comes_from_the_environment_or_from_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    found = rollout(home, "a", str(tmp_path), 1)
    assert find_newest(tmp_path) == found
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "absent"))
    assert find_newest(tmp_path) is None


@pytest.mark.parametrize(("at", "reader"), [(5, "codex"), (3, "claude-code")])
def test_check_reads_the_record_of_either_harness_that_was_written_last(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path, at: int, reader: str
) -> None:
    """RD-FMT-5, CV-CLI-7."""
    isolate(monkeypatch, tmp_path / "person")
    repo = tmp_path / "repo"
    (repo / "sub").mkdir(parents=True)
    Repo(repo).git("init", "-q")
    plan = {"plan": [{"step": "of codex", "status": "pending"}]}
    call = {"type": "function_call", "name": "update_plan", "call_id": "c"}
    row = {"timestamp": "t", "type": "response_item",
           "payload": {**call, "arguments": json.dumps(plan)}}  # fmt: skip
    codex = rollout(home, "a", str(repo), at, row)
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(repo))
    claude = tmp_path / "home" / ".claude" / "projects" / slug / "s.jsonl"
    Conversation(str(repo)).person("go").todos(("of claude", "pending")).says("So.").write(claude)
    os.utime(claude, (4, 4))
    for cwd in (repo, repo / "sub"):
        done = command("check", "--json", cwd=cwd)
        answer = parse(done.stdout)
        todo, path = ("of codex", codex) if reader == "codex" else ("of claude", claude)
        assert answer["summary"]["todos"] == [todo]
        note = next(note for note in answer["notes"] if note["code"] == "record")
        assert (note["reader"], str(path) in note["text"]) == (reader, True)
