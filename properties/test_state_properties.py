"""The promises about summary, state and digest. (SPEC CV-SUM, CV-STATE, CV-DIGEST)"""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verdict_core.conformance.door import EMPTY, FIELDS, built, judged
from verdict_core.conformance.strategies import dump, summaries, texts, values
from verdict_core.conformance.subject import Refused, Subject


def read_back(text: str) -> dict[str, Any]:
    """The summary that a state's text was made from: a left inverse of the renderer."""
    lines = text.split("\n")
    assert lines.pop(0) == "verdict-core state 1"
    summary: dict[str, Any] = {"session": json.loads(lines.pop(0).removeprefix("session: "))}
    unknown = []
    for name in FIELDS:
        head = lines.pop(0).split(" ")
        assert head[0] == f"{name}:"
        summary[name] = [json.loads(lines.pop(0).removeprefix("- ")) for _ in range(int(head[1]))]
        unknown += [name] if head[2:] == ["unknown"] else []
    assert len(lines) == 1
    return {**summary, "unknown": unknown}


@given(summaries())
def test_rendering_is_injective(subject: Subject, summary: dict[str, Any]) -> None:
    """CV-STATE-2, CV-STATE-4, CV-SUM-5: the summary can be read back out of the text, whole."""
    assert read_back(built(subject, summary)["text"]) == summary


@given(summaries())
def test_the_state_says_what_the_summary_holds(subject: Subject, summary: dict[str, Any]) -> None:
    """CV-STATE-1, CV-STATE-3, CV-SUM-6."""
    state = built(subject, summary)
    count = sum(len(summary[name]) for name in FIELDS)
    held = ",".join(name for name in FIELDS if summary[name]) or "-"
    unread = ",".join(summary["unknown"]) or "-"
    hints = f"count={count} open={held} unknown={unread}"
    assert set(state) == {"text", "digest", "count", "unknown", "risk_hints"}
    assert (state["count"], state["unknown"]) == (count, summary["unknown"])
    assert state["risk_hints"] == hints
    assert state["text"].split("\n")[-1] == f"risk_hints: {hints}"


