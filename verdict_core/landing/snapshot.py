"""Uncommitted work, written into a commit that no branch knows.

In: items of `uncommitted`. Out: a new ref `refs/verdict-core/<run>/<n>`, and what could not be
stored. Laws: working tree, index, HEAD, stash and reflogs stay byte for byte as they are; no
filter and no hook runs; what is stored is what was read, or it is named. (SPEC LD-REF, LD-TREE)
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import Factory, define

from verdict_core.git import GitFailed
from verdict_core.landing.held import below, path_of
from verdict_core.landing.repository import NAMESPACE, Change, Entry, Ref, Repository
from verdict_core.landing.worktree import SUBMODULE, Blob, Unfit, blob_oid, is_folder, look, opened

MAX_TOTAL_BYTES = 256 << 20

_BATCH_BYTES = 16 << 20
_BATCH_FILES = 512
# Two landings at once take one number each; a lock that a killed git left behind takes one more.
_ATTEMPTS = 20
# Of the time that is left, what index, commit and ref need after the last file was stored.
_RESERVE_S, _RESERVE_SHARE = 1.0, 0.3
_NAME, _ADDRESS = "verdict-core", "verdict-core@localhost"
_IDENTITY = {
    "GIT_AUTHOR_NAME": _NAME,
    "GIT_AUTHOR_EMAIL": _ADDRESS,
    "GIT_COMMITTER_NAME": _NAME,
    "GIT_COMMITTER_EMAIL": _ADDRESS,
}


@define
class Snapshot:
    """The ref that holds what one landing stored, whether it was made for it, and why the rest was
    not stored: the first reason of an item."""

    ref: str | None = None
    made: bool = False
    failures: dict[str, Unfit] = Factory(dict)

    def fail(self, item: str, why: Unfit) -> None:
        self.failures.setdefault(item, why)


def store(repository: Repository, run: str, items: Iterable[str]) -> Snapshot:
    """Stores the items below one new ref. Raises nothing: an item that was not stored whole is in
    `failures`; without a ref nothing is landed. (SPEC LD-REF-1 to LD-REF-6)"""
    snapshot = Snapshot()
    wanted = tuple(dict.fromkeys(items))
    try:
        with tempfile.TemporaryDirectory(prefix="verdict-core-") as scratch:
            snapshot.ref = _Landing(repository, run, Path(scratch), snapshot).land(wanted)
    except (GitFailed, OSError) as error:
        for item in wanted:
            snapshot.fail(item, _why(error))
    return snapshot


def _why(error: GitFailed | OSError) -> Unfit:
    if isinstance(error, GitFailed):
        return Unfit(error.code, error.message)
    return Unfit("unwritable", str(error))


class _Landing:
    def __init__(self, repository: Repository, run: str, scratch: Path, snapshot: Snapshot) -> None:
        self.repository = repository
        self.run = run
        self.scratch = scratch
        self.snapshot = snapshot
        self.head = repository.head()
        self.staged = repository.staged(self.head)
        self.index = repository.index()
        self.untracked, self.kept_back = repository.untracked()
        self.names = frozenset(self.untracked)
        # Of the time that is left, some is for what comes after the files.
        self.files = Repository(
            repository.top, repository.clock.earlier(_RESERVE_S, _RESERVE_SHARE)
        )

    def land(self, items: tuple[str, ...]) -> str | None:
        with opened(self.repository.top) as root:
            paths = {path: item for item in items for path in self._paths(root, item)}
            entries = {
                path: entry
                for path, entry in self._written(root, paths)
                if entry is not None or self._in_head(path)
            }
        index_only = {
            path: change.new
            for path in paths
            if (change := self.staged.get(path)) and self._only_there(change, entries.get(path))
        }
        if self.head is None:
            # Without a HEAD, the commit of these would be the only parent, and be taken for one.
            why = Unfit("only_staged", "the index holds other content, and there is no commit yet")
            for path in index_only:
                self.snapshot.fail(paths[path], why)
            index_only = {}
        if not entries and not index_only:
            return None
        return self._ref(self._tree(entries), self._tree(index_only) if index_only else None)

    # --- what there is to store

    def _paths(self, root: int, item: str) -> Iterator[bytes]:
        """The paths that an item stands for, without those that are not stored."""
        path = path_of(item)
        try:
            if path is None:
                raise Unfit("not_reported", "it names no path")
            if path.endswith(b"/"):
                yield from self._below(item, path)
                return
            self._fit(path)
            yield path
            if is_folder(root, path):
                # Of a file that gave way to a directory, git names the file alone.
                yield from self._below(item, path + b"/")
        except Unfit as why:
            self.snapshot.fail(item, why)

    def _fit(self, path: bytes) -> None:
        change = self.staged.get(path)
        modes = {self.index.get(path)}
        if change is not None:
            modes |= {entry[0] for entry in (change.old, change.new) if entry}
        if SUBMODULE in modes:
            raise Unfit("submodule", "the work in a submodule is its own repository's to commit")
        if change is None and path not in self.index and path not in self.names:
            self._all_seen()
            raise Unfit("not_reported", "git reports no such path, or ignores it")

    def _below(self, item: str, folder: bytes) -> Iterator[bytes]:
        try:
            self._all_seen()
        except Unfit as unseen:
            self.snapshot.fail(item, unseen)  # and what was seen of it is stored all the same
        paths = below(folder, self.untracked)
        for path in paths:
            if path.endswith(b"/"):
                why = Unfit("nested_repository", "a repository of its own stands there")
                self.snapshot.fail(item, why)
            else:
                yield path
        if not paths:
            raise Unfit("not_reported", "git reports nothing below it")

    def _all_seen(self) -> None:
        if self.kept_back is not None:
            raise Unfit(self.kept_back.code, self.kept_back.message)

    def _in_head(self, path: bytes) -> bool:
        change = self.staged.get(path)
        return path in self.index if change is None else change.old is not None

    def _only_there(self, change: Change, here: Entry | None) -> bool:
        """Whether the index holds what neither HEAD nor the working tree does."""
        return change.new is not None and not change.unmerged and change.new != here

    # --- files

    def _written(self, root: int, paths: dict[bytes, str]) -> Iterator[tuple[bytes, Entry | None]]:
        """Each path with its entry, whose object is in the repository now; with None, where
        nothing stands there."""
        batch: list[tuple[bytes, Blob]] = []
        total = size = 0
        for path, item in paths.items():
            try:
                blob = self._looked(root, path, total)
            except Unfit as why:
                self.snapshot.fail(item, why)
                continue
            if blob is None:
                yield path, None
                continue
            total += len(blob.data)
            size += len(blob.data)
            batch.append((path, blob))
            if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                yield from self._hashed(batch, paths)
                batch, size = [], 0
        yield from self._hashed(batch, paths)

    def _looked(self, root: int, path: bytes, total: int) -> Blob | None:
        if self.files.clock.passed:
            raise Unfit("deadline", "the time was up")
        blob = look(root, path)
        if blob is not None and total + len(blob.data) > MAX_TOTAL_BYTES:
            raise Unfit("past_limit", "one landing stores at most 256 MiB")
        return blob

    def _hashed(
        self, batch: list[tuple[bytes, Blob]], paths: dict[bytes, str]
    ) -> Iterator[tuple[bytes, Entry]]:
        """Stores a batch. git is given copies: it follows links, waits for pipes, and may not see
        the bytes that were looked at."""
        if not batch:
            return
        command = ("hash-object", "-w", "--no-filters", "--stdin-paths")
        try:
            names = b"".join(self._copied(blob, at) for at, (_, blob) in enumerate(batch))
            oids = self.files.oids(*command, input=names)
        except (GitFailed, OSError) as error:
            for path, _ in batch:
                self.snapshot.fail(paths[path], _why(error))
            return
        for (path, blob), oid in zip(batch, oids, strict=False):
            if blob_oid(blob.data, len(oid)) == oid:
                yield path, (blob.mode, oid)

    def _copied(self, blob: Blob, at: int) -> bytes:
        copy = self.scratch / str(at)
        with open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(blob.data)
        return _quoted(os.fsencode(copy))

    # --- the commit

    def _commit_of(self, tree: bytes, parents: list[bytes], what: str) -> bytes:
        arguments = [part for parent in parents for part in ("-p", parent.decode())]
        message = f"verdict-core landing: {what} of {self.run}\n"
        command = ("commit-tree", "--no-gpg-sign", *arguments, tree.decode())
        return self.repository.oid(*command, input=message.encode(), env=_IDENTITY)

    def _tree(self, entries: dict[bytes, Entry | None]) -> bytes:
        """The tree of HEAD with `entries` in it."""
        env = {"GIT_INDEX_FILE": os.fspath(self.scratch / "index")}
        base = ("--empty",) if self.head is None else (self.head.decode(),)
        self.repository.git("read-tree", *base, env=env)
        lines = b"".join(
            b"%s %s\t%s\0" % (*(entry or (b"0", b"0" * self._digits(entries))), path)
            for path, entry in entries.items()
        )
        self.repository.git("update-index", "-z", "--index-info", input=lines, env=env)
        # A partial clone lacks blobs of HEAD, and has no need of them for this.
        return self.repository.oid("write-tree", "--missing-ok", env=env)

    def _digits(self, entries: dict[bytes, Entry | None]) -> int:
        return len(self.head or next(entry[1] for entry in entries.values() if entry))

    def _ref(self, tree: bytes, index_only: bytes | None) -> str:
        """Takes the next number that nobody else has. A ref that exists is never moved, and one
        that says just this is no other."""
        refs = self.repository.refs(self.run)
        if refs and self._says(refs[-1], tree, index_only):
            return refs[-1].name
        parents = [] if self.head is None else [self.head]
        if index_only:  # it stands on HEAD, and beside it, as in a stash
            parents.append(self._commit_of(index_only, parents, "what only the index holds"))
        commit = self._commit_of(tree, parents, "uncommitted work")
        last = max((ref.number for ref in refs), default=0)
        for number in range(last + 1, last + 1 + _ATTEMPTS):
            name = f"{NAMESPACE}/{self.run}/{number}"
            line = b"create %s %s\n" % (name.encode(), commit)
            try:
                self.repository.git("update-ref", "--stdin", input=line)
            except GitFailed as error:
                failure = error
                if error.code != "git_failed":
                    raise
            else:
                self.snapshot.made = True
                return name
        raise failure

    def _says(self, ref: Ref, tree: bytes, index_only: bytes | None) -> bool:
        head, *second = ref.parents or (None,)
        if (ref.tree, head) != (tree, self.head):
            return False
        trees = [self.repository.oid("rev-parse", f"{one.decode()}^{{tree}}") for one in second]
        return trees == ([] if index_only is None else [index_only])


def _quoted(path: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"\n'
