"""The promises of the rule table; what is finite is enumerated. (SPEC CV-RULE, CV-JUDGE)"""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verdict_core.conformance.door import (
    ABSENT,
    EMPTY,
    FAILS,
    FIELDS,
    ORDER,
    SAYS,
    SCRIPTS,
    asked,
    bound,
    built,
    careful,
    given_result,
    judged,
)
from verdict_core.conformance.strategies import dump, summaries, texts
from verdict_core.conformance.subject import Refused, Script, Subject

UNKNOWNS = [
    [name for name, out in zip(FIELDS, bits, strict=True) if out]
    for bits in itertools.product((False, True), repeat=5)
]


def of_count(count: int, unknown: list[str]) -> dict[str, Any]:
    """A summary of `count` items, spread over the fields."""
    fields = {name: [f"{name} {i}" for i in range(n, count, 5)] for n, name in enumerate(FIELDS)}
    return {"session": "s", **fields, "unknown": unknown}


def summaries_of(counts: range) -> Iterator[tuple[int, list[str], dict[str, Any]]]:
    """A summary of each count with each set of unknown fields."""
    for count, unknown in itertools.product(counts, UNKNOWNS):
        yield count, unknown, of_count(count, unknown)


def reasons_by_the_table(count: int, unknown: bool, wait_min: int, script: Script | None) -> Any:
    """The table of SPEC section 8, read by a second hand."""
    if count > wait_min:
        verdict, reasons = "preserve_first", ["over_threshold"]
    elif count == 0 and not unknown:
        verdict, reasons = "safe_to_compact", ["nothing_unlanded"]
    elif script is None:
        verdict, reasons = "wait", ["in_band", "service_not_configured"]
    elif script.detail is not None:
        word = "service_absent" if script.detail in ABSENT else "service_unusable"
        verdict, reasons = "wait", ["in_band", word]
    elif script == SAYS["preserve_first"]:
        verdict, reasons = "preserve_first", ["in_band", "service_preserve"]
    elif script == SAYS["wait"]:
        verdict, reasons = "wait", ["in_band", "service_wait"]
    else:
        verdict, reasons = "wait", ["in_band", "service_safe_overruled"]
    return verdict, reasons + ["field_unknown"] * unknown


def test_every_cell_has_the_verdict_and_the_reasons_of_the_table(subject: Subject) -> None:
    """CV-RULE-1, CV-RULE-2, CV-RULE-3, CV-RULE-4, CV-ASK-4, CV-JUDGE-1; and CV-JUDGE-3 for who is
    asked."""
    reached: set[str | None] = set()
    cells = itertools.product(summaries_of(range(7)), range(5), SCRIPTS)
    documents = {}
    for (count, unknown, summary), wait_min, script in cells:
        key = count, *unknown
        if key not in documents:
            documents[key] = bound(subject, summary)
        found, requests = subject.judge(documents[key], wait_min=wait_min, script=script)
        judgement = given_result(found)
        verdict, reasons = reasons_by_the_table(count, bool(unknown), wait_min, script)
        assert judgement["verdict"] == verdict, "CV-RULE-1, CV-RULE-2, CV-RULE-3"
        if unknown:
            assert judgement["reasons"][-1:] == ["field_unknown"], "CV-RULE-4"
        assert judgement["reasons"] == reasons, "CV-RULE-3"
        in_band = count <= wait_min and (count > 0 or bool(unknown))
        assert len(requests) == (1 if in_band and script is not None else 0), "CV-JUDGE-3"
        detail = script.detail if script and in_band else None
        assert judgement["detail"] == detail, "CV-ASK-4, CV-JUDGE-1"
        score = 0.5 if script and script.answer and in_band else None
        assert judgement["score"] == score, "CV-JUDGE-5, CV-JUDGE-1"
        assert (judgement["count"], judgement["unknown"]) == (count, unknown), "CV-JUDGE-1"
        reached.update(judgement["reasons"], [judgement["verdict"], judgement["detail"]])
    assert reached == {*ORDER, *FAILS, None, "nothing_unlanded", "over_threshold", "in_band",
                       "service_not_configured", "service_absent", "service_unusable",
                       "service_wait", "service_preserve", "service_safe_overruled",
                       "field_unknown"}  # fmt: skip


def test_an_unlanded_count_above_zero_is_never_safe(subject: Subject) -> None:
    """CV-RULE-5, one field at a time: none of the five is left out of the count (CV-SUM-6)."""
    for field, script, wait_min in itertools.product(FIELDS, SCRIPTS, (0, 1, 9, 2**53 - 1)):
        judgement = judged(subject, {**EMPTY, field: ["x"]}, wait_min, script)
        assert judgement["verdict"] != "safe_to_compact"
        assert judgement["count"] == 1


