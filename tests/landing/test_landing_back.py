"""Landed files, brought back. (SPEC LD-BACK)"""

import os
import stat
from pathlib import Path

import pytest
from gitrepo import Repo, new_repo
from landings import REF, RUN, reported, summary

from verdict_core import VerdictCoreError
from verdict_core.errors import Unreadable, Unwritable
from verdict_core.landing import Landing

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="a\n", gone="gone\n", same="same\n")
    repo.write("a", "work\n").chmod(0o755)
    (repo.path / "gone").unlink()
    repo.write("new/deep/b", "b\r\n\0")
    repo.write("new/same-bytes", "b\r\n\0")
    (repo.path / "new" / "link").symlink_to("../../elsewhere")
    return repo


@pytest.fixture
def landing(tmp_path: Path, repo: Repo) -> Landing:
    landing = Landing(tmp_path / "state", RUN)
    assert landing.land(reported(repo), repo.path).ref == REF
    return landing


def tree(folder: Path) -> dict[str, bytes | str]:
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


WORK = {
    "a": b"work\n",
    "new/deep/b": b"b\r\n\0",
    "new/same-bytes": b"b\r\n\0",
    "new/link": "../../elsewhere",
}


@pytest.mark.parametrize("there", [False, True])
def test_what_was_landed_comes_back_as_it_was(
    repo: Repo, landing: Landing, tmp_path: Path, there: bool
) -> None:
    """LD-BACK-1, LD-BACK-3."""
    repo.config("core.autocrlf", "true")
    out = tmp_path / "out"
    if there:
        out.mkdir()
    restored = landing.restore_into(out, repo.path)
    assert restored.ref == REF
    assert restored.paths == tuple(sorted(WORK))
    assert restored.lost == ()
    assert tree(out) == WORK
    assert stat.S_IMODE((out / "a").stat().st_mode) & 0o100
    assert not (out / "new/deep/b").stat().st_mode & 0o111
    if not there:
        assert stat.S_IMODE(out.stat().st_mode) == 0o700


def test_an_older_landing_comes_back_by_its_number(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-CLI-3."""
    repo.write("a", "second\n")
    landing.land(reported(repo), repo.path)
    landing.restore_into(tmp_path / "newest", repo.path)
    landing.restore_into(tmp_path / "first", repo.path, 1)
    assert (tmp_path / "newest" / "a").read_text() == "second\n"
    assert (tmp_path / "first" / "a").read_text() == "work\n"
    assert landing.show(repo.path, 1).ref != landing.show(repo.path).ref
    first = landing.show(repo.path, 1)
    assert first.handoff is not None
    assert first.handoff.number == 1
    for act in (
        lambda: landing.restore_into(tmp_path / "x", repo.path, 3),
        lambda: landing.show(repo.path, 3),
        lambda: Landing(tmp_path / "state", "s-none").show(repo.path),
        lambda: Landing(tmp_path / "state", "s-none").restore_into(tmp_path / "x", repo.path),
    ):
        with pytest.raises(Unreadable, match=r"refs/verdict-core/s-\w+/3?: unreadable: nothing"):
            act()
    assert not (tmp_path / "x").exists()


def test_before_the_first_commit_all_of_it_comes_back(tmp_path: Path) -> None:
    """LD-BACK-3."""
    repo = new_repo(tmp_path / "unborn")
    repo.write("x", "x\n")
    landing = Landing(tmp_path / "state", RUN)
    landing.land(reported(repo), repo.path)
    assert landing.restore_into(tmp_path / "out", repo.path).paths == ("x",)
    assert tree(tmp_path / "out") == {"x": b"x\n"}


def test_a_directory_that_is_not_empty_or_not_one_is_refused(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-BACK-1."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / ".hidden").write_text("mine\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    (tmp_path / "dangling").symlink_to("none")
    (tmp_path / "file").write_text("mine\n")
    (repo.path / ".git" / "hooks").rename(repo.path / ".git" / "x")
    (repo.path / ".git" / "hooks").mkdir()
    (tmp_path / "to-git").symlink_to(repo.path / ".git")
    refused = [
        "full", "link", "dangling", "file", "none/below", "repo", "repo/.git/hooks",
        "repo/.git/new", "repo/.git", "to-git/hooks", "a\0b",
    ]  # fmt: skip
    before = {name: tree(tmp_path / name) for name in ("full", "empty", "repo")}
    for name in refused:
        with pytest.raises(Unwritable) as caught:
            landing.restore_into(tmp_path / name, repo.path)
        assert caught.value.path == str(tmp_path / name)
    assert {name: tree(tmp_path / name) for name in ("full", "empty", "repo")} == before
    assert not (tmp_path / "none").exists()


def test_the_metadata_of_a_linked_worktree_is_refused_too(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-BACK-1: its own, and the common one."""
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "f").write_text("f\n")
    landing.land(summary(uncommitted=["f"]), tmp_path / "side")
    for name in ("repo/.git/new", "repo/.git/worktrees/side/new"):
        with pytest.raises(Unwritable, match="inside"):
            landing.restore_into(tmp_path / name, tmp_path / "side")


