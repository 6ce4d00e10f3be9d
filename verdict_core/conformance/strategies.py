"""Hypothesis strategies for the documents of this field, for our suite and for yours.

In: nothing. Out: strategies of plain JSON values, so that any implementation can be given them;
`valid_summaries()` and `st.from_type(Summary)` give Summary values. Needs the extra `conformance`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from verdict_core.context import FIELDS, Summary
from verdict_core.forbidden import FORBIDDEN_KEYS

# Lines and words that a careless renderer takes for its own.
_HOSTILE = (
    "- a", "todos: 1", "risk_hints: count=0 open=- unknown=-", 'session: "s"', "\n", "\r\n", "\\n",
    '"', "a\n- \"b\"", "\u2028", "\ufeff", "unknown", "verdict-core state 1", "\x00", "\x7f", "#",
)  # fmt: skip
_REPORT_LINES = (
    "Status: complete", "Integrity: clean", "Contract audit: aligned", "Status: blocked",
    "**Status:** incomplete", "- Integrity: suspect", "Contract audit: invalid",
    "> Status: complete", "```", "    Status: blocked", "Missing:", "- a test", "Missing: none",
    "Evidence:", "- ran it", "Claim: sha256:" + "a" * 64, "", "# Notes",
)  # fmt: skip
_MARKS = ("> ", "    ", "- ", "**")
_JUNK = "_-. \u200b\u2060\u00ad/*"


def texts(max_size: int = 20) -> st.SearchStrategy[str]:
    """Non-empty strings of scalar values, hostile ones among them."""
    free = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=max_size)
    return (
        free | st.sampled_from(_HOSTILE) | st.tuples(free, st.sampled_from(_HOSTILE)).map("".join)
    )


def items(max_size: int = 4) -> st.SearchStrategy[list[str]]:
    """What one field holds."""
    return st.lists(texts(), max_size=max_size)


def unknowns() -> st.SearchStrategy[list[str]]:
    """Names of unknown fields, in their order."""
    return st.sets(st.sampled_from(FIELDS)).map(lambda names: [n for n in FIELDS if n in names])


def summaries(max_items: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    """Valid summaries as JSON objects, keys in any order."""
    members: dict[str, st.SearchStrategy[Any]] = {"session": texts()}
    members |= {name: items(max_items) for name in FIELDS}
    members["unknown"] = unknowns()
    return st.fixed_dictionaries(members).flatmap(
        lambda summary: st.permutations(list(summary)).map(
            lambda order: {key: summary[key] for key in order}
        )
    )


def valid_summaries(max_items: int = 4) -> st.SearchStrategy[Summary]:
    """Summaries as values of this library; what `st.from_type(Summary)` gives."""
    return summaries(max_items).map(lambda members: Summary(**members))


def values() -> st.SearchStrategy[Any]:
    """Any JSON value without a forbidden name, a few levels deep."""
    leaf = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts(8)
    keys = st.sampled_from(["id", "text", "a", "b c", "é", "per", "blockade", "keeper", "0", ""])
    return st.recursive(
        leaf, lambda below: st.lists(below, max_size=4) | st.dictionaries(keys, below, max_size=4)
    )


def spellings(name: str) -> st.SearchStrategy[str]:
    """Other spellings of a name that fold to it: case, marks between letters, full width."""

    def spell(ways: tuple[tuple[int, str], ...]) -> str:
        out = ""
        for letter, (how, junk) in zip(name, ways, strict=True):
            out += (letter.lower(), letter.upper(), chr(ord(letter) + 0xFEE0))[how] + junk
        return out

    way = st.tuples(st.integers(0, 2), st.sampled_from(["", "", *_JUNK]))
    return st.tuples(*[way] * len(name)).map(spell)


def forbidden_names() -> st.SearchStrategy[str]:
    """Spellings of the 35 names."""
    return st.sampled_from(FORBIDDEN_KEYS).flatmap(spellings)


def dump(value: Any) -> bytes:
    """A value as JSON text, the way somebody else's program would write it."""
    return json.dumps(value, ensure_ascii=False).encode()


# --- reports


def report_bytes() -> st.SearchStrategy[bytes]:
    """Reports of a verifier, and what only looks like one."""
    plain = st.sampled_from(_REPORT_LINES)
    line = plain | st.builds(str.__add__, st.sampled_from(_MARKS), plain) | texts(12)
    whole = st.lists(line, max_size=8).map("\n".join).map(str.encode)
    return whole | st.binary(max_size=40)


