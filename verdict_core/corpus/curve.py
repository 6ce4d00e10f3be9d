"""What the rule table alone answers at each `wait_min`.

In: how many cases there are of each kind. Out: a row for each `wait_min` from 0 to the largest
count. Law: the rates of a corpus are not in it, because they cannot depend on it: only a count of 0
with nothing unknown is safe, whatever the threshold. (SPEC CP-CURVE)
"""

from collections import Counter
from typing import Any

from attrs import asdict, frozen

from verdict_core.context import Verdict
from verdict_core.context.rules import Asking, row_of
from verdict_core.corpus.cases import Label
from verdict_core.corpus.kinds import Counts

RATES_STAY = (
    "the two rates do not depend on wait_min: only a count of 0 with nothing unknown is"
    " safe_to_compact"
)


@frozen
class Row:
    """Shares, 0 to 1: of the lost cases and of the keep cases, those that the table answers `wait`
    while nobody is asked, and `preserve_first`; of all cases, those that would ask a service. A
    share over nothing is None. (SPEC CP-CURVE-1)"""

    wait_min: int
    lost_wait: float | None
    lost_preserve_first: float | None
    keep_wait: float | None
    keep_preserve_first: float | None
    would_ask: float | None

    def payload(self) -> dict[str, Any]:
        """The object that stands in the report."""
        return asdict(self)


def curve_of(counts: Counts) -> tuple[Row, ...]:
    """The rows, wait_min ascending; every case counts, skipped or not. (SPEC CP-CURVE-2)"""
    cases: Counter[tuple[Label, int, bool]] = Counter()
    for kind, n in counts.items():
        cases[kind.label, kind.size, kind.unknown] += n
    largest = max((size for _, size, _ in cases), default=0)
    return tuple(_row(cases, wait_min) for wait_min in range(largest + 1))


def _row(cases: "Counter[tuple[Label, int, bool]]", wait_min: int) -> Row:
    answers: Counter[tuple[Label, Verdict]] = Counter()
    labels: Counter[Label] = Counter()
    asking = 0
    for (label, size, unknown), n in cases.items():
        row = row_of(size, unknown, wait_min)
        asks = Asking.NOT_ASKED not in row
        verdict, _ = row[Asking.NOT_CONFIGURED if asks else Asking.NOT_ASKED]
        answers[label, verdict] += n
        labels[label] += n
        asking += n if asks else 0

    def share(label: Label, verdict: Verdict) -> float | None:
        return _share(answers[label, verdict], labels[label])

    return Row(
        wait_min=wait_min,
        lost_wait=share(Label.LOST, Verdict.WAIT),
        lost_preserve_first=share(Label.LOST, Verdict.PRESERVE_FIRST),
        keep_wait=share(Label.KEEP, Verdict.WAIT),
        keep_preserve_first=share(Label.KEEP, Verdict.PRESERVE_FIRST),
        would_ask=_share(asking, labels.total()),
    )


def _share(count: int, of: int) -> float | None:
    return count / of if of else None
