"""The messages between the suite and an implementation: JSON, one a line, one reply a request.

In: what is asked; the line that came back. Out: the line to send; a Reply, or what is wrong with
it. Laws: a line stands alone, so any one of them can be sent by hand; a reply that is not exactly
one of the four kinds, for exactly this request, is no reply. (SPEC CF-PROTO)
"""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.conformance.subject import CAPABILITIES, Refused, Script
from verdict_core.errors import ROOT, BadValue, WrongType, child

VERSION = 1
MAX_REPLY = 16 * 1024 * 1024
"""The longest reply in bytes. (SPEC CF-PROTO-9)"""

# What would need an eye to be seen, or does not survive every JSON reader.
_HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
Slot = Callable[[Any, str], Any]


@frozen
class Reply:
    """One reply: exactly one of `result`, `refused`, `unsupported` (the capability) and `error` (in
    words) is not None; `asked` are the requests that a judge's service got."""

    result: Mapping[str, Any] | None = None
    refused: Refused | None = None
    unsupported: str | None = None
    error: str | None = None
    asked: tuple[Mapping[str, Any], ...] = ()


def request(number: int, op: str, members: Mapping[str, Any]) -> bytes:
    """The line of a request, without its LF. (SPEC CF-PROTO-1)"""
    return wire.compact({"id": number, "op": op, **members})


def document(data: bytes) -> Any:
    """A document as it travels: text where it is harmless, else base64. (SPEC CF-PROTO-5)"""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if _HOSTILE.search(text):
        return {"base64": base64.b64encode(data).decode()}
    return text


def undocument(value: Any, path: str = ROOT) -> bytes:
    """The bytes of a document. Raises WrongType, BadValue. (SPEC CF-PROTO-5)"""
    if isinstance(value, str):
        return value.encode()
    coded = wire.closed(value, path, {"base64": _string})["base64"]
    try:
        return base64.b64decode(coded, validate=True)
    except ValueError:
        raise BadValue("not base64", path=child(path, "base64")) from None


def number(value: Any) -> str:
    """A threshold as it travels: its JSON text, so that 3.0 is not 3. (SPEC CF-PROTO-6)"""
    return json.dumps(value)


def service(scripts: Sequence[Script] | None) -> list[Mapping[str, Any]] | None:
    """A scripted service as it travels. (SPEC CF-PROTO-7)"""
    if scripts is None:
        return None
    return [
        {"detail": one.detail} if one.answer is None else {"answer": document(one.answer)}
        for one in scripts
    ]


def read_reply(line: bytes, number: int, op: str) -> Reply:
    """The reply to the request of that number. Raises a VerdictCoreError that says what is wrong
    with it. (SPEC CF-PROTO-2, CF-PROTO-3, CF-PROTO-8)"""
    value = wire.parse(line)
    if not isinstance(value, Mapping):
        raise WrongType(f"expected an object, got {wire.kind(value)}")
    if type(value.get("id")) is not int or value["id"] != number:
        raise BadValue(f"the reply to another request than {number}", path="$.id", code="other_id")
    kinds = {"result": SHAPES[op], **_KINDS}
    given = [kind for kind in kinds if kind in value]
    if len(given) != 1:
        raise BadValue(f"exactly one of {', '.join(kinds)} makes a reply")
    kind = given[0]
    slots: dict[str, Slot] = {"id": wire.integer, kind: kinds[kind]}
    asks = op == "judge" and kind in ("result", "refused")
    if asks:
        slots["asked"] = _list(_REQUEST)
    members = wire.closed(value, ROOT, slots)
    if kind == "refused":
        members[kind] = Refused(**members[kind])
    if kind == "unsupported":
        members[kind] = members[kind]["capability"]
    asked = value["asked"] if asks else ()
    # As it came and not as it was read: what was read has its lists made tuples.
    found = value[kind] if kind == "result" else members[kind]
    return Reply(**{kind: found}, asked=tuple(asked))


def refusal(value: Any, path: str = ROOT) -> Refused:
    """A refusal that is expected: its path may be left out."""
    given = {"path": "", **value} if isinstance(value, Mapping) else value
    return Refused(**wire.closed(given, path, {"code": wire.text, "path": _string}))


def _string(value: Any, path: str) -> str:
    return wire.text(value, path) if value != "" else ""


