"""git is called in one place, and nothing leads it astray. (SPEC GT)"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from gitrepo import Repo, fake_git, new_repo, script, with_submodule
from hypothesis import example, given
from hypothesis import strategies as st
from running import PATIENCE_S

from verdict_core import git
from verdict_core.git import GitFailed, find_top, named_top, read_path, run, show_path

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return new_repo(tmp_path / "repo")


def environment(repo: Repo, **env: str) -> dict[str, str]:
    """The environment that a git started by `run` hands on."""
    output = run(repo.path, "-c", "alias.environment=!env", "environment", env=env).decode()
    return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)


# --- what goes in -------------------------------------------------------------------------------


def test_the_answer_is_the_bytes_of_standard_output(repo: Repo) -> None:
    repo.git("config", "a.b", "x\xe9")
    assert run(repo.path, "config", "-z", "a.b") == "x\xe9\0".encode()


def test_input_is_handed_to_standard_input(repo: Repo) -> None:
    blob = run(repo.path, "hash-object", "--stdin", input=b"x" * 200_000)
    assert blob.strip() == repo.git("hash-object", "--stdin", input=b"x" * 200_000).strip()


def test_without_input_standard_input_is_closed(repo: Repo) -> None:
    assert run(repo.path, "hash-object", "--stdin") == repo.git("hash-object", "--stdin")


def test_a_variable_that_the_caller_gives_reaches_git(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    other = str(tmp_path / "index")
    run(repo.path, "read-tree", "--empty", env={"GIT_INDEX_FILE": other})
    assert run(repo.path, "ls-files", env={"GIT_INDEX_FILE": other}) == b""
    assert run(repo.path, "ls-files") == b"a\n"


@pytest.mark.parametrize(
    "name",
    [
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CEILING_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_COUNT",
        "GIT_DEFAULT_HASH",
        "GIT_DIR",
        "GIT_EXTERNAL_DIFF",
        "GIT_GLOB_PATHSPECS",
        "GIT_INDEX_FILE",
        "GIT_LITERAL_PATHSPECS",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_OPTIONAL_LOCKS",
        "GIT_TRACE",
        "GIT_WORK_TREE",
    ],
)
def test_a_variable_that_redirects_git_is_dropped(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """GT-RUN-2."""
    monkeypatch.setenv(name, "elsewhere")
    assert "elsewhere" not in environment(repo).values()


def test_the_variables_that_say_where_the_users_configuration_is_are_kept(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GT-RUN-2."""
    (tmp_path / "mine").write_text("[a]\n\tb = global\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "mine"))
    assert run(repo.path, "config", "a.b") == b"global\n"
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "0")
    (tmp_path / "system").write_text("[a]\n\tc = system\n")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(tmp_path / "system"))
    assert run(repo.path, "config", "a.c") == b"system\n"