def hostile(repo: Repo, *rows: tuple[str, bytes, bytes], under: bytes = b"") -> None:
    """The ref holds a tree that git itself would not make."""
    raw = b""
    for mode, name, data in rows:
        raw += mode.encode() + b" " + name + b"\0" + stored(repo, data)
    if under:
        raw = b"40000 " + under + b"\0" + stored(repo, raw, "--literally", "-t", "tree")
    tree = stored(repo, raw, "--literally", "-t", "tree").hex()
    commit = repo.git("commit-tree", "-m", "x", tree).decode().strip()
    repo.git("update-ref", "refs/verdict-core/s-s/9", commit)


def stored(repo: Repo, data: bytes, *options: str) -> bytes:
    """The id of a new object."""
    oid = repo.git("hash-object", "-w", *options, "--stdin", input=data)
    return bytes.fromhex(oid.decode().strip())


@pytest.mark.parametrize(
    ("rows", "under", "lost"),
    [
        ([("100644", b"evil", b"x")], b"..", "../evil"),
        ([("100644", b"config", b"x")], b".git", ".git/config"),
        ([("100644", b"config", b"x")], b".GIT", ".GIT/config"),
        ([("100644", b"..", b"x")], b"", ".."),
        ([("100644", b"/etc/evil", b"x")], b"", "/etc/evil"),
        ([("100644", b"../evil", b"x")], b"", "../evil"),
        ([("120000", b"way", b"../"), ("100644", b"way/evil", b"x")], b"", "way/evil"),
    ],
)
def test_nothing_is_written_outside_whatever_a_ref_holds(
    repo: Repo, landing: Landing, tmp_path: Path,
    rows: list[tuple[str, bytes, bytes]], under: bytes, lost: str,
) -> None:  # fmt: skip
    """LD-BACK-2: and what harms nobody is brought back."""
    hostile(repo, ("100644", b"0good", b"good"), *rows, under=under)
    outside = {path for path in tmp_path.rglob("*") if "out" not in path.parts}
    restored = landing.restore_into(tmp_path / "out", repo.path)
    assert lost in restored.lost
    assert {path for path in tmp_path.rglob("*") if "out" not in path.parts} == outside
    assert not Path("/etc/evil").exists()
    if not under:
        assert (tmp_path / "out" / "0good").read_bytes() == b"good"


def test_what_a_ref_does_not_hold_whole_is_named_and_the_rest_comes_back(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-BACK-3."""
    oid = repo.git("rev-parse", f"{REF}:new/deep/b").decode().strip()
    (repo.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    restored = landing.restore_into(tmp_path / "out", repo.path)
    assert restored.lost == ("new/deep/b", "new/same-bytes")
    assert tree(tmp_path / "out") == {name: WORK[name] for name in ("a", "new/link")}


def test_where_there_is_no_repository_it_is_said(landing: Landing, tmp_path: Path) -> None:
    for act in (
        lambda: landing.restore_into(tmp_path / "out", tmp_path),
        lambda: landing.list(tmp_path),
        lambda: landing.forget(tmp_path),
    ):
        with pytest.raises(VerdictCoreError) as caught:
            act()
        assert caught.value.code == "no_repository"
    shown = landing.show(None)
    assert (shown.ref, shown.changes) == (None, ())
    assert shown.handoff is not None


def test_handoffs_that_cannot_be_deleted_are_told(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-GONE-1."""
    real = landing.directory.rename(landing.directory.with_name("real"))
    landing.directory.symlink_to(real)
    with pytest.raises(Unwritable):
        landing.forget(None)
    assert (real / "1" / "handoff.json").exists()
