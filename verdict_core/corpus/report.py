"""The two rates and what stands beside them.

In: how many cases there are of each kind. Out: a `Report`, its JSON object and its exit status.
Laws: what was not checked is in no denominator; a rate over nothing is null; every figure is made
from the same counts, so they add up. (SPEC CP-RATE, CP-SKIP, CP-EXIT)
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any

from attrs import asdict, frozen

from verdict_core.context import Detail, Verdict
from verdict_core.corpus.cases import Label
from verdict_core.corpus.curve import Row, curve_of
from verdict_core.corpus.kinds import Counts

NOT_ASKED = "not_asked"
_Z = NormalDist().inv_cdf(0.975)


@frozen
class Rate:
    """`count` of `of` cases, and the ids of the first of them. (SPEC CP-RATE-3)"""

    count: int
    of: int
    ids: tuple[str, ...] = ()

    @property
    def rate(self) -> float | None:
        """The share, or None over nothing."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The Wilson score interval of the share at 95 %, or None over nothing. It is about the
        sessions that the cases were drawn from, as far as they were drawn at random. (CP-RATE-4)"""
        if not self.of:
            return None
        share, z2 = self.count / self.of, _Z * _Z / self.of
        middle = share + z2 / 2
        half = sqrt(z2 * (share * (1 - share) + z2 / 4))
        low, high = (middle - half) / (1 + z2), (middle + half) / (1 + z2)
        # Exact at the ends, where rounding would leave a share outside its own interval.
        return (0.0 if self.count == 0 else low), (1.0 if self.count == self.of else high)

    def payload(self) -> dict[str, Any]:
        """The object that stands in the report."""
        shares = {"rate": self.rate, "interval": self.interval}
        return {"count": self.count, "of": self.of, **shares, "ids": self.ids}


@frozen
class File:
    """One file of a corpus: its name as it can be shown, its number of cases, its digest."""

    name: str
    cases: int
    digest: str


@frozen
class Settings:
    """What the cases were judged with."""

    wait_min: int
    max_chars: int
    service: bool


@frozen(kw_only=True)
class Report:
    """What is said of a corpus, in numbers of cases.

    `skipped` cases are in no rate, and `skips` says why, by detail code (`not_asked`: decided
    without asking, while the service was there for nobody who did). `unusable` answers leave the
    verdict `wait` and are in the rates; `unusable_details` says what was wrong with them.
    `verdicts` has a row for each label. (SPEC CP-RATE-6)
    """

    cases: int
    lost_let_through: Rate
    keep_refused: Rate
    asked: int
    skipped: int
    all_skipped: bool
    skips: Mapping[str, int]
    unusable: int
    unusable_details: Mapping[str, int]
    verdicts: tuple[Mapping[str, Any], ...]
    settings: Settings
    files: tuple[File, ...]
    counts: Counts

    @classmethod
    def of(
        cls,
        counts: Counts,
        *,
        let_through: Sequence[str],
        refused: Sequence[str],
        settings: Settings,
        files: Sequence[File],
    ) -> "Report":
        """The report on so many cases of each kind. The ids are those of the first lost cases that
        were let through, and of the first keep cases that were refused and not absent."""
        asked = sum(n for kind, n in counts.items() if kind.asked)
        nobody = 0 < asked == sum(n for kind, n in counts.items() if kind.absent)
        # A lost case judged safe was decided by its empty count, asking nobody: that a service was
        # away is no reason to leave it out. (CP-SKIP-3)
        skips = {k: n for k, n in counts.items() if k.absent or (nobody and not k.let_through)}
        scored = {kind: n for kind, n in counts.items() if kind not in skips}
        unusable = {kind: n for kind, n in counts.items() if kind.detail and not kind.absent}
        return cls(
            cases=sum(counts.values()),
            lost_let_through=_rate(Label.LOST, scored, "let_through", let_through),
            keep_refused=_rate(Label.KEEP, scored, "refused", () if nobody else refused),
            asked=asked,
            skipped=sum(skips.values()),
            all_skipped=nobody,
            skips=_by_detail(skips),
            unusable=sum(unusable.values()),
            unusable_details=_by_detail(unusable),
            verdicts=tuple(_verdicts(label, scored, skips) for label in Label),
            settings=settings,
            files=tuple(files),
            counts=counts,
        )

    @property
    def exit_status(self) -> int:
        """0 where no lost case was let through, else 1. (SPEC CP-EXIT-1)"""
        return 1 if self.lost_let_through.count else 0

    @property
    def curve(self) -> tuple[Row, ...]:
        """What the rule table alone answers at each wait_min. (SPEC CP-CURVE-1)"""
        return curve_of(self.counts)

    def payload(self, *, curve: bool = False) -> dict[str, Any]:
        """The JSON object of the report; `curve` adds the curve. (SPEC CP-RATE-6)"""
        return {
            "cases": self.cases,
            "lost_let_through": self.lost_let_through.payload(),
            "keep_refused": self.keep_refused.payload(),
            "asked": self.asked,
            "skipped": self.skipped,
            "all_skipped": self.all_skipped,
            "skips": self.skips,
            "unusable": self.unusable,
            "unusable_details": self.unusable_details,
            "verdicts": self.verdicts,
            **asdict(self.settings),
            "files": [asdict(file) for file in self.files],
            **({"curve": [row.payload() for row in self.curve]} if curve else {}),
        }


def _rate(label: Label, scored: Counts, error: str, ids: Iterable[str]) -> Rate:
    mine = {kind: n for kind, n in scored.items() if kind.label is label}
    return Rate(
        sum(n for kind, n in mine.items() if getattr(kind, error)), sum(mine.values()), tuple(ids)
    )


def _by_detail(counts: Counts) -> dict[str, int]:
    found: Counter[str] = Counter()
    for kind, n in counts.items():
        found[kind.detail or NOT_ASKED] += n
    return {name: found[name] for name in (*map(str, Detail), NOT_ASKED) if name in found}


def _verdicts(label: Label, scored: Counts, skips: Counts) -> dict[str, Any]:
    def number(counts: Counts, verdict: Verdict | None = None) -> int:
        return sum(
            n
            for kind, n in counts.items()
            if kind.label is label and verdict in (None, kind.verdict)
        )

    verdicts = {str(verdict): number(scored, verdict) for verdict in Verdict}
    return {"label": str(label), **verdicts, "skipped": number(skips)}
