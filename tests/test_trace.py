"""The trace can fail: a clause without a test, a test without a clause, an edit without a bump."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from mutants.faults import Fault
from mutants.trace import (
    BEGIN,
    END,
    Sources,
    annexed,
    changed,
    clauses_of,
    gaps,
    locked,
    named_by_code,
    named_by_tests,
    stale,
    table,
)

SPEC = """\
Spec version: 1.0.0 (draft)

- **CV-ONE-1** A thing MUST be so, and
  so on.
  *Why:* because.
- **CV-ONE-2** Another thing MUST be so.

Text with CV-ONE-9 in it.

- **CV-TWO-1** Withdrawn in 0.9.0.
"""
FAULT = Fault(
    id="a", clause="CV-ONE-1", target="t", fragment="f", replacement="r", killed_by="p/t.py::test_a"
)
WHOLE = Sources(
    spec=SPEC,
    version="1.0.0",
    clauses=clauses_of(SPEC),
    tests={"p/t.py::test_a": frozenset({"CV-ONE-1", "CV-ONE-2"})},
    code={"verdict_core/a.py": frozenset({"CV-ONE-2"})},
    faults=(FAULT, evolve(FAULT, id="b", clause="CV-ONE-2")),
    reasons={},
)


def test_clauses_are_read_with_their_text_and_without_their_why() -> None:
    assert WHOLE.clauses == {
        "CV-ONE-1": "A thing MUST be so, and so on.",
        "CV-ONE-2": "Another thing MUST be so.",
        "CV-TWO-1": "Withdrawn in 0.9.0.",
    }


def test_a_whole_trace_has_no_gap() -> None:
    assert gaps(WHOLE) == []
    assert changed(WHOLE, locked(WHOLE)) == []


Change = Callable[[Sources], Sources]
BROKEN: list[tuple[Change, str]] = [
    (lambda s: evolve(s, clauses={}), "the specification has no clause"),
    (lambda s: evolve(s, spec=f"{SPEC}\nIt MUST be."), "no clause says: It MUST be."),
    (lambda s: evolve(s, spec=f"{SPEC}\n- **CV-X** It MUST be."), "no clause says: - **CV-X**"),
    (lambda s: evolve(s, tests={"p/t.py::test_a": frozenset({"CV-ONE-1"})}), "CV-ONE-2 has no pro"),
    (lambda s: evolve(s, faults=s.faults[:1]), "CV-ONE-2 has no mutant"),
    (lambda s: evolve(s, faults=()), "CV-ONE-1 has no mutant"),
    (lambda s: evolve(s, clauses={**s.clauses, "CV-NEW-1": "It MUST be."}), "CV-NEW-1 has no prop"),
    (lambda s: evolve(s, tests={**s.tests, "x": frozenset({"CV-NO-1"})}), "test x names CV-NO-1"),
    (lambda s: evolve(s, code={"m": frozenset({"CV-NO-1"})}), "module m names CV-NO-1"),
    (lambda s: evolve(s, faults=(*s.faults, evolve(FAULT, clause="CV-NO-1"))), "mutant a names CV"),
    (lambda s: evolve(s, faults=(*s.faults, evolve(FAULT, killed_by="q"))), "which is no test"),
    (
        lambda s: evolve(s, tests={**s.tests, "q": frozenset()}, faults=(*s.faults, named(q="q"))),
        "which q does not name",
    ),
    (lambda s: evolve(s, reasons={"CV-ONE-1": {"mutant": "x"}}), "CV-ONE-1 needs no reason"),
    (lambda s: evolve(s, reasons={"CV-TWO-1": {"property": "x"}}), "CV-TWO-1 needs no reason"),
    (lambda s: evolve(s, reasons={"CV-NO-1": {"mutant": "none"}}), "reasons.toml names CV-NO-1"),
    (lambda s: evolve(s, reasons={"CV-TWO-1": {"proof": "none"}}), "has a reason for proof"),
]


def named(q: str) -> Fault:
    return evolve(FAULT, id="c", killed_by=q)


@pytest.mark.parametrize(("change", "says"), BROKEN)
def test_a_gap_is_told(change: Change, says: str) -> None:
    found = gaps(change(WHOLE))
    assert any(says in line for line in found), found


def test_a_written_reason_closes_a_gap() -> None:
    short = evolve(WHOLE, faults=WHOLE.faults[:1])
    reasons = {"CV-ONE-2": {"mutant": "no code says it"}}
    assert gaps(evolve(short, reasons=reasons)) == []
    assert "| CV-ONE-2 | a | none: no code says it |" in table(evolve(short, reasons=reasons))


def test_a_parametrized_test_is_the_test_that_it_is_of() -> None:
    one = evolve(FAULT, id="c", killed_by="p/t.py::test_a[x-y]")
    assert gaps(evolve(WHOLE, faults=(*WHOLE.faults, one))) == []


@pytest.mark.parametrize(
    ("clauses", "version", "says"),
    [
        ({"CV-ONE-1": "A thing MUST be otherwise."}, "1.0.0", "CV-ONE-1 was edited"),
        ({"CV-NEW-1": "It MUST be."}, "1.0.0", "CV-NEW-1 was edited"),
        ({"CV-ONE-1": "A thing MUST be otherwise."}, "1.1.0", "clauses.lock is for version 1.0.0"),
    ],
)
def test_an_edit_without_a_version_is_told(clauses: Any, version: str, says: str) -> None:
    edited = evolve(WHOLE, clauses={**WHOLE.clauses, **clauses}, version=version)
    found = changed(edited, locked(WHOLE))
    assert len(found) == 1
    assert says in found[0]


def test_a_clause_that_was_taken_out_is_told_whatever_the_version() -> None:
    fewer = evolve(WHOLE, clauses={"CV-ONE-1": WHOLE.clauses["CV-ONE-1"]})
    for version in ("1.0.0", "2.0.0"):
        found = changed(evolve(fewer, version=version), locked(WHOLE))
        assert [line for line in found if "CV-TWO-1 was taken out" in line]


def test_without_a_lock_nothing_is_taken_for_locked() -> None:
    assert changed(WHOLE, "") == ["clauses.lock is for version : run `make lock`"]


def test_line_breaks_are_no_edit() -> None:
    moved = SPEC.replace("so, and\n  so on", "so,\n  and so on").replace("because", "for it is so")
    assert clauses_of(moved) == WHOLE.clauses


def test_the_docstrings_of_tests_are_read(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        '"""CV-ONE-3 is not of a test."""\n'
        'def test_a():\n    """CV-ONE-1, CV-ONE-2: both."""\n'
        'def helper():\n    """CV-ONE-9."""\n'
        'class TestB:\n    def test_c(self):\n        """Truly (CV-TWO-1)."""\n'
        "def test_d(): pass\n"
        'def test_cv_one_11_is_so():\n    """CV-ONE-2."""\n'
        "def test_svc_01_is_a_case(): pass\n"
    )
    assert named_by_tests([tmp_path], tmp_path) == {
        "test_x.py::test_a": {"CV-ONE-1", "CV-ONE-2"},
        "test_x.py::TestB::test_c": {"CV-TWO-1"},
        "test_x.py::test_d": frozenset(),
        "test_x.py::test_cv_one_11_is_so": {"CV-ONE-11", "CV-ONE-2"},
        "test_x.py::test_svc_01_is_a_case": frozenset(),
    }
    assert named_by_code([tmp_path], tmp_path)["test_x.py"] >= {"CV-ONE-3", "CV-ONE-9"}


def test_the_annex_is_replaced_and_made_once() -> None:
    first = annexed(SPEC, "one")
    assert first.endswith(f"{BEGIN}\none\n{END}\n")
    assert annexed(first, "two") == first.replace("one\n<", "two\n<")
    assert annexed(first, "one") == first


def test_an_annex_of_other_tests_or_faults_is_stale() -> None:
    assert stale(WHOLE) == ["the annex of SPEC.md is not what the trace gives: run `make annex`"]
    whole = evolve(WHOLE, spec=annexed(SPEC, table(WHOLE)))
    assert (stale(whole), gaps(whole)) == ([], [])
    assert stale(evolve(whole, tests={**whole.tests, "p/t.py::b": frozenset({"CV-ONE-1"})}))
    assert stale(evolve(whole, faults=whole.faults[:1]))
    assert stale(evolve(whole, spec=whole.spec.replace("| a |", "| |")))


def test_faults_of_one_table_are_counted() -> None:
    cells = [evolve(FAULT, id=f"rules.{n}") for n in range(3)]
    assert "| CV-ONE-1 | a | a, 3 of rules |" in table(evolve(WHOLE, faults=(FAULT, *cells)))
