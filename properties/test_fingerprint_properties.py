"""What holds of every tree, edit, scope and ignore: only what was declared escapes the guard.

Trees are made on the disk, with names of any bytes.
"""

import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from verdict_core.errors import ScopeRefused
from verdict_core.progress.fingerprint import Change, ChangeKind, Kind, compare, take
from verdict_core.progress.fingerprint import ignored_changes as count_ignored
from verdict_core.progress.scope import METADATA, GuardScope, resolve

Files = dict[bytes, bytes]

REFUSALS = {
    "scope_required",
    "scope_absolute",
    "scope_parent",
    "scope_outside_workspace",
    "scope_missing",
    "scope_empty",
}
unhurried = settings(deadline=None)


def names() -> st.SearchStrategy[bytes]:
    plain = st.sampled_from([b"a", b"b", b"src", b"__pycache__", b".hidden", b"A", b"a.pyc"])
    odd = st.binary(min_size=1, max_size=12).map(lambda raw: re.sub(rb"[\0/]", b"_", raw))
    reserved = {b".", b"..", *(name.encode() for name in METADATA)}
    return (plain | odd).filter(lambda name: name not in reserved)


def paths() -> st.SearchStrategy[bytes]:
    return st.lists(names(), min_size=1, max_size=4).map(b"/".join)


def trees() -> st.SearchStrategy[Files]:
    """Paths and contents; none is a directory of another."""
    contents = st.binary(max_size=64)
    return st.dictionaries(paths(), contents, min_size=1, max_size=8).map(without_conflicts)


def without_conflicts(files: Files) -> Files:
    kept: Files = {}
    for path, content in sorted(files.items()):
        if not any(path.startswith(other + b"/") for other in kept):
            kept[path] = content
    return kept


@contextmanager
def on_disk(files: Files) -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as top:
        raw = os.path.realpath(os.fsencode(top))
        for path, content in files.items():
            write(raw, path, content)
        yield raw


