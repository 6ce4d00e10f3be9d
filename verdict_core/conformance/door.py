"""Small words for talking through the door, and for what the specification lists.

In: a subject and plain values. Out: what it says. Law: a word that expects a result raises where it
gets a refusal. (SPEC CF-BASE)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from verdict_core.conformance.remote import NotClaimed
from verdict_core.conformance.strategies import dump
from verdict_core.conformance.subject import Refused, Result, Script, Subject

ORDER = ("safe_to_compact", "wait", "preserve_first")
FIELDS = ("todos", "uncommitted", "questions", "decisions", "next_steps")
EMPTY: dict[str, Any] = {"session": "s", **{name: [] for name in FIELDS}, "unknown": []}

SAYS = {choice: Script(answer=dump({"choice": choice, "score": 0.5})) for choice in ORDER}
ABSENT = ("timeout", "unreachable", "rate_limited", "misconfigured", "declined")
UNUSABLE = ("truncated", "unreadable", "bad_choice", "bad_score")
FAILS = {detail: Script(detail=detail) for detail in (*ABSENT, *UNUSABLE)}
SCRIPTS: tuple[Script | None, ...] = (None, *SAYS.values(), *FAILS.values())

# From good to bad.
STATUS = ("complete", "incomplete", "blocked")
INTEGRITY = ("clean", "suspect", "violation")
CONTRACT = ("aligned", "unknown", "needs_revision", "invalid")
OUTCOME = ("progress", "evidence")


def given_result(result: Result | Refused) -> Result:
    """The result, where there has to be one."""
    if isinstance(result, Refused):
        raise AssertionError(f"refused with {result.code} at {result.path}")
    return result


def built(subject: Subject, summary: Mapping[str, Any], **options: Any) -> Result:
    """The state of a summary that has one."""
    return given_result(subject.build(dump(summary), **options))


def bound(subject: Subject, summary: Mapping[str, Any]) -> bytes:
    """The document of a summary and the state that it renders to."""
    return dump({"summary": summary, "state": built(subject, summary, max_chars=10**9)})


def asked(
    subject: Subject, summary: Mapping[str, Any], wait_min: int = 3, script: Script | None = None
) -> tuple[Result, Sequence[Result]]:
    """The judgement of a summary bound to its state, and what the service was asked."""
    judgement, requests = subject.judge(bound(subject, summary), wait_min=wait_min, script=script)
    return given_result(judgement), requests


def judged(
    subject: Subject, summary: Mapping[str, Any], wait_min: int = 3, script: Script | None = None
) -> Result:
    """The judgement alone."""
    return asked(subject, summary, wait_min, script)[0]


def careful(judgement: Mapping[str, Any]) -> int:
    """How careful a verdict is: 0 for safe_to_compact, 2 for preserve_first."""
    return ORDER.index(judgement["verdict"])


def claimed(subject: Subject, *names: str) -> list[str]:
    """Those of the operations that the subject claims. Raises NotClaimed where it claims none."""
    found = [name for name in names if name in subject.capabilities]
    if not found:
        raise NotClaimed(", ".join(names))
    return found


def ruled(subject: Subject, status: str, integrity: str, contract: str, changed: bool) -> Result:
    """The ruling on a report that declares these three."""
    return given_result(subject.admit(status, integrity, contract, changed))


def read(subject: Subject, text: str, claim: str | None = None) -> Result:
    """What a report declares."""
    return given_result(subject.read_report(text.encode(), claim=claim))


def declares_nothing(report: Result) -> bool:
    """Whether a report has no line of control, and no list either."""
    return {name: report[name] for name in _NOTHING} == _NOTHING


def is_best(report: Mapping[str, Any]) -> bool:
    """Whether a report declares what alone makes progress."""
    return badness(report) == (0, 0, 0)


def badness(report: Mapping[str, Any]) -> tuple[int, int, int]:
    """How far each value of a report or ruling stands from the best one."""
    return (
        STATUS.index(report["status"]),
        INTEGRITY.index(report["integrity"]),
        CONTRACT.index(report["contract"]),
    )


_NOTHING = {
    "status": "incomplete",
    "integrity": "suspect",
    "contract": "unknown",
    "reasons": ["no_status_line", "integrity_undeclared", "contract_undeclared"],
    "missing": [],
    "evidence": [],
    "claim": None,
}
