"""What leaves a summary, and when it comes back. (SPEC LD-STAY, LD-LAND, LD-GONE)"""

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gitrepo import Repo, fake_git, new_repo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from landings import REF, RUN, codes, entries, holds, reported, rest, summary

from verdict_core import Summary
from verdict_core.landing import Landing, held
from verdict_core.landing.worktree import blob_oid

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="a\n", b="b\n", gone="gone\n")
    repo.write("a", "work on a\n")
    repo.write("b", "work on b\n")
    (repo.path / "gone").unlink()
    repo.write("new/c", "c\n")
    repo.write("new/d", "d\n")
    return repo


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path / "state", RUN)


@pytest.fixture
def whole(repo: Repo, landing: Landing) -> Summary:
    """What was reported, and is landed."""
    whole = reported(repo)
    assert landing.land(whole, repo.path).unlanded == ()
    assert holds(landing, whole, repo)
    return whole


# --- a path comes back ---------------------------------------------------------------------------


def write(name: str, text: str) -> Callable[[Repo], object]:
    return lambda repo: repo.write(name, text)


def link(repo: Repo) -> None:
    (repo.path / "a").unlink()
    (repo.path / "a").symlink_to("work on a\n")


def folder(repo: Repo) -> None:
    (repo.path / "a").unlink()
    (repo.path / "a").mkdir()


def replaced(repo: Repo) -> None:
    folder(repo)
    repo.write("a/inside", "other work\n")


def pipe(repo: Repo) -> None:
    (repo.path / "a").unlink()
    os.mkfifo(repo.path / "a")


@pytest.mark.parametrize(
    ("act", "back"),
    [
        (write("a", "work on A\n"), "a"),
        (write("a", "work on a"), "a"),
        (write("a", ""), "a"),
        (write("b", "work on a\n"), "b"),
        (write("gone", "gone\n"), "gone"),
        (write("gone", "other\n"), "gone"),
        (write("new/c", "C\n"), "new/"),
        (write("new/e", "e\n"), "new/"),
        (write("new/deep/f", "f\n"), "new/"),
        (write("new/.gitignore", "x\n"), "new/"),
        (lambda repo: (repo.path / "a").unlink(), "a"),
        (lambda repo: (repo.path / "a").chmod(0o755), "a"),
        (lambda repo: (repo.path / "a").chmod(0o600), None),
        (lambda repo: (repo.path / "new" / "c").unlink(), None),
        (lambda repo: shutil.rmtree(repo.path / "new"), "new/"),
        (lambda repo: os.utime(repo.path / "a", (1, 1)), None),
        (lambda repo: (repo.path / "gone").mkdir(), None),
        (lambda repo: repo.git("init", "-q", "new/e"), "new/"),
        (lambda repo: os.truncate(repo.path / "a", 17 << 20), "a"),
        (link, "a"),
        (folder, "a"),
        (replaced, "a"),
        (pipe, "a"),
    ],
)
def test_a_path_stays_away_only_while_a_ref_holds_it_as_it_is(
    repo: Repo, landing: Landing, whole: Summary, act: Callable[[Repo], object], back: str | None
) -> None:
    """LD-STAY-1, LD-STAY-3, LD-STAY-4: each look is anew."""
    act(repo)
    left = landing.remaining(whole, repo.path)
    assert left.uncommitted == ((back,) if back else ())


def test_a_removed_file_in_whose_place_a_directory_stands_is_held_with_what_is_below(
    repo: Repo, landing: Landing, whole: Summary
) -> None:
    """LD-STAY-3, LD-STAY-4: git reports the file alone."""
    repo.write("gone/inside", "other work\n")
    assert landing.remaining(whole, repo.path).uncommitted == ("gone",)
    assert landing.land(whole, repo.path).unlanded == ()
    assert entries(repo, "refs/verdict-core/s-s/2")[b"gone/inside"] == ("100644", b"other work\n")
    assert holds(landing, whole, repo)


def test_what_an_older_ref_holds_is_landed_too(
    repo: Repo, landing: Landing, whole: Summary
) -> None:
    """LD-STAY-1, LD-LAND-4."""
    repo.write("a", "second\n")
    assert landing.land(whole, repo.path).ref == "refs/verdict-core/s-s/2"
    repo.write("a", "work on a\n")
    assert holds(landing, whole, repo)
    assert landing.land(whole, repo.path).ref == "refs/verdict-core/s-s/2"
    repo.write("a", "third\n")
    assert landing.remaining(whole, repo.path).uncommitted == ("a",)


