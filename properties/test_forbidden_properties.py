"""The promises about forbidden names. (SPEC CV-KEY)"""

import itertools
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verdict_core.conformance.door import EMPTY, claimed
from verdict_core.conformance.strategies import dump, forbidden_names, spellings, values
from verdict_core.conformance.subject import Refused, Script, Subject

# The list as SPEC section 7 has it, written down a second time on purpose: a name that is lost
# from the code is found here.
NAMES = [
    "block",
    "blocks",
    "blockId",
    "blockIds",
    "blockIndex",
    "blockIndices",
    "perBlock",
    "perMessage",
    "messageIds",
    "perTurn",
    "turnIds",
    "perChunk",
    "chunkIds",
    "segments",
    "select",
    "selected",
    "selection",
    "pick",
    "picks",
    "filter",
    "screen",
    "drop",
    "dropped",
    "droppable",
    "discard",
    "prune",
    "evict",
    "remove",
    "keep",
    "retain",
    "rank",
    "ranking",
    "importance",
    "relevance",
    "salience",
]


def as_is(name: str) -> str:
    return name


def snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def spaced_out(name: str) -> str:
    return "-".join(name)


def full_width(name: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) for c in name)


def zero_width(name: str) -> str:
    return "\u200b".join(name) + "\ufeff"


def accented(name: str) -> str:
    """A combining mark that composes with no letter: a mark, and marks are dropped."""
    return name + "\u0338"


SPELLINGS = (as_is, str.upper, str.lower, snake, spaced_out, full_width, zero_width, accented)

SHAPES: dict[str, Any] = {
    "at the top": lambda bad: ("$", bad),
    "in an object": lambda bad: ("$.a", {"a": bad}),
    "in a list": lambda bad: ("$[1]", [1, bad]),
    "in a list in an object": lambda bad: ("$.outer.inner[0]", {"outer": {"inner": [bad, bad]}}),
    "under a key to be bracketed": lambda bad: ("$['a b'][0][0]", {"a b": [[bad]]}),
    "after a harmless brother": lambda bad: ("$.b", {"a": {"c": []}, "b": bad}),
    "as deep as a document goes": lambda bad: ("$" + "[0]" * 126, nest(bad, 126)),
}


def nest(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def member(path: str, key: str) -> str:
    """The path of a member, by a second hand. (CV-ERR-2)"""
    if key.isascii() and key.isidentifier():
        return f"{path}.{key}"
    return path + "['" + key.replace("\\", "\\\\").replace("'", "\\'") + "']"


def test_there_are_exactly_35_names() -> None:
    assert len(set(NAMES)) == 35


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spell", SPELLINGS)
def test_every_name_is_refused_with_its_path_in_every_shape_and_spelling(
    subject: Subject, shape: str, spell: Any
) -> None:
    """CV-KEY-1, CV-KEY-2, CV-ERR-2, CV-KEY-3."""
    values: tuple[Any, ...] = (None, [], {"x": 1}, "text")
    for name, value in itertools.product(NAMES, values):
        key = spell(name)
        path, document = SHAPES[shape]({key: value})
        refused = subject.forbidden(dump(document))
        clause = "CV-KEY-1" if spell is as_is else "CV-KEY-2"
        assert isinstance(refused, Refused), clause
        assert refused.code == "forbidden_key", clause
        assert refused.path == member(path, key), "CV-ERR-2, CV-KEY-3"


@pytest.mark.parametrize(
    "key",
    ["perBl\u043eck", "blocked", "a block", "dropper", "keepers", "", "filters", "message", "0"],
)
def test_other_names_and_look_alikes_pass_the_walk(subject: Subject, key: str) -> None:
    """CV-KEY-2: what is not one of the 35 is the closed field set's to refuse."""
    assert subject.forbidden(dump({"a": [{key: 1}]})) == {}


@given(st.sampled_from(NAMES).flatmap(spellings), values())
def test_any_spelling_is_refused(subject: Subject, key: str, value: Any) -> None:
    """CV-KEY-2."""
    refused = subject.forbidden(dump({key: value}))
    assert refused == Refused("forbidden_key", member("$", key))


@given(values(), forbidden_names())
def test_values_are_never_read(subject: Subject, value: Any, word: str) -> None:
    """CV-KEY-3: a name that stands as a value is only text."""
    assert subject.forbidden(dump([word, {"text": word, "value": value}])) == {}


@given(values(), forbidden_names(), forbidden_names())
def test_the_first_in_document_order_is_named(
    subject: Subject, before: Any, first: str, second: str
) -> None:
    """CV-KEY-3: depth first, a key before its value."""
    assume(first != second)
    document = {"a": before, "b": [{first: {second: 1}}], second: 1}
    refused = subject.forbidden(dump(document))
    assert refused == Refused("forbidden_key", member("$.b[0]", first))


@given(st.sampled_from(NAMES).flatmap(spellings))
def test_no_payload_is_stripped(subject: Subject, key: str) -> None:
    """CV-KEY-1, CV-KEY-4: each kind of payload is refused, wherever the name stands."""
    top = Refused("forbidden_key", member("$", key))
    payloads = {
        "build": {**EMPTY, key: []},
        "request": {key: 1},
        "answer": {"choice": "wait", "score": 0, key: 1},
    }
    for name in claimed(subject, *payloads, "judge"):
        if name == "judge":
            document = dump({"summary": {**EMPTY, key: []}, "state": {}})
            refused, requests = subject.judge(document, script=Script(detail="timeout"))
            assert refused == Refused("forbidden_key", member("$.summary", key))
            assert requests == ()
        else:
            assert getattr(subject, name)(dump(payloads[name])) == top


def test_a_forbidden_name_is_found_before_any_other_fault(subject: Subject) -> None:
    """CV-ERR-3: before structure, after JSON."""
    assert subject.build(b'{"odd": 1, "keep": 2}') == Refused("forbidden_key", "$.keep")
    assert subject.build(b'{"keep": 2, "a": 1,}') == Refused("invalid_json", "$")
