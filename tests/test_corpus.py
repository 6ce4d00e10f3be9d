"""Labelled cases, the two rates, and all that stands beside them. (SPEC CP)"""

import contextlib
import json
import multiprocessing
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from verdict_core import ForbiddenKey, Request, VerdictCoreError, refuse_forbidden
from verdict_core.context import FIELDS, NoAnswer, Service, Summary, Verdict, build, judge
from verdict_core.context.ask import ABSENT, Detail
from verdict_core.corpus import (
    SHIPPED,
    Engine,
    Label,
    Rate,
    Report,
    Source,
    cluster,
    engine,
    held,
    in_process,
    junit,
    processes,
    read_case,
    sources_of,
    verify,
)
from verdict_core.corpus.cases import MAX_LINE
from verdict_core.corpus.curve import curve_of
from verdict_core.corpus.kinds import Kind
from verdict_core.corpus.text import text_of
from verdict_core.errors import (
    BadConfig,
    CorpusChanged,
    EngineFailed,
    OverBudget,
    Unreadable,
    Unwritable,
)
from verdict_core.services.command import Command

EMPTY: dict[str, Any] = {"session": "s", **{name: [] for name in FIELDS}, "unknown": []}


def line(name: str, label: str, *todos: str, **fields: Any) -> bytes:
    """One corpus line with its LF."""
    summary = {**EMPTY, "todos": list(todos), **fields}
    return json.dumps({"id": name, "label": label, "summary": summary}).encode() + b"\n"


BOTH = line("l", "lost", "a") + line("k", "keep")


def refused(*data: bytes, **options: Any) -> VerdictCoreError:
    """What a corpus of one file, or of several, is refused with."""
    names = ("c", "d", "e")
    with pytest.raises(VerdictCoreError) as caught:
        verify([held(n, d) for n, d in zip(names, data, strict=False)], **options)
    return caught.value


def facts(error: VerdictCoreError) -> tuple[str, str, int]:
    return error.code, error.path, error.exit_status


# --- a service that does what the first todo says


class Told:
    """Answers `say CHOICE`, fails with `fail DETAIL`, and `raw N` gives the nth odd reply."""

    RAW = (b'{"choice":"wait","score":0.5,"perBlock":[]}', b"Sure", b'{"choice":"wait","score":9}')

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, request: Request, /) -> bytes:
        self.asked += 1
        found = re.search(r'^- "(\w+) (\w+)', request.state, re.M)
        how, what = found.groups() if found else ("say", "wait")
        if how == "fail":
            raise NoAnswer(what)
        if how == "raw":
            return self.RAW[int(what)]
        return json.dumps({"choice": what, "score": 0.5}).encode()


def told() -> Service:
    """Makes one; a function at the top of a module, so that it can be pickled."""
    return Told()


def dies() -> Service:
    os._exit(1)


def scored(*lines: bytes, **options: Any) -> Report:
    return verify([held("c", b"".join(lines))], **{"service": told, **options})


# --- lines


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        (b"", "invalid_json", "$"),
        (b"  ", "invalid_json", "$"),
        (b"{}{}", "invalid_json", "$"),
        (b'\xef\xbb\xbf{"id":"a"}', "byte_order_mark", "$"),
        (b'{"id":"a","id":"b"}', "duplicate_key", "$"),
        (b"[]", "wrong_type", "$"),
        (b'{"id":"a"}', "missing_field", "$.label"),
        (b'{"id":"","label":"keep"}', "bad_value", "$.id"),
        (b'{"id":7,"label":"keep"}', "wrong_type", "$.id"),
        (b'{"id":"a","label":"safe"}', "bad_value", "$.label"),
        (b'{"id":"a","label":true}', "wrong_type", "$.label"),
        (b'{"id":"a","label":"LOST"}', "bad_value", "$.label"),
        (b'{"id":"a","label":"lost","summary":[]}', "wrong_type", "$.summary"),
        (b'{"id":"a","label":"lost","summary":{}}', "missing_field", "$.summary.session"),
        (line("a", "lost", x=[])[:-1], "unknown_field", "$.summary.x"),
        (line("a", "lost", "")[:-1], "bad_value", "$.summary.todos[0]"),
        (line("a", "lost", per_block=[])[:-1], "forbidden_key", "$.summary.per_block"),
        (b'{"id":7,"x":{"keep":1}}', "forbidden_key", "$.x.keep"),
        (line("a", "lost")[:-2] + b',"basis":"b"}', "unknown_field", "$.basis"),
    ],
)
def test_a_line_that_is_no_case_is_refused_with_its_number(
    text: bytes, code: str, path: str
) -> None:
    """CP-LINE-1, CP-LINE-2, CP-LINE-4."""
    with pytest.raises(VerdictCoreError) as caught:
        read_case(text)
    assert facts(caught.value) == (code, path, 3)
    for piece_bytes in (1, 1_000_000):
        error = refused(BOTH + text + b"\n" + line("z", "keep"), piece_bytes=piece_bytes)
        assert facts(error) == (code, f"c:3:{path}", 3)
        assert type(error) is type(caught.value)
        assert len(str(error).splitlines()) == 1
        assert str(error) == str(caught.value).replace("$", "c:3:$", 1)


