"""A whole run against children that are right, wrong, or misbehave. (SPEC CF-RUN, CF-BASE)"""

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from verdict_core.conformance import parts, suite, vectors
from verdict_core.conformance.baseline import read
from verdict_core.conformance.checks import Check, Failure, Fate, failure_of, shown
from verdict_core.conformance.child import Child, Fault, GaveUp, Misbehaved
from verdict_core.conformance.junit import xml_of
from verdict_core.conformance.remote import Exchange
from verdict_core.conformance.report import Report, rows_of
from verdict_core.conformance.run import run
from verdict_core.conformance.subject import Refused
from verdict_core.conformance.text import text_of
from verdict_core.errors import Usage

# These start and end many processes, and wait for some: `make test-long`.
pytestmark = pytest.mark.long

CHILDREN = Path(__file__).parent / "conformance_children.py"
CELL = "ADMIT-blocked-violation-invalid-changed"


def child(name: str = "", time_limit_s: float = 20.0) -> Child:
    return Child([sys.executable, str(CHILDREN), name], time_limit_s=time_limit_s)


def asked(name: str, only: str, baseline: str = "", time_limit_s: float = 20.0) -> Report:
    return run(child(name, time_limit_s), only=only, baseline=baseline, examples=5)


def fates(report: Report) -> dict[str, Fate]:
    return {row.clause: row.fate for row in report.rows}


def failed(report: Report) -> set[str]:
    return {clause for clause, fate in fates(report).items() if fate is Fate.FAILED}


# --- rules


# What is broken, where it is looked for, the clauses that have to fail, and those that may.
BROKEN: list[tuple[str, str, set[str], set[str]]] = [
    ("FieldUnknownFirst", "CV-*", {"CV-RULE-4"}, set()),
    ("BudgetInBytes", "CV-S*", {"CV-STATE-6"}, set()),
    ("ClampsTheScore", "CV-ASK-[23]", {"CV-ASK-3"}, set()),
    ("ScoreIsAVote", "CV-JUDGE-[25]", {"CV-JUDGE-5"}, set()),
    ("AsksTwice", "CV-ASK-[12]", {"CV-ASK-1"}, set()),
    ("ExpectsAnAnswer", "PG-ADMIT-*", {"PG-ADMIT-4"}, set()),
    ("ReadsQuotes", "PG-REPORT-*", {"PG-REPORT-6"}, {"PG-REPORT-4", "PG-REPORT-11"}),
    ("LargestTimeWins", "PG-STATE-*", {"PG-STATE-1"}, {"PG-STATE-4"}),
    ("ForgetsAName", "CV-KEY-*", {"CV-KEY-1"}, {"CV-KEY-2"}),
]


@pytest.mark.parametrize(("name", "only", "must", "may"), BROKEN, ids=[one[0] for one in BROKEN])
def test_a_broken_rule_fails_its_clause_and_the_rest_passes(
    name: str, only: str, must: set[str], may: set[str]
) -> None:
    """CF-RUN-3, CF-RUN-5: reasons and details as much as decisions."""
    report = asked(name, only)
    assert must <= failed(report) <= must | may
    assert report.exit_status == 1
    others = {fate for clause, fate in fates(report).items() if clause not in must | may}
    assert others == {Fate.PASSED}


def test_the_reference_passes_and_says_so_the_same_way_twice() -> None:
    """CF-RUN-2, CF-RUN-8."""
    one, other = (asked("", "PG-ADMIT-*") for _ in range(2))
    assert one.payload() == other.payload()
    assert (one.exit_status, one.outcome) == (0, "passed")
    assert set(fates(one).values()) == {Fate.PASSED}
    assert "CV-CLI-1" in one.beyond
    assert "CV-RULE-1" not in one.beyond
    run_from = one.payload()
    assert {run_from[name] for name in ("seed", "examples", "only")} == {0, 5, "PG-ADMIT-*"}
    assert run_from["spec"] == parts.spec_version()


def test_a_failure_shows_the_clause_the_line_what_was_expected_and_what_came() -> None:
    """CF-RUN-4: of a vector and of a property, whose line is shrunk."""
    report = asked("ReadsQuotes", "PG-REPORT-6")
    (row,) = report.rows
    assert row.text == parts.clauses()["PG-REPORT-6"]
    by_check = {check: failure for check, _, failure in row.failures}
    static = by_check["REPORT-020"]
    assert json.loads(static.send)["document"].startswith("> Status: complete")
    assert json.loads(static.expected)["result"]["status"] == "incomplete"
    assert json.loads(static.came)["result"]["status"] == "complete"
    shrunk = by_check["test_a_quoted_report_is_unread"]
    assert shrunk.expected == "a quoted report is unread"
    assert len(json.loads(shrunk.send)["document"].split("\n")) <= 4
    text = text_of(report)
    for line in (static.send, static.came, row.text, "FAILED         PG-REPORT-6", "REPORT-020"):
        assert line in text


