"""The messages of the conformance protocol, both ways. (SPEC CF-PROTO)"""

import base64
import io
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from verdict_core.conformance import protocol
from verdict_core.conformance.child import Fault, InProcess, Misbehaved
from verdict_core.conformance.examples import EXAMPLES
from verdict_core.conformance.plugin import behind
from verdict_core.conformance.protocol import SHAPES, Reply, read_reply, same
from verdict_core.conformance.reference import Reference
from verdict_core.conformance.remote import NotClaimed, Remote, Unsupported
from verdict_core.conformance.serve import reply, serve
from verdict_core.conformance.subject import CAPABILITIES, Refused, Script
from verdict_core.errors import VerdictCoreError


def served(**members: Any) -> Any:
    return json.loads(reply(json.dumps(members).encode(), Reference()))


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", "é\n\t😀 \u2028".encode(), b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf{}", b"\x7f",
     "\u0085".encode(), "\ufffe".encode()],
)  # fmt: skip
def test_a_document_comes_back_as_it_was(data: bytes) -> None:
    """CF-PROTO-5: as text where it is harmless, else as base64."""
    travels = json.loads(json.dumps(protocol.document(data)))
    assert protocol.undocument(travels) == data
    assert isinstance(travels, str) is (data in (b"", b"{}", "é\n\t😀 \u2028".encode()))


@pytest.mark.parametrize(
    ("value", "code"),
    [(None, "wrong_type"), (7, "wrong_type"), ({}, "missing_field"), ({"hex": ""}, "unknown_field"),
     ({"base64": "x"}, "bad_value"), ({"base64": "%%%%"}, "bad_value"),
     ({"base64": 1}, "wrong_type")],
)  # fmt: skip
def test_what_is_no_document_is_refused(value: Any, code: str) -> None:
    """CF-PROTO-5."""
    with pytest.raises(VerdictCoreError) as caught:
        protocol.undocument(value)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (3.0, "3.0"), (True, "true"), (float("nan"), "NaN"), ("3", '"3"'), (None, "null")],
)
def test_a_threshold_travels_as_its_json_text(value: Any, text: str) -> None:
    """CF-PROTO-6."""
    assert protocol.number(value) == text


def test_a_service_travels_as_a_list_of_what_it_does() -> None:
    """CF-PROTO-7."""
    scripts = [Script(answer=b"{}"), Script(answer=b"\xff"), Script(detail="timeout")]
    coded = base64.b64encode(b"\xff").decode()
    travels = [{"answer": "{}"}, {"answer": {"base64": coded}}, {"detail": "timeout"}]
    assert protocol.service(scripts) == travels
    assert protocol.service(None) is None


@pytest.mark.parametrize("op", ["hello", *EXAMPLES])
def test_the_result_of_each_operation_has_its_shape(op: str) -> None:
    """CF-PROTO-8: and loses it when a member goes, or one comes."""
    members = {"protocol": 1} if op == "hello" else EXAMPLES[op]
    said = served(id=1, op=op, **members)
    read_reply(json.dumps(said).encode(), 1, op)
    result = said.get("result") or _sample(op)
    SHAPES[op](result, "$")
    for spoiled in (*_without_each(result), {**result, "more": 1}):
        line = json.dumps({**_bare(said), "result": spoiled}).encode()
        with pytest.raises(VerdictCoreError, match=r"\$\.result"):
            read_reply(line, 1, op)


def _sample(op: str) -> dict[str, Any]:
    """A result where the example has none."""
    samples: dict[str, dict[str, Any]] = {
        "forbidden": {},
        "scope": {"root": "."},
        "request": {"question": "q", "options": [], "scale": {"min": 0, "max": 1}, "state": "s"},
    }
    return samples[op]


def _without_each(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in result.items() if k != name} for name in result]


