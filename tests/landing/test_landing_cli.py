"""`verdict-core land` and `check` as real processes. (SPEC LD-CLI, LD-STAY-9)"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from claude_record import SESSION, Conversation
from gitrepo import Repo, isolate, new_repo
from landings import rest
from running import Run

from verdict_core.context import FIELDS

EMPTY: dict[str, Any] = {"session": "s", **{name: [] for name in FIELDS}, "unknown": []}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    isolate(monkeypatch, tmp_path / "person")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="a\n")
    repo.write("a", "work\n")
    repo.write("new/b", "b\n")
    return repo


def given(path: Path, **fields: Any) -> Path:
    path.write_text(json.dumps({**EMPTY, **fields}))
    return path


def answer(done: Any) -> Any:
    assert done.stdout.count(b"\n") == 1
    return json.loads(done.stdout)


def test_what_is_landed_by_hand_is_safe_to_compact(
    command: Run, repo: Repo, tmp_path: Path
) -> None:
    """LD-CLI-1, LD-STAY-9: by the same rules; and a later edit is judged as it is."""
    file = given(tmp_path / "s.json", todos=["t", "u"], decisions=["d"])
    asked = ("--repo", repo.path, "--summary", file, "--json")
    before = rest(repo.path)
    first = command("check", *asked)
    assert (first.returncode, answer(first)["count"]) == (20, 5)
    landed = command("land", *asked)
    assert (landed.returncode, landed.stderr) == (0, b"")
    state = tmp_path / "home" / ".local" / "state" / "verdict-core"
    assert answer(landed) == {
        "run": "s-s", "ref": "refs/verdict-core/s-s/1",
        "handoff": str(state / "landings" / "s-s" / "1" / "handoff.json"),
        "landed": 5, "unlanded": [], "unknown": [],
    }  # fmt: skip
    assert rest(repo.path) == before
    judged = command("check", *asked)
    said = answer(judged)
    assert (judged.returncode, said["verdict"]) == (0, "safe_to_compact")
    assert said["reasons"] == ["nothing_unlanded"]
    assert said["summary"] == {**EMPTY, "session": "s"}
    assert [n["text"] for n in said["notes"] if n["code"] == "landed"] == [
        "5 items are landed in s-s: `land --show` has them"
    ]
    repo.write("a", "later\n")
    later = answer(command("check", *asked))
    assert later["summary"]["uncommitted"] == ["a"]
    assert later["verdict"] == "wait"


def test_what_stays_unlanded_is_named_and_exits_10(
    command: Run, repo: Repo, tmp_path: Path
) -> None:
    """LD-CLI-1, LD-LAND-1."""
    new_repo(repo.path / "nested\x1b[2J").commit(a="a")
    file = given(tmp_path / "s.json", todos=["t"])
    done = command("land", "--json", "--repo", repo.path, "--summary", file)
    said = answer(done)
    assert done.returncode == 10
    assert (said["landed"], list(said)) == (
        3, ["run", "ref", "handoff", "landed", "unlanded", "unknown"],
    )  # fmt: skip
    assert said["unlanded"] == [
        {"field": "uncommitted", "item": "nested\x1b[2J/", "code": "nested_repository",
         "text": "a repository of its own stands there"}
    ]  # fmt: skip
    people = command("land", "--repo", repo.path, "--summary", file)
    assert people.returncode == 10
    text = people.stdout.decode()
    assert text.startswith("s-s: 3 landed, 1 not\n  ref: refs/verdict-core/s-s/1\n  handoff: ")
    assert "not landed: uncommitted: nested\\u001b[2J/ (nested_repository: " in text
    assert b"\x1b" not in people.stdout


def test_an_unknown_field_is_no_success(command: Run, repo: Repo, tmp_path: Path) -> None:
    """LD-CLI-1: whoever compacts on status 0 has nothing unknown."""
    file = given(tmp_path / "s.json", todos=["t"], unknown=["todos"])
    asked = ("--repo", repo.path, "--summary", file)
    done = command("land", *asked)
    assert done.returncode == 10
    assert "unknown, which no landing changes: todos" in done.stdout.decode()
    assert command("check", *asked).returncode == 10


def test_a_place_that_is_no_top_level_is_named(command: Run, repo: Repo, tmp_path: Path) -> None:
    """LD-LAND-1: what git reports there is unknown, so nothing is named but what was given."""
    file = given(tmp_path / "s.json", uncommitted=["b"])
    done = command("land", "--json", "--repo", repo.path / "new", "--summary", file)
    said = answer(done)
    assert (done.returncode, said["unknown"]) == (10, ["uncommitted"])
    assert [one["code"] for one in said["unlanded"]] == ["not_a_top_level"]
    outside = answer(command("land", "--json", "--summary", file, cwd=tmp_path))
    assert [one["code"] for one in outside["unlanded"]] == ["no_repository"]


def test_the_run_is_that_of_the_session(command: Run, repo: Repo, tmp_path: Path) -> None:
    """LD-CLI-4: found in the record, also by `check`; without one, that of the top level."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(repo.path))
    record = Conversation(str(repo.path)).person("go").says("Shall I push?")
    file = record.write(tmp_path / "home" / ".claude" / "projects" / slug / "r.jsonl")
    done = command("land", "--json", cwd=repo.path / "new")
    assert answer(done)["run"] == f"s-{SESSION}"
    assert command("check", cwd=repo.path).returncode == 0
    shown = answer(command("land", "--show", "--json", cwd=repo.path))
    assert shown["handoff"]["questions"] == ["Shall I push?"]
    file.unlink()
    places = [command("land", "--json", cwd=place) for place in (repo.path, repo.path / "new")]
    runs = {answer(one)["run"] for one in places}
    runs.add(answer(command("land", "--json", "--repo", repo.path))["run"])
    assert len(runs) == 1
    assert runs.pop().startswith("d-")
    odd = given(tmp_path / "s.json", session="a..b.lock")
    for name, ref in (("a..b.lock", "s-a.%2eb%2elock"), ("Ab", None)):
        odd = given(tmp_path / "s.json", session=name)
        said = answer(command("land", "--json", "--repo", repo.path, "--summary", odd))
        assert said["unlanded"] == []
        run = said["run"]
        assert said["ref"] == f"refs/verdict-core/{ref or run}/1"
        assert run.startswith("x-" if ref is None else "s-a..b")
        assert command("check", "--repo", repo.path, "--summary", odd).returncode == 0