def test_an_unknown_field_is_never_safe(subject: Subject) -> None:
    """CV-RULE-7, CV-RULE-4."""
    for unknown, script in itertools.product(UNKNOWNS[1:], SCRIPTS):
        judgement = judged(subject, {**EMPTY, "unknown": unknown}, script=script)
        assert judgement["verdict"] != "safe_to_compact", "CV-RULE-7"
        assert judgement["reasons"][-1:] == ["field_unknown"], "CV-RULE-4"


@given(summaries(), st.sampled_from(FIELDS), texts(), st.integers(0, 6), st.sampled_from(SCRIPTS))
@example({**EMPTY, "todos": ["a", "b"]}, "todos", "c", 0, SCRIPTS[0])
def test_adding_an_item_never_moves_a_verdict_towards_safe(
    subject: Subject, summary: dict[str, Any], field: str, item: str, wait_min: int, script: Script
) -> None:
    """CV-RULE-8, for items."""
    more = {**summary, field: [*summary[field], item]}
    before = judged(subject, summary, wait_min, script)
    assert careful(judged(subject, more, wait_min, script)) >= careful(before)


@given(summaries(), st.sampled_from(FIELDS), st.integers(0, 6), st.sampled_from(SCRIPTS))
def test_adding_an_unknown_never_moves_a_verdict_towards_safe(
    subject: Subject, summary: dict[str, Any], field: str, wait_min: int, script: Script
) -> None:
    """CV-RULE-8, for unknown fields."""
    more = {**summary, "unknown": [n for n in FIELDS if n in summary["unknown"] or n == field]}
    before = judged(subject, summary, wait_min, script)
    assert careful(judged(subject, more, wait_min, script)) >= careful(before)


def test_the_service_never_makes_a_verdict_less_careful(subject: Subject) -> None:
    """CV-JUDGE-4."""
    for _, _, summary in summaries_of(range(5)):
        document = bound(subject, summary)
        for wait_min in range(5):
            found = [
                careful(given_result(subject.judge(document, wait_min=wait_min, script=script)[0]))
                for script in SCRIPTS
            ]
            assert min(found) == found[SCRIPTS.index(None)]


@given(st.sampled_from(ORDER), st.floats(0, 1) | st.sampled_from([0, 1]))
def test_the_score_never_matters(subject: Subject, choice: str, score: float) -> None:
    """CV-JUDGE-5."""
    script = Script(answer=dump({"choice": choice, "score": score}))
    scored = judged(subject, {**EMPTY, "todos": ["x"]}, script=script)
    other = judged(subject, {**EMPTY, "todos": ["x"]}, script=SAYS[choice])
    assert scored["score"] == score
    assert {**scored, "score": None} == {**other, "score": None}


@given(summaries(), st.sampled_from(SCRIPTS[1:]))
def test_the_service_is_asked_about_the_state_that_is_judged(
    subject: Subject, summary: dict[str, Any], script: Script
) -> None:
    """CV-ASK-1, CV-JUDGE-3: the three options in order, the one scale, the text, and no more."""
    _, requests = asked(subject, {**summary, "todos": ["x"]}, 2**53 - 1, script)
    state = built(subject, {**summary, "todos": ["x"]}, max_chars=10**9)
    assert len(requests) == 1, "CV-JUDGE-3"
    (request,) = requests
    assert request.keys() == {"question", "options", "scale", "state"}
    assert request["options"] == list(ORDER)
    assert request["scale"] == {"min": 0, "max": 1}
    assert request["state"] == state["text"]
    assert request["question"]


@pytest.mark.parametrize("safe_max", [1, 3, -1, True, 0.5, 2**53, "0"])
def test_no_setting_widens_what_is_safe(subject: Subject, safe_max: Any) -> None:
    """CV-RULE-5: another value than 0 is refused, and 0 changes nothing."""
    for count in (0, 1):
        summary = of_count(count, [])
        document = dump({"summary": summary, "state": built(subject, summary)})
        refused, _ = subject.judge(document, safe_max=safe_max)
        assert isinstance(refused, Refused)
        assert refused.code == "bad_config"
        assert subject.judge(document, safe_max=0) == subject.judge(document)


