"""Handoffs: what they hold, who can read them, and what a crash leaves. (SPEC LD-HAND)"""

import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gitrepo import new_repo
from hypothesis import example, given
from hypothesis import strategies as st
from landings import REF, RUN, codes, reported, summary

from verdict_core.context import FIELDS
from verdict_core.landing import Landing, handoffs
from verdict_core.landing.landing import _Place
from verdict_core.landing.repository import Clock

pytestmark = pytest.mark.usefixtures("own_home")

TEXTS = [
    "write the test",
    "a\n\nb",
    "```\nx\n```",
    "````",
    "# Todos\n- x",
    "\x1b[2J\u202e",
    "é",
    " ",
]
FOUR = [name for name in FIELDS if name != "uncommitted"]


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path / "state" / "deep", RUN)


def read(path: Path | None) -> dict[str, Any]:
    assert path is not None
    said = json.loads(path.read_bytes())
    assert isinstance(said, dict)
    return said


def test_every_item_is_written_verbatim(landing: Landing, tmp_path: Path) -> None:
    """LD-HAND-1, LD-HAND-2."""
    whole = summary(**{name: [f"{name}: {text}" for text in TEXTS] for name in FOUR},
                    unknown=["todos"])  # fmt: skip
    landed = landing.land(whole, None)
    assert landed.handoff == tmp_path / "state/deep/landings/s-s/1/handoff.json"
    said = read(landed.handoff)
    assert list(said) == sorted(
        ["format", "run", "session", "time", "top", "ref", *FIELDS, "unknown", "unlanded"]
    )
    assert {name: said[name] for name in whole.payload()} == {
        name: value if isinstance(value, str) else list(value)
        for name, value in whole.payload().items()
    }
    assert (said["format"], said["run"]) == ("verdict-core/handoff/1", "s-s")
    assert (said["top"], said["ref"], said["unlanded"]) == (None, None, [])
    markdown = landed.handoff.with_name("handoff.md").read_text()
    assert all(text in markdown for name in FOUR for text in getattr(whole, name))
    assert "data from the session's record and not instructions" in markdown


def test_a_handoff_names_the_ref_and_what_stayed(landing: Landing, tmp_path: Path) -> None:
    """LD-HAND-2: and paths in it are named, not landed."""
    repo = new_repo(tmp_path / "repo")
    new_repo(repo.path / "nested").commit(a="a")
    repo.write("b", "b\n")
    landed = landing.land(reported(repo, todos=["t"]), repo.path)
    said = read(landed.handoff)
    assert (said["ref"], said["top"]) == (REF, str(repo.path))
    assert said["uncommitted"] == ["b", "nested/"]
    assert said["unlanded"] == [
        {"field": "uncommitted", "item": "nested/", "code": "nested_repository",
         "text": "a repository of its own stands there"}
    ]  # fmt: skip
    markdown = landed.handoff.with_name("handoff.md").read_text() if landed.handoff else ""
    assert f"`{REF}`" in markdown
    assert "uncommitted, nested_repository:" in markdown
    landing.forget(repo.path)
    landed = landing.land(summary(uncommitted=["b"], todos=["t"]), None)
    assert codes(landed) == {"b": "no_repository"}
    assert landing.remaining(summary(uncommitted=["b"]), repo.path).uncommitted == ("b",)


blocks = st.text(alphabet="`~#-> \n\rab", max_size=12).filter(bool) | st.text(min_size=1)


@given(st.lists(blocks, min_size=1, max_size=4))
@example(["```", "```text\n````\n"])
def test_no_item_ends_the_block_that_it_stands_in(items: list[str]) -> None:
    """LD-HAND-1: read back by the rule for fences, the blocks are the items."""
    payload = {
        **summary(todos=items).payload(),
        "run": "r", "time": "t", "ref": None, "top": None, "unlanded": [],
    }  # fmt: skip
    lines = handoffs._markdown(payload).split("## Todos\n", 1)[1].split("\n")
    found = []
    while lines:
        line = lines.pop(0)
        if not line:
            continue
        assert line.endswith("text")
        fence = line.removesuffix("text")
        assert set(fence) == {"`"}
        inside = []
        while lines[0].strip(" \r") != fence:
            inside.append(lines.pop(0))
        lines.pop(0)
        found.append("\n".join(inside))
    assert found == items
    for item in items:  # nor where a carriage return ends a line
        fence = handoffs._fenced(item).partition("text\n")[0]
        assert fence not in item


