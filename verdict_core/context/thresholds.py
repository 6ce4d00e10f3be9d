"""The settings that a judgement has: `wait_min` and the budget, and the one that it has not.

In: integers, or a configuration document. Out: integers within 2^53 - 1, or BadConfig.
(SPEC CV-RULE-5, CV-RULE-6)
"""

from collections.abc import Mapping
from typing import Any

from verdict_core import wire
from verdict_core.context.rules import DEFAULT_WAIT_MIN, SAFE_MAX
from verdict_core.errors import ROOT, BadConfig, VerdictCoreError, child


def threshold(value: Any, path: str) -> int:
    """An integer of 0 to 2^53 - 1; booleans, floats and NaN are none. Raises BadConfig."""
    try:
        return wire.integer(value, path)
    except VerdictCoreError as error:
        raise BadConfig(error.message, path=path) from None


def read_thresholds(config: Mapping[str, Any]) -> int:
    """The `wait_min` of a configuration, `{"wait_min"?, "safe_max"?}`. Raises BadConfig for any
    other key, and for a `safe_max` that is not the constant 0. (SPEC CV-RULE-5)"""
    for key, value in config.items():
        if key not in ("wait_min", "safe_max"):
            raise BadConfig("only wait_min and safe_max may stand here", path=child(ROOT, key))
        if threshold(value, child(ROOT, key)) != SAFE_MAX and key == "safe_max":
            raise BadConfig("the constant 0: no setting widens what is safe", path="$.safe_max")
    wait_min: int = config.get("wait_min", DEFAULT_WAIT_MIN)
    return wait_min
