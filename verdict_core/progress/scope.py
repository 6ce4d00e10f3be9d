"""The guard scope: what of a workspace nobody may change while an episode runs.

In: a scope as text, a workspace, declared ignores. Out: a `GuardScope`, or `ScopeRefused`.
Laws: a scope lies inside its workspace and guards something; all below its root is guarded, except
version-control metadata, the harness home's own directories and what was declared. (SPEC PG-SCOPE)
"""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from attrs import field, frozen

from verdict_core.errors import ROOT, ScopeRefused

GLOB_CHARACTERS = frozenset("*?[{")

HARNESS_DIRECTORIES = ("sessions", "storages", "logs", "telemetry", "cache", "profiles")
"""What a harness keeps writing at the top of its home. (SPEC PG-SCOPE-8)"""

METADATA = frozenset({".git", ".hg", ".svn"})
"""Version-control metadata, as a directory or as a file, at any depth. (SPEC PG-SCOPE-9)"""

_ANY_DEPTH = "**"


@frozen
class Ignore:
    """One declared ignore. `NAME/` fits a directory at any depth whose name fits NAME; anything
    else is a glob over the path from the workspace, a component at a time: `**` fits any number of
    components, none too, and another component fits as `fnmatch.fnmatchcase` says. A trailing
    slash fits directories alone. All below what fits is ignored. (SPEC PG-SCOPE-10)"""

    parts: tuple[str, ...]
    directories_only: bool

    def fits(self, path: str, is_directory: bool) -> bool:
        """Whether the entry at `path`, from the workspace, is ignored by itself."""
        if self.directories_only and not is_directory:
            return False
        return _fits(path.split("/"), self.parts)


@frozen
class GuardScope:
    """A scope that was accepted. `text` and `ignores` are as given, `workspace` is absolute with
    links resolved. Paths are bytes, from the workspace, spelled as the disk spells them; `b"."` is
    the workspace itself. `links` are the symbolic links that the text passes through on its way to
    `root`, `left_out` what a harness keeps at the root's top. (SPEC PG-SCOPE-2)"""

    text: str
    workspace: Path
    root: bytes
    links: tuple[bytes, ...] = ()
    left_out: tuple[bytes, ...] = ()
    ignores: tuple[str, ...] = ()
    _rules: tuple[Ignore, ...] = field(init=False, repr=False, eq=False)

    @_rules.default
    def _parsed(self) -> tuple[Ignore, ...]:
        return tuple(_parse(ignore, self.text) for ignore in self.ignores)

    @property
    def path(self) -> Path:
        """The root as an absolute path."""
        return self.workspace / os.fsdecode(self.root)

    def leaves_out(self, path: str) -> bool:
        """Whether the entry at `path` is metadata, or the harness's own. (SPEC PG-SCOPE-8, 9)"""
        if path.rpartition("/")[2] in METADATA:
            return True
        return bool(self.left_out) and os.fsencode(path) in self.left_out

    def ignores_entry(self, path: str, is_directory: bool) -> bool:
        """Whether a declared ignore fits the entry at `path`. What stands below such an entry is
        ignored with it, and is not asked about. (SPEC PG-SCOPE-10)"""
        return bool(self._rules) and any(rule.fits(path, is_directory) for rule in self._rules)


def resolve(
    scope: str | None,
    workspace: Path,
    *,
    state_dir: Path | None = None,
    harness_home: Path | None = None,
    ignores: Sequence[str] = (),
) -> GuardScope:
    """The guard scope that `scope` names in `workspace`.

    Its root is the leading whole components without `* ? [ {`; what follows says what was meant
    and narrows nothing. `state_dir` is where the episode writes, `harness_home` the directory that
    a harness keeps its own state in; neither need exist. Raises ScopeRefused, the first of:
    scope_required, scope_absolute, scope_parent, scope_outside_workspace, scope_missing,
    bad_ignore, scope_empty, state_inside_scope. (SPEC PG-SCOPE-1 to PG-SCOPE-10)
    """
    text, parts = _read(scope)
    top = Path(os.path.realpath(workspace))
    try:
        root = _inside(text, top, parts)
        mode = os.stat(top.joinpath(*root)).st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL, or what no file name can hold
        message = f"there is no root to guard: {error}"
        raise ScopeRefused(message, path=text, code="scope_missing") from None
    left_out = _left_out(top, root, harness_home) if harness_home else ()
    links = _links(top, parts)
    found = GuardScope(text, top, _bytes(root), tuple(links), tuple(left_out), tuple(ignores))
    if not _guards_something(found, root, stat.S_ISDIR(mode)):
        raise ScopeRefused("nothing is left to guard below it", path=text)
    if state_dir and _below(Path(os.path.realpath(state_dir)), found.path) is not None:
        message = f"the state directory {state_dir} is inside it, and every episode writes there"
        raise ScopeRefused(message, path=text, code="state_inside_scope")
    return found


