"""The admission table, cell by cell. (SPEC PG-ADMIT)"""

from itertools import product
from typing import Any

import pytest

from verdict_core.progress.admission import ADMISSION, Outcome, Reason, Ruling, admit
from verdict_core.progress.report import Contract, Integrity, Status, read_report

GOOD = "Status: complete\nIntegrity: clean\nContract audit: aligned\n"

# The unchanged cells, written a second time and by another hand: a row for each status and
# integrity, a letter for each contract (aligned, unknown, needs_revision, invalid).
# P complete and progress, C complete, I incomplete, B blocked; all but P are evidence.
GRID = """
complete   clean     P I I I
complete   suspect   C I I I
complete   violation I I I I
incomplete clean     I I I I
incomplete suspect   I I I I
incomplete violation I I I I
blocked    clean     B B B B
blocked    suspect   B B B B
blocked    violation B B B B
"""
AFTER = {"P": "complete", "C": "complete", "I": "incomplete", "B": "blocked"}
CELLS = list(product(Status, Integrity, Contract))


def grid() -> dict[tuple[str, str, str], str]:
    rows = [line.split() for line in GRID.strip().splitlines()]
    return {
        (status, integrity, contract): letter
        for status, integrity, *letters in rows
        for contract, letter in zip(
            ("aligned", "unknown", "needs_revision", "invalid"), letters, strict=True
        )
    }


def ruled(text: str, changed: bool = False) -> Ruling:
    report = read_report(text)
    return admit(report.status, report.integrity, report.contract, changed)


def against(status: str, integrity: str, contract: str) -> list[str]:
    """What speaks against progress, in order."""
    said = [f"status_{status}"] if status != "complete" else []
    said += [f"integrity_{integrity}"] if integrity != "clean" else []
    return said + (["contract_not_aligned"] if contract != "aligned" else [])


def test_the_table_has_all_72_cells_and_no_other() -> None:
    assert set(ADMISSION) == set(product(Status, Integrity, Contract, (False, True)))
    assert len(ADMISSION) == 72


@pytest.mark.parametrize(("status", "integrity", "contract"), CELLS)
def test_an_unchanged_workspace_leaves_what_the_grid_says(
    status: Status, integrity: Integrity, contract: Contract
) -> None:
    """PG-ADMIT-2."""
    ruling = admit(status, integrity, contract, False)
    letter = grid()[status, integrity, contract]
    assert ruling.status == AFTER[letter]
    assert (ruling.integrity, ruling.contract) == (integrity, contract)
    assert ruling.outcome == ("progress" if letter == "P" else "evidence")
    assert list(ruling.reasons) == against(status, integrity, contract)


@pytest.mark.parametrize(("status", "integrity", "contract"), CELLS)
def test_a_changed_workspace_is_blocked_and_a_violation_and_the_contract_stays(
    status: Status, integrity: Integrity, contract: Contract
) -> None:
    ruling = admit(status, integrity, contract, True)
    assert (ruling.status, ruling.integrity) == (Status.BLOCKED, Integrity.VIOLATION)
    assert (ruling.contract, ruling.outcome) == (contract, Outcome.EVIDENCE)
    assert list(ruling.reasons) == ["workspace_changed", *against(status, integrity, contract)]


def test_progress_is_exactly_one_cell() -> None:
    assert [cell for cell, ruling in ADMISSION.items() if ruling.outcome is Outcome.PROGRESS] == [
        (Status.COMPLETE, Integrity.CLEAN, Contract.ALIGNED, False)
    ]


def test_a_ruling_is_progress_exactly_when_nothing_speaks_against_it() -> None:
    for ruling in ADMISSION.values():
        assert (ruling.outcome is Outcome.PROGRESS) is (ruling.reasons == ())


def test_what_no_report_can_say_is_not_in_the_table() -> None:
    unheard: Any = "done"
    with pytest.raises(KeyError):
        admit(unheard, Integrity.CLEAN, Contract.ALIGNED, False)