def _bare(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": 1} | ({"asked": said["asked"]} if "asked" in said else {})


ODD: list[tuple[str, Any, str]] = [
    ("admit", [], "$: wrong_type"),
    ("admit", {"id": 1}, "$: bad_value"),
    ("admit", {"id": 1, "result": {}, "error": ""}, "$: bad_value"),
    ("admit", {"id": 2, "error": ""}, "$.id: other_id"),
    ("admit", {"id": True, "error": ""}, "$.id: other_id"),
    ("admit", {"id": 1.0, "error": ""}, "$.id: other_id"),
    ("admit", {"error": ""}, "$.id: other_id"),
    ("admit", {"id": 1, "error": 7}, "$.error: wrong_type"),
    ("admit", {"id": 1, "error": "", "more": 1}, "$.more: unknown_field"),
    ("admit", {"id": 1, "unsupported": "x"}, "$.unsupported: wrong_type"),
    ("admit", {"id": 1, "refused": {"code": "x"}}, "$.refused.path: missing_field"),
    ("admit", {"id": 1, "refused": {"code": "x", "path": "$"}, "asked": []}, "$.asked"),
    ("judge", {"id": 1, "refused": {"code": "x", "path": "$"}}, "$.asked: missing_field"),
    ("judge", {"id": 1, "refused": {"code": "x", "path": "$"}, "asked": 1}, "$.asked: wrong_type"),
    ("judge", {"id": 1, "refused": {"code": "x", "path": "$"}, "asked": [1]}, "$.asked[0]"),
    ("hello", {"id": 1, "result": {"capabilities": ["fold", "fold"]}}, "$.result.capabilities[1]"),
    ("hello", {"id": 1, "result": {"capabilities": ["select"]}}, "$.result.capabilities[0]"),
    ("chain", {"id": 1, "result": {"torn": 0}}, "$.result.torn: wrong_type"),
    ("chain", {"id": 1, "result": {"breaks": {}}}, "$.result.breaks: wrong_type"),
    ("answer", {"id": 1, "result": {"choice": "wait", "score": "1"}}, "$.result.score: wrong_type"),
    ("answer", {"id": 1, "result": {"choice": "wait", "score": True}}, "$.result.score"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "value", "said"), ODD)
def test_what_is_not_exactly_a_reply_is_none(op: str, value: Any, said: str) -> None:
    """CF-PROTO-2, CF-PROTO-3, CF-PROTO-8."""
    with pytest.raises(VerdictCoreError) as caught:
        read_reply(json.dumps(value).encode(), 1, op)
    assert str(caught.value).startswith(said)


def test_each_kind_of_reply_is_read() -> None:
    """CF-PROTO-3."""
    refused = {"code": "wrong_type", "path": "$"}
    lines = {
        '{"id": 1, "result": {}}': Reply(result={}),
        f'{{"id": 1, "refused": {json.dumps(refused)}}}': Reply(refused=Refused("wrong_type", "$")),
        '{"id": 1, "unsupported": {"capability": "x"}}': Reply(unsupported="x"),
        '{"id": 1, "error": "x"}': Reply(error="x"),
    }
    for line, wanted in lines.items():
        assert read_reply(line.encode(), 1, "forbidden") == wanted


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [(1, 1.0, True), (True, 1, False), (0, False, False), (False, False, True), ([1], (1,), True),
     ([1], [1, 2], False), ({"a": [1]}, {"a": [1.0]}, True), ({"a": 1}, {"b": 1}, False),
     ({"a": 1}, [], False), (None, None, True), (None, 0, False), ("1", 1, False)],
)  # fmt: skip
def test_numbers_are_equal_by_value_and_true_is_none(one: Any, other: Any, equal: bool) -> None:
    """CF-RUN-5."""
    assert same(one, other) is equal
    assert same(other, one) is equal


# --- the reference behind the door


def test_the_reference_replies_to_every_operation() -> None:
    """CF-PROTO-4: and claims them all."""
    hello = served(id=0, op="hello", protocol=1)["result"]
    assert set(hello["capabilities"]) == CAPABILITIES == set(EXAMPLES)
    for op, members in EXAMPLES.items():
        assert not {"error", "unsupported"} & served(id=1, op=op, **members).keys()


def test_a_session_is_lines_until_the_end() -> None:
    """CF-PROTO-2, CF-PROTO-10."""
    lines = [
        b'{"id": 5, "op": "hello", "protocol": 1}\n', b"junk\n",
        b'{"id": 6, "op": "nothing"}\n', b'{"id": 7, "op": "admit"}\n',
    ]  # fmt: skip
    out = io.BytesIO()
    serve(io.BytesIO(b"".join(lines)), out)
    replies = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [one["id"] for one in replies] == [5, None, 6, 7]
    assert [(one.keys() - {"id"}).pop() for one in replies] == [
        "result", "error", "unsupported", "error",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "service", [[], "x", [{"answer": 1}], [{"detail": ""}], [{"answer": "", "detail": "x"}], [{}]]
)
def test_a_service_that_is_none_is_an_error_and_no_refusal(service: Any) -> None:
    """CF-PROTO-12: a request that is wrong says nothing of the document."""
    assert "error" in served(id=1, op="judge", **{**EXAMPLES["judge"], "service": service})


