"""Two implementations on the same random input. (SPEC CF-DIFF)"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verdict_core.conformance import differ, messages
from verdict_core.conformance.checks import Fate
from verdict_core.conformance.child import Child, Misbehaved
from verdict_core.conformance.differ import Difference, Differences, agree, compare
from verdict_core.conformance.examples import EXAMPLES
from verdict_core.conformance.plugin import behind
from verdict_core.conformance.protocol import Reply
from verdict_core.conformance.reference import Reference
from verdict_core.conformance.remote import Hello
from verdict_core.conformance.subject import Refused
from verdict_core.conformance.text import text_of_differences

# These start and end many processes, and wait for some: `make test-long`.
pytestmark = pytest.mark.long

CHILDREN = Path(__file__).parent / "conformance_children.py"


def child(name: str = "", time_limit_s: float = 20.0) -> Child:
    return Child([sys.executable, str(CHILDREN), name], time_limit_s=time_limit_s)


@pytest.fixture
def ops(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Only these operations are compared: each takes its time."""

    def only(*names: str) -> None:
        monkeypatch.setattr(differ, "EXAMPLES", {name: EXAMPLES[name] for name in names})

    return only


def compared(name: str, examples: int = 150, time_limit_s: float = 20.0) -> Differences:
    return compare(child(), child(name, time_limit_s), seed=0, examples=examples)


def fates(found: Differences) -> dict[str, Fate]:
    return {one.op: one.fate for one in found.ops}


def test_the_reference_agrees_with_itself() -> None:
    """CF-DIFF-1."""
    found = compared("", examples=5)
    assert set(fates(found).values()) == {Fate.PASSED}
    assert list(fates(found)) == list(EXAMPLES)
    assert found.exit_status == 0
    assert "they agree (exit status 0)" in text_of_differences(found)
    payload = found.payload()
    assert payload == compared("", examples=5).payload()
    assert (payload["seed"], payload["examples"], len(payload["subjects"])) == (0, 5, 2)


@pytest.mark.parametrize(
    ("name", "op", "shrunk"),
    [
        ("ClampsTheScore", "answer", r"\"choice\": \"safe_to_compact\", \"score\":"),
        ("ExpectsAnAnswer", "admit", '"status":"complete"'),
        ("ReadsQuotes", "read_report", '"document":"> Status: complete"'),
        ("FieldUnknownFirst", "judge", r"\"unknown\": [\"todos\"]"),
    ],
    ids=["answer", "admit", "read_report", "judge"],
)
def test_a_difference_is_shrunk_to_the_smallest(
    ops: Callable[..., None], name: str, op: str, shrunk: str
) -> None:
    """CF-DIFF-1, CF-DIFF-2: reasons alone are a difference."""
    ops(op, "scope")
    found = compared(name)
    assert {one for one, fate in fates(found).items() if fate is Fate.FAILED} == {op}
    (one,) = [one for one in found.ops if one.op == op]
    assert shrunk in one.send
    assert json.loads(one.one)["id"] == json.loads(one.other)["id"] == json.loads(one.send)["id"]
    assert found.exit_status == 1
    text = text_of_differences(found)
    assert f"    send      {one.send}" in text
    assert "they differ (exit status 1)" in text


def test_a_child_that_crashes_differs_and_says_how(ops: Callable[..., None]) -> None:
    """CF-DIFF-2, CF-RUN-6."""
    ops("admit")
    found = compared("crash")
    (one,) = [one for one in found.ops if one.fate is Fate.FAILED]
    assert (one.op, one.other) == ("admit", "")
    assert one.reason == "crashed: it ended with exit status 3: something broke"
    assert "    other     (no reply)" in text_of_differences(found)
    first = compare(child("crash"), child(), seed=0, examples=150)
    (one,) = [one for one in first.ops if one.fate is Fate.FAILED]
    assert (one.one, one.other) == ("", "")


def test_what_one_of_them_does_not_claim_is_not_compared() -> None:
    """CF-DIFF-1."""
    found = compared("ClaimsLittle", examples=5)
    assert fates(found).pop("admit") is Fate.PASSED
    assert {fate for op, fate in fates(found).items() if op != "admit"} == {Fate.NOT_CLAIMED}
    assert found.exit_status == 0
    assert compared("ClaimsNothing", examples=5).exit_status == 4