def test_the_ref_of_another_run_lands_nothing(
    repo: Repo, landing: Landing, whole: Summary, tmp_path: Path
) -> None:
    """LD-STAY-1: nor does one that only begins alike."""
    for run in ("s-s2", "s-", "s", "s-s.2"):
        assert Landing(tmp_path / "state", run).remaining(whole, repo.path) == whole
    repo.git("update-ref", "refs/verdict-core/s-s2/x", REF)
    repo.git("update-ref", "refs/verdict-core/s-s2/1/2", REF)
    repo.git("update-ref", "refs/verdict-core/s-s2/07", REF)
    repo.git("update-ref", "refs/verdict-core/s-s2/8", REF + "^{tree}")
    assert Landing(tmp_path / "state", "s-s2").remaining(whole, repo.path) == whole


def test_a_path_that_stands_twice_is_one_path(repo: Repo, landing: Landing, whole: Summary) -> None:
    """LD-STAY-7."""
    twice = summary(uncommitted=["a", "new/", "a", "elsewhere"])
    assert landing.remaining(twice, repo.path).uncommitted == ("elsewhere",)
    repo.write("a", "other\n")
    assert landing.remaining(twice, repo.path).uncommitted == ("a", "a", "elsewhere")


def test_a_commit_settles_nothing_that_it_does_not_hold(
    repo: Repo, landing: Landing, whole: Summary
) -> None:
    """LD-STAY-1: HEAD moves on, and the refs stand on the old one."""
    repo.git("add", "a")
    repo.git("commit", "-q", "-m", "a")
    assert holds(landing, whole, repo)
    repo.write("a", "after the commit\n")
    assert landing.remaining(whole, repo.path).uncommitted == ("a",)


def test_every_damage_to_a_stored_object_brings_its_path_back(
    repo: Repo, landing: Landing, whole: Summary
) -> None:
    """LD-STAY-2: lost, cut, zeroed, another one in its place; and the others stay landed."""
    names = {name: f"{REF}:{name}" for name in ("a", "b", "new/c")}
    files = {}
    for name, spec in names.items():
        oid = repo.git("rev-parse", spec).decode().strip()
        files[name] = repo.path / ".git" / "objects" / oid[:2] / oid[2:]
    raw, other = files["a"].read_bytes(), files["b"].read_bytes()
    for damaged in (raw[:-3], raw[:2], b"", bytes(len(raw)), other, None):
        files["a"].unlink()
        if damaged is not None:
            files["a"].write_bytes(damaged)
        assert landing.remaining(whole, repo.path).uncommitted == ("a",)
        landed = landing.land(whole, repo.path)
        if damaged is None:  # then it is stored again
            assert landed.unlanded == ()
        else:
            assert codes(landed) == {"a": "not_verified"}
    files["a"].chmod(0o644)
    files["a"].write_bytes(raw)
    files["new/c"].unlink()
    assert landing.remaining(whole, repo.path).uncommitted == ("new/",)


