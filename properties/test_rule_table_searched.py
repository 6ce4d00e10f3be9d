"""The rule table, searched for a counterexample: in the nightly profile by a solver that runs the
code on symbols, everywhere else at random.

It is a search and no proof; `proofs` has the proof. It runs the deciding function itself, so it
also finds what hides behind one number among all. (SPEC CV-RULE)
"""

import os
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from verdict_core.context.rules import Asking, Reason, Row, Verdict, row_of

NIGHTLY = os.environ.get("VERDICT_CORE_PROFILE") == "nightly"
searched = settings(backend="crosshair" if NIGHTLY else "hypothesis", deadline=None)
if NIGHTLY:
    # The solver follows each way through the code once; more rounds would go round in circles.
    searched = settings(searched, max_examples=200)

CAREFUL = {verdict: degree for degree, verdict in enumerate(Verdict)}
IN_BAND = [asking for asking in Asking if asking is not Asking.NOT_ASKED]
counts = st.integers(0, 2**53 - 1)


def degree(row: Row, asking: Asking) -> int:
    verdict, _ = row[Asking.NOT_ASKED] if Asking.NOT_ASKED in row else row[asking]
    return CAREFUL[verdict]


@searched
@given(counts, st.booleans(), counts)
def test_the_search_finds_no_safe_count_above_zero(
    count: int, unknown: bool, wait_min: int
) -> None:
    """CV-RULE-5, CV-RULE-7."""
    for verdict, reasons in row_of(count, unknown, wait_min).values():
        if count > 0 or unknown:
            assert verdict is not Verdict.SAFE_TO_COMPACT
        assert (reasons[-1] is Reason.FIELD_UNKNOWN) == unknown


@searched
@given(counts, counts, st.booleans(), st.booleans(), counts, st.sampled_from(IN_BAND))
def test_the_search_finds_no_addition_that_makes_it_less_careful(
    count: int, more: int, unknown: bool, later: bool, wait_min: int, asking: Asking
) -> None:
    """CV-RULE-8."""
    before = degree(row_of(count, unknown, wait_min), asking)
    assert degree(row_of(count + more, unknown or later, wait_min), asking) >= before


def planted(count: int, unknown: bool, wait_min: int) -> Row:
    """The table with one needle in it."""
    return row_of(0, False, 3) if count == 7919 else row_of(count, unknown, wait_min)


def never_safe(find_row: Callable[[int, bool, int], Row]) -> Callable[[], None]:
    @searched
    @given(counts, counts)
    def check(count: int, wait_min: int) -> None:
        assume(count > 0)
        for verdict, _ in find_row(count, False, wait_min).values():
            assert verdict is not Verdict.SAFE_TO_COMPACT

    return check


@pytest.mark.skipif(not NIGHTLY, reason="only the solver of the nightly profile finds a needle")
def test_the_search_finds_a_needle() -> None:
    never_safe(row_of)()
    with pytest.raises(AssertionError):
        never_safe(planted)()