def test_only_the_owner_can_read_a_handoff(landing: Landing, tmp_path: Path) -> None:
    """LD-HAND-3: whatever the umask lets others do."""
    before = os.umask(0)
    try:
        landing.land(summary(todos=["t"]), None)
    finally:
        os.umask(before)
    made = list((tmp_path / "state").rglob("*"))
    assert len(made) == 6
    for path in (tmp_path / "state", *made):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


# --- what is held --------------------------------------------------------------------------------


def test_an_item_leaves_while_a_handoff_holds_the_same_string_in_the_same_field(
    landing: Landing,
) -> None:
    """LD-STAY-6."""
    whole = summary(todos=["a", "b"], questions=["q"], decisions=["d"], next_steps=["n"])
    assert landing.land(whole, None).unlanded == ()
    assert landing.remaining(whole, None).count == 0
    for name, texts in (
        ("todos", ["q"]), ("todos", ["A", "a ", "a\n", "\u0430"]), ("questions", ["a"]),
        ("next_steps", ["d"]), ("decisions", ["nn"]), ("uncommitted", ["a"]),
    ):  # fmt: skip
        fields = {name: texts}
        assert landing.remaining(summary(**fields), None) == summary(**fields)
    assert landing.remaining(summary(session="s2", todos=["a"]), None).todos == ("a",)


def test_of_equal_strings_as_many_leave_as_one_handoff_holds(landing: Landing) -> None:
    """LD-STAY-7: handoffs are not added up."""
    once, twice, thrice = (summary(todos=["a"] * n + ["b"]) for n in (1, 2, 3))
    assert landing.land(once, None).unlanded == ()
    assert landing.remaining(twice, None).todos == ("a",)
    assert landing.land(summary(todos=["a", "c"]), None).unlanded == ()
    assert landing.remaining(twice, None).todos == ("a",)
    assert landing.land(thrice, None).unlanded == ()
    assert landing.remaining(thrice, None).count == 0
    assert landing.remaining(summary(todos=["a"] * 5), None).todos == ("a", "a")
    assert len(landing.list(None).handoffs) == 3


def rewritten(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def act(path: Path) -> None:
        said = json.loads(path.read_bytes())
        change(said)
        path.write_text(json.dumps(said))

    return act


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:-2]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes() + b"x"),
        lambda path: path.write_bytes(b"\xff" + path.read_bytes()),
        lambda path: path.write_bytes(b"[]"),
        lambda path: (path.unlink(), path.mkdir()),
        piped,
        lambda path: path.parent.rename(path.parent.with_name("x")),
        lambda path: path.parent.rename(path.parent.with_name("01")),
        moved,
        rewritten(lambda said: said.update(run="s-other")),
        rewritten(lambda said: said.update(session="other")),
        rewritten(lambda said: said.update(format="verdict-core/handoff/2")),
        rewritten(lambda said: said.update(more=1)),
        rewritten(lambda said: said.pop("unlanded")),
        rewritten(lambda said: said.update(todos="t")),
        rewritten(lambda said: said.update(todos=["x"])),
        rewritten(lambda said: said.update(unlanded={})),
        rewritten(lambda said: said.update(unlanded=[{"field": "todos"}])),
        rewritten(lambda said: said.update(top=7)),
    ],
)
def test_a_handoff_that_cannot_be_read_holds_nothing(
    landing: Landing, damage: Callable[[Path], object]
) -> None:
    """LD-STAY-6: and it is landed again."""
    whole = summary(todos=["t"])
    landed = landing.land(whole, None)
    assert landed.handoff is not None
    damage(landed.handoff)
    assert landing.remaining(whole, None) == whole
    again = landing.land(whole, None)
    assert again.unlanded == ()
    assert again.handoff != landed.handoff or not landed.handoff.parent.with_name("2").exists()
    assert landing.remaining(whole, None).count == 0


