"""The guard scope: what is refused, what the root is, what is left out and what is ignored."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from running import ordinary_user

from verdict_core.errors import EXIT_INPUT, ScopeRefused
from verdict_core.progress.scope import HARNESS_DIRECTORIES, METADATA, GuardScope, resolve


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    (top / "src/parser").mkdir(parents=True)
    (top / "src/parser/lex.py").write_text("lex")
    (top / "src/a.py").write_text("a")
    return top


def refusal(scope: str | None, workspace: Path, **options: Any) -> ScopeRefused:
    with pytest.raises(ScopeRefused) as caught:
        resolve(scope, workspace, **options)
    assert caught.value.exit_status == EXIT_INPUT
    return caught.value


# ------------------------------------------------------------------ the root


@pytest.mark.parametrize(
    ("scope", "root"),
    [
        ("src/parser/**", b"src/parser"),
        ("src/**", b"src"),
        ("src/", b"src"),
        ("./src//parser/.", b"src/parser"),
        ("src/a.py", b"src/a.py"),
        ("src/par*/lex.py", b"src"),
        ("src/parse?/lex.py", b"src"),
        ("src/[p]arser", b"src"),
        ("src/{parser,lexer}/x", b"src"),
        ("**", b"."),
        ("*.py", b"."),
        (".", b"."),
        ("./", b"."),
    ],
)
def test_the_root_is_the_leading_whole_components_without_a_glob(
    workspace: Path, scope: str, root: bytes
) -> None:
    """PG-SCOPE-2."""
    found = resolve(scope, workspace)
    assert (found.text, found.root) == (scope, root)
    assert found.path == workspace / os.fsdecode(root)
    assert found.workspace == workspace
    assert (found.links, found.left_out, found.ignores) == ((), (), ())


def test_a_workspace_named_through_a_link_is_the_directory_behind_it(
    workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(workspace)
    assert resolve("src", tmp_path / "link") == resolve("src", workspace)


def test_a_relative_workspace_is_made_absolute(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace.parent)
    assert resolve("src", Path("workspace")).path == workspace / "src"


def test_names_that_are_not_utf_8_are_bytes(workspace: Path) -> None:
    os.mkdir(os.fsencode(workspace) + b"/\xff")
    (workspace / "\udcff/a").write_text("a")
    assert resolve("\udcff/**", workspace).root == b"\xff"


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("scope", [None, "", " ", "\n\t"])
def test_fp_01_a_scope_is_required_and_there_is_no_default(
    workspace: Path, scope: str | None
) -> None:
    """PG-SCOPE-1."""
    error = refusal(scope, workspace, harness_home=workspace)
    assert (error.code, error.path) == ("scope_required", scope or "$")


@pytest.mark.parametrize("scope", ["/", "/etc/**", "//src"])
def test_an_absolute_scope_is_refused(workspace: Path, scope: str) -> None:
    """PG-SCOPE-1."""
    error = refusal(scope, workspace)
    assert (error.code, error.path) == ("scope_absolute", scope)


@pytest.mark.parametrize("scope", ["..", "../x", "src/../src", "src/**/..", "**/../x", "./../x"])
def test_a_scope_that_climbs_is_refused_wherever_it_does(workspace: Path, scope: str) -> None:
    """PG-SCOPE-1."""
    assert refusal(scope, workspace).code == "scope_parent"


@pytest.mark.parametrize(
    "scope", ["nowhere", "src/nowhere/**", "src/a.py/x", "n\0ul", "\ud800", "x" * 300, "loop/x"]
)
def test_a_root_that_is_not_there_is_refused(workspace: Path, scope: str) -> None:
    """PG-SCOPE-3."""
    (workspace / "loop").symlink_to("loop")
    assert refusal(scope, workspace).code == "scope_missing"


def test_a_workspace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert refusal("**", tmp_path / "nowhere").code == "scope_missing"


def test_a_link_that_loops_is_no_root(workspace: Path) -> None:
    (workspace / "loop").symlink_to("loop")
    assert refusal("loop", workspace).code == "scope_missing"


def test_fp_10_a_root_that_leads_out_of_the_workspace_is_refused(
    workspace: Path, tmp_path: Path
) -> None:
    """PG-SCOPE-5."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x/file").write_text("outside")
    (workspace / "out").symlink_to(tmp_path / "x")
    (workspace / "src/l").symlink_to("../../etc")
    error = refusal("out/**", workspace)
    assert (error.code, error.path) == ("scope_outside_workspace", "out/**")
    assert refusal("src/l/**", workspace).code == "scope_outside_workspace"
    assert resolve("src/**", workspace).root == b"src"


