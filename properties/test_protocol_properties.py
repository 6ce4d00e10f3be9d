"""The promises of the door itself: one reply a request, each request for itself. (SPEC CF-PROTO)"""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict_core.conformance.examples import EXAMPLES
from verdict_core.conformance.protocol import MAX_REPLY, VERSION
from verdict_core.conformance.remote import Remote


def said(door: Remote, number: Any, op: str, members: Mapping[str, Any]) -> Any:
    """The reply to a request that is written by hand."""
    line = json.dumps({"id": number, "op": op, **members}, ensure_ascii=False)
    return json.loads(door.send(line.encode()))


def examples(door: Remote) -> list[tuple[str, Mapping[str, Any]]]:
    """One request for each operation that is claimed, and hello."""
    claimed = [(op, members) for op, members in EXAMPLES.items() if op in door.capabilities]
    return [("hello", {"protocol": VERSION}), *claimed]


def test_hello_says_who_is_there(door: Remote) -> None:
    """CF-PROTO-4."""
    hello = said(door, 1, "hello", {"protocol": VERSION})["result"]
    assert hello.keys() == {"protocol", "spec", "name", "version", "capabilities"}
    assert hello["protocol"] == VERSION
    assert sorted(hello["capabilities"]) == sorted(door.capabilities)


@given(st.integers(0, 2**53 - 1))
def test_a_reply_has_the_id_of_its_request(door: Remote, number: int) -> None:
    """CF-PROTO-2: whatever numbers came before, and the same one twice."""
    for op, members in examples(door):
        reply = said(door, number, op, members)
        assert reply["id"] == number
        assert not isinstance(reply["id"], bool)


def test_a_reply_is_exactly_one_of_four(door: Remote) -> None:
    """CF-PROTO-3."""
    for op, members in examples(door):
        reply = said(door, 7, op, members)
        assert len({"result", "refused", "unsupported", "error"} & reply.keys()) == 1
        assert reply.keys() - {"result", "refused", "unsupported", "error"} == (
            {"id", "asked"} if op == "judge" else {"id"}
        )


def test_each_request_stands_alone(door: Remote) -> None:
    """CF-PROTO-11: a line has the same reply whatever was asked before it."""
    lines = examples(door)
    first = [said(door, 1, op, members) for op, members in lines]
    again = [said(door, 1, op, members) for op, members in reversed(lines)]
    assert list(reversed(again)) == first


def test_text_and_base64_are_the_same_document(door: Remote) -> None:
    """CF-PROTO-5."""
    for op, members in examples(door):
        if "document" in members:
            coded = base64.b64encode(members["document"].encode()).decode()
            hidden = {**members, "document": {"base64": coded}}
            assert said(door, 1, op, hidden) == said(door, 1, op, members)


@pytest.mark.parametrize("op", ["nothing", "Build", "hello2", "build "])
def test_what_is_not_there_is_unsupported(door: Remote, op: str) -> None:
    """CF-PROTO-12: and no error, so that a later protocol can ask for more."""
    reply = said(door, 3, op, {"document": ""})
    assert reply == {"id": 3, "unsupported": {"capability": op}}


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b"\xff", b'{"op": "hello"}'])
def test_a_line_that_is_no_request_is_an_error(door: Remote, line: bytes) -> None:
    """CF-PROTO-12: with the id null, and the next request has its reply."""
    reply = json.loads(door.send(line))
    assert reply.keys() == {"id", "error"}
    assert reply["id"] is None
    assert said(door, 5, "hello", {"protocol": VERSION})["id"] == 5


def test_a_long_request_has_its_reply(door: Remote) -> None:
    """CF-PROTO-9: longer than any pipe is."""
    op = "x" * 300_000
    reply = door.send(json.dumps({"id": 1, "op": op}).encode())
    assert len(reply) < MAX_REPLY
    assert json.loads(reply)["unsupported"] == {"capability": op}


def test_the_end_of_input_is_the_end(door: Remote) -> None:
    """CF-PROTO-10."""
    assert door.door.stops()
    assert said(door, 1, "hello", {"protocol": VERSION})["id"] == 1
