"""What a guarded tree looked like, before and after, and what differs.

In: a guard scope, twice. Out: a `Snapshot` each time, the changes between them, a content digest.
Laws: any difference is a change; equal bytes with other times are one too; nothing that was not
compared is called the same; a change says what changed and never who did it. (SPEC PG-FP, PG-DIFF)
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from attrs import frozen

from verdict_core.git import GitFailed, run, show_path
from verdict_core.progress.scope import GuardScope
from verdict_core.progress.tree import (
    CAP,
    GAP_TEXTS,
    SUSPECT_GAPS,
    Entry,
    Gap,
    Kind,
    Progress,
    Tree,
)
from verdict_core.wire import digest

__all__ = [
    "CAP",
    "Change",
    "ChangeKind",
    "Entry",
    "Gap",
    "Head",
    "Hint",
    "Kind",
    "Snapshot",
    "compare",
    "gap_line",
    "hints",
    "ignored_changes",
    "take",
]


@frozen
class Head:
    """HEAD of one repository: the symbolic name (None when detached), the commit (None before the
    first one), and the code of `GitFailed` where git gave neither. (SPEC PG-FP-8)"""

    name: bytes | None
    commit: bytes | None
    trouble: str = ""


@frozen
class Snapshot:
    """One fingerprint. Paths are bytes from the workspace. `heads` is by the directory of the
    repository, `b"."` for the one that the workspace stands in. `ignored` has a stamp for each
    path that is not a directory and that a declared ignore left out. (SPEC PG-FP-1)"""

    entries: Mapping[bytes, Entry]
    heads: Mapping[bytes, Head]
    ignored: Mapping[bytes, int]

    @property
    def content_digest(self) -> str:
        """`sha256:` and the hex SHA-256 of the sorted lines `path NUL kind NUL mode NUL (hash |
        target | gap) LF`, the mode in four octal digits, the last field empty for a directory.
        Neither times nor HEAD are in it. (SPEC PG-FP-9)"""
        return digest(b"".join(sorted(_line(*item) for item in self.entries.items())))

    @property
    def gaps(self) -> tuple[tuple[bytes, Gap], ...]:
        """What is not known of the content, by path. (SPEC PG-FP-6)"""
        found = [(path, entry.gap) for path, entry in self.entries.items() if entry.gap]
        found += [(path, Gap.HEAD_UNREADABLE) for path, head in self.heads.items() if head.trouble]
        return tuple(sorted(found))

    @property
    def suspect(self) -> bool:
        """Whether a gap holds integrity at suspect. (SPEC PG-FP-7)"""
        return any(gap in SUSPECT_GAPS for _, gap in self.gaps)

    @property
    def counts(self) -> Mapping[Kind, int]:
        """How many entries there are of each kind."""
        return Counter(entry.kind for entry in self.entries.values())


class ChangeKind(StrEnum):
    """What differs, the first that applies. (SPEC PG-DIFF-2)"""

    ADDED = "added"
    REMOVED = "removed"
    UNSTABLE = "unstable"
    TYPE = "type"
    CONTENT = "content"
    MODE = "mode"
    REWRITTEN = "rewritten"
    HEAD = "head"


@frozen(order=True)
class Change:
    """One path that is not as it was; for a head, the repository's directory."""

    path: bytes
    kind: ChangeKind


class Hint(StrEnum):
    """What the changes look like. It explains a ruling and never softens it. (SPEC PG-DIFF-5)"""

    DERIVED_ONLY = "derived_only"


_DERIVED_FOLDERS = frozenset(
    {
        b"__pycache__",
        b".hypothesis",
        b".mypy_cache",
        b".pytest_cache",
        b".ruff_cache",
        b".tox",
        b".nox",
    }
)
_DERIVED_ENDINGS = (b".pyc", b".pyo")


def take(scope: GuardScope, *, cap: int = CAP, progress: Progress | None = None) -> Snapshot:
    """The fingerprint of what `scope` guards, now. Every byte is read: none is ever taken over
    from an earlier one. `cap` is in bytes; `progress` is called with the files read and their
    number. Trouble with an entry is its gap, so nothing that the tree can hold raises.
    (SPEC PG-FP-1 to PG-FP-8)"""
    tree = Tree(scope, cap)
    tree.walk()
    tree.hash(progress)
    return Snapshot(tree.entries, dict(_heads(scope, tree.repositories)), tree.ignored)