def test_what_one_of_them_cannot_leaves_the_comparison_incomplete(
    ops: Callable[..., None],
) -> None:
    """CF-DIFF-1."""
    ops("admit", "scope")
    found = compared("unsupported")
    assert fates(found)["admit"] is Fate.SKIPPED
    assert found.exit_status == 4
    assert "incomplete (exit status 4)" in text_of_differences(found)


def test_a_child_that_hangs_for_good_could_not_be_compared(
    ops: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CF-RUN-7."""
    ops("admit", "scope")
    monkeypatch.setattr("verdict_core.conformance.child.ALL_TIMEOUTS", 1)
    found = compared("hang", time_limit_s=0.7)
    assert fates(found)["admit"] is Fate.FAILED
    assert fates(found)["scope"] is Fate.NOT_RUN


def test_a_child_that_cannot_say_hello_cannot_be_compared() -> None:
    with pytest.raises(Misbehaved, match="crashed"):
        compared("dead")


def refused(code: str, path: str) -> Reply:
    return Reply(refused=Refused(code, path))


def judged(**asked: str) -> Reply:
    return Reply(result={}, asked=(asked,))


BAD = refused("bad_value", "$.a")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (BAD, BAD, True),
        (BAD, refused("bad_value", "$.b"), False),
        (BAD, refused("wrong_type", "$.a"), False),
        (BAD, Reply(result={}), False),
        (Reply(result={}), BAD, False),
        (Reply(result={"a": 1}), Reply(result={"a": 1.0}), True),
        (Reply(result={"a": 1}), Reply(result={"a": True}), False),
        (judged(question="a"), Reply(result={}), False),
        (judged(question="a"), judged(question="b"), True),
        (judged(state="a"), judged(state="b"), False),
        (refused("bad_config", "a"), refused("bad_config", "b"), True),
        (refused("too_deep", "$"), refused("invalid_json", "$"), True),
        (refused("too_deep", "$"), refused("wrong_type", "$"), False),
    ],
)
def test_what_the_specification_leaves_free_is_no_difference(
    one: Reply, other: Reply, same: bool
) -> None:
    """CF-DIFF-2."""
    assert agree(one, other) is same


def test_a_comparison_is_whole_only_where_something_was_compared() -> None:
    """CF-RUN-2."""

    def status(*found: Fate) -> int:
        hello = Hello(1, "x", "x", "x", frozenset())
        ops = tuple(Difference("admit", fate) for fate in found)
        return Differences(0, 1, (("a",), ("b",)), (hello, hello), ops).exit_status

    assert status(Fate.PASSED, Fate.NOT_CLAIMED) == 0
    assert status(Fate.NOT_CLAIMED) == status(Fate.PASSED, Fate.SKIPPED) == status() == 4
    assert status(Fate.PASSED, Fate.NOT_RUN) == 4
    assert status(Fate.FAILED, Fate.SKIPPED) == 1


@pytest.mark.parametrize("op", EXAMPLES)
def test_every_random_request_has_a_reply(op: str, tmp_path: Path) -> None:
    """CF-DIFF-1: a result or a refusal, both of them among a hundred."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_bytes(b"x")
    subject = behind(Reference())
    kinds = set()

    @settings(max_examples=100, deadline=None, database=None, derandomize=True)
    @given(messages.requests(op, str(tmp_path)))
    def ask(members: Any) -> None:
        assert list(members) == list(EXAMPLES[op])
        kinds.add(subject.ask(op, **members).refused is None)

    ask()
    only_results = op in ("read_report", "admit", "fold", "chain")
    assert kinds == ({True} if only_results else {True, False})


def test_a_spoiled_object_is_sometimes_whole() -> None:
    found = set()

    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    @given(messages.spoiled(st.just({"a": 1})))
    def look(data: bytes) -> None:
        found.add(data == b'{"a": 1}')

    look()
    assert found == {True, False}
