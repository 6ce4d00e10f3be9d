"""The promises of a scored corpus: both rates, what is in neither, the exit status. (SPEC CP)"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verdict_core.conformance.door import ABSENT, EMPTY, FAILS, FIELDS, SAYS, given_result
from verdict_core.conformance.strategies import dump, summaries
from verdict_core.conformance.subject import Refused, Script, Subject

LOST = {"id": "1", "label": "lost", "summary": {**EMPTY, "todos": ["x"]}}
KEEP = {"id": "2", "label": "keep", "summary": EMPTY}
OPEN = {**EMPTY, "unknown": ["todos"]}

Case = tuple[str, dict[str, Any]]


def corpus(cases: Sequence[Case]) -> bytes:
    return b"".join(
        dump({"id": f"case {n}", "label": label, "summary": summary}) + b"\n"
        for n, (label, summary) in enumerate(cases)
    )


def lines(*cases: Any) -> bytes:
    return b"".join(dump(case) + b"\n" for case in cases)


def expected(
    cases: Sequence[Case], wait_min: int, scripts: Sequence[Script] | None
) -> dict[str, Any]:
    """The rates, by a second hand: each case in order, each asking with the next script."""
    asked, absent, unusable = 0, [False] * len(cases), 0
    safe = [False] * len(cases)
    for n, (_, summary) in enumerate(cases):
        count = sum(len(summary[name]) for name in FIELDS)
        safe[n] = count == 0 and not summary["unknown"]
        if count <= wait_min and not safe[n] and scripts is not None:
            script = scripts[min(asked, len(scripts) - 1)]
            asked += 1
            absent[n] = script.detail in ABSENT
            unusable += script.detail is not None and not absent[n]
    nobody = 0 < asked == sum(absent)
    let = [safe[n] and label == "lost" for n, (label, _) in enumerate(cases)]
    skip = [absent[n] or (nobody and not let[n]) for n in range(len(cases))]

    def rate(label: str, wrong: bool) -> dict[str, Any]:
        mine = [n for n, case in enumerate(cases) if case[0] == label and not skip[n]]
        count = sum(safe[n] is wrong for n in mine)
        return {"count": count, "of": len(mine), "rate": count / len(mine) if mine else None}

    return {
        "cases": len(cases),
        "asked": asked,
        "skipped": sum(skip),
        "all_skipped": nobody,
        "unusable": unusable,
        "lost_let_through": rate("lost", True),
        "keep_refused": rate("keep", False),
        "exit": 1 if any(let) else 0,
    }


CASES = st.tuples(
    st.sampled_from(["lost", "keep"]), summaries(max_items=1) | st.sampled_from([EMPTY, OPEN])
)
CORPORA = st.lists(CASES, max_size=6).map(
    lambda cases: [*cases, ("lost", LOST["summary"]), ("keep", KEEP["summary"])]
)
SERVICES = st.none() | st.lists(
    st.sampled_from([*SAYS.values(), *FAILS.values()]), min_size=1, max_size=4
)


@given(CORPORA, st.integers(0, 4), SERVICES)
@example([("lost", EMPTY), ("keep", OPEN)], 3, [FAILS["timeout"]])
@example([("lost", OPEN), ("keep", OPEN)], 3, [FAILS["timeout"], SAYS["wait"]])
@example([("lost", OPEN), ("keep", EMPTY)], 3, [FAILS["bad_score"]])
def test_both_rates_are_what_a_second_hand_counts(
    subject: Subject, cases: list[Case], wait_min: int, scripts: list[Script] | None
) -> None:
    """CP-RATE-1, CP-RATE-2, CP-RATE-3, CP-SKIP-1, CP-SKIP-2, CP-SKIP-3, CP-EXIT-1."""
    report = given_result(subject.verify(corpus(cases), wait_min=wait_min, scripts=scripts))
    wanted = expected(cases, wait_min, scripts)
    assert report["asked"] == wanted["asked"]
    assert report["skipped"] == wanted["skipped"], "CP-SKIP-1, CP-SKIP-2, CP-SKIP-3"
    assert report["all_skipped"] == wanted["all_skipped"], "CP-SKIP-2"
    assert report["lost_let_through"] == wanted["lost_let_through"], "CP-RATE-1, CP-RATE-3"
    assert report["keep_refused"] == wanted["keep_refused"], "CP-RATE-2, CP-RATE-3"
    assert report["exit"] == wanted["exit"], "CP-EXIT-1"
    assert report == wanted


@given(CORPORA, st.integers(0, 4), SERVICES)
def test_no_service_changes_what_is_let_through(
    subject: Subject, cases: list[Case], wait_min: int, scripts: list[Script] | None
) -> None:
    """CP-RATE-1, CP-SKIP-3."""
    alone = given_result(subject.verify(corpus(cases), wait_min=wait_min))
    report = given_result(subject.verify(corpus(cases), wait_min=wait_min, scripts=scripts))
    assert report["lost_let_through"]["count"] == alone["lost_let_through"]["count"]
    assert report["exit"] == alone["exit"]


BAD: list[tuple[str, bytes, str, str]] = [
    ("a line that is no JSON", lines(LOST) + b"x\n", "invalid_json", "corpus:2:$"),
    ("a blank line", lines(LOST) + b"\n" + lines(KEEP), "invalid_json", "corpus:2:$"),
    ("a third label", lines({**LOST, "label": "fine"}), "bad_value", "corpus:1:$.label"),
    ("a label in capitals", lines({**LOST, "label": "LOST"}), "bad_value", "corpus:1:$.label"),
    ("an id that is a number", lines({**LOST, "id": 1}), "wrong_type", "corpus:1:$.id"),
    ("an empty id", lines({**LOST, "id": ""}), "bad_value", "corpus:1:$.id"),
    ("no label", lines({"id": "1", "summary": EMPTY}), "missing_field", "corpus:1:$.label"),
    ("a member more", lines({**LOST, "why": "x"}), "unknown_field", "corpus:1:$.why"),
    ("a forbidden name", lines(KEEP, {**LOST, "rank": 1}), "forbidden_key", "corpus:2:$.rank"),
    (
        "a summary that lacks a field",
        lines({**LOST, "summary": {"session": "s"}}),
        "missing_field",
        "corpus:1:$.summary.todos",
    ),
    ("an id twice", lines(LOST, {**KEEP, "id": "1"}), "duplicate_id", "corpus:2:$.id"),
]


@pytest.mark.parametrize(("document", "code", "path"), [row[1:] for row in BAD],
                         ids=[row[0] for row in BAD])  # fmt: skip
def test_a_corpus_with_one_bad_line_is_refused_whole(
    subject: Subject, document: bytes, code: str, path: str
) -> None:
    """CP-LINE-1, CP-LINE-2, CP-LINE-4, CP-LINE-5, CP-LINE-6."""
    assert subject.verify(document) == Refused(code, path)


def test_a_corpus_that_can_show_one_rate_only_is_refused(subject: Subject) -> None:
    """CP-LINE-7."""
    for document, code in (
        (b"", "empty_corpus"),
        (lines(LOST), "single_labelled_corpus"),
        (lines(KEEP, {**KEEP, "id": "3"}), "single_labelled_corpus"),
    ):
        refused = subject.verify(document)
        assert isinstance(refused, Refused)
        assert refused.code == code


def test_every_line_is_read_before_a_budget_counts(subject: Subject) -> None:
    """CP-EXIT-2, CV-STATE-6: 3 before 2, and 2 before 1."""
    long = {**KEEP, "id": "3", "summary": {**EMPTY, "todos": ["x" * 20_000]}}
    safe = {**LOST, "id": "4", "summary": EMPTY}
    refused = subject.verify(lines(safe, long, KEEP))
    assert refused == Refused("over_budget", "corpus:2:$")
    refused = subject.verify(lines(safe, long, KEEP) + b"x")
    assert refused == Refused("invalid_json", "corpus:4:$")
    assert given_result(subject.verify(lines(safe, long, KEEP), max_chars=30_000))["exit"] == 1


def test_a_forbidden_name_in_an_answer_ends_the_scoring(subject: Subject) -> None:
    """CV-KEY-4, CP-EXIT-2: whatever was let through before."""
    script = Script(answer=b'{"choice": "wait", "score": 0, "salience": 1}')
    safe = {**LOST, "id": "4", "summary": EMPTY}
    refused = subject.verify(lines(safe, LOST, KEEP), scripts=[script])
    assert refused == Refused("forbidden_key", "corpus:2:$.salience")


@pytest.mark.parametrize("number", [-1, 2**53, True, 3.0, "3", None])
def test_a_threshold_of_a_corpus_is_a_count(subject: Subject, number: Any) -> None:
    """CV-RULE-6."""
    for options in ({"wait_min": number}, {"max_chars": number}):
        refused = subject.verify(lines(LOST, KEEP), **options)
        assert isinstance(refused, Refused)
        assert refused.code == "bad_config"
