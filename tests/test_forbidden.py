"""The walk over Python values. (SPEC CV-KEY)"""

import collections
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import attrs
import pytest

from verdict_core import FORBIDDEN_KEYS, ForbiddenKey, WrongType, forbidden, refuse_forbidden
from verdict_core.errors import child
from verdict_core.forbidden import FORBIDDEN_GROUPS, _harmless, folded, is_forbidden


def refusal(payload: Any) -> ForbiddenKey:
    with pytest.raises(ForbiddenKey) as caught:
        refuse_forbidden(payload)
    return caught.value


def test_there_are_35_names_in_five_groups_of_seven(spec: str) -> None:
    assert len(FORBIDDEN_KEYS) == len(set(map(folded, FORBIDDEN_KEYS))) == 35
    assert [len(names) for names in FORBIDDEN_GROUPS.values()] == [7] * 5
    for group, names in FORBIDDEN_GROUPS.items():
        assert f"| {group} | {', '.join(names)} |" in spec


@attrs.frozen
class Outer:
    inner: Any


@attrs.define(slots=False)
class Selecting:
    selected: Any = 1


@attrs.frozen
class Untouched:
    """A field that was never set is still a name."""

    drop: Any = attrs.field(init=False)


class Pair(NamedTuple):
    one: Any
    two: Any


SHAPES: list[tuple[Any, str]] = [
    ({"perBlock": 1}, "$.perBlock"),
    ([{"perBlock": 1}], "$[0].perBlock"),
    (({"perBlock": 1},), "$[0].perBlock"),
    ({"outer": {"inner": [{"perBlock": 1}]}}, "$.outer.inner[0].perBlock"),
    (collections.OrderedDict(a={"perBlock": 1}), "$.a.perBlock"),
    (types.MappingProxyType({"a": ({"perBlock": 1},)}), "$.a[0].perBlock"),
    (collections.ChainMap({}, {"perBlock": 1}), "$.perBlock"),
    (collections.deque([{"perBlock": 1}]), "$[0].perBlock"),
    (collections.UserDict(perBlock=1), "$.perBlock"),
    (collections.UserList([{"perBlock": 1}]), "$[0].perBlock"),
    (Pair(1, {"perBlock": 1}), "$[1].perBlock"),
    (Outer({"perBlock": 1}), "$.inner.perBlock"),
    ([Outer(Selecting())], "$[0].inner.selected"),
    (Untouched(), "$.drop"),
    ({"a": [Outer([Selecting()])]}, "$.a[0].inner[0].selected"),
]


@pytest.mark.parametrize(("payload", "path"), SHAPES)
def test_a_name_is_found_in_every_container(payload: Any, path: str) -> None:
    """CV-KEY-3."""
    error = refusal(payload)
    assert error.path == path
    assert error.key == path.rsplit(".", 1)[1]


def nested(innermost: Any, wrap: Callable[[Any], Any], levels: int) -> Any:
    for _ in range(levels):
        innermost = wrap(innermost)
    return innermost


def test_each_name_is_found_100000_levels_deep() -> None:
    """CV-KEY-3: without recursion, in a value that no parser would have let in."""
    innermost: dict[str, int] = {}
    payload = nested(innermost, lambda value: [value], 100_000)
    refuse_forbidden(payload)
    for name in FORBIDDEN_KEYS:
        innermost[name] = 1
        assert refusal(payload).path == "$" + "[0]" * 100_000 + f".{name}"
        innermost.clear()


@pytest.mark.parametrize("wrap", [lambda v: {"a": v}, lambda v: (v,), lambda v: [{"b": (v, 1)}]])
def test_depth_is_the_same_in_every_container(wrap: Callable[[Any], Any]) -> None:
    assert refusal(nested({"perBlock": 1}, wrap, 10_000)).key == "perBlock"


def test_a_cycle_is_walked_once() -> None:
    loop: list[Any] = [1]
    loop.append({"self": loop})
    refuse_forbidden(loop)
    loop.append({"keep": 1})
    assert refusal(loop).path == "$[2].keep"


def test_a_container_that_is_shared_at_every_level_is_walked_once() -> None:
    shared: Any = []
    for _ in range(200):
        shared = [shared, shared]
    refuse_forbidden(shared)
    assert refusal([shared, {"drop": 1}]).path == "$[1].drop"


