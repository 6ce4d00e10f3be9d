"""The admission table: total, deterministic, monotone, and progress in exactly one cell.

In: the table, as data. Out: a `Shown` for each claim. Statuses, integrities and contracts are whole
numbers here, in the order in which each grows worse; what is no cell is claimed to be none.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import z3

from proofs.claims import Shown, no_key_twice, show
from verdict_core.progress import admission
from verdict_core.progress.admission import ADMISSION, Outcome, Reason, Ruling
from verdict_core.progress.report import Contract, Integrity, Status

Table = Mapping[tuple[Status, Integrity, Contract, bool], Ruling]
_SCALES = (Status, Integrity, Contract)


def _case(mark: str) -> tuple[Any, ...]:
    names = ("status", "integrity", "contract")
    return (*(z3.Int(f"{name}{mark}") for name in names), z3.Bool(f"changed{mark}"))


def _is_one(case: tuple[Any, ...]) -> Any:
    return z3.And(
        *(z3.And(term >= 0, term < len(scale)) for term, scale in zip(case, _SCALES, strict=False))
    )


def _over(table: Table, case: tuple[Any, ...], of: Callable[[Ruling], int]) -> Any:
    """The term that has the value `of` the ruling that a case gets, and -1 for none."""
    term: Any = z3.IntVal(-1)
    for key, ruling in table.items():
        here = [_place(key[0]), _place(key[1]), _place(key[2])]
        matches = [part == number for part, number in zip(case, here, strict=False)]
        term = z3.If(z3.And(*matches, case[3] == key[3]), z3.IntVal(of(ruling)), term)
    return term


def _place(value: Status | Integrity | Contract) -> int:
    """Where a value stands in its list, which grows worse."""
    return list(type(value)).index(value)


def _is_complete(ruling: Ruling) -> int:
    return int(ruling.status is Status.COMPLETE)


def _is_progress(ruling: Ruling) -> int:
    return int(ruling.outcome is Outcome.PROGRESS)


def prove(table: Table = ADMISSION, source: str | None = None) -> list[Shown]:
    """Each claim about a table. `source` is the text that it is written in."""
    a, b = _case(""), _case("'")
    names = dict(zip(("status", "integrity", "contract", "changed"), a, strict=True))
    both = {**names, **{f"later_{name}": term for name, term in zip(names, b, strict=True)}}
    progress, later = _over(table, a, _is_progress), _over(table, b, _is_progress)
    status = _over(table, a, lambda ruling: list(Status).index(ruling.status))
    later_status = _over(table, b, lambda ruling: list(Status).index(ruling.status))
    violation = list(Integrity).index(Integrity.VIOLATION)
    best = z3.And(a[0] == 0, a[1] == 0, a[2] == 0, z3.Not(a[3]))
    worse = z3.And(*(x <= y for x, y in zip(a[:3], b[:3], strict=True)), z3.Implies(a[3], b[3]))
    reasons = _over(table, a, lambda ruling: len(ruling.reasons))
    first = _over(table, a, lambda ruling: int(Reason.WORKSPACE_CHANGED in ruling.reasons[:1]))

    def claim(text: str, clause: str, holds: Any, **terms: Any) -> Shown:
        return show(text, clause, z3.Implies(_is_one(a), holds), **(terms or names))

    return [
        no_key_twice(
            inspect.getsource(admission) if source is None else source, "UNCHANGED", "PG-ADMIT-2"
        ),
        claim("every case has a ruling", "PG-ADMIT-1", progress >= 0),
        show("nothing else has one", "PG-ADMIT-1", z3.Or(_is_one(a), progress == -1), **names),
        claim("progress is exactly one case", "PG-ADMIT-1", (progress == 1) == best),
        claim("a changed workspace is never progress", "PG-ADMIT-3", ~z3.And(a[3], progress == 1)),
        claim(
            "nothing is complete under a violation or a contract that is not aligned",
            "PG-ADMIT-2",
            z3.Implies(z3.Or(a[1] == violation, a[2] > 0), _over(table, a, _is_complete) == 0),
        ),
        claim(
            "what grows worse makes no ruling better",
            "PG-ADMIT-5",
            z3.Implies(
                z3.And(_is_one(b), worse), z3.And(progress >= later, status <= later_status)
            ),
            **both,
        ),
        claim("progress has no reason against it", "PG-ADMIT-4", (progress == 1) == (reasons == 0)),
        claim("a changed workspace is the first reason", "PG-ADMIT-4", (first == 1) == a[3]),
    ]
