"""Reading a verifier's report: what it declares, and what may be made of that.

Two laws:

1. What is not the report's own (fences, quotes, indented text, prose, an echo of the question)
   never makes a reading better, and what is not declared is never complete, clean or aligned.
2. What is declared and unfavourable is never lost to decoration, and a declaration or a Missing
   item that is added never makes a reading better.

Theory of operation. Each line has one of three standings:

    unread      it lies in a fence, is quoted with `>` or indented by four columns, or is blank
    in doubt    one reader of Markdown shows it as the report's own and another does not; or it is
                a label only when marks, invisible characters or look-alike forms are overlooked
    own         every other line

A line that begins with a label and a colon declares something. On a line in doubt the best value
of a list is passed over and every other one counts, so doubt can only make a reading worse. A value
that is not of the list, and a label with nothing that counts, get the conservative value; of
several the least favourable stands. Last, `complete` with something under Missing, or with an
Evidence heading and nothing under it, is incomplete.

In: a text. Out: a Report. No clock, file, environment or network. (SPEC PG-REPORT)
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import dropwhile
from typing import Generic, TypeVar

from attrs import evolve, frozen

from verdict_core.progress.lines import (
    DECORATION,
    HEADING,
    ITEM_MARK,
    Label,
    Line,
    Standing,
    is_blank,
    is_item,
    read_lines,
)


class Status(StrEnum):
    """Whether the step is done, from good to bad. (SPEC PG-REPORT-1)"""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    BLOCKED = "blocked"


class Integrity(StrEnum):
    """Whether the evidence is to be believed, from good to bad. (SPEC PG-REPORT-1)"""

    CLEAN = "clean"
    SUSPECT = "suspect"
    VIOLATION = "violation"


class Contract(StrEnum):
    """Whether what was checked is what was asked for, from good to bad. (SPEC PG-REPORT-1)"""

    ALIGNED = "aligned"
    UNKNOWN = "unknown"
    NEEDS_REVISION = "needs_revision"
    INVALID = "invalid"


class Reason(StrEnum):
    """Why a reading is not what was hoped for. An append-only registry. (SPEC PG-REASON)"""

    NO_STATUS_LINE = "no_status_line"
    INTEGRITY_UNDECLARED = "integrity_undeclared"
    CONTRACT_UNDECLARED = "contract_undeclared"
    STATUS_NOT_IN_SET = "value_not_in_set:Status"
    INTEGRITY_NOT_IN_SET = "value_not_in_set:Integrity"
    CONTRACT_NOT_IN_SET = "value_not_in_set:Contract"
    STATUS_CONFLICT = "conflicting_control_lines:Status"
    INTEGRITY_CONFLICT = "conflicting_control_lines:Integrity"
    CONTRACT_CONFLICT = "conflicting_control_lines:Contract"
    CLAIM_CONFLICT = "conflicting_control_lines:Claim"
    STATUS_IN_DOUBT = "line_in_doubt:Status"
    INTEGRITY_IN_DOUBT = "line_in_doubt:Integrity"
    CONTRACT_IN_DOUBT = "line_in_doubt:Contract"
    COMPLETE_WITH_MISSING = "complete_with_missing"
    COMPLETE_WITHOUT_EVIDENCE = "complete_without_evidence"
    CLAIM_MISMATCH = "claim_mismatch"


@frozen
class Declaration:
    """One labelled line: `value` is the rest of it as given, without decoration at its ends."""

    label: Label
    value: str
    in_doubt: bool


@frozen
class Report:
    """A report after its own rules. `declared` is every labelled line in order, `missing` and
    `evidence` the items of the two lists, `claim` the digest that the report binds itself to, in
    lower case, or None. (SPEC PG-REPORT-1)"""

    status: Status
    integrity: Integrity
    contract: Contract
    reasons: tuple[Reason, ...]
    declared: tuple[Declaration, ...]
    missing: tuple[str, ...]
    evidence: tuple[str, ...]
    claim: str | None

    def said(self, label: Label) -> str | None:
        """The values of a label's lines, joined with ` / ` and cut to 200 characters, for people;
        None where there is nothing to show. (SPEC PG-REPORT-14)"""
        values = (one.value for one in self.declared if one.label is label and one.value)
        return " / ".join(values)[:SAID_CHARACTERS] or None


V = TypeVar("V", bound=StrEnum)


@frozen
class Control(Generic[V]):
    """How one control label is read: its values from good to bad, the one that stands for a value
    that is not among them or for none, and the reason for none."""

    label: Label
    values: tuple[V, ...]
    conservative: V
    undeclared: Reason

    def reason(self, what: str) -> Reason:
        """The reason of that kind for this label."""
        return Reason(f"{what}:{self.label.split()[0]}")


STATUS = Control(Label.STATUS, tuple(Status), Status.INCOMPLETE, Reason.NO_STATUS_LINE)
INTEGRITY = Control(
    Label.INTEGRITY, tuple(Integrity), Integrity.SUSPECT, Reason.INTEGRITY_UNDECLARED
)
CONTRACT = Control(Label.CONTRACT, tuple(Contract), Contract.UNKNOWN, Reason.CONTRACT_UNDECLARED)

EMPTY_ITEMS = frozenset({"", "none", "n/a", "-"})
"""What stands under a list and is no item, in lower case. (SPEC PG-REPORT-11)"""

SAID_CHARACTERS = 200
_DIGEST = re.compile(r"sha256:|[0-9a-f]{32,}$")


def decode(data: bytes) -> tuple[str, bool]:
    """A report's bytes as text, with U+FFFD for what is not UTF-8, and whether there was such a
    thing. (SPEC PG-REPORT-15)"""
    try:
        return data.decode(), False
    except UnicodeDecodeError:
        return data.decode(errors="replace"), True


def read_report(text: str) -> Report:
    """The report that `text` is. Total: every text is one. (SPEC PG-REPORT-1 to PG-REPORT-14)"""
    lines = tuple(read_lines(text))
    declared = tuple(
        Declaration(line.label, line.value, line.standing is Standing.IN_DOUBT)
        for line in lines
        if line.label
    )
    status, of_status = _rule(STATUS, declared)
    integrity, of_integrity = _rule(INTEGRITY, declared)
    contract, of_contract = _rule(CONTRACT, declared)
    reasons = [*of_status, *of_integrity, *of_contract]
    missing = tuple(_missing(lines))
    proofs = tuple(_evidence(lines))
    if status is Status.COMPLETE and missing:
        reasons.append(Reason.COMPLETE_WITH_MISSING)
    if status is Status.COMPLETE and not all(proofs):
        reasons.append(Reason.COMPLETE_WITHOUT_EVIDENCE)
    if status is Status.COMPLETE and (missing or not all(proofs)):
        status = Status.INCOMPLETE
    claims = _claims(declared)
    if len(claims) > 1:
        status = Status.BLOCKED
        reasons.append(Reason.CLAIM_CONFLICT)
    return Report(
        status=status,
        integrity=integrity,
        contract=contract,
        reasons=tuple(reasons),
        declared=declared,
        missing=missing,
        evidence=tuple(item for items in proofs for item in items),
        claim=next(iter(claims), None),
    )


def bind(report: Report, digest: str) -> Report:
    """The report as it stands for the claim of that digest: blocked where it names another one.
    (SPEC PG-REPORT-13)"""
    if report.claim in (None, digest):
        return report
    reasons = (*report.reasons, Reason.CLAIM_MISMATCH)
    return evolve(report, status=Status.BLOCKED, reasons=reasons)


def _rule(control: Control[V], declared: Iterable[Declaration]) -> tuple[V, list[Reason]]:
    """What the lines of one label come to, and why. (SPEC PG-REPORT-4, PG-REPORT-5)"""
    said = [one for one in declared if one.label is control.label]
    best = control.values[0]
    counted = [one for one in said if not (one.in_doubt and _lower(one.value) == best)]
    words = {_lower(one.value) for one in counted}
    known = [value for value in control.values if value in words]
    reasons = []
    if not known:
        reasons.append(control.undeclared)
    if said and not counted:
        reasons.append(control.reason("line_in_doubt"))
    if len(known) < len(words):
        reasons.append(control.reason("value_not_in_set"))
        known.append(control.conservative)
    if len(words) > 1:
        reasons.append(control.reason("conflicting_control_lines"))
    return max(known or [control.conservative], key=control.values.index), reasons


def _claims(declared: Iterable[Declaration]) -> Sequence[str]:
    """The different digests that a report binds itself to. A claim told again in words is none."""
    values = (_lower(one.value) for one in declared if one.label is Label.CLAIM)
    return tuple(dict.fromkeys(value for value in values if _DIGEST.match(value)))


def _missing(lines: Iterable[Line]) -> Iterator[str]:
    """The items under Missing. Lines of any standing count, and no control line ends the list: so
    nothing that is added hides an item. (SPEC PG-REPORT-11)"""
    is_open = is_fresh = is_apart = is_marked = False
    for line in _from(Label.MISSING, lines):
        is_own_label = line.label is not None and line.standing is Standing.OWN
        if is_open and is_own_label and line.marked and not is_marked:
            yield from _items(line.text)
        if line.label is Label.MISSING:
            is_fresh = not line.value or (is_open and is_fresh)
            is_open, is_apart, is_marked = True, False, line.marked
            yield from _items(line.value)
        elif not is_open:
            continue
        elif is_blank(line.text):
            is_open, is_apart = is_fresh, True
        elif is_own_label:
            is_open = line.label is not Label.EVIDENCE
        elif _is_heading(line) or (is_apart and not is_item(line.text)):
            is_open = False
        else:
            is_fresh = is_apart = False
            yield from _items(line.text)


def _evidence(lines: Iterable[Line]) -> Iterator[list[str]]:
    """The items under each Evidence heading: lines of the report's own that declare nothing.
    (SPEC PG-REPORT-12)"""
    items: list[str] | None = None
    is_fresh = is_apart = False
    for line in _from(Label.EVIDENCE, lines):
        if items is not None and _ends_evidence(line, is_fresh, is_apart):
            yield items
            items = None
        if line.label is Label.EVIDENCE:
            items = list(_items(line.value))
            is_fresh, is_apart = not line.value, False
        elif is_blank(line.text):
            is_apart = True
        elif items is not None and line.standing is Standing.OWN:
            is_fresh = is_apart = False
            items.extend(_items(line.text))
    if items is not None:
        yield items


def _ends_evidence(line: Line, is_fresh: bool, is_apart: bool) -> bool:
    """Blank lines right below a heading are passed over, but only a list stands apart from it."""
    if is_blank(line.text):
        return not is_fresh
    return bool(line.label) or _is_heading(line) or (is_apart and not is_item(line.text))


def _from(label: Label, lines: Iterable[Line]) -> Iterator[Line]:
    return dropwhile(lambda line: line.label is not label, lines)


def _is_heading(line: Line) -> bool:
    return line.standing is Standing.OWN and HEADING.match(line.text) is not None


def _items(text: str) -> Iterator[str]:
    mark = ITEM_MARK.match(text)
    item = text[mark.end() if mark else 0 :].strip(" \t")
    if _lower(item.strip(DECORATION)) not in EMPTY_ITEMS:
        yield item


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else text