class Making(collections.UserDict[str, Any]):
    """A mapping that makes its values as it is read, so that ids come again."""

    def __getitem__(self, key: str) -> Any:
        return [{"drop": 1}] if key == "z" else [{"a": 1}]


def test_values_made_while_they_are_read_are_each_looked_at() -> None:
    """CV-KEY-3."""
    payload = Making({f"k{i}": None for i in range(50)} | {"z": None})
    assert refusal([payload] + [[] for _ in range(200_001)]).path == "$[0].z[0].drop"


@pytest.mark.parametrize("key", [1, None, ("a",), b"keep", True, 1.5])
def test_a_key_that_is_no_string_is_refused(key: Any) -> None:
    """CV-KEY-5."""
    with pytest.raises(WrongType) as caught:
        refuse_forbidden({"a": {key: 1}})
    assert caught.value.path == child("$.a", repr(key))


@pytest.mark.parametrize("key", ["ra\nnk", "ra\nnk\n", "\n\nrank", "r\na\nnk\n", "\n\nrank\n\n"])
@pytest.mark.parametrize("others", [(), ("a",), ("a", "b", "c")])
def test_line_feeds_in_a_key_hide_nothing(key: str, others: tuple[str, ...]) -> None:
    """CV-KEY-2: keys are folded together, with line feeds between them."""
    assert refusal(dict.fromkeys([*others, key])).key == key


def test_the_first_in_document_order_is_named_before_a_key_that_is_no_string() -> None:
    assert refusal({"a": [{"keep": 1}], 7: 1}).path == "$.a[0].keep"
    with pytest.raises(WrongType):
        refuse_forbidden({7: {"keep": 1}})


@pytest.mark.parametrize("leaf", [None, True, 0, 1.5, "keep", b"keep", bytearray(b"x"), object()])
def test_a_leaf_has_no_names(leaf: Any) -> None:
    refuse_forbidden(leaf)
    refuse_forbidden([leaf, {"a": leaf}])


@pytest.mark.parametrize(
    ("key", "forbidden"),
    [
        ("perBlock", True),
        ("per_block", True),
        ("PER-BLOCK", True),
        ("\uff50\uff45\uff52Block", True),
        ("per\u200bBlock", True),
        ("perBlock\ufeff", True),
        ("pe\nrBlock", True),
        ("\u2002K e e p!", True),
        ("\u212aeep", True),  # KELVIN SIGN folds to k
        ("perBl\u043eck", False),  # Cyrillic o
        ("keep2", False),
        ("keep\u00b2", False),
        ("blocking", False),
        ("", False),
    ],
)
def test_a_key_is_compared_by_its_folded_form(key: str, forbidden: bool) -> None:
    """CV-KEY-2, CV-KEY-5, also when many keys are looked at in one piece."""
    assert is_forbidden(key) is forbidden
    for payload in ({key: 1}, {"x": 1, key: 1, "y": 2}, {"é": 1, key: 1}, {"a\nb": 1, key: 1}):
        if forbidden:
            assert refusal(payload).key == key
        else:
            refuse_forbidden(payload)


def test_the_memory_of_harmless_names_is_bounded() -> None:
    for start in range(0, 20_000, 1_000):
        refuse_forbidden({f"key {i}": 1 for i in range(start, start + 1_000)})
        assert len(_harmless) <= 4_096
    refuse_forbidden({f"other {i}": 1 for i in range(10_000)})
    assert len(_harmless) <= 4_096
    assert refusal({f"other {i}": 1 for i in range(10_000)} | {"evict": 1}).path == "$.evict"


def test_the_memory_is_emptied_only_when_the_next_names_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forbidden, "_HARMLESS_LIMIT", 3)
    _harmless.clear()
    refuse_forbidden([{"a": 1, "b": 1}, {"c": 1}])
    assert _harmless == {"a", "b", "c"}
    refuse_forbidden({"d": 1})
    assert _harmless == {"d"}


def test_a_harmless_payload_is_never_walked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact walk, and folding name by name, are for the few payloads that need them."""
    monkeypatch.setattr(forbidden, "_refuse_first", pytest.fail)
    monkeypatch.setattr(forbidden, "is_forbidden", pytest.fail)
    _harmless.clear()
    new = iter(f"name {n}" for n in range(9))
    inner = types.MappingProxyType({next(new): 1, next(new): [{next(new): 2}]})
    refuse_forbidden({next(new): [inner, Outer(1)], next(new): (), next(new): "text"})
