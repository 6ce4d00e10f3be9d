"""The promises of a verified corpus: what the two rates may depend on, and what not. (SPEC CP)"""

import hashlib
import json
from concurrent.futures import Executor, Future
from functools import partial
from itertools import pairwise
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from verdict_core import Request, refuse_forbidden
from verdict_core.conformance.strategies import dump, summaries
from verdict_core.context import FIELDS, NoAnswer
from verdict_core.context.ask import Detail
from verdict_core.corpus import Engine, Report, held, verify
from verdict_core.corpus.report import Rate

EMPTY: dict[str, Any] = {"session": "s", **{name: [] for name in FIELDS}, "unknown": []}
ANSWERS = [
    b'{"choice":"wait","score":0}', b'{"choice":"preserve_first","score":1}',
    b'{"choice":"safe_to_compact","score":0.5}', b"unreadable",
    *(detail.value for detail in Detail),
]  # fmt: skip


class Fixed:
    """Gives each state an answer of its own, always the same, out of `answers`."""

    def __init__(self, answers: tuple[Any, ...]) -> None:
        self.answers = answers

    def ask(self, request: Request, /) -> bytes:
        number = int.from_bytes(hashlib.sha256(request.state.encode()).digest()[:4])
        answer = self.answers[number % len(self.answers)]
        if isinstance(answer, str):
            raise NoAnswer(answer)
        return bytes(answer)


class AnyOrder(Executor):
    """Does what is waiting in an order of its own, when the first result is wanted."""

    def __init__(self, order: Any) -> None:
        self.order = order
        self.waiting: list[Any] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        outer = self

        class Wanted(Future[Any]):
            def result(self, timeout: float | None = None) -> Any:
                outer.order.shuffle(outer.waiting)
                while outer.waiting:
                    outer.waiting.pop()()
                return super().result(timeout)

        future = Wanted()
        self.waiting.append(lambda: future.set_result(fn(*args, **kwargs)))
        return future


def cases(label: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    few = summaries(max_items=1)
    return st.fixed_dictionaries({"label": label, "summary": few | st.just(EMPTY)})


LABELS = st.sampled_from(["lost", "keep"])
CORPORA = st.tuples(
    cases(st.just("lost")), cases(st.just("keep")), st.lists(cases(LABELS), max_size=8)
).map(lambda found: [found[0], found[1], *found[2]])
SERVICES = st.none() | st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=4).map(tuple)


def lines(corpus: list[dict[str, Any]]) -> list[bytes]:
    return [dump({"id": f"case {n}", **case}) + b"\n" for n, case in enumerate(corpus)]


def report_on(given_lines: list[bytes], answers: Any, **options: Any) -> Report:
    service = None if answers is None else partial(Fixed, answers)
    return verify([held("c", b"".join(given_lines))], service=service, **options)


def counts(rate: Rate) -> tuple[int, int]:
    return rate.count, rate.of