def test_a_comparison_shows_both_sides() -> None:
    """CF-RUN-4, CF-RUN-5."""
    report = asked("FieldUnknownFirst", "CV-RULE-4")
    failures = {check: failure for check, _, failure in report.rows[0].failures}
    cell = failures["test_every_cell_has_the_verdict_and_the_reasons_of_the_table"]
    assert cell.expected == '== ["field_unknown"]'
    assert cell.because == '["service_not_configured"]'


# --- processes


FAULTS: list[tuple[str, Fault]] = [
    ("crash", Fault.CRASHED),
    ("crash_in_a_line", Fault.CRASHED),
    ("killed", Fault.CRASHED),
    ("garbage", Fault.GARBAGE),
    ("other_id", Fault.OTHER_ID),
    ("flood", Fault.FLOODED),
    ("two_replies", Fault.UNASKED),
    ("one_more_later", Fault.UNASKED),
    ("misshapen", Fault.MISSHAPEN),
    ("two_kinds", Fault.MISSHAPEN),
    ("error", Fault.ERROR),
]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_whatever_a_child_does_instead_of_replying_is_told_as_that(name: str, fault: Fault) -> None:
    """CF-RUN-6, CF-RUN-7: only what asks for the cell is charged."""
    report = asked(name, "PG-ADMIT-3")
    (row,) = report.rows
    assert row.fate is Fate.FAILED
    # Which of the two is found first is a matter of time where it speaks later.
    also = {Fault.OTHER_ID} if name == "one_more_later" else set()
    assert {failure.fault for _, _, failure in row.failures} <= {fault} | also
    wrong = {name for name, fate in row.checks.items() if fate is Fate.FAILED}
    assert CELL in wrong
    assert {name for name in row.checks if name.startswith("ADMIT-")} - wrong == {
        name for name in row.checks if name.startswith("ADMIT-") and name != CELL
    }
    text = text_of(report)
    assert any(one in text for one in {fault} | also)


@pytest.mark.parametrize("name", ["hang", "hang_in_a_line", "closes_its_output"])
def test_a_child_that_hangs_is_waited_for_and_then_told(name: str) -> None:
    """CF-RUN-6."""
    report = asked(name, "PG-ADMIT-3", time_limit_s=0.7)
    assert fates(report) == {"PG-ADMIT-3": Fate.FAILED}
    fault = Fault.CRASHED if name == "closes_its_output" else Fault.TIMED_OUT
    assert {failure.fault for _, _, failure in report.rows[0].failures} == {fault}


@pytest.mark.parametrize("name", ["slow", "talks_on_stderr"])
def test_a_child_that_is_slow_or_talks_elsewhere_passes(name: str) -> None:
    """CF-PROTO-10."""
    assert asked(name, "PG-ADMIT-3").exit_status == 0


def test_a_child_that_says_that_it_cannot_is_skipped_and_the_run_is_incomplete() -> None:
    """CF-RUN-2, CF-RUN-3."""
    report = asked("unsupported", "PG-ADMIT-3")
    assert fates(report) == {"PG-ADMIT-3": Fate.SKIPPED}
    assert report.rows[0].reason == "unsupported: invalid"
    assert (report.exit_status, report.outcome) == (4, "incomplete")
    assert "skipped        PG-ADMIT-3     unsupported: invalid" in text_of(report)


