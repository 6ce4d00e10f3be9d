"""The rule table for all whole numbers: total, deterministic, monotone, never safe in vain.

In: the function that finds a row, and with it the table's own rows. Out: a `Shown` for each claim.
Nothing is modelled by hand: the paths are those of `row_of`, the verdicts those of the rows.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import z3
from attrs import frozen

from proofs.claims import Shown, no_key_twice, pairwise, show
from proofs.paths import Path, paths
from verdict_core.context import rules
from verdict_core.context.rules import Asking, Reason, Ruled, Verdict, row_of

RowOf = Callable[[int, bool, int], Mapping[Asking, Ruled]]

ASKINGS = [asking for asking in Asking if asking is not Asking.NOT_ASKED]
CAREFUL = {verdict: degree for degree, verdict in enumerate(Verdict)}
_LACKS = -1  # the verdict where the table has none


@frozen
class _Case:
    """One summary, one threshold and one way in which asking would end, all unknown."""

    count: Any
    unknown: Any
    wait_min: Any
    asking: Any

    @classmethod
    def make(cls, mark: str = "") -> "_Case":
        integers = (z3.Int(f"{name}{mark}") for name in ("count", "wait_min", "asking"))
        count, wait_min, asking = integers
        return cls(count, z3.Bool(f"unknown{mark}"), wait_min, asking)

    def is_one(self) -> Any:
        return z3.And(self.asking >= 0, self.asking < len(ASKINGS))


class Model:
    """What the table says, as z3 terms over a case."""

    def __init__(self, find_row: RowOf) -> None:
        self._find_row = find_row

    def paths(self, case: _Case) -> list[Path]:
        return paths(self._find_row, case.count, case.unknown, case.wait_min)

    def over(self, case: _Case, of: Callable[[Ruled | None], int]) -> Any:
        """The term that has the value `of` the cell that a case leads to; of None for no cell."""
        term: Any = z3.IntVal(of(None))
        for path in self.paths(case):
            term = z3.If(path.condition, self._of_row(case, path.result, of), term)
        return term

    def _of_row(
        self, case: _Case, row: Mapping[Asking, Ruled], of: Callable[[Ruled | None], int]
    ) -> Any:
        if Asking.NOT_ASKED in row:
            return z3.IntVal(of(row[Asking.NOT_ASKED]))
        term: Any = z3.IntVal(of(None))
        for number, asking in enumerate(ASKINGS):
            term = z3.If(case.asking == number, z3.IntVal(of(row.get(asking))), term)
        return term


def careful(ruled: Ruled | None) -> int:
    """How careful a cell's verdict is: 0 for safe_to_compact, 2 for preserve_first."""
    return _LACKS if ruled is None else CAREFUL[ruled[0]]


def unknown_reasons(ruled: Ruled | None) -> int:
    """1 where the last reason is field_unknown, 0 where none is, -1 for anything else."""
    reasons = [] if ruled is None else [reason is Reason.FIELD_UNKNOWN for reason in ruled[1]]
    if not any(reasons):
        return 0
    return 1 if reasons[-1] and sum(reasons) == 1 else -1


def prove(find_row: RowOf = row_of, source: str | None = None) -> list[Shown]:
    """Each claim about the table that `find_row` leads into. `source` is the text of the table."""
    model = Model(find_row)
    a, b = _Case.make(), _Case.make("'")
    verdict, later = model.over(a, careful), model.over(b, careful)
    alone = z3.substitute(verdict, (a.asking, z3.IntVal(ASKINGS.index(Asking.NOT_CONFIGURED))))
    ways = model.paths(a)
    both = z3.And(a.is_one(), b.is_one(), a.asking == b.asking, a.wait_min == b.wait_min)
    worse = z3.And(a.count <= b.count, z3.Implies(a.unknown, b.unknown))
    safe = verdict == CAREFUL[Verdict.SAFE_TO_COMPACT]
    of_a = {"count": a.count, "unknown": a.unknown, "wait_min": a.wait_min}
    asked = {**of_a, "asking": a.asking}

    def claim(text: str, clause: str, holds: Any, **names: Any) -> Shown:
        return show(text, clause, z3.Implies(a.is_one(), holds), **(names or asked))

    return [
        no_key_twice(inspect.getsource(rules) if source is None else source, "RULES", "CV-RULE-3"),
        claim("every case has a verdict", "CV-RULE-3", verdict != _LACKS),
        claim(
            "no case goes two ways",
            "CV-RULE-2",
            z3.And(
                *(
                    z3.Not(z3.And(one.condition, other.condition))
                    for one, other in pairwise(ways)
                    if one.result is not other.result
                )
            ),
            **of_a,
        ),
        claim("a count above zero is never safe", "CV-RULE-5", z3.Implies(a.count > 0, ~safe)),
        claim("an unknown field is never safe", "CV-RULE-7", z3.Implies(a.unknown, ~safe)),
        claim(
            "more items or unknown fields are never less careful",
            "CV-RULE-8",
            z3.Implies(z3.And(both, worse), verdict <= later),
            **asked,
            later_count=b.count,
            later_unknown=b.unknown,
        ),
        claim("no answer is less careful than none", "CV-JUDGE-4", verdict >= alone),
        claim(
            "field_unknown is the last reason exactly where a field is unknown",
            "CV-RULE-4",
            model.over(a, unknown_reasons) == z3.If(a.unknown, 1, 0),
        ),
        claim(
            "outside the band the answer does not matter",
            "CV-JUDGE-3",
            z3.Implies(
                z3.Or(a.count > a.wait_min, z3.And(a.count == 0, ~a.unknown)), verdict == alone
            ),
        ),
    ]
