"""What the lines of a ledger add up to: the state of its run, and whether its chain is unbroken.

In: lines, in the order of the file. Out: a State and the bytes of `state.json`; an Audit. Laws: the
folds are pure; the state comes to the same from any prefix on; the last line of the file wins, not
the latest time; a round stays what it was ruled, and whether its content is still the same is a
question of digests. (SPEC PG-STATE, PG-AUDIT)
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Any

import orjson
from attrs import fields, frozen

from verdict_core.progress.runs import (
    ZEROS,
    Damage,
    Line,
    Why,
    integer_at,
    number_of,
    sealed_at,
)
from verdict_core.wire import canonical, digest

STATE_FORMAT = "verdict-core/progress-state/1"

# Members that the fold reads out of the bytes: parsing every line costs more than all else.
# A quote inside a JSON string is escaped, so each spelling stands where its member is, and once.
_RULING = b'{"after":'
_DIGEST = b',"claim_digest":"'
_DIGEST_BYTES = len("sha256:") + 64
_ROUND = len('","claim_number":')
_SCOPE = b',"scope":'
_TIME = b',"time":'
_PROGRESS = b',"outcome":"progress",'
_SAME = ("number", "claim", "claim_digest", "scope", "fingerprinted", "outcome")
_TUPLES = ("ignored", "reasons", "missing")


@frozen
class Claim:
    """A claim without a ruling: its verifier runs, or died. `round` is the number of the claim's
    entry. (SPEC PG-STATE-2)"""

    round: int
    time: str
    claim: str
    scope: str


@frozen
class Standing:
    """The last ruling on a claim, that is, on one text for one scope. `number` is that of the
    ruling's entry, `digest` the content digest after its round. (SPEC PG-STATE-4)"""

    round: int
    number: int
    claim: str
    claim_digest: str
    scope: str
    fingerprinted: str
    ignored: tuple[str, ...]
    outcome: str
    reasons: tuple[str, ...]
    missing: tuple[str, ...]
    digest: str | None


@frozen
class OpenItem:
    """What a ruling found missing, of a claim that stands rejected."""

    round: int
    item: str


@frozen
class State:
    """What a run comes to. `number` and `hash` are those of the last entry that it covers. A round
    is named by the number of its claim's entry. (SPEC PG-STATE-1)"""

    number: int = 0
    hash: str = ZEROS
    pending: tuple[Claim, ...] = ()
    verified_rounds: tuple[int, ...] = ()
    rejected_rounds: tuple[int, ...] = ()
    standing: tuple[Standing, ...] = ()

    @property
    def open_items(self) -> tuple[OpenItem, ...]:
        """What is still missing: of each claim whose last ruling is evidence. (SPEC PG-STATE-5)"""
        return tuple(
            OpenItem(one.round, item)
            for one in self.standing
            if one.outcome == "evidence"
            for item in one.missing
        )


EMPTY = State()


def stale(state: State, digest_of: Callable[[Standing], str | None]) -> tuple[int, ...]:
    """The rounds of claims that stand verified, and whose content is no longer the same.

    `digest_of` gives the content digest of a scope now, with its ignores, or None where there is
    none to be had: what cannot be compared is not the same. (SPEC PG-STATE-6)
    """
    return tuple(
        one.round
        for one in state.standing
        if one.outcome == "progress" and (one.digest is None or digest_of(one) != one.digest)
    )


def project(lines: Iterable[bytes], state: State = EMPTY) -> State:
    """The state after `lines`, which follow those that `state` covers; each without what ends it.
    One that is not an entry as it was written adds nothing. (SPEC PG-STATE-1)"""
    fold = _Fold(state)
    for line in lines:
        fold.add(line)
    return fold.state()