def _boolean(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise WrongType(f"expected a boolean, got {wire.kind(value)}", path=path)
    return value


def _score(value: Any, path: str) -> float:
    if type(value) not in (int, float):
        raise WrongType(f"expected a number, got {wire.kind(value)}", path=path)
    return float(value)


def _object(slots: Mapping[str, Slot]) -> Slot:
    return lambda value, path: wire.closed(value, path, slots)


def _or_null(slot: Slot) -> Slot:
    return lambda value, path: None if value is None else slot(value, path)


def _list(slot: Slot) -> Slot:
    def read(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise WrongType(f"expected a list, got {wire.kind(value)}", path=path)
        return [slot(item, child(path, index)) for index, item in enumerate(value)]

    return read


def _capabilities(value: Any, path: str) -> tuple[str, ...]:
    names = wire.texts(value, path)
    for index, name in enumerate(names):
        if name not in CAPABILITIES or name in names[:index]:
            raise BadValue("no capability, or one that stands twice", path=child(path, index))
    return names


def _answer(value: Any, path: str) -> Any:
    used = {"choice": wire.text, "score": _score}
    unused = {"detail": wire.text}
    is_unused = isinstance(value, Mapping) and "detail" in value
    return wire.closed(value, path, unused if is_unused else used)


_KINDS: Mapping[str, Slot] = {
    "refused": _object({"code": wire.text, "path": wire.text}),
    "unsupported": _object({"capability": wire.text}),
    "error": _string,
}
_SCALE = _object({"min": wire.integer, "max": wire.integer})
_REQUEST = _object(
    {"question": wire.text, "options": wire.texts, "scale": _SCALE, "state": wire.text}
)
_RATE = _object({"count": wire.integer, "of": wire.integer, "rate": _or_null(_score)})
_CONTROLS: Mapping[str, Slot] = dict.fromkeys(("status", "integrity", "contract"), wire.text)
_ASKED_FOR: Mapping[str, Slot] = {"claim": wire.text, "scope": wire.text}
_STANDING: Mapping[str, Slot] = {
    **_ASKED_FOR,
    "round": wire.integer,
    "number": wire.integer,
    "claim_digest": wire.text,
    "fingerprinted": wire.text,
    "ignored": wire.texts,
    "outcome": wire.text,
    "reasons": wire.texts,
    "missing": wire.texts,
    "digest": _or_null(wire.text),
}
_DAMAGE: Mapping[str, Slot] = {
    **dict.fromkeys(("line", "offset", "length"), wire.integer),
    "why": wire.text,
    "ended": _boolean,
}

SHAPES: Mapping[str, Slot] = {
    "hello": _object(
        {
            "protocol": wire.integer,
            "spec": wire.text,
            "name": wire.text,
            "version": wire.text,
            "capabilities": _capabilities,
        }
    ),
    "build": _object(
        {
            "text": wire.text,
            "digest": wire.text,
            "count": wire.integer,
            "unknown": wire.texts,
            "risk_hints": wire.text,
        }
    ),
    "judge": _object(
        {
            "verdict": wire.text,
            "reasons": wire.texts,
            "detail": _or_null(wire.text),
            "count": wire.integer,
            "unknown": wire.texts,
            "score": _or_null(_score),
            "digest": wire.text,
        }
    ),
    "request": _REQUEST,
    "answer": _answer,
    "forbidden": _object({}),
    "verify": _object(
        {
            **dict.fromkeys(("cases", "asked", "skipped", "unusable", "exit"), wire.integer),
            "all_skipped": _boolean,
            "lost_let_through": _RATE,
            "keep_refused": _RATE,
        }
    ),
    "read_report": _object(
        {
            **_CONTROLS,
            **dict.fromkeys(("reasons", "missing", "evidence"), wire.texts),
            "claim": _or_null(wire.text),
        }
    ),
    "admit": _object({**_CONTROLS, "outcome": wire.text, "reasons": wire.texts}),
    "scope": _object({"root": wire.text}),
    "fold": _object(
        {
            "number": wire.integer,
            "hash": wire.text,
            "pending": _list(_object({**_ASKED_FOR, "round": wire.integer, "time": wire.text})),
            "verified_rounds": _list(wire.integer),
            "rejected_rounds": _list(wire.integer),
            "standing": _list(_object(_STANDING)),
            "open_items": _list(_object({"round": wire.integer, "item": wire.text})),
        }
    ),
    "chain": _object(
        {
            "lines": wire.integer,
            "entries": wire.integer,
            "damaged": _list(_object(_DAMAGE)),
            "torn": _boolean,
            "breaks": _list(_object({"line": wire.integer, "flaw": wire.text})),
        }
    ),
}
"""What a result is, by operation. (SPEC CF-PROTO-8)"""


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1. (SPEC CF-RUN-5)"""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
