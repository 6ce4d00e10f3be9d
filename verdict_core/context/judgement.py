"""Judging: a summary and its state in, exactly one of three verdicts out.

Law: the verdict is decided from the summary by the rule table alone; the state is only checked, and
the score of an answer only passed on. (SPEC CV-JUDGE)
"""

from typing import Any

from attrs import frozen

from verdict_core.context.ask import ABSENT, Detail, NoAnswer, Request, Service, read_answer
from verdict_core.context.rules import DEFAULT_WAIT_MIN, Asking, Reason, Verdict, row_of
from verdict_core.context.state import State, refuse_unbound, render
from verdict_core.context.summary import Summary
from verdict_core.context.thresholds import threshold

_SAID = {
    Verdict.SAFE_TO_COMPACT: Asking.SAID_SAFE_TO_COMPACT,
    Verdict.WAIT: Asking.SAID_WAIT,
    Verdict.PRESERVE_FIRST: Asking.SAID_PRESERVE_FIRST,
}


@frozen(kw_only=True)
class Judgement:
    """`verdict`; `reasons` in the table's order; `detail`, why a service that was asked gave no
    verdict, or None; `count` of unlanded items; `unknown` fields; `score` of a usable answer (0 to
    1), or None; `digest` of the state that was judged. (SPEC CV-JUDGE-1)"""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    detail: Detail | None
    count: int
    unknown: tuple[str, ...]
    score: int | float | None
    digest: str

    def payload(self) -> dict[str, Any]:
        """The object that stands on the wire. (SPEC CV-JUDGE-1)"""
        return {
            "verdict": self.verdict,
            "reasons": self.reasons,
            "detail": self.detail,
            "count": self.count,
            "unknown": self.unknown,
            "score": self.score,
            "digest": self.digest,
        }


def judge(
    summary: Summary,
    state: State,
    *,
    wait_min: int = DEFAULT_WAIT_MIN,
    service: Service | None = None,
) -> Judgement:
    """Whether compacting now would lose work.

    `wait_min` is an integer >= 0: more items than this are `preserve_first`. The service is asked
    at most once, and only when the count does not decide. Raises WrongType, BadConfig,
    UnboundState, and ForbiddenKey for an answer that bears a forbidden name. (SPEC CV-JUDGE-2)
    """
    wait_min = threshold(wait_min, "wait_min")
    made = render(summary)
    refuse_unbound(state, made)
    row = row_of(made.count, bool(made.unknown), wait_min)
    detail, score = None, None
    if Asking.NOT_ASKED in row:
        asking = Asking.NOT_ASKED
    else:
        asking, detail, score = _ask(service, made)
    verdict, reasons = row[asking]
    return Judgement(
        verdict=verdict,
        reasons=reasons,
        detail=detail,
        count=made.count,
        unknown=made.unknown,
        score=score,
        digest=made.digest,
    )


def _ask(service: Service | None, state: State) -> tuple[Asking, Detail | None, int | float | None]:
    if service is None:
        return Asking.NOT_CONFIGURED, None, None
    try:
        answer = read_answer(service.ask(Request.of(state)))
    except NoAnswer as error:
        asking = Asking.ABSENT if error.detail in ABSENT else Asking.UNUSABLE
        return asking, error.detail, None
    return _SAID[answer.choice], None, answer.score
