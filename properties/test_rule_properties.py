"""The promises of the rule table; what is finite is enumerated. (SPEC CV-RULE, CV-JUDGE)"""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from door import ABSENT, EMPTY, FAILS, FIELDS, ORDER, SAYS, SCRIPTS, asked, careful, judged
from hypothesis import given
from hypothesis import strategies as st

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


def cells() -> Iterator[tuple[int, list[str], int, Script | None]]:
    return itertools.product(range(7), UNKNOWNS, range(5), SCRIPTS)


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
    """CV-RULE-1, CV-RULE-2, CV-RULE-3, CV-RULE-4, CV-JUDGE-1; and CV-JUDGE-3 for who is asked."""
    reached: set[str | None] = set()
    for count, unknown, wait_min, script in cells():
        judgement, times = asked(subject, of_count(count, unknown), wait_min, script)
        expected = reasons_by_the_table(count, bool(unknown), wait_min, script)
        assert (judgement["verdict"], judgement["reasons"]) == expected
        in_band = count <= wait_min and (count > 0 or bool(unknown))
        assert times == (1 if in_band and script is not None else 0)
        assert judgement["detail"] == (script.detail if script and in_band else None)
        assert judgement["score"] == (0.5 if script and script.answer and in_band else None)
        assert (judgement["count"], judgement["unknown"]) == (count, unknown)
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
    """CV-RULE-7."""
    for unknown, script in itertools.product(UNKNOWNS[1:], SCRIPTS):
        judgement = judged(subject, {**EMPTY, "unknown": unknown}, script=script)
        assert judgement["verdict"] != "safe_to_compact"
        assert judgement["reasons"][-1] == "field_unknown"


@given(summaries(), st.sampled_from(FIELDS), texts(), st.integers(0, 6), st.sampled_from(SCRIPTS))
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
    for count, unknown, wait_min in itertools.product(range(5), UNKNOWNS, range(5)):
        summary = of_count(count, unknown)
        alone = careful(judged(subject, summary, wait_min))
        for script in SCRIPTS:
            assert careful(judged(subject, summary, wait_min, script)) >= alone


@given(st.sampled_from(ORDER), st.floats(0, 1) | st.sampled_from([0, 1]))
def test_the_score_never_matters(subject: Subject, choice: str, score: float) -> None:
    """CV-JUDGE-5."""
    script = Script(answer=dump({"choice": choice, "score": score}))
    scored = judged(subject, {**EMPTY, "todos": ["x"]}, script=script)
    other = judged(subject, {**EMPTY, "todos": ["x"]}, script=SAYS[choice])
    assert scored["score"] == score
    assert {**scored, "score": None} == {**other, "score": None}


@pytest.mark.parametrize("wait_min", [-1, 2**53, True, 3.0, float("nan"), float("inf"), "3", None])
def test_a_threshold_that_is_no_count_is_refused(subject: Subject, wait_min: Any) -> None:
    """CV-RULE-6."""
    state = subject.build(dump(EMPTY))
    refused, _ = subject.judge(dump({"summary": EMPTY, "state": state}), wait_min=wait_min)
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
    assert read == (answer if detail is None else {"detail": detail})


@pytest.mark.parametrize("text", [b"", b"{", b"Sure: {}", b'{"choice":"wait","choice":"wait"}'])
def test_an_answer_that_is_no_json_is_unreadable(subject: Subject, text: bytes) -> None:
    """CV-ASK-3."""
    assert subject.answer(text) == {"detail": "unreadable"}


def test_an_answer_with_a_forbidden_name_is_refused_not_downgraded(subject: Subject) -> None:
    """CV-KEY-4."""
    answer = dump({"choice": "wait", "score": 0.5, "perBlock": []})
    assert subject.answer(answer) == Refused("forbidden_key", "$.perBlock")
    document = dump({"summary": {**EMPTY, "todos": ["x"]},
                     "state": subject.build(dump({**EMPTY, "todos": ["x"]}))})  # fmt: skip
    refused, times = subject.judge(document, script=Script(answer=answer))
    assert (refused, times) == (Refused("forbidden_key", "$.perBlock"), 1)


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
    """CV-ASK-1."""
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
