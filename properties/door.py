"""Small words for talking through the door."""

from collections.abc import Mapping
from typing import Any

from verdict_core.conformance.strategies import dump
from verdict_core.conformance.subject import Refused, Script, Subject

ORDER = ("safe_to_compact", "wait", "preserve_first")
FIELDS = ("todos", "uncommitted", "questions", "decisions", "next_steps")
EMPTY: dict[str, Any] = {"session": "s", **{name: [] for name in FIELDS}, "unknown": []}

SAYS = {choice: Script(answer=dump({"choice": choice, "score": 0.5})) for choice in ORDER}
ABSENT = ("timeout", "unreachable", "rate_limited", "misconfigured", "declined")
UNUSABLE = ("truncated", "unreadable", "bad_choice", "bad_score")
FAILS = {detail: Script(detail=detail) for detail in (*ABSENT, *UNUSABLE)}
SCRIPTS: tuple[Script | None, ...] = (None, *SAYS.values(), *FAILS.values())


def built(subject: Subject, summary: Mapping[str, Any], **options: Any) -> Mapping[str, Any]:
    """The state of a summary that has one."""
    state = subject.build(dump(summary), **options)
    assert not isinstance(state, Refused), state
    return state


def asked(
    subject: Subject, summary: Mapping[str, Any], wait_min: int = 3, script: Script | None = None
) -> tuple[Mapping[str, Any], int]:
    """The judgement of a summary bound to its state, and how often the service was asked."""
    document = dump({"summary": summary, "state": built(subject, summary, max_chars=10**9)})
    judgement, times = subject.judge(document, wait_min=wait_min, script=script)
    assert not isinstance(judgement, Refused), judgement
    return judgement, times


def judged(
    subject: Subject, summary: Mapping[str, Any], wait_min: int = 3, script: Script | None = None
) -> Mapping[str, Any]:
    """The judgement alone."""
    return asked(subject, summary, wait_min, script)[0]


def careful(judgement: Mapping[str, Any]) -> int:
    """How careful a verdict is: 0 for safe_to_compact, 2 for preserve_first."""
    return ORDER.index(judgement["verdict"])