def _read(scope: str | None) -> tuple[str, tuple[str, ...]]:
    """The text and the components of its root, still as given."""
    if scope is None or not scope.strip():
        message = "a guard scope is required: a path or glob from the workspace, such as src/**"
        raise ScopeRefused(message, path=scope or ROOT, code="scope_required")
    if scope.startswith("/"):
        message = "a guard scope is a path from the workspace"
        raise ScopeRefused(message, path=scope, code="scope_absolute")
    parts = [part for part in scope.split("/") if part not in ("", ".")]
    if ".." in parts:
        message = "a guard scope does not climb with .."
        raise ScopeRefused(message, path=scope, code="scope_parent")
    globs = (n for n, part in enumerate(parts) if not GLOB_CHARACTERS.isdisjoint(part))
    return scope, tuple(parts[: next(globs, None)])


def _inside(text: str, top: Path, parts: tuple[str, ...]) -> tuple[str, ...]:
    """The root's components, links resolved, as the disk spells them. (SPEC PG-SCOPE-5, 7)"""
    real = Path(os.path.realpath(top.joinpath(*parts)))
    inner = _below(real, top)
    if inner is None:
        message = f"it resolves to {real}, not below {top}"
        raise ScopeRefused(message, path=text, code="scope_outside_workspace")
    spelled = top
    for name in inner:
        spelled /= _spelled(spelled, name)
    return spelled.parts[len(top.parts) :]


def _below(path: Path, ancestor: Path) -> tuple[str, ...] | None:
    """The components that lead from `ancestor` to `path`, none when they are the same directory,
    or None when it is not below. Told by identity: a disk may accept many spellings."""
    for folder in (path, *path.parents):
        if folder == ancestor or _same(folder, ancestor):
            return path.parts[len(folder.parts) :]
    return None


def _links(top: Path, parts: tuple[str, ...]) -> Iterator[bytes]:
    for count in range(1, len(parts) + 1):
        if top.joinpath(*parts[:count]).is_symlink():
            yield _bytes(parts[:count])


def _left_out(top: Path, root: tuple[str, ...], home: Path) -> Iterator[bytes]:
    """The harness's own directories where the root is its home. (SPEC PG-SCOPE-8)"""
    path = top.joinpath(*root)
    if _same(path, Path(os.path.realpath(home))):
        for name in HARNESS_DIRECTORIES:
            if os.path.lexists(path / name):
                yield _bytes((*root, _spelled(path, name)))


def _spelled(folder: Path, name: str) -> str:
    """The name under which the disk lists what it finds as `name`. Spellings are not compared:
    which ones a disk takes for one name, only (dev, ino) proves. (SPEC PG-SCOPE-7)"""
    try:
        names = os.listdir(folder)
    except OSError:  # searchable and not listable: the spelling as given is all there is
        return name
    if name in names:
        return name
    return next((other for other in names if _same(folder / other, folder / name)), name)


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False


def _guards_something(scope: GuardScope, root: tuple[str, ...], is_directory: bool) -> bool:
    for count in range(1, len(root) + 1):
        path = "/".join(root[:count])
        if scope.leaves_out(path) or scope.ignores_entry(path, is_directory or count < len(root)):
            return False
    return not is_directory or _has_guarded_entry(scope, root)


def _has_guarded_entry(scope: GuardScope, root: tuple[str, ...]) -> bool:
    try:
        with os.scandir(scope.path) as listing:
            for entry in listing:
                path = "/".join((*root, entry.name))
                is_directory = entry.is_dir(follow_symlinks=False)
                if not scope.leaves_out(path) and not scope.ignores_entry(path, is_directory):
                    return True
    except OSError:  # what cannot be listed is a gap of the fingerprint, not an empty scope
        return True
    return False


def _parse(ignore: str, scope: str) -> Ignore:
    body = ignore.removesuffix("/")
    parts = tuple(body.split("/"))
    if not {"", ".", ".."}.isdisjoint(parts):
        message = f"the ignore {ignore!r} is neither NAME/ nor a plain path or glob"
        raise ScopeRefused(message, path=scope, code="bad_ignore")
    if "{" in body:
        message = f"the ignore {ignore!r} has braces: declare each alternative (? fits a brace)"
        raise ScopeRefused(message, path=scope, code="bad_ignore")
    directories_only = body != ignore
    if directories_only and len(parts) == 1:
        parts = (_ANY_DEPTH, *parts)
    return Ignore(parts, directories_only)


def _fits(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether components fit a glob. Where one does not, the last `**` takes one more: no
    recursion, and no more than their product in steps, however deep the path."""
    name = part = taken = 0
    star: int | None = None
    while name < len(names):
        if part < len(pattern) and pattern[part] == _ANY_DEPTH:
            star, taken = part, name
            part += 1
        elif part < len(pattern) and fnmatchcase(names[name], pattern[part]):
            name += 1
            part += 1
        elif star is not None:
            taken += 1
            name, part = taken, star + 1
        else:
            return False
    return all(rest == _ANY_DEPTH for rest in pattern[part:])


def _bytes(parts: Sequence[str]) -> bytes:
    return os.fsencode("/".join(parts) or ".")
