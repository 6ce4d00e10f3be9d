"""verdict-core: would compacting an AI coding session now lose work?

    summary = Summary(session="s-1", todos=["write the test"], uncommitted=[], questions=[],
                      decisions=[], next_steps=[], unknown=[])
    state = build(summary)              # the one rendering, bound to its summary by a digest
    judgement = judge(summary, state)   # safe_to_compact, wait or preserve_first
    judgement.verdict, judgement.reasons

A summary comes from a reader (`verdict_core.readers`) or from you. A `Service` may be asked where
the count does not decide; it can only make a verdict more careful. Whatever bears one of the
FORBIDDEN_KEYS is refused. SPEC.md says all of it in clauses.
"""

from verdict_core.context import (
    Answer,
    Detail,
    Judgement,
    NoAnswer,
    Reason,
    Request,
    Service,
    State,
    Summary,
    Verdict,
    build,
    judge,
)
from verdict_core.errors import (
    BadConfig,
    BadOptions,
    BadValue,
    ForbiddenKey,
    InvalidJson,
    MissingField,
    OverBudget,
    UnboundState,
    UnknownField,
    VerdictCoreError,
    WrongType,
)
from verdict_core.forbidden import FORBIDDEN_KEYS, refuse_forbidden

__version__ = "0.1.0"

__all__ = [
    "FORBIDDEN_KEYS",
    "Answer",
    "BadConfig",
    "BadOptions",
    "BadValue",
    "Detail",
    "ForbiddenKey",
    "InvalidJson",
    "Judgement",
    "MissingField",
    "NoAnswer",
    "OverBudget",
    "Reason",
    "Request",
    "Service",
    "State",
    "Summary",
    "UnboundState",
    "UnknownField",
    "Verdict",
    "VerdictCoreError",
    "WrongType",
    "build",
    "judge",
    "refuse_forbidden",
]
