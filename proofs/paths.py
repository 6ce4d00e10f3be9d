"""A function on whole numbers and flags, as the list of its paths.

In: a function that decides with comparisons, `if`, `and`, `or` and `not` alone. Out: for each way
through it the condition under which it is taken, and what it returns. Law: the function itself is
run; whatever it does with its arguments that is no comparison is an error, never a guess.
"""

from collections.abc import Callable, Sequence
from typing import Any

import z3
from attrs import frozen

_LIMIT = 1_000


@frozen
class Path:
    """`condition` is a z3 Boolean over the arguments, `result` what the function returned."""

    condition: Any
    result: Any


class _Run:
    """One run: decisions that are given, and then `True` for each new one."""

    def __init__(self, given: Sequence[bool]) -> None:
        self.given = list(given)
        self.decided: list[bool] = []
        self.conditions: list[Any] = []

    def decide(self, condition: Any) -> bool:
        number = len(self.decided)
        decision = self.given[number] if number < len(self.given) else True
        self.decided.append(decision)
        self.conditions.append(condition if decision else z3.Not(condition))
        return decision


class _Flag:
    def __init__(self, run: _Run, term: Any) -> None:
        self._run, self._term = run, term

    def __bool__(self) -> bool:
        return self._run.decide(self._term)


class _Number:
    """A whole number that can be compared, and nothing else."""

    __hash__ = None  # type: ignore[assignment]  # what is not known is no key

    def __init__(self, run: _Run, term: Any) -> None:
        self._run, self._term = run, term

    def _flag(self, make: Callable[[Any, Any], Any], other: object) -> _Flag:
        if isinstance(other, _Number):
            return _Flag(self._run, make(self._term, other._term))
        if type(other) is not int:
            raise TypeError(f"a number is compared with {other!r}")
        return _Flag(self._run, make(self._term, other))

    def __lt__(self, other: object) -> _Flag:
        return self._flag(lambda a, b: a < b, other)

    def __le__(self, other: object) -> _Flag:
        return self._flag(lambda a, b: a <= b, other)

    def __gt__(self, other: object) -> _Flag:
        return self._flag(lambda a, b: a > b, other)

    def __ge__(self, other: object) -> _Flag:
        return self._flag(lambda a, b: a >= b, other)

    def __eq__(self, other: object) -> _Flag:  # type: ignore[override]  # a term, not an answer
        return self._flag(lambda a, b: a == b, other)

    def __ne__(self, other: object) -> _Flag:  # type: ignore[override]  # a term, not an answer
        return self._flag(lambda a, b: a != b, other)


def paths(function: Callable[..., Any], *terms: Any) -> list[Path]:
    """Every path of `function`, given z3 integers and Booleans for its arguments."""
    found: list[Path] = []
    waiting: list[list[bool]] = [[]]
    while waiting:
        run = _Run(waiting.pop())
        arguments = [(_Flag if z3.is_bool(term) else _Number)(run, term) for term in terms]
        result = function(*arguments)
        found.append(Path(z3.And(*run.conditions), result))
        new = range(len(run.given), len(run.decided))
        waiting += [[*run.decided[:number], False] for number in new]
        if len(found) > _LIMIT:
            raise ValueError(f"{function.__name__} has more than {_LIMIT} paths")
    return found
