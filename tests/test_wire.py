"""Strict JSON in, canonical bytes out. (SPEC CV-WIRE, CV-DIGEST)"""

import re
from types import MappingProxyType
from typing import Any

import pytest
import rfc8785

from verdict_core import wire
from verdict_core.errors import BadValue, InvalidJson, MissingField, UnknownField, WrongType


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        (b'{"a": 1, "a": 2}', "duplicate_key", None),
        (b'["\\udc88"]', "lone_surrogate", None),
        (b"[1,\n\n x]", "invalid_json", 6),
        (b"[1, x]", "invalid_json", 4),
        (b"", "invalid_json", 0),
        (b'["\xff"]', "invalid_utf8", 2),
        (b"\xef\xbb\xbf[]", "byte_order_mark", 0),
        (b"\xef\xbb\xbf" + b"[" * 129, "byte_order_mark", 0),
        (b"9" * 5000, "number_out_of_range", None),
        (b"[" * 129 + b"]" * 129, "too_deep", None),
        (b"[" * 200 + b"\xff", "invalid_utf8", 200),
        (b"[" + b"[]," * 150 + b"[]\n, x]", "invalid_json", 456),
        (b"[" + b"[]," * 150 + b"[]]],[1", "invalid_json", None),
    ],
)
def test_a_refusal_names_the_code_and_the_offset(
    text: bytes, code: str, offset: int | None
) -> None:
    """CV-ERR-1."""
    with pytest.raises(InvalidJson) as caught:
        wire.parse(text)
    assert (caught.value.code, caught.value.path) == (code, "$")
    place = re.search(r" at offset (\d+)", caught.value.message)
    assert place is not None or code == "invalid_json"
    if offset is not None and place is not None:
        assert int(place[1]) == offset


def test_text_may_be_given_as_a_string() -> None:
    """CV-WIRE-3."""
    assert wire.parse('{"a": ["é"]}') == {"a": ["é"]}
    with pytest.raises(InvalidJson) as caught:
        wire.parse('"\udc88"')
    assert caught.value.code == "lone_surrogate"


def test_nan_is_read_only_where_it_has_a_code_of_its_own() -> None:
    with pytest.raises(InvalidJson):
        wire.parse(b"[NaN]")
    (value,) = wire.parse(b"[NaN]", allow_nan=True)
    assert value != value


def test_the_depth_of_the_parser_is_ours() -> None:
    """A later parser may have another limit of its own; ours is measured against it."""
    assert wire._PADDING >= 0
    assert wire.parse(b"[" + b"[]," * 200 + b"[]]") == [[]] * 201
    for depth, sound in ((127, True), (128, True), (129, False), (200, False)):
        text = b'{"a":[' * (depth // 2) + b"[]" * (depth % 2) + b"]}" * (depth // 2)
        if sound:
            wire.parse(text)
        else:
            with pytest.raises(InvalidJson, match="too_deep"):
                wire.parse(text)


@pytest.mark.parametrize(
    "value",
    [
        {"b": ["x", "é\u2028\u007f/"], "a": {"z": None, "y": True, "A": False}},
        {"n": [0, 1, 2**53 - 1, -(2**53) + 1], "s": '\x00\x1f\b\t\n\f\r"\\\U0001f600'},
        "",
        [],
        {},
    ],
)
def test_canonical_bytes_are_those_of_rfc_8785(value: Any) -> None:
    assert wire.canonical(value) == rfc8785.dumps(value)


def test_a_string_is_quoted_as_rfc_8785_quotes_it() -> None:
    """CV-STATE-2."""
    every = "".join(map(chr, range(0x300)))
    assert wire.quoted(every).encode() == rfc8785.dumps(every)


def test_compact_keeps_the_order() -> None:
    assert wire.compact({"b": 1, "a": 2}) == b'{"b":1,"a":2}'


def test_the_digest_is_sha256_in_lower_case() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert wire.digest(b"") == f"sha256:{empty}"


SLOTS = {"a": wire.text, "b": wire.integer}


def test_a_closed_object_gives_its_members() -> None:
    given = {"b": 1, "a": "x"}
    assert wire.closed(given, "$", SLOTS) == {"a": "x", "b": 1}
    assert wire.closed(MappingProxyType(given), "$", SLOTS) == given


@pytest.mark.parametrize(
    ("value", "error", "path"),
    [
        ([], WrongType, "$.doc"),
        ({"a": "x"}, MissingField, "$.doc.b"),
        ({"a": "x", "b": 1, "c d": 1}, UnknownField, "$.doc['c d']"),
        ({"b": "x", "a": 1}, WrongType, "$.doc.b"),
        ({"a": "", "b": -1}, BadValue, "$.doc.a"),
    ],
)
def test_a_closed_object_names_its_first_fault(value: Any, error: Any, path: str) -> None:
    with pytest.raises(error) as caught:
        wire.closed(value, "$.doc", SLOTS)
    assert caught.value.path == path


class Word(str):
    """A string of another class is a string."""


def test_texts_are_kept_as_they_are() -> None:
    given = [" a ", "b", "b", Word("c"), "\U0001f600"]
    assert wire.texts(given, "$") == tuple(given)
    assert wire.texts((), "$") == ()


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ("ab", "wrong_type", "$.x"),
        ({"a": 1}, "wrong_type", "$.x"),
        (None, "wrong_type", "$.x"),
        (["a", 1], "wrong_type", "$.x[1]"),
        (["a", None], "wrong_type", "$.x[1]"),
        (["a", "", 1], "bad_value", "$.x[1]"),
        (["a", "\udc88"], "lone_surrogate", "$.x[1]"),
        # Two halves of a pair in two items are no pair.
        (["\ud83d", "\ude00"], "lone_surrogate", "$.x[0]"),
    ],
)
def test_texts_name_their_first_fault(value: Any, code: str, path: str) -> None:
    with pytest.raises((WrongType, BadValue)) as caught:
        wire.texts(value, "$.x")
    assert (caught.value.code, caught.value.path) == (code, path)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (True, "a boolean"),
        ("x", "a string"),
        (1, "a number"),
        (0.5, "a number"),
        ({}, "an object"),
        ([], "a list"),
        ((), "a list"),
        (None, "null"),
        (b"", "bytes"),
    ],
)
def test_kinds_have_the_names_of_json(value: Any, name: str) -> None:
    assert wire.kind(value) == name
