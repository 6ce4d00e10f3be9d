"""One episode: fingerprint, claim entry, verifier, fingerprint, ruling entry, in this order.

In: a claim, a guard scope, a verifier, a ledger. Out: a ruling that is on the disk. Laws: the claim
is written before anybody is asked, so a crash leaves it pending; the workspace is compared whatever
the verifier says; whoever claims does not choose who checks. (SPEC PG-EPI)
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.git import show_path
from verdict_core.progress.admission import Ruling, admit
from verdict_core.progress.fingerprint import (
    Snapshot,
    compare,
    gap_line,
    hints,
    ignored_changes,
    take,
)
from verdict_core.progress.ledger import Ledger
from verdict_core.progress.lines import Label
from verdict_core.progress.report import Contract, Integrity, Status
from verdict_core.progress.scope import GuardScope
from verdict_core.progress.tree import Gap
from verdict_core.progress.verifier import Testimony, Verifier, Weighed, weigh

Progress = Callable[[int, int], None]


class Reason(StrEnum):
    """Why, beside what report, verifier and admission say. An append-only registry. (PG-REASON)"""

    NO_VERIFIER = "no_verifier"
    EVIDENCE_UNREADABLE = "evidence_unreadable"


@frozen(kw_only=True)
class Episode:
    """What came of it. `reasons` in the order verifier, report, evidence, admission; `changed` the
    paths that are not as they were, with their kind; `gaps` what of the content is not known;
    `ignored_changes` how many paths that were declared away changed; `number` that of the ruling's
    entry. The change is stated and nobody is accused of it. (SPEC PG-EPI-1)"""

    run: str
    number: int
    claim_number: int
    fingerprinted: str
    ruling: Ruling
    reasons: tuple[str, ...]
    changed: tuple[tuple[str, str], ...]
    hints: tuple[str, ...]
    gaps: tuple[str, ...]
    ignored_changes: int


def verify(
    claim: str,
    scope: GuardScope,
    verifier: Verifier | None,
    ledger: Ledger,
    *,
    progress: Progress | None = None,
) -> Episode:
    """Have `claim` verified, and keep the ruling. `progress` is called while files are hashed.

    Without a verifier there is only a claim: the ruling is blocked. Raises WrongType or BadValue
    for the claim before anything is written, LedgerFault where an entry cannot be kept, and lets an
    interruption through, which leaves the claim pending. (SPEC PG-EPI-1 to PG-EPI-6)
    """
    wire.text(claim, "$.claim")
    before = take(scope, progress=progress)
    asked = {
        "claim": claim,
        "scope": scope.text,
        "fingerprinted": show_path(scope.root),
        "ignored": scope.ignores,
        "verifier": verifier.argv if verifier else (),
        "before": _tree(before),
    }
    entry = ledger.append({"kind": "claim", **asked})
    testimony = verifier(claim, scope.text, scope.workspace) if verifier else None
    after = take(scope, progress=progress)
    changes = compare(before, after)
    weighed = weigh(testimony, claim) if testimony else _UNASKED
    ruling, reasons = _ruled(weighed, before.suspect or after.suspect, bool(changes))
    gaps = tuple(dict.fromkeys((*before.gaps, *after.gaps)))
    changed = tuple((show_path(change.path), str(change.kind)) for change in changes)
    said = {
        **_said(weighed, testimony),
        **_found(ruling, reasons, changed, gaps),
        "claim_number": entry["number"],
        "after": _tree(after),
    }
    return Episode(
        run=entry["run"],
        number=ledger.append({"kind": "ruling", **asked, **said})["number"],
        claim_number=entry["number"],
        fingerprinted=show_path(scope.root),
        ruling=ruling,
        reasons=reasons,
        changed=changed,
        hints=hints(changes),
        gaps=tuple(gap_line(path, gap) for path, gap in gaps),
        ignored_changes=ignored_changes(before, after),
    )


def _ruled(weighed: Weighed, suspect: bool, changed: bool) -> tuple[Ruling, tuple[str, ...]]:
    """The ruling, and every reason for it. What could not be read holds integrity at suspect."""
    integrity = max(weighed.integrity, Integrity.SUSPECT if suspect else Integrity.CLEAN, key=_rank)
    ruling = admit(weighed.status, integrity, weighed.contract, changed)
    evidence = (Reason.EVIDENCE_UNREADABLE,) if suspect else ()
    return ruling, tuple(dict.fromkeys(map(str, (*weighed.reasons, *evidence, *ruling.reasons))))


def _found(
    ruling: Ruling,
    reasons: tuple[str, ...],
    changed: tuple[tuple[str, str], ...],
    gaps: tuple[tuple[bytes, Gap], ...],
) -> Mapping[str, Any]:
    """What the entry keeps of the ruling, and of what the fingerprints showed."""
    return {
        "final": {name: getattr(ruling, name) for name in _LABELS},
        "outcome": ruling.outcome,
        "reasons": reasons,
        "changed": [{"path": path, "change": kind} for path, kind in changed],
        "evidence_gaps": [{"path": show_path(path), "why": gap} for path, gap in gaps],
    }


# Who asked nobody knows nothing. (SPEC PG-EPI-5)
_UNASKED = Weighed(Status.BLOCKED, Integrity.SUSPECT, Contract.UNKNOWN, (Reason.NO_VERIFIER,), None)


def _tree(snapshot: Snapshot) -> Mapping[str, Any]:
    return {"count": len(snapshot.entries), "digest": snapshot.content_digest}


def _said(weighed: Weighed, testimony: Testimony | None) -> Mapping[str, Any]:
    """What the entry keeps of the report: under each label what was declared, as given; for a
    check, what its exit says; null where nothing was said."""
    report = weighed.report
    if report is not None:
        declared = {name: report.said(label) for name, label in _LABELS.items()}
    elif testimony is not None and testimony.status is not None:
        declared = {name: str(getattr(weighed, name)) for name in _LABELS}
    else:
        declared = dict.fromkeys(_LABELS)
    return {
        "declared": declared,
        "evidence": report.evidence if report else (),
        "missing": report.missing if report else (),
        "report": testimony.text if testimony else None,
    }


_LABELS = {"status": Label.STATUS, "integrity": Label.INTEGRITY, "contract": Label.CONTRACT}
_rank = tuple(Integrity).index
