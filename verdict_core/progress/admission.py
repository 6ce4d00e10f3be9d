"""The admission table. Everything that can admit progress stands in this file.

Three laws:

1. Progress is one cell of 72: complete, clean, aligned, and a workspace that did not change.
2. Where the workspace changed while the verifier ran, the ruling is blocked and violation, whatever
   the report says: a witness that writes is none.
3. Under a violation, or a contract that is not aligned, nothing is complete.

Theory of operation. A report has been read; the workspace has been compared. `UNCHANGED` has a row
for each status and integrity and a column for each contract, and says in each cell what becomes of
the status and whether it is progress; integrity and contract stay as they were declared. A changed
workspace needs no table: `CHANGED` is its status and integrity for every report. `ADMISSION` is
both written out, with the reasons: one for each thing that speaks against progress, whether or not
another one would have been enough. So a ruling is progress exactly when it has no reasons.

In: status, integrity, contract, changed or not. Out: a Ruling. No clock, file, environment or
network; what the report says in words is not among the inputs. (SPEC PG-ADMIT)
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import product

from attrs import frozen

from verdict_core.progress.report import Contract, Integrity, Status


class Outcome(StrEnum):
    """What a ruling is in the ledger: a verified step, or evidence alone. (SPEC PG-ADMIT-1)"""

    PROGRESS = "progress"
    EVIDENCE = "evidence"


class Reason(StrEnum):
    """Why it is no progress. An append-only registry. (SPEC PG-REASON)"""

    WORKSPACE_CHANGED = "workspace_changed"
    STATUS_INCOMPLETE = "status_incomplete"
    STATUS_BLOCKED = "status_blocked"
    INTEGRITY_SUSPECT = "integrity_suspect"
    INTEGRITY_VIOLATION = "integrity_violation"
    CONTRACT_NOT_ALIGNED = "contract_not_aligned"


@frozen
class Ruling:
    """What the table makes of a report. (SPEC PG-ADMIT-1)"""

    status: Status
    integrity: Integrity
    contract: Contract
    outcome: Outcome
    reasons: tuple[Reason, ...]


Cell = tuple[Status, Outcome]

_PROGRESS: Cell = (Status.COMPLETE, Outcome.PROGRESS)
_COMPLETE: Cell = (Status.COMPLETE, Outcome.EVIDENCE)
_INCOMPLETE: Cell = (Status.INCOMPLETE, Outcome.EVIDENCE)
_BLOCKED: Cell = (Status.BLOCKED, Outcome.EVIDENCE)

# Columns: aligned, unknown, needs_revision, invalid.
UNCHANGED: Mapping[tuple[Status, Integrity], tuple[Cell, Cell, Cell, Cell]] = {
    (Status.COMPLETE, Integrity.CLEAN): (_PROGRESS, _INCOMPLETE, _INCOMPLETE, _INCOMPLETE),
    (Status.COMPLETE, Integrity.SUSPECT): (_COMPLETE, _INCOMPLETE, _INCOMPLETE, _INCOMPLETE),
    (Status.COMPLETE, Integrity.VIOLATION): (_INCOMPLETE, _INCOMPLETE, _INCOMPLETE, _INCOMPLETE),
    (Status.INCOMPLETE, Integrity.CLEAN): (_INCOMPLETE, _INCOMPLETE, _INCOMPLETE, _INCOMPLETE),
    (Status.INCOMPLETE, Integrity.SUSPECT): (_INCOMPLETE, _INCOMPLETE, _INCOMPLETE, _INCOMPLETE),
    (Status.INCOMPLETE, Integrity.VIOLATION): (_INCOMPLETE, _INCOMPLETE, _INCOMPLETE, _INCOMPLETE),
    (Status.BLOCKED, Integrity.CLEAN): (_BLOCKED, _BLOCKED, _BLOCKED, _BLOCKED),
    (Status.BLOCKED, Integrity.SUSPECT): (_BLOCKED, _BLOCKED, _BLOCKED, _BLOCKED),
    (Status.BLOCKED, Integrity.VIOLATION): (_BLOCKED, _BLOCKED, _BLOCKED, _BLOCKED),
}
"""A workspace that did not change: what becomes of the status, and the outcome. (PG-ADMIT-2)"""

CHANGED = (Status.BLOCKED, Integrity.VIOLATION, Outcome.EVIDENCE)
"""A workspace that changed: status, integrity and outcome, for every report. (PG-ADMIT-3)"""

BECAUSE: Mapping[Status | Integrity | Contract, tuple[Reason, ...]] = {
    Status.COMPLETE: (),
    Status.INCOMPLETE: (Reason.STATUS_INCOMPLETE,),
    Status.BLOCKED: (Reason.STATUS_BLOCKED,),
    Integrity.CLEAN: (),
    Integrity.SUSPECT: (Reason.INTEGRITY_SUSPECT,),
    Integrity.VIOLATION: (Reason.INTEGRITY_VIOLATION,),
    Contract.ALIGNED: (),
    Contract.UNKNOWN: (Reason.CONTRACT_NOT_ALIGNED,),
    Contract.NEEDS_REVISION: (Reason.CONTRACT_NOT_ALIGNED,),
    Contract.INVALID: (Reason.CONTRACT_NOT_ALIGNED,),
}
"""What each value of a report says against progress. (SPEC PG-ADMIT-4)"""


def _rulings() -> Mapping[tuple[Status, Integrity, Contract, bool], Ruling]:
    table = {}
    for status, integrity, contract in product(Status, Integrity, Contract):
        reasons = (*BECAUSE[status], *BECAUSE[integrity], *BECAUSE[contract])
        after, outcome = UNCHANGED[status, integrity][tuple(Contract).index(contract)]
        table[status, integrity, contract, False] = Ruling(
            after, integrity, contract, outcome, reasons
        )
        blocked, violation, evidence = CHANGED
        table[status, integrity, contract, True] = Ruling(
            blocked, violation, contract, evidence, (Reason.WORKSPACE_CHANGED, *reasons)
        )
    return table


ADMISSION = _rulings()
"""All 72 cells: status, integrity and contract of a report, changed or not -> ruling."""


def admit(status: Status, integrity: Integrity, contract: Contract, changed: bool) -> Ruling:
    """The ruling on a report. Total; what the table lacks is a KeyError. (PG-ADMIT-1 to 4)"""
    return ADMISSION[status, integrity, contract, changed]
