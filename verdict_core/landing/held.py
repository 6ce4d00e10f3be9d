"""What the refs of a run hold, and whether it still is what the working tree holds.

In: items of `uncommitted`, a repository. Out: those items whose every byte a ref holds. Laws: each
look is anew; what cannot be shown to be equal is not landed; a ref that names a lost or damaged
object holds nothing. (SPEC LD-STAY)
"""

from collections.abc import Iterable, Iterator
from functools import cached_property

from attrs import define, frozen

from verdict_core.git import GitFailed, read_path, show_path
from verdict_core.landing.repository import Change, Entry, Ref, Repository
from verdict_core.landing.worktree import SUBMODULE, Unfit, blob_oid, is_folder, look, opened

_BATCH_BYTES = 32 << 20
_NOT_HELD = Unfit("not_held", "no ref holds it as it is")


def path_of(item: str) -> bytes | None:
    """The bytes of the path that an item shows; None where it shows none. (SPEC GT-PATH-2)"""
    try:
        path = read_path(item)
        return path if path and show_path(path) == item else None
    except ValueError:
        return None


def below(folder: bytes, untracked: Iterable[bytes]) -> list[bytes]:
    """What stands below an untracked directory, which has its slash."""
    return [path for path in untracked if path.startswith(folder)]


def held_items(repository: Repository, run: str, items: Iterable[str]) -> frozenset[str]:
    """The items of which each path is held by a ref of the run, as it is now. Trouble holds
    nothing and is no error. (SPEC LD-STAY-1 to LD-STAY-5)"""
    try:
        refs = repository.refs(run)
        if not refs:
            return frozenset()
        with opened(repository.top) as root:
            check = _Check(repository, refs, root)
            needs = {item: check.needs(item) for item in dict.fromkeys(items)}
        wanted = {oid for oids in needs.values() if oids is not None for oid in oids}
        whole = {oid for oid, _ in readable(repository, sorted(wanted))}
    except (GitFailed, OSError):
        return frozenset()
    return frozenset(item for item, oids in needs.items() if oids is not None and oids <= whole)


@define
class Held:
    """What a run's commits hold otherwise than what they stand on, by path."""

    files: dict[bytes, set[Entry]]
    removed: set[bytes]

    @classmethod
    def of(cls, changes: Iterable[Change]) -> "Held":
        held = cls({}, set())
        for change in changes:
            if change.new is None:
                held.removed.add(change.path)
            else:
                held.files.setdefault(change.path, set()).add(change.new)
        return held


@frozen(slots=False)
class _Check:
    repository: Repository
    refs: tuple[Ref, ...]
    root: int

    def needs(self, item: str) -> frozenset[bytes] | None:
        """The objects that hold the item; None where it is not held."""
        path = path_of(item)
        if path is None:
            return None
        found: set[bytes] = set()
        try:
            for one in self._paths(path):
                found |= self._path(one)
        except Unfit:
            return None
        # An empty directory needs nothing either, and is held by nobody.
        return frozenset(found) if found or path in self.worktree.removed else None

    def _paths(self, path: bytes) -> Iterator[bytes]:
        folder = path
        if not path.endswith(b"/"):
            yield path
            # Of a file that gave way to a directory, git names the file alone.
            folder = path + b"/"
            if not is_folder(self.root, path):
                return
        names, failure = self.untracked
        if failure is not None:
            raise Unfit(failure.code, failure.message)
        yield from below(folder, names)

    def _path(self, path: bytes) -> set[bytes]:
        """The objects that hold what stands at one path. Raises Unfit where none do."""
        blob = look(self.root, path)
        staged = self.staged.get(path)
        here: Entry | None = None
        if blob is not None:
            here = (blob.mode, blob.oid(self.digits))
        if not (self._stored(path, here) if here else self._gone(path, staged)):
            raise _NOT_HELD
        oids = {here[1]} if here else set()
        if staged and staged.new and not staged.unmerged and staged.new != here:
            # Only the index holds it: who looks at the working tree alone would lose it.
            if staged.new not in self.index_only.files.get(path, ()):
                raise _NOT_HELD
            oids.add(staged.new[1])
        return oids

    def _stored(self, path: bytes, here: Entry) -> bool:
        return here in self.worktree.files.get(path, ()) or self.newest.get(path) == here

    def _gone(self, path: bytes, staged: Change | None) -> bool:
        """Whether a ref says that nothing stands at `path`."""
        if self.index.get(path) == SUBMODULE:
            return False
        only_staged = staged is not None and staged.old is None and staged.new is not None
        return path in self.worktree.removed or only_staged

    @property
    def digits(self) -> int:
        return len(self.refs[-1].commit)

    @cached_property
    def staged(self) -> dict[bytes, Change]:
        return self.repository.staged(self.repository.head())

    @cached_property
    def index(self) -> dict[bytes, bytes]:
        return self.repository.index()

    @cached_property
    def untracked(self) -> tuple[tuple[bytes, ...], GitFailed | None]:
        return self.repository.untracked()

    @cached_property
    def worktree(self) -> Held:
        pairs = ((ref.commit, *ref.parents[:1]) for ref in self.refs)
        return Held.of(self.repository.differences(pairs))

    @cached_property
    def index_only(self) -> Held:
        pairs = ((ref.parents[1], ref.parents[0]) for ref in self.refs if len(ref.parents) > 1)
        return Held.of(self.repository.differences(pairs))

    @cached_property
    def newest(self) -> dict[bytes, Entry]:
        """All that the newest commit holds, also what it took over from HEAD: a file can be as
        HEAD has it and be reported, for what the index holds of it."""
        return self.repository.tree(self.refs[-1].commit)


def readable(repository: Repository, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Those blobs that are there and hash to their name, with their bytes; few at a time."""
    batch: list[bytes] = []
    total = 0
    for oid, size in repository.sizes(oids).items():
        if batch and total + size > _BATCH_BYTES:
            yield from _read(repository, batch)
            batch, total = [], 0
        batch.append(oid)
        total += size
    yield from _read(repository, batch)


def _read(repository: Repository, oids: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    if not oids:
        return
    try:
        found = list(repository.blobs(oids))
    except GitFailed as failure:
        if len(oids) == 1 or failure.code == "deadline":
            return
        half = len(oids) // 2  # git ends at the first damaged object, and the others are whole
        yield from _read(repository, oids[:half])
        yield from _read(repository, oids[half:])
        return
    for oid, data in found:
        if blob_oid(data, len(oid)) == oid:
            yield oid, data
