"""Ledgers of any history and in any condition: what they add up to, and what an audit tells.

Lines are made without the library, so its own writing is not taken for what is right. (SPEC
PG-STATE, PG-READ, PG-AUDIT)
"""

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verdict_core.conformance.door import given_result
from verdict_core.conformance.strategies import (
    claim_entry,
    damages,
    ledgers,
    ruling_entry,
    sealed_line,
)
from verdict_core.conformance.subject import Subject

CLOCK = "2026-01-02T03:04:05Z"
CLAIM = claim_entry("it parses", "src/**")


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def slow(written: list[bytes]) -> dict[str, Any]:
    """The state, by parsing every line and looking at all of them for each question."""
    entries = [json.loads(line) for line in written]
    rulings = [one for one in entries if one["kind"] == "ruling"]
    last = {one["claim_number"]: one for one in rulings}
    order = sorted(last.values(), key=lambda one: int(one["number"]))
    standing = {(one["claim"], one["scope"]): one for one in rulings}
    stands = sorted(standing.values(), key=lambda one: int(one["number"]))
    same = (
        "number", "claim", "claim_digest", "scope", "fingerprinted", "ignored", "outcome",
        "reasons", "missing",
    )  # fmt: skip
    return {
        "number": entries[-1]["number"] if entries else 0,
        "hash": entries[-1]["hash"] if entries else "0" * 64,
        "pending": [
            {"round": one["number"], **{name: one[name] for name in ("time", "claim", "scope")}}
            for one in entries
            if one["kind"] == "claim" and one["number"] not in last
        ],
        "verified_rounds": [one["claim_number"] for one in order if one["outcome"] == "progress"],
        "rejected_rounds": [one["claim_number"] for one in order if one["outcome"] == "evidence"],
        "standing": [
            {
                "round": one["claim_number"],
                "digest": one["after"] and one["after"]["digest"],
                **{name: one[name] for name in same},
            }
            for one in stands
        ],
        "open_items": [
            {"round": one["claim_number"], "item": item}
            for one in stands
            if one["outcome"] == "evidence"
            for item in one["missing"]
        ],
    }


MEMBERS = {
    "number": "PG-STATE-1",
    "hash": "PG-STATE-1",
    "standing": "PG-STATE-4",
    "verified_rounds": "PG-STATE-4",
    "rejected_rounds": "PG-STATE-4",
    "pending": "PG-STATE-2",
    "open_items": "PG-STATE-5",
}


@given(ledgers())
def test_a_ledger_adds_up_to_what_each_of_its_lines_says(
    subject: Subject, written: list[bytes]
) -> None:
    """PG-STATE-1, PG-STATE-2, PG-STATE-4, PG-STATE-5: the last line wins and not the last clock."""
    state, wanted = given_result(subject.fold(joined(written))), slow(written)
    for name, clause in MEMBERS.items():
        assert state[name] == wanted[name], clause


@given(ledgers())
def test_every_claim_is_in_exactly_one_of_pending_verified_and_rejected(
    subject: Subject, written: list[bytes]
) -> None:
    """PG-STATE-2, PG-STATE-4, PG-STATE-5."""
    state = given_result(subject.fold(joined(written)))
    found = [
        *(one["round"] for one in state["pending"]),
        *state["verified_rounds"],
        *state["rejected_rounds"],
    ]
    claims = [number for number, line in enumerate(written, 1) if b'"kind":"claim"' in line]
    assert sorted(found) == claims
    assert {one["round"] for one in state["open_items"]} <= set(state["rejected_rounds"])


@given(ledgers(), damages(), st.data())
@example([], b"", None)
def test_a_damaged_line_anywhere_adds_nothing_and_takes_nothing(
    subject: Subject, written: list[bytes], damage: bytes, data: st.DataObject | None
) -> None:
    """PG-STATE-1, PG-READ-2: a line whose hash is not that of its bytes is no entry."""
    at = data.draw(st.integers(0, len(written))) if data else 0
    damaged = joined([*written[:at], damage, *written[at:]])
    assert subject.fold(damaged) == subject.fold(joined(written))


@given(ledgers())
def test_a_mark_at_the_beginning_and_crlf_are_read(subject: Subject, written: list[bytes]) -> None:
    """PG-READ-4."""
    state = subject.fold(joined(written))
    assert subject.fold(b"\xef\xbb\xbf" + joined(written)) == state
    assert subject.fold(b"".join(line + b"\r\n" for line in written)) == state
    assert subject.fold(joined(written)[:-1]) == state


@given(ledgers())
def test_a_whole_ledger_is_unbroken(subject: Subject, written: list[bytes]) -> None:
    """PG-AUDIT-2: against the state that covers it, against one that is behind, against none."""
    states = [None, *({"number": n, "hash": seal(line)} for n, line in enumerate(written, 1))]
    for state in states[-2:]:
        assert given_result(subject.chain(joined(written), state=state)) == {
            "lines": len(written),
            "entries": len(written),
            "damaged": [],
            "torn": False,
            "breaks": [],
        }


def seal(line: bytes) -> str:
    return str(json.loads(line)["hash"])