def test_every_reason_is_reached_and_the_registry_is_what_it_was() -> None:
    reached = {reason for ruling in ADMISSION.values() for reason in ruling.reasons}
    assert [str(reason) for reason in Reason if reason in reached] == [
        "workspace_changed", "status_incomplete", "status_blocked", "integrity_suspect",
        "integrity_violation", "contract_not_aligned",
    ]  # fmt: skip
    assert reached == set(Reason)


class TestCases:
    """What the reports of the public bug reports are worth, by their ids."""

    def test_prog_01_a_report_in_bold_is_progress(self) -> None:
        text = "**Status: complete**\n**Integrity:** clean\n## Contract audit: `aligned`\n"
        assert ruled(text).outcome is Outcome.PROGRESS

    def test_prog_03_a_word_inside_its_negation_is_no_progress(self) -> None:
        ruling = ruled("Status: incomplete\nIntegrity: unclean\nContract audit: misaligned\n")
        assert ruling.outcome is Outcome.EVIDENCE
        assert ruling.status is Status.INCOMPLETE

    def test_prog_04_a_fenced_template_is_no_progress(self) -> None:
        ruling = ruled(f"```\n{GOOD}```\nStatus: complete | incomplete | blocked\nNo turns left.\n")
        assert (ruling.status, ruling.outcome) == (Status.INCOMPLETE, Outcome.EVIDENCE)

    def test_prog_05_a_report_against_itself_is_no_progress(self) -> None:
        ruling = ruled(f"{GOOD}> ```text\n> Status: complete\n> ```\nAgain:\nStatus: incomplete\n")
        assert (ruling.status, ruling.outcome) == (Status.INCOMPLETE, Outcome.EVIDENCE)

    def test_prog_06_a_report_that_lists_what_is_missing_is_no_progress(self) -> None:
        ruling = ruled(GOOD + "Missing:\n- two tests of the retry path fail\n")
        assert (ruling.status, ruling.outcome) == (Status.INCOMPLETE, Outcome.EVIDENCE)

    def test_prog_07_a_report_that_speaks_of_failures_is_progress(self) -> None:
        ruling = ruled(GOOD + "No failures found. An earlier run failed before the fix.\n")
        assert (ruling.status, ruling.outcome) == (Status.COMPLETE, Outcome.PROGRESS)

    def test_prog_08_a_translated_report_is_no_progress(self) -> None:
        ruling = ruled("状态：完成\n完整性：干净\n合同审计：一致\n")
        assert (ruling.status, ruling.outcome) == (Status.INCOMPLETE, Outcome.EVIDENCE)

    def test_prog_09_a_symbol_before_the_word_is_no_progress(self) -> None:
        ruling = ruled(GOOD.replace("complete", "✅ **complete**"))
        assert (ruling.status, ruling.outcome) == (Status.INCOMPLETE, Outcome.EVIDENCE)

    def test_prog_10_a_contract_that_is_not_aligned_forbids_complete(self) -> None:
        ruling = ruled(GOOD.replace("aligned", "invalid"))
        assert (ruling.status, ruling.outcome) == (Status.INCOMPLETE, Outcome.EVIDENCE)
        assert ruling.reasons == (Reason.CONTRACT_NOT_ALIGNED,)

    def test_prog_12_an_empty_evidence_heading_is_no_progress(self) -> None:
        ruling = ruled(GOOD + "Evidence:\n")
        assert (ruling.status, ruling.outcome) == (Status.INCOMPLETE, Outcome.EVIDENCE)

    def test_prog_16_an_undeclared_integrity_stays_complete_and_is_evidence(self) -> None:
        ruling = ruled("Status: complete\nContract audit: aligned\n")
        assert (ruling.status, ruling.integrity) == (Status.COMPLETE, Integrity.SUSPECT)
        assert (ruling.outcome, ruling.reasons) == (Outcome.EVIDENCE, (Reason.INTEGRITY_SUSPECT,))