class _Fold:
    """A state in the making. What it keeps of a line is the line; it is parsed when it survives."""

    def __init__(self, state: State) -> None:
        self._start = state
        # Dicts are sets that remember the order of the file.
        self._verified = dict.fromkeys(state.verified_rounds)
        self._rejected = dict.fromkeys(state.rejected_rounds)
        self._pending: dict[int, Claim | bytes] = {one.round: one for one in state.pending}
        self._standing: dict[bytes, Standing | bytes] = {_key(one): one for one in state.standing}
        # The last ruling and where its hash stands, and the claims behind it: which of these is
        # the last entry shows in the end.
        self._last = (b"", 0)
        self._trailing: list[bytes] = []

    def add(self, line: bytes) -> None:
        if line.startswith(_RULING):
            self._rule(line)
            return
        # Most claims are ruled, and leave nothing: those that are not are checked in the end.
        self._trailing.append(line)
        number = number_of(line)
        known = number in self._verified or number in self._rejected
        if not known and (number not in self._pending or sealed_at(line)):
            self._pending[number] = line

    def _rule(self, line: bytes) -> None:
        at = sealed_at(line)
        if not at:
            return
        self._trailing.clear()
        self._last = (line, at)
        claim = line.rfind(_DIGEST, 0, at) + len(_DIGEST)
        end = claim + _DIGEST_BYTES
        number = integer_at(line, end + _ROUND)
        self._pending.pop(number, None)
        self._verified.pop(number, None)
        self._rejected.pop(number, None)
        is_progress = line.find(_PROGRESS, at) > 0
        (self._verified if is_progress else self._rejected)[number] = None
        scope = line.rfind(_SCOPE)
        self._standing[line[claim:end] + line[scope : line.find(_TIME, scope)]] = line

    def state(self) -> State:
        pending = filter(None, map(_claim, self._pending.values()))
        standing = filter(None, map(_stands, self._standing.values()))
        last, at = self._last
        for line in reversed(self._trailing):
            if found := sealed_at(line):
                last, at = line, found
                break
        return State(
            number=number_of(last) if at else self._start.number,
            hash=last[at : at + 64].decode() if at else self._start.hash,
            pending=tuple(sorted(pending, key=lambda one: one.round)),
            verified_rounds=tuple(self._verified),
            rejected_rounds=tuple(self._rejected),
            standing=tuple(sorted(standing, key=lambda one: one.number)),
        )


# Where a right hash stands on what is no entry, another program wrote it: it is passed over.
_NO_ENTRY = (KeyError, TypeError, ValueError)


def _claim(line: Claim | bytes) -> Claim | None:
    if isinstance(line, Claim):
        return line
    if not sealed_at(line):
        return None
    try:
        said = orjson.loads(line)
        if said["kind"] != "claim":
            return None
        return Claim(said["number"], said["time"], said["claim"], said["scope"])
    except _NO_ENTRY:
        return None


def _stands(line: Standing | bytes) -> Standing | None:
    if isinstance(line, Standing):
        return line
    try:
        said = orjson.loads(line)
        after = said["after"] and said["after"]["digest"]
        members = {name: said[name] for name in _SAME}
        members |= {name: tuple(said[name]) for name in _TUPLES}
        return Standing(round=said["claim_number"], digest=after, **members)
    except _NO_ENTRY:
        return None


def _key(one: Standing) -> bytes:
    return one.claim_digest.encode() + _SCOPE + canonical(one.scope)


def _as_objects(kind: type) -> Callable[[Iterable[Any]], list[dict[str, Any]]]:
    names = [one.name for one in fields(kind)]
    values = attrgetter(*names)
    return lambda many: [dict(zip(names, values(one), strict=True)) for one in many]


_claims, _standings = _as_objects(Claim), _as_objects(Standing)


def rendered(state: State) -> bytes:
    """The bytes of `state.json`: canonical JSON with a digest of the rest as its first member, so
    that a torn one never reads as a whole one. (SPEC PG-STATE-3)"""
    rest = canonical(
        {
            "format": STATE_FORMAT,
            "number": state.number,
            "hash": state.hash,
            "pending": _claims(state.pending),
            "verified_rounds": state.verified_rounds,
            "rejected_rounds": state.rejected_rounds,
            "standing": _standings(state.standing),
        }
    )
    return b'{"digest":"%b",%b' % (digest(rest).encode(), rest[1:])


