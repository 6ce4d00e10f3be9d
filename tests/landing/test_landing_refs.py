"""What goes below a ref, and what is left of the repository. (SPEC LD-REF, LD-TREE)"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gitrepo import Repo, fake_git, new_repo, script, with_submodule
from landings import REF, RUN, codes, entries, holds, objects, reported, rest, summary
from running import NOBODY, ordinary_user

from verdict_core import git
from verdict_core.git import show_path
from verdict_core.landing import Landing, runs, snapshot, worktree
from verdict_core.landing.repository import Clock, Repository
from verdict_core.landing.worktree import Blob, Unfit, look, opened

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """One commit; one file changed, one gone, one staged, one new, one directory new."""
    repo = new_repo(tmp_path / "repo")
    repo.commit(changed="old\n", gone="gone\n", staged="old\n", same="same\n")
    repo.write("changed", "new\n")
    (repo.path / "gone").unlink()
    repo.write("staged", "staged\n")
    repo.git("add", "staged")
    repo.write("fresh", "fresh\n")
    repo.write("folder/one", "1\n")
    repo.write("folder/deep/two", "2\n")
    repo.git("stash", "list")
    return repo


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path / "state", RUN)


# --- what is added, and nothing else -------------------------------------------------------------


def test_all_that_git_reports_is_landed_and_nothing_remains(repo: Repo, landing: Landing) -> None:
    """LD-REF-1, LD-REF-2, LD-TREE-3, LD-TREE-6."""
    whole = reported(repo)
    assert landing.remaining(whole, repo.path) == whole
    landed = landing.land(whole, repo.path)
    assert (landed.ref, landed.unlanded) == (REF, ())
    assert entries(repo) == {
        b"changed": ("100644", b"new\n"),
        b"staged": ("100644", b"staged\n"),
        b"same": ("100644", b"same\n"),
        b"fresh": ("100644", b"fresh\n"),
        b"folder/one": ("100644", b"1\n"),
        b"folder/deep/two": ("100644", b"2\n"),
    }
    assert holds(landing, whole, repo)
    parents = repo.git("rev-list", "--parents", "-1", REF).split()[1:]
    assert parents == repo.git("rev-parse", "HEAD").split()
    names = repo.git("diff", "--name-only", "HEAD", REF).decode().split()
    assert names == ["changed", "folder/deep/two", "folder/one", "fresh", "gone", "staged"]


def stash_and_reflogs(repo: Repo) -> None:
    repo.write("for-the-stash")
    repo.git("add", "for-the-stash")
    repo.git("stash", "push", "-q", "for-the-stash")


def detach(repo: Repo) -> None:
    repo.git("checkout", "-q", "--detach")


def pack(repo: Repo) -> None:
    repo.git("gc", "-q")


def configure(*settings: str) -> Callable[[Repo], None]:
    def act(repo: Repo) -> None:
        for setting in settings:
            repo.config(*setting.split("=", 1))

    return act


SETTINGS = [
    "core.splitIndex=true", "core.logAllRefUpdates=always", "core.untrackedCache=true",
    "commit.gpgSign=true", "user.useConfigOnly=true", "gc.auto=1", "index.sparse=true",
    "core.sharedRepository=group", "feature.manyFiles=true", "i18n.commitEncoding=ISO-8859-1",
    "user.signingKey=none", "gpg.program=/bin/false", "core.fsync=none",
]  # fmt: skip


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(lambda repo: None, id="plain"),
        stash_and_reflogs,
        detach,
        pack,
        pytest.param(configure(*SETTINGS), id="settings"),
    ],
)
def test_only_objects_and_the_new_ref_are_added(
    repo: Repo, landing: Landing, prepare: Callable[[Repo], None]
) -> None:
    """LD-REF-4: every other byte, mode and time below the top level is as it was."""
    prepare(repo)
    whole = reported(repo)
    before, kept = rest(repo.path), objects(repo.path)
    landed = landing.land(whole, repo.path)
    assert (landed.ref, landed.unlanded) == (REF, ())
    assert rest(repo.path) == before
    after = objects(repo.path)
    assert {name: after.get(name) for name in kept} == kept
    added = [path for path in (repo.path / ".git" / "refs").rglob("*") if path.is_file()
             and "verdict-core" in path.parts]  # fmt: skip
    assert added == [repo.path / ".git" / REF]
    assert landing.remaining(whole, repo.path).count == 0
    assert rest(repo.path) == before


def test_before_the_first_commit_a_landing_has_no_parent(tmp_path: Path, landing: Landing) -> None:
    """LD-REF-2, LD-REF-4."""
    repo = new_repo(tmp_path / "repo")
    repo.write("a", "a\n")
    repo.write("b", "b\n")
    repo.git("add", "b")
    whole, before = reported(repo), rest(repo.path)
    assert landing.land(whole, repo.path).unlanded == ()
    assert repo.git("rev-list", "--parents", REF).split()[1:] == []
    assert entries(repo) == {b"a": ("100644", b"a\n"), b"b": ("100644", b"b\n")}
    assert holds(landing, whole, repo)
    assert rest(repo.path) == before


def test_a_branch_without_a_commit_beside_one_with_its_name_before_it(
    repo: Repo, landing: Landing
) -> None:
    """LD-REF-2: refs/heads/x has no commit, and refs/heads/x/y has."""
    repo.git("update-ref", "refs/heads/x/y", "HEAD")
    repo.git("symbolic-ref", "HEAD", "refs/heads/x")
    whole = summary(uncommitted=["fresh"])
    assert landing.land(whole, repo.path).unlanded == ()
    assert repo.git("rev-list", "--parents", REF).split()[1:] == []
    assert entries(repo) == {b"fresh": ("100644", b"fresh\n")}


def test_a_head_that_is_damaged_is_not_taken_for_none(repo: Repo, landing: Landing) -> None:
    """LD-LAND-1, LD-STAY-5."""
    whole = reported(repo)
    head = repo.git("rev-parse", "HEAD").decode().strip()
    (repo.path / ".git" / "objects" / head[:2] / head[2:]).unlink()
    landed = landing.land(whole, repo.path)
    assert landed.ref is None
    assert set(codes(landed).values()) == {"git_failed"}
    assert landing.remaining(whole, repo.path) == whole


def test_a_linked_worktree_lands_into_the_common_repository(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-REF-4."""
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repo(tmp_path / "side")
    side.write("changed", "from the side\n")
    whole = reported(side)
    before = (rest(repo.path), rest(side.path))
    assert landing.land(whole, side.path).unlanded == ()
    assert (rest(repo.path), rest(side.path)) == before
    assert entries(repo)[b"changed"] == ("100644", b"from the side\n")
    assert holds(landing, whole, side)
    assert landing.remaining(reported(repo), repo.path) == reported(repo)


