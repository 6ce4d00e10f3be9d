"""What came of one vector or property, and how its failure is shown.

In: exchanges with a subject, what went wrong. Out: `Check`s. Law: only what ran to its end without
a failure has passed. (SPEC CF-RUN)
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import orjson
from attrs import frozen

from verdict_core.conformance.child import GaveUp, Misbehaved
from verdict_core.conformance.parts import CLAUSE_ID
from verdict_core.conformance.remote import Exchange
from verdict_core.conformance.subject import Refused

_CHARGED = re.compile(rf"\s*({CLAUSE_ID.pattern}(?:, {CLAUSE_ID.pattern})*)(?=$|\n|:)")
_LONGEST = 4_000


class Fate(StrEnum):
    """What became of a check, or of a clause. (SPEC CF-RUN-3)"""

    PASSED = "passed"
    FAILED = "failed"
    KNOWN = "known_failure"
    SKIPPED = "skipped"
    NOT_RUN = "not_run"
    NOT_CLAIMED = "not_claimed"


@frozen
class Failure:
    """One failure. `clauses` are those that it is a failure of; `send` the exact line, `came` the
    line that came back, `expected` and `because` what is wrong with it; `fault` what the child did
    instead of replying, or empty; `before` the exchanges before that one. (SPEC CF-RUN-4)"""

    clauses: tuple[str, ...]
    send: str
    came: str
    expected: str
    because: str
    fault: str = ""
    before: tuple[tuple[str, str], ...] = ()


@frozen(kw_only=True)
class Check:
    """One vector or property. `passed` is how many of its cases passed; `reason` says why a check
    was skipped or not run; `finds` what it is there to find."""

    id: str
    clauses: tuple[str, ...]
    fate: Fate
    finds: str = ""
    reason: str = ""
    passed: int = 0
    failures: tuple[Failure, ...] = ()


def failure_of(
    error: BaseException,
    clauses: Sequence[str],
    exchanges: Iterable[Exchange],
    *,
    expected: str = "",
    because: str = "",
) -> Failure:
    """The failure that an exception is, after these exchanges. What an assertion's message names
    first are the clauses that it is a failure of; else it is one of them all."""
    *before, last = (list(exchanges) or [Exchange(b"", b"")])[-4:]
    is_fault = isinstance(error, Misbehaved | GaveUp)
    said = str(error).strip()
    charged = None if is_fault else _CHARGED.match(said)
    if charged:
        said = said[charged.end() :].strip(":\n ")
    return Failure(
        clauses=tuple(CLAUSE_ID.findall(charged[1])) if charged else tuple(clauses),
        send=_text(last.send),
        came=_text(last.came),
        expected=expected or ("a reply" if is_fault else ""),
        because=because or said[:_LONGEST] or type(error).__name__,
        fault=str(error.fault) if isinstance(error, Misbehaved | GaveUp) else "",
        before=tuple((_text(one.send), _text(one.came)) for one in before),
    )


def shown(value: Any) -> str:
    """A value as it is shown: as JSON where it is any."""
    try:
        return orjson.dumps(value, default=_plain).decode()
    except TypeError:
        return repr(value)[:_LONGEST]


def _plain(value: Any) -> Any:
    if isinstance(value, Refused):
        return {"refused": {"code": value.code, "path": value.path}}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _text(line: bytes) -> str:
    return line.decode(errors="replace")