def compare(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """What differs between two fingerprints of one scope, sorted by path. A directory that came or
    went is named only where nothing below it is. (SPEC PG-DIFF-1 to PG-DIFF-4)"""
    changes = []
    named_below: set[bytes] = set()
    # From the end: what stands below a directory is met before the directory.
    for path in sorted(before.entries.keys() | after.entries.keys(), reverse=True):
        old, new = before.entries.get(path), after.entries.get(path)
        kind = _difference(old, new)
        if kind is None:
            continue
        if old is None or new is None:
            named_below.add(path.rpartition(b"/")[0])
            if path in named_below:
                continue
        changes.append(Change(path, kind))
    changes += [Change(path, ChangeKind.HEAD) for path in _differing(before.heads, after.heads)]
    return tuple(sorted(changes))


def gap_line(path: bytes, gap: Gap) -> str:
    """A gap for people: `path: reason`. (SPEC PG-FP-6)"""
    return f"{show_path(path)}: {GAP_TEXTS[gap]}"


def ignored_changes(before: Snapshot, after: Snapshot) -> int:
    """How many ignored paths, directories apart, came, went, or have another type, mode, size,
    time or inode. They are counted and not named. (SPEC PG-DIFF-6)"""
    return len(_differing(before.ignored, after.ignored))


def hints(changes: Sequence[Change]) -> tuple[Hint, ...]:
    """`derived_only` when there are changes and each path looks like a cache. (SPEC PG-DIFF-5)"""
    if changes and all(_looks_derived(change.path) for change in changes):
        return (Hint.DERIVED_ONLY,)
    return ()


def _differing(before: Mapping[bytes, object], after: Mapping[bytes, object]) -> set[bytes]:
    return {path for path, _ in before.items() ^ after.items()}


def _difference(old: Entry | None, new: Entry | None) -> ChangeKind | None:
    if old is None:
        return ChangeKind.ADDED
    if new is None:
        return ChangeKind.REMOVED
    if Gap.UNSTABLE in (old.gap, new.gap):
        return ChangeKind.UNSTABLE
    if old == new:
        return None
    if old.kind is not new.kind:
        return ChangeKind.TYPE
    if (old.content, old.gap, old.size) != (new.content, new.gap, new.size):
        return ChangeKind.CONTENT
    if old.mode != new.mode:
        return ChangeKind.MODE
    # Where the bytes were not read, nobody may say that they are equal.
    return ChangeKind.CONTENT if old.gap else ChangeKind.REWRITTEN


def _looks_derived(path: bytes) -> bool:
    return path.endswith(_DERIVED_ENDINGS) or not _DERIVED_FOLDERS.isdisjoint(path.split(b"/"))


def _line(path: bytes, entry: Entry) -> bytes:
    known = (entry.gap or "").encode() if entry.content is None else entry.content
    return b"%b\0%b\0%04o\0%b\n" % (path, entry.kind.encode(), entry.mode, known)


def _heads(scope: GuardScope, met: Sequence[str]) -> Iterator[tuple[bytes, Head]]:
    """HEAD of the repository that the workspace stands in, and of every other that the root
    stands in or that stands below it: a commit made there leaves no other trace."""
    places = {scope.workspace / folder: os.fsencode(folder) for folder in met}
    for folder in scope.path.parents:
        if folder.is_relative_to(scope.workspace) and os.path.lexists(folder / ".git"):
            places[folder] = os.fsencode(folder.relative_to(scope.workspace))
    for folder in (scope.workspace, *scope.workspace.parents):
        if os.path.lexists(folder / ".git"):
            places[folder] = b"."
            break
    for folder, path in places.items():
        head = _head(folder)
        if head:
            yield path, head


def _head(folder: Path) -> Head | None:
    # Without the ceiling git would answer for a repository further up, should this be none.
    ceiling = {"GIT_CEILING_DIRECTORIES": os.fspath(folder.parent)}
    answers: list[bytes | None] = []
    for command in (("symbolic-ref", "-q", "HEAD"), ("rev-parse", "-q", "--verify", "HEAD")):
        try:
            answers.append(run(folder, *command, env=ceiling).rstrip(b"\n"))
        except GitFailed as error:
            if error.code == "no_repository":
                return None
            if error.code != "git_failed":
                return Head(None, None, error.code)
            answers.append(None)
    name, commit = answers
    return Head(name, commit, "" if name or commit else "git_failed")