def test_a_case_is_read_as_it_stands() -> None:
    """CP-LINE-1."""
    case = read_case(line("a", "lost", "x", unknown=["todos"])[:-1])
    assert (case.id, case.label) == ("a", Label.LOST)
    assert case.summary == Summary(**{**EMPTY, "todos": ["x"], "unknown": ["todos"]})


def test_lines_end_at_lf_alone() -> None:
    """CP-LINE-3."""
    odd = line("k", "keep", "a\u2028b\x85c\x0bd").replace(b"\\u2028", "\u2028".encode())
    whole = line("l", "lost").replace(b"\n", b"\r\n") + odd.replace(b"\\u0085", b"\xc2\x85")
    for data in (whole, whole[:-1]):
        assert verify([held("c", data)]).cases == 2
    assert facts(refused(BOTH.replace(b"\n", b"\r"))) == ("invalid_json", "c:1:$", 3)


def test_a_line_over_16_mib_is_refused_and_what_follows_it_is_not_read() -> None:
    """CP-LINE-3."""
    long = b'"' + b"x" * MAX_LINE + b'"\n'
    assert facts(refused(BOTH + long + b"no JSON\n")) == ("bad_value", "c:3:$", 3)
    # Far over it: the line itself is not read whole either.
    assert facts(refused(BOTH + long[:-2] * 2 + b"\nno JSON\n")) == ("bad_value", "c:3:$", 3)


def test_nobody_is_asked_before_every_line_was_found_sound() -> None:
    """CP-LINE-5."""
    service = Told()
    for bad, code in ((b"{}\n", "missing_field"), (BOTH[:0] + line("l", "lost"), "duplicate_id")):
        error = refused(BOTH + bad, service=lambda: service, piece_bytes=1)
        assert (error.code, service.asked) == (code, 0)
    assert verify([held("c", BOTH)], service=lambda: service).cases == 2
    assert service.asked == 1


@pytest.mark.parametrize(
    ("data", "path", "said"),
    [
        ([BOTH + line("k", "lost")], "c:3:$.id", "c:2 already"),
        ([BOTH, line("x", "keep") + line("k", "keep")], "d:2:$.id", "c:2 already"),
        ([line("a\0b", "lost") + line("a\0c", "keep") + line("a\0b", "keep")], "c:3:$.id", "c:1"),
        ([BOTH + line("k", "keep") + line("l", "keep") + line("k", "lost")], "c:4:$.id", "c:1"),
    ],
)
def test_an_id_that_stands_twice_is_refused(data: list[bytes], path: str, said: str) -> None:
    """CP-LINE-6."""
    error = refused(*data, piece_bytes=1)
    assert facts(error) == ("duplicate_id", path, 3)
    assert said in error.message


def test_ctx_09_a_corpus_of_one_label_is_refused_and_so_is_an_empty_one() -> None:
    """CP-LINE-7."""
    keeps = line("a", "keep") + line("b", "keep", "x")
    assert facts(refused(keeps)) == ("single_labelled_corpus", "c", 3)
    assert "every case is keep" in refused(keeps).message
    assert "every case is lost" in refused(line("a", "lost")).message
    assert facts(refused(keeps, line("c", "keep"), line("d", "keep")))[1] == "c (and 2 more)"
    assert facts(refused(b"")) == ("empty_corpus", "c", 3)
    assert facts(refused(BOTH, b"")) == ("empty_corpus", "d", 3)
    assert facts(refused()) == ("empty_corpus", "$", 3)
    assert facts(refused(b"\n")) == ("invalid_json", "c:1:$", 3)


def test_the_labels_may_stand_in_files_of_their_own() -> None:
    """CP-LINE-7."""
    report = verify([held("lost", line("l", "lost")), held("keep", line("k", "keep"))])
    assert [(f.name, f.cases) for f in report.files] == [("lost", 1), ("keep", 1)]


def test_a_state_over_its_budget_exits_2_after_everything_that_exits_3() -> None:
    """CP-EXIT-2."""
    long = line("x", "lost", "x" * 500)
    error = refused(BOTH + long + line("y", "lost", "y" * 900), max_chars=400, piece_bytes=1)
    assert facts(error) == ("over_budget", "c:3:$", 2)
    assert isinstance(error, OverBudget)
    for more, code in ((b"{", "invalid_json"), (line("x", "keep"), "duplicate_id")):
        assert refused(BOTH + long + more, max_chars=400).code == code
    assert refused(long, max_chars=400).code == "single_labelled_corpus"
    assert verify([held("c", BOTH + long)], max_chars=4_000).exit_status == 0


