"""A claim, and what became of it: proved, or a witness against it."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import z3
from attrs import frozen

TIME_LIMIT_MS = 60_000


@frozen
class Shown:
    """`claim` in one sentence, its clause, and a witness: the values for which it does not hold.
    It is proved where there is no witness."""

    claim: str
    clause: str
    witness: Mapping[str, str] | None

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in (self.witness or {}).items())
        what = "proved  " if self.witness is None else "REFUTED "
        return f"{what} {self.clause:11} {self.claim}" + (f": {values}" if values else "")


def show(claim: str, clause: str, holds: Any, **names: Any) -> Shown:
    """Prove that `holds` for all values, or give those for which it does not. `names` are the terms
    that a witness gives values to. Raises where z3 cannot tell."""
    solver = z3.Solver()
    solver.set("timeout", TIME_LIMIT_MS)
    solver.add(z3.Not(holds))
    answer = solver.check()
    if answer == z3.unsat:
        return Shown(claim, clause, None)
    if answer != z3.sat:
        raise RuntimeError(f"z3 cannot tell whether {claim}: {solver.reason_unknown()}")
    model = solver.model()
    said = {name: str(model.eval(term, model_completion=True)) for name, term in names.items()}
    return Shown(claim, clause, said)


def no_key_twice(source: str, table: str, clause: str) -> Shown:
    """That no row of a table has the key of another: the data would have lost the first of them."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == table:
            assert isinstance(node.value, ast.Dict)
            keys = [ast.unparse(key) for key in node.value.keys if key is not None]
            twice = next((key for key in keys if keys.count(key) > 1), None)
            witness = None if twice is None else {"key": twice}
            return Shown(f"no key of {table} stands twice", clause, witness)
    raise ValueError(f"the source has no {table}")


def pairwise(items: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Every two different ones."""
    for number, one in enumerate(items):
        for other in items[number + 1 :]:
            yield one, other
