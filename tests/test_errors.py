"""Errors are facts: a code, a path, a message, an exit status. (SPEC CV-ERR)"""

import re
from pathlib import Path

import pytest

from verdict_core import errors
from verdict_core.errors import BadValue, ForbiddenKey, OverBudget, VerdictCoreError, child, visible


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("plain_Key9", "$.plain_Key9"),
        ("9lives", "$['9lives']"),
        ("", "$['']"),
        ("a b", "$['a b']"),
        ("é", "$['é']"),
        ("it's", "$['it\\'s']"),
        ("back\\slash", "$['back\\\\slash']"),
        ("\b\t\n\f\r\x0b\x00\x1f ", "$['\\b\\t\\n\\f\\r\\u000b\\u0000\\u001f ']"),
        (0, "$[0]"),
        (None, "$['None']"),
        ((1, 2), "$['(1, 2)']"),
    ],
)
def test_a_path_is_written_as_the_specification_says(key: object, path: str) -> None:
    """CV-ERR-2."""
    assert child("$", key) == path


def test_a_refusal_is_one_line_whatever_it_names() -> None:
    """CV-ERR-1, CV-CLI-4."""
    error = BadValue("line\nbreak \x1b[31m \u2028 \u202e", path=child("$", "a\nb\x85"))
    assert len(str(error).splitlines()) == 1
    assert str(error).startswith("$['a\\nb\\u0085']: bad_value: line\\u000abreak \\u001b[31m")


def test_ordinary_text_is_visible_as_it_is() -> None:
    assert visible("naïve 文字 😀 'quoted'") == "naïve 文字 😀 'quoted'"


def test_equal_facts_are_equal_errors() -> None:
    assert BadValue("m", path="$.a") == BadValue("m", path="$.a")
    assert hash(BadValue("m", path="$.a")) == hash(BadValue("m", path="$.a"))
    assert BadValue("m", path="$.a") != BadValue("m", path="$.b")
    assert BadValue("m") != BadValue("m", code="lone_surrogate")
    assert BadValue("m", code="over_budget") != OverBudget("m", code="over_budget")
    assert BadValue("m") != "m"
    assert hash(BadValue("m", path="$.a")) != hash(BadValue("m", path="$.b"))
    assert BadValue("m", path="$.a").args == ("m",)


def test_a_forbidden_key_says_why_and_what_instead() -> None:
    """CV-KEY-5."""
    error = ForbiddenKey("$.outer.inner[0].perBlock", "perBlock")
    assert str(error) == (
        "$.outer.inner[0].perBlock: forbidden_key: 'perBlock' asks for a selection of parts, and"
        " there is none to give: a per-block judge called the block with the fix droppable (0.323)"
        " and a nursery rhyme worth keeping (0.691). Ask for the verdict on the whole session"
        " instead: safe_to_compact, wait or preserve_first"
    )
    assert error.key == "perBlock"


def test_every_code_and_exit_status_stands_in_the_registry(spec: str) -> None:
    """CV-ERR-1: the table in SPEC.md and the classes agree."""
    table = spec.split("| code | says | exit |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| ([a-z_0-9, ]+) \|.*\| (\d) \|$", table, re.M)
    listed = {code: int(status) for codes, status in rows for code in codes.split(", ")}
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, VerdictCoreError)
    ]
    for error in classes:
        assert error is VerdictCoreError or listed[error.code] == error.exit_status
    package = Path(errors.__file__).parent
    source = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    for code in listed:
        assert re.search(rf"\b{code}\b", source), code