# --- ledgers, made without the library: what it writes is not taken for what is right

_TREE = {"count": 2, "digest": "sha256:" + "b" * 64}
_CONTROLS = {"status": "complete", "integrity": "clean", "contract": "aligned"}
_LISTS = ("changed", "evidence", "evidence_gaps", "missing")
# Claims and scopes that hold what a careless reader searches for.
_CLAIMS = ("a", "b", '","outcome":"progress","', '"number":1,\u2028\n')
_SCOPES = ("src", "lib/**", ',"time":')


def claim_entry(claim: str, scope: str) -> dict[str, Any]:
    """A claim, without what its place in the ledger adds."""
    return {
        "kind": "claim",
        "claim": claim,
        "claim_digest": _digest(claim.encode()),
        "scope": scope,
        "fingerprinted": "src",
        "ignored": [],
        "verifier": ["make", "check"],
        "before": _TREE,
    }


def ruling_entry(
    number: int, claim: Mapping[str, Any], outcome: str, missing: list[str], after: Any = _TREE
) -> dict[str, Any]:
    """The ruling on a claim whose entry has that number."""
    lists: dict[str, Any] = {**dict.fromkeys(_LISTS, ()), "missing": missing}
    report = b"Status: complete"
    return {
        **claim,
        "kind": "ruling",
        "claim_number": number,
        "after": after,
        "declared": _CONTROLS,
        "final": _CONTROLS,
        "outcome": outcome,
        "reasons": [] if outcome == "progress" else ["status_incomplete"],
        **lists,
        "counts": {name: len(lists[name]) for name in _LISTS},
        "report": {"text": report.decode(), "length": len(report), "digest": _digest(report)},
    }


def sealed_line(entry: Mapping[str, Any], before: Sequence[bytes], time: str) -> bytes:
    """An entry in its place, as the canonical line that a ledger holds, without its LF."""
    whole = {
        **entry,
        "format": "verdict-core/ledger/1",
        "number": len(before) + 1,
        "time": time,
        "run": "s-a",
        "prev": hashlib.sha256(before[-1]).hexdigest() if before else "0" * 64,
    }
    return _canonical({**whole, "hash": hashlib.sha256(_canonical(whole)).hexdigest()})


@st.composite
def histories(draw: st.DrawFn, max_size: int = 8) -> list[dict[str, Any]]:
    """Entries in an order that episodes can leave, some ruled twice, some never."""
    found: list[dict[str, Any]] = []
    open_claims: list[int] = []
    for number in range(1, draw(st.integers(0, max_size)) + 1):
        if not open_claims or draw(st.booleans()):
            claim, scope = draw(st.sampled_from(_CLAIMS)), draw(st.sampled_from(_SCOPES))
            found.append(claim_entry(claim, scope))
            open_claims.append(number)
            continue
        asked = draw(st.sampled_from(open_claims))
        outcome = draw(st.sampled_from(["progress", "evidence"]))
        after = draw(st.sampled_from([None, _TREE]))
        missing = draw(st.lists(st.sampled_from(_HOSTILE), max_size=2))
        found.append(ruling_entry(asked, found[asked - 1], outcome, missing, after))
    return found


@st.composite
def ledgers(draw: st.DrawFn, max_size: int = 8) -> list[bytes]:
    """The lines of a history, with clocks that go back and forth."""
    written: list[bytes] = []
    for entry in draw(histories(max_size)):
        written.append(sealed_line(entry, written, draw(_clocks())))
    return written


def damages() -> st.SearchStrategy[bytes]:
    """Lines that are no entry: junk, zeros, half a line, a line that was altered."""
    line = ledgers(4).filter(bool)
    return (
        st.binary(max_size=40).map(lambda data: data.replace(b"\n", b""))
        | st.just(b"\0" * 50)
        | line.map(lambda written: written[0][: len(written[0]) // 2])
        | line.map(lambda written: written[-1].replace(b'"fingerprinted":"src"', b"", 1))
        | line.map(lambda written: written[-1].replace(b"make", b"true", 1))
    )


def _clocks() -> st.SearchStrategy[str]:
    """Of computers that disagree about the year."""
    return st.sampled_from(
        ["2026-01-02T03:04:05Z", "1999-12-31T23:59:60.5Z", "9999-01-01T00:00:00.000001Z"]
    )


def _canonical(value: Any) -> bytes:
    """RFC 8785, for ASCII keys and integers."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
