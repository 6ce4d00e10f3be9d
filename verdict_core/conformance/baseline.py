"""Known failures: a file in, the reason of each entry out, or what is wrong with an entry.

A line is `NAME: REASON`, NAME the id of a clause, a vector or a property; blank lines and lines
that begin with `#` say nothing. Law: an entry excuses what fails, and nothing else; one that
excuses nothing is itself a failure. (SPEC CF-BASE)
"""

from collections.abc import Iterable, Iterator, Mapping

from verdict_core.conformance.checks import Check, Fate

Baseline = Mapping[str, str]


def read(text: str) -> tuple[dict[str, str], list[str]]:
    """The reasons by name, and what is wrong with the file. (SPEC CF-BASE-1, CF-BASE-2)"""
    found: dict[str, str] = {}
    troubles = []
    for number, line in enumerate(text.splitlines(), 1):
        name, _, reason = (part.strip() for part in line.partition(":"))
        if not name or name.startswith("#"):
            continue
        if not reason:
            troubles.append(f"baseline line {number}: {name} has no reason")
        if name in found:
            troubles.append(f"baseline line {number}: {name} stands twice")
        found[name] = reason
    return found, troubles


def reason_of(baseline: Baseline, check: Check, clause: str) -> str:
    """Why a failure of that clause is known; empty where it is not."""
    return baseline.get(check.id) or baseline.get(clause) or ""


def unfit(
    baseline: Baseline, checks: Iterable[Check], known: Iterable[str], chosen: Iterable[str]
) -> Iterator[str]:
    """Entries that name nothing, and entries whose failure is gone. `known` are the names that
    there are, `chosen` those that were to be run. (SPEC CF-BASE-2)"""
    failing: set[str] = set()
    for check in checks:
        if check.fate is Fate.FAILED:
            failing |= {check.id, *(name for one in check.failures for name in one.clauses)}
    there, here = set(known), set(chosen)
    for name in baseline:
        if name not in there:
            yield f"baseline: {name} is no clause, vector or property of this suite"
        elif name in here and name not in failing:
            yield f"baseline: {name} does not fail; take it out"
