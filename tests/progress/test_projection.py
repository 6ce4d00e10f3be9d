"""What the entries of a run add up to, and which of it is stale."""

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from progress.strictfs import TREE, StrictDisk, claim_body, ruling_body

from verdict_core.progress.ledger import Ledger
from verdict_core.progress.projection import (
    EMPTY,
    Claim,
    OpenItem,
    Standing,
    State,
    project,
    rendered,
    restored,
    stale,
)
from verdict_core.progress.runs import ZEROS, drafted, sealed
from verdict_core.wire import canonical, digest

RUN = Path("/state/verified-progress/runs/s-a")
TIME = "2026-01-01T00:00:00Z"


F1, F2 = digest(b"1"), digest(b"2")


def lines(*bodies: dict[str, Any], times: Iterable[str] = ()) -> list[bytes]:
    given = dict(enumerate(times))
    return [
        canonical(
            sealed(
                drafted(body),
                number=index + 1,
                time=given.get(index, TIME),
                run="s-a",
                prev=ZEROS,
            )
        )
        for index, body in enumerate(bodies)
    ]


def sealed_without(body: dict[str, Any], *names: str, number: int = 1) -> bytes:
    """A line with a right hash that is no entry, as another program could write it."""
    draft = {key: value for key, value in drafted(body).items() if key not in names}
    return canonical(sealed(draft, number=number, time=TIME, run="s-a", prev=ZEROS))


def test_no_lines_are_the_empty_state() -> None:
    assert project([]) == EMPTY == State()
    assert (EMPTY.number, EMPTY.hash, EMPTY.open_items) == (0, "0" * 64, ())


def test_hook_09_a_claim_without_a_ruling_is_pending_and_survives_a_restart() -> None:
    disk = StrictDisk()
    Ledger(RUN, disk).append(claim_body("c1"))
    for image in (disk.strict_image(), {p: now for p, (_, now) in disk.moments[-1].now.items()}):
        state = Ledger(RUN, StrictDisk(image)).state()
        assert [(one.round, one.claim, one.scope) for one in state.pending] == [(1, "c1", "src/**")]
        assert state.verified_rounds == ()
        assert state.rejected_rounds == ()


def test_a_round_is_named_by_its_claim_and_ends_with_its_ruling() -> None:
    state = project(
        lines(
            claim_body("a"),
            claim_body("b"),
            ruling_body(2, "b"),
            ruling_body(1, "a", outcome="evidence", reasons=["not_aligned"], missing=["a test"]),
            claim_body("c"),
        )
    )
    assert state.verified_rounds == (2,)
    assert state.rejected_rounds == (1,)
    assert state.pending == (Claim(5, TIME, "c", "src/**"),)
    assert state.number == 5
    assert state.standing == (
        Standing(
            round=2,
            number=3,
            claim="b",
            claim_digest=digest(b"b"),
            scope="src/**",
            fingerprinted="src",
            ignored=(),
            outcome="progress",
            reasons=(),
            missing=(),
            digest=str(TREE["digest"]),
        ),
        Standing(
            round=1,
            number=4,
            claim="a",
            claim_digest=digest(b"a"),
            scope="src/**",
            fingerprinted="src",
            ignored=(),
            outcome="evidence",
            reasons=("not_aligned",),
            missing=("a test",),
            digest=str(TREE["digest"]),
        ),
    )
    assert state.open_items == (OpenItem(1, "a test"),)


def test_two_claims_with_the_same_text_are_told_apart_by_number() -> None:
    state = project(lines(claim_body("a"), claim_body("a"), ruling_body(2, "a")))
    assert [one.round for one in state.pending] == [1]
    assert state.verified_rounds == (2,)


def test_the_last_in_the_file_wins_and_not_the_latest_time() -> None:
    times = [f"2026-01-0{day}T00:00:00Z" for day in (5, 9, 2, 1)]
    bodies = (
        claim_body("a"),
        ruling_body(1, "a"),
        ruling_body(1, "a", outcome="evidence", missing=["x"]),
    )
    state = project(lines(*bodies, times=times))
    assert (state.verified_rounds, state.rejected_rounds) == ((), (1,))
    assert state.open_items == (OpenItem(1, "x"),)
    state = project(lines(*bodies, ruling_body(1, "a"), times=times))
    assert (state.verified_rounds, state.rejected_rounds) == ((1,), ())
    assert state.open_items == ()