def test_a_child_that_kept_silent_too_often_is_asked_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CF-RUN-7: what is left could not run."""
    monkeypatch.setattr("verdict_core.conformance.child.ALL_TIMEOUTS", 1)
    report = asked("hang", "PG-ADMIT-*", time_limit_s=0.7)
    assert Fate.FAILED in fates(report).values()
    assert Fate.NOT_RUN in report.rows[-1].checks.values()
    assert report.exit_status == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("banner", "hello: "),
        ("dead", "hello: crashed: it ended with exit status 1: no license"),
        ("claims_what_there_is_not", "hello: misshapen: $.result.capabilities[0]"),
    ],
)
def test_a_child_that_cannot_say_hello_fails_and_nothing_could_run(name: str, said: str) -> None:
    """CF-PROTO-4, CF-RUN-6."""
    report = asked(name, "PG-ADMIT-*")
    assert report.exit_status == 1
    assert [trouble[: len(said)] for trouble in report.troubles] == [said]
    assert set(fates(report).values()) == {Fate.NOT_RUN}
    assert report.hello is None
    assert said in text_of(report)


def test_a_banner_is_told_as_what_it_is() -> None:
    """CF-RUN-6: as a reply that is none, or as words that nobody asked for, if they were there
    before the request."""
    (trouble,) = asked("banner", "PG-ADMIT-1").troubles
    assert trouble.startswith(("hello: garbage: $: invalid_json", "hello: spoke_unasked: "))


def test_a_child_of_another_protocol_is_asked_nothing() -> None:
    """CF-RUN-2: incomplete, and no failure."""
    report = asked("other_protocol", "PG-ADMIT-*")
    assert (report.exit_status, set(fates(report).values())) == (4, {Fate.NOT_RUN})
    assert report.rows[0].reason == "it speaks protocol 2, this suite 1"


def test_a_child_that_goes_on_after_the_end_fails_that_clause() -> None:
    """CF-PROTO-10."""
    report = asked("goes_on", "CF-PROTO-1*", time_limit_s=1)
    assert failed(report) == {"CF-PROTO-10"}


def test_what_is_not_claimed_is_no_failure_and_no_skip() -> None:
    """CF-PROTO-4, CF-RUN-2: and a run in which nothing was proven has not passed."""
    report = asked("ClaimsLittle", "*-[A-R]*-1")
    found = fates(report)
    assert (found["PG-ADMIT-1"], found["CV-RULE-1"]) == (Fate.PASSED, Fate.NOT_CLAIMED)
    assert report.exit_status == 0
    nothing = asked("ClaimsNothing", "PG-ADMIT-*")
    assert set(fates(nothing).values()) == {Fate.NOT_CLAIMED}
    assert nothing.exit_status == 4
    assert nothing.rows[0].reason == "admit"


# --- the run itself


def test_a_clause_that_nothing_asks_for_is_a_matter_of_usage() -> None:
    """CF-RUN-1, CF-RUN-2."""
    with pytest.raises(Usage, match="no clause of that name"):
        run(child(), only="CV-CLI-1")


def test_a_clause_that_only_vectors_ask_for_is_asked_for() -> None:
    """CF-RUN-1."""
    report = asked("", "PG-ENTRY-2")
    assert fates(report) == {"PG-ENTRY-2": Fate.PASSED}
    assert list(report.rows[0].checks) == ["LEDGER-002"]


def test_a_suite_without_vectors_or_properties_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """CF-RUN-1."""
    monkeypatch.setattr(vectors, "load", lambda: [])
    report = asked("dead", "CF-PROTO-2")
    assert "the suite has no vectors" in report.troubles
    monkeypatch.undo()
    monkeypatch.setattr(suite, "offered", dict)
    report = asked("dead", "CV-RULE-3")
    assert "the suite has no properties" in report.troubles


def test_a_property_that_cannot_be_read_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """CF-RUN-1: what did not run has not passed."""
    broken = 'import nothing_of_that_name\ndef test_one(subject): "PG-ADMIT-1"\n'
    (tmp_path / "test_broken.py").write_text(broken)
    real = parts.part
    monkeypatch.setattr(parts, "part", lambda n: tmp_path if n == "properties" else real(n))
    report = asked("", "PG-ADMIT-1")
    assert any("test_broken.py cannot be read" in trouble for trouble in report.troubles)
    assert report.exit_status == 1


def test_a_suite_that_ends_in_another_way_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """CF-RUN-1."""
    monkeypatch.setattr(pytest, "main", lambda *a, **k: pytest.ExitCode.INTERNAL_ERROR)
    report = asked("", "CV-RULE-3")
    assert [trouble[:24] for trouble in report.troubles] == ["the properties ended wit"]
    assert report.exit_status == 1


def test_an_interrupted_run_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest, "main", lambda *a, **k: pytest.ExitCode.INTERRUPTED)
    with pytest.raises(KeyboardInterrupt):
        asked("", "CV-RULE-3")


def test_a_run_leaves_the_process_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """CF-RUN-8: settings, environment, path and modules."""
    import os

    from hypothesis import settings

    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("VERDICT_CORE_PROFILE", "none")
    before = dict(os.environ), sys.path[:], settings.get_current_profile_name()
    asked("", "PG-ADMIT-1")
    after = dict(os.environ), sys.path[:], settings.get_current_profile_name()
    assert after == before


# --- baselines


def test_a_known_failure_is_no_failure() -> None:
    """CF-BASE-1: by its clause, and by each of its checks."""
    known = "# known\n\nPG-ADMIT-4: one reason is enough\n"
    whole = asked("ExpectsAnAnswer", "PG-ADMIT-*", known)
    assert fates(whole)["PG-ADMIT-4"] is Fate.KNOWN
    assert (whole.exit_status, whole.troubles) == (0, ())
    assert "known failure  PG-ADMIT-4     one reason is enough" in text_of(whole)
    checks = {name for name, _, _ in whole.rows[3].failures}
    assert len(checks) > 1
    each = "".join(f"{name}: one is enough\n" for name in checks)
    assert asked("ExpectsAnAnswer", "PG-ADMIT-4", each).exit_status == 0
    but_one = each.replace(f"{min(checks)}: one is enough\n", "")
    assert asked("ExpectsAnAnswer", "PG-ADMIT-4", but_one).exit_status == 1


@pytest.mark.parametrize(
    ("baseline", "trouble"),
    [
        ("PG-ADMIT-1: gone", "baseline: PG-ADMIT-1 does not fail; take it out"),
        ("ADMIT-complete-clean-aligned: x", "ADMIT-complete-clean-aligned does not fail"),
        ("CV-RULE-99: x", "CV-RULE-99 is no clause, vector or property of this suite"),
        ("test_nothing: x", "test_nothing is no clause"),
        ("PG-ADMIT-4:", "baseline line 1: PG-ADMIT-4 has no reason"),
        ("PG-ADMIT-4", "baseline line 1: PG-ADMIT-4 has no reason"),
        ("\nPG-ADMIT-4: a\nPG-ADMIT-4: b", "baseline line 3: PG-ADMIT-4 stands twice"),
    ],
    ids=["stale", "stale vector", "unknown", "unknown test", "no reason", "no colon", "twice"],
)
def test_a_stale_unknown_or_reasonless_entry_fails(baseline: str, trouble: str) -> None:
    """CF-BASE-2, CF-BASE-1."""
    report = asked("ExpectsAnAnswer", "PG-ADMIT-*", baseline)
    assert any(trouble in found for found in report.troubles)
    assert report.exit_status == 1


def test_an_entry_of_what_is_not_asked_says_nothing() -> None:
    """CF-BASE-2: with `only`, the rest of a baseline is neither stale nor unknown."""
    assert asked("", "PG-ADMIT-1", "CV-RULE-4: later\nWIRE-001: later\n").troubles == ()


def test_a_baseline_is_lines_of_names_and_reasons() -> None:
    """CF-BASE-1."""
    assert read("A: because: of\n  B :  x  \n#C: y\n\n") == ({"A": "because: of", "B": "x"}, [])


# --- rows, and what a failure is


def check(fate: Fate, *clauses: str, **members: Any) -> Check:
    return Check(**{"id": "c", "clauses": clauses, "fate": fate, **members})


FAILURE = Failure(("A-B-1",), "send", "came", "expected", "because")


@pytest.mark.parametrize(
    ("checks", "fate", "reason"),
    [
        ([check(Fate.PASSED, "A-B-2")], Fate.PASSED, ""),
        ([check(Fate.PASSED, "A-B-2"), check(Fate.NOT_CLAIMED, "A-B-2", id="d")], Fate.PASSED, ""),
        ([check(Fate.NOT_CLAIMED, "A-B-2", reason="op")], Fate.NOT_CLAIMED, "op"),
        (
            [check(Fate.PASSED, "A-B-2"), check(Fate.SKIPPED, "A-B-2", id="d", reason="r")],
            Fate.SKIPPED,
            "r",
        ),
        (
            [check(Fate.SKIPPED, "A-B-2"), check(Fate.NOT_RUN, "A-B-2", id="d", reason="r")],
            Fate.NOT_RUN,
            "r",
        ),
        (
            [check(Fate.FAILED, "A-B-1", "A-B-2", failures=(FAILURE,))],
            Fate.NOT_RUN,
            "c ended at a failure of A-B-1",
        ),
        ([check(Fate.FAILED, "A-B-1", "A-B-2", failures=(FAILURE,), passed=3)], Fate.PASSED, ""),
        (
            [check(Fate.FAILED, "A-B-1", "A-B-2", failures=(FAILURE,)),
             check(Fate.PASSED, "A-B-2", id="d")],
            Fate.PASSED,
            "",
        ),
    ],
)  # fmt: skip
def test_a_row_says_the_worst_that_is_true_of_its_clause(
    checks: list[Check], fate: Fate, reason: str
) -> None:
    """CF-RUN-3: what ended at the failure of another clause has neither passed nor failed."""
    (row,) = rows_of(checks, {"A-B-1": "one", "A-B-2": "two"}, ["A-B-2"], {})
    assert (row.fate, row.reason, row.text) == (fate, reason, "two")


def test_rows_stand_in_the_order_of_the_specification() -> None:
    """CF-RUN-3: what it does not have is last, and says so."""
    checks = [check(Fate.PASSED, "Z-Z-1", "A-B-2", "A-B-1")]
    rows = rows_of(checks, {"A-B-2": "two", "A-B-1": "one"}, ["A-B-1", "A-B-2", "Z-Z-1"], {})
    assert [row.clause for row in rows] == ["A-B-2", "A-B-1", "Z-Z-1"]
    assert rows[-1].text == "(not in this specification)"


def test_a_failure_is_of_the_clauses_that_its_message_begins_with() -> None:
    """CF-RUN-4: else of all that its check names."""
    exchanges = [Exchange(f"s{n}".encode(), b"c") for n in range(5)]
    error = AssertionError("CV-RULE-4, CV-RULE-3\nassert 1 == 2")
    failure = failure_of(error, ["CV-RULE-1"], exchanges)
    assert failure.clauses == ("CV-RULE-4", "CV-RULE-3")
    assert (failure.because, failure.send, failure.came) == ("assert 1 == 2", "s4", "c")
    assert [send for send, _ in failure.before] == ["s1", "s2", "s3"]
    plain = failure_of(AssertionError("see CV-RULE-4"), ["CV-RULE-1"], [])
    assert (plain.clauses, plain.send, plain.because) == (("CV-RULE-1",), "", "see CV-RULE-4")
    assert failure_of(KeyError(), ["CV-RULE-1"], []).because == "KeyError"
    for kind in (Misbehaved, GaveUp):
        fault = failure_of(kind(Fault.CRASHED, "CV-RULE-4"), ["CV-RULE-1"], [])
        assert (fault.fault, fault.clauses, fault.expected) == (
            "crashed",
            ("CV-RULE-1",),
            "a reply",
        )


def test_a_value_is_shown_as_json_where_it_is_any() -> None:
    """CF-RUN-4."""
    assert shown((Refused("a", "$"), {"b": [None]})) == (
        '[{"refused":{"code":"a","path":"$"}},{"b":[null]}]'
    )
    assert shown({1}) == "{1}"


# --- other reports


def test_the_junit_report_has_a_case_a_clause() -> None:
    """CF-RUN-8: what could not run is an error, and what is not claimed is not there."""
    one = ElementTree.fromstring(xml_of(asked("ReadsQuotes", "PG-REPORT-[16]")))
    suite_of = one.find("testsuite")
    assert suite_of is not None
    assert {name: suite_of.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "2", "failures": "1", "errors": "0", "skipped": "0",
    }  # fmt: skip
    (failure,) = one.iter("failure")
    assert "REPORT-020" in (failure.text or "")
    skipped = ElementTree.fromstring(xml_of(asked("unsupported", "PG-ADMIT-3")))
    assert [one.get("message") for one in skipped.iter("skipped")] == ["unsupported: invalid"]
    lost = ElementTree.fromstring(xml_of(asked("dead", "PG-ADMIT-[13]")))
    assert len(list(lost.iter("error"))) == 2
    assert len(list(lost.iter("failure"))) == 1
    known = asked("ExpectsAnAnswer", "PG-ADMIT-4", "PG-ADMIT-4: one\ufffe")
    (row,) = ElementTree.fromstring(xml_of(known)).iter("skipped")
    assert row.get("message") == "known failure: one\\ufffe"
    nothing = ElementTree.fromstring(xml_of(asked("ClaimsNothing", "PG-ADMIT-3")))
    assert list(nothing.iter("testcase")) == []


def test_a_line_that_is_too_long_for_a_screen_is_whole_in_the_report() -> None:
    """CF-RUN-4."""
    report = asked("LargestTimeWins", "PG-STATE-1")
    text, payload = text_of(report), report.payload()
    longest = max((one["send"] for one in payload["clauses"][0]["failures"]), key=len)
    assert len(longest) > 2_000
    assert json.loads(longest)["op"] == "fold"
    many = asked("ExpectsAnAnswer", "PG-ADMIT-4")
    assert "failures more, in the report of --json" in text_of(many)
    assert "characters; whole in the report of --json)" in text