def test_what_git_is_told_is_the_same_wherever_it_runs(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GT-RUN-1, GT-RUN-4."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    seen = environment(repo)
    assert seen["LC_ALL"] == "C"
    assert seen["GIT_TERMINAL_PROMPT"] == "0"
    assert seen["GIT_OPTIONAL_LOCKS"] == "0"
    assert seen["GIT_ALLOW_PROTOCOL"] == "none"


def test_git_works_without_a_home(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert find_top(repo.path) == repo.path


def test_no_hook_runs(repo: Repo, tmp_path: Path) -> None:
    """GT-RUN-4."""
    repo.commit(a="a\n")
    script(tmp_path / "hooks" / "reference-transaction", f"touch {tmp_path}/ran")
    repo.config("core.hooksPath", str(tmp_path / "hooks"))
    run(repo.path, "update-ref", "refs/other/one", "HEAD")
    assert not (tmp_path / "ran").exists()
    repo.git("update-ref", "refs/other/two", "HEAD")
    assert (tmp_path / "ran").exists()


def test_a_partial_clone_fetches_nothing(tmp_path: Path) -> None:
    """GT-RUN-4."""
    origin = new_repo(tmp_path / "origin")
    origin.commit(big="big\n" * 100)
    origin.config("uploadpack.allowFilter", "true")
    oid = origin.git("rev-parse", "HEAD:big").decode().strip()
    url = f"file://{origin.path}"
    origin.git("clone", "-q", "--no-checkout", "--filter=blob:none", url, str(tmp_path / "part"))
    part = Repo(tmp_path / "part")
    part.config("protocol.file.allow", "always")
    with pytest.raises(GitFailed, match="not allowed"):
        run(part.path, "cat-file", "-p", oid)
    assert part.git("cat-file", "-p", oid) == b"big\n" * 100


def test_a_setting_that_hides_work_is_overridden_in_every_call(tmp_path: Path) -> None:
    """GT-RUN-3."""
    outer, sub = with_submodule(tmp_path)
    outer.config("status.showUntrackedFiles", "no")
    outer.config("diff.ignoreSubmodules", "all")
    outer.write("new")
    sub.write("a", "work\n")
    assert outer.plain_status() == b""
    assert run(outer.path, "status", "--porcelain") == b" M sub\n?? new\n"


# --- what comes out when it fails ---------------------------------------------------------------


def failure(top: Path, *args: str) -> GitFailed:
    with pytest.raises(GitFailed) as caught:
        run(top, *args)
    return caught.value


def test_a_failure_is_the_line_that_git_calls_fatal(repo: Repo) -> None:
    """GT-RUN-6."""
    (repo.path / ".git" / "index").write_bytes(b"no index at all, but long enough")
    error = failure(repo.path, "status")
    assert error == GitFailed("fatal: index file corrupt", path=str(repo.path))
    assert str(error) == f"{repo.path}: git_failed: fatal: index file corrupt"


@pytest.mark.parametrize(
    ("complaint", "message"),
    [
        ("echo hint: x >&2; echo error: y >&2; exit 3", "error: y"),
        ("echo >&2; echo usage: z >&2; exit 3", "usage: z"),
        ("exit 3", "git ended with status 3"),
        ("kill -9 $$", "git ended with status -9"),
        (r"printf 'fatal: \351\n' >&2; exit 1", r"fatal: \xe9"),
    ],
)
def test_a_failure_without_a_fatal_line_is_told_by_the_next_best(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complaint: str, message: str
) -> None:
    fake_git(monkeypatch, tmp_path / "bin", complaint)
    assert failure(repo.path, "status").message == message


def test_a_missing_git_is_told(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = failure(repo.path, "status")
    assert error.code == "git_missing"
    assert "'git'" in error.message


def test_a_path_that_no_program_can_be_given_is_told(repo: Repo) -> None:
    assert failure(repo.path / "a\0b", "status").code == "git_failed"


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    error = failure(tmp_path / "none", "status")
    assert error.code == "git_failed"
    assert "cannot change to" in error.message


def test_where_there_is_no_repository_the_code_says_so(tmp_path: Path) -> None:
    """GT-RUN-6."""
    assert failure(tmp_path, "status").code == "no_repository"


def test_a_bare_repository_has_no_work_tree(tmp_path: Path) -> None:
    """GT-RUN-6."""
    bare = new_repo(tmp_path / "bare", "--bare")
    with pytest.raises(GitFailed) as caught:
        find_top(bare.path)
    assert caught.value.code == "no_work_tree"


def test_a_repository_of_somebody_else_is_unsafe(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GT-RUN-6."""
    fake_git(
        monkeypatch,
        tmp_path / "bin",
        'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec "$REAL_GIT" "$@"',
    )
    assert failure(repo.path, "status").code == "unsafe_owner"


def test_an_owner_that_the_users_configuration_calls_safe_is_safe(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("config", "--global", "safe.directory", str(repo.path))
    fake_git(
        monkeypatch,
        tmp_path / "bin",
        'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec "$REAL_GIT" "$@"',
    )
    assert find_top(repo.path) == repo.path


def test_an_answer_from_which_the_system_kept_something_is_a_failure(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GT-RUN-6."""
    fake_git(monkeypatch, tmp_path / "bin", "echo d/f: Permission denied >&2; echo half")
    error = failure(repo.path, "status")
    assert (error.code, error.message) == ("git_failed", "d/f: Permission denied")
    assert error.output == b"half\n"


@pytest.mark.parametrize(
    "line",
    [
        "warning: unable to access 'x/.gitignore': Too many levels of symbolic links",
        "warning: in the working copy of 'a', CRLF will be replaced by LF",
        "Permission denied is a file name",
    ],
)
def test_an_answer_with_a_harmless_warning_is_an_answer(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    fake_git(monkeypatch, tmp_path / "bin", f'echo "{line}" >&2; echo whole')
    assert run(repo.path, "status") == b"whole\n"


class Hanging:
    """A git whose children hold a pipe open until they are killed."""

    def __init__(self, repo: Repo, pipe: Path) -> None:
        os.mkfifo(pipe)
        self.repo = repo
        self.reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.alias = f"alias.hang=!exec 3>{pipe}; echo up >&3; sleep 60 & sleep 60"

    def run(self) -> None:
        start = time.monotonic()
        try:
            run(self.repo.path, "-c", self.alias, "hang")
        finally:
            assert time.monotonic() - start < 30

    def was_up_and_is_gone(self) -> bool:
        """Whether it wrote, and whether the pipe has no writer left before long."""
        seen = b""
        end = time.monotonic() + PATIENCE_S / 3
        while time.monotonic() < end:
            select.select([self.reader], [], [], 0.1)
            try:
                data = os.read(self.reader, 100)
            except BlockingIOError:
                continue
            if not data:
                return seen == b"up\n"
            seen += data
        return False


@pytest.fixture
def hanging(repo: Repo, tmp_path: Path) -> Iterator[Hanging]:
    hanging = Hanging(repo, tmp_path / "pipe")
    yield hanging
    os.close(hanging.reader)


def test_a_git_that_hangs_is_killed_with_all_its_children(
    hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GT-RUN-5."""
    monkeypatch.setattr(git, "TIME_LIMIT_S", 1.5)
    with pytest.raises(GitFailed) as caught:
        hanging.run()
    assert caught.value.code == "git_timeout"
    assert caught.value.message == "git did not end within 1.5 s"
    assert hanging.was_up_and_is_gone()


def test_an_interrupt_kills_git_and_passes_through(hanging: Hanging) -> None:
    """GT-RUN-5."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            hanging.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert hanging.was_up_and_is_gone()


# --- the top level ------------------------------------------------------------------------------


def refusal(start: Path) -> str:
    with pytest.raises(GitFailed) as caught:
        find_top(start)
    return caught.value.code


def test_the_top_level_is_found_from_below(repo: Repo) -> None:
    (repo.path / "a" / "b").mkdir(parents=True)
    assert find_top(repo.path / "a" / "b") == repo.path


def test_the_top_level_is_found_from_where_one_stands(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo.path / "a").mkdir()
    monkeypatch.chdir(repo.path / "a")
    assert find_top(Path()) == repo.path


def test_a_place_that_was_deleted_has_no_top_level(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo.path / "a").mkdir()
    monkeypatch.chdir(repo.path / "a")
    (repo.path / "a").rmdir()
    assert refusal(Path()) == "git_failed"


@pytest.mark.parametrize("name", ["new\nline", "end\n", "caf\udce9", " blank ", "-C"])
def test_a_top_level_may_have_any_name(tmp_path: Path, name: str) -> None:
    """GT-RUN-1."""
    odd = new_repo(tmp_path / name)
    assert find_top(odd.path) == odd.path
    assert named_top(odd.path) == odd.path


def test_a_symbolic_link_to_a_top_level_is_that_top_level(repo: Repo, tmp_path: Path) -> None:
    """GT-TOP-3."""
    (tmp_path / "link").symlink_to(repo.path)
    (repo.path / "a").mkdir()
    assert find_top(tmp_path / "link" / "a") == repo.path
    assert named_top(tmp_path / "link") == repo.path


def test_a_linked_worktree_is_its_own_top_level(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert named_top(tmp_path / "tree") == tmp_path / "tree"


def test_a_named_directory_below_the_top_is_no_top_level(repo: Repo) -> None:
    """GT-TOP-3."""
    (repo.path / "a").mkdir()
    with pytest.raises(GitFailed) as caught:
        named_top(repo.path / "a")
    assert caught.value.code == "not_a_top_level"
    assert str(repo.path) in caught.value.message
    assert caught.value.path == str(repo.path / "a")


def test_a_repository_whose_git_directory_is_broken_is_not_answered_for_by_its_parent(
    repo: Repo,
) -> None:
    """GT-TOP-2."""
    inner = new_repo(repo.path / "inner")
    (inner.path / "deep").mkdir()
    (inner.path / ".git" / "HEAD").unlink()
    plain = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"], cwd=inner.path, capture_output=True, check=True
    )
    assert plain.stdout == f"{repo.path}\n".encode()
    assert refusal(inner.path) == "not_a_top_level"
    assert refusal(inner.path / "deep") == "not_a_top_level"


@pytest.mark.parametrize("tree", ["elsewhere", "none"])
def test_a_work_tree_that_is_configured_elsewhere_is_not_the_one_asked_about(
    repo: Repo, tmp_path: Path, tree: str
) -> None:
    """GT-TOP-1."""
    (tmp_path / "elsewhere").mkdir()
    repo.config("core.worktree", str(tmp_path / tree))
    assert refusal(repo.path) == "not_a_top_level"


def test_a_git_directory_does_not_stand_in_the_tree_that_it_is_for(tmp_path: Path) -> None:
    kept = new_repo(tmp_path / "kept.git", "--bare")
    kept.config("core.bare", "false")
    (tmp_path / "tree").mkdir()
    kept.config("core.worktree", str(tmp_path / "tree"))
    assert kept.git("rev-parse", "--show-toplevel") == f"{tmp_path}/tree\n".encode()
    assert refusal(kept.path) == "not_a_top_level"


@pytest.mark.parametrize("answer", ["", "echo", "echo relative"])
def test_an_answer_that_is_no_absolute_path_is_no_top_level(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.chdir(repo.path)
    fake_git(monkeypatch, tmp_path / "bin", answer)
    assert refusal(repo.path) == "bad_git_output"


def test_an_index_named_by_the_environment_is_not_believed(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_repo(tmp_path / "other")
    repo.commit(a="a\n")
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "no-index"))
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    assert find_top(repo.path) == repo.path
    assert run(repo.path, "ls-files") == b"a\n"


# --- names --------------------------------------------------------------------------------------

NAMES = st.one_of(
    st.binary(min_size=1).filter(lambda raw: b"\0" not in raw),
    st.text(st.sampled_from('a"\\351\n/é'), min_size=1).map(str.encode),
    st.lists(st.sampled_from([b'"', b"\\", b"351", b"\xe9", b"a"]), min_size=1).map(b"".join),
)


@given(NAMES)
@example(b'"caf\\351"')
@example(b"caf\xe9")
@example(b"\xed\xa0\x80")
def test_every_name_is_shown_as_text_and_read_back(raw: bytes) -> None:
    """GT-PATH-2."""
    text = show_path(raw)
    assert read_path(text) == raw
    assert text
    text.encode()  # no surrogates


@given(NAMES, NAMES)
@example(b"caf\xe8", b"caf\xe9")
@example(b'"caf\\351"', b"caf\xe9")
def test_two_names_are_never_shown_alike(one: bytes, other: bytes) -> None:
    """GT-PATH-1."""
    assert (show_path(one) == show_path(other)) == (one == other)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a b.txt", "a b.txt"),
        ("café.md".encode(), "café.md"),
        (b"a -> b", "a -> b"),
        (b"new\nline", "new\nline"),
        (b"back\\slash", "back\\slash"),
        (b'in"side', 'in"side'),
        (b'"first', '"\\"first"'),
        (b"caf\xe9.md", '"caf\\351.md"'),
        (b'\\351\xe9"/', '"\\\\351\\351\\"/"'),
    ],
)
def test_only_a_name_that_could_be_mistaken_is_quoted(raw: bytes, text: str) -> None:
    """GT-PATH-1."""
    assert show_path(raw) == text
