"""The report of a run: a row a clause, out of what came of the checks.

In: checks, a baseline. Out: a `Report`, its JSON object, its exit status. Laws: a row is passed
only where something was asked for it and nothing failed; what was skipped or not run makes the run
incomplete; nothing in a report depends on a clock or on the machine. (SPEC CF-RUN)
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict, frozen

from verdict_core.conformance.baseline import Baseline, reason_of
from verdict_core.conformance.checks import Check, Failure, Fate
from verdict_core.conformance.remote import Hello

FORMAT = "verdict-core/conformance-report/1"
EXIT_PASSED, EXIT_FAILED, EXIT_INCOMPLETE = 0, 1, 4


@frozen
class Row:
    """One clause: its text, what became of it and why, the checks that name it by their fate, and
    what failed, each with the id of its check. (SPEC CF-RUN-3)"""

    clause: str
    text: str
    fate: Fate
    reason: str
    checks: Mapping[str, Fate]
    failures: tuple[tuple[str, str, Failure], ...]


@frozen
class Settings:
    """What a run can be repeated from. (SPEC CF-RUN-8)"""

    command: tuple[str, ...]
    suite: str
    spec: str
    protocol: int
    seed: int
    examples: int
    only: str | None


@frozen
class Report:
    """`rows` in the order of the specification; `troubles` are failures of the run itself, as of
    its baseline; `beyond` are the clauses that nothing asks for through this door."""

    settings: Settings
    hello: Hello | None
    rows: tuple[Row, ...]
    troubles: tuple[str, ...]
    beyond: tuple[str, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows there are of each fate."""
        found = Counter(row.fate for row in self.rows)
        return {str(fate): found[fate] for fate in Fate}

    @property
    def exit_status(self) -> int:
        """0 all passed, 1 something failed, 4 incomplete. (SPEC CF-RUN-2)"""
        fates = {row.fate for row in self.rows}
        if self.troubles or Fate.FAILED in fates:
            return EXIT_FAILED
        proven = fates & {Fate.PASSED, Fate.KNOWN}
        if not proven or fates & {Fate.SKIPPED, Fate.NOT_RUN}:
            return EXIT_INCOMPLETE
        return EXIT_PASSED

    @property
    def outcome(self) -> str:
        """The exit status as a word."""
        return {EXIT_PASSED: "passed", EXIT_FAILED: "failed"}.get(self.exit_status, "incomplete")

    def payload(self) -> dict[str, Any]:
        """The JSON object. (SPEC CF-RUN-8)"""
        hello = self.hello and {
            **asdict(self.hello),
            "capabilities": sorted(self.hello.capabilities),
        }
        return {
            "format": FORMAT,
            "outcome": self.outcome,
            "exit": self.exit_status,
            **asdict(self.settings),
            "subject": hello,
            "counts": self.counts,
            "troubles": self.troubles,
            "clauses": [_payload(row) for row in self.rows],
            "beyond": self.beyond,
        }


def _payload(row: Row) -> dict[str, Any]:
    failures = [
        {
            "check": check,
            "finds": finds,
            "send": one.send,
            "expected": one.expected,
            "came": one.came,
            "because": one.because,
            "fault": one.fault or None,
            "before": [{"send": send, "came": came} for send, came in one.before],
        }
        for check, finds, one in row.failures
    ]
    return {
        "clause": row.clause,
        "text": row.text,
        "fate": row.fate,
        "reason": row.reason or None,
        "checks": row.checks,
        "failures": failures,
    }


def rows_of(
    checks: Sequence[Check], clauses: Mapping[str, str], wanted: Iterable[str], baseline: Baseline
) -> tuple[Row, ...]:
    """A row for each wanted clause that a check names, in the order of the specification."""
    named = {name for check in checks for name in check.clauses}
    named |= {name for check in checks for one in check.failures for name in one.clauses}
    ordered = [name for name in (*clauses, *sorted(named - clauses.keys())) if name in named]
    chosen = set(wanted)
    return tuple(
        _row(name, clauses.get(name, "(not in this specification)"), checks, baseline)
        for name in ordered
        if name in chosen
    )


def _row(clause: str, text: str, checks: Sequence[Check], baseline: Baseline) -> Row:
    mine = [
        check
        for check in checks
        if clause in check.clauses or any(clause in one.clauses for one in check.failures)
    ]
    failures = tuple(
        (check.id, check.finds, one)
        for check in mine
        for one in check.failures
        if clause in one.clauses
    )
    fates = {check.id: _fate(check, clause) for check in mine}
    ended = [fate for fate in fates.values() if fate is not None]
    if failures:
        failing = [check for check in mine if fates[check.id] is Fate.FAILED]
        reasons = [reason_of(baseline, check, clause) for check in failing]
        fate = Fate.KNOWN if all(reasons) else Fate.FAILED
    elif ended:
        fate = next(fate for fate in _WORST if fate in ended)
        reasons = [check.reason for check in mine if fates[check.id] is fate]
    else:
        fate = Fate.NOT_RUN
        reasons = [f"{check.id} ended at a failure of {_failed(check)}" for check in mine]
    return Row(
        clause=clause,
        text=text,
        fate=fate,
        reason="" if fate is Fate.FAILED else "; ".join(dict.fromkeys(filter(None, reasons))),
        checks={name: found or Fate.NOT_RUN for name, found in fates.items()},
        failures=failures,
    )


_WORST = (Fate.NOT_RUN, Fate.SKIPPED, Fate.PASSED, Fate.NOT_CLAIMED)


def _fate(check: Check, clause: str) -> Fate | None:
    """What a check says of one of its clauses. Where it failed of another one, its other cases did
    pass; None where there are none, and what stands behind the failure did not run."""
    if check.fate is not Fate.FAILED or any(clause in one.clauses for one in check.failures):
        return check.fate
    return Fate.PASSED if check.passed else None


def _failed(check: Check) -> str:
    return ", ".join(dict.fromkeys(name for one in check.failures for name in one.clauses))