def test_a_repository_of_sha256_is_landed_in(tmp_path: Path, landing: Landing) -> None:
    """LD-REF-1, LD-STAY-1."""
    for name, commit in (("unborn", False), ("born", True)):
        repo = new_repo(tmp_path / name, "--object-format=sha256")
        if commit:
            repo.commit(a="old\n", gone="x")
            (repo.path / "gone").unlink()
        repo.write("a", "new\n")
        whole = reported(repo)
        landed = landing.land(whole, repo.path)
        assert landed.unlanded == ()
        assert len(repo.git("rev-parse", REF).strip()) == 64
        assert entries(repo) == {b"a": ("100644", b"new\n")}
        assert holds(landing, whole, repo)


# --- nothing of the user's takes part ------------------------------------------------------------


def test_nothing_of_the_users_runs(repo: Repo, landing: Landing, tmp_path: Path) -> None:
    """LD-REF-5: filters, hooks, monitors and programs that would all leave a trace."""
    trap = script(tmp_path / "trap", f"touch {tmp_path}/ran; cat")
    for name in ("post-index-change", "reference-transaction", "pre-commit", "post-commit",
                 "pre-auto-gc"):  # fmt: skip
        script(repo.path / ".git" / "hooks" / name, f"touch {tmp_path}/ran")
    whole = reported(repo)
    for setting in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process",
                    "diff.x.textconv", "diff.external", "gpg.program", "core.editor",
                    "core.pager", "core.sshCommand"):  # fmt: skip
        repo.config(setting, str(trap))
    repo.config("filter.x.required", "true")
    repo.config("commit.gpgSign", "true")
    (repo.path / ".git" / "info" / "attributes").write_text("* filter=x diff=x text=auto\n")
    landed = landing.land(whole, repo.path)
    assert landed.unlanded == ()
    assert landing.remaining(whole, repo.path).count == 0
    assert landing.show(repo.path).ref is not None
    assert landing.restore_into(tmp_path / "out", repo.path).lost == ()
    assert landing.forget(repo.path).refs == (REF,)
    assert not (tmp_path / "ran").exists()
    assert (
        b"ran" in subprocess.run([trap, "x"], input=b"ran", capture_output=True, check=True).stdout
    )
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("setting", ["core.autocrlf=true", "core.autocrlf=input", "core.eol=crlf"])
def test_bytes_are_landed_as_they_are_whatever_git_would_make_of_them(
    repo: Repo, landing: Landing, setting: str
) -> None:
    """LD-REF-5, LD-TREE-1."""
    repo.config(*setting.split("="))
    (repo.path / ".git" / "info" / "attributes").write_text("* text=auto ident\n")
    data = b"a\r\nb\n\0c\r$Id$\n"
    (repo.path / "changed").write_bytes(data)
    (repo.path / "folder" / "one").write_bytes(b"x\r\n")
    whole = summary(uncommitted=["changed", "folder/"])
    assert landing.land(whole, repo.path).unlanded == ()
    assert entries(repo)[b"changed"] == ("100644", data)
    assert entries(repo)[b"folder/one"] == ("100644", b"x\r\n")
    assert holds(landing, whole, repo)


