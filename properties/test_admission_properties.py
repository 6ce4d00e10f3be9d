"""The promises of the admission table; it is finite, so it is enumerated. (SPEC PG-ADMIT)"""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from verdict_core.conformance.door import (
    CONTRACT,
    INTEGRITY,
    OUTCOME,
    STATUS,
    badness,
    read,
    ruled,
)
from verdict_core.conformance.subject import Subject

CELLS = list(itertools.product(STATUS, INTEGRITY, CONTRACT, (False, True)))
BEST = ("complete", "clean", "aligned", False)


def test_progress_is_exactly_one_cell_of_72(subject: Subject) -> None:
    """PG-ADMIT-1."""
    assert len(CELLS) == 72
    progress = [cell for cell in CELLS if ruled(subject, *cell)["outcome"] == "progress"]
    assert progress == [BEST]


def test_a_changed_workspace_never_admits(subject: Subject) -> None:
    """PG-ADMIT-3: whatever the report says, and the contract stays as it was declared."""
    for status, integrity, contract in itertools.product(STATUS, INTEGRITY, CONTRACT):
        ruling = ruled(subject, status, integrity, contract, True)
        assert ruling["outcome"] == "evidence"
        assert (ruling["status"], ruling["integrity"]) == ("blocked", "violation")
        assert ruling["contract"] == contract
        assert ruling["reasons"][0] == "workspace_changed"


def test_complete_needs_an_aligned_contract_and_no_violation(subject: Subject) -> None:
    """PG-ADMIT-2, for the status."""
    for cell in CELLS:
        ruling = ruled(subject, *cell)
        if ruling["integrity"] == "violation" or ruling["contract"] != "aligned":
            assert ruling["status"] != "complete"


def test_only_complete_cells_of_an_unchanged_workspace_become_another(subject: Subject) -> None:
    """PG-ADMIT-2."""
    for status, integrity, contract in itertools.product(STATUS, INTEGRITY, CONTRACT):
        ruling = ruled(subject, status, integrity, contract, False)
        forbidden = integrity == "violation" or contract != "aligned"
        becomes = "incomplete" if status == "complete" and forbidden else status
        found = ruling["status"], ruling["integrity"], ruling["contract"]
        assert found == (becomes, integrity, contract)


def test_nothing_that_grows_worse_makes_a_ruling_better(subject: Subject) -> None:
    """PG-ADMIT-5: for every pair of cells where no input of the second is better."""
    scales = (STATUS, INTEGRITY, CONTRACT, (False, True))
    rulings = {cell: ruled(subject, *cell) for cell in CELLS}
    for cell, other in itertools.product(CELLS, CELLS):
        if all(s.index(a) <= s.index(b) for s, a, b in zip(scales, cell, other, strict=True)):
            before, after = rulings[cell], rulings[other]
            assert badness(after)[0] >= badness(before)[0]
            assert OUTCOME.index(after["outcome"]) >= OUTCOME.index(before["outcome"])


def test_each_reason_is_given_exactly_where_it_holds(subject: Subject) -> None:
    """PG-ADMIT-4: so a ruling is progress exactly when it has none."""
    for cell in CELLS:
        status, integrity, contract, changed = cell
        holds = {
            "workspace_changed": changed,
            "status_incomplete": status == "incomplete",
            "status_blocked": status == "blocked",
            "integrity_suspect": integrity == "suspect",
            "integrity_violation": integrity == "violation",
            "contract_not_aligned": contract != "aligned",
        }
        ruling = ruled(subject, *cell)
        assert ruling["reasons"] == [reason for reason, does in holds.items() if does]
        assert (ruling["outcome"] == "progress") is (ruling["reasons"] == [])


def test_every_outcome_status_and_reason_is_reached(subject: Subject) -> None:
    """A table that never says something is not the one of the specification. (PG-ADMIT-1)"""
    rulings = [ruled(subject, *cell) for cell in CELLS]
    assert {ruling["outcome"] for ruling in rulings} == set(OUTCOME)
    assert {ruling["status"] for ruling in rulings} == set(STATUS)
    assert {reason for ruling in rulings for reason in ruling["reasons"]} == {
        "workspace_changed",
        "status_incomplete",
        "status_blocked",
        "integrity_suspect",
        "integrity_violation",
        "contract_not_aligned",
    }


@given(st.text())
def test_no_text_admits_a_changed_workspace_or_itself(subject: Subject, text: str) -> None:
    """PG-ADMIT-3, and that a text without its three lines is evidence."""
    report = read(subject, text)
    for changed in (False, True):
        cell = report["status"], report["integrity"], report["contract"], changed
        assert ruled(subject, *cell)["outcome"] == "evidence"
    good = read(subject, "Status: complete\nIntegrity: clean\nContract audit: aligned\n\n" + text)
    cell = good["status"], good["integrity"], good["contract"], True
    assert ruled(subject, *cell)["outcome"] == "evidence"
