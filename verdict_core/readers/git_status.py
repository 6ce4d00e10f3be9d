"""Work that no commit holds, as git sees it.

In: a repository. Out: a `Reading` of the one field `uncommitted`, an item a path.
Laws: what git did not answer whole is unknown and never empty; what a flag in the index hides is
compared by its bytes; nothing is written anywhere. (SPEC RD-GIT)
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen

from verdict_core.errors import visible
from verdict_core.git import GitFailed, find_top, named_top, run, show_path
from verdict_core.readers.reading import Note, Reading

READER = "git"
FIELD = "uncommitted"

_STATUS = (
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",  # for the header: an answer without one was not given by git or is cut off
    "--no-ahead-behind",
    "--untracked-files=normal",
    "--ignore-submodules=none",
    "--renames",
)
_HEADER = b"# branch.oid "
_STATE = rb" \S\S (N\.\.\.|S[C.][M.][U.])"
_RECORDS = {
    kind: re.compile(pattern, re.DOTALL)
    for kind, pattern in {
        b"1": b"1" + _STATE + rb"(?: [0-7]{6}){3}(?: [0-9a-f]{40,64}){2} (.+)",
        b"2": b"2" + _STATE + rb"(?: [0-7]{6}){3}(?: [0-9a-f]{40,64}){2} [RC]\d+ (.+)",
        b"u": b"u" + _STATE + rb"(?: [0-7]{6}){4}(?: [0-9a-f]{40,64}){3} (.+)",
        b"?": rb"\?() (.+)",
    }.items()
}
_ENTRY = re.compile(
    rb"([HSMhsm]) (100644|100755|120000|160000) ([0-9a-f]{40,64}) ([0-3])\t(.+)", re.DOTALL
)

_GITLINK = b"160000"
_EXECUTABLE = b"100755"
_LINK = b"120000"
_TYPES: dict[bytes, Callable[[int], bool]] = {
    _GITLINK: stat.S_ISDIR,
    _LINK: stat.S_ISLNK,
    _EXECUTABLE: stat.S_ISREG,
    b"100644": stat.S_ISREG,
}


@frozen
class Entry:
    """One line of the index: a path with its flags, its mode in octal digits and its object id."""

    path: bytes
    mode: bytes
    oid: bytes
    assume_unchanged: bool
    skip_worktree: bool

    @property
    def flagged(self) -> bool:
        return self.assume_unchanged or self.skip_worktree


def read(repo: Path | None = None, *, cwd: Path | None = None) -> Reading:
    """What `repo` holds that is not committed; without `repo`, the repository that `cwd` stands
    in. Raises nothing: trouble makes the field unknown, keeps the items that were seen before it,
    and is a note with the code of `GitFailed`, or `unreadable`. (SPEC RD-GIT-1 to RD-GIT-3)"""
    items: dict[str, None] = {}
    notes: list[Note] = []
    unknown: frozenset[str] = frozenset()
    start = cwd or Path()
    try:
        for found in _uncommitted(find_top(start) if repo is None else named_top(start / repo)):
            if isinstance(found, Note):
                notes.append(found)
            else:
                items[found] = None
    except (GitFailed, OSError) as error:
        unknown = frozenset({FIELD})
        notes.append(_trouble(error))
    return Reading(READER, {FIELD: tuple(items)}, unknown, notes=tuple(notes))


def parse_status(output: bytes) -> Iterator[str | Note]:
    """The items of `git status --porcelain=v2 -z`, and notes on renames and submodules. Raises
    `GitFailed` (bad_git_output) at the first record that is none. (SPEC RD-GIT-4, RD-GIT-5)"""
    records = _split(output, "git status")
    for record in records:
        if record.startswith(b"# "):
            continue
        pattern = _RECORDS.get(record[:1])
        match = pattern.fullmatch(record) if pattern else None
        if match is None:
            raise _unreadable("git status", record)
        item = show_path(match[2])
        yield item
        if match[1].startswith(b"S"):
            yield _note("submodule", f"{item} is a submodule: {_state(match[1])}")
        if record.startswith(b"2"):
            origin = next(records, b"")
            if not origin:
                raise _unreadable("git status", record)
            yield _note("renamed", f"{item} was {show_path(origin)}")


def parse_listing(output: bytes) -> Iterator[Entry]:
    """Of `git ls-files -v --stage -z`, what status may be silent about: flagged entries and
    submodules. Raises `GitFailed` (bad_git_output). (SPEC RD-GIT-6)"""
    for record in _split(output, "git ls-files"):
        if record.startswith(b"H 1") and not record.startswith(b"H 16"):
            continue  # before the pattern: most of a large index
        match = _ENTRY.fullmatch(record)
        if match is None:
            raise _unreadable("git ls-files", record)
        tag, mode, oid, stage, path = match.groups()
        entry = Entry(path, mode, oid, tag.islower(), tag in b"Ss")
        if stage == b"0" and (entry.flagged or mode == _GITLINK):
            yield entry


def _uncommitted(top: Path) -> Iterator[str | Note]:
    bits = _keeps_executable_bits(top)
    seen = set()
    for found in _status(top, bits):
        seen.add(found)
        yield found
    entries = tuple(parse_listing(run(top, "ls-files", "-v", "--stage", "-z")))
    yield from _hidden(top, tuple(entry for entry in entries if entry.flagged), bits)
    for entry in entries:
        if entry.mode == _GITLINK and show_path(entry.path) not in seen:
            yield from _submodule(top, entry)


def _status(top: Path, bits: bool) -> Iterator[str | Note]:
    settings = ("-c", "core.fileMode=true") if bits else ()
    try:
        output = run(top, *settings, *_STATUS)
    except GitFailed as failure:
        yield from parse_status(failure.output)
        raise
    if not output.startswith(_HEADER):
        raise _unreadable("git status", output)
    yield from parse_status(output)


def _hidden(top: Path, flagged: tuple[Entry, ...], bits: bool) -> Iterator[str | Note]:
    """Flagged entries that status does not look at and that are changed all the same."""
    if flagged:
        assumed = sum(entry.assume_unchanged for entry in flagged)
        skipped = sum(entry.skip_worktree for entry in flagged)
        yield _note("hidden_flags", f"assume_unchanged={assumed} skip_worktree={skipped}")
    edited = []
    root = os.fsencode(top)
    for entry in flagged:
        path = os.path.join(root, entry.path)
        mode = _mode(path)
        if _reshaped(entry, mode, bits):
            yield show_path(entry.path)
        elif mode is not None and entry.mode != _GITLINK and _oid(path, entry) != entry.oid:
            edited.append(entry)
    yield from _filtered(top, edited)


def _reshaped(entry: Entry, mode: int | None, bits: bool) -> bool:
    """Whether a file is deleted, is of another type, or has another executable bit."""
    if mode is None:
        return not entry.skip_worktree  # what a sparse checkout leaves out, nobody deleted
    if not _TYPES[entry.mode](mode):
        return True
    return bits and stat.S_ISREG(mode) and bool(mode & 0o100) != (entry.mode == _EXECUTABLE)


def _filtered(top: Path, edited: list[Entry]) -> Iterator[str]:
    """Those whose bytes differ also after the filters and line ends that git commits through.
    Only these are asked about: git's filter would call a committed CRLF a change."""
    files = [entry for entry in edited if entry.mode != _LINK]
    names = b"".join(b'"' + b"".join(b"\\%03o" % c for c in e.path) + b'"\n' for e in files)
    output = run(top, "hash-object", "--stdin-paths", input=names) if files else b""
    oids = output.split()
    if len(oids) != len(files):
        raise _unreadable("git hash-object", output)
    same = {entry.path for entry, oid in zip(files, oids, strict=True) if oid == entry.oid}
    for entry in edited:
        if entry.path not in same:
            yield show_path(entry.path)