def write(top: bytes, path: bytes, content: bytes) -> None:
    whole = os.path.join(top, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(whole, "wb") as file:
        file.write(content)


def whole(top: bytes, *ignores: str) -> GuardScope:
    return resolve("**", Path(os.fsdecode(top)), ignores=ignores)


def settle() -> None:
    """Past the tick of a file system whose clock is coarse."""
    time.sleep(0.012)


@unhurried
@given(trees())
def test_every_path_on_the_disk_is_in_the_fingerprint(files: Files) -> None:
    """PG-FP-1."""
    with on_disk(files) as top:
        listed = {b"."}
        for folder, folders, plain in os.walk(top):
            listed |= {os.path.relpath(folder + b"/" + name, top) for name in (*folders, *plain)}
        snapshot = take(whole(top))
        assert snapshot.entries.keys() == listed
        assert {p for p, entry in snapshot.entries.items() if entry.kind is Kind.FILE} == set(files)
        assert snapshot.gaps == ()


@unhurried
@given(trees())
def test_a_fingerprint_does_not_differ_from_itself(files: Files) -> None:
    """PG-DIFF-1: and only a difference is one."""
    with on_disk(files) as top:
        snapshot = take(whole(top))
        assert compare(snapshot, snapshot) == ()
        assert compare(snapshot, take(whole(top))) == ()


@unhurried
@given(trees(), st.data(), st.booleans())
def test_any_changed_byte_is_seen_under_any_mtime(
    files: Files, data: st.DataObject, restored: bool
) -> None:
    """PG-FP-2, PG-FP-5, PG-DIFF-1."""
    path = data.draw(st.sampled_from(sorted(files)))
    assume(files[path])
    place = data.draw(st.integers(0, len(files[path]) - 1))
    flipped = bytearray(files[path])
    flipped[place] ^= data.draw(st.integers(1, 255))
    with on_disk(files) as top:
        before = take(whole(top))
        status = os.stat(os.path.join(top, path))
        write(top, path, bytes(flipped))
        if restored:
            os.utime(os.path.join(top, path), ns=(status.st_atime_ns, status.st_mtime_ns))
        after = take(whole(top))
        assert compare(before, after) == (Change(path, ChangeKind.CONTENT),)
        assert before.content_digest != after.content_digest


@settings(unhurried, max_examples=40)
@given(trees(), st.data())
def test_bytes_written_and_put_back_with_their_mtime_are_seen(
    files: Files, data: st.DataObject
) -> None:
    """PG-DIFF-3, PG-FP-2."""
    path = data.draw(st.sampled_from(sorted(files)))
    with on_disk(files) as top:
        before = take(whole(top))
        status = os.stat(os.path.join(top, path))
        settle()
        write(top, path, b"anything")
        write(top, path, files[path])
        os.utime(os.path.join(top, path), ns=(status.st_atime_ns, status.st_mtime_ns))
        after = take(whole(top))
        assert compare(before, after) == (Change(path, ChangeKind.REWRITTEN),)
        assert before.content_digest == after.content_digest


@unhurried
@given(trees(), paths(), st.binary(max_size=8))
def test_what_is_added_is_named_and_nothing_else_is(
    files: Files, path: bytes, content: bytes
) -> None:
    """PG-DIFF-2, PG-DIFF-1."""
    assume(without_conflicts({**files, path: content}).keys() == {*files, path})
    assume(not any(other.startswith(path + b"/") for other in files))
    assume(path not in files)
    with on_disk(files) as top:
        before = take(whole(top))
        write(top, path, content)
        after = take(whole(top))
        assert compare(before, after) == (Change(path, ChangeKind.ADDED),)
        assert compare(after, before) == (Change(path, ChangeKind.REMOVED),)


@unhurried
@given(trees(), st.data())
def test_the_content_digest_depends_on_no_time_and_no_order(
    files: Files, data: st.DataObject
) -> None:
    """PG-FP-9."""
    order = data.draw(st.permutations(sorted(files)))
    times = st.integers(0, 2**33)
    with on_disk(files) as one, on_disk({path: files[path] for path in order}) as other:
        for path in files:
            seconds = data.draw(times), data.draw(times)
            os.utime(os.path.join(other, path), seconds)
        assert take(whole(one)).content_digest == take(whole(other)).content_digest


@unhurried
@given(trees(), trees())
def test_other_names_or_bytes_have_another_content_digest(one: Files, other: Files) -> None:
    """PG-FP-9."""
    assume(one != other)
    with on_disk(one) as first, on_disk(other) as second:
        assert take(whole(first)).content_digest != take(whole(second)).content_digest


@unhurried
@given(trees(), st.lists(paths(), min_size=1, max_size=3))
def test_below_a_declared_ignore_nothing_is_named_and_each_file_is_counted(
    files: Files, added: list[bytes]
) -> None:
    """PG-DIFF-6, PG-SCOPE-10."""
    new = without_conflicts({b"src/out/new/" + path: b"new" for path in added})
    assume(not any(path.startswith(b"src") for path in files))
    with on_disk({**files, b"src/x": b"1", b"src/out/y": b"2"}) as top:
        scope = whole(top, "out/")
        before = take(scope)
        for path, content in new.items():
            write(top, path, content)
        after = take(scope)
        assert compare(before, after) == ()
        assert count_ignored(before, after) == len(new)


# ------------------------------------------------------------------ scopes

texts = st.text(max_size=12) | st.lists(
    st.sampled_from(["src", "a", "*", "**", "?", "[a]", "{a,b}", "", ".", "..", "out", ".git"]),
    max_size=5,
).map("/".join)


@unhurried
@given(texts)
@example("src/a/**")
@example("out/x")
@example("\ud800")
def test_any_text_is_refused_or_names_a_root_inside_the_workspace(text: str) -> None:
    """PG-SCOPE-1, PG-SCOPE-3, PG-SCOPE-4, PG-SCOPE-5."""
    with on_disk({b"w/src/a/f": b"f", b"w/.git/HEAD": b"junk", b"x": b"outside"}) as outer:
        os.symlink(b"..", outer + b"/w/out")
        top = Path(os.fsdecode(outer)) / "w"
        found = resolved(text, top)
        if isinstance(found, ScopeRefused):
            event(found.code)
            assert found.code in REFUSALS
            return
        event("accepted")
        assert found.path.resolve() == found.path
        assert found.path.is_relative_to(top)
        assert ".." not in text.split("/")
        assert not text.startswith("/")
        assert len(take(found).entries) > 1 or found.path.is_file()


def resolved(text: str, top: Path) -> GuardScope | ScopeRefused:
    try:
        return resolve(text, top)
    except ScopeRefused as refused:
        return refused


components = st.text("ab*?[]!.", min_size=1, max_size=4).filter(lambda t: t not in (".", ".."))


def fits(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """The definition, as it would be written without a thought for long paths."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(fits(names[taken:], pattern[1:]) for taken in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and fits(names[1:], pattern[1:])


@given(
    st.lists(st.just("**") | components, min_size=2, max_size=5),
    st.lists(st.text("ab.", min_size=1, max_size=3), min_size=1, max_size=6),
    st.booleans(),
    st.booleans(),
)
@example(["**", "a", "**", "b"], ["a", "b", "a", "b"], False, False)
def test_a_glob_fits_what_its_definition_says(
    pattern: list[str], path: list[str], is_directory: bool, only: bool
) -> None:
    """PG-SCOPE-10."""
    ignore = "/".join(pattern) + "/" * only
    scope = GuardScope("x", Path("/"), b"x", ignores=(ignore,))
    expected = fits(path, pattern) and (is_directory or not only)
    assert scope.ignores_entry("/".join(path), is_directory) is expected
    event(f"fits={expected}")
