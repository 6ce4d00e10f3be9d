"""What a report needs to know of a case, and nothing else of it.

In: a label, a summary and its judgement. Out: a `Kind`. Law: cases of one kind are only counted, so
what is held does not grow with the corpus. (SPEC CP-RATE-1, CP-RATE-2, CP-SKIP-1)
"""

from collections.abc import Mapping
from typing import NamedTuple

from attrs import frozen

from verdict_core.context import Detail, Judgement, Reason, Verdict
from verdict_core.context.ask import ABSENT
from verdict_core.corpus.cases import Case, Label


class Kind(NamedTuple):
    """`asked` says that a configured service was asked, `detail` why it gave no verdict, `unknown`
    that a field is. A plain tuple, because one is made and hashed for every case."""

    label: Label
    verdict: Verdict
    asked: bool
    detail: Detail | None
    size: int
    unknown: bool

    @property
    def absent(self) -> bool:
        """Whether a service had to be asked and was not there. (SPEC CP-SKIP-1)"""
        return self.detail in ABSENT

    @property
    def let_through(self) -> bool:
        """The dangerous error: work would be lost, and it was judged safe. (SPEC CP-RATE-1)"""
        return self.label is Label.LOST and self.verdict is Verdict.SAFE_TO_COMPACT

    @property
    def refused(self) -> bool:
        """The useless error: nothing would be lost, and it was not judged safe. (CP-RATE-2)"""
        return self.label is Label.KEEP and self.verdict is not Verdict.SAFE_TO_COMPACT


Counts = Mapping[Kind, int]
"""How many cases there are of each kind."""


@frozen
class Outcome:
    """One case after judging, for lists of all cases."""

    id: str
    kind: Kind
    reasons: tuple[Reason, ...]


def outcome_of(case: Case, judgement: Judgement) -> Outcome:
    """What came of a case."""
    reasons = judgement.reasons
    kind = Kind(
        label=case.label,
        verdict=judgement.verdict,
        asked=Reason.IN_BAND in reasons and Reason.SERVICE_NOT_CONFIGURED not in reasons,
        detail=judgement.detail,
        size=judgement.count,
        unknown=bool(judgement.unknown),
    )
    return Outcome(case.id, kind, reasons)