def test_what_was_missing_is_open_until_the_same_claim_for_the_same_scope_is_verified() -> None:
    rejected = ruling_body(1, "a", outcome="evidence", missing=["x", "y"])
    elsewhere = [claim_body("a", scope="lib"), ruling_body(3, "a", scope="lib")]
    again = [claim_body("a"), ruling_body(5, "a")]
    state = project(lines(claim_body("a"), rejected, *elsewhere))
    assert state.open_items == (OpenItem(1, "x"), OpenItem(1, "y"))
    state = project(lines(claim_body("a"), rejected, *elsewhere, *again))
    assert state.open_items == ()
    assert state.rejected_rounds == (1,)
    assert state.verified_rounds == (3, 5)


def test_a_ruling_stands_where_the_line_of_its_claim_is_damaged() -> None:
    claim, ruling = lines(claim_body("a"), ruling_body(1, "a"))
    state = project([claim.replace(b'"a"', b'"b"'), ruling])
    assert state.verified_rounds == (1,)
    assert state.standing[0].claim == "a"


def test_a_claim_line_behind_its_ruling_is_not_pending() -> None:
    """PG-STATE-2."""
    claim, ruling = lines(claim_body("a"), ruling_body(1, "a"))
    rejected = lines(claim_body("a"), ruling_body(1, "a", outcome="evidence"))[1]
    assert project([ruling, claim]).pending == ()
    assert project([rejected, claim]).pending == ()


def test_what_is_no_entry_as_it_was_written_adds_nothing() -> None:
    good = lines(claim_body("a"), ruling_body(1, "a"), claim_body("b"))
    state = project(good)
    others = [
        b"",
        b"\0" * 10,
        b'{"after":',
        good[1].replace(b'"progress"', b'"evidence"'),
        good[1].replace(b'"claim_number":1,', b'"claim_number":3,'),
        good[2].replace(b'"b"', b'"c"'),
        good[2].replace(b'"number":3,', b'"number":7,'),
        good[2].replace(b'"number":3,', b'"number":x,'),
    ]
    for other in others:
        assert project([*good, other]) == state
        assert project([good[0], other, *good[1:]]) == state
        assert project([other], state) == state


def test_an_altered_claim_takes_the_place_of_no_other() -> None:
    one, two = lines(claim_body("a"), claim_body("b"))
    altered = two.replace(b'"number":2,', b'"number":1,')
    assert project([one, altered]) == project([one])
    assert project([altered, one]) == project([one])
    assert project([altered], project([one])) == project([one])


@pytest.mark.parametrize(
    "line",
    [
        sealed_without(claim_body("x"), "scope", number=9),
        sealed_without(ruling_body(9, "x"), "missing", number=10),
        sealed_without({**ruling_body(9, "x"), "reasons": []}, "after", "before", number=10),
    ],
)
def test_a_right_hash_on_what_is_no_entry_breaks_nothing(line: bytes) -> None:
    good = lines(claim_body("a"), ruling_body(1, "a"), claim_body("b"))
    state = project([*good, line])
    assert state.pending == project(good).pending
    assert state.standing == project(good).standing
    assert project([line], project(good)) == state


# --- stale ---


def test_prog_15_a_verified_round_whose_content_differs_is_stale_and_stays_verified() -> None:
    """PG-STATE-6."""
    disk = StrictDisk()
    ledger = Ledger(RUN, disk)
    scope, claim = "src/parser", "parser handles CRLF"
    after = {"count": 1, "digest": F1}
    ledger.append(claim_body(claim, scope=scope))
    ledger.append(ruling_body(1, claim, scope=scope, after=after))
    before = disk.strict_image()[RUN / "ledger.jsonl"]
    state = ledger.state()
    assert state.verified_rounds == (1,)
    assert stale(state, lambda one: {"src/parser": F2}[one.scope]) == (1,)
    assert stale(state, lambda one: {"src/parser": F1}[one.scope]) == ()
    assert ledger.state() == state
    assert disk.strict_image()[RUN / "ledger.jsonl"] == before