def test_a_link_to_the_workspace_s_parent_leads_out(workspace: Path) -> None:
    (workspace / "up").symlink_to("..")
    assert refusal("up/**", workspace).code == "scope_outside_workspace"
    assert refusal("up/elsewhere/**", workspace).code == "scope_outside_workspace"
    assert resolve("up/workspace/src/**", workspace).root == b"src"


def test_a_directory_whose_name_begins_like_the_workspace_s_is_outside(
    workspace: Path, tmp_path: Path
) -> None:
    """PG-SCOPE-5."""
    (tmp_path / "workspace-2/src").mkdir(parents=True)
    (workspace / "out").symlink_to("../workspace-2")
    assert refusal("out/src", workspace).code == "scope_outside_workspace"


def test_a_link_inside_the_workspace_is_resolved_and_itself_remembered(workspace: Path) -> None:
    (workspace / "lib").symlink_to("src")
    found = resolve("lib/parser/**", workspace)
    assert (found.root, found.links) == (b"src/parser", (b"lib",))
    (workspace / "src/deep").symlink_to(workspace / "src/parser")
    found = resolve("./lib//deep/.", workspace)
    assert (found.root, found.links) == (b"src/parser", (b"lib", b"lib/deep"))


@pytest.mark.parametrize("scope", ["empty/**", ".git/**", "src/.hg", "src/.svn/x", "src/.git"])
def test_a_scope_that_guards_nothing_is_refused(workspace: Path, scope: str) -> None:
    """PG-SCOPE-4, PG-SCOPE-9."""
    (workspace / "empty").mkdir()
    for folder in (".git", "src/.hg", "src/.svn/x"):
        (workspace / folder).mkdir(parents=True)
        (workspace / folder / "file").write_text("f")
    (workspace / "src/.git").write_text("gitdir: ../elsewhere")
    assert refusal(scope, workspace).code == "scope_empty"


@pytest.mark.parametrize("name", sorted(METADATA))
def test_metadata_alone_is_nothing_to_guard(workspace: Path, name: str) -> None:
    (workspace / "sub" / name).mkdir(parents=True)
    assert refusal("sub/**", workspace).code == "scope_empty"
    (workspace / "sub/file").write_text("f")
    assert resolve("sub/**", workspace).root == b"sub"


@pytest.mark.parametrize(
    "ignores", [["src/"], ["src/*"], ["src/**"], ["**"], ["*"], ["src"], ["parser/", "**/*.py"]]
)
def test_ignores_that_leave_nothing_are_refused(workspace: Path, ignores: list[str]) -> None:
    assert refusal("src/**", workspace, ignores=ignores).code == "scope_empty"


def test_a_file_as_the_root_is_guarded_unless_it_is_ignored(workspace: Path) -> None:
    assert resolve("src/a.py", workspace, ignores=["a.py/"]).root == b"src/a.py"
    assert refusal("src/a.py", workspace, ignores=["src/a.py"]).code == "scope_empty"
    assert refusal("src/a.py", workspace, ignores=["src/"]).code == "scope_empty"


def test_a_link_to_a_directory_is_no_directory_to_ignore(workspace: Path) -> None:
    (workspace / "links").mkdir()
    (workspace / "links/to").symlink_to("../src")
    assert resolve("links/**", workspace, ignores=["to/"]).root == b"links"
    assert refusal("links/**", workspace, ignores=["links/to"]).code == "scope_empty"


