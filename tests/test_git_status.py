"""What git knows of uncommitted work, and what it would keep to itself. (SPEC RD-GIT)"""

import base64
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from gitrepo import Repo, fake_git, new_repo, script, snapshot, with_submodule

from verdict_core.git import GitFailed, read_path
from verdict_core.readers.git_status import parse_listing, parse_status, read
from verdict_core.readers.reading import Note, Reading

pytestmark = pytest.mark.usefixtures("own_home")

FIELD = "uncommitted"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one committed file, `kept`."""
    repo = new_repo(tmp_path / "repo")
    repo.commit(kept="kept\n")
    return repo


def items(repo: Repo) -> list[str]:
    """The items of a reading that is whole."""
    reading = read(repo.path)
    assert reading.unknown == frozenset(), reading.notes
    return list(reading.items[FIELD])


def notes(reading: Reading) -> list[tuple[str, str]]:
    return [(note.code, note.text) for note in reading.notes]


def code(reading: Reading) -> str:
    """The code of a reading that failed, which is its last note."""
    assert reading.unknown == {FIELD}
    return reading.notes[-1].code


def set_times(file: Path) -> None:
    os.utime(file, (1_500_000_000, 1_500_000_000))


# --- the reading --------------------------------------------------------------------------------


def test_a_clean_repository_has_no_items_and_nothing_unknown(repo: Repo) -> None:
    assert read(repo.path) == Reading("git", {FIELD: ()})


def test_the_repository_is_found_from_where_one_stands(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("new")
    (repo.path / "below").mkdir()
    monkeypatch.chdir(repo.path / "below")
    assert read().items == {FIELD: ("new",)}
    assert read(cwd=repo.path / "below").items == {FIELD: ("new",)}


def test_a_relative_name_starts_where_one_stands(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("new")
    monkeypatch.chdir(tmp_path)
    assert read(Path("repo")).items == {FIELD: ("new",)}
    monkeypatch.chdir(repo.path)
    assert read(Path("repo"), cwd=tmp_path).items == {FIELD: ("new",)}


def test_a_repository_is_read_through_a_symbolic_link(repo: Repo, tmp_path: Path) -> None:
    repo.write("new")
    (tmp_path / "link").symlink_to(repo.path)
    assert read(tmp_path / "link").items == {FIELD: ("new",)}


def test_every_kind_of_change_is_one_item(repo: Repo) -> None:
    repo.commit(edited="1\n", staged="1\n", deleted="1\n", removed="1\n", link="1\n", mode="1\n")
    repo.write("edited", "2\n")
    repo.write("staged", "2\n")
    repo.write("added")
    repo.git("add", "staged", "added")
    (repo.path / "deleted").unlink()
    repo.git("rm", "-q", "removed")
    (repo.path / "link").unlink()
    (repo.path / "link").symlink_to("kept")
    (repo.path / "mode").chmod(0o755)
    repo.write("new")
    expected = ["added", "deleted", "edited", "link", "mode", "removed", "staged", "new"]
    assert items(repo) == expected


def test_a_path_that_is_staged_and_edited_is_one_item(repo: Repo) -> None:
    repo.git("rm", "-q", "--cached", "kept")
    assert repo.plain_status() == b"D  kept\n?? kept\n"
    assert items(repo) == ["kept"]


def test_a_conflict_is_an_item(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "other")
    repo.commit(kept="other\n")
    repo.git("checkout", "-q", "main")
    repo.commit(kept="main\n")
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "other")
    assert repo.plain_status() == b"UU kept\n"
    assert items(repo) == ["kept"]


def test_before_the_first_commit_all_files_are_items(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "unborn")
    assert items(repo) == []
    repo.write("added")
    repo.git("add", "added")
    repo.write("new")
    assert items(repo) == ["added", "new"]


def test_a_repository_of_sha256_is_read(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "long", "--object-format=sha256")
    repo.commit(a="a\n", b="b\n")
    repo.git("update-index", "--assume-unchanged", "a", "b")
    repo.write("a", "work\n")
    assert items(repo) == ["a"]


def test_a_linked_worktree_is_read_as_itself(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"))
    tree = Repo(tmp_path / "tree")
    tree.write("new")
    tree.write("mode").chmod(0o755)
    tree.git("add", "mode")
    (tree.path / "mode").chmod(0o644)
    tree.config("core.fileMode", "false")
    assert items(tree) == ["mode", "new"]
    assert items(repo) == []


def test_a_repository_whose_index_is_locked_is_read(repo: Repo) -> None:
    repo.write("new")
    (repo.path / ".git" / "index.lock").touch()
    assert items(repo) == ["new"]


def test_a_nested_repository_is_one_item_with_its_slash(repo: Repo) -> None:
    new_repo(repo.path / "empty")
    new_repo(repo.path / "inner").commit(a="a\n")
    assert items(repo) == ["empty/", "inner/"]


def test_many_long_names_are_all_read(repo: Repo) -> None:
    names = [f"{number:05}-{'x' * 200}" for number in range(3000)]
    for name in names:
        (repo.path / name).touch()
    assert items(repo) == names


ODD_NAMES = [
    ":(top)kept",
    ":!kept",
    "-rf",
    "a -> b",
    " blank ",
    "new\nline",
    "tab\there",
    'in"side',
    "back\\slash",
    "café",
    "cafe\u0301",
    "1 .M N... 100644",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_odd_name_is_the_item_as_it_is(repo: Repo, name: str) -> None:
    repo.config("core.quotePath", "true")
    (repo.path / name).write_text("1\n")
    assert items(repo) == [name]
    repo.git("add", "-A")
    assert items(repo) == [name]
    repo.git("commit", "-q", "-m", "odd")
    (repo.path / name).write_text("2\n")
    assert items(repo) == [name]


@pytest.mark.parametrize("raw", [b"caf\xe9", b'"quoted"', b"\xed\xa0\x80", b"d\xff/f"])
def test_a_name_that_is_no_plain_text_is_shown_so_that_it_can_be_read_back(
    repo: Repo, raw: bytes
) -> None:
    path = repo.path / os.fsdecode(raw)
    path.parent.mkdir(exist_ok=True)
    path.write_text("1\n")
    repo.git("add", "-A")
    (item,) = items(repo)
    item.encode()
    assert read_path(item) == raw
    assert item.startswith('"')
    assert item.endswith('"')


def test_reading_leaves_no_trace(tmp_path: Path) -> None:
    """RD-GIT-3."""
    outer, sub = with_submodule(tmp_path)
    outer.commit(racy="1\n", touched="1\n")
    set_times(outer.path / "touched")
    outer.config("core.untrackedCache", "true")
    outer.git("update-index", "--assume-unchanged", "racy")
    outer.write("racy", "2\n")
    outer.write("new/file")
    sub.write("a", "2\n")
    before = snapshot(outer.path)
    assert items(outer) == ["sub", "new/", "racy"]
    assert snapshot(outer.path) == before
    outer.git("status")
    assert snapshot(outer.path) != before


def test_a_split_index_keeps_its_bytes(repo: Repo) -> None:
    repo.git("update-index", "--split-index")
    repo.write("new")
    before = {name: about[2] for name, about in snapshot(repo.path).items()}
    assert items(repo) == ["new"]
    assert {name: about[2] for name, about in snapshot(repo.path).items()} == before


# --- cases --------------------------------------------------------------------------------------

CASE_01 = base64.b64decode(
    "MiBSLiBOLi4uIDEwMDY0NCAxMDA2NDQgMTAwNjQ0IGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
    "YWEgYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYSBSMTAwIGMgZC50eHQAYSAtPiBiLnR4dAAx"
    "IC5NIE4uLi4gMTAwNjQ0IDEwMDY0NCAxMDA2NDQgYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi"
    "YiBiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiIGNhZsOpLm1kADEgLkEgTi4uLiAwMDAwMDAg"
    "MDAwMDAwIDEwMDY0NCAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwIDAwMDAwMDAwMDAwMDAw"
    "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAgaXRhLnR4dAA/IG5ldy9hLnR4dAA/IG5ldy9zdWIvYi50eHQA"
)


def test_git_01_renamed_quoted_and_added_paths_are_parsed_from_the_records() -> None:
    """RD-GIT-4."""
    found = list(parse_status(CASE_01))
    renamed = Note("git", "renamed", "c d.txt was a -> b.txt")
    paths = ["café.md", "ita.txt", "new/a.txt", "new/sub/b.txt"]
    assert found == ["c d.txt", renamed, *paths]


def test_git_01_renamed_quoted_and_added_paths_are_read_from_a_repository(repo: Repo) -> None:
    """RD-GIT-4."""
    (repo.path / "a -> b.txt").write_text("1\n2\n3\n")
    (repo.path / "café.md").write_text("1\n")
    repo.commit()
    repo.git("mv", "a -> b.txt", "c d.txt")
    repo.write("café.md", "2\n")
    repo.write("ita.txt")
    repo.git("add", "--intent-to-add", "ita.txt")
    repo.write("new/a.txt")
    repo.write("new/sub/b.txt")
    reading = read(repo.path)
    assert reading.items == {FIELD: ("c d.txt", "café.md", "ita.txt", "new/")}
    assert notes(reading) == [("renamed", "c d.txt was a -> b.txt")]


def test_git_02_a_directory_that_is_untracked_as_a_whole_is_one_item(repo: Repo) -> None:
    """RD-GIT-1."""
    repo.write("new/a.txt")
    repo.write("new/sub/b.txt")
    assert items(repo) == ["new/"]


def test_git_03_a_setting_cannot_hide_untracked_files(repo: Repo) -> None:
    repo.config("status.showUntrackedFiles", "no")
    repo.write("new.py")
    assert repo.plain_status() == b""
    assert items(repo) == ["new.py"]


def test_git_04_edits_inside_a_submodule_are_seen(tmp_path: Path) -> None:
    outer, sub = with_submodule(tmp_path)
    outer.config("submodule.sub.ignore", "all")
    sub.write("a", "work\n")
    sub.write("new")
    assert outer.plain_status() == b""
    reading = read(outer.path)
    assert reading.items == {FIELD: ("sub",)}
    assert notes(reading) == [("submodule", "sub is a submodule: modified+untracked")]


def test_git_06_a_status_that_fails_is_unknown_and_not_clean(repo: Repo) -> None:
    """RD-GIT-2."""
    index = repo.path / ".git" / "index"
    index.write_bytes(index.read_bytes()[:10])
    reading = read(repo.path)
    assert reading.items == {FIELD: ()}
    assert reading.unknown == {FIELD}
    message = f"{repo.path}: fatal: {repo.path}/.git/index: index file smaller than expected"
    assert notes(reading) in (
        [("git_failed", message)],
        [("git_failed", f"{repo.path}: fatal: .git/index: index file smaller than expected")],
    )


def test_git_08_a_worktree_that_lost_its_git_file_is_not_answered_for_by_the_parent(
    repo: Repo,
) -> None:
    repo.write(".gitignore", ".wt/\n")
    repo.commit()
    repo.git("worktree", "add", "-q", ".wt/one")
    tree = repo.path / ".wt" / "one"
    (tree / "work").touch()
    assert read(tree).items == {FIELD: ("work",)}
    (tree / ".git").unlink()
    assert Repo(tree).plain_status() == b""
    reading = read(tree)
    assert code(reading) == "not_a_top_level"
    assert reading.items == {FIELD: ()}


def test_git_10_edits_behind_hidden_flags_are_compared_by_their_bytes(repo: Repo) -> None:
    """RD-GIT-6."""
    repo.commit(**{"keep.txt": "1\n", "local.cfg": "1\n", "src/a.py": "1\n"})
    repo.git("update-index", "--assume-unchanged", "keep.txt")
    repo.git("update-index", "--skip-worktree", "local.cfg")
    repo.write("keep.txt", "work\n")
    (repo.path / "local.cfg").unlink()
    assert repo.plain_status() == b""
    reading = read(repo.path)
    assert reading.items == {FIELD: ("keep.txt",)}
    assert notes(reading) == [("hidden_flags", "assume_unchanged=1 skip_worktree=1")]


def test_git_11_files_that_a_sparse_checkout_leaves_out_are_not_deleted(repo: Repo) -> None:
    """RD-GIT-6."""
    repo.commit(**{"docs/a.md": "a\n", "docs/b.md": "b\n", "src/c": "c\n"})
    repo.git("sparse-checkout", "set", "--no-cone", "/src/")
    assert not (repo.path / "docs").exists()
    reading = read(repo.path)
    assert reading.items == {FIELD: ()}
    assert reading.unknown == frozenset()
    assert notes(reading) == [("hidden_flags", "assume_unchanged=0 skip_worktree=3")]


def test_git_12_ignored_files_do_not_count(repo: Repo) -> None:
    repo.commit(**{".gitignore": ".env\nnotes/\n"})
    repo.write(".env")
    repo.write("notes/handoff.md")
    assert items(repo) == []


# --- settings that hide work --------------------------------------------------------------------


def file_mode(repo: Repo) -> str:
    repo.config("core.fileMode", "false")
    (repo.path / "kept").chmod(0o755)
    return "kept"


def stat_info(repo: Repo, name: str, value: str) -> str:
    """An edit of the same size, with the time put back."""
    set_times(repo.path / "kept")
    repo.git("update-index", "--refresh")
    time.sleep(1.1)  # git compares whole seconds
    repo.config(name, value)
    repo.write("kept", "work\n")
    set_times(repo.path / "kept")
    return "kept"


def trust_ctime(repo: Repo) -> str:
    return stat_info(repo, "core.trustctime", "false")


def check_stat(repo: Repo) -> str:
    return stat_info(repo, "core.checkStat", "minimal")


def ignore_stat(repo: Repo) -> str:
    repo.config("core.ignoreStat", "true")
    repo.write("kept", "1\n")
    repo.git("add", "kept")
    repo.git("commit", "-q", "-m", "flagged by git itself")
    repo.write("kept", "22\n")
    return "kept"


def symlinks(repo: Repo) -> str:
    (repo.path / "link").symlink_to("kept")
    repo.commit()
    (repo.path / "link").unlink()
    (repo.path / "link").write_text("kept")
    repo.config("core.symlinks", "false")
    return "link"


def ignore_case(repo: Repo) -> str:
    repo.config("core.ignoreCase", "true")
    repo.write("KEPT")
    return "KEPT"


def replaced_head(repo: Repo) -> str:
    repo.write("staged")
    repo.git("add", "staged")
    tree = repo.git("write-tree").decode().strip()
    other = repo.git("commit-tree", "-m", "replacement", tree).decode().strip()
    repo.git("replace", "HEAD", other)
    return "staged"


def monitor(repo: Repo) -> str:
    script(repo.path / ".git" / "monitor", r'printf "token\0"')
    repo.config("core.fsmonitor", ".git/monitor")
    repo.config("core.fsmonitorHookVersion", "2")
    repo.git("update-index", "--fsmonitor")
    repo.git("status")
    repo.write("kept", "work\n")
    return "kept"


def untracked_cache(repo: Repo) -> str:
    repo.commit(**{"d/kept": "1\n"})
    repo.config("core.trustctime", "false")
    repo.config("core.untrackedCache", "true")
    repo.git("update-index", "--untracked-cache")
    set_times(repo.path / "d")
    repo.git("status")
    repo.git("status")
    repo.write("d/new")
    set_times(repo.path / "d")
    return "d/new"


@pytest.mark.parametrize(
    "hide",
    [
        file_mode,
        trust_ctime,
        check_stat,
        ignore_stat,
        symlinks,
        ignore_case,
        replaced_head,
        monitor,
        untracked_cache,
    ],
)
def test_a_setting_that_hides_work_from_a_plain_status_hides_none_here(
    repo: Repo, hide: Callable[[Repo], str]
) -> None:
    """RD-GIT-8, GT-RUN-3."""
    hidden = hide(repo)
    assert repo.plain_status() == b""
    assert items(repo) == [hidden]


def sub_untracked(outer: Repo, sub: Repo) -> None:
    sub.config("status.showUntrackedFiles", "no")
    sub.write("new")


def sub_flag(outer: Repo, sub: Repo) -> None:
    sub.git("update-index", "--skip-worktree", "a")
    sub.write("a", "work\n")


def sub_ignored_by_the_diff_setting(outer: Repo, sub: Repo) -> None:
    outer.config("diff.ignoreSubmodules", "all")
    sub.write("a", "work\n")


def sub_flagged_with_edits(outer: Repo, sub: Repo) -> None:
    outer.git("update-index", "--assume-unchanged", "sub")
    sub.write("a", "work\n")


def sub_flagged_with_commits(outer: Repo, sub: Repo) -> None:
    outer.git("update-index", "--skip-worktree", "sub")
    sub.commit(a="work\n")


def sub_without_its_repository(outer: Repo, sub: Repo) -> None:
    (sub.path / ".git").unlink()
    sub.write("a", "work\n")


def sub_replaced_behind_a_flag(outer: Repo, sub: Repo) -> None:
    outer.git("update-index", "--skip-worktree", "sub")
    sub.path.rename(outer.path.parent / "moved")
    sub.path.symlink_to(outer.path.parent / "moved")


def sub_deleted_behind_a_flag(outer: Repo, sub: Repo) -> None:
    outer.git("update-index", "--assume-unchanged", "sub")
    sub.path.rename(outer.path.parent / "moved")


@pytest.mark.parametrize(
    ("hide", "state"),
    [
        (sub_untracked, "untracked"),
        (sub_flag, "hidden changes"),
        (sub_ignored_by_the_diff_setting, "modified"),
        (sub_flagged_with_edits, "hidden changes"),
        (sub_flagged_with_commits, "new commits"),
        (sub_without_its_repository, "files without a repository"),
        (sub_replaced_behind_a_flag, ""),
        (sub_deleted_behind_a_flag, ""),
    ],
)
def test_work_in_a_submodule_that_a_plain_status_does_not_show_is_seen(
    tmp_path: Path, hide: Callable[[Repo, Repo], None], state: str
) -> None:
    """RD-GIT-7."""
    outer, sub = with_submodule(tmp_path)
    hide(outer, sub)
    assert outer.plain_status() == b""
    reading = read(outer.path)
    assert reading.items == {FIELD: ("sub",)}
    assert reading.unknown == frozenset()
    said = [text for kind, text in notes(reading) if kind == "submodule"]
    assert said == ([f"sub is a submodule: {state}"] if state else [])


def test_a_submodule_that_a_submodule_ignores_is_seen(tmp_path: Path) -> None:
    outer, _ = with_submodule(tmp_path)
    top = new_repo(tmp_path / "top")
    top.git("submodule", "-q", "add", str(outer.path), "mid")
    top.git("submodule", "-q", "update", "--init", "--recursive")
    top.commit()
    mid = Repo(top.path / "mid")
    mid.config("submodule.sub.ignore", "all")
    mid.write("sub/a", "work\n")
    assert top.plain_status() == b""
    assert items(top) == ["mid"]


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_clean_submodule_is_no_item_whatever_its_flag(tmp_path: Path, flag: str) -> None:
    outer, _ = with_submodule(tmp_path)
    assert items(outer) == []
    outer.git("update-index", flag, "sub")
    assert items(outer) == []


@pytest.mark.parametrize("flagged", [False, True])
def test_a_submodule_that_is_not_checked_out_is_no_item(tmp_path: Path, flagged: bool) -> None:
    outer, sub = with_submodule(tmp_path)
    outer.git("submodule", "-q", "deinit", "sub")
    assert list(sub.path.iterdir()) == []
    if flagged:
        outer.git("update-index", "--skip-worktree", "sub")
        sub.path.rmdir()
    assert items(outer) == []


@pytest.mark.parametrize(
    ("broken", "expected"), [("gitdir: ../nowhere\n", "no_repository"), ("junk", "git_failed")]
)
def test_a_submodule_whose_repository_is_broken_is_unknown(
    tmp_path: Path, broken: str, expected: str
) -> None:
    outer, sub = with_submodule(tmp_path)
    (sub.path / ".git").write_text(broken)
    assert code(read(outer.path)) == expected


def test_a_submodule_whose_work_tree_is_configured_elsewhere_is_unknown(tmp_path: Path) -> None:
    outer, sub = with_submodule(tmp_path)
    Repo(tmp_path).write("elsewhere/a", "a\n")
    sub.config("core.worktree", str(tmp_path / "elsewhere"))
    sub.write("a", "work\n")
    outer.write("new")
    assert outer.plain_status() == b"?? new\n"
    reading = read(outer.path)
    assert code(reading) == "not_a_top_level"
    assert reading.items == {FIELD: ("new",)}


def test_a_staged_submodule_is_told_as_one(tmp_path: Path) -> None:
    outer, sub = with_submodule(tmp_path)
    sub.commit(a="2\n")
    reading = read(outer.path)
    assert notes(reading) == [("submodule", "sub is a submodule: new commits")]
    outer.git("add", "sub")
    reading = read(outer.path)
    assert reading.items == {FIELD: ("sub",)}
    assert notes(reading) == [("submodule", "sub is a submodule: staged")]


def test_settings_of_form_change_nothing(repo: Repo) -> None:
    repo.write("kept", "work\n")
    repo.git("stash", "-q")
    repo.commit(**{"below/a": "1\n2\n3\n"})
    for name, value in {
        "color.status": "always",
        "column.ui": "always",
        "core.quotePath": "true",
        "diff.renames": "false",
        "status.branch": "true",
        "status.relativePaths": "true",
        "status.renames": "false",
        "status.short": "true",
        "status.showStash": "true",
        "status.submoduleSummary": "true",
    }.items():
        repo.config(name, value)
    repo.git("mv", "below/a", "below/b")
    reading = read(cwd=repo.path / "below")
    assert reading.items == {FIELD: ("below/b",)}
    assert notes(reading) == [("renamed", "below/b was below/a")]


def test_a_copy_is_not_taken_for_a_rename(repo: Repo) -> None:
    repo.config("status.renames", "copies")
    repo.commit(a="1\n2\n3\n")
    repo.write("b", "1\n2\n3\n")
    repo.write("a", "1\n2\n3\n4\n")
    repo.git("add", "-A")
    assert items(repo) == ["a", "b"]


def test_the_executable_bit_is_not_asked_of_a_file_system_that_cannot_keep_it(repo: Repo) -> None:
    """RD-GIT-8."""
    repo.commit(flagged="1\n")
    repo.git("update-index", "--skip-worktree", "flagged")
    repo.config("core.fileMode", "false")
    for name in ("kept", "flagged"):
        (repo.path / name).chmod(0o755)
    assert items(repo) == ["kept", "flagged"]
    (repo.path / ".git" / "HEAD").chmod(0o755)
    assert items(repo) == []


def test_a_head_that_is_a_symbolic_link_says_nothing_about_the_file_system(repo: Repo) -> None:
    head = repo.path / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    repo.config("core.fileMode", "false")
    (repo.path / "kept").chmod(0o755)
    assert items(repo) == ["kept"]


# --- hidden flags -------------------------------------------------------------------------------


def edit(file: Path) -> None:
    file.write_text("work\n")


def same_size_and_time(file: Path) -> None:
    set_times(file)
    file.write_text("Kept\n")
    set_times(file)


def make_executable(file: Path) -> None:
    file.chmod(0o755)


def make_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("kept\n")


def make_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def make_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


FLAGS = [("--assume-unchanged",), ("--skip-worktree",), ("--assume-unchanged", "--skip-worktree")]


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize(
    "change",
    [edit, same_size_and_time, make_executable, make_link, make_directory, make_pipe],
)
def test_a_change_behind_a_flag_is_an_item(
    repo: Repo, flags: tuple[str, ...], change: Callable[[Path], None]
) -> None:
    for flag in flags:
        repo.git("update-index", flag, "kept")
    assert items(repo) == []
    change(repo.path / "kept")
    assert repo.plain_status() == b""
    assert items(repo) == ["kept"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [(FLAGS[0], ["kept"]), (FLAGS[1], []), (FLAGS[2], [])],
)
def test_only_a_deletion_behind_assume_unchanged_is_an_item(
    repo: Repo, flags: tuple[str, ...], expected: list[str]
) -> None:
    for flag in flags:
        repo.git("update-index", flag, "kept")
    (repo.path / "kept").unlink()
    assert repo.plain_status() == b""
    assert items(repo) == expected


def test_flags_are_counted_apart_and_both_count_for_both(repo: Repo) -> None:
    repo.commit(a="1\n", b="1\n", c="1\n")
    repo.git("update-index", "--assume-unchanged", "a", "b", "c")
    repo.git("update-index", "--skip-worktree", "c")
    assert notes(read(repo.path)) == [("hidden_flags", "assume_unchanged=3 skip_worktree=1")]


def test_a_flagged_symbolic_link_is_compared_by_its_target(repo: Repo) -> None:
    (repo.path / "link").symlink_to("kept")
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "link")
    assert items(repo) == []
    (repo.path / "link").unlink()
    (repo.path / "link").symlink_to("other")
    assert repo.plain_status() == b""
    assert items(repo) == ["link"]


def test_a_flagged_program_that_is_no_longer_executable_is_an_item(repo: Repo) -> None:
    repo.write("program").chmod(0o755)
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "program")
    assert items(repo) == []
    (repo.path / "program").chmod(0o644)
    assert items(repo) == ["program"]


def test_a_flagged_file_that_is_staged_and_edited_is_one_item(repo: Repo) -> None:
    repo.write("kept", "staged\n")
    repo.git("add", "kept")
    repo.git("update-index", "--assume-unchanged", "kept")
    repo.write("kept", "edited\n")
    assert items(repo) == ["kept"]


@pytest.mark.parametrize("name", [*ODD_NAMES, "caf\udce9"])
def test_a_flagged_file_may_have_any_name(repo: Repo, name: str) -> None:
    (repo.path / name).write_text("1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "odd")
    repo.git("update-index", "--assume-unchanged", "-z", "--stdin", input=os.fsencode(name))
    (repo.path / name).write_text("2\n")
    assert [read_path(item) for item in items(repo)] == [os.fsencode(name)]


def test_line_ends_that_git_would_commit_as_they_were_are_no_change(repo: Repo) -> None:
    """RD-GIT-6."""
    repo.commit(**{".gitattributes": "*.txt text eol=crlf\n", "a.txt": "1\n", "b.txt": "1\n"})
    repo.git("update-index", "--assume-unchanged", "a.txt", "b.txt")
    repo.write("a.txt", "1\r\n")
    repo.write("b.txt", "2\r\n")
    assert items(repo) == ["b.txt"]


def test_bytes_that_are_as_committed_are_no_change_whatever_a_filter_makes_of_them(
    repo: Repo,
) -> None:
    repo.commit(dos="1\r\n")
    repo.git("update-index", "--assume-unchanged", "dos")
    repo.config("core.autocrlf", "true")
    assert items(repo) == []


def test_a_filter_that_fails_makes_the_field_unknown(repo: Repo) -> None:
    repo.commit(**{".gitattributes": "*.bin filter=broken\n", "a.bin": "1\n"})
    repo.git("update-index", "--assume-unchanged", "a.bin")
    repo.config("filter.broken.clean", "false")
    repo.config("filter.broken.required", "true")
    repo.write("a.bin", "2\n")
    repo.write("new")
    reading = read(repo.path)
    assert code(reading) == "git_failed"
    assert reading.items == {FIELD: ("new",)}


def test_a_flagged_file_below_what_became_a_file_is_deleted(repo: Repo) -> None:
    repo.commit(**{"d/a": "1\n", "d/b": "1\n"})
    repo.git("update-index", "--assume-unchanged", "d/a")
    repo.git("update-index", "--skip-worktree", "d/b")
    for name in ("d/a", "d/b"):
        (repo.path / name).unlink()
    (repo.path / "d").rmdir()
    repo.write("d")
    assert items(repo) == ["d", "d/a"]


def test_a_file_that_is_present_outside_a_sparse_cone_is_compared(repo: Repo) -> None:
    repo.commit(**{"in/a": "1\n", "out/b": "1\n", "out/c": "1\n"})
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    repo.config("sparse.expectFilesOutsideOfPatterns", "true")
    assert b"S out/\n" in repo.git("ls-files", "--sparse", "-t")
    assert items(repo) == []
    repo.write("out/b", "work\n")
    repo.write("out/c", "1\n")
    assert repo.plain_status() == b""
    assert items(repo) == ["out/b"]


def git_calls(repo: Repo, folder: Path) -> tuple[list[str], int]:
    """The items, and how many times git was started to find them."""
    calls = folder / "calls"
    with pytest.MonkeyPatch.context() as monkeypatch:
        fake_git(monkeypatch, folder / "bin", f'echo x >>{calls}; exec "$REAL_GIT" "$@"')
        found = items(repo)
    return found, len(calls.read_text().splitlines())


def test_a_clean_repository_costs_three_processes_and_so_does_each_submodule(
    tmp_path: Path,
) -> None:
    outer, sub = with_submodule(tmp_path)
    assert git_calls(sub, tmp_path / "one") == ([], 3)
    assert git_calls(outer, tmp_path / "two") == ([], 6)


def test_a_thousand_flagged_files_cost_one_process_more(repo: Repo, tmp_path: Path) -> None:
    names = [f"many/{number}" for number in range(1000)]
    repo.commit(**dict.fromkeys(names, "1\n"))
    repo.git("update-index", "--skip-worktree", "-z", "--stdin", input="\0".join(names).encode())
    for name in names[:900]:
        (repo.path / name).unlink()
    for name in names[950:]:
        repo.write(name, "work\n")
    found, calls = git_calls(repo, tmp_path)
    assert sorted(found) == sorted(names[950:])
    assert calls == 4


# --- trouble ------------------------------------------------------------------------------------


def test_a_directory_that_is_in_no_repository_is_unknown(tmp_path: Path) -> None:
    assert code(read(tmp_path)) == "no_repository"
    assert code(read(cwd=tmp_path)) == "no_repository"


def test_a_directory_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    assert code(read(tmp_path / "none")) == "git_failed"
    assert code(read(Path("a\0b"))) == "git_failed"


def test_a_directory_below_the_top_is_unknown_when_it_is_named(repo: Repo) -> None:
    repo.write("new")
    (repo.path / "below").mkdir()
    assert code(read(repo.path / "below")) == "not_a_top_level"
    assert read(repo.path / "below").items == {FIELD: ()}


def test_a_bare_repository_is_unknown(tmp_path: Path) -> None:
    assert code(read(new_repo(tmp_path / "bare", "--bare").path)) == "no_work_tree"


def test_a_missing_git_is_unknown(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RD-GIT-2."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code(read(repo.path)) == "git_missing"


def test_an_owner_that_git_refuses_is_unknown(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("new")
    fake_git(
        monkeypatch,
        tmp_path / "bin",
        'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec "$REAL_GIT" "$@"',
    )
    assert code(read(repo.path)) == "unsafe_owner"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_that_belongs_to_somebody_else_is_unknown(repo: Repo) -> None:
    os.chown(repo.path, 12345, 12345)
    assert code(read(repo.path)) == "unsafe_owner"


def test_a_configuration_that_git_cannot_read_is_unknown(repo: Repo) -> None:
    with (repo.path / ".git" / "config").open("a") as file:
        file.write("[broken\n")
    assert code(read(repo.path)) == "git_failed"


@pytest.fixture
def too_deep(repo: Repo) -> Repo:
    """A repository whose one new file lies below a path that is too long to be opened."""
    opened = [os.open(repo.path, os.O_RDONLY)]
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=opened[-1])
        opened.append(os.open("d" * 250, os.O_RDONLY, dir_fd=opened[-1]))
    os.close(os.open("work", os.O_CREAT | os.O_WRONLY, dir_fd=opened[-1]))
    for descriptor in opened:
        os.close(descriptor)
    repo.write("kept", "work\n")
    return repo


def test_a_directory_that_git_cannot_open_is_unknown_and_what_it_saw_stays(too_deep: Repo) -> None:
    """RD-GIT-2."""
    assert too_deep.plain_status() == b" M kept\n"
    reading = read(too_deep.path)
    assert code(reading) == "git_failed"
    assert "could not open directory" in reading.notes[-1].text
    assert reading.items == {FIELD: ("kept",)}


def test_a_flagged_file_that_cannot_be_looked_at_is_unknown(repo: Repo) -> None:
    loop = repo.path / "loop"
    repo.commit(**{"loop/a": "1\n"})
    repo.git("update-index", "--skip-worktree", "loop/a")
    (loop / "a").unlink()
    loop.rmdir()
    loop.symlink_to("loop")
    reading = read(repo.path)
    assert code(reading) == "unreadable"
    assert reading.items == {FIELD: ("loop",)}


def test_a_note_is_one_line_of_text_whatever_the_name(repo: Repo) -> None:
    odd = new_repo(repo.path / "new\nline\udce9")
    (odd.path / ".git" / "HEAD").unlink()
    (note,) = read(odd.path).notes
    assert note.code == "not_a_top_level"
    assert "new\\u000aline\\udce9" in note.text
    note.text.encode()


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("status", ""),
        ("status", r"? cut off\0"),
        ("status", r"# branch.oid (initial)\0? cut o"),
        ("ls-files", "H"),
        ("ls-files", r"h junk\0"),
        ("hash-object", ""),
    ],
)
def test_an_answer_that_is_not_gits_is_unknown(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, output: str
) -> None:
    """RD-GIT-5."""
    repo.git("update-index", "--assume-unchanged", "kept")
    repo.write("kept", "work\n")
    answer = f'case " $* " in *" {command} "*) printf "{output}";; *) exec "$REAL_GIT" "$@";; esac'
    fake_git(monkeypatch, tmp_path / "bin", answer)
    assert code(read(repo.path)) == "bad_git_output"


HASHES = b"a" * 40 + b" " + b"b" * 40


@pytest.mark.parametrize(
    "output",
    [
        b"?",
        b"? \0",
        b"\0",
        b"? a\0\0",
        b"! ignored\0",
        b"X what\0",
        b"1 .M N... 100644 100644 100644 " + HASHES + b" \0",
        b"1 .M N... 100644 100644 100644 " + b"a" * 40 + b" path\0",
        b"1 .M X... 100644 100644 100644 " + HASHES + b" path\0",
        b"2 R. N... 100644 100644 100644 " + HASHES + b" path\0old\0",
        b"2 R. N... 100644 100644 100644 " + HASHES + b" R100 path\0",
        b"2 R. N... 100644 100644 100644 " + HASHES + b" R100 path\0old",
        b"u UU N... 100644 100644 100644 " + HASHES + b" path\0",
    ],
)
def test_a_record_that_git_does_not_write_is_refused(output: bytes) -> None:
    """RD-GIT-5."""
    with pytest.raises(GitFailed) as caught:
        list(parse_status(output))
    assert caught.value.code == "bad_git_output"


def test_what_stands_before_a_damaged_record_is_still_found() -> None:
    records = parse_status(b"# header\0? a\0? b\0X\0? c\0")
    assert [next(records), next(records)] == ["a", "b"]
    with pytest.raises(GitFailed, match="X"):
        next(records)


def test_a_path_that_looks_like_a_hash_is_not_cut() -> None:
    path = b"c" * 40 + b" 100644 R100 x"
    record = b"1 .M N... 100644 100644 100644 " + HASHES + b" " + path + b"\0"
    assert list(parse_status(record)) == [path.decode()]


def test_only_flagged_entries_and_submodules_are_listed() -> None:
    oid = b"a" * 40
    lines = [
        b"H 100644 %b 0\tplain",
        b"H 160000 %b 0\tsub",
        b"h 100755 %b 0\tassumed",
        b"S 120000 %b 0\tskipped",
        b"s 100644 %b 0\tboth",
        b"M 160000 %b 2\tconflict",
    ]
    entries = list(parse_listing(b"".join(line % oid + b"\0" for line in lines)))
    assert [(e.path, e.assume_unchanged, e.skip_worktree) for e in entries] == [
        (b"sub", False, False),
        (b"assumed", True, False),
        (b"skipped", False, True),
        (b"both", True, True),
    ]
    assert [e.flagged for e in entries] == [False, True, True, True]
