"""The 35 names that no payload may bear, and the walk that refuses them.

In: any nest of mappings, sequences and attrs instances. Out: nothing, or a refusal that names the
path. Law: names are refused at any depth and in any spelling; they are never stripped, and values
are never read. (SPEC CV-KEY)
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from verdict_core.errors import ROOT, ForbiddenKey, WrongType, child

FORBIDDEN_GROUPS: Mapping[str, tuple[str, ...]] = {
    "blocks": ("block", "blocks", "blockId", "blockIds", "blockIndex", "blockIndices", "perBlock"),
    "smaller units": (
        "perMessage", "messageIds", "perTurn", "turnIds", "perChunk", "chunkIds", "segments",
    ),
    "choosing": ("select", "selected", "selection", "pick", "picks", "filter", "screen"),
    "removing": ("drop", "dropped", "droppable", "discard", "prune", "evict", "remove"),
    "ranking": ("keep", "retain", "rank", "ranking", "importance", "relevance", "salience"),
}  # fmt: skip
FORBIDDEN_KEYS: tuple[str, ...] = tuple(chain.from_iterable(FORBIDDEN_GROUPS.values()))

_TEXT = (str, bytes, bytearray, memoryview)
_LEAF_TYPES = frozenset((str, int, float, bool, type(None), bytes))
# A walk that forgets what it saw is cheaper, but a cycle, or a container shared at every level,
# would keep it going: past this many containers the exact walk takes over.
_UNTRACKED = 200_000


def folded(key: str) -> str:
    """A key as it is compared: NFKC, full case folding, and only letters and numbers of it.
    (SPEC CV-KEY-2)"""
    text = unicodedata.normalize("NFKC", key).casefold()
    return "".join(c for c in text if unicodedata.category(c)[0] in "LN")


_FOLDED = frozenset(map(folded, FORBIDDEN_KEYS))
_FOLDED_ASCII = frozenset(name.encode() for name in _FOLDED)
_SEPARATOR = "\n"
_ASCII_DROPPED = bytes(
    code for code in range(128) if not chr(code).isalnum() and chr(code) != _SEPARATOR
)
# Spellings already found harmless. Payloads repeat a few keys; folding each of them once is what
# makes the walk cheaper than the parse. Bounded, so that hostile keys cannot fill the memory.
_HARMLESS_LIMIT = 4096
_harmless: set[str] = set()


def is_forbidden(name: str) -> bool:
    """Whether a name folds to one of the 35. (SPEC CV-KEY-2)"""
    return folded(name) in _FOLDED


def refuse_forbidden(payload: Any) -> None:
    """Refuse a payload that bears a forbidden name as a key or an attrs field, at any depth.

    The walk is depth first in document order, a key before its value, each container once, without
    recursion. Raises ForbiddenKey, or WrongType for a key that is no string. (SPEC CV-KEY-1)
    """
    if _suspicious(payload):
        _refuse_first(payload)


def _suspicious(payload: Any) -> bool:
    """Whether the exact walk has to look: without order, paths, or a memory of what was seen."""
    harmless, leaf = _harmless.issuperset, _LEAF_TYPES
    stack = [payload]
    push = stack.append
    for _ in range(_UNTRACKED):
        if not stack:
            return False
        value = stack.pop()
        if type(value) is dict:
            if not harmless(value) and not _learn(value):
                return True
            items: Iterable[Any] = value.values()
        elif type(value) is list:
            items = value
        else:
            named, pairs = _members(value)
            members = list(pairs)
            if named and not _learn(key for key, _ in members):
                return True
            items = (item for _, item in members)
        for item in items:
            if type(item) is not str and type(item) not in leaf:
                push(item)
    return True


def _learn(names: Iterable[Any]) -> bool:
    """Add unknown spellings to the harmless ones; false if one is forbidden or no string."""
    unknown = set(names).difference(_harmless)
    if not all(isinstance(key, str) for key in unknown) or not _none_forbidden(unknown):
        return False
    if len(_harmless) + len(unknown) > _HARMLESS_LIMIT:
        _harmless.clear()
    _harmless.update(islice(unknown, _HARMLESS_LIMIT))
    return True


def _none_forbidden(keys: set[str]) -> bool:
    """`is_forbidden` of many keys at the price of few: ASCII ones are folded in one piece."""
    joined = _SEPARATOR.join(keys)
    if joined.isascii() and joined.count(_SEPARATOR) == len(keys) - 1:
        folds = joined.encode().lower().translate(None, _ASCII_DROPPED).split(_SEPARATOR.encode())
        return _FOLDED_ASCII.isdisjoint(folds)
    return not any(map(is_forbidden, keys))


def _refuse_first(payload: Any) -> None:
    """Raise for the first offending name in document order; the exact and slower walk."""
    # The containers themselves, not only their ids: a mapping may make its values as it is read,
    # and the id of one that is gone is given to the next.
    seen = {id(payload): payload}
    steps: list[Any] = []
    stack = [_members(payload)]
    while stack:
        named, members = stack[-1]
        for key, value in members:
            if named:
                if not isinstance(key, str):
                    raise WrongType("a key is a string", path=_path([*steps, repr(key)]))
                if is_forbidden(key):
                    raise ForbiddenKey(_path([*steps, key]), key)
            if type(value) not in _LEAF_TYPES and id(value) not in seen:
                seen[id(value)] = value
                steps.append(key)
                stack.append(_members(value))
                break
        else:
            stack.pop()
            del steps[-1:]


def _path(steps: Iterable[Any]) -> str:
    return ROOT + "".join(child("", step) for step in steps)


def _members(value: Any) -> tuple[bool, Iterator[tuple[Any, Any]]]:
    """Whether the members of a container are named, and the members in document order."""
    if isinstance(value, list):
        return False, enumerate(value)
    if isinstance(value, Mapping):
        return True, iter(value.items())
    fields = getattr(type(value), "__attrs_attrs__", None)
    if fields is not None:
        return True, ((field.name, getattr(value, field.name, None)) for field in fields)
    is_nest = isinstance(value, Sequence) and not isinstance(value, _TEXT)
    return False, enumerate(value if is_nest else ())