def test_a_scope_that_has_no_digest_now_is_stale() -> None:
    """PG-STATE-6."""
    state = project(lines(claim_body(), ruling_body(1)))
    assert stale(state, lambda one: None) == (1,)
    never = project(lines(claim_body(), ruling_body(1, after=None)))
    assert stale(never, lambda one: None) == (1,)


def test_only_the_last_ruling_of_a_claim_and_only_progress_can_be_stale() -> None:
    bodies = [
        claim_body("a"),
        ruling_body(1, "a", after={"count": 1, "digest": F1}),
        claim_body("a"),
        ruling_body(3, "a", after={"count": 1, "digest": F2}),
        claim_body("b"),
        ruling_body(5, "b", outcome="evidence", after={"count": 1, "digest": F1}),
    ]
    asked: list[Standing] = []

    def now(one: Standing) -> str:
        asked.append(one)
        return F2

    assert stale(project(lines(*bodies)), now) == ()
    assert [(one.round, one.ignored) for one in asked] == [(3, ())]


# --- state.json ---


def test_a_rendered_state_is_restored_and_is_canonical() -> None:
    state = project(
        lines(
            claim_body("a", ignored=["node_modules/"]),
            ruling_body(1, "a", outcome="evidence", ignored=["x/"], missing=["t"], reasons=["r"]),
            claim_body("b"),
        )
    )
    data = rendered(state)
    value = json.loads(data)
    assert canonical(value) == data
    said = value.pop("digest")
    assert said == digest(canonical(value))
    assert value["format"] == "verdict-core/progress-state/1"
    assert restored(data) == state


def forged(change: Callable[[dict[str, Any]], object]) -> bytes:
    value = json.loads(rendered(project(lines(claim_body(), ruling_body(1)))))
    del value["digest"]
    change(value)
    rest = canonical(value)
    return b'{"digest":"%b",%b' % (digest(rest).encode(), rest[1:])


def test_a_ruling_of_no_round_rules_none() -> None:
    good = lines(claim_body("a"), claim_body("b"))
    (other,) = lines(ruling_body(1, "a"))
    bare = canonical({**json.loads(other), "claim_number": "x", "hash": ""})
    right = digest(bare.replace(b',"hash":""', b"")).removeprefix("sha256:")
    line = bare.replace(b'"hash":""', b'"hash":"%b"' % right.encode())
    assert project([*good, line]).pending == project(good).pending


def test_of_two_claims_of_one_number_the_last_in_the_file_is_pending() -> None:
    (one,), (other,) = lines(claim_body("a")), lines(claim_body("b"))
    assert [claim.claim for claim in project([one, other]).pending] == ["b"]


def test_every_bit_of_a_ruling_is_covered() -> None:
    """PG-READ-2."""
    claim, ruling = lines(claim_body("a"), ruling_body(1, "a"))
    assert project([claim, ruling]).verified_rounds == (1,)
    for at, bit in itertools.product(range(len(ruling)), range(8)):
        changed = ruling[:at] + bytes([ruling[at] ^ 1 << bit]) + ruling[at + 1 :]
        assert project([claim, changed]) == project([claim]), (at, bit)


def test_a_state_of_another_form_is_none_though_its_digest_is_right() -> None:
    assert restored(forged(lambda value: None)) is not None
    assert restored(forged(lambda value: value.pop("standing"))) is None
    assert restored(forged(lambda value: value["standing"][0].pop("missing"))) is None
    assert restored(forged(lambda value: value["standing"][0].update(more=1))) is None
    assert restored(forged(lambda value: value.update(pending=1))) is None
    assert restored(forged(lambda value: value.update(format="2"))) is None


def test_every_flipped_bit_of_a_state_json_makes_it_none() -> None:
    """PG-STATE-3."""
    data = rendered(project(lines(claim_body(), ruling_body(1))))
    for place in range(len(data)):
        for bit in range(8):
            other = bytearray(data)
            other[place] ^= 1 << bit
            assert restored(bytes(other)) is None
    for cut in range(len(data)):
        assert restored(data[:cut]) is None
        assert restored(data[:cut] + bytes(len(data) - cut)) is None
