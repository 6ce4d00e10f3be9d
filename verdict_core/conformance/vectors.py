"""The static vectors: data in, one check a vector out.

In: `vectors/*.jsonl`, a subject. Out: `Check`s. Laws: an id is permanent and stands once; what a
vector expects is data, and no code of this library decides it. (SPEC CF-VEC)
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.conformance import parts, protocol
from verdict_core.conformance.checks import Check, Failure, Fate, failure_of, shown
from verdict_core.conformance.child import GaveUp, Gone, Misbehaved
from verdict_core.conformance.protocol import Reply
from verdict_core.conformance.remote import NotClaimed, Remote, Unsupported
from verdict_core.conformance.subject import CAPABILITIES
from verdict_core.errors import ROOT, BadValue, VerdictCoreError, WrongType, child


@frozen
class Vector:
    """`send` is a request without its id, `expect` its reply without its id. What a result, a
    refusal, or a request that was asked does not name is free."""

    id: str
    clause: str
    finds: str
    send: Mapping[str, Any]
    expect: Mapping[str, Any]


def load(folder: Path | None = None) -> list[Vector]:
    """Every vector, in the order of the files. Raises what is wrong with one, with its place."""
    found: list[Vector] = []
    seen: set[str] = set()
    for file in sorted((folder or parts.part("vectors")).glob("*.jsonl")):
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            try:
                vector = Vector(**wire.closed(wire.parse(line), ROOT, _SLOTS))
                if vector.id in seen:
                    raise BadValue("an id stands once", path="$.id")
            except VerdictCoreError as error:
                error.path = f"{file.name}:{number}:{error.path}"
                raise
            seen.add(vector.id)
            found.append(vector)
    return found


def run(vectors: Iterable[Vector], subject: Remote) -> Iterator[Check]:
    """What came of each."""
    for vector in vectors:
        subject.begin()
        yield _run(vector, subject)


def _run(vector: Vector, subject: Remote) -> Check:
    fate, reason = Fate.PASSED, ""
    failures: tuple[Failure, ...] = ()
    try:
        reply = subject.ask(**vector.send)
        because = differs(reply, vector.expect)
        exchanges = list(subject.exchanges)
        subject.greet()
        if because:
            raise AssertionError
    except NotClaimed as error:
        fate, reason = Fate.NOT_CLAIMED, str(error)
    except Unsupported as error:
        fate, reason = Fate.SKIPPED, f"unsupported: {error}"
    except Gone as error:
        fate, reason = Fate.NOT_RUN, str(error)
    except (Misbehaved, GaveUp) as error:
        fate, failures = Fate.FAILED, (_failure(error, vector, subject.exchanges),)
    except AssertionError as error:
        fate, failures = Fate.FAILED, (_failure(error, vector, exchanges, because),)
    return Check(
        id=vector.id,
        clauses=(vector.clause,),
        fate=fate,
        finds=vector.finds,
        reason=reason,
        passed=int(fate is Fate.PASSED),
        failures=failures,
    )


def _failure(
    error: BaseException, vector: Vector, exchanges: Iterable[Any], because: str = ""
) -> Failure:
    # The hello behind it is no part of what is to be sent again.
    mine = [one for one in exchanges if b'"op":"hello"' not in one.send]
    expected = shown(vector.expect)
    return failure_of(error, (vector.clause,), mine, expected=expected, because=because)


def differs(reply: Reply, expect: Mapping[str, Any]) -> str:
    """In what a reply is not the expected one; empty where it is. (SPEC CF-VEC-3)"""
    if "refused" in expect:
        wanted, found = protocol.refusal(expect["refused"]), reply.refused
        if found is None or found.code != wanted.code:
            return f"it has to be refused with {wanted.code}"
        if wanted.path and found.path != wanted.path:
            return f"the path is {wanted.path}"
    elif reply.result is None:
        return "it has to give a result"
    else:
        for name in expect["result"]:
            if not _has(reply.result, expect["result"], name):
                return f"the result has another {name}"
    asked = expect.get("asked", reply.asked)
    if len(asked) != len(reply.asked):
        return f"the service gets {len(asked)} requests"
    for one, request in zip(asked, reply.asked, strict=True):
        if not all(_has(request, one, name) for name in one):
            return "the service gets another request"
    return ""


def _has(found: Mapping[str, Any], wanted: Mapping[str, Any], name: str) -> bool:
    return name in found and protocol.same(found[name], wanted[name])


def _clause(value: Any, path: str) -> str:
    if not parts.CLAUSE_ID.fullmatch(wire.text(value, path)):
        raise BadValue("the id of a clause", path=path)
    return str(value)


def _send(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or value.get("op") not in CAPABILITIES or "id" in value:
        raise BadValue("a request without its id", path=path)
    return value


def _expect(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise WrongType(f"expected an object, got {wire.kind(value)}", path=path)
    if ("result" in value) == ("refused" in value) or not value.keys() <= _EXPECTED:
        raise BadValue("a result or a refusal, and what was asked", path=path)
    if "refused" in value:
        protocol.refusal(value["refused"], child(path, "refused"))
    return value


_EXPECTED = {"result", "refused", "asked"}
_SLOTS = {
    "id": wire.text,
    "clause": _clause,
    "finds": wire.text,
    "send": _send,
    "expect": _expect,
}
