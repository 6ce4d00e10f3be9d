"""The fingerprint: what an entry holds, what is never opened or followed, what is a change."""

import hashlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from gitrepo import Repo, isolate, new_repo
from running import ordinary_user

from verdict_core.progress.fingerprint import (
    CAP,
    Change,
    ChangeKind,
    Entry,
    Gap,
    Head,
    Hint,
    Kind,
    Snapshot,
    compare,
    gap_line,
    hints,
    ignored_changes,
    take,
)
from verdict_core.progress.scope import GuardScope, resolve
from verdict_core.progress.tree import GAP_TEXTS, Tree

YEAR_2001_NS = 10**18


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    (top / "src/inner").mkdir(parents=True)
    (top / "src/a.py").write_text("a = 1\n")
    (top / "src/inner/b.py").write_text("b = 2\n")
    return top


@pytest.fixture
def scope(workspace: Path) -> GuardScope:
    return resolve("src/**", workspace)


def changed(before: Snapshot, after: Snapshot) -> dict[str, str]:
    return {os.fsdecode(change.path): change.kind.value for change in compare(before, after)}


def gap_lines(snapshot: Snapshot) -> tuple[str, ...]:
    return tuple(gap_line(*gap) for gap in snapshot.gaps)


def around(scope: GuardScope, act: Callable[[], object], **options: Any) -> dict[str, str]:
    """What an act changes."""
    before = take(scope, **options)
    settle()
    act()
    return changed(before, take(scope, **options))


def settle() -> None:
    """Let the clock of the file system tick: before Linux 6.13 it moves every 1 to 10 ms, and what
    is made and rewritten within one tick has one ctime."""
    time.sleep(0.015)


def put_back(path: Path, write: Callable[[], object]) -> None:
    """Run `write`, then give the file the times that it had."""
    status = path.stat()
    write()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def make_socket(path: Path) -> None:
    """A socket of any path: one that is bound by its name has a limit that pytest's exceed."""
    folder = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


def each(*acts: Callable[[Path], object]) -> Callable[[Path], None]:
    """One act out of several."""

    def run(path: Path) -> None:
        for act in acts:
            act(path)

    return run


def on_first_call(
    monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object], *, match: object = None
) -> None:
    """Let `act` happen right after the first call of the system function `name` (of those whose
    first argument is `match`), before its answer is used."""
    real = getattr(os, name)
    acted: list[bool] = []

    def wrapper(*args: Any, **options: Any) -> Any:
        answer = real(*args, **options)
        if not acted and match in (None, args[0]):
            acted.append(True)
            act()
        return answer

    monkeypatch.setattr(os, name, wrapper)


# ------------------------------------------------------------------ entries


def test_an_entry_holds_kind_mode_size_times_inode_and_content(
    workspace: Path, scope: GuardScope
) -> None:
    """PG-FP-2."""
    path = workspace / "src/a.py"
    path.chmod(0o4751)
    os.utime(path, ns=(5, 123_456_789_012_345_678))
    status = path.stat()
    assert take(scope).entries[b"src/a.py"] == Entry(
        kind=Kind.FILE,
        mode=0o4751,
        size=6,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
        content=sha(b"a = 1\n"),
        gap=None,
    )


def test_every_path_below_the_root_has_an_entry_and_no_other_has(
    workspace: Path, scope: GuardScope
) -> None:
    """PG-FP-1."""
    (workspace / "outside.py").write_text("o")
    (workspace / "src-2").mkdir()
    (workspace / "src/.hidden").write_text("h")
    (workspace / "src/empty").mkdir()
    assert sorted(take(scope).entries) == [
        b"src",
        b"src/.hidden",
        b"src/a.py",
        b"src/empty",
        b"src/inner",
        b"src/inner/b.py",
    ]


def test_the_whole_workspace_can_be_the_root(workspace: Path) -> None:
    entries = take(resolve("**", workspace)).entries
    assert sorted(entries) == [b".", b"src", b"src/a.py", b"src/inner", b"src/inner/b.py"]
    assert entries[b"."] == Entry(Kind.DIRECTORY, stat.S_IMODE(workspace.stat().st_mode))


def test_a_file_can_be_the_root(workspace: Path) -> None:
    scope = resolve("src/a.py", workspace)
    assert list(take(scope).entries) == [b"src/a.py"]
    assert around(scope, lambda: (workspace / "src/inner/b.py").write_text("x")) == {}
    assert around(scope, lambda: (workspace / "src/a.py").write_text("x")) == {
        "src/a.py": "content"
    }


def test_names_are_bytes(workspace: Path, scope: GuardScope) -> None:
    names = [b"\xff\xfe", b"new\nline", b"tab\t", b'"quoted"', b"-", "\u202e".encode(), b" ", b"\\"]
    for name in names:
        with open(os.fsencode(workspace) + b"/src/" + name, "wb") as file:
            file.write(name)
    os.mkdir(os.fsencode(workspace) + b"/src/d\xff")
    with open(os.fsencode(workspace) + b"/src/d\xff/f\xff", "wb"):
        pass
    entries = take(scope).entries
    assert {path: entries[path].content for path in (b"src/" + name for name in names)} == {
        b"src/" + name: sha(name) for name in names
    }
    assert entries[b"src/d\xff/f\xff"].content == sha(b"")


def test_hard_links_are_two_entries_of_one_inode(workspace: Path, scope: GuardScope) -> None:
    os.link(workspace / "src/a.py", workspace / "src/z.py")
    entries = take(scope).entries
    assert entries[b"src/a.py"] == entries[b"src/z.py"]
    assert around(scope, lambda: (workspace / "src/z.py").write_text("z")) == {
        "src/a.py": "content",
        "src/z.py": "content",
    }


