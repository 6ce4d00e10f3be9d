"""The promises about strict JSON. (SPEC CV-WIRE, CV-ERR-3)"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict_core.conformance.door import EMPTY, built, claimed
from verdict_core.conformance.strategies import dump, summaries
from verdict_core.conformance.subject import Refused, Subject

GOOD = dump(EMPTY)

BAD: list[tuple[str, bytes, str]] = [
    ("an empty text", b"", "invalid_json"),
    ("white space alone", b" \n", "invalid_json"),
    ("a truncated text", GOOD[:-1], "invalid_json"),
    ("two values", GOOD + GOOD, "invalid_json"),
    ("text after the value", GOOD + b" x", "invalid_json"),
    ("a comment", b"/* */" + GOOD, "invalid_json"),
    ("a trailing comma", b"[1,]", "invalid_json"),
    ("single quotes", b"{'a': 1}", "invalid_json"),
    ("NaN", b'{"todos": NaN}', "invalid_json"),
    ("Infinity", b'{"todos": [Infinity]}', "invalid_json"),
    ("minus Infinity", b'{"todos": [-Infinity]}', "invalid_json"),
    ("a leading zero", b'{"todos": 01}', "invalid_json"),
    ("a raw control character", b'{"todos": ["\x01"]}', "invalid_json"),
    ("a raw line feed in a string", b'{"todos": ["\n"]}', "invalid_json"),
    ("a byte order mark", b"\xef\xbb\xbf" + GOOD, "byte_order_mark"),
    ("a byte that is not UTF-8", b'{"todos": ["\xff"]}', "invalid_utf8"),
    ("an encoded surrogate", b'{"todos": ["\xed\xa0\x80"]}', "invalid_utf8"),
    ("an overlong form", b'{"todos": ["\xc0\xaf"]}', "invalid_utf8"),
    ("UTF-16", '{"a": 1}'.encode("utf-16"), "invalid_utf8"),
    ("a lone low surrogate", b'{"todos": ["a\\udc88b"]}', "lone_surrogate"),
    ("a lone high surrogate", b'{"todos": ["a\\ud800b"]}', "lone_surrogate"),
    ("a high surrogate at the end", b'{"todos": ["\\ud800"]}', "lone_surrogate"),
    ("a pair the wrong way round", b'{"todos": ["\\udc00\\ud800"]}', "lone_surrogate"),
    ("a surrogate in a key", b'{"\\udc88": 1}', "lone_surrogate"),
    ("a key that stands twice", b'{"todos": ["x"], "todos": []}', "duplicate_key"),
    ("twice in two spellings", b'{"todos": ["x"], "\\u0074odos": []}', "duplicate_key"),
    ("twice, deep down", b'{"a": [{"b": 1, "b": 1}]}', "duplicate_key"),
    ("twenty thousand brackets", b"[" * 20_000 + b"]" * 20_000, "too_deep"),
    ("brackets that never close", b"[" * 20_000, "too_deep"),
    ("objects and lists, 129 levels", b'{"a":[' * 64 + b"[]" + b"]}" * 64, "too_deep"),
    ("brackets of somebody else's", b"[" + b"[]," * 140 + b"[]]],[1", "invalid_json"),
    ("a bracket too many", b"[" + b"[]," * 140 + b"[]]]", "invalid_json"),
]

# Texts with several faults: which of them is named is free. (CV-ERR-3)
ALSO = {
    b"[" * 20_000: ["invalid_json"],
    '{"a": 1}'.encode("utf-16"): ["invalid_json"],
}
BREAKS = {
    "duplicate_key": "CV-WIRE-2",
    "lone_surrogate": "CV-WIRE-3",
    "too_deep": "CV-WIRE-4",
}


@pytest.mark.parametrize(("text", "code"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_what_is_not_strict_json_is_refused(subject: Subject, text: bytes, code: str) -> None:
    """CV-WIRE-1, CV-WIRE-2, CV-WIRE-3, CV-WIRE-4."""
    codes = {code, *ALSO.get(text, ())}
    for name in claimed(subject, "build", "judge", "request", "forbidden"):
        found = getattr(subject, name)(text)
        refused = found[0] if name == "judge" else found
        if len(codes) == 1:
            assert refused == Refused(code, "$"), BREAKS.get(code, "CV-WIRE-1")
        else:
            assert refused in [Refused(one, "$") for one in codes], BREAKS.get(code, "CV-WIRE-1")


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_128_levels_pass_and_129_do_not(subject: Subject, opening: bytes) -> None:
    """CV-WIRE-4."""
    closing = b"]" if opening == b"[" else b"}"
    inner = b"{}" if opening != b"[" else b"[]"
    deep = opening * 127 + inner + closing * 127
    assert subject.forbidden(deep) == {}
    assert subject.forbidden(opening + deep + closing) == Refused("too_deep", "$")
    branch = opening * 126 + inner + closing * 126
    assert subject.forbidden(b"[" + b",".join([branch] * 3) + b"]") == {}


@given(st.binary(max_size=40))
def test_arbitrary_bytes_give_a_result_or_a_refusal(subject: Subject, data: bytes) -> None:
    """CV-ERR-1: never a crash, and never a state of something that is no summary."""
    assert isinstance(subject.build(data), Refused)


@given(summaries(), st.data())
def test_a_summary_with_a_byte_cut_out_is_never_read_as_another(
    subject: Subject, summary: dict[str, Any], data: st.DataObject
) -> None:
    """CV-WIRE-1: what cannot be read is refused; what can be read is exactly what stands there."""
    whole = dump(summary)
    at = data.draw(st.integers(0, len(whole) - 1))
    result = subject.build(whole[:at])
    assert isinstance(result, Refused)
    assert built(subject, summary) == subject.build(b" " + whole + b"\n")


NUMBERS: list[tuple[Any, str, str]] = [
    (-1, "number_out_of_range", "$.state.count"),
    (2**53, "number_out_of_range", "$.state.count"),
    (10**30, "number_out_of_range", "$.state.count"),
    (0.0, "wrong_type", "$.state.count"),
    (True, "wrong_type", "$.state.count"),
    ("0", "wrong_type", "$.state.count"),
    (None, "wrong_type", "$.state.count"),
    (2**53 - 1, "unbound_state", "$.state.count"),
]


@pytest.mark.parametrize(("count", "code", "path"), NUMBERS)
def test_an_integer_is_an_integer_within_its_range(
    subject: Subject, count: Any, code: str, path: str
) -> None:
    """CV-WIRE-5, CV-WIRE-6: and nought is one."""
    good = {"summary": EMPTY, "state": built(subject, EMPTY)}
    assert not isinstance(subject.judge(dump(good))[0], Refused)
    document = {"summary": EMPTY, "state": {**built(subject, EMPTY), "count": count}}
    assert subject.judge(dump(document)) == (Refused(code, path), ())


@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"9007199254740993", b"1", b"0.5"])
def test_a_number_where_none_belongs_is_refused(subject: Subject, number: bytes) -> None:
    """CV-WIRE-6: also one that would overflow to infinity."""
    text = GOOD.replace(b'"todos": []', b'"todos": [' + number + b"]")
    assert subject.build(text) == Refused("wrong_type", "$.todos[0]")


def test_a_judge_document_has_exactly_two_members(subject: Subject) -> None:
    """CV-CLI-3."""
    state = built(subject, EMPTY)
    for document, refused in (
        ({"summary": EMPTY}, Refused("missing_field", "$.state")),
        ({"state": state}, Refused("missing_field", "$.summary")),
        ({"summary": EMPTY, "state": state, "x": 1}, Refused("unknown_field", "$.x")),
        ({"summary": EMPTY, "state": None}, Refused("wrong_type", "$.state")),
        ({"summary": EMPTY, "state": {**state, "x": 1}}, Refused("unknown_field", "$.state.x")),
    ):
        assert subject.judge(dump(document)) == (refused, ())
