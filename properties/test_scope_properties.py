"""The promises of the guard scope: what is accepted guards something inside the workspace.

Workspaces are made on the disk; the subject is told where. (SPEC PG-SCOPE)
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verdict_core.conformance.door import given_result
from verdict_core.conformance.subject import Refused, Subject

TREE = ("src/a/f", "src/g", "sessions/s", "only/.git/HEAD", "x y/f", ".git/HEAD", "file")


@contextmanager
def workspace(files: Sequence[str] = TREE) -> Iterator[Path]:
    """A directory with those files, an empty directory, and a link that leads out."""
    with tempfile.TemporaryDirectory() as outer:
        top = Path(os.path.realpath(outer)) / "w"
        for name in files:
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_bytes(b"x")
        (top / "nothing").mkdir()
        (top.parent / "secret").write_bytes(b"outside")
        (top / "out").symlink_to("..")
        (top / "in").symlink_to("src")
        yield top


SCOPES: list[tuple[str | None, str]] = [
    ("src", "src"),
    ("src/", "src"),
    ("./src//a", "src/a"),
    ("src/**", "src"),
    ("src/a/*.py", "src/a"),
    ("src/a?", "src"),
    ("src/[a]/f", "src"),
    ("src/{a,b}", "src"),
    ("**", "."),
    (".", "."),
    ("*", "."),
    ("file", "file"),
    ("in/a", "src/a"),
    ("x y/*", "x y"),
]
REFUSED: list[tuple[str | None, str]] = [
    (None, "scope_required"),
    ("", "scope_required"),
    (" \t", "scope_required"),
    ("/", "scope_absolute"),
    ("/etc/**", "scope_absolute"),
    ("..", "scope_parent"),
    ("src/../..", "scope_parent"),
    ("src/../src", "scope_parent"),
    ("**/..", "scope_parent"),
    ("out", "scope_outside_workspace"),
    ("out/secret", "scope_outside_workspace"),
    ("missing", "scope_missing"),
    ("src/missing/**", "scope_missing"),
    ("file/x", "scope_missing"),
    ("a\0b", "scope_missing"),
    ("nothing", "scope_empty"),
    ("nothing/**", "scope_empty"),
    (".git", "scope_empty"),
    ("only", "scope_empty"),
    ("only/.git/HEAD", "scope_empty"),
]
BREAKS = {
    "scope_required": "PG-SCOPE-1",
    "scope_absolute": "PG-SCOPE-1",
    "scope_parent": "PG-SCOPE-1",
    "scope_missing": "PG-SCOPE-3",
    "scope_empty": "PG-SCOPE-4, PG-SCOPE-9",
    "scope_outside_workspace": "PG-SCOPE-5",
}


@pytest.mark.parametrize(("scope", "root"), SCOPES)
def test_the_root_is_what_stands_before_the_first_glob(
    subject: Subject, scope: str | None, root: str
) -> None:
    """PG-SCOPE-2, PG-SCOPE-7: links resolved, and spelled as the disk spells it."""
    with workspace() as top:
        assert subject.scope(scope, str(top)) == {"root": root}


@pytest.mark.parametrize(("scope", "code"), REFUSED)
def test_a_scope_that_guards_nothing_is_refused(
    subject: Subject, scope: str | None, code: str
) -> None:
    """PG-SCOPE-1, PG-SCOPE-3, PG-SCOPE-4, PG-SCOPE-5, PG-SCOPE-9: the code says why, and the path
    is the scope as it was given."""
    with workspace() as top:
        path = scope if scope and scope.strip() else None
        refused = subject.scope(scope, str(top))
        assert isinstance(refused, Refused), BREAKS[code]
        assert refused.code == code, BREAKS[code]
        assert path is None or refused.path == path, BREAKS[code]


TEXTS = st.text(max_size=12) | st.lists(
    st.sampled_from(
        ["src", "a", "f", "*", "**", "?", "[a]", "{a,b}", "", ".", "..", "out", ".git", "nothing"]
    ),
    max_size=5,
).map("/".join)


@given(TEXTS)
@example("src/a/**")
@example("out/w/src")
def test_any_text_is_refused_or_names_a_root_inside_the_workspace(
    subject: Subject, text: str
) -> None:
    """PG-SCOPE-1, PG-SCOPE-5."""
    with workspace() as top:
        found = subject.scope(text, str(top))
        if isinstance(found, Refused):
            assert found.code.startswith("scope_")
            return
        root = top / found["root"]
        assert root.exists()
        assert root.resolve() == root
        assert root.is_relative_to(top)
        assert ".." not in text.split("/")
        assert not text.startswith("/")


def test_a_state_directory_inside_the_root_is_refused(subject: Subject) -> None:
    """PG-SCOPE-6: one that is not there yet, too; beside it is fine."""
    with workspace() as top:
        for place in (top / "src", top / "src/a", top / "src/state/runs"):
            refused = subject.scope("src", str(top), state_dir=str(place))
            assert refused == Refused("state_inside_scope", "src")
        for place in (top / "state", top.parent):
            assert subject.scope("src", str(top), state_dir=str(place)) == {"root": "src"}


def test_the_harness_home_leaves_out_its_own_at_its_top_only(subject: Subject) -> None:
    """PG-SCOPE-8."""
    own = ("sessions", "storages", "logs", "telemetry", "cache", "profiles")
    with workspace(["home/x/logs/f", *(f"home/{name}/f" for name in own)]) as top:
        for name in own:
            assert subject.scope(f"home/{name}", str(top)) == {"root": f"home/{name}"}
        home = str(top / "home")
        assert subject.scope("home", str(top), harness_home=home) == {"root": "home"}
        found = subject.scope("home", str(top), harness_home=home, ignores=["x/"])
        assert found == Refused("scope_empty", "home")
        assert subject.scope("home/x", str(top), harness_home=home) == {"root": "home/x"}


@pytest.mark.parametrize("ignore", ["", "/", "a//b", "../x", "a/./b", "{a,b}", "/abs"])
def test_an_ignore_that_is_no_plain_glob_is_refused(subject: Subject, ignore: str) -> None:
    """PG-SCOPE-10."""
    with workspace() as top:
        refused = subject.scope("src", str(top), ignores=[ignore])
        assert refused == Refused("bad_ignore", "src")


def fits(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """The definition, as it would be written without a thought for long paths."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(fits(names[taken:], pattern[1:]) for taken in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and fits(names[1:], pattern[1:])