def restored(data: bytes) -> State | None:
    """The state that `data` is the rendering of; None where it is torn, or another format.
    (SPEC PG-STATE-3)"""
    rest = b"{" + data[len(b'{"digest":"",') + _DIGEST_BYTES :]
    if not data.startswith(b'{"digest":"%b",' % digest(rest).encode()):
        return None
    try:
        said = orjson.loads(rest)
        if said["format"] != STATE_FORMAT:
            return None
        return State(
            number=said["number"],
            hash=said["hash"],
            pending=tuple(Claim(**one) for one in said["pending"]),
            verified_rounds=tuple(said["verified_rounds"]),
            rejected_rounds=tuple(said["rejected_rounds"]),
            standing=tuple(
                Standing(**{**one, **{name: tuple(one[name]) for name in _TUPLES}})
                for one in said["standing"]
            ),
        )
    except _NO_ENTRY:
        return None


class Flaw(StrEnum):
    """In what way a ledger is not as it was written. (SPEC PG-AUDIT-2)"""

    ALTERED = "altered"
    PREV = "prev"
    NUMBER = "number"
    CUT = "cut"


@frozen
class Break:
    """A physical line where the chain breaks, and how; for `cut` the line that is not there."""

    line: int
    flaw: Flaw


@frozen
class Audit:
    """Whether what was acknowledged is all there, as far as the chain and `state.json` can tell.
    `breaks` are in the order of the file, a cut last. (SPEC PG-AUDIT-1)"""

    lines: int
    entries: int
    damaged: tuple[Damage, ...]
    torn: bool
    breaks: tuple[Break, ...]

    @property
    def unbroken(self) -> bool:
        return not self.breaks


_WHOLE = (Why.HASH, Why.NOT_AN_ENTRY)


def audited(lines: Iterable[Line], saved: State) -> Audit:
    """The audit of all physical lines of a ledger; `saved` is what its `state.json` says.

    A damaged line is what a torn append left when the entry after it names its bytes in `prev`;
    it was altered when that names others, when nothing follows it, and when it is whole JSON, which
    a torn append never leaves. (SPEC PG-AUDIT-1 to PG-AUDIT-4)
    """
    chain = _Chain(saved)
    for line in lines:
        chain.follow(line)
    return chain.audit()


class _Chain:
    def __init__(self, saved: State) -> None:
        self._saved = saved
        self._covered = saved.number == 0
        self._expected = 1
        self._prev = ZEROS
        self._entries = 0
        self._damaged: list[Damage] = []
        self._breaks: list[Break] = []
        self._before: Damage | None = None
        self._last: Line | None = None

    def follow(self, line: Line) -> None:
        said = line.said()
        before, self._before = self._before, None
        # In the bytes, so that what is left of a damaged line vouches too.
        linked = f'"prev":"{self._prev}"'.encode() in line.raw
        if before is not None and (not linked or before.why in _WHOLE):
            self._breaks.append(Break(before.line, Flaw.ALTERED))
        elif not linked and not isinstance(said, Damage):
            self._breaks.append(Break(line.number, Flaw.PREV))
        if isinstance(said, Damage):
            self._damaged.append(said)
            self._before = said
        else:
            self._entry(line.number, said)
        self._expected += 1
        self._prev = hashlib.sha256(line.raw).hexdigest()
        self._last = line

    def _entry(self, number: int, said: Mapping[str, Any]) -> None:
        self._entries += 1
        if said["number"] != self._expected:
            self._breaks.append(Break(number, Flaw.NUMBER))
            # Only where the numbers jump, not at every line after it.
            self._expected = said["number"]
        names = (said["number"], said["hash"])
        self._covered = self._covered or names == (self._saved.number, self._saved.hash)

    def audit(self) -> Audit:
        last = self._last
        if last is not None and self._before is not None:
            # Without an LF it is a torn append, unless only the LF became another byte. Not zero:
            # zeros are what a power cut leaves of bytes that were on their way.
            cut = not last.bare.endswith(b"\0") and sealed_at(last.bare[:-1])
            if last.ended or cut or self._before.why in _WHOLE:
                self._breaks.append(Break(last.number, Flaw.ALTERED))
        if not self._covered:
            self._breaks.append(Break(self._saved.number, Flaw.CUT))
        return Audit(
            lines=last.number if last else 0,
            entries=self._entries,
            damaged=tuple(self._damaged),
            torn=last is not None and not last.ended,
            breaks=tuple(self._breaks),
        )