def test_what_is_not_claimed_is_unsupported() -> None:
    """CF-PROTO-12."""

    class Little(Reference):
        @property
        def capabilities(self) -> frozenset[str]:
            return frozenset({"admit"})

    said = json.loads(reply(b'{"id": 1, "op": "build"}', Little()))
    assert said == {"id": 1, "unsupported": {"capability": "build"}}


# --- a subject at the other side


def test_a_remote_subject_says_what_the_reference_says() -> None:
    """CF-PROTO-1: every operation through the door and without it."""
    here, there = Reference(), behind(Reference())
    summary = EXAMPLES["build"]["document"].encode()
    corpus = EXAMPLES["verify"]["document"].encode()
    script = Script(answer=b'{"choice": "wait", "score": 1}')
    judged = EXAMPLES["judge"]["document"].encode()
    asks: list[Callable[[Any], Any]] = [
        lambda it: it.build(summary, max_chars=True),
        lambda it: it.build(summary),
        lambda it: it.judge(judged, wait_min=1, safe_max=0, script=script),
        lambda it: it.judge(b"", wait_min=float("nan"), safe_max=7),
        lambda it: it.request(b"{}"),
        lambda it: it.answer(b"\xff"),
        lambda it: it.forbidden(b'{"keep": 1}'),
        lambda it: it.forbidden(b"[]"),
        lambda it: it.verify(corpus, scripts=[script, Script(detail="timeout")], wait_min=1),
        lambda it: it.verify(corpus, max_chars="x"),
        lambda it: it.read_report(b"Status: complete\r\xff", claim="sha256:" + "0" * 64),
        lambda it: it.admit("complete", "clean", "aligned", False),
        lambda it: it.scope("src/..", "/"),
        lambda it: it.scope(None, "/", ignores=["a"], state_dir="/x", harness_home="/y"),
        lambda it: it.fold(b"x"),
        lambda it: it.chain(b"x\n", state={"number": 1, "hash": "0" * 64}),
        lambda it: it.chain(b""),
    ]
    for ask in asks:
        assert ask(there) == ask(here)
    assert there.asked == len(asks) + 1
    assert repr(there) == "<subject>"


def _door(said: Callable[[Any], bytes]) -> Remote:
    """A reference that says hello, and then what it is told to."""

    def answer(line: bytes) -> bytes:
        asked = json.loads(line)
        return reply(line, Reference()) if asked["op"] == "hello" else said(asked)

    return Remote(InProcess(answer))


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (b"junk", Fault.GARBAGE),
        (b'{"id": 99, "result": {}}', Fault.OTHER_ID),
        (b'{"id": 2, "result": []}', Fault.MISSHAPEN),
        (b'{"id": 2, "error": "x"}', Fault.ERROR),
    ],
)
def test_each_fault_has_its_name(said: bytes, fault: Fault) -> None:
    """CF-RUN-6."""
    remote = _door(lambda asked: said)
    with pytest.raises(Misbehaved) as caught:
        remote.forbidden(b"[]")
    assert caught.value.fault is fault
    assert remote.exchanges[-1].came == said


def test_what_is_not_supported_or_claimed_is_no_failure() -> None:
    """CF-RUN-3: neither is an Exception, which a search for a smaller input would catch."""
    remote = _door(lambda asked: b'{"id": 2, "unsupported": {"capability": "safe_max"}}')
    with pytest.raises(Unsupported, match="safe_max"):
        remote.judge(b"", safe_max=1)
    remote.hello = type(remote.hello)(1, "x", "x", "x", frozenset())
    with pytest.raises(NotClaimed, match="fold"):
        remote.fold(b"")
    assert not issubclass(NotClaimed, Exception)
    assert not issubclass(Unsupported, Exception)


def test_the_examples_of_the_specification_are_true(spec: str) -> None:
    """CF-PROTO-1: each request there has the reply that stands below it, but for the version."""
    blocks = re.findall(r"^```json protocol-example\n(.*?)^```", spec, re.M | re.S)
    lines = "".join(blocks).splitlines()
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    assert {json.loads(asked).get("op") for asked, _ in pairs} == CAPABILITIES | {"hello", "rank"}
    for asked, said in pairs:
        found = json.loads(reply(asked.encode(), Reference()))
        wanted = json.loads(said)
        if json.loads(asked)["op"] == "hello":
            found["result"] |= {name: wanted["result"][name] for name in ("version", "spec")}
        for request in found.get("asked", ()):
            request["question"] = "…"
        assert found == wanted