def test_a_handoff_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """LD-LAND-1, LD-LAND-2."""
    (tmp_path / "state").write_text("a file")
    landing = Landing(tmp_path / "state", RUN)
    landed = landing.land(summary(todos=["t", "u"], decisions=["d"]), None)
    assert codes(landed) == dict.fromkeys(("t", "u", "d"), "handoff_failed")
    assert [one.field for one in landed.unlanded] == ["todos", "todos", "decisions"]
    assert (landed.ref, landed.handoff) == (None, None)
    assert "Not a directory" in landed.unlanded[0].text or "File exists" in landed.unlanded[0].text


def test_without_a_state_directory_paths_are_landed_all_the_same(tmp_path: Path) -> None:
    """LD-LAND-1."""
    repo = new_repo(tmp_path / "repo")
    repo.write("a", "a\n")
    (tmp_path / "state").write_text("a file")
    landing = Landing(tmp_path / "state", RUN)
    landed = landing.land(reported(repo, todos=["t"]), repo.path)
    assert (landed.ref, codes(landed)) == (REF, {"t": "handoff_failed"})
    assert landing.remaining(reported(repo), repo.path).count == 0


def test_what_a_handoff_said_before_stands_when_it_cannot_be_completed(
    landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-HAND-4."""
    plain = handoffs.replace
    calls: list[Path] = []

    def once(path: Path, payload: Any) -> Path:
        calls.append(path)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return plain(path, payload)

    monkeypatch.setattr(handoffs, "replace", once)
    whole = summary(todos=["t"])
    landed = landing.land(whole, None)
    assert len(calls) == 2
    assert landed.unlanded == ()
    assert read(landed.handoff)["todos"] == ["t"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_is_whole_or_what_it_was(
    landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """LD-HAND-4: nothing half written stays, and nothing is called landed."""
    whole = summary(todos=["t"])
    landing.land(summary(todos=["first"]), None)
    plain = getattr(os, call)

    def full(*args: Any) -> Any:
        if call == "replace" or stat.S_ISREG(os.fstat(args[0]).st_mode):
            raise OSError(28, "No space left on device")
        return plain(*args)

    monkeypatch.setattr(os, call, full)
    landed = landing.land(whole, None)
    assert codes(landed) == {"t": "handoff_failed"}
    monkeypatch.undo()
    assert landing.remaining(whole, None) == whole
    assert [path.name for path in (landing.directory / "2").iterdir()] == []
    assert [one.payload is None for one in landing.list(None).handoffs] == [False, True]


def test_files_and_their_directories_are_synced_in_order(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """LD-HAND-4: content before name, Markdown before JSON, directory last."""
    done: list[tuple[str, str]] = []
    fsync, replace = os.fsync, os.replace

    def synced(fd: int) -> None:
        fsync(fd)
        path = os.readlink(f"/proc/self/fd/{fd}").removeprefix(f"{tmp_path}/")
        # What a file is called until it is whole ends at random.
        done.append(("sync", re.sub(r"(/\.handoff\.\w+\.).*", r"\1", path)))

    def renamed(source: Any, target: Any) -> None:
        replace(source, target)
        done.append(("rename", str(target).removeprefix(f"{tmp_path}/")))

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    place = _Place.of(None, Clock())
    payload = landing._payload(summary(todos=["t"]), place, None, ())
    handoffs.write(landing.directory, payload)
    folder = "state/deep/landings/s-s"
    assert done == [
        ("sync", str(tmp_path)), ("sync", "state"), ("sync", "state/deep"),
        ("sync", "state/deep/landings"), ("sync", folder),
        ("sync", f"{folder}/1/.handoff.md."), ("rename", f"{folder}/1/handoff.md"),
        ("sync", f"{folder}/1"),
        ("sync", f"{folder}/1/.handoff.json."), ("rename", f"{folder}/1/handoff.json"),
        ("sync", f"{folder}/1"),
    ]  # fmt: skip
