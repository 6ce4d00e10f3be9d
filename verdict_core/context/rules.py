"""The rule table. Everything that can change a verdict stands in this file.

Two laws:

1. A count above zero is never `safe_to_compact`, and neither is a summary with an unknown field.
2. The service is asked in the band only, once, and can only make a verdict more careful.

Theory of operation. A summary falls into one of three bands, by its count, by whether any field is
unknown, and by the one threshold `wait_min`:

    over    count > wait_min                            decided here: preserve_first
    clear   count = 0 and no field unknown              decided here: safe_to_compact
    band    everything else                             the service, if there is one, is asked

Outside the band nobody is asked. Inside it, asking ends in one of six ways, and none of them leads
to safe_to_compact: the table below has no such row. A pair of band and asking that the table lacks
cannot happen, and is an error where it does. `field_unknown` is not a rule of its own: it is the
last reason of every verdict on a summary with an unknown field.

In: a count, a flag, a threshold, how asking ended. Out: a verdict and its reasons. No clock, file,
environment or network; the score of an answer is not among the inputs. (SPEC CV-RULE)
"""

from collections.abc import Mapping
from enum import StrEnum

SAFE_MAX = 0
"""The largest count that can be safe. A constant: no setting widens it. (SPEC CV-RULE-5)"""

DEFAULT_WAIT_MIN = 3


class Verdict(StrEnum):
    """The three values, in the order of the question's options. (SPEC CV-RULE-1)"""

    SAFE_TO_COMPACT = "safe_to_compact"
    WAIT = "wait"
    PRESERVE_FIRST = "preserve_first"


class Band(StrEnum):
    """Where a summary falls. (SPEC CV-RULE-2)"""

    CLEAR = "clear"
    OVER = "over"
    BAND = "band"


class Asking(StrEnum):
    """How asking the service ended. (SPEC CV-RULE-3)"""

    NOT_ASKED = "not_asked"
    NOT_CONFIGURED = "not_configured"
    ABSENT = "absent"
    UNUSABLE = "unusable"
    SAID_WAIT = "said_wait"
    SAID_PRESERVE_FIRST = "said_preserve_first"
    SAID_SAFE_TO_COMPACT = "said_safe_to_compact"


class Reason(StrEnum):
    """Why. An append-only registry. (SPEC CV-REASON)"""

    NOTHING_UNLANDED = "nothing_unlanded"
    OVER_THRESHOLD = "over_threshold"
    IN_BAND = "in_band"
    SERVICE_NOT_CONFIGURED = "service_not_configured"
    SERVICE_ABSENT = "service_absent"
    SERVICE_UNUSABLE = "service_unusable"
    SERVICE_WAIT = "service_wait"
    SERVICE_PRESERVE = "service_preserve"
    SERVICE_SAFE_OVERRULED = "service_safe_overruled"
    FIELD_UNKNOWN = "field_unknown"


Ruled = tuple[Verdict, tuple[Reason, ...]]

RULES: Mapping[tuple[Band, Asking], Ruled] = {
    (Band.CLEAR, Asking.NOT_ASKED): (Verdict.SAFE_TO_COMPACT, (Reason.NOTHING_UNLANDED,)),
    (Band.OVER, Asking.NOT_ASKED): (Verdict.PRESERVE_FIRST, (Reason.OVER_THRESHOLD,)),
    (Band.BAND, Asking.NOT_CONFIGURED): (
        Verdict.WAIT,
        (Reason.IN_BAND, Reason.SERVICE_NOT_CONFIGURED),
    ),
    (Band.BAND, Asking.ABSENT): (Verdict.WAIT, (Reason.IN_BAND, Reason.SERVICE_ABSENT)),
    (Band.BAND, Asking.UNUSABLE): (Verdict.WAIT, (Reason.IN_BAND, Reason.SERVICE_UNUSABLE)),
    (Band.BAND, Asking.SAID_WAIT): (Verdict.WAIT, (Reason.IN_BAND, Reason.SERVICE_WAIT)),
    (Band.BAND, Asking.SAID_PRESERVE_FIRST): (
        Verdict.PRESERVE_FIRST,
        (Reason.IN_BAND, Reason.SERVICE_PRESERVE),
    ),
    (Band.BAND, Asking.SAID_SAFE_TO_COMPACT): (
        Verdict.WAIT,
        (Reason.IN_BAND, Reason.SERVICE_SAFE_OVERRULED),
    ),
}

# The same table, laid out for one decision: band and whether a field is unknown, then asking.
Row = Mapping[Asking, Ruled]
ROWS: Mapping[tuple[Band, bool], Row] = {
    (band, any_unknown): {
        asking: (verdict, (*reasons, Reason.FIELD_UNKNOWN) if any_unknown else reasons)
        for (row_band, asking), (verdict, reasons) in RULES.items()
        if row_band is band
    }
    for band in Band
    for any_unknown in (False, True)
}
_CLEAR, _BAND, _OVER = (ROWS[band, False] for band in (Band.CLEAR, Band.BAND, Band.OVER))
_BAND_UNKNOWN, _OVER_UNKNOWN = (ROWS[band, True] for band in (Band.BAND, Band.OVER))


def row_of(count: int, any_unknown: bool, wait_min: int) -> Row:
    """The row of the band that a summary falls into: how asking ended -> the verdict and reasons.

    Total over all integers. A row without `NOT_ASKED` is one where the service is asked; a pair
    that the table lacks is a KeyError. (SPEC CV-RULE-2, CV-RULE-3)
    """
    if count > wait_min:
        return _OVER_UNKNOWN if any_unknown else _OVER
    if any_unknown:
        return _BAND_UNKNOWN
    return _BAND if count > SAFE_MAX else _CLEAR