@given(summaries())
def test_the_digest_is_that_of_the_canonical_bytes(
    subject: Subject, summary: dict[str, Any]
) -> None:
    """CV-DIGEST-1, CV-DIGEST-2."""
    state = built(subject, summary)
    bound = {"format": "verdict-core/state/1", "summary": summary, "text": state["text"]}
    # For ASCII keys and no numbers, this is RFC 8785.
    canonical = json.dumps(bound, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert state["digest"] == "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


@given(summaries(), st.data())
def test_the_budget_never_cuts(
    subject: Subject, summary: dict[str, Any], data: st.DataObject
) -> None:
    """CV-STATE-6: equal passes, one less is refused, and the text is the same either way."""
    state = built(subject, summary)
    length = len(state["text"])
    assert built(subject, summary, max_chars=length) == state
    small = data.draw(st.integers(0, length - 1))
    assert subject.build(dump(summary), max_chars=small) == Refused("over_budget", "$")


def test_the_budget_is_16000_code_points(subject: Subject) -> None:
    """CV-STATE-6: code points, not bytes and not UTF-16 units."""
    base = len(built(subject, {**EMPTY, "todos": ["\U0001f600"]})["text"])
    item = "\U0001f600" * (16_000 - base + 1)
    assert len(built(subject, {**EMPTY, "todos": [item]})["text"]) == 16_000
    refused = subject.build(dump({**EMPTY, "todos": [item + "x"]}))
    assert refused == Refused("over_budget", "$")


def changed_summaries(summary: dict[str, Any], text: str, field: str) -> list[dict[str, Any]]:
    """Every kind of single change: an item more, an item less, items swapped, another session."""
    changes = [
        {**summary, "session": summary["session"] + text},
        {**summary, field: [*summary[field], text]},
        {**summary, field: [text, *summary[field]]},
        {**summary, field: summary[field][1:]},
        {**summary, field: summary[field][::-1]},
        {**summary, "unknown": [n for n in FIELDS if (n in summary["unknown"]) != (n == field)]},
    ]
    return [changed for changed in changes if changed != summary]


@given(summaries(), texts(), st.sampled_from(FIELDS))
def test_a_summary_that_drifted_from_its_state_is_refused(
    subject: Subject, summary: dict[str, Any], text: str, field: str
) -> None:
    """CV-DIGEST-3, CV-JUDGE-2: any single change of the summary."""
    state = built(subject, summary)
    for changed in changed_summaries(summary, text, field):
        refused, requests = subject.judge(dump({"summary": changed, "state": state}))
        assert isinstance(refused, Refused)
        assert (refused.code, requests) == ("unbound_state", ())


@given(summaries(), st.sampled_from(["text", "digest", "count", "unknown", "risk_hints"]), texts())
def test_a_state_with_any_part_changed_is_refused(
    subject: Subject, summary: dict[str, Any], part: str, text: str
) -> None:
    """CV-DIGEST-3, CV-STATE-5: any single change of any part of the state."""
    state = built(subject, summary)
    others: dict[str, Any] = {
        "text": state["text"] + text,
        "digest": state["digest"][:-1] + ("0" if state["digest"][-1] != "0" else "1"),
        "count": state["count"] + 1,
        "unknown": list(FIELDS) if state["unknown"] != list(FIELDS) else [],
        "risk_hints": state["risk_hints"].replace("count=", "count=0"),
    }
    document = {"summary": summary, "state": {**state, part: others[part]}}
    refused = Refused("unbound_state", f"$.state.{part}")
    assert subject.judge(dump(document)) == (refused, ())


@given(summaries(), summaries())
def test_a_state_serves_no_other_summary(
    subject: Subject, one: dict[str, Any], other: dict[str, Any]
) -> None:
    """CV-DIGEST-3."""
    assume(one != other)
    refused, _ = subject.judge(dump({"summary": one, "state": built(subject, other)}))
    assert isinstance(refused, Refused)
    assert refused.code == "unbound_state"


@given(summaries())
def test_the_verdict_is_decided_from_the_summary(subject: Subject, summary: dict[str, Any]) -> None:
    """CV-JUDGE-2: the same verdict, and the digest of the state that was judged."""
    judgement = judged(subject, summary)
    assert judgement["digest"] == built(subject, summary)["digest"]
    assert judgement["count"] == sum(len(summary[name]) for name in FIELDS)


MISSHAPEN: list[tuple[str, Any, str, str]] = [
    ("session", "", "bad_value", "$.session"),
    ("session", None, "wrong_type", "$.session"),
    ("session", 7, "wrong_type", "$.session"),
    ("session", ["s"], "wrong_type", "$.session"),
    *[(name, "ab", "wrong_type", f"$.{name}") for name in FIELDS],
    *[(name, None, "wrong_type", f"$.{name}") for name in FIELDS],
    *[(name, {}, "wrong_type", f"$.{name}") for name in FIELDS],
    *[(name, ["a", ""], "bad_value", f"$.{name}[1]") for name in FIELDS],
    *[(name, ["a", 3], "wrong_type", f"$.{name}[1]") for name in FIELDS],
    *[(name, ["a", "b", ["c"]], "wrong_type", f"$.{name}[2]") for name in FIELDS],
    *[(name, [{"id": "1", "text": "x"}], "wrong_type", f"$.{name}[0]") for name in FIELDS],
    ("unknown", ["session"], "bad_value", "$.unknown"),
    ("unknown", ["todos", "todos"], "bad_value", "$.unknown"),
    ("unknown", ["uncommitted", "todos"], "bad_value", "$.unknown"),
    ("unknown", ["Todos"], "bad_value", "$.unknown"),
    ("unknown", "todos", "wrong_type", "$.unknown"),
    ("unknown", [True], "wrong_type", "$.unknown[0]"),
]


@pytest.mark.parametrize(("field", "value", "code", "path"), MISSHAPEN)
def test_nothing_is_coerced(subject: Subject, field: str, value: Any, code: str, path: str) -> None:
    """CV-WIRE-5, CV-SUM-3, CV-SUM-4."""
    assert subject.build(dump({**EMPTY, field: value})) == Refused(code, path)


@pytest.mark.parametrize("field", ["session", *FIELDS, "unknown"])
def test_every_field_is_required(subject: Subject, field: str) -> None:
    """CV-SUM-1, CV-SUM-2."""
    short = {key: value for key, value in EMPTY.items() if key != field}
    assert subject.build(dump(short)) == Refused("missing_field", f"$.{field}")


@given(texts(), values())
def test_no_other_field_is_allowed(subject: Subject, key: str, value: Any) -> None:
    """CV-SUM-2: what is not of the seven is refused, not ignored."""
    assume(key not in EMPTY)
    refused = subject.build(dump({**EMPTY, key: value}))
    assert isinstance(refused, Refused)
    assert refused.code in ("unknown_field", "forbidden_key")


def test_the_first_fault_in_document_order_is_named(subject: Subject) -> None:
    """CV-ERR-3: structure in document order, a missing key last, then budget."""
    both = {**EMPTY, "todos": [1], "session": ""}
    assert subject.build(dump(both)) == Refused("bad_value", "$.session")
    turned = dict(reversed(both.items()))
    assert subject.build(dump(turned)) == Refused("wrong_type", "$.todos[0]")
    assert subject.build(b'{"todos": 1}') == Refused("wrong_type", "$.todos")
    assert subject.build(b'{"odd": 1}') == Refused("unknown_field", "$.odd")
    assert subject.build(dump(both), max_chars=0) == Refused("bad_value", "$.session")


@pytest.mark.parametrize("document", [b"[]", b'"s"', b"null", b"7", b"true"])
def test_a_summary_is_an_object(subject: Subject, document: bytes) -> None:
    """CV-WIRE-5."""
    assert subject.build(document) == Refused("wrong_type", "$")