@pytest.mark.parametrize("name", ["wait_min", "max_chars"])
def test_a_threshold_that_is_none_is_refused(name: str) -> None:
    assert isinstance(refused(BOTH, **{name: True}), BadConfig)


# --- where lines come from


def test_a_file_is_read_twice_and_a_pipe_is_spooled(tmp_path: Path) -> None:
    """CP-LINE-8."""
    (tmp_path / "c.jsonl").write_bytes(BOTH)
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(BOTH,))
    writer.start()
    with sources_of([str(tmp_path / "c.jsonl"), str(fifo)]) as sources:
        writer.join()
        assert [source.size for source in sources] == [len(BOTH)] * 2
        for source in sources:
            (file,) = verify([source]).files
            assert (file.cases, file.name) == (2, source.name)
        first, second = (verify([source]).files[0].digest for source in sources)
    assert first == second
    assert first.startswith("sha256:")


def test_stdin_is_spooled(monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-LINE-8."""
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(BOTH)))
    with sources_of(["-"]) as sources:
        assert verify(sources).files[0].cases == 2


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name in (tmp_path / "absent", tmp_path, Path("nul\0")):
        with pytest.raises(Unreadable) as caught, sources_of([str(name)]):
            raise AssertionError("the block was entered")
        assert caught.value.path == str(name)

    class Broken(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(Unreadable, match="c: unreadable: Input/output error"):
        verify([Source("c", 1, lambda: Broken(BOTH))])


@pytest.mark.parametrize(
    ("after", "code", "path"),
    [
        (BOTH + line("z", "keep"), "corpus_changed", "c"),
        (BOTH.replace(b'"a"', b'"b"'), "corpus_changed", "c"),
        (line("l", "lost", "a") + b"{\n", "corpus_changed", "c:2:$"),
        (b"", "corpus_changed", "c"),
    ],
)
def test_a_corpus_that_changes_between_its_readings_is_refused(
    after: bytes, code: str, path: str
) -> None:
    """CP-LINE-9."""
    openings: Iterator[bytes] = iter((BOTH, after))
    with pytest.raises(CorpusChanged) as caught:
        verify([Source("c", 1, lambda: BytesIO(next(openings)))])
    assert facts(caught.value) == (code, path, 3)


# --- rates


def test_both_rates_are_shares_of_their_label() -> None:
    """CP-RATE-1, CP-RATE-2, CP-RATE-3."""
    lost = [line("l1", "lost"), line("l2", "lost", "a"), line("l3", "lost", *"abcd")]
    keep = [line("k1", "keep"), line("k2", "keep", unknown=["todos"]), line("k3", "keep", *"abcd")]
    report = verify([held("c", b"".join(lost + keep + [line("k4", "keep")]))])
    assert report.lost_let_through == Rate(1, 3, ("l1",))
    assert report.keep_refused == Rate(2, 4, ("k2", "k3"))
    assert (report.lost_let_through.rate, report.keep_refused.rate) == (1 / 3, 0.5)
    assert report.verdicts == (
        {"label": "lost", "safe_to_compact": 1, "wait": 1, "preserve_first": 1, "skipped": 0},
        {"label": "keep", "safe_to_compact": 2, "wait": 1, "preserve_first": 1, "skipped": 0},
    )
    assert (report.cases, report.asked, report.skipped, report.unusable) == (7, 0, 0, 0)
    assert (report.all_skipped, report.exit_status) == (False, 1)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        # The first three from Newcombe (1998), table I; the last by the formula's symmetry.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_the_interval_is_the_wilson_score_interval(
    count: int, of: int, low: float, high: float
) -> None:
    """CP-RATE-4."""
    interval = Rate(count, of).interval
    assert interval is not None
    assert interval == pytest.approx((low, high), abs=5e-5)


def test_a_rate_over_nothing_is_null() -> None:
    """CP-RATE-3."""
    assert (Rate(0, 0).rate, Rate(0, 0).interval) == (None, None)


def test_at_most_a_thousand_ids_of_a_kind_are_listed_in_the_corpus_order() -> None:
    """CP-RATE-5."""
    lost = [line(f"l{n}", "lost") for n in range(1_200)]
    keep = [line(f"k{n}", "keep", "a") for n in range(1_100)]
    data = b"".join(b for pair in zip(lost, keep, strict=False) for b in pair)
    for piece_bytes in (2_000, 10_000_000):
        report = verify([held("c", data)], piece_bytes=piece_bytes)
        assert report.lost_let_through == Rate(1_100, 1_100, tuple(f"l{n}" for n in range(1_000)))
        assert report.keep_refused == Rate(1_100, 1_100, tuple(f"k{n}" for n in range(1_000)))
    assert "lost, let through: 1100, the first 1000\n  - l0\n" in text_of(report)


def test_the_report_has_its_keys_and_no_forbidden_one() -> None:
    """CP-RATE-6, CV-KEY-6."""
    payload = scored(BOTH, line("f", "lost", "fail timeout")).payload(curve=True)
    refuse_forbidden(payload)
    assert list(payload) == [
        "cases", "lost_let_through", "keep_refused", "asked", "skipped", "all_skipped", "skips",
        "unusable", "unusable_details", "verdicts", "wait_min", "max_chars", "service", "files",
        "curve",
    ]  # fmt: skip
    assert list(payload["lost_let_through"]) == ["count", "of", "rate", "interval", "ids"]
    assert (payload["wait_min"], payload["max_chars"], payload["service"]) == (3, 16_000, True)
    assert "curve" not in scored(BOTH).payload()


# --- SKIP


def test_a_case_whose_service_was_absent_is_in_neither_rate() -> None:
    """CP-SKIP-1."""
    report = scored(
        line("l1", "lost", "fail timeout"), line("l2", "lost", "say wait"),
        line("k1", "keep", "fail timeout"), line("k2", "keep", "fail declined"),
        line("k3", "keep", "say safe_to_compact"), line("k4", "keep"),
    )  # fmt: skip
    assert report.lost_let_through == Rate(0, 1)
    assert report.keep_refused == Rate(1, 2, ("k3",))
    assert (report.cases, report.asked, report.skipped) == (6, 5, 3)
    assert (report.all_skipped, report.exit_status) == (False, 0)
    assert report.skips == {"timeout": 2, "declined": 1}
    assert [row["skipped"] for row in report.verdicts] == [1, 2]
    assert "SKIP: 3 of 6 (timeout 2, declined 1), in neither rate" in text_of(report)


def test_ctx_10_where_the_service_was_there_for_nobody_every_case_is_skip() -> None:
    """CP-SKIP-2: those that never asked, too."""
    cases = [line(f"{label}{n}", label, "fail unreachable") for label in Label for n in (1, 2)]
    report = scored(*cases)
    assert (report.skipped, report.all_skipped, report.exit_status) == (4, True, 0)
    assert (report.lost_let_through, report.keep_refused) == (Rate(0, 0), Rate(0, 0))
    over = [line("o", "keep", *"abcd"), line("p", "lost", *"abcd")]
    report = scored(*cases, line("k", "keep"), *over)
    assert (report.skipped, report.all_skipped, report.cases) == (7, True, 7)
    assert report.skips == {"unreachable": 4, "not_asked": 3}
    assert (report.lost_let_through, report.keep_refused) == (Rate(0, 0), Rate(0, 0))
    said = text_of(report)
    assert said.startswith("SKIP: the service was there for none of the 4 cases that asked it")
    assert "lost let through: nothing was checked (0 of 0)" in said


def test_a_lost_case_judged_safe_is_let_through_even_where_all_others_are_skip() -> None:
    """CP-SKIP-3."""
    report = scored(line("l", "lost"), line("m", "lost", "fail timeout"), line("k", "keep"))
    assert report.lost_let_through == Rate(1, 1, ("l",))
    assert (report.skipped, report.all_skipped, report.exit_status) == (2, True, 1)
    assert report.verdicts[0] == {
        "label": "lost", "safe_to_compact": 1, "wait": 0, "preserve_first": 0, "skipped": 1,
    }  # fmt: skip


def test_where_nobody_had_to_ask_nothing_is_skip() -> None:
    """CP-SKIP-2."""
    report = scored(line("l", "lost", *"abcd"), line("k", "keep"))
    assert (report.asked, report.skipped, report.all_skipped) == (0, 0, False)
    assert (report.lost_let_through, report.keep_refused) == (Rate(0, 1), Rate(0, 1))


def test_one_answer_is_enough_for_the_service_to_have_been_there() -> None:
    """CP-SKIP-2, CP-SKIP-4: an unusable one, too."""
    for todo in ("say wait", "raw 1"):
        lost = line("l", "lost", "fail timeout") + line("m", "lost", todo)
        report = scored(lost, line("k", "keep"))
        assert (report.skipped, report.all_skipped) == (1, False)
        assert (report.lost_let_through, report.keep_refused) == (Rate(0, 1), Rate(0, 1))


def test_unusable_answers_are_counted_apart_and_stay_in_the_rates() -> None:
    """CP-SKIP-4."""
    report = scored(
        line("l", "lost", "raw 1"), line("k", "keep", "raw 2"), line("m", "keep", "fail truncated")
    )
    assert (report.unusable, report.skipped) == (3, 0)
    assert report.unusable_details == {"truncated": 1, "unreadable": 1, "bad_score": 1}
    assert (report.lost_let_through, report.keep_refused) == (Rate(0, 1), Rate(2, 2, ("k", "m")))
    assert "unusable answers: 3 (truncated 1, unreadable 1, bad_score 1), judged wait" in (
        text_of(report)
    )


def test_svc_10_a_declined_answer_is_skip_and_says_so() -> None:
    """CP-SKIP-1."""
    report = scored(BOTH, line("d", "keep", "fail declined"))
    assert (report.skipped, report.skips) == (1, {"declined": 1})


@pytest.mark.parametrize("detail", Detail)
def test_every_detail_is_either_skip_or_unusable(detail: Detail) -> None:
    """CP-SKIP-1, CP-SKIP-4."""
    report = scored(BOTH, line("d", "keep", f"fail {detail}"))
    counted = report.skips if detail in ABSENT else report.unusable_details
    assert counted == {str(detail): 1}
    assert report.skipped + report.unusable == 1


def test_svc_01_a_service_that_never_answers_is_skip_after_its_deadline() -> None:
    """CP-SKIP-1."""
    report = scored(BOTH, service=lambda: Command(["sleep", "60"], 0.2))
    assert (report.skips, report.all_skipped) == ({"timeout": 1, "not_asked": 1}, True)


def test_svc_11_the_loss_of_the_service_touches_the_band_only() -> None:
    """CP-SKIP-2: and a count that decides by itself is never SKIP where somebody was answered."""
    band = [line("b1", "lost", "fail misconfigured"), line("b2", "keep", "say preserve_first")]
    report = scored(line("clear", "keep"), line("over", "lost", *"abcde"), *band)
    assert (report.asked, report.skips) == (2, {"misconfigured": 1})
    assert (report.lost_let_through, report.keep_refused) == (Rate(0, 1), Rate(1, 2, ("b2",)))


def test_an_answer_with_a_forbidden_key_refuses_the_run() -> None:
    """CP-EXIT-2, CV-KEY-4: the first in the corpus, however the lines are cut."""
    lines = [BOTH, line("m", "lost", "raw 0"), line("n", "keep", "raw 0")]
    for piece_bytes in (1, 1_000_000):
        error = refused(b"".join(lines), service=told, piece_bytes=piece_bytes)
        assert facts(error) == ("forbidden_key", "c:3:$.perBlock", 3)
        assert isinstance(error, ForbiddenKey)
        assert error.message.startswith("in the service's answer: 'perBlock' asks for a selection")


# --- engines


class Late(Executor):
    """Does nothing before a result is wanted, and then the youngest first."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.most = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        outer = self

        class Wanted(Future[Any]):
            def result(self, timeout: float | None = None) -> Any:
                while outer.waiting:
                    outer.waiting.pop()()
                return super().result(timeout)

        future = Wanted()
        self.waiting.append(lambda: future.set_result(fn(*args, **kwargs)))
        self.most = max(self.most, len(self.waiting))
        return future


MANY = b"".join(
    line(f"{label}-{how}-{n}", label, *[how] * n, unknown=["todos"] if n % 3 else [])
    for label in Label
    for how in ("say wait", "say preserve_first", "say safe_to_compact", "fail timeout", "raw 2")
    for n in range(6)
)


@pytest.mark.parametrize("service", [None, told])
def test_the_report_is_the_same_whatever_the_engine_and_the_pieces(
    service: Callable[[], Service] | None,
) -> None:
    """CP-EXIT-3."""
    expected = verify([held("c", MANY)], service=service)
    assert expected.cases == 60
    late = Late()
    with processes(2) as pool, in_process() as here:
        for each in (Engine(late, at_once=4), pool, here):
            for piece_bytes in (1, 700, 10**7):
                report = verify(
                    [held("c", MANY)], service=service, engine=each, piece_bytes=piece_bytes
                )
                assert report == expected
    assert late.most == 4


def test_a_bounded_number_of_pieces_is_under_way() -> None:
    """CP-EXIT-3: the reading waits for the work."""
    drawn = 0

    def pieces() -> Iterator[tuple[str, bytes]]:
        nonlocal drawn
        for n in range(100):
            drawn = n + 1
            yield str(n), b"x" * n

    late = Late()
    for done, (tag, piece, length) in enumerate(Engine(late, 5).in_order(len, pieces()), 1):
        assert (tag, len(piece), length) == (str(done - 1), done - 1, done - 1)
        assert drawn <= done + 4
    assert late.most == 5


def test_what_is_not_wanted_any_more_is_cancelled() -> None:
    class Recorded(Executor):
        def __init__(self) -> None:
            self.futures: list[Future[Any]] = []

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
            self.futures.append(Future())
            if len(self.futures) == 1:
                self.futures[0].set_result(fn(*args, **kwargs))
            return self.futures[-1]

    recorded = Recorded()
    results = Engine(recorded, 3).in_order(len, [(piece, piece) for piece in (b"a", b"b", b"c")])
    assert next(results) == (b"a", b"a", 1)
    results.close()
    assert [future.cancelled() for future in recorded.futures] == [False, True, True]


def test_a_service_is_made_once_in_each_worker() -> None:
    made: list[Told] = []

    def make() -> Service:
        made.append(Told())
        return made[-1]

    verify([held("c", MANY)], service=make, piece_bytes=1)
    assert (len(made), made[0].asked) == (1, verify([held("c", MANY)], service=told).asked)


def test_a_fault_of_a_service_is_a_crash_and_no_result() -> None:
    def broken() -> Service:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        verify([held("c", BOTH)], service=broken)


@pytest.mark.parametrize("piece_bytes", [500, 10**6], ids=["many pieces", "one piece"])
def test_a_worker_that_dies_ends_the_run_without_a_report(piece_bytes: int) -> None:
    """CP-EXIT-4: it is told where the next piece is given out, and where a result is taken."""
    with processes(2) as pool:
        error = refused(MANY, service=dies, engine=pool, piece_bytes=piece_bytes)
        assert facts(error) == ("engine_failed", "$", 3)
        assert isinstance(error, EngineFailed)
        assert facts(refused(MANY, engine=pool)) == ("engine_failed", "$", 3)
    assert multiprocessing.active_children() == []


def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-EXIT-4."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    extra = r"no_cluster: .*verdict-core\[cluster\]"
    with pytest.raises(EngineFailed, match=extra), cluster("x", 1):
        pass


def test_an_error_interrupts_what_the_workers_are_doing() -> None:
    """CP-EXIT-5: and nothing more is begun."""
    running: list[Future[None]] = []
    with contextlib.suppress(ZeroDivisionError), processes(2) as pool:
        running += [pool.executor.submit(engine._interruptible, _slow, b"") for _ in range(9)]
        _ = 1 // 0
    assert len(running) == 9
    assert multiprocessing.active_children() == []
    for future in running:
        assert future.cancelled() or isinstance(future.exception(), KeyboardInterrupt)


def _slow(piece: bytes) -> None:
    threading.Event().wait(60)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process as a worker of the pool would be."""
    old = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(engine, "_stopped", False)
    engine._start()
    yield
    signal.signal(signal.SIGINT, old)


def test_an_interruption_stops_a_worker_that_works_and_never_one_that_waits(worker: None) -> None:
    """CP-EXIT-5."""
    assert engine._interruptible(len, b"abc") == 3
    with pytest.raises(KeyboardInterrupt):
        engine._interruptible(lambda piece: signal.raise_signal(signal.SIGINT), b"")
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        engine._interruptible(len, b"abc")


def test_a_worker_ends_with_the_process_that_it_works_for(
    worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CP-EXIT-5."""
    ended: list[int] = []
    monkeypatch.setattr(engine, "GRACE_SECONDS", 0)
    monkeypatch.setattr(os, "_exit", ended.append)
    parent = multiprocessing.get_context("spawn").Process(target=len, args=("",))
    parent.start()
    engine._end_with(parent)
    assert (parent.exitcode, ended) == (0, [1])
    with pytest.raises(KeyboardInterrupt):
        engine._interruptible(len, b"")


def test_a_worker_that_has_gone_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()

    class Gone:
        pid = done.pid

    class Unstarted:
        pid = None

    monkeypatch.setattr(multiprocessing, "active_children", lambda: [Unstarted(), Gone()])
    engine._interrupt_workers()


# --- the curve


def test_the_curve_is_what_judging_at_each_wait_min_says() -> None:
    """CP-CURVE-1, CP-CURVE-2."""
    rows = verify([held("c", MANY)], service=told).curve
    cases = [read_case(text) for text in MANY.splitlines()]
    assert [row.wait_min for row in rows] == list(range(6))
    for row in rows:
        shares = dict.fromkeys([(label, verdict) for label in Label for verdict in Verdict], 0.0)
        asking = Asked()
        for case in cases:
            verdict = judge(case.summary, build(case.summary), wait_min=row.wait_min).verdict
            shares[case.label, verdict] += 1 / 30
            judge(case.summary, build(case.summary), wait_min=row.wait_min, service=asking)
        assert row.payload() == pytest.approx(
            {
                "wait_min": row.wait_min,
                "lost_wait": shares[Label.LOST, Verdict.WAIT],
                "lost_preserve_first": shares[Label.LOST, Verdict.PRESERVE_FIRST],
                "keep_wait": shares[Label.KEEP, Verdict.WAIT],
                "keep_preserve_first": shares[Label.KEEP, Verdict.PRESERVE_FIRST],
                "would_ask": asking.times / 60,
            }
        )


class Asked:
    def __init__(self) -> None:
        self.times = 0

    def ask(self, request: Request, /) -> Mapping[str, Any]:
        self.times += 1
        return {"choice": "wait", "score": 0}


def test_the_rates_do_not_depend_on_wait_min() -> None:
    """CP-CURVE-3."""
    reports = [verify([held("c", MANY)], wait_min=wait_min) for wait_min in range(8)]
    assert len({(r.lost_let_through, r.keep_refused) for r in reports}) == 1
    assert len({tuple(r["wait"] for r in report.verdicts) for report in reports}) > 3


def test_a_share_over_nothing_is_null_in_the_curve() -> None:
    """CP-CURVE-1."""
    (row,) = curve_of({Kind(Label.KEEP, Verdict.SAFE_TO_COMPACT, False, None, 0, False): 1})
    assert (row.lost_wait, row.keep_wait, row.would_ask) == (None, 0, 0)
    assert curve_of({})[0].would_ask is None


def test_the_curve_says_that_the_rates_do_not_depend_on_it() -> None:
    """CP-CURVE-3."""
    report = verify([held("c", BOTH)])
    said = text_of(report, curve=True)
    assert "the two rates do not depend on wait_min: only a count of 0" in said
    rows = [re.split(r"  +", text) for text in said.splitlines()[-2:]]
    assert rows == [
        ["0", "0.0%", "100.0%", "0.0%", "0.0%", "0.0%"],
        ["1", "100.0%", "0.0%", "0.0%", "0.0%", "50.0%"],
    ]
    assert "at each wait_min" not in text_of(report)


def test_a_share_over_nothing_is_a_dash_for_people() -> None:
    kind = Kind(Label.KEEP, Verdict.SAFE_TO_COMPACT, False, None, 0, False)
    settings = verify([held("c", BOTH)]).settings
    report = Report.of({kind: 1}, let_through=(), refused=(), settings=settings, files=())
    assert text_of(report, curve=True).splitlines()[-1].split() == (
        ["0", "-", "-", "0.0%", "0.0%", "0.0%"]
    )


def test_ids_reach_the_terminal_escaped() -> None:
    """CV-CLI-4."""
    report = verify([held("c", line("\x1b[2J\u202e", "lost") + line("k", "keep"))])
    assert "  - \\u001b[2J\\u202e\n" in text_of(report)


# --- JUnit


def junit_of(path: Path, *lines: bytes) -> tuple[Report, ElementTree.Element]:
    with junit.written(str(path)) as file:
        report = scored(*lines, sink=file.add)
        file.write(report)
    (suite,) = ElementTree.parse(path).getroot()
    return report, suite


def test_junit_fails_only_what_was_let_through(tmp_path: Path) -> None:
    """CP-JUNIT-1, CP-JUNIT-2."""
    report, suite = junit_of(
        tmp_path / "j.xml",
        line("through", "lost"), line("skip", "lost", "fail timeout"), line("right", "keep"),
        line("refused", "keep", "raw 2"), line("held", "lost", "say preserve_first"),
    )  # fmt: skip
    assert (report.exit_status, report.all_skipped) == (1, False)
    names = {"tests": "5", "failures": "1", "errors": "0", "skipped": "1"}
    assert {name: suite.get(name) for name in names} == names
    assert {p.get("name"): p.get("value") for p in suite.iter("property")} == {
        "lost_let_through": "1 of 2",
        "keep_refused": "1 of 2",
        "all_skipped": "false",
        "unusable": "1",
    }
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == ["through", "skip", "right", "refused", "held"]
    assert {case.get("classname") for case in cases.values()} == {"c"}
    said = {n: [(e.tag, e.get("message") or e.text) for e in case] for n, case in cases.items()}
    assert said == {
        "through": [("failure", "judged safe_to_compact, and compacting here loses work")],
        "skip": [("skipped", "SKIP: timeout")],
        "right": [("system-out", "safe_to_compact (nothing_unlanded)")],
        "refused": [
            ("system-out", "keep refused: wait (in_band, service_unusable, bad_score)"),
        ],
        "held": [("system-out", "preserve_first (in_band, service_preserve)")],
    }


def test_junit_skips_every_case_where_all_are_skip_but_what_was_let_through(tmp_path: Path) -> None:
    """CP-JUNIT-2, CP-SKIP-3."""
    report, suite = junit_of(
        tmp_path / "j.xml", line("l", "lost"), line("m", "lost", "fail declined"), line("k", "keep")
    )
    assert (suite.get("failures"), suite.get("skipped"), report.all_skipped) == ("1", "2", True)
    said = [(e.tag, e.get("message")) for case in suite.iter("testcase") for e in case][1:]
    assert said == [("skipped", "SKIP: declined"), ("skipped", "SKIP: not_asked")]


def test_junit_is_xml_whatever_an_id_holds(tmp_path: Path) -> None:
    """CP-JUNIT-3."""
    odd = '<&">\x00\x1b\x0b\u2028\ufffe\uffff\n]]>é'
    _, suite = junit_of(tmp_path / "j.xml", line(odd, "lost"), line("k", "keep"))
    shown = '<&">\\u0000\\u001b\\u000b\\u2028\\ufffe\\uffff\\u000a]]>é'
    assert [case.get("name") for case in suite.iter("testcase")] == [shown, "k"]


def test_junit_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """CP-JUNIT-3."""
    target = tmp_path / "j.xml"
    with contextlib.suppress(KeyboardInterrupt), junit.written(str(target)):
        assert len(list(tmp_path.iterdir())) == 1
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    target.write_text("old")
    (tmp_path / "link").symlink_to(target)
    with contextlib.suppress(KeyboardInterrupt), junit.written(str(target)):
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    junit_of(tmp_path / "link", BOTH)
    assert target.read_text().startswith("<?xml")
    assert (tmp_path / "link").is_symlink()
    umask = os.umask(0o022)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
    assert sorted(path.name for path in tmp_path.iterdir()) == ["j.xml", "link"]


def test_a_junit_file_that_cannot_be_written_is_known_at_once(tmp_path: Path) -> None:
    """CP-JUNIT-3."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "no" / "dir.xml"):
        with pytest.raises(Unwritable) as caught, junit.written(str(path)):
            raise AssertionError("the block was entered")
        assert (caught.value.path, caught.value.exit_status) == (str(path), 3)


# --- the corpus of the package


def reasons() -> dict[str, dict[str, str]]:
    rows = SHIPPED[0].with_name("reasons.jsonl").read_text(encoding="utf-8").splitlines()
    read = [json.loads(row) for row in rows]
    assert len({row["id"] for row in read}) == len(rows)
    return {row["id"]: row for row in read}


def test_the_shipped_corpus_is_one_and_its_rates_are_those_that_are_said() -> None:
    """CP-LINE-1: what its README, and ours, say of it."""
    with sources_of(map(str, SHIPPED)) as both:
        whole, real, by_hand = (verify(part) for part in (both, both[:1], both[1:]))
    assert real.lost_let_through.payload() | {"ids": (), "interval": None} == {
        "count": 2, "of": 43, "rate": 2 / 43, "interval": None, "ids": (),
    }  # fmt: skip
    assert (real.keep_refused.count, real.keep_refused.of) == (60, 67)
    assert (by_hand.lost_let_through.of, by_hand.keep_refused.of) == (23, 20)
    assert (whole.cases, whole.exit_status) == (153, 1)
    readme = SHIPPED[0].with_name("README.md").read_text(encoding="utf-8")
    assert "110 cases from real sessions: 43 lost, 67 keep" in readme
    assert "43 cases written by hand: 23 lost, 20 keep" in readme
    held_back = [
        case.label
        for case in map(read_case, SHIPPED[0].read_bytes().splitlines())
        if case.summary.count == 0 and case.summary.unknown == ("uncommitted",)
    ]
    assert (held_back.count(Label.KEEP), held_back.count(Label.LOST)) == (53, 21)
    said = " ".join(readme.split())
    assert "53 of the 60 refused keep cases hold no item, and so do 21 of the 41 lost cases" in said


def test_every_shipped_case_has_the_reason_for_its_label() -> None:
    cases = [read_case(text) for path in SHIPPED for text in path.read_bytes().splitlines()]
    assert [case.id for case in cases] == list(reasons())
    assert all(len(row["reason"]) > 20 for row in reasons().values())


def test_the_cases_by_hand_have_every_kind() -> None:
    cases = [read_case(text) for text in SHIPPED[1].read_bytes().splitlines()]
    for label in Label:
        mine = [case.summary for case in cases if case.label is label]
        for name in FIELDS:
            assert any(getattr(summary, name) and summary.count == 1 for summary in mine)
            assert any(summary.unknown == (name,) and summary.count == 0 for summary in mine)
        for count in (0, 1, 3, 4, 12):
            assert any(summary.count == count for summary in mine)
        assert any(not summary.count and not summary.unknown for summary in mine)
        assert any(len(summary.unknown) == 5 for summary in mine)