COMPONENTS = st.text("ab*?[]!.", min_size=1, max_size=4).filter(lambda t: t not in (".", ".."))
NAMES = st.text("ab.", min_size=1, max_size=3).filter(lambda t: t not in (".", ".."))


@given(
    st.lists(st.just("**") | COMPONENTS, min_size=2, max_size=5),
    st.lists(NAMES, min_size=1, max_size=5),
    st.booleans(),
)
@example(["**", "a", "**", "b"], ["a", "b", "a", "b"], False)
@example(["**", "a"], ["b", "a"], True)
def test_a_scope_is_empty_exactly_where_an_ignore_fits_on_the_way_to_it(
    subject: Subject, pattern: list[str], path: list[str], only_directories: bool
) -> None:
    """PG-SCOPE-10, PG-SCOPE-4: as a glob over the path, a component at a time."""
    scope, ignore = "/".join(path), "/".join(pattern) + "/" * only_directories
    ways = [path[:count] for count in range(1, len(path) + (not only_directories))]
    expected = any(fits(way, pattern) for way in ways)
    with workspace([scope]) as top:
        found = subject.scope(scope, str(top), ignores=[ignore])
        assert found == (Refused("scope_empty", scope) if expected else {"root": scope})


def test_a_name_with_a_slash_fits_a_directory_at_any_depth(subject: Subject) -> None:
    """PG-SCOPE-10."""
    with workspace(["a/out/b/f", "out.txt", "c/f"]) as top:
        for scope in ("a/out", "a/out/b/f", "a"):
            refused = subject.scope(scope, str(top), ignores=["o?t/"])
            assert refused == Refused("scope_empty", scope)
        for scope in ("out.txt", "c", "."):
            found = given_result(subject.scope(scope, str(top), ignores=["o?t/"]))
            assert found["root"] == scope