@pytest.mark.parametrize("wait_min", [-1, 2**53, True, 3.0, float("nan"), float("inf"), "3", None])
def test_a_threshold_that_is_no_count_is_refused(subject: Subject, wait_min: Any) -> None:
    """CV-RULE-6."""
    document = dump({"summary": EMPTY, "state": built(subject, EMPTY)})
    refused, _ = subject.judge(document, wait_min=wait_min)
    assert isinstance(refused, Refused)
    assert refused.code == "bad_config"


ANSWERS: list[tuple[Any, str | None]] = [
    ({"choice": "wait", "score": 0}, None),
    ({"choice": "wait", "score": 1}, None),
    ({"choice": "wait", "score": 0.25}, None),
    ({"choice": "wait", "score": "0.9"}, "bad_score"),
    ({"choice": "wait", "score": True}, "bad_score"),
    ({"choice": "wait", "score": 999}, "bad_score"),
    ({"choice": "wait", "score": -0.1}, "bad_score"),
    ({"choice": "wait", "score": 1.0000001}, "bad_score"),
    ({"choice": "wait", "score": None}, "bad_score"),
    ({"choice": "wait", "score": float("nan")}, "bad_score"),
    ({"choice": "wait", "score": float("inf")}, "bad_score"),
    ({"choice": "wait"}, "bad_score"),
    ({"score": 0.5}, "bad_choice"),
    ({"choice": "mostly_safe", "score": 0.8}, "bad_choice"),
    ({"choice": "WAIT", "score": 0.8}, "bad_choice"),
    ({"choice": ["wait"], "score": 0.8}, "bad_choice"),
    ({"choice": "wait", "score": 0.5, "why": "x"}, "unreadable"),
    ([], "unreadable"),
    ("wait", "unreadable"),
    (None, "unreadable"),
]


@pytest.mark.parametrize(("answer", "detail"), ANSWERS)
def test_an_answer_is_used_whole_or_not_at_all(
    subject: Subject, answer: Any, detail: str | None
) -> None:
    """CV-ASK-3, CV-ASK-4."""
    read = subject.answer(dump(answer))
    assert read == (answer if detail is None else {"detail": detail}), "CV-ASK-3"


@pytest.mark.parametrize("text", [b"", b"{", b"Sure: {}", b'{"choice":"wait","choice":"wait"}'])
def test_an_answer_that_is_no_json_is_unreadable(subject: Subject, text: bytes) -> None:
    """CV-ASK-3."""
    assert subject.answer(text) == {"detail": "unreadable"}


def test_an_answer_with_a_forbidden_name_is_refused_not_downgraded(subject: Subject) -> None:
    """CV-KEY-4."""
    answer = dump({"choice": "wait", "score": 0.5, "perBlock": []})
    assert subject.answer(answer) == Refused("forbidden_key", "$.perBlock")
    summary = {**EMPTY, "todos": ["x"]}
    document = dump({"summary": summary, "state": built(subject, summary)})
    refused, requests = subject.judge(document, script=Script(answer=answer))
    assert refused == Refused("forbidden_key", "$.perBlock")
    assert len(requests) == 1, "CV-JUDGE-3"


REQUEST = {"question": "q", "options": list(ORDER), "scale": {"min": 0, "max": 1}, "state": "s"}
OPTIONS = [
    (list(options), "options_order")
    for options in itertools.permutations(ORDER)
    if options != ORDER
] + [
    ([*ORDER, "drop_block_3"], "four_options"),
    ([*ORDER, "wait"], "four_options"),
    (list(ORDER[:2]), "bad_options"),
    ([], "bad_options"),
    (["safe_to_compact", "wait", "preserve"], "bad_options"),
]


def test_the_three_options_in_their_order_pass(subject: Subject) -> None:
    """CV-ASK-1, CV-RULE-1."""
    assert subject.request(dump(REQUEST)) == REQUEST


@pytest.mark.parametrize(("options", "code"), OPTIONS)
def test_any_other_options_are_refused(subject: Subject, options: list[str], code: str) -> None:
    """CV-ASK-2."""
    refused = subject.request(dump({**REQUEST, "options": options}))
    assert refused == Refused(code, "$.options")


@pytest.mark.parametrize("scale", [{"min": 0, "max": 2}, {"min": 1, "max": 1}, {"max": 1}, 1])
def test_any_other_scale_is_refused(subject: Subject, scale: Any) -> None:
    """CV-ASK-1."""
    refused = subject.request(dump({**REQUEST, "scale": scale}))
    assert isinstance(refused, Refused)
    assert refused.path.startswith("$.scale")
