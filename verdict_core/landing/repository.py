"""What landing asks git, and how: every call, its arguments, and the form of its answer.

In: a top level and a deadline. Out: refs, entries and differences as values, or `GitFailed`. Laws:
no call writes anything but objects and refs of our own name; an answer of another form is a
failure. (SPEC LD-REF)
"""

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from verdict_core import git
from verdict_core.git import GitFailed
from verdict_core.landing.worktree import SUBMODULE

NAMESPACE = "refs/verdict-core"
NOTHING = b"000000"

# What a user's configuration would otherwise write, or leave out of what has to survive a power
# cut. git before 2.36 knows only the last of the three that sync.
_SETTINGS = (
    "-c", "core.splitIndex=false",
    "-c", "core.logAllRefUpdates=false",
    "-c", "i18n.commitEncoding=UTF-8",
    "-c", "core.fsync=all",
    "-c", "core.fsyncMethod=fsync",
    "-c", "core.fsyncObjectFiles=true",
)  # fmt: skip
_ID = rb"([0-9a-f]{64}|[0-9a-f]{40})"
_OID = re.compile(_ID)
_REF = re.compile(rb"(\S+) %b commit (\d+) %b((?: [0-9a-f]+)*)" % (_ID, _ID))
_CHANGE = re.compile(rb":(\d{6}) (\d{6}) %b %b ([ADMTUX])" % (_ID, _ID))
_STAGED = re.compile(rb"(\d{6}) %b \d\t(.+)" % _ID, re.DOTALL)
_OBJECT = re.compile(rb"%b (\w+) (\d+)" % _ID)
_IN_TREE = re.compile(rb"(\d{6}) \w+ %b\t(.+)" % _ID, re.DOTALL)

Entry = tuple[bytes, bytes]
"""Mode in octal digits and object id."""