def test_the_format_of_a_record_can_be_named(command: Run, repo: Repo, tmp_path: Path) -> None:
    """LD-CLI-1, RD-FMT-2: as `check` takes it."""
    record = Conversation(str(repo.path)).person("go").says("Shall I push?")
    asked = ("land", "--json", "--repo", repo.path, "--record", record.write(tmp_path / "r.jsonl"))
    own, other, odd = (command(*asked, "--format", name) for name in ("claude-code", "codex", "x"))
    assert (own.returncode, answer(own)["unknown"]) == (0, [])
    assert other.returncode == 10
    assert answer(other)["unknown"] == ["todos", "questions", "decisions", "next_steps"]
    assert (odd.returncode, answer(odd)["refused"]["path"]) == (3, "--format")


def test_people_are_told_what_lands_all_of_it(command: Run, repo: Repo, tmp_path: Path) -> None:
    """LD-STAY-9: while something is open, and no longer once it is landed."""
    asked = ("--repo", repo.path, "--summary", given(tmp_path / "s.json", todos=["t"]))
    told = "all of it: `verdict-core land` writes it down outside the session"
    assert told in command("check", *asked).stdout.decode()
    command("land", *asked)
    landed = command("check", *asked)
    assert (landed.returncode, told in landed.stdout.decode()) == (0, False)


def test_list_names_every_run_that_landed_here(command: Run, repo: Repo, tmp_path: Path) -> None:
    """LD-CLI-2."""
    state = ("--state-dir", tmp_path / "mine")
    for session, fields in (("a..b", {}), ("two", {"todos": ["t"]})):
        file = given(tmp_path / "s.json", session=session, **fields)
        command("land", *state, "--repo", repo.path, "--summary", file)
    elsewhere = new_repo(tmp_path / "elsewhere")
    file = given(tmp_path / "s.json", session="three", todos=["x"])
    command("land", *state, "--repo", elsewhere.path, "--summary", file)
    said = answer(command("land", *state, "--list", "--json", "--repo", repo.path))
    assert [one["run"] for one in said["runs"]] == ["s-a..b", "s-two"]
    two = said["runs"][1]
    assert two["refs"][0]["ref"] == "refs/verdict-core/s-two/1"
    assert two["refs"][0]["commit"] == repo.git("rev-parse", two["refs"][0]["ref"]).decode().strip()
    assert [Path(one["path"]).parts[-3:] for one in two["handoffs"]] == [
        ("s-two", "1", "handoff.json")
    ]
    there = answer(command("land", *state, "--list", "--json", "--repo", elsewhere.path))
    assert [(one["run"], len(one["refs"])) for one in there["runs"]] == [("s-three", 0)]
    (tmp_path / "mine" / "landings" / "s-two" / "1" / "handoff.json").write_text("{")
    text = command("land", *state, "--list", cwd=repo.path).stdout.decode()
    assert "s-a..b:\n" in text
    assert "refs/verdict-core/s-two/1" in text
    assert "(cannot be read)" in text
    nothing = command("land", *state, "--list", cwd=tmp_path)
    assert (nothing.returncode, nothing.stdout) == (0, b"nothing is landed here\n")