def test_a_root_that_cannot_be_listed_is_no_empty_scope(open_folder: Path) -> None:
    (open_folder / "src/inner").mkdir(parents=True)
    (open_folder / "src/inner/file").write_text("f")
    (open_folder / "src").chmod(0o311)
    with ordinary_user():
        assert resolve("src/**", open_folder).root == b"src"
        assert resolve("src/inner", open_folder).root == b"src/inner"
    (open_folder / "src").chmod(0o755)


def test_a_root_that_cannot_be_reached_is_refused(open_folder: Path) -> None:
    (open_folder / "src/inner").mkdir(parents=True)
    (open_folder / "src").chmod(0)
    with ordinary_user():
        assert refusal("src/inner", open_folder).code == "scope_missing"
    (open_folder / "src").chmod(0o755)


# ------------------------------------------------------------------ the state directory


@pytest.mark.parametrize("state", ["src", "src/state", "src/not/yet/there", "link"])
def test_a_state_directory_inside_the_root_is_refused(workspace: Path, state: str) -> None:
    """PG-SCOPE-6."""
    (workspace / "link").symlink_to("src/parser")
    error = refusal("src/**", workspace, state_dir=workspace / state)
    assert error.code == "state_inside_scope"


def test_a_state_directory_beside_or_above_the_root_is_fine(
    workspace: Path, tmp_path: Path
) -> None:
    for state in (workspace, workspace / "state", workspace / "src-2", tmp_path):
        assert resolve("src/**", workspace, state_dir=state).root == b"src"


# ------------------------------------------------------------------ the harness home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    top = tmp_path / ".harness"
    for name in (*HARNESS_DIRECTORIES, "proj/src/sessions"):
        (top / name).mkdir(parents=True)
        (top / name / "x").write_text("x")
    return top


def test_fp_01_the_harness_s_own_directories_are_left_out_at_the_top_only(home: Path) -> None:
    """PG-SCOPE-8."""
    found = resolve("**", home, harness_home=home)
    assert found.left_out == tuple(name.encode() for name in HARNESS_DIRECTORIES)
    assert all(found.leaves_out(name) for name in HARNESS_DIRECTORIES)
    assert not found.leaves_out("proj/src/sessions")
    assert not found.leaves_out("proj/sessions")
    assert resolve("proj/src/**", home, harness_home=home).left_out == ()


def test_what_the_harness_has_not_made_is_not_left_out(home: Path) -> None:
    shutil.rmtree(home / "cache")
    assert b"cache" not in resolve("**", home, harness_home=home).left_out


