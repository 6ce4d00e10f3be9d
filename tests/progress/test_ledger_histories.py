"""Ledgers of any history and in any condition: what holds of adding, and of folding on from a state
that was saved. What anybody's ledger adds up to is in `properties/`. (SPEC PG-LEDGER, PG-STATE)"""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from progress.strictfs import StrictDisk, claim_body, ruling_body

from verdict_core.conformance.strategies import claim_entry, damages, ledgers, sealed_line
from verdict_core.errors import LedgerFault
from verdict_core.progress.ledger import Ledger
from verdict_core.progress.projection import project, rendered, restored, stale
from verdict_core.progress.runs import ZEROS, drafted, sealed
from verdict_core.wire import canonical

RUN = Path("/state/runs/s-a")
LEDGER = RUN / "ledger.jsonl"
CLOCK = "2026-01-02T03:04:05Z"

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
items = st.lists(texts, max_size=2)
unhurried = settings(deadline=None)


@unhurried
@given(texts, texts)
def test_a_line_made_by_hand_is_the_one_that_is_written(claim: str, scope: str) -> None:
    """PG-ENTRY-2: what the properties are made of is what this library writes."""
    body = drafted(claim_body(claim, scope=scope, fingerprinted="src"))
    entry = sealed(body, number=1, time=CLOCK, run="s-a", prev=ZEROS)
    assert sealed_line(claim_entry(claim, scope), [], CLOCK) == canonical(entry)


@unhurried
@given(ledgers(), st.data())
def test_projecting_equals_folding_from_any_prefix(
    written: list[bytes], data: st.DataObject
) -> None:
    """PG-STATE-1, PG-STATE-3."""
    state = project(written)
    prefix = project(written[: (at := data.draw(st.integers(0, len(written))))])
    assert project(written[at:], prefix) == state
    saved = restored(rendered(prefix))
    assert saved == prefix
    assert project(written[at:], saved) == state
    assert set(stale(state, lambda one: None)) <= set(state.verified_rounds)


@st.composite
def files(draw: st.DrawFn) -> list[bytes]:
    """Physical lines: entries that are numbered by their lines, damage in between."""
    physical: list[bytes] = []
    for _ in range(draw(st.integers(0, 6))):
        physical += draw(st.lists(damages(), max_size=2))
        claim = claim_entry(draw(texts), "src")
        physical.append(sealed_line(claim, physical, CLOCK))
    return physical + draw(st.lists(damages(), max_size=2))


@unhurried
@given(files(), st.booleans())
@example([], False)
@example([b""], False)
@example([b"\xef\xbb\xbf", b"\r"], True)
def test_an_append_to_any_file_keeps_every_byte_and_every_entry_of_it(
    lines_before: list[bytes], ended: bool
) -> None:
    """PG-LEDGER-3, PG-LEDGER-6, PG-LEDGER-10."""
    raw = b"\n".join(lines_before) + (b"\n" if ended else b"")
    disk = StrictDisk({LEDGER: raw})
    ledger = Ledger(RUN, disk)
    before = ledger.read()
    assert len(before.entries) + len(before.damaged) == ledger.audit().lines
    added = ledger.append(claim_body())
    after = ledger.read()
    assert after.entries == (*before.entries, added)
    assert [one.line for one in after.damaged] == [one.line for one in before.damaged]
    data = disk.strict_image()[LEDGER]
    line = canonical(added) + b"\n"
    assert data in (raw + line, raw + b"\n" + line)
    physical = data.split(b"\n")[:-1]
    assert added["number"] == len(physical)
    assert added["prev"] == (
        hashlib.sha256(physical[-2]).hexdigest() if len(physical) > 1 else ZEROS
    )


@unhurried
@given(st.binary(max_size=300))
@example(b"\n")
@example(b"\xef\xbb\xbf\n\xef\xbb\xbf")
def test_no_bytes_make_reading_adding_or_auditing_crash(raw: bytes) -> None:
    """PG-LEDGER-9."""
    ledger = Ledger(RUN, StrictDisk({LEDGER: raw}))
    count = raw.count(b"\n") + (not raw.endswith(b"\n") and raw != b"")
    assert ledger.append(claim_body())["number"] == count + 1
    assert [one["number"] for one in ledger.read().entries] == [count + 1]
    assert len(ledger.read().damaged) == count
    assert [one.round for one in ledger.state().pending] == [count + 1]


@settings(unhurried, max_examples=60)
@given(st.integers(0, 6), st.data())
def test_an_append_behind_a_cut_is_refused(count: int, data: st.DataObject) -> None:
    """PG-LEDGER-8."""
    disk = StrictDisk()
    ledger = Ledger(RUN, disk)
    for _ in range(count + 1):
        ledger.append(claim_body())
    files = {path: now for path, (_, now) in disk.moments[-1].now.items()}
    raw = files[LEDGER]
    cut = data.draw(st.integers(0, len(raw) - 2))
    after = Ledger(RUN, StrictDisk({**files, LEDGER: raw[:cut]}))
    with pytest.raises(LedgerFault, match="ledger_cut"):
        after.append(claim_body())
    assert not after.audit().unbroken


@unhurried
@given(texts, texts, items, items, st.lists(st.text(max_size=5), max_size=3))
def test_what_is_read_is_what_was_appended(
    claim: str, scope: str, missing: list[str], evidence: list[str], verifier: list[str]
) -> None:
    """PG-ENTRY-1, PG-READ-2."""
    verifier = [one for one in verifier if one.isascii()]
    members: dict[str, Any] = {"scope": scope, "verifier": verifier}
    ledger = Ledger(RUN, StrictDisk())
    asked = ledger.append(claim_body(claim, **members))
    ruled = ledger.append(
        ruling_body(1, claim, missing=missing, evidence=evidence, report=claim, **members)
    )
    assert ledger.read().entries == (asked, ruled)
    assert ruled["missing"] == missing
    assert ruled["report"]["text"] == claim
    state = ledger.state()
    assert (state.standing[0].claim, state.standing[0].scope) == (claim, scope)
    assert state.standing[0].missing == tuple(missing)
