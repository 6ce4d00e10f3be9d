"""Calls of tools inside scripts. (SPEC RD-CX-4)"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict_core.readers.codex_script import Call, calls

TOOLS = frozenset({"update_plan", "create_goal"})


def found(script: str) -> list[Call]:
    return list(calls(script, TOOLS))


STEP = {"step": "a", "status": "pending"}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("{}", {}),
        ('{plan: [{step: "a", status: "pending",},],}', {"plan": [STEP]}),
        ("{'a': `b`, c_$: null, d: true}", {"a": "b", "c_$": None, "d": True}),
        ("{e: undefined, f: -1.5}", {"e": None, "f": "-1.5"}),
        (r'{a: "\n\t\"\x41\u0042\u{43}\q\0"}', {"a": '\n\t"ABCq\0'}),
        ('{a: "x\\\ny"}', {"a": "xy"}),
        ("{ /* why */ a: 'b' // so\n }", {"a": "b"}),
        ('{a: "// no comment", b: "/* none */"}', {"a": "// no comment", "b": "/* none */"}),
    ],
)
def test_a_literal_is_read(argument: str, value: dict[str, Any]) -> None:
    assert found(f"await tools.update_plan({argument});") == [Call("update_plan", value)]


@pytest.mark.parametrize(
    "argument",
    ["", "plan", "[]", '"text"', "{plan}", "{a: b}", "{a: `${b}`}", "{a: f()}", "{a: 1 + 1}",
     "{...a}", "{[a]: 1}", "{a: 'b' c: 'd'}", '{a: "b"', "{a:", "[1 2]",
     r'{a: "\u{110000}"}', "{a: " * 40],
)  # fmt: skip
def test_what_is_no_literal_object_is_unreadable(argument: str) -> None:
    assert found(f"tools.update_plan({argument});") == [Call("update_plan", None)]


def test_calls_stand_in_the_order_of_the_text() -> None:
    script = 'create_goal({objective: "g"}); if (x) { tools.update_plan ({}) } other({});'
    assert found(script) == [Call("create_goal", {"objective": "g"}), Call("update_plan", {})]


def test_a_name_that_is_only_spoken_of_is_no_call() -> None:
    assert found('text("update_plan and so on"); // update_plan\nmy_update_plan({});') == []


@pytest.mark.parametrize(
    "script",
    ['tools["update_plan"]({})', "/'/; tools.update_plan({}); x = 'y'", "`tools.update_plan({})`"],
)
def test_a_call_that_stands_as_none_is_unreadable_and_never_passed_over(script: str) -> None:
    assert Call("update_plan", None) in found(script)


@given(st.text(alphabet=st.sampled_from("update_plan({['\"`\\/*:,$u0]})x \n")))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for call in found("update_plan(" + text):
        assert call.tool in TOOLS
