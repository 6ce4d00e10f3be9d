"""The reference behind the door: lines of requests in, lines of replies out, in lockstep.

Laws: one reply a request; a refusal is a reply and so is a crash; end of input means stop.
(SPEC CF-PROTO)
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import verdict_core
from verdict_core import wire
from verdict_core.conformance import parts, protocol
from verdict_core.conformance.reference import Reference
from verdict_core.conformance.subject import CAPABILITIES, Refused, Script, Subject
from verdict_core.errors import ROOT, WrongType

Members = Mapping[str, Any]
Operation = Callable[[Subject, Members], Members]


def serve(stdin: BinaryIO, stdout: BinaryIO, subject: Subject | None = None) -> None:
    """Reply to every line of `stdin` on `stdout`, until it ends. (SPEC CF-PROTO-10)"""
    subject = subject or Reference()
    for line in stdin:
        stdout.write(reply(line, subject) + b"\n")
        stdout.flush()


def reply(line: bytes, subject: Subject) -> bytes:
    """The reply to one line, without its LF. (SPEC CF-PROTO-2, CF-PROTO-12)"""
    number = None
    try:
        asked = wire.parse(line)
        number = wire.integer(asked["id"], "$.id")
        op = wire.text(asked["op"], "$.op")
        if op not in _OPERATIONS or op not in subject.capabilities | {"hello"}:
            said: Members = {"unsupported": {"capability": op}}
        else:
            members = {key: value for key, value in asked.items() if key not in ("id", "op")}
            said = _OPERATIONS[op](subject, members)
    except Exception as error:
        # Whatever it is, it is no result and no refusal; and the next request has its own.
        said = {"error": f"{type(error).__name__}: {error}"}
    return wire.compact({"id": number, **said})


def _hello(subject: Subject, members: Members) -> Members:
    wire.closed(members, ROOT, {"protocol": wire.integer})
    return {
        "result": {
            "protocol": protocol.VERSION,
            "spec": parts.spec_version(),
            "name": "verdict-core",
            "version": verdict_core.__version__,
            "capabilities": sorted(subject.capabilities),
        }
    }


def _build(subject: Subject, members: Members) -> Members:
    read = wire.closed(members, ROOT, {"document": protocol.undocument, "max_chars": _number})
    return _said(subject.build(read["document"], max_chars=read["max_chars"]))


def _judge(subject: Subject, members: Members) -> Members:
    slots = {
        "document": protocol.undocument,
        "wait_min": _number,
        "safe_max": _number_or_null,
        "service": _scripts,
    }
    read = wire.closed(members, ROOT, slots)
    script = read.pop("service")
    said, asked = subject.judge(read.pop("document"), script=script and script[0], **read)
    return {**_said(said), "asked": asked}


def _of_document(op: str) -> Operation:
    def run(subject: Subject, members: Members) -> Members:
        read = wire.closed(members, ROOT, {"document": protocol.undocument})
        return _said(getattr(subject, op)(read["document"]))

    return run


def _verify(subject: Subject, members: Members) -> Members:
    slots = {
        "document": protocol.undocument,
        "wait_min": _number,
        "max_chars": _number,
        "service": _scripts,
    }
    read = wire.closed(members, ROOT, slots)
    scripts = read.pop("service")
    return _said(subject.verify(read.pop("document"), scripts=scripts, **read))


def _read_report(subject: Subject, members: Members) -> Members:
    read = wire.closed(members, ROOT, {"document": protocol.undocument, "claim": _any})
    return _said(subject.read_report(read["document"], claim=read["claim"]))


def _admit(subject: Subject, members: Members) -> Members:
    names = ("status", "integrity", "contract")
    read = wire.closed(members, ROOT, {**dict.fromkeys(names, wire.text), "changed": _any})
    return _said(subject.admit(**read))


def _scope(subject: Subject, members: Members) -> Members:
    names = ("scope", "workspace", "ignores", "state_dir", "harness_home")
    read = wire.closed(members, ROOT, dict.fromkeys(names, _any))
    return _said(subject.scope(read.pop("scope"), read.pop("workspace"), **read))


def _chain(subject: Subject, members: Members) -> Members:
    read = wire.closed(members, ROOT, {"document": protocol.undocument, "state": _any})
    return _said(subject.chain(read["document"], state=read["state"]))


_OPERATIONS: Mapping[str, Operation] = {
    "hello": _hello,
    "build": _build,
    "judge": _judge,
    **{op: _of_document(op) for op in ("request", "answer", "forbidden", "fold")},
    "verify": _verify,
    "read_report": _read_report,
    "admit": _admit,
    "scope": _scope,
    "chain": _chain,
}
assert _OPERATIONS.keys() == CAPABILITIES | {"hello"}


def _said(found: Any) -> Members:
    if isinstance(found, Refused):
        return {"refused": {"code": found.code, "path": found.path}}
    return {"result": found}


def _any(value: Any, path: str) -> Any:
    return value


def _number(value: Any, path: str) -> Any:
    """A threshold out of its JSON text: whatever stands there, to be refused by who knows."""
    return json.loads(wire.text(value, path))


def _number_or_null(value: Any, path: str) -> Any:
    return None if value is None else _number(value, path)


def _scripts(value: Any, path: str) -> list[Script] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise WrongType("a service is null, or a list of what it does", path=path)
    return [_script(one, f"{path}[{index}]") for index, one in enumerate(value)]


def _script(value: Any, path: str) -> Script:
    if isinstance(value, Mapping) and "answer" in value:
        return Script(**wire.closed(value, path, {"answer": protocol.undocument}))
    return Script(**wire.closed(value, path, {"detail": wire.text}))
