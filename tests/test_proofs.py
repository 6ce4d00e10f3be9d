"""The proofs can fail: a table that was broken on purpose gets a witness, and a real one."""

import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from attrs import evolve

from verdict_core.context.rules import (
    RULES,
    Asking,
    Band,
    Reason,
    Ruled,
    Verdict,
    row_of,
)
from verdict_core.progress.admission import ADMISSION, Outcome
from verdict_core.progress.report import Contract, Integrity, Status

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("z3") is None, reason="z3 is not installed: the extra `proofs` has it"
)

Row = Mapping[Asking, Ruled]
SAFE: Ruled = (Verdict.SAFE_TO_COMPACT, (Reason.NOTHING_UNLANDED,))
WAIT: Ruled = (Verdict.WAIT, (Reason.IN_BAND,))
CLEAR: Row = row_of(0, False, 3)
BAND: Row = row_of(1, False, 3)


def refuted(shown: list[Any]) -> dict[str, Mapping[str, str]]:
    return {one.claim: one.witness for one in shown if one.witness is not None}


def test_every_claim_about_the_real_tables_is_proved() -> None:
    from proofs import admission, rule_table

    for shown in (rule_table.prove(), admission.prove()):
        assert len(shown) >= 9
        assert refuted(shown) == {}


def test_the_specification_lists_what_is_proved(spec: str) -> None:
    from proofs import admission, rule_table

    annex = spec.partition("## Annex: what is proved")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w\w-[A-Z]+-\d+) \| (.+) \|$", annex, re.MULTILINE)
    shown = [*rule_table.prove(), *admission.prove()]
    assert rows == [(one.clause, one.claim) for one in shown]


def one_item_is_safe(count: int, unknown: bool, wait_min: int) -> Row:
    return CLEAR if count == 1 and not unknown else row_of(count, unknown, wait_min)


def a_needle_is_safe(count: int, unknown: bool, wait_min: int) -> Row:
    return CLEAR if count == 7919 else row_of(count, unknown, wait_min)


def unknown_is_empty(count: int, unknown: bool, wait_min: int) -> Row:
    return CLEAR if count == 0 else row_of(count, unknown, wait_min)


def far_over_waits(count: int, unknown: bool, wait_min: int) -> Row:
    if count > 1_000_000:
        return row_of(1, True, 3) if unknown else BAND
    return row_of(count, unknown, wait_min)


def lacks_a_row(count: int, unknown: bool, wait_min: int) -> Row:
    row = row_of(count, unknown, wait_min)
    return {asking: ruled for asking, ruled in row.items() if asking is not Asking.SAID_WAIT}


def with_row(asking: Asking, ruled: Ruled) -> Callable[[int, bool, int], Row]:
    def changed(count: int, unknown: bool, wait_min: int) -> Row:
        row = row_of(count, unknown, wait_min)
        return {**row, asking: ruled} if asking in row else row

    return changed


def an_answer_outside_the_band(count: int, unknown: bool, wait_min: int) -> Row:
    return (
        {**BAND, Asking.SAID_WAIT: WAIT} if count > wait_min else row_of(count, unknown, wait_min)
    )


BROKEN: list[tuple[Callable[[int, bool, int], Row], str]] = [
    (one_item_is_safe, "a count above zero is never safe"),
    (a_needle_is_safe, "a count above zero is never safe"),
    (a_needle_is_safe, "more items or unknown fields are never less careful"),
    (unknown_is_empty, "an unknown field is never safe"),
    (unknown_is_empty, "field_unknown is the last reason exactly where a field is unknown"),
    (far_over_waits, "more items or unknown fields are never less careful"),
    (lacks_a_row, "every case has a verdict"),
    (with_row(Asking.SAID_SAFE_TO_COMPACT, SAFE), "no answer is less careful than none"),
    (with_row(Asking.ABSENT, SAFE), "a count above zero is never safe"),
    (an_answer_outside_the_band, "outside the band the answer does not matter"),
]


