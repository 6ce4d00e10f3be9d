"""Landing: unlanded work is written down, and judging again finds it landed.

In: a summary. Out: a ref of the repository and a handoff, and the summary without what they hold.
Laws: it changes no verdict, only what there is to judge; what it cannot land it names. (SPEC LD)
"""

from verdict_core.landing.landing import (
    Forgotten,
    Kept,
    Landed,
    Landing,
    Shown,
    Unlanded,
    runs,
)
from verdict_core.landing.restore import Restored

__all__ = ["Forgotten", "Kept", "Landed", "Landing", "Restored", "Shown", "Unlanded", "runs"]