@pytest.mark.parametrize("count", [1, 255, 256, 257, 600])
def test_every_file_is_read_whatever_their_number(
    workspace: Path, scope: GuardScope, count: int
) -> None:
    for number in range(count):
        (workspace / f"src/inner/{number}").write_bytes(b"%d" % number)
    entries = take(scope).entries
    assert [entries[b"src/inner/%d" % n].content for n in range(count)] == [
        sha(b"%d" % n) for n in range(count)
    ]


@pytest.mark.parametrize("size", [0, 1, 2**18 - 1, 2**18, 2**18 + 1, 9 * 2**20])
def test_every_byte_is_hashed_whatever_the_size(
    workspace: Path, scope: GuardScope, size: int
) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    (workspace / "src/a.py").write_bytes(data[:size])
    assert take(scope).entries[b"src/a.py"].content == sha(data[:size])


def test_the_cap_is_16_mib_and_a_file_of_exactly_the_cap_is_hashed(
    workspace: Path, scope: GuardScope
) -> None:
    """PG-FP-5."""
    assert CAP == 16 * 2**20
    (workspace / "src/a.py").write_bytes(b"1234")
    assert take(scope, cap=4).entries[b"src/a.py"].content == sha(b"1234")
    entry = take(scope, cap=3).entries[b"src/a.py"]
    assert (entry.content, entry.gap, entry.size) == (None, Gap.OVER_CAP, 4)
    (workspace / "src/empty").touch()
    assert take(scope, cap=0).entries[b"src/empty"].content == sha(b"")


def test_the_default_cap_binds(workspace: Path, scope: GuardScope) -> None:
    path = workspace / "src/big"
    path.touch()
    os.truncate(path, CAP)
    assert take(scope).gaps == ()
    os.truncate(path, CAP + 1)
    assert take(scope).gaps == ((b"src/big", Gap.OVER_CAP),)


def test_counts_are_by_kind(workspace: Path, scope: GuardScope) -> None:
    (workspace / "src/link").symlink_to("a.py")
    assert take(scope).counts == {Kind.FILE: 2, Kind.DIRECTORY: 2, Kind.SYMLINK: 1}