def test_a_harness_home_below_the_workspace_is_known_too(home: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(home)
    found = resolve(".harness/**", tmp_path, harness_home=tmp_path / "alias")
    assert found.left_out[0] == b".harness/sessions"
    assert found.leaves_out(".harness/sessions")
    assert not found.leaves_out("sessions")


def test_elsewhere_the_same_names_are_guarded(home: Path, tmp_path: Path) -> None:
    for other in (None, tmp_path, tmp_path / "nowhere"):
        assert resolve("**", home, harness_home=other).left_out == ()


def test_a_scope_may_name_one_of_the_harness_s_directories(home: Path) -> None:
    found = resolve("sessions/**", home, harness_home=home)
    assert (found.root, found.left_out) == (b"sessions", ())


def test_a_harness_home_with_nothing_of_its_own_beside_is_an_empty_scope(home: Path) -> None:
    shutil.rmtree(home / "proj")
    assert refusal("**", home, harness_home=home).code == "scope_empty"


# ------------------------------------------------------------------ the spelling on the disk

FOLDING_DISKS = {
    "ext4 with casefold": (
        ["mkfs.ext4", "-q", "-O", "casefold", "{image}"],
        ["mount", "-o", "loop", "{image}", "{at}"],
        ["chattr", "+F", "{top}"],
    ),
    "vfat": (
        ["mkfs.vfat", "{image}"],
        ["mount", "-o", "loop", "{image}", "{at}"],
        ["true"],
    ),
    "ntfs-3g": (
        ["mkntfs", "-F", "-q", "{image}"],
        ["lowntfs-3g", "-o", "ignore_case", "{image}", "{at}"],
        ["true"],
    ),
}


def folds(folder: Path) -> bool:
    (folder / "Folds").mkdir()
    try:
        return (folder / "fOLDS").exists()
    finally:
        (folder / "Folds").rmdir()


def mounted(recipe: tuple[list[str], ...], at: Path) -> str:
    """Why a recipe did not give a disk that folds, or nothing."""
    image, top = at.with_suffix(".img"), at / "top"
    with image.open("wb") as file:
        file.truncate(16 * 2**20)
    for step, command in enumerate(recipe):
        if step == 2:
            top.mkdir()
        words = [word.format(image=image, at=at, top=top) for word in command]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError as error:  # not installed, or not for this user
            return f"{words[0]}: {error.strerror}"
        if done.returncode:
            return f"{words[0]} failed: {done.stderr.strip()[-80:]}"
    return "" if folds(top) else "it does not fold"


@pytest.fixture
def folding_disk(tmp_path: Path) -> Iterator[Path]:
    """A directory on a real file system that takes `PROJ` for `proj`."""
    if folds(tmp_path):
        yield tmp_path
        return
    at = tmp_path / "disk"
    at.mkdir()
    reasons = []
    for name, recipe in FOLDING_DISKS.items():
        reason = mounted(recipe, at)
        try:
            if not reason:
                yield at / "top"
                return
        finally:
            subprocess.run(["umount", str(at)], capture_output=True, check=False)
        reasons.append(f"{name}: {reason}")
        shutil.rmtree(at / "top", ignore_errors=True)
    pytest.skip(f"no case-folding file system can be made here ({'; '.join(reasons)})")


def test_fp_12_a_folding_disk_s_own_spelling_is_used(folding_disk: Path) -> None:
    """PG-SCOPE-7."""
    (folding_disk / "Sessions").mkdir()
    (folding_disk / "proj").mkdir()
    (folding_disk / "proj/a.py").write_text("a")
    # Some folding disks list another case than the one that was given; theirs is the spelling.
    listed = {name.casefold(): os.fsencode(name) for name in os.listdir(folding_disk)}
    found = resolve("PROJ/**", folding_disk, harness_home=folding_disk)
    assert (found.text, found.root) == ("PROJ/**", listed["proj"])
    whole = resolve("**", folding_disk, harness_home=folding_disk)
    assert whole.left_out == (listed["sessions"],)


def test_fp_12_the_disk_and_not_the_spelling_tells_what_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logic on any disk: here lstat and stat answer as on one that folds and keeps case."""
    (tmp_path / "Sessions").mkdir()
    (tmp_path / "proj/Inner").mkdir(parents=True)
    (tmp_path / "proj/Inner/a.py").write_text("a")
    for name in ("lstat", "stat"):
        monkeypatch.setattr(os, name, folding(getattr(os, name)))
    found = resolve("PROJ/iNNER/**", tmp_path, harness_home=tmp_path)
    assert (found.root, found.left_out) == (b"proj/Inner", ())
    whole = resolve("**", tmp_path, harness_home=tmp_path)
    assert whole.left_out == (b"Sessions",)
    assert whole.leaves_out("Sessions")


def folding(real: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    def look(path: Any, **options: Any) -> os.stat_result:
        try:
            return real(path, **options)
        except FileNotFoundError:
            found = Path("/")
            for part in Path(os.fsdecode(path)).parts[1:]:
                names = {name.casefold(): name for name in os.listdir(found)}
                found /= names.get(part.casefold(), part)
            return real(found, **options)

    return look


def test_fp_12_elsewhere_another_spelling_is_another_name(home: Path, tmp_path: Path) -> None:
    """PG-SCOPE-7."""
    if folds(tmp_path):
        pytest.skip("this disk folds case, so the two spellings are one directory")
    (home / "Sessions").mkdir()
    found = resolve("**", home, harness_home=home)
    assert b"sessions" in found.left_out
    assert b"Sessions" not in found.left_out
    assert refusal("PROJ/**", home, harness_home=home).code == "scope_missing"


# ------------------------------------------------------------------ ignores


@pytest.mark.parametrize(
    ("ignore", "path", "is_directory", "ignored"),
    [
        ("__pycache__/", "__pycache__", True, True),
        ("__pycache__/", "src/a/__pycache__", True, True),
        ("__pycache__/", "src/__pycache__", False, False),
        ("__pycache__/", "src/__pycache__2", True, False),
        ("*.egg-info/", "src/a.egg-info", True, True),
        ("build", "build", True, True),
        ("build", "build", False, True),
        ("build", "src/build", True, False),
        ("*.pyc", "a.pyc", False, True),
        ("*.pyc", "src/a.pyc", False, False),
        ("**/*.pyc", "a.pyc", False, True),
        ("**/*.pyc", "src/deep/a.pyc", False, True),
        ("**/*.pyc", "src/deep/a.py", False, False),
        ("src/*.pyc", "src/a.pyc", False, True),
        ("src/*.pyc", "src/deep/a.pyc", False, False),
        ("src/out/", "src/out", True, True),
        ("src/out/", "src/out", False, False),
        ("src/out/", "a/src/out", True, False),
        ("src/**/out", "src/out", True, True),
        ("src/**/out", "src/a/b/out", True, True),
        ("src/**/out", "src/a/b/out/x", False, False),
        ("src/**/out/**/*.o", "src/a/out/b/out/c.o", False, True),
        ("src/**", "src", True, True),
        ("src/**", "src/a/b", False, True),
        ("src/**/", "src/a/b", True, True),
        ("src/**/", "src/a/b", False, False),
        ("src/tmp?", "src/tmp1", False, True),
        ("src/tmp?", "src/tmp", False, False),
        ("src/[ab].py", "src/a.py", False, True),
        ("src/[!ab].py", "src/a.py", False, False),
        ("src/A.py", "src/a.py", False, False),
        ("src/\udcff", "src/\udcff", False, True),
        ("src/.*", "src/.coverage", False, True),
        ("src/*", "src/.coverage", False, True),
        ("a*b*c", "aXbYc", False, True),
    ],
)
def test_an_ignore_is_a_directory_name_or_a_glob_from_the_workspace(
    workspace: Path, ignore: str, path: str, is_directory: bool, ignored: bool
) -> None:
    """PG-SCOPE-10."""
    scope = GuardScope("src/**", workspace, b"src", ignores=(ignore,))
    assert scope.ignores_entry(path, is_directory) is ignored


def test_without_an_ignore_nothing_is_ignored(workspace: Path) -> None:
    """PG-SCOPE-10."""
    scope = resolve("src/**", workspace)
    for path in ("src/__pycache__", "node_modules", ".DS_Store", "src/a.pyc"):
        assert not scope.ignores_entry(path, True)
        assert not scope.leaves_out(path)


def test_ignores_are_kept_as_they_were_given(workspace: Path) -> None:
    scope = resolve("src/**", workspace, ignores=["__pycache__/", "**/*.pyc"])
    assert scope.ignores == ("__pycache__/", "**/*.pyc")


def test_a_glob_of_many_stars_over_a_deep_path_ends(workspace: Path) -> None:
    scope = GuardScope("src", workspace, b"src", ignores=("**/a/" * 20 + "b",))
    assert not scope.ignores_entry("a/" * 2000 + "c", False)
    assert scope.ignores_entry("a/" * 2000 + "b", False)


@pytest.mark.parametrize(
    "ignore", ["", "/", "/abs", "a//b", "..", "../x", "a/../b", "./a", "a/.", "//", "*.{pyc,pyo}"]
)
def test_an_ignore_that_says_nothing_exact_is_refused(workspace: Path, ignore: str) -> None:
    error = refusal("src/**", workspace, ignores=["fine/", ignore])
    assert (error.code, error.path) == ("bad_ignore", "src/**")
    assert repr(ignore) in error.message
