"""What the ledger of a run knows that the context half counts.

In: a run's ledger. Out: a `Reading` of `next_steps`. Law: a step that was claimed and not verified
is never taken for landed; a ledger whose chain is broken makes the field unknown. (SPEC RD-PG)
"""

from verdict_core.errors import LedgerFault
from verdict_core.progress.ledger import Ledger
from verdict_core.readers.reading import Note, Reading

READER = "progress"
FIELD = "next_steps"


def read(ledger: Ledger) -> Reading:
    """Claims that are pending, and claims whose last ruling is evidence, each as it was claimed.

    A run without a ledger, and one that cannot be believed, leave the field unknown.
    (SPEC RD-PG-1, RD-PG-2)
    """
    if not ledger.path.exists():
        return _unknown((), "no_ledger", f"there is no ledger at {ledger.path}")
    try:
        state, audit = ledger.state(), ledger.audit()
    except LedgerFault as error:
        return _unknown((), error.code, str(error))
    pending = {(one.claim, one.scope): "pending" for one in state.pending}
    rejected = {
        (one.claim, one.scope): "rejected" for one in state.standing if one.outcome == "evidence"
    }
    claims = rejected | pending
    items = tuple(claim for claim, _ in claims)
    if not audit.unbroken:
        first = audit.breaks[0]
        text = f"the chain breaks at line {first.line}: {first.flaw}"
        return _unknown(items, "broken_chain", text)
    counts = f"{len(pending)} claims pending, {len(rejected.keys() - pending)} rejected"
    return Reading(READER, {FIELD: items}, notes=(Note(READER, "claims", counts),))


def _unknown(items: tuple[str, ...], code: str, text: str) -> Reading:
    return Reading(READER, {FIELD: items}, frozenset({FIELD}), notes=(Note(READER, code, text),))