def _submodule(top: Path, entry: Entry) -> Iterator[str | Note]:
    """A submodule that status called clean: its own index has flags, its own settings ignore a
    submodule, it is flagged itself, or it lost its repository."""
    folder = top / os.fsdecode(entry.path)
    state = ""
    if folder.is_symlink() or not folder.is_dir():
        return
    if not os.path.lexists(folder / ".git"):
        state = "files without a repository" if any(folder.iterdir()) else ""
    elif any(isinstance(found, str) for found in _uncommitted(named_top(folder))):
        state = "hidden changes"
    elif entry.flagged and run(folder, "rev-parse", "--verify", "HEAD").strip() != entry.oid:
        state = "new commits"
    if state:
        item = show_path(entry.path)
        yield item
        yield _note("submodule", f"{item} is a submodule: {state}")


def _state(field: bytes) -> str:
    words = zip("CMU", ("new commits", "modified", "untracked"), strict=True)
    return "+".join(word for letter, word in words if letter in field.decode()) or "staged"


def _keeps_executable_bits(top: Path) -> bool:
    """Whether core.fileMode can be set. On a mount where every file looks executable, git's own
    HEAD (or the `.git` of a linked worktree) does too, and each file would be called changed."""
    mode = _mode(top / ".git" / "HEAD") or _mode(top / ".git") or 0
    return not (stat.S_ISREG(mode) and mode & 0o100)


def _mode(path: Path | bytes) -> int | None:
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _oid(path: bytes, entry: Entry) -> bytes:
    """The object id of the bytes as they are, without a filter."""
    name = "sha1" if len(entry.oid) == 40 else "sha256"
    digest = hashlib.new(name, usedforsecurity=False)
    if entry.mode == _LINK:
        target = os.readlink(path)
        digest.update(b"blob %d\0" % len(target) + target)
        return digest.hexdigest().encode()
    with open(path, "rb") as file:
        digest.update(b"blob %d\0" % os.fstat(file.fileno()).st_size)
        return hashlib.file_digest(file, lambda: digest).hexdigest().encode()


def _split(output: bytes, command: str) -> Iterator[bytes]:
    *records, rest = output.split(b"\0")
    yield from records
    if rest:
        raise _unreadable(command, rest)


def _unreadable(command: str, output: bytes) -> GitFailed:
    message = f"{output[:80]!r} is no answer of {command}"
    return GitFailed(message, code="bad_git_output")


def _trouble(error: GitFailed | OSError) -> Note:
    if isinstance(error, GitFailed):
        return _note(error.code, f"{error.path}: {error.message}")
    return _note("unreadable", str(error))


def _note(code: str, text: str) -> Note:
    return Note(READER, code, visible(text))