@pytest.mark.parametrize(("find_row", "claim"), BROKEN)
def test_a_broken_rule_table_gets_a_witness(
    find_row: Callable[[int, bool, int], Row], claim: str
) -> None:
    from proofs import rule_table

    witness = refuted(rule_table.prove(find_row))[claim]
    assert set(witness) >= {"count", "unknown", "wait_min"}
    # What the witness names, the table that was proved has in another way.
    count, unknown = int(witness["count"]), witness["unknown"] == "True"
    wait_min = int(witness["wait_min"])
    counts = {count, int(witness.get("later_count", count))}
    unknowns = {unknown, witness.get("later_unknown", str(unknown)) == "True"}
    assert any(
        dict(find_row(number, flag, wait_min)) != dict(row_of(number, flag, wait_min))
        for number in counts
        for flag in unknowns
    )


def test_a_table_that_changes_its_mind_gets_a_witness() -> None:
    from proofs import rule_table

    runs: list[int] = []

    def fickle(count: int, unknown: bool, wait_min: int) -> Row:
        runs.append(count)
        return row_of(9, False, 3) if count > (3 if len(runs) % 2 else 5) else BAND

    witness = refuted(rule_table.prove(fickle))["no case goes two ways"]
    assert int(witness["count"]) in (4, 5)


def compared_with_text(count: Any, unknown: bool, wait_min: int) -> Row:
    return BAND if count == "1" else CLEAR


def test_a_function_that_does_more_than_compare_is_an_error() -> None:
    from proofs import rule_table

    with pytest.raises(TypeError):
        rule_table.prove(lambda count, unknown, wait_min: row_of(count + 1, unknown, wait_min))
    with pytest.raises(TypeError):
        rule_table.prove(compared_with_text)


def test_a_key_that_stands_twice_is_found_in_the_source() -> None:
    from proofs import admission, rule_table

    rules = "RULES: M = {(Band.CLEAR, A): 1, (Band.OVER, A): 2, (Band.CLEAR, A): 3}"
    shown = refuted(rule_table.prove(source=rules))
    assert shown == {"no key of RULES stands twice": {"key": "(Band.CLEAR, A)"}}
    cells = "UNCHANGED: M = {(S, I): 1, (S, I): 2}"
    assert "no key of UNCHANGED stands twice" in refuted(admission.prove(source=cells))
    with pytest.raises(ValueError, match="no RULES"):
        rule_table.prove(source="x = 1")


BEST = (Status.COMPLETE, Integrity.CLEAN, Contract.ALIGNED, False)
SUSPECT = (Status.COMPLETE, Integrity.SUSPECT, Contract.ALIGNED, False)
VIOLATED = (Status.COMPLETE, Integrity.VIOLATION, Contract.ALIGNED, False)
CHANGED = (Status.COMPLETE, Integrity.CLEAN, Contract.ALIGNED, True)
BLOCKED = (Status.BLOCKED, Integrity.CLEAN, Contract.INVALID, False)
PROGRESS = ADMISSION[BEST]


@pytest.mark.parametrize(
    ("cell", "change", "claim"),
    [
        (SUSPECT, {"outcome": Outcome.PROGRESS}, "progress is exactly one case"),
        (BEST, {"outcome": Outcome.EVIDENCE}, "progress is exactly one case"),
        (CHANGED, {"outcome": Outcome.PROGRESS}, "a changed workspace is never progress"),
        (
            VIOLATED,
            {"status": Status.COMPLETE},
            "nothing is complete under a violation or a contract that is not aligned",
        ),
        (BLOCKED, {"status": Status.INCOMPLETE}, "what grows worse makes no ruling better"),
        (SUSPECT, {"reasons": ()}, "progress has no reason against it"),
        (CHANGED, {"reasons": ()}, "a changed workspace is the first reason"),
    ],
)
def test_a_broken_admission_table_gets_a_witness(cell: Any, change: Any, claim: str) -> None:
    from proofs import admission

    witness = refuted(admission.prove({**ADMISSION, cell: evolve(ADMISSION[cell], **change)}))[
        claim
    ]
    assert {"status", "integrity", "contract", "changed"} <= set(witness)


def test_a_cell_that_is_lost_or_added_gets_a_witness() -> None:
    from proofs import admission

    lost = {cell: ruling for cell, ruling in ADMISSION.items() if cell != BLOCKED}
    witness = refuted(admission.prove(lost))["every case has a ruling"]
    assert witness == {"status": "2", "integrity": "0", "contract": "3", "changed": "False"}


def test_the_planted_rows_are_rows_of_the_table() -> None:
    assert CLEAR[Asking.NOT_ASKED] == RULES[Band.CLEAR, Asking.NOT_ASKED] == SAFE
    assert len(BAND) == 6