def test_show_restore_and_forget(command: Run, repo: Repo, tmp_path: Path) -> None:
    """LD-CLI-3, LD-BACK-3, LD-GONE-1."""
    repo.git("rm", "-q", "--cached", "a")
    (repo.path / "a").unlink()
    file = given(tmp_path / "s.json", todos=["t\x1b"], decisions=["d"])
    asked = ("--repo", repo.path)
    command("land", *asked, "--summary", file)
    run = ("--run", "s-s")
    shown = answer(command("land", "--show", "--json", *asked, *run))
    assert list(shown) == ["run", "ref", "paths", "handoff"]
    assert shown["paths"] == [
        {"path": "a", "change": "removed"}, {"path": "new/b", "change": "added"},
    ]  # fmt: skip
    assert (shown["handoff"]["todos"], shown["handoff"]["decisions"]) == (["t\x1b"], ["d"])
    text = command("land", "--show", *asked, "--summary", file).stdout.decode()
    assert "  removed a\n  added new/b\n" in text
    assert "  todos: t\\u001b\n  decisions: d\n" in text
    back = command("land", "--restore-into", "out", "--json", *run, cwd=repo.path)
    assert answer(back) == {
        "run": "s-s", "ref": "refs/verdict-core/s-s/1", "directory": "out",
        "restored": ["new/b"], "lost": [],
    }  # fmt: skip
    assert (repo.path / "out" / "new" / "b").read_text() == "b\n"
    again = command("land", "--restore-into", "out", *asked, *run, cwd=repo.path)
    assert (again.returncode, again.stdout) == (3, b"")
    assert again.stderr == (
        b"verdict-core: out: unwritable: it is not empty, and nothing is ever written over\n"
    )
    shutil.rmtree(repo.path / "out")
    oid = repo.git("rev-parse", "refs/verdict-core/s-s/1:new/b").decode().strip()
    (repo.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    half = command("land", "--restore-into", "out", *asked, *run, "--number", "1", cwd=repo.path)
    assert half.returncode == 10
    assert half.stdout.decode().endswith("0 files below out\n  not restored: new/b\n")
    gone = command("land", "--forget", "--json", *asked, *run)
    assert answer(gone) == {"run": "s-s", "refs": ["refs/verdict-core/s-s/1"], "handoffs": 1}
    assert b"deleted 0 refs and 0 handoffs" in command("land", "--forget", *asked, *run).stdout
    assert repo.git("for-each-ref", "refs/verdict-core/") == b""
    none = command("land", "--show", *asked, *run)
    assert (none.returncode, none.stdout) == (3, b"")
    assert b"refs/verdict-core/s-s/: unreadable: nothing is landed there" in none.stderr


def test_show_without_a_handoff_and_without_a_ref(command: Run, repo: Repo, tmp_path: Path) -> None:
    """LD-CLI-3."""
    file = given(tmp_path / "s.json")
    command("land", "--repo", repo.path, "--summary", file, "--state-dir", tmp_path / "one")
    asked = ("land", "--show", "--run", "s-s", "--repo", repo.path, "--state-dir", tmp_path / "no")
    shown = answer(command(*asked, "--json"))
    assert (shown["ref"], shown["handoff"]) == ("refs/verdict-core/s-s/1", None)
    assert command(*asked).stdout.decode().count("\n") == 4
    file = given(tmp_path / "s.json", todos=["t"])
    command("land", "--summary", file, cwd=tmp_path)
    shown = answer(command("land", "--show", "--json", "--run", "s-s", cwd=tmp_path))
    assert (shown["ref"], shown["paths"], shown["handoff"]["todos"]) == (None, [], ["t"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--list", "--show"], "usage"),
        (["--run", "s-s"], "--run: usage: goes with --show, --restore-into and --forget"),
        (["--list", "--run", "s-s"], "--run: usage"),
        (["--number", "1"], "--number: usage: goes with --show and --restore-into"),
        (["--forget", "--number", "1", "--run", "s-s"], "--number: usage"),
        (["--show", "--number", "0", "--run", "s-s"], "--number: bad_config"),
        (["--show", "--number", "x", "--run", "s-s"], "--number: bad_config"),
        (["--show", "--run", ""], "run: bad_value"),
        (["--restore-into", "out", "--run", "s-s"], "no_repository"),
        (["--restore-into", "out", "--run", "s-s", "--repo", "."], "no_repository"),
        (["--summary", "none"], "none: unreadable"),
    ],
)
def test_what_cannot_be_done_is_refused_with_one_line(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    """LD-CLI-3."""
    isolate(monkeypatch, tmp_path / "person")
    done = command("land", *arguments)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.count(b"\n") == 1
    assert says in done.stderr.decode()
    assert not (tmp_path / "out").exists()