@frozen
class Clock:
    """A deadline on the clock of `time.monotonic`, or none."""

    deadline: float | None = None

    def left(self) -> float | None:
        """Seconds until the deadline; below zero when it has passed."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    @property
    def passed(self) -> bool:
        left = self.left()
        return left is not None and left <= 0

    def earlier(self, seconds: float, share: float) -> "Clock":
        """One that leaves so many seconds, but no more than a share of what is left."""
        left = self.left()
        if left is None or self.deadline is None:
            return self
        return Clock(self.deadline - min(seconds, max(0.0, left * share)))


@frozen
class Ref:
    """One landing: the ref's whole name and number, its commit with its tree and when it was made
    (seconds since 1970). `parents`: the HEAD that it stands on, and the commit of what only the
    index held."""

    name: str
    number: int
    commit: bytes
    time: int
    tree: bytes
    parents: tuple[bytes, ...]


@frozen
class Change:
    """What a path was and is: None where nothing was, or is. `unmerged`: it is in conflict."""

    path: bytes
    old: Entry | None
    new: Entry | None
    unmerged: bool


@frozen
class Repository:
    """The repository whose top level is `top`, asked until `clock` runs out."""

    top: Path
    clock: Clock

    def git(
        self, *args: str, input: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> bytes:
        """The answer of one command. Raises `GitFailed`, with the code `deadline` once the time
        is up."""
        left = self.clock.left()
        if left is not None and left <= 0:
            raise self._late()
        try:
            return git.run(self.top, *_SETTINGS, *args, input=input, env=env, limit=left)
        except GitFailed as failure:
            if failure.code == "git_timeout" and self.clock.passed:
                raise self._late() from None
            raise

    def oid(
        self, *args: str, input: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> bytes:
        """The one object id that a command answers with."""
        oid, *more = self.oids(*args, input=input, env=env) or (b"",)
        if more or not oid:
            raise _no_answer(args[0], oid)
        return oid

    def oids(
        self, *args: str, input: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> list[bytes]:
        """The object ids that a command answers with, one a line."""
        lines = self.git(*args, input=input, env=env).splitlines()
        for line in lines:
            if not _OID.fullmatch(line):
                raise _no_answer(args[0], line)
        return lines

    def head(self) -> bytes | None:
        """The commit of HEAD; None on a branch that has none yet."""
        try:
            return self.oid("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        except GitFailed:
            branch = self.git("symbolic-ref", "HEAD").strip()
            known = self.git("for-each-ref", "--format=%(refname)", os.fsdecode(branch))
            if branch in known.splitlines():
                raise
            return None

    def refs(self, run: str) -> tuple[Ref, ...]:
        """The landings of a run, by its name in a ref; the newest is the last."""
        pattern = f"{NAMESPACE}/{run}/"
        output = self.git(
            "for-each-ref",
            "--format=%(refname) %(objectname) %(objecttype) %(committerdate:unix) %(tree)"
            " %(parent)",
            pattern,
        )
        found = []
        for line in output.splitlines():
            match = _REF.fullmatch(line.rstrip())
            number = match[1].removeprefix(pattern.encode()) if match else b""
            if match and re.fullmatch(rb"[1-9]\d*", number):
                name, time, parents = match[1].decode(), int(match[3]), tuple(match[5].split())
                found.append(Ref(name, int(number), match[2], time, match[4], parents))
        return tuple(sorted(found, key=lambda ref: ref.number))

    def names(self) -> set[str]:
        """The names of the runs that have a ref here."""
        output = self.git("for-each-ref", "--format=%(refname)", f"{NAMESPACE}/")
        return {line.split("/")[2] for line in output.decode(errors="replace").splitlines()}

    def delete(self, refs: Iterable[Ref]) -> None:
        """Deletes all of these refs, or none where one has moved."""
        lines = (b"delete %s %s\n" % (ref.name.encode(), ref.commit) for ref in refs)
        self.git("update-ref", "--stdin", input=b"".join(lines))

    def staged(self, head: bytes | None) -> dict[bytes, Change]:
        """What the index holds otherwise than HEAD; a mark of `git add -N` holds nothing."""
        base = head or self.oid("hash-object", "-t", "tree", "--stdin", input=b"")
        output = self.git(
            "diff-index", "--cached", "-r", "-z", "--no-renames", "--ita-invisible-in-index",
            base.decode(), "--",
        )  # fmt: skip
        return {change.path: change for change in _changes(output)}

    def differences(self, pairs: Iterable[tuple[bytes, ...]]) -> Iterator[Change]:
        """What each commit holds otherwise than the other one of its pair, or than none."""
        lines = b"".join(b" ".join(pair) + b"\n" for pair in pairs)
        if lines:
            yield from _changes(
                self.git(
                    "diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--no-commit-id",
                    input=lines,
                )
            )  # fmt: skip

    def tree(self, commit: bytes) -> dict[bytes, Entry]:
        """All that a commit holds."""
        output = self.git("ls-tree", "-r", "-z", "--full-tree", commit.decode())
        return {path: (mode, oid) for mode, oid, path in _parsed(_IN_TREE, output, "ls-tree")}

    def index(self) -> dict[bytes, bytes]:
        """The paths of the index with their modes; in a conflict any mode but a submodule's
        gives way to it."""
        output = self.git("ls-files", "--stage", "-z")
        modes: dict[bytes, bytes] = {}
        for mode, _, path in _parsed(_STAGED, output, "ls-files"):
            if modes.get(path) != SUBMODULE:
                modes[path] = mode
        return modes

    def untracked(self) -> tuple[tuple[bytes, ...], GitFailed | None]:
        """The untracked files that no rule ignores, and nested repositories with a slash at the
        end; and the failure, where the system kept some of them back."""
        command = ("ls-files", "-z", "--others", "--exclude-standard")
        try:
            output, failure = self.git(*command), None
        except GitFailed as half:
            output, failure = half.output, half
        return tuple(output.split(b"\0")[:-1]), failure

    def blobs(self, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Each blob that is there, with its bytes, as `git cat-file --batch` gives them."""
        asked = b"".join(oid + b"\n" for oid in oids)
        output, at = self.git("cat-file", "--batch", input=asked), 0
        while at < len(output):
            header, _, _ = output[at : at + 200].partition(b"\n")
            at += len(header) + 1
            match = _OBJECT.fullmatch(header)
            if match:
                size = int(match[3])
                if match[2] == b"blob":
                    yield match[1], output[at : at + size]
                at += size + 1

    def sizes(self, oids: Iterable[bytes]) -> dict[bytes, int]:
        """How many bytes each blob has that is there."""
        asked = b"".join(oid + b"\n" for oid in oids)
        output = self.git("cat-file", "--batch-check", input=asked) if asked else b""
        found = map(_OBJECT.fullmatch, output.splitlines())
        return {match[1]: int(match[3]) for match in found if match and match[2] == b"blob"}

    def _late(self) -> GitFailed:
        return GitFailed("the time was up", path=str(self.top), code="deadline")


def _changes(output: bytes) -> Iterator[Change]:
    fields = iter(output.split(b"\0")[:-1])
    for field in fields:
        match = _CHANGE.fullmatch(field)
        path = next(fields, b"")
        if match is None or not path:
            raise _no_answer("diff", field)
        old, new = ((m, o) if m != NOTHING else None for m, o in
                    ((match[1], match[3]), (match[2], match[4])))  # fmt: skip
        yield Change(path, old, new, match[5] == b"U")


def _parsed(
    pattern: re.Pattern[bytes], output: bytes, command: str
) -> Iterator[tuple[bytes, bytes, bytes]]:
    *records, rest = output.split(b"\0")
    for record in [*records, *filter(None, [rest])]:
        match = pattern.fullmatch(record)
        if match is None or rest:
            raise _no_answer(command, record)
        yield match[1], match[2], match[3]


def _no_answer(command: str, said: bytes) -> GitFailed:
    return GitFailed(f"{said[:80]!r} is no answer of git {command}", code="bad_git_output")