def test_progress_is_told_in_files_and_ends_at_the_end(workspace: Path, scope: GuardScope) -> None:
    for number in range(600):
        (workspace / f"src/inner/{number}").touch()
    told: list[tuple[int, int]] = []
    take(scope, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(set(told))
    assert len(told) > 1
    assert told[-1] == (602, 602)


def test_an_interrupt_is_not_held_up_until_everything_is_read(
    workspace: Path, scope: GuardScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(256 * 8):
        (workspace / f"src/inner/{number}").touch()
    read: list[int] = []

    def slow(descriptor: int, buffers: list[memoryview]) -> int:
        read.append(descriptor)
        time.sleep(0.0005)
        return 0

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "readv", slow)
    with pytest.raises(KeyboardInterrupt):
        take(scope, progress=interrupt)
    assert len(read) < 256 * 5


# ------------------------------------------------------------------ links and special files


def test_fp_10_a_link_is_recorded_as_a_link_and_never_followed(
    workspace: Path, scope: GuardScope, tmp_path: Path
) -> None:
    """PG-FP-1."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/secret").write_text("s")
    (workspace / "src/l").symlink_to("../../etc")
    (workspace / "src/dangling").symlink_to("nowhere")
    entries = take(scope).entries
    link = entries[b"src/l"]
    assert (link.kind, link.content, link.gap) == (Kind.SYMLINK, b"../../etc", None)
    assert entries[b"src/dangling"].content == b"nowhere"
    assert not any(path.startswith(b"src/l/") for path in entries)
    assert around(scope, lambda: (tmp_path / "etc/secret").write_text("other")) == {}


def test_fp_10_a_retargeted_link_is_a_change(workspace: Path, scope: GuardScope) -> None:
    link = workspace / "src/l"
    link.symlink_to("a.py")

    def retarget() -> None:
        link.unlink()
        link.symlink_to("inner")

    assert around(scope, retarget) == {"src/l": "content"}


def test_the_links_that_a_scope_passes_through_are_guarded(workspace: Path) -> None:
    """PG-SCOPE-11."""
    (workspace / "lib").symlink_to("src")
    (workspace / "other").mkdir()
    scope = resolve("lib/**", workspace)
    assert take(scope).entries[b"lib"].content == b"src"

    def swap_and_restore() -> None:
        (workspace / "lib").unlink()
        (workspace / "lib").symlink_to("other")
        (workspace / "lib").unlink()
        (workspace / "lib").symlink_to("src")

    assert around(scope, swap_and_restore) == {"lib": "rewritten"}
    assert around(scope, lambda: (workspace / "lib").unlink()) == {"lib": "removed"}


def test_fp_08_pipes_and_sockets_are_never_opened(workspace: Path, scope: GuardScope) -> None:
    """PG-FP-6."""
    os.mkfifo(workspace / "src/pipe")
    make_socket(workspace / "src/s.sock")
    start = time.monotonic()
    snapshot = take(scope)
    assert time.monotonic() - start < 2
    assert snapshot.entries[b"src/pipe"].kind == "fifo"
    assert snapshot.entries[b"src/s.sock"].kind == "socket"
    assert gap_lines(snapshot) == ("src/pipe: special file", "src/s.sock: special file")
    assert not snapshot.suspect


def test_fp_08_a_file_that_becomes_a_pipe_is_a_change(workspace: Path, scope: GuardScope) -> None:
    def replace() -> None:
        (workspace / "src/a.py").unlink()
        os.mkfifo(workspace / "src/a.py")

    assert around(scope, replace) == {"src/a.py": "type"}
    assert around(scope, lambda: os.utime(workspace / "src/a.py")) == {"src/a.py": "content"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_devices_are_recorded_and_not_opened(workspace: Path, scope: GuardScope) -> None:
    os.mknod(workspace / "src/zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    os.mknod(workspace / "src/loop", stat.S_IFBLK | 0o600, os.makedev(7, 250))
    snapshot = take(scope)
    assert snapshot.entries[b"src/zero"].kind is Kind.CHARACTER_DEVICE
    assert snapshot.entries[b"src/loop"].kind is Kind.BLOCK_DEVICE
    assert snapshot.gaps == ((b"src/loop", Gap.SPECIAL), (b"src/zero", Gap.SPECIAL))


# ------------------------------------------------------------------ changes


def test_nothing_done_is_no_change(scope: GuardScope) -> None:
    before = take(scope)
    assert compare(before, before) == ()
    assert compare(before, take(scope)) == ()
    assert before == take(scope)


def test_reading_is_no_change(workspace: Path, scope: GuardScope) -> None:
    def read() -> None:
        (workspace / "src/a.py").read_text()
        os.listdir(workspace / "src/inner")

    assert around(scope, read) == {}


ACTS: dict[str, tuple[Callable[[Path], object], dict[str, str]]] = {
    "a file is written": (lambda top: (top / "a.py").write_text("a = 2\n"), {"a.py": "content"}),
    "a file is cut": (lambda top: os.truncate(top / "a.py", 3), {"a.py": "content"}),
    "a file is added": (lambda top: (top / "n.py").touch(), {"n.py": "added"}),
    "a file is removed": (lambda top: (top / "a.py").unlink(), {"a.py": "removed"}),
    "a file is renamed": (
        lambda top: (top / "a.py").rename(top / "c.py"),
        {"a.py": "removed", "c.py": "added"},
    ),
    "a file is touched": (lambda top: (top / "a.py").touch(), {"a.py": "rewritten"}),
    "a file has another mode": (lambda top: (top / "a.py").chmod(0o755), {"a.py": "mode"}),
    "a directory has another mode": (lambda top: (top / "inner").chmod(0o700), {"inner": "mode"}),
    "the root has another mode": (lambda top: top.chmod(0o700), {"": "mode"}),
    "an empty directory is added": (lambda top: (top / "new").mkdir(), {"new": "added"}),
    "a directory is removed": (
        lambda top: shutil.rmtree(top / "inner"),
        {"inner/b.py": "removed"},
    ),
    "the root is removed": (
        lambda top: shutil.rmtree(top),
        {"a.py": "removed", "inner/b.py": "removed"},
    ),
    "a tree is added": (
        lambda top: shutil.copytree(top / "inner", top / "x/y"),
        {"x/y/b.py": "added"},
    ),
    "a tree with an empty directory is added": (
        lambda top: (top / "x/y/z").mkdir(parents=True),
        {"x/y/z": "added"},
    ),
    "a file becomes a directory": (
        each(lambda top: (top / "a.py").unlink(), lambda top: (top / "a.py").mkdir()),
        {"a.py": "type"},
    ),
    "a directory becomes a link to its copy": (
        each(
            lambda top: (top / "inner").rename(top / "kept"),
            lambda top: (top / "inner").symlink_to("kept"),
        ),
        {"inner": "type", "inner/b.py": "removed", "kept/b.py": "added"},
    ),
    "content and mode": (
        each(lambda top: (top / "a.py").write_text("x"), lambda top: (top / "a.py").chmod(0o755)),
        {"a.py": "content"},
    ),
}


@pytest.mark.parametrize("name", ACTS)
def test_a_change_is_named_by_its_path_and_kind(
    workspace: Path, scope: GuardScope, name: str
) -> None:
    """PG-DIFF-2, PG-DIFF-7."""
    act, expected = ACTS[name]
    found = around(scope, lambda: act(workspace / "src"))
    assert found == {f"src/{path}".rstrip("/"): kind for path, kind in expected.items()}


def test_changes_are_sorted_by_path(workspace: Path, scope: GuardScope) -> None:
    before = take(scope)
    for name in ("z", "a.py", "inner/b.py", "B"):
        (workspace / "src" / name).write_text("new")
    changes = compare(before, take(scope))
    assert changes == (
        Change(b"src/B", ChangeKind.ADDED),
        Change(b"src/a.py", ChangeKind.CONTENT),
        Change(b"src/inner/b.py", ChangeKind.CONTENT),
        Change(b"src/z", ChangeKind.ADDED),
    )


def test_a_directory_s_times_are_not_compared(workspace: Path, scope: GuardScope) -> None:
    """PG-FP-3."""

    def make_and_remove() -> None:
        (workspace / "src/inner/scratch").touch()
        (workspace / "src/inner/scratch").unlink()

    assert around(scope, make_and_remove) == {}


def test_fp_03_the_change_says_what_changed_and_not_who_did_it(
    workspace: Path, scope: GuardScope
) -> None:
    program = "import sys; open(sys.argv[1], 'w').write('other')"
    command = [sys.executable, "-c", program, os.fspath(workspace / "src/a.py")]
    before = take(scope)
    subprocess.run(command, check=True)
    assert compare(before, take(scope)) == (Change(b"src/a.py", ChangeKind.CONTENT),)
    assert {field.name for field in Change.__attrs_attrs__} == {"path", "kind"}


def test_fp_04_equal_bytes_with_other_times_are_rewritten(
    workspace: Path, scope: GuardScope
) -> None:
    """PG-DIFF-3, PG-FP-9."""
    before = take(scope)
    os.utime(workspace / "src/a.py", ns=(YEAR_2001_NS, YEAR_2001_NS))
    after = take(scope)
    assert changed(before, after) == {"src/a.py": "rewritten"}
    assert before.content_digest == after.content_digest


def test_write_run_restore_is_seen_though_bytes_and_mtime_are_as_before(
    workspace: Path, scope: GuardScope
) -> None:
    """PG-DIFF-3."""
    path = workspace / "src/a.py"
    data = path.read_bytes()
    before = take(scope)
    settle()
    put_back(path, lambda: (path.write_bytes(b"cheat\n"), path.write_bytes(data)))
    after = take(scope)
    assert before.entries[b"src/a.py"].mtime_ns == after.entries[b"src/a.py"].mtime_ns
    assert changed(before, after) == {"src/a.py": "rewritten"}
    assert before.content_digest == after.content_digest


def test_moved_aside_and_put_back_is_seen(workspace: Path, scope: GuardScope) -> None:
    def swap() -> None:
        (workspace / "src/a.py").rename(workspace / "aside")
        (workspace / "src/a.py").write_text("cheat")
        (workspace / "aside").rename(workspace / "src/a.py")

    assert around(scope, swap) == {"src/a.py": "rewritten"}


def test_a_copy_with_the_same_bytes_and_mtime_is_another_file(
    workspace: Path, scope: GuardScope
) -> None:
    def replace() -> None:
        shutil.copy2(workspace / "src/a.py", workspace / "copy")
        (workspace / "copy").rename(workspace / "src/a.py")

    assert around(scope, replace) == {"src/a.py": "rewritten"}


def test_another_byte_under_the_same_size_and_mtime_is_seen(
    workspace: Path, scope: GuardScope
) -> None:
    path = workspace / "src/a.py"
    assert around(scope, lambda: put_back(path, lambda: path.write_bytes(b"a = 2\n"))) == {
        "src/a.py": "content"
    }


def test_fp_07_other_line_ends_are_another_content(workspace: Path, scope: GuardScope) -> None:
    path = workspace / "src/a.txt"
    path.write_bytes(b"one\ntwo\n")
    assert around(scope, lambda: path.write_bytes(b"one\r\ntwo\r\n")) == {"src/a.txt": "content"}


def test_fp_05_over_the_cap_sameness_is_not_claimed(workspace: Path) -> None:
    """PG-FP-6."""
    path = workspace / "big.bin"
    path.write_bytes(b"x" * 4096)
    scope = resolve("**", workspace)
    before = take(scope, cap=1024)
    assert before.entries[b"big.bin"].content is None
    assert gap_lines(before) == ("big.bin: over hash cap, content not compared",)
    assert not before.suspect
    assert changed(before, take(scope, cap=1024)) == {}

    settle()
    put_back(path, lambda: path.write_bytes(b"y" * 4096))
    after = take(scope, cap=1024)
    assert changed(before, after) == {"big.bin": "content"}  # ctime shows it

    # As on a file system that keeps no ctime: nothing differs, and the gap says what that is worth.
    entry = evolve(after.entries[b"big.bin"], ctime_ns=before.entries[b"big.bin"].ctime_ns)
    blind = evolve(after, entries={**after.entries, b"big.bin": entry})
    assert changed(before, blind) == {}
    assert gap_lines(blind) == ("big.bin: over hash cap, content not compared",)


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda path: os.utime(path, ns=(1, 1)), "content"),
        (lambda path: os.truncate(path, 5000), "content"),
        (lambda path: os.truncate(path, 10), "content"),
        (lambda path: path.chmod(0o755), "mode"),
        (each(lambda path: os.truncate(path, 5000), lambda path: path.chmod(0o755)), "content"),
    ],
    ids=["touched", "longer", "under the cap", "mode", "longer with another mode"],
)
def test_fp_05_over_the_cap_any_difference_is_a_change(
    workspace: Path, act: Callable[[Path], object], kind: str
) -> None:
    """PG-DIFF-4."""
    path = workspace / "big.bin"
    path.write_bytes(b"x" * 4096)
    scope = resolve("**", workspace)
    assert around(scope, lambda: act(path), cap=1024) == {"big.bin": kind}


@pytest.mark.parametrize("text", ["proj/src/**", "**"])
def test_fp_01_the_harness_s_own_churn_is_no_change_and_a_project_s_is(
    tmp_path: Path, text: str
) -> None:
    """PG-SCOPE-8."""
    home = tmp_path / ".harness"
    for folder in ("sessions", "proj/src/sessions"):
        (home / folder).mkdir(parents=True)
        (home / folder / "x").write_text("x")
    scope = resolve(text, home, harness_home=home)
    assert around(scope, lambda: (home / "sessions/x").write_text("churn")) == {}
    assert around(scope, lambda: (home / "proj/src/sessions/x").write_text("y")) == {
        "proj/src/sessions/x": "content"
    }


# ------------------------------------------------------------------ ignores and hints


@pytest.mark.parametrize("there", [True, False], ids=["the cache is there", "it is made"])
def test_fp_02_a_bytecode_cache_is_a_change_with_a_hint_unless_it_is_ignored(
    workspace: Path, there: bool
) -> None:
    """PG-DIFF-5."""
    cache = workspace / "src/__pycache__"
    if there:
        cache.mkdir()
    strict = resolve("src/**", workspace)
    lenient = resolve("src/**", workspace, ignores=["__pycache__/"])
    before = take(strict), take(lenient)
    cache.mkdir(exist_ok=True)
    (cache / "m.cpython-311.pyc").write_bytes(b"code")
    after = take(strict), take(lenient)

    changes = compare(before[0], after[0])
    assert changes == (Change(b"src/__pycache__/m.cpython-311.pyc", ChangeKind.ADDED),)
    assert hints(changes) == (Hint.DERIVED_ONLY,)
    assert ignored_changes(before[0], after[0]) == 0

    assert compare(before[1], after[1]) == ()
    assert ignored_changes(before[1], after[1]) == 1
    assert before[1].content_digest == after[1].content_digest


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], ()),
        ([b"src/__pycache__/a.pyc"], (Hint.DERIVED_ONLY,)),
        ([b"src/__pycache__"], (Hint.DERIVED_ONLY,)),
        ([b".pytest_cache/v/cache/lastfailed", b"a.pyc", b".mypy_cache/x"], (Hint.DERIVED_ONLY,)),
        ([b"src/__pycache__/a.pyc", b"src/a.py"], ()),
        ([b"src/__pycache__2/a"], ()),
        ([b"."], ()),
    ],
)
def test_derived_only_needs_every_path_to_look_like_a_cache(
    paths: list[bytes], expected: tuple[Hint, ...]
) -> None:
    """PG-DIFF-5."""
    assert hints([Change(path, ChangeKind.ADDED) for path in paths]) == expected


def test_ignored_changes_are_counted_by_path_and_directories_are_not(workspace: Path) -> None:
    """PG-DIFF-6."""
    folder = workspace / "src/out"
    (folder / "deep").mkdir(parents=True)
    for name in ("kept", "written", "removed", "deep/touched"):
        (folder / name).write_text("1")
    (folder / "link").symlink_to("kept")
    scope = resolve("src/**", workspace, ignores=["src/out", "**/*.log"])
    before = take(scope)
    assert len(before.ignored) == 5
    assert b"src/out" not in before.entries
    (folder / "written").write_text("2")
    (folder / "removed").unlink()
    (folder / "deep/touched").touch()
    (folder / "added").touch()
    (folder / "empty").mkdir()
    (workspace / "src/inner/x.log").touch()
    after = take(scope)
    assert compare(before, after) == ()
    assert ignored_changes(before, after) == 5
    assert ignored_changes(after, after) == 0


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> dict[Any, int]:
    """Every path that is opened, and with which flags."""
    found: dict[Any, int] = {}
    real = os.open

    def noted(path: Any, flags: int, **options: Any) -> int:
        found[path] = flags
        return real(path, flags, **options)

    monkeypatch.setattr(os, "open", noted)
    return found


def test_ignored_files_are_looked_at_and_never_opened(
    workspace: Path, opened: dict[Any, int]
) -> None:
    (workspace / "src/big").write_text("x")
    take(resolve("src/**", workspace, ignores=["src/big"]))
    assert os.fsencode(workspace / "src/a.py") in opened
    assert os.fsencode(workspace / "src/big") not in opened


def test_nothing_is_opened_in_a_way_that_follows_waits_or_leaks(
    open_folder: Path, opened: dict[Any, int]
) -> None:
    deep = open_folder
    for _ in range(18):
        deep /= "d" * 200
        os.mkdir(deep)
    (deep / "f").write_text("f")
    take(resolve("**", open_folder))
    careful = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    assert len(opened) > 18
    assert all(flags & careful == careful for flags in opened.values())


def test_trouble_in_what_is_ignored_is_no_gap(open_folder: Path) -> None:
    for name in ("src/out/shut", "src/out/listed"):
        (open_folder / name).mkdir(parents=True)
        (open_folder / name / "f").touch()
    (open_folder / "src/a.py").touch()
    scope = resolve("src/**", open_folder, ignores=["out/"])
    (open_folder / "src/out/shut").chmod(0)
    (open_folder / "src/out/listed").chmod(0o444)
    with ordinary_user():
        snapshot = take(scope)
    assert (snapshot.gaps, dict(snapshot.ignored)) == ((), {})


# ------------------------------------------------------------------ what cannot be read


def test_what_cannot_be_read_is_a_gap_that_holds_integrity_at_suspect(open_folder: Path) -> None:
    """PG-FP-7."""
    for name in ("src/shut", "src/listed"):
        (open_folder / name).mkdir(parents=True)
        (open_folder / name / "f").touch()
    (open_folder / "src/secret").write_text("s")
    scope = resolve("src/**", open_folder)
    assert not take(scope).suspect
    (open_folder / "src/secret").chmod(0)
    (open_folder / "src/shut").chmod(0)
    (open_folder / "src/listed").chmod(0o444)
    with ordinary_user():
        snapshot = take(scope)
        again = take(scope)
    assert snapshot.gaps == (
        (b"src/listed/f", Gap.UNREADABLE),
        (b"src/secret", Gap.UNREADABLE),
        (b"src/shut", Gap.UNREADABLE),
    )
    assert snapshot.suspect
    assert gap_lines(snapshot)[1] == "src/secret: unreadable"
    assert snapshot.entries[b"src/listed/f"] == Entry(Kind.UNKNOWN, 0, gap=Gap.UNREADABLE)
    assert snapshot.entries[b"src/shut"] == Entry(Kind.DIRECTORY, 0, gap=Gap.UNREADABLE)
    assert compare(snapshot, again) == ()
    if os.geteuid() == 0:  # who may read all sees the same tree, and another knowledge of it
        assert changed(snapshot, take(scope)) == {
            "src/listed/f": "type",
            "src/secret": "content",
            "src/shut": "content",
            "src/shut/f": "added",
        }


def test_an_unreadable_file_with_other_times_is_a_change(open_folder: Path) -> None:
    (open_folder / "secret").touch()
    (open_folder / "secret").chmod(0)
    scope = resolve("**", open_folder)
    with ordinary_user():
        before = take(scope)
    os.utime(open_folder / "secret", ns=(1, 1))
    with ordinary_user():
        assert changed(before, take(scope)) == {"secret": "content"}


def test_what_becomes_unreadable_is_a_change_either_way(open_folder: Path) -> None:
    for name in ("folder", "other"):
        (open_folder / name).mkdir()
    scope = resolve("**", open_folder)
    before = take(scope)
    path = b"folder"
    shut = evolve(before.entries[path], gap=Gap.UNREADABLE)
    after = evolve(before, entries={**before.entries, path: shut})
    assert changed(before, after) == {"folder": "content"}
    assert changed(after, before) == {"folder": "content"}


def test_every_gap_has_a_line_that_names_the_path() -> None:
    assert GAP_TEXTS.keys() == set(Gap)
    assert gap_line(b"\xff\n", Gap.UNREADABLE) == '"\\377\n": unreadable'


# ------------------------------------------------------------------ changes while it is taken


def unstable(scope: GuardScope) -> tuple[bytes, ...]:
    """The paths that a fingerprint, taken now, calls changed while they were read."""
    snapshot = take(scope)
    paths = tuple(path for path, gap in snapshot.gaps if gap is Gap.UNSTABLE)
    assert all(snapshot.entries[path].content is None for path in paths)
    assert tuple(change.path for change in compare(snapshot, snapshot)) == paths
    assert {change.kind for change in compare(snapshot, snapshot)} <= {ChangeKind.UNSTABLE}
    return paths


@pytest.mark.parametrize(
    "act",
    [
        lambda path: path.write_text("a = 1\nand more\n"),
        lambda path: path.write_text("a"),
        lambda path: path.write_text("b = 1\n"),
        lambda path: path.chmod(0o700),
    ],
    ids=["grows", "shrinks", "is rewritten", "has another mode"],
)
def test_a_file_that_changes_while_it_is_read_is_a_change(
    workspace: Path,
    scope: GuardScope,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Path], object],
) -> None:
    """PG-FP-4."""
    path = workspace / "src/inner/b.py"
    path.write_bytes((workspace / "src/a.py").read_bytes())
    (workspace / "src/a.py").unlink()
    on_first_call(monkeypatch, "readv", lambda: act(path))
    assert unstable(scope) == (b"src/inner/b.py",)


def test_a_file_that_grows_without_end_is_not_read_without_end(
    workspace: Path, scope: GuardScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "src/inner/b.py").unlink()
    calls: list[int] = []

    def endless(descriptor: int, buffers: list[memoryview]) -> int:
        calls.append(descriptor)
        return len(buffers[0])

    monkeypatch.setattr(os, "readv", endless)
    assert unstable(scope) == (b"src/a.py",)
    assert len(calls) == 1


def test_a_file_without_a_size_that_gives_bytes_is_not_taken_for_empty() -> None:
    if not Path("/proc/self/limits").exists():
        pytest.skip("no /proc here, where files of size 0 hold text")
    scope = GuardScope("limits", Path(f"/proc/{os.getpid()}"), b"limits")
    assert unstable(scope) == (b"limits",)


@pytest.mark.parametrize("side", ["before", "after", "both"])
def test_what_was_unstable_on_either_side_is_a_change(scope: GuardScope, side: str) -> None:
    steady = take(scope)
    entry = evolve(steady.entries[b"src/a.py"], content=None, gap=Gap.UNSTABLE)
    moving = evolve(steady, entries={**steady.entries, b"src/a.py": entry})
    before = steady if side == "after" else moving
    after = steady if side == "before" else moving
    assert changed(before, after) == {"src/a.py": "unstable"}


SWAPS: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "another file": each(
        lambda path: shutil.copy2(path, f"{path}2"), lambda path: os.rename(f"{path}2", path)
    ),
    "a link to itself": each(
        lambda path: path.rename(f"{path}2"), lambda path: path.symlink_to(f"{path}2")
    ),
    "a pipe": each(Path.unlink, os.mkfifo),
    "a socket": each(Path.unlink, make_socket),
    "a directory": each(Path.unlink, Path.mkdir),
    "written": lambda path: path.write_text("c = 3\n"),
    "its parent is a link to a copy": each(
        lambda path: shutil.copytree(path.parent, f"{path.parent}2"),
        lambda path: shutil.rmtree(path.parent),
        lambda path: path.parent.symlink_to(f"{path.parent}2"),
    ),
}


@pytest.mark.parametrize("name", SWAPS)
def test_the_file_that_is_read_is_the_one_that_was_seen(
    workspace: Path, scope: GuardScope, name: str
) -> None:
    """PG-FP-4."""
    tree = Tree(scope, CAP)
    tree.walk()
    SWAPS[name](workspace / "src/inner/b.py")
    tree.hash(None)
    entry = tree.entries[b"src/inner/b.py"]
    assert (entry.content, entry.gap) == (None, Gap.UNSTABLE)
    assert tree.entries[b"src/a.py"].gap is None


@pytest.mark.parametrize("swap", ["link", "directory", "nothing", "file"])
def test_the_directory_that_is_listed_is_the_one_that_was_seen(
    workspace: Path, scope: GuardScope, monkeypatch: pytest.MonkeyPatch, swap: str
) -> None:
    (workspace / "other").mkdir()
    (workspace / "other/b.py").write_text("cheat")
    inner = workspace / "src/inner"

    def act() -> None:
        inner.rename(workspace / "kept")
        if swap == "link":
            inner.symlink_to("../other")
        elif swap == "directory":
            shutil.copytree(workspace / "other", inner)
        elif swap == "file":
            inner.touch()

    on_first_call(monkeypatch, "lstat", act, match="inner")
    assert unstable(scope) == (b"src/inner",)


def test_a_name_that_is_listed_and_gone_is_a_change(
    workspace: Path, scope: GuardScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_first_call(monkeypatch, "listdir", lambda: (workspace / "src/a.py").unlink())
    assert unstable(scope) == (b"src/a.py",)


def test_a_link_that_is_gone_when_its_target_is_read_is_a_change(
    workspace: Path, scope: GuardScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = workspace / "src/link"
    link.symlink_to("a.py")
    on_first_call(monkeypatch, "lstat", lambda: each(Path.unlink, Path.touch)(link), match="link")
    assert unstable(scope) == (b"src/link",)


def test_a_system_that_fails_to_list_is_a_suspect_gap(
    scope: GuardScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: object) -> list[str]:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "listdir", broken)
    snapshot = take(scope)
    assert snapshot.gaps == ((b"src", Gap.UNREADABLE),)
    assert snapshot.suspect


# ------------------------------------------------------------------ depth


def test_a_path_longer_than_any_system_call_takes_is_read(open_folder: Path) -> None:
    levels, name = 1100, "deep"  # more than Python recurses
    descriptor = os.open(open_folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=descriptor)
        inner = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    with open(os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor), "wb") as file:
        file.write(b"deep")
    path = b"deep/" * levels + b"f"
    assert len(path) > os.pathconf("/", "PC_PATH_MAX")
    scope = resolve("**", open_folder)
    before = take(scope)
    assert before.gaps == ()
    assert len(before.entries) == levels + 2
    assert before.entries[path].content == sha(b"deep")
    os.unlink("f", dir_fd=descriptor)
    assert compare(before, take(scope)) == (Change(path, ChangeKind.REMOVED),)
    for _ in range(levels):  # rm takes seconds for it
        outer = os.open("..", os.O_RDONLY, dir_fd=descriptor)
        os.rmdir(name, dir_fd=outer)
        os.close(descriptor)
        descriptor = outer
    os.close(descriptor)


def test_a_long_path_that_is_gone_leaves_no_descriptor_open(open_folder: Path) -> None:
    scope = GuardScope("**", open_folder, b".")
    tree = Tree(scope, CAP)
    (open_folder / "f").touch()
    tree.walk()
    key, facts = tree._files.pop()
    tree._files.append((b"x/" * 2000 + key, facts))
    lowest = os.dup(0)
    os.close(lowest)
    tree.hash(None)
    assert tree.entries[b"x/" * 2000 + b"f"].gap is Gap.UNSTABLE
    again = os.dup(0)
    os.close(again)
    assert again == lowest


# ------------------------------------------------------------------ the content digest


def test_the_content_digest_is_over_sorted_lines_without_times(open_folder: Path) -> None:
    """PG-FP-9."""
    (open_folder / "a").write_text("A")
    (open_folder / "a b").write_text("B")
    (open_folder / "a-").mkdir()
    (open_folder / "l").symlink_to("a")
    (open_folder / "big").write_text("12345")
    os.mkfifo(open_folder / "p")
    for name, mode in {"a": 0o644, "a b": 0o4755, "a-": 0o700, "big": 0o600, "p": 0o600}.items():
        (open_folder / name).chmod(mode)
    lines = [
        b".\0directory\x000755\0\n",
        b"a\0file\x000644\0" + sha(b"A") + b"\n",
        b"a b\0file\x004755\0" + sha(b"B") + b"\n",
        b"a-\0directory\x000700\0\n",
        b"big\0file\x000600\0over_cap\n",
        b"l\0symlink\x00%04o\0a\n" % stat.S_IMODE(os.lstat(open_folder / "l").st_mode),
        b"p\0fifo\x000600\0special\n",
    ]
    expected = "sha256:" + hashlib.sha256(b"".join(lines)).hexdigest()
    scope = resolve("**", open_folder)
    assert take(scope, cap=4).content_digest == expected
    os.utime(open_folder / "a", ns=(1, 1))
    assert take(scope, cap=4).content_digest == expected


def test_a_copy_elsewhere_has_the_same_content_digest(workspace: Path, tmp_path: Path) -> None:
    shutil.copytree(workspace, tmp_path / "copy")
    one, other = (take(resolve("src", top)) for top in (workspace, tmp_path / "copy"))
    assert one.content_digest == other.content_digest
    assert one != other


def test_what_is_ignored_is_not_in_the_content_digest(workspace: Path) -> None:
    scope = resolve("src/**", workspace, ignores=["out/"])
    before = take(scope).content_digest
    (workspace / "src/out").mkdir()
    assert take(scope).content_digest == before


# ------------------------------------------------------------------ HEAD


def git(top: Path, *args: str) -> bytes:
    return Repo(top).git(*args).strip()


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path / "home")


@pytest.fixture
def repository(workspace: Path) -> Path:
    new_repo(workspace).commit()
    return workspace


def commit(top: Path) -> None:
    git(top, "commit", "-q", "--allow-empty", "-m", "two")


def test_head_is_a_symbolic_name_and_a_commit(repository: Path, scope: GuardScope) -> None:
    """PG-FP-8."""
    oid = git(repository, "rev-parse", "HEAD")
    assert take(scope).heads == {b".": Head(b"refs/heads/main", oid)}
    git(repository, "checkout", "-q", "--detach")
    assert take(scope).heads == {b".": Head(None, oid)}


def test_a_repository_without_a_commit_has_a_name_alone(workspace: Path, scope: GuardScope) -> None:
    new_repo(workspace)
    assert take(scope).heads == {b".": Head(b"refs/heads/main", None)}
    assert around(scope, lambda: commit(workspace)) == {".": "head"}


def test_without_a_repository_there_is_no_head_and_git_is_not_asked(
    scope: GuardScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    snapshot = take(scope)
    assert (snapshot.heads, snapshot.gaps) == ({}, ())


HEADS: dict[str, Callable[[Path], object]] = {
    "a commit": commit,
    "another branch at the same commit": lambda top: git(top, "checkout", "-qb", "other"),
    "detached": lambda top: git(top, "checkout", "-q", "--detach"),
    "the repository is removed": lambda top: shutil.rmtree(top / ".git"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_moves_is_a_change(repository: Path, scope: GuardScope, name: str) -> None:
    """PG-FP-8."""
    assert around(scope, lambda: HEADS[name](repository)) == {".": "head"}


def test_a_repository_that_is_made_is_a_change(workspace: Path, scope: GuardScope) -> None:
    assert around(scope, lambda: git(workspace, "init", "-q")) == {".": "head"}


def test_the_rest_of_the_metadata_is_left_out(repository: Path) -> None:
    """PG-SCOPE-9."""
    scope = resolve("**", repository)
    (repository / "src/.hg").mkdir()
    (repository / "src/inner/.svn").write_text("s")
    assert not any(b".git" in path or b".hg" in path for path in take(scope).entries)

    def work() -> None:
        git(repository, "tag", "t")
        git(repository, "config", "x.y", "z")
        git(repository, "update-index", "--refresh")
        (repository / "src/.hg/file").touch()
        (repository / "src/inner/.svn").write_text("other")

    before = take(scope)
    work()
    after = take(scope)
    assert compare(before, after) == ()
    assert ignored_changes(before, after) == 0


def test_the_repository_above_the_workspace_is_its_repository(repository: Path) -> None:
    scope = resolve("inner", repository / "src")
    assert list(take(scope).heads) == [b"."]
    assert around(scope, lambda: commit(repository)) == {".": "head"}


def test_a_repository_around_that_repository_is_not_the_workspace_s(
    repository: Path, scope: GuardScope
) -> None:
    outer = new_repo(repository.parent)
    assert around(scope, lambda: commit(outer.path)) == {}
    assert around(scope, lambda: commit(repository)) == {".": "head"}


@pytest.mark.parametrize("place", ["src", "src/inner", "src/inner/sub"])
def test_the_head_of_a_repository_around_or_below_the_root_is_compared(
    repository: Path, place: str
) -> None:
    (repository / "src/inner/sub").mkdir()
    git(repository / place, "init", "-q")
    commit(repository / place)
    scope = resolve("src/inner/**", repository)
    assert sorted(take(scope).heads) == sorted([b".", place.encode()])
    assert around(scope, lambda: commit(repository / place)) == {place: "head"}


def test_a_linked_worktree_has_a_head_of_its_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", os.fspath(tmp_path / "side"))
    scope = resolve("src/**", tmp_path / "side")
    assert take(scope).heads[b"."].name == b"refs/heads/side"
    assert around(scope, lambda: commit(repository)) == {}
    assert around(scope, lambda: commit(tmp_path / "side")) == {".": "head"}


def test_metadata_that_is_no_repository_is_not_answered_for_by_one_above(
    repository: Path, scope: GuardScope
) -> None:
    (repository / "src/inner/.git").mkdir()
    assert list(take(scope).heads) == [b"."]
    assert around(scope, lambda: commit(repository)) == {".": "head"}


def test_a_repository_in_what_is_ignored_is_not_asked(repository: Path) -> None:
    git(repository / "src/inner", "init", "-q")
    scope = resolve("src/**", repository, ignores=["inner/"])
    assert list(take(scope).heads) == [b"."]


def test_a_head_that_git_cannot_give_is_a_suspect_gap(
    repository: Path, scope: GuardScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PG-FP-7."""
    with (repository / ".git/config").open("a") as file:
        file.write("[broken")
    snapshot = take(scope)
    assert snapshot.heads == {b".": Head(None, None, "git_failed")}
    assert snapshot.gaps == ((b".", Gap.HEAD_UNREADABLE),)
    assert snapshot.suspect
    assert gap_lines(snapshot) == (".: HEAD of this repository cannot be read",)
    assert compare(snapshot, take(scope)) == ()
    monkeypatch.setenv("PATH", "/nowhere")
    assert take(scope).heads == {b".": Head(None, None, "git_missing")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a repository of another owner")
def test_a_head_that_git_refuses_to_another_owner_is_a_suspect_gap(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", os.fspath(open_folder))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    new_repo(open_folder / "w").commit(a="a")
    scope = resolve("**", open_folder / "w")
    with ordinary_user():
        snapshot = take(scope)
    assert snapshot.heads == {b".": Head(None, None, "unsafe_owner")}
    assert snapshot.suspect


def test_taking_leaves_no_trace_in_the_repository(repository: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        found = (repository / ".git").rglob("*")
        return {os.fspath(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}

    os.utime(repository / "src/a.py")
    before = state()
    take(resolve("**", repository))
    assert state() == before