def test_what_a_clean_filter_takes_away_is_landed_also_where_it_was_staged(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-REF-3, LD-REF-5: the index holds other bytes than the working tree, and both stay."""
    repo.config("filter.strip.clean", "sed s/secret//")
    (repo.path / ".git" / "info" / "attributes").write_text("f filter=strip\n")
    repo.write("f", "a secret\n")
    repo.git("add", "f")
    whole = summary(uncommitted=["f"])
    assert landing.land(whole, repo.path).unlanded == ()
    assert entries(repo)[b"f"] == ("100644", b"a secret\n")
    assert entries(repo, REF + "^2")[b"f"] == ("100644", b"a \n")
    assert holds(landing, whole, repo)


def test_a_landing_needs_no_name_of_the_users(
    repo: Repo, landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-REF-5."""
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    monkeypatch.setenv("EMAIL", "ada@example.org")
    repo.config("user.useConfigOnly", "true")
    repo.config("i18n.commitEncoding", "ISO-8859-1")
    assert landing.land(reported(repo), repo.path).ref == REF
    commit = repo.git("cat-file", "-p", REF).decode()
    assert "author verdict-core <verdict-core@localhost>" in commit
    assert "committer verdict-core <verdict-core@localhost>" in commit
    assert "Ada" not in commit
    assert "encoding" not in commit
    assert "gpgsig" not in commit


def test_objects_and_ref_are_synced(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-REF-6: git counts its own syncs."""
    repo.config("core.fsync", "none")
    trace = tmp_path / "trace"
    fake_git(
        monkeypatch,
        tmp_path / "bin",
        f'GIT_TRACE2_EVENT="{trace}" exec "$REAL_GIT" "$@"',
    )
    whole = reported(repo)
    trace.unlink()
    assert landing.land(whole, repo.path).ref == REF
    counts = re.findall(r'"fsync/hardware-flush","value":"(\d+)"', trace.read_text())
    # Five files (one is gone), their trees, a commit, the ref.
    assert sum(map(int, counts)) >= 5 + 3 + 1 + 1


# --- what only the index holds -------------------------------------------------------------------


def test_what_is_staged_and_edited_again_is_landed_twice(repo: Repo, landing: Landing) -> None:
    """LD-REF-3, LD-STAY-1."""
    repo.write("staged", "edited again\n")
    whole = summary(uncommitted=["staged", "fresh"])
    landed = landing.land(whole, repo.path)
    assert landed.unlanded == ()
    assert entries(repo)[b"staged"] == ("100644", b"edited again\n")
    assert entries(repo, REF + "^2")[b"staged"] == ("100644", b"staged\n")
    head = repo.git("rev-parse", "HEAD")
    assert repo.git("rev-parse", REF + "^1") == repo.git("rev-parse", REF + "^2^1") == head
    assert holds(landing, whole, repo)
    repo.write("other", "")
    repo.git("update-index", "--cacheinfo", "100644",
             repo.git("hash-object", "-w", "--stdin", input=b"third\n").decode().strip(),
             "staged")  # fmt: skip
    assert landing.remaining(whole, repo.path).uncommitted == ("staged",)


def test_work_that_stands_in_the_index_alone_is_landed(repo: Repo, landing: Landing) -> None:
    """LD-REF-3, LD-STAY-1: staged, then taken back in the working tree, or deleted there."""
    repo.write("staged", "old\n")
    repo.write("added", "only in the index\n")
    repo.git("add", "added")
    (repo.path / "added").unlink()
    whole = summary(uncommitted=["staged", "added"])
    assert set(whole.uncommitted) <= set(reported(repo).uncommitted)
    assert landing.remaining(whole, repo.path) == whole
    assert landing.land(whole, repo.path).unlanded == ()
    second = entries(repo, REF + "^2")
    assert second[b"staged"] == ("100644", b"staged\n")
    assert second[b"added"] == ("100644", b"only in the index\n")
    assert b"added" not in entries(repo)
    assert holds(landing, whole, repo)


def test_before_the_first_commit_what_only_the_index_holds_stays_unlanded(
    tmp_path: Path, landing: Landing
) -> None:
    """LD-REF-3."""
    repo = new_repo(tmp_path / "repo")
    repo.write("a", "staged\n")
    repo.write("b", "b\n")
    repo.git("add", "a")
    repo.write("a", "edited again\n")
    whole = reported(repo)
    landed = landing.land(whole, repo.path)
    assert codes(landed) == {"a": "only_staged"}
    assert entries(repo)[b"a"] == ("100644", b"edited again\n")
    assert landing.remaining(whole, repo.path).uncommitted == ("a",)
    (repo.path / "a").unlink()
    assert codes(Landing(tmp_path / "other", "s-o").land(
        summary(uncommitted=["a"]), repo.path)) == {"a": "only_staged"}  # fmt: skip


def test_a_file_that_left_the_index_and_is_ignored_now_is_landed(
    repo: Repo, landing: Landing
) -> None:
    """LD-TREE-4: git reports its removal, and its bytes stand there."""
    repo.git("rm", "-q", "--cached", "same")
    (repo.path / ".git" / "info" / "exclude").write_text("same\n")
    whole = summary(uncommitted=["same"])
    assert "same" in reported(repo).uncommitted
    assert landing.land(whole, repo.path).unlanded == ()
    assert holds(landing, whole, repo)
    repo.write("same", "other\n")
    assert landing.remaining(whole, repo.path) == whole


def test_a_mark_of_intent_to_add_is_no_content(repo: Repo, landing: Landing) -> None:
    """LD-REF-3: git has no object for it, and a commit that named one would break every gc."""
    repo.git("add", "-N", "fresh")
    whole = reported(repo)
    assert landing.land(whole, repo.path).unlanded == ()
    assert len(repo.git("rev-list", "--parents", "-1", REF).split()) == 2
    assert holds(landing, whole, repo)
    repo.git("fsck", "--strict", "--no-dangling")
    repo.git("gc", "-q", "--prune=now")


def conflict(repo: Repo) -> None:
    repo.git("stash", "push", "-q", "-u")
    repo.git("checkout", "-q", "-b", "side")
    repo.commit(same="side\n", both="side\n")
    repo.git("checkout", "-q", "main")
    repo.commit(same="main\n", both="main\n")
    subprocess.run(["git", *("-c", "user.name=a", "-c", "user.email=a"), "merge", "-q", "side"],
                   cwd=repo.path, capture_output=True, check=False)  # fmt: skip


def test_a_conflict_is_landed_as_it_stands(repo: Repo, landing: Landing) -> None:
    """LD-REF-2, LD-REF-4."""
    conflict(repo)
    whole, before = reported(repo), rest(repo.path)
    assert set(whole.uncommitted) == {"same", "both"}
    assert landing.land(whole, repo.path).unlanded == ()
    assert b"<<<<<<<" in entries(repo)[b"same"][1]
    assert rest(repo.path) == before
    assert holds(landing, whole, repo)


# --- paths ---------------------------------------------------------------------------------------

NAMES = [b"a\nb", b"\xff\xfe", b'"quoted"', b"tab\t", b" lead", b"back\\slash", b"-dash",
         b":(top)x", "\u00e9\u202e".encode(), b"*", b"[a]", b"a -> b", b"%41"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_bytes_is_landed(tmp_path: Path, landing: Landing, name: bytes) -> None:
    """LD-TREE-1, LD-TREE-3."""
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="a")
    top = os.fsencode(repo.path)
    os.mkdir(os.path.join(top, b"d" + name))
    for path in (name, b"d" + name + b"/" + name):
        with open(os.path.join(top, path), "wb") as file:
            file.write(b"bytes of " + path)
    whole = reported(repo)
    assert set(whole.uncommitted) == {show_path(name), show_path(b"d" + name + b"/")}
    assert landing.land(whole, repo.path).unlanded == ()
    stored = entries(repo)
    for path in (name, b"d" + name + b"/" + name):
        assert stored[path] == ("100644", b"bytes of " + path)
    assert holds(landing, whole, repo)
    assert landing.restore_into(tmp_path / "out", repo.path).lost == ()
    with open(os.path.join(os.fsencode(tmp_path / "out"), name), "rb") as file:
        assert file.read() == b"bytes of " + name


def test_the_executable_bit_and_links_are_landed_as_such(repo: Repo, landing: Landing) -> None:
    """LD-TREE-1, LD-STAY-1."""
    (repo.path / "changed").chmod(0o755)
    (repo.path / "fresh").chmod(0o711)
    (repo.path / "folder" / "link").symlink_to("/etc/passwd")
    (repo.path / "same").unlink()
    (repo.path / "same").symlink_to("changed")
    whole = reported(repo)
    assert landing.land(whole, repo.path).unlanded == ()
    stored = entries(repo)
    assert stored[b"changed"] == ("100755", b"new\n")
    assert stored[b"fresh"] == ("100755", b"fresh\n")
    assert stored[b"folder/link"] == ("120000", b"/etc/passwd")
    assert stored[b"same"] == ("120000", b"changed")
    assert holds(landing, whole, repo)
    for name, mode in (("changed", 0o644), ("fresh", 0o644)):
        (repo.path / name).chmod(mode)
        assert name in landing.remaining(whole, repo.path).uncommitted
    (repo.path / "same").unlink()
    repo.write("same", "changed")
    assert "same" in landing.remaining(whole, repo.path).uncommitted


def test_a_link_on_the_way_is_not_followed(repo: Repo, landing: Landing, tmp_path: Path) -> None:
    """LD-TREE-2: for git the file is gone, and a link is new."""
    repo.commit(**{"way/file": "inside\n"})
    shutil.rmtree(repo.path / "way")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("outside\n")
    (repo.path / "way").symlink_to(tmp_path / "outside")
    whole = reported(repo)
    assert set(whole.uncommitted) == {"way", "way/file"}
    assert landing.land(whole, repo.path).unlanded == ()
    assert b"outside\n" not in {data for _, data in entries(repo).values()}
    assert entries(repo)[b"way"][0] == "120000"
    assert holds(landing, whole, repo)


@pytest.mark.parametrize(
    "item",
    ["../outside", "/etc/passwd", ".git/config", "./fresh", "folder//one", "ignored", "folder/x/",
     "the parser refactoring", '"', '"\\777"', "nowhere", "folder", "/", "../", '"fresh"', "a\0b"],
)  # fmt: skip
def test_what_is_no_path_that_git_reports_is_neither_landed_nor_read(
    repo: Repo, landing: Landing, tmp_path: Path, item: str
) -> None:
    """LD-TREE-4."""
    (tmp_path / "outside").write_text("secret\n")
    (repo.path / ".git" / "info" / "exclude").write_text("ignored\n")
    repo.write("ignored", "secret\n")
    whole = summary(uncommitted=[item, "fresh"])
    landed = landing.land(whole, repo.path)
    assert codes(landed) == {item: "not_reported"}
    assert landing.remaining(whole, repo.path).uncommitted == (item,)
    assert set(entries(repo)) - {b"fresh"} == {
        b"changed", b"gone", b"same", b"staged",
    }  # fmt: skip
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("cat-file", "-e", repo.git("hash-object", "ignored").decode().strip())


def test_ignored_files_of_a_directory_are_left_out(repo: Repo, landing: Landing) -> None:
    """LD-TREE-3."""
    repo.write("folder/.gitignore", "*.o\n")
    repo.write("folder/x.o", "object\n")
    whole = reported(repo)
    assert landing.land(whole, repo.path).unlanded == ()
    stored = entries(repo)
    assert b"folder/.gitignore" in stored
    assert b"folder/x.o" not in stored
    assert holds(landing, whole, repo)


def test_a_file_where_a_directory_was_and_the_other_way_round(
    tmp_path: Path, landing: Landing
) -> None:
    """LD-TREE-6, LD-STAY-3."""
    repo = new_repo(tmp_path / "repo")
    repo.commit(file="f\n", **{"dir/x": "x\n"})
    (repo.path / "file").unlink()
    repo.write("file/inside", "i\n")
    shutil.rmtree(repo.path / "dir")
    repo.write("dir", "d\n")
    whole = reported(repo)
    assert landing.land(whole, repo.path).unlanded == ()
    assert entries(repo) == {b"dir": ("100644", b"d\n"), b"file/inside": ("100644", b"i\n")}
    assert holds(landing, whole, repo)


def test_a_rename_is_landed_as_its_new_path(repo: Repo, landing: Landing) -> None:
    """LD-TREE-6."""
    repo.git("mv", "same", "moved")
    whole = reported(repo)
    assert "moved" in whole.uncommitted
    assert "same" not in whole.uncommitted
    assert landing.land(whole, repo.path).unlanded == ()
    assert entries(repo)[b"moved"] == ("100644", b"same\n")
    assert holds(landing, whole, repo)


def test_what_a_flag_in_the_index_hides_is_landed(repo: Repo, landing: Landing) -> None:
    """LD-TREE-1."""
    repo.git("update-index", "--assume-unchanged", "same")
    repo.git("update-index", "--skip-worktree", "staged")
    repo.write("same", "hidden\n")
    repo.write("staged", "hidden too\n")
    whole, before = reported(repo), rest(repo.path)
    assert {"same", "staged"} <= set(whole.uncommitted)
    assert landing.land(whole, repo.path).unlanded == ()
    assert entries(repo)[b"same"] == ("100644", b"hidden\n")
    assert holds(landing, whole, repo)
    assert rest(repo.path) == before


@pytest.mark.parametrize("sparse_index", ["--sparse-index", "--no-sparse-index"])
def test_a_sparse_checkout_lands_without_losing_what_is_left_out(
    tmp_path: Path, landing: Landing, sparse_index: str
) -> None:
    """LD-REF-2, LD-REF-4."""
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="a\n", **{"in/x": "x\n", "out/deep/y": "y\n"})
    repo.git("sparse-checkout", "set", "--cone", sparse_index, "in")
    repo.write("in/x", "changed\n")
    whole, before = reported(repo), rest(repo.path)
    assert landing.land(whole, repo.path).unlanded == ()
    assert entries(repo) == {
        b"a": ("100644", b"a\n"),
        b"in/x": ("100644", b"changed\n"),
        b"out/deep/y": ("100644", b"y\n"),
    }
    assert holds(landing, whole, repo)
    assert rest(repo.path) == before


def test_a_partial_clone_lands_and_fetches_nothing(tmp_path: Path, landing: Landing) -> None:
    """LD-REF-2: blobs of HEAD that are not there are not needed."""
    origin = new_repo(tmp_path / "origin")
    origin.commit(big="big\n" * 100, a="a\n")
    origin.config("uploadpack.allowFilter", "true")
    url = f"file://{origin.path}"
    origin.git("clone", "-q", "--no-checkout", "--filter=blob:none", url, str(tmp_path / "part"))
    part = Repo(tmp_path / "part")
    part.git("sparse-checkout", "set", "--no-cone", "/a")
    part.git("checkout", "-q", "main")
    part.write("a", "changed\n")
    whole = summary(uncommitted=["a"])
    assert landing.land(whole, part.path).unlanded == ()
    assert part.git("show", f"{REF}:a") == b"changed\n"
    assert holds(landing, whole, part)
    missing = part.git("rev-list", "--objects", "--missing=print", REF)
    assert b"?" in missing


# --- what is not landed --------------------------------------------------------------------------


def test_a_nested_repository_stays_and_the_rest_of_its_directory_is_landed(
    repo: Repo, landing: Landing
) -> None:
    """LD-TREE-5, LD-STAY-4."""
    new_repo(repo.path / "nested").commit(a="a\n")
    new_repo(repo.path / "unborn")
    new_repo(repo.path / "folder" / "inner").commit(b="b\n")
    whole = reported(repo)
    landed = landing.land(whole, repo.path)
    assert codes(landed) == dict.fromkeys(("nested/", "unborn/", "folder/"), "nested_repository")
    assert entries(repo)[b"folder/one"] == ("100644", b"1\n")
    assert not any(path.startswith((b"nested", b"unborn", b"folder/inner"))
                   for path in entries(repo))  # fmt: skip
    assert landing.remaining(whole, repo.path).uncommitted == ("folder/", "nested/", "unborn/")


def test_a_submodule_stays(tmp_path: Path, landing: Landing) -> None:
    """LD-TREE-5, LD-STAY-3: dirty, with new commits, staged, gone, or replaced by a file."""
    outer, sub = with_submodule(tmp_path)
    outer.write("mine", "mine\n")
    sub.write("a", "work\n")

    def stays(*more: str) -> None:
        whole = summary(uncommitted=["sub", "mine", *more])
        assert "sub" in reported(outer).uncommitted
        assert codes(landing.land(whole, outer.path)) == {"sub": "submodule"}
        assert landing.remaining(whole, outer.path).uncommitted == ("sub",)

    stays()
    sub.commit(b="b\n")
    stays()
    outer.git("add", "sub")
    stays()
    shutil.rmtree(sub.path)
    stays()
    outer.write("sub", "a file now\n")
    stays()


def test_a_submodule_that_comes_after_a_removed_file_is_not_taken_for_the_file(
    tmp_path: Path, landing: Landing
) -> None:
    """LD-STAY-3: a ref says that nothing stands at `sub`, and that was another time."""
    outer, sub = with_submodule(tmp_path)
    head = outer.git("rev-parse", "HEAD").decode().strip()
    outer.git("rm", "-q", "-f", "sub")
    outer.commit(sub="a file\n")
    (outer.path / "sub").unlink()
    assert landing.land(summary(uncommitted=["sub"]), outer.path).unlanded == ()
    outer.git("reset", "-q", "--hard", head)
    outer.git("submodule", "-q", "update", "--init")
    sub.write("a", "work\n")
    whole = reported(outer)
    assert whole.uncommitted == ("sub",)
    assert landing.remaining(whole, outer.path) == whole


def test_a_file_of_16_mib_is_landed_and_a_longer_one_is_not(repo: Repo, landing: Landing) -> None:
    """LD-TREE-5."""
    assert worktree.MAX_FILE_BYTES == 16 * 1024 * 1024
    for name, size in (("fits", 16 << 20), ("folder/over", (16 << 20) + 1), ("over", 17 << 20)):
        with open(repo.path / name, "wb") as file:
            file.truncate(size)
    whole = reported(repo)
    landed = landing.land(whole, repo.path)
    assert codes(landed) == {"folder/": "too_large", "over": "too_large"}
    stored = entries(repo)
    assert len(stored[b"fits"][1]) == 16 << 20
    assert b"over" not in stored
    assert stored[b"folder/one"] == ("100644", b"1\n")
    assert landing.remaining(whole, repo.path).uncommitted == ("folder/", "over")


def test_what_is_past_256_mib_in_all_is_not_landed(tmp_path: Path, landing: Landing) -> None:
    """LD-TREE-5: what still fits after it is."""
    assert snapshot.MAX_TOTAL_BYTES == 256 * 1024 * 1024
    repo = new_repo(tmp_path / "repo")
    for number in range(17):
        with open(repo.path / f"{number:02}", "wb") as file:
            file.truncate((16 << 20) - (number == 0))
    repo.write("last", "x")
    repo.write("z", "past\n")
    whole = reported(repo)
    landed = landing.land(whole, repo.path)
    assert codes(landed) == {"16": "past_limit", "z": "past_limit"}
    assert len(entries(repo)) == 17
    assert landing.remaining(whole, repo.path).uncommitted == ("16", "z")


def test_what_is_neither_file_nor_link_stays_and_is_not_opened(
    repo: Repo, landing: Landing
) -> None:
    """LD-TREE-5."""
    (repo.path / "same").unlink()
    os.mkfifo(repo.path / "same")
    (repo.path / "changed").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(repo.path)
        server.bind("changed")
        os.chdir(here)
    whole = summary(uncommitted=["same", "changed", "fresh"])
    start = time.monotonic()
    landed = landing.land(whole, repo.path)
    assert codes(landed) == {"same": "special_file", "changed": "special_file"}
    assert time.monotonic() - start < 30
    assert entries(repo)[b"same"] == ("100644", b"same\n")
    assert landing.remaining(whole, repo.path).uncommitted == ("same", "changed")


def test_what_the_system_keeps_back_stays_unlanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """LD-TREE-5, LD-LAND-1: a file, a directory on the way, and one inside a new directory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
        repo = new_repo(folder / "repo")
        repo.commit(a="a\n", b="b\n", **{"shut/c": "c\n"})
        for path in ("a", "b", "shut/c", "new/d", "new/in/e"):
            repo.write(path, "work\n")
        if os.geteuid() == 0:
            for one in (folder, *folder.rglob("*")):
                os.chown(one, NOBODY, NOBODY, follow_symlinks=False)
        shut = (repo.path / "a", repo.path / "shut", repo.path / "new" / "in")
        for one in shut:
            one.chmod(0)
        whole = summary(uncommitted=["a", "b", "shut/c", "new/", "none"], todos=["t"])
        with ordinary_user():
            landing = Landing(folder / "state", RUN)
            landed = landing.land(whole, repo.path)
            left = landing.remaining(whole, repo.path)
        for one in shut:
            one.chmod(0o755)
    unreadable = dict.fromkeys(("a", "shut/c"), "unreadable")
    assert codes(landed) == {**unreadable, "new/": "git_failed", "none": "git_failed"}
    # git does not say which directories it could not see, so none can be shown to be held.
    assert left == summary(uncommitted=["a", "shut/c", "new/", "none"])


@pytest.mark.parametrize("content", ["fresh and more\n", "FRESH\n", "f"])
def test_a_file_that_changes_while_it_is_read_is_not_landed(
    repo: Repo, landing: Landing, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """LD-TREE-5: it grows, shrinks or is written over after it was opened."""
    plain, file = worktree._facts, repo.path / "fresh"
    looks = 0

    def facts(about: os.stat_result) -> tuple[int, ...]:
        nonlocal looks
        if about.st_ino == file.stat().st_ino:
            looks += 1
            if looks == 2:  # of the opened file and of the one that was seen, before it is read
                file.write_text(content)
        return plain(about)

    monkeypatch.setattr(worktree, "_facts", facts)
    landed = landing.land(summary(uncommitted=["fresh", "changed"]), repo.path)
    assert looks >= 2
    assert codes(landed) == {"fresh": "changed_meanwhile"}
    assert b"fresh" not in entries(repo)


@pytest.mark.parametrize("change", ["write", "remove", "mode"])
def test_a_file_that_changes_after_it_was_stored_is_not_landed(
    repo: Repo, landing: Landing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: str
) -> None:
    """LD-LAND-2: it changes while git makes the commit."""
    file = repo.path / "fresh"
    act = {"write": f"echo later > {file}", "remove": f"rm {file}", "mode": f"chmod 755 {file}"}
    text = f'case "$*" in *commit-tree*) {act[change]};; esac; exec "$REAL_GIT" "$@"'
    fake_git(monkeypatch, tmp_path / "bin", text)
    whole = summary(uncommitted=["fresh", "changed"])
    landed = landing.land(whole, repo.path)
    assert codes(landed) == {"fresh": "not_verified"}
    assert landed.ref == REF


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    with opened(tmp_path) as root:
        yield root


def test_another_file_in_the_place_of_the_one_that_was_seen_is_not_read(
    tmp_path: Path, root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-TREE-2, LD-TREE-5: a link, a pipe, or another file comes between look and open."""
    plain = os.open
    for kind in ("link", "pipe", "file"):
        (tmp_path / "secret").write_text("data\n")
        (tmp_path / "seen").unlink(missing_ok=True)
        (tmp_path / "seen").write_text("data\n")

        def swapped(path: Any, flags: int, *args: Any, kind: str = kind, **more: Any) -> int:
            if path == b"seen":
                (tmp_path / "seen").unlink()
                if kind == "link":
                    (tmp_path / "seen").symlink_to("secret")
                elif kind == "pipe":
                    os.mkfifo(tmp_path / "seen")
                else:
                    (tmp_path / "seen").write_text("data\n")
            return plain(path, flags, *args, **more)

        monkeypatch.setattr(os, "open", swapped)
        with pytest.raises(Unfit) as caught:
            look(root, b"seen")
        monkeypatch.undo()
        assert caught.value.code == ("unreadable" if kind == "link" else "changed_meanwhile")


def test_what_stands_at_a_path(tmp_path: Path, root: int) -> None:
    """LD-TREE-1, LD-TREE-2."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"f")
    (tmp_path / "l").symlink_to("d")
    assert look(root, b"d/f") == Blob(b"100644", b"f")
    assert look(root, b"l") == Blob(b"120000", b"d")
    for path in (b"l/f", b"d", b"d/f/g", b"d/none", b"none/f"):
        assert look(root, path) is None
    for path in (b"", b"../x", b"d/../d/f", b"/etc/passwd", b"d//f", b"./d", b"d/"):
        with pytest.raises(Unfit) as caught:
            look(root, path)
        assert caught.value.code == "not_reported"
    with pytest.raises(Unfit) as caught:
        look(root, b"x" * 300)
    assert caught.value.code == "unreadable"
    with pytest.raises(Unfit):
        look(root, b"x" * 300 + b"/y")


# --- where git does not answer -------------------------------------------------------------------


def test_without_a_repository_paths_stay_and_other_items_are_landed(
    tmp_path: Path, repo: Repo, landing: Landing
) -> None:
    """LD-LAND-1, LD-STAY-5."""
    whole = summary(uncommitted=["a"], todos=["t"])
    (repo.path / "folder" / "x").mkdir()
    for top, code in (
        (None, "no_repository"),
        (tmp_path, "no_repository"),
        (repo.path / "folder", "not_a_top_level"),
        (tmp_path / "none", "git_failed"),
    ):
        landed = landing.land(whole, top)
        assert codes(landed) == {"a": code}
        assert (landed.ref, landed.handoff is None) == (None, False)
        assert landing.remaining(whole, top) == summary(uncommitted=["a"])


@pytest.mark.parametrize(
    "command",
    ["read-tree", "update-index", "write-tree", "commit-tree", "update-ref",
     "diff-index", "ls-files", "rev-parse", "for-each-ref"],
)  # fmt: skip
def test_where_git_fails_nothing_is_landed_and_it_is_said(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """LD-LAND-1: whichever call it is; and the handoff is written all the same."""
    whole, before = reported(repo, todos=["t"]), rest(repo.path)
    fake_git(monkeypatch, tmp_path / "bin",
             f'case "$*" in *" {command} "*) echo fatal: no >&2; exit 1;; esac;'
             ' exec "$REAL_GIT" "$@"')  # fmt: skip
    landed = landing.land(whole, repo.path)
    assert landed.ref is None
    assert codes(landed) == dict.fromkeys(whole.uncommitted, "git_failed")
    assert landed.handoff is not None
    assert landing.remaining(whole, repo.path).uncommitted == whole.uncommitted
    assert rest(repo.path) == before


def test_what_git_cannot_store_is_named_and_the_rest_is_landed(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-LAND-1: a removal needs no object."""
    whole = reported(repo)
    text = 'case "$*" in *--stdin-paths*) echo fatal: full >&2; exit 1;; esac;'
    fake_git(monkeypatch, tmp_path / "bin", text + ' exec "$REAL_GIT" "$@"')
    landed = landing.land(whole, repo.path)
    others = [item for item in whole.uncommitted if item != "gone"]
    assert codes(landed) == dict.fromkeys(others, "git_failed")
    assert {one.text for one in landed.unlanded} == {"fatal: full"}
    assert b"gone" not in entries(repo)
    assert list(landing.remaining(whole, repo.path).uncommitted) == others


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("diff-tree", ":100644 100644 zz"),
        ("diff-tree", ""),
        ("ls-files", "nonsense"),
        ("diff-index", ":1 2"),
        ("cat-file", "nonsense"),
        ("cat-file", ""),
        ("for-each-ref", ""),
    ],
)
def test_an_answer_of_another_form_holds_nothing(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    command: str, answer: str,
) -> None:  # fmt: skip
    """LD-STAY-5."""
    whole = reported(repo)
    assert landing.land(whole, repo.path).unlanded == ()
    fake_git(monkeypatch, tmp_path / "bin",
             f"case \"$*\" in *\" {command} \"*) cat > /dev/null; printf '{answer}\\0'; exit 0;;"
             ' esac; exec "$REAL_GIT" "$@"')  # fmt: skip
    left = landing.remaining(whole, repo.path).uncommitted
    if command == "cat-file":
        assert set(left) == set(whole.uncommitted) - {"gone"}
    else:
        assert left == whole.uncommitted


@pytest.mark.parametrize(
    ("command", "answer", "code"),
    [
        ("hash-object", "0" * 40, "not_verified"),
        ("hash-object", "nonsense", "bad_git_output"),
        ("write-tree", "nonsense", "bad_git_output"),
        ("write-tree", "", "bad_git_output"),
        ("commit-tree", "0" * 40 + "\\n" + "0" * 40, "bad_git_output"),
        ("rev-parse --verify", "main", "bad_git_output"),
    ],
)
def test_an_answer_of_another_form_stores_nothing(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    command: str, answer: str, code: str,
) -> None:  # fmt: skip
    """LD-LAND-1, LD-LAND-2."""
    text = f'case "$*" in *"{command}"*) cat > /dev/null; printf "{answer}"; exit 0;; esac;'
    fake_git(monkeypatch, tmp_path / "bin", text + ' exec "$REAL_GIT" "$@"')
    landed = landing.land(summary(uncommitted=["fresh", "changed"]), repo.path)
    assert codes(landed) == {"fresh": code, "changed": code}
    assert landed.ref is None


def test_without_a_place_for_copies_it_is_said(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-LAND-1."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    landed = landing.land(summary(uncommitted=["fresh"]), repo.path)
    assert codes(landed) == {"fresh": "unwritable"}


def test_only_blobs_are_read_as_such(repo: Repo) -> None:
    """LD-STAY-2."""
    head, tree, blob = repo.git("rev-parse", "HEAD", "HEAD^{tree}", "HEAD:same").split()
    repository = Repository(repo.path, Clock())
    oids = [head, b"1" * 40, tree, blob]
    assert list(repository.blobs(oids)) == [(blob, b"same\n")]
    assert repository.sizes(oids) == {blob: 5}
    assert repository.sizes([]) == {}


def test_a_submodule_in_conflict_is_one(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-TREE-5: whichever side of the conflict says so."""
    rows = [b"100644 %b 1\tx", b"160000 %b 2\tx", b"100644 %b 3\tx", b"100755 %b 0\ty"]
    (tmp_path / "said").write_bytes(b"".join(row % (b"1" * 40) + b"\0" for row in rows))
    fake_git(monkeypatch, tmp_path / "bin", f"cat {tmp_path}/said")
    assert Repository(repo.path, Clock()).index() == {b"x": b"160000", b"y": b"100755"}


def test_the_runs_of_a_repository_are_found_by_its_refs_and_by_their_handoffs(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-CLI-2: a name that is no run's, and a ref of another form, are none."""
    state = tmp_path / "state"
    assert runs(state, repo.path) == ()
    landing.land(summary(uncommitted=["fresh"], todos=["t"]), repo.path)
    Landing(tmp_path / "other", "s-a..b").land(summary(uncommitted=["fresh"]), repo.path)
    Landing(state, "s-todo").land(summary(todos=["t"]), repo.path)
    Landing(state, "s-nowhere").land(summary(todos=["t"]), None)
    (state / "landings" / "A").mkdir()
    repo.git("update-ref", "refs/verdict-core/B/1", "HEAD")
    assert runs(state, repo.path) == ("s-a..b", "s-s", "s-todo")
    assert runs(state, None) == ("s-nowhere",)


def test_git_is_not_waited_for_longer_than_it_may_take(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GT-RUN-5: a shorter limit than that of every call."""
    fake_git(monkeypatch, tmp_path / "bin", "sleep 60")
    start = time.monotonic()
    with pytest.raises(git.GitFailed) as caught:
        git.run(repo.path, "status", limit=0.5)
    assert time.monotonic() - start < 30
    assert (caught.value.code, caught.value.message) == (
        "git_timeout", "git did not end within 0.5 s",
    )  # fmt: skip