def test_many_objects_are_read_back_in_parts(
    repo: Repo, landing: Landing, whole: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-STAY-2."""
    for size in (1, 5, 12, 25):
        monkeypatch.setattr(held, "_BATCH_BYTES", size)
        assert holds(landing, whole, repo)


def test_the_id_of_a_blob_is_the_one_that_git_gives(repo: Repo, tmp_path: Path) -> None:
    """LD-STAY-2."""
    other = new_repo(tmp_path / "other", "--object-format=sha256")
    for data in (b"", b"a\0b\r\n"):
        for where, digits in ((repo, 40), (other, 64)):
            given = where.git("hash-object", "--stdin", input=data).strip()
            assert blob_oid(data, digits) == given


@pytest.mark.parametrize(
    "command", ["for-each-ref", "diff-tree", "diff-index", "cat-file", "ls-files", "rev-parse"]
)
def test_where_git_fails_every_path_stays(
    repo: Repo, landing: Landing, whole: Summary, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, command: str,
) -> None:  # fmt: skip
    """LD-STAY-5, LD-STAY-8."""
    text = f'case "$*" in *" {command} "*) exit 1;; esac; exec "$REAL_GIT" "$@"'
    fake_git(monkeypatch, tmp_path / "bin", text)
    assert landing.remaining(whole, repo.path) == whole
    assert landing.remaining(whole, None) == whole
    monkeypatch.setenv("PATH", str(tmp_path))
    assert landing.remaining(whole, repo.path) == whole


def test_a_directory_that_is_no_top_level_is_not_answered_by_its_parent(
    repo: Repo, landing: Landing, whole: Summary
) -> None:
    """LD-STAY-5."""
    assert landing.remaining(whole, repo.path / "new") == whole
    shutil.rmtree(repo.path / ".git")
    assert landing.remaining(whole, repo.path) == whole


def test_what_is_unknown_stays_unknown(repo: Repo, landing: Landing) -> None:
    """LD-STAY-8: and what is landed keeps its order."""
    fields = {"todos": ["x", "y"], "unknown": ["todos", "uncommitted"], "uncommitted": ["b", "a"]}
    whole = summary(**fields)
    assert landing.land(whole, repo.path).unlanded == ()
    assert landing.remaining(whole, repo.path) == summary(unknown=fields["unknown"])
    more = summary(**{**fields, "todos": ["z", "y", "w", "x"], "uncommitted": ["z", "a", "y"]})
    left = landing.remaining(more, repo.path)
    assert (left.todos, left.uncommitted) == (("z", "w"), ("z", "y"))
    assert left.unknown == whole.unknown


def test_a_look_has_a_deadline_too(repo: Repo, landing: Landing) -> None:
    """LD-STAY-5, LD-LAND-3: what needs git stays then, and what needs none is looked at."""
    whole = reported(repo, todos=["t"])
    assert landing.land(whole, repo.path).unlanded == ()
    late = landing.remaining(whole, repo.path, deadline=time.monotonic() - 1)
    assert late == summary(uncommitted=whole.uncommitted)
    assert landing.remaining(whole, repo.path, deadline=time.monotonic() + 60).count == 0


# --- landing again, forgetting, gc ---------------------------------------------------------------


def test_where_nothing_is_left_nothing_is_written(
    repo: Repo, landing: Landing, whole: Summary, tmp_path: Path
) -> None:
    """LD-LAND-4."""
    first = landing.land(whole, repo.path)
    before = (repo.git("for-each-ref"), sorted((tmp_path / "state").rglob("*")))
    second = landing.land(whole, repo.path)
    assert second == first
    assert (second.ref, second.handoff) == (REF, tmp_path / "state/landings/s-s/1/handoff.json")
    assert landing.land(summary(), repo.path).ref is None
    assert landing.land(summary(), None).unlanded == ()
    assert (repo.git("for-each-ref"), sorted((tmp_path / "state").rglob("*"))) == before
    empty = Landing(tmp_path / "none", "s-none")
    assert empty.land(summary(unknown=["todos"]), repo.path).handoff is None
    assert not (tmp_path / "none").exists()


def test_a_new_ref_holds_every_path_of_the_summary(
    repo: Repo, landing: Landing, whole: Summary
) -> None:
    """LD-LAND-4: not only those that were left."""
    repo.write("a", "second\n")
    landed = landing.land(whole, repo.path)
    assert landed.ref == "refs/verdict-core/s-s/2"
    first, second = entries(repo), entries(repo, landed.ref)
    assert second == {**first, b"a": ("100644", b"second\n")}


def test_a_ref_that_would_say_the_same_is_not_made_again(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-LAND-4: what never can be landed makes no new ref each time, nor a new handoff."""
    new_repo(repo.path / "nested")
    repo.write("b", "staged\n")
    repo.git("add", "b")
    repo.write("b", "and edited\n")
    whole = reported(repo)
    landed = landing.land(whole, repo.path)
    assert (landed.ref, codes(landed)) == (REF, {"nested/": "nested_repository"})
    again = landing.land(whole, repo.path)
    assert again == landed
    acts: tuple[Callable[[], object], ...] = (
        lambda: repo.write("a", "changed\n"),
        lambda: repo.git("update-index", "--cacheinfo", "100644",
                         repo.git("rev-parse", "HEAD:a").decode().strip(), "b"),
        lambda: repo.git("reset", "-q", "b"),
        lambda: repo.git("commit", "-q", "--allow-empty", "-m", "x"),
    )  # fmt: skip
    for number, act in enumerate(acts, start=2):
        act()
        assert landing.land(whole, repo.path).ref == f"refs/verdict-core/s-s/{number}"
        assert landing.land(whole, repo.path).ref == f"refs/verdict-core/s-s/{number}"
    assert len(landing.list(repo.path).handoffs) == 5


def test_gc_takes_nothing_while_the_ref_stands(repo: Repo, landing: Landing) -> None:
    """LD-GONE-1, LD-GONE-2."""
    whole = reported(repo)
    assert landing.land(whole, repo.path).unlanded == ()
    oid = repo.git("rev-parse", f"{REF}:a").decode().strip()
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert not (repo.path / ".git" / REF).exists()  # it is packed, and stands all the same
    assert holds(landing, whole, repo)
    repo.git("update-ref", "refs/verdict-core/s-other/1", REF)
    repo.git("update-ref", "-d", "refs/verdict-core/s-other/1")
    assert landing.forget(repo.path).refs == (REF,)
    assert landing.remaining(whole, repo.path) == whole
    repo.git("gc", "-q", "--prune=now")
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("cat-file", "-e", oid)


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    """git takes a lock on packed refs to delete one, which leaves another time on `.git`."""
    return {n: (about[0], about[2]) if isinstance(about, tuple) else about
            for n, about in found.items()}  # fmt: skip


def test_forgetting_deletes_the_run_and_nothing_else(
    repo: Repo, landing: Landing, whole: Summary, tmp_path: Path
) -> None:
    """LD-GONE-1."""
    other = Landing(tmp_path / "state", "s-s2")
    items = summary(uncommitted=["a"], todos=["t"])
    assert other.land(items, repo.path).unlanded == ()
    assert landing.land(items, repo.path).ref == REF
    before = without_times(rest(repo.path))
    gone = landing.forget(repo.path)
    assert (gone.refs, gone.handoffs) == ((REF,), 2)
    assert not (tmp_path / "state" / "landings" / "s-s").exists()
    assert without_times(rest(repo.path)) == before
    assert holds(other, items, repo)
    assert landing.forget(repo.path) == landing.forget(None)
    assert landing.forget(repo.path).handoffs == 0
    assert landing.land(items, repo.path).ref == REF


def test_a_ref_that_moved_meanwhile_is_not_forgotten(
    repo: Repo, landing: Landing, whole: Summary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-GONE-1."""
    text = (
        f'case "$*" in *"update-ref --stdin"*) "$REAL_GIT" -C {repo.path} update-ref {REF} HEAD;;'
        ' esac; exec "$REAL_GIT" "$@"'
    )
    fake_git(monkeypatch, tmp_path / "bin", text)
    with pytest.raises(Exception, match="git_failed"):
        landing.forget(repo.path)
    assert landing.list(repo.path).handoffs


# --- for every tree ------------------------------------------------------------------------------

names = st.sampled_from([b"a", b"b", b"new/c", b"new/deep/d", b"\xff", b"x\ny", b"z z"])
contents = st.binary(max_size=8)
counter = itertools.count()


@given(
    committed=st.dictionaries(names, contents, max_size=4),
    staged=st.dictionaries(names, contents, max_size=3),
    worked=st.dictionaries(names, contents | st.none(), min_size=1, max_size=5),
    data=st.data(),
)
@settings(
    max_examples=25,
    deadline=None,
    # Each example makes a repository, in a folder of its own below tmp_path.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_what_is_landed_is_landed_until_a_byte_of_it_changes(
    tmp_path: Path,
    committed: dict[bytes, bytes],
    staged: dict[bytes, bytes],
    worked: dict[bytes, bytes | None],
    data: st.DataObject,
) -> None:
    """LD-STAY-1, LD-STAY-3, LD-LAND-2, LD-REF-4: after any history of three steps."""
    place = tmp_path / str(next(counter))
    repo = new_repo(place / "repo")
    landing = Landing(place / "state", RUN)

    def put(files: dict[bytes, bytes] | dict[bytes, bytes | None]) -> None:
        for name, content in files.items():
            path = os.path.join(os.fsencode(repo.path), name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if content is not None:
                with open(path, "wb") as file:
                    file.write(content)
            elif os.path.lexists(path):
                os.unlink(path)

    put(committed)
    repo.commit()
    put(staged)
    repo.git("add", "-A")
    put(worked)
    whole = reported(repo)
    before = rest(repo.path)
    landed = landing.land(whole, repo.path)
    assert landed.unlanded == ()
    assert rest(repo.path) == before
    assert holds(landing, whole, repo)
    assert (landed.ref is None) == (whole.count == 0)
    for name, (_, content) in (entries(repo) if landed.ref else {}).items():
        item = item_of(name, whole)
        if item is None or not content:
            continue
        at, bit = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 7))
        altered = content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]
        put({name: altered})
        assert landing.remaining(whole, repo.path).uncommitted == (item,)
        put({name: content})
        assert holds(landing, whole, repo)


def item_of(name: bytes, whole: Summary) -> str | None:
    """The item that a file is named by."""
    for item in whole.uncommitted:
        path = held.path_of(item)
        assert path is not None
        if name == path or (path.endswith(b"/") and name.startswith(path)):
            return item
    return None