@given(ledgers().filter(bool), st.data())
def test_any_changed_byte_is_told(
    subject: Subject, written: list[bytes], data: st.DataObject
) -> None:
    """PG-READ-2, PG-AUDIT-2, PG-AUDIT-4: as a damaged line, or as a break."""
    raw = bytearray(joined(written))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= 1 << data.draw(st.integers(0, 7))
    audit = given_result(subject.chain(bytes(raw)))
    assert audit["damaged"] or audit["breaks"]


def test_every_bit_of_a_last_line_is_covered(subject: Subject) -> None:
    """PG-READ-2: nothing behind it names its hash, so nothing else tells."""
    (line,) = written = [sealed_line(CLAIM, [], CLOCK)]
    assert given_result(subject.chain(joined(written)))["damaged"] == []
    for at, bit in itertools.product(range(len(line)), range(8)):
        changed = line[:at] + bytes([line[at] ^ 1 << bit]) + line[at + 1 :]
        assert given_result(subject.chain(joined([changed])))["damaged"], (at, bit)


@given(ledgers().filter(lambda written: len(written) > 1), st.data())
def test_a_line_that_was_taken_out_or_moved_breaks_the_chain(
    subject: Subject, written: list[bytes], data: st.DataObject
) -> None:
    """PG-AUDIT-2: wherever it stood, but for the end, which only `state.json` can tell."""
    at = data.draw(st.integers(0, len(written) - 2))
    without = [*written[:at], *written[at + 1 :]]
    assert given_result(subject.chain(joined(without)))["breaks"]
    assert given_result(subject.chain(joined([*without, written[at]])))["breaks"]


@given(ledgers(6), st.data())
def test_every_line_that_goes_missing_at_the_end_is_told(
    subject: Subject, written: list[bytes], data: st.DataObject
) -> None:
    """PG-AUDIT-2: `state.json` covers an entry that is not there."""
    written = [*written, sealed_line(CLAIM, written, CLOCK)]
    raw = joined(written)
    cut = raw[: data.draw(st.integers(0, len(raw) - 2))]
    state = {"number": len(written), "hash": seal(written[-1])}
    breaks = given_result(subject.chain(cut, state=state))["breaks"]
    assert {"line": len(written), "flaw": "cut"} in breaks


@given(ledgers(6), st.data())
def test_a_torn_append_is_no_break(
    subject: Subject, written: list[bytes], data: st.DataObject
) -> None:
    """PG-AUDIT-3, PG-READ-3: neither at the end nor with an entry behind it."""
    line = sealed_line(CLAIM, written, CLOCK)
    torn = line[: data.draw(st.integers(1, len(line) - 1))]
    audit = given_result(subject.chain(joined(written) + torn))
    assert (audit["torn"], audit["breaks"], len(audit["damaged"])) == (True, [], 1)
    after = sealed_line(ruling_entry(1, CLAIM, "evidence", []), [*written, torn], CLOCK)
    audit = given_result(subject.chain(joined([*written, torn, after])))
    assert (audit["torn"], audit["breaks"], len(audit["damaged"])) == (False, [], 1)


@given(st.binary(max_size=300))
@example(b"")
@example(b"\n")
@example(b"\xef\xbb\xbf\n\xef\xbb\xbf")
def test_no_bytes_make_reading_or_auditing_crash(subject: Subject, raw: bytes) -> None:
    """PG-READ-2, PG-READ-3: every line is counted, and none is an entry."""
    count = raw.count(b"\n") + (not raw.endswith(b"\n") and raw != b"")
    audit = given_result(subject.chain(raw))
    assert (audit["lines"], audit["entries"], len(audit["damaged"])) == (count, 0, count)
    assert audit["torn"] is (raw != b"" and not raw.endswith(b"\n"))
    assert given_result(subject.fold(raw)) == slow([])


@pytest.mark.parametrize(("more", "entries"), [(0, 1), (1, 0)])
def test_a_line_of_more_than_a_mebibyte_is_no_entry(
    subject: Subject, more: int, entries: int
) -> None:
    """PG-ENTRY-4: though its form and its hash hold; one of just a mebibyte is."""
    length = len(sealed_line(claim_entry("x", "src"), [], CLOCK)) - 1
    line = sealed_line(claim_entry("x" * (2**20 - length + more), "src"), [], CLOCK)
    audit = given_result(subject.chain(joined([line])))
    assert (audit["entries"], len(line)) == (entries, 2**20 + more)
    assert [one["why"] for one in audit["damaged"]] == ["oversize"] * more


@given(st.lists(damages(), max_size=5))
def test_every_damaged_line_is_located(subject: Subject, parts: list[bytes]) -> None:
    """PG-READ-3, PG-READ-4."""
    raw = joined(parts)
    found = given_result(subject.chain(raw))["damaged"]
    assert len(found) == len(parts)
    for number, (one, part) in enumerate(zip(found, parts, strict=True), 1):
        assert (one["line"], one["length"], one["ended"]) == (number, len(part), True)
        assert raw[one["offset"] : one["offset"] + one["length"]] == part