@given(CORPORA, SERVICES, st.integers(1, 900), st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_report_depends_neither_on_the_engine_nor_on_how_the_lines_are_cut(
    corpus: list[dict[str, Any]], answers: Any, piece_bytes: int, at_once: int, order: Any
) -> None:
    """CP-EXIT-3."""
    expected = report_on(lines(corpus), answers)
    engine = Engine(AnyOrder(order), at_once)
    report = report_on(lines(corpus), answers, piece_bytes=piece_bytes, engine=engine)
    assert report == expected
    assert json.dumps(report.payload(curve=True)) == json.dumps(expected.payload(curve=True))


@given(CORPORA, SERVICES, st.randoms(use_true_random=False))
def test_the_order_of_the_lines_changes_no_number(
    corpus: list[dict[str, Any]], answers: Any, order: Any
) -> None:
    """CP-RATE-1, CP-RATE-2."""
    shuffled = lines(corpus)
    order.shuffle(shuffled)
    before, after = report_on(lines(corpus), answers), report_on(shuffled, answers)
    assert before.counts == after.counts
    for name in ("lost_let_through", "keep_refused"):
        assert counts(getattr(before, name)) == counts(getattr(after, name))
        assert set(getattr(before, name).ids) == set(getattr(after, name).ids)


@given(CORPORA, SERVICES)
@example([{"label": label, "summary": EMPTY} for label in ("lost", "keep", "lost")], ("timeout",))
def test_every_case_is_either_scored_once_or_skip(
    corpus: list[dict[str, Any]], answers: Any
) -> None:
    """CP-SKIP-1, CP-SKIP-2, CP-RATE-6."""
    report = report_on(lines(corpus), answers)
    lost, keep = report.lost_let_through, report.keep_refused
    assert lost.of + keep.of + report.skipped == report.cases == len(corpus)
    assert sum(report.skips.values()) == report.skipped
    assert sum(report.unusable_details.values()) == report.unusable <= report.asked
    for row, rate in zip(report.verdicts, (lost, keep), strict=True):
        scored = row["safe_to_compact"] + row["wait"] + row["preserve_first"]
        assert scored == rate.of
        assert scored + row["skipped"] == sum(c["label"] == row["label"] for c in corpus)
    assert lost.count == report.verdicts[0]["safe_to_compact"]
    assert keep.count == keep.of - report.verdicts[1]["safe_to_compact"]
    refuse_forbidden(report.payload(curve=True))


@given(CORPORA, SERVICES)
def test_a_lost_case_is_let_through_exactly_where_its_summary_is_empty_and_known(
    corpus: list[dict[str, Any]], answers: Any
) -> None:
    """CP-RATE-1, CP-SKIP-3: no service and no SKIP changes which these are."""
    report = report_on(lines(corpus), answers)
    empty = [
        f"case {n}"
        for n, case in enumerate(corpus)
        if case["label"] == "lost"
        and not any(value for name, value in case["summary"].items() if name != "session")
    ]
    assert report.lost_let_through.ids == tuple(empty)
    assert report.exit_status == (1 if empty else 0)


@given(CORPORA, cases(st.just("keep")), SERVICES)
def test_another_keep_case_never_changes_what_was_let_through(
    corpus: list[dict[str, Any]], case: dict[str, Any], answers: Any
) -> None:
    """CP-RATE-1: and its denominator only where an answer ends a run that was all SKIP."""
    before = report_on(lines(corpus), answers)
    after = report_on(lines([*corpus, case]), answers)
    assert after.lost_let_through.count == before.lost_let_through.count
    if after.all_skipped == before.all_skipped:
        assert after.lost_let_through == before.lost_let_through


@given(CORPORA, cases(st.just("lost")), SERVICES)
def test_another_lost_case_never_changes_what_was_refused(
    corpus: list[dict[str, Any]], case: dict[str, Any], answers: Any
) -> None:
    """CP-RATE-2: with the same reserve."""
    before = report_on(lines(corpus), answers)
    after = report_on(lines([*corpus, case]), answers)
    if after.all_skipped == before.all_skipped:
        assert after.keep_refused == before.keep_refused


@given(CORPORA, st.integers(0, 12))
def test_no_threshold_changes_either_rate(corpus: list[dict[str, Any]], wait_min: int) -> None:
    """CP-CURVE-3."""
    before, after = (report_on(lines(corpus), None, wait_min=n) for n in (3, wait_min))
    assert before.lost_let_through == after.lost_let_through
    assert before.keep_refused == after.keep_refused
    assert before.curve == after.curve


@given(CORPORA, SERVICES)
def test_along_the_curve_fewer_are_over_and_more_would_ask(
    corpus: list[dict[str, Any]], answers: Any
) -> None:
    """CP-CURVE-1, CP-CURVE-2."""
    rows = report_on(lines(corpus), answers).curve
    sizes = [sum(len(v) for k, v in c["summary"].items() if k not in ("session", "unknown"))
             for c in corpus]  # fmt: skip
    assert [row.wait_min for row in rows] == list(range(max(sizes) + 1))
    for row in rows:
        asking = [
            size <= row.wait_min and (size > 0 or bool(case["summary"]["unknown"]))
            for size, case in zip(sizes, corpus, strict=True)
        ]
        assert row.would_ask == sum(asking) / len(corpus)
    for lower, upper in pairwise(rows):
        for name in ("lost_preserve_first", "keep_preserve_first"):
            assert getattr(lower, name) >= getattr(upper, name)
        for name in ("lost_wait", "keep_wait", "would_ask"):
            assert getattr(lower, name) <= getattr(upper, name)
    assert rows[-1].lost_preserve_first == rows[-1].keep_preserve_first == 0


@settings(max_examples=300)
@given(st.integers(0, 10**8), st.integers(1, 10**8))
@example(0, 1)
@example(1, 0)
def test_the_interval_holds_its_share_and_narrows(count: int, others: int) -> None:
    """CP-RATE-4."""
    one, ten = Rate(count, count + others), Rate(10 * count, 10 * (count + others))
    assert one.interval is not None
    assert ten.interval is not None
    assert one.rate is not None
    low, high = one.interval
    assert 0 <= low <= one.rate <= high <= 1
    assert ten.interval[1] - ten.interval[0] < high - low
    mirrored = Rate(others, count + others).interval
    assert mirrored is not None
    assert abs(mirrored[0] - (1 - high)) < 1e-9
    assert abs(mirrored[1] - (1 - low)) < 1e-9
