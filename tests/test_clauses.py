"""What SPEC.md promises and no other test would miss: each test is of one clause."""

import ast
import hashlib
import itertools
import os
import pkgutil
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from gitrepo import isolate, new_repo

import verdict_core
from verdict_core import (
    BadConfig,
    Detail,
    ForbiddenKey,
    InvalidJson,
    NoAnswer,
    OverBudget,
    Reason,
    Summary,
    UnknownField,
    Verdict,
    WrongType,
    build,
    judge,
    refuse_forbidden,
)
from verdict_core.context import FIELDS
from verdict_core.context.ask import read_answer
from verdict_core.context.state import render
from verdict_core.context.thresholds import read_thresholds
from verdict_core.errors import child
from verdict_core.git import run
from verdict_core.readers import git_status
from verdict_core.readers.reading import Reading, combine
from verdict_core.readers.todo_status import is_settled, item
from verdict_core.wire import parse

PACKAGE = Path(verdict_core.__file__).parent
EMPTY: dict[str, Any] = {"session": "s", **dict.fromkeys(FIELDS, ()), "unknown": ()}


@pytest.mark.parametrize("text", ["e\u0301", "\u00e9", " a\t", "\ufb01", "A", "\u2126", "a\n\n"])
@pytest.mark.parametrize("field", FIELDS)
def test_strings_are_kept_whatever_their_normal_form(field: str, text: str) -> None:
    """CV-SUM-5."""
    assert getattr(Summary(**{**EMPTY, field: [text]}), field) == (text,)
    assert Summary(**{**EMPTY, "session": text}).session == text


@pytest.mark.parametrize("field", ["session", *FIELDS, "unknown"])
def test_a_fault_of_a_summary_that_python_made_has_its_path(field: str) -> None:
    """CV-ERR-2."""
    with pytest.raises(WrongType) as caught:
        Summary(**{**EMPTY, field: 7})
    assert caught.value.path == f"$.{field}"


def test_a_fault_of_a_threshold_has_its_path_and_says_what_was_expected() -> None:
    """CV-RULE-5, CV-RULE-6, CV-ERR-2."""
    for config, path, says in (
        ({"safe_max": 1}, "$.safe_max", "the constant 0"),
        ({"safe_max": "0"}, "$.safe_max", "expected an integer, got a string"),
        ({"wait_min": -1}, "$.wait_min", "not between 0 and 2^53 - 1"),
        ({"wait min": 1}, "$['wait min']", "only wait_min and safe_max"),
    ):
        with pytest.raises(BadConfig) as caught:
            read_thresholds(config)
        assert caught.value.path == path
        assert caught.value.message.startswith(says)


def test_a_threshold_that_is_none_is_named_as_its_parameter() -> None:
    """CV-RULE-6."""
    summary = Summary(**EMPTY)
    bad: Any = 3.0
    for call, name in (
        (lambda: build(summary, max_chars=bad), "max_chars"),
        (lambda: judge(summary, build(summary), wait_min=bad), "wait_min"),
    ):
        with pytest.raises(BadConfig) as caught:
            call()
        assert caught.value.path == name


def test_a_refusal_keeps_its_message_and_is_told_from_others() -> None:
    """CV-ERR-1."""
    one, other = BadConfig("a", path="$.x"), BadConfig("b", path="$.x")
    assert (one.args, other.args) == (("a",), ("b",))
    assert hash(one) != hash(other)
    assert len({one, other, BadConfig("a", path="$.x")}) == 2


def test_the_refusal_of_a_forbidden_key_says_the_whole_of_it() -> None:
    """CV-KEY-5."""
    assert str(ForbiddenKey("$.a.keep", "keep")) == (
        "$.a.keep: forbidden_key: 'keep' asks for a selection of parts, and there is none to give:"
        " a per-block judge called the block with the fix droppable (0.323) and a nursery rhyme"
        " worth keeping (0.691). Ask for the verdict on the whole session instead:"
        " safe_to_compact, wait or preserve_first"
    )


def test_the_path_of_a_key_that_is_no_string_names_it() -> None:
    """CV-KEY-5, CV-ERR-2."""
    for key, path in ((1, "$.a['1']"), (("b",), "$.a['(\\'b\\',)']")):
        with pytest.raises(WrongType) as caught:
            refuse_forbidden({"a": {key: 1}})
        assert caught.value.path == path
    assert child("$", "\x1e\x1f ") == "$['\\u001e\\u001f ']"


def test_what_a_service_did_not_say_is_told_in_words() -> None:
    """CV-ASK-3, CV-ASK-4."""
    assert NoAnswer("timeout").message == "the service gave no answer: timeout"
    assert NoAnswer("declined", "no").message == "no"
    for given, says in ((b"{", "invalid_json"), ([], "exactly choice and score")):
        with pytest.raises(NoAnswer, match=says) as caught:
            read_answer(given)  # type: ignore[arg-type]  # what a service may give all the same
        assert caught.value.detail is Detail.UNREADABLE


def test_a_mark_is_named_also_before_a_long_text() -> None:
    """CV-WIRE-1: the parser stands a long text inside brackets of ours."""
    for text in (b"[]", b"[" + b"[]," * 3_000 + b"[]]"):
        with pytest.raises(InvalidJson) as caught:
            parse(b"\xef\xbb\xbf" + text)
        assert caught.value.code == "byte_order_mark"


def test_an_object_need_not_be_a_dict() -> None:
    """CV-SUM-2."""
    summary = Summary.from_payload(MappingProxyType({name: list(v) if v != "s" else v
                                                     for name, v in EMPTY.items()}))  # fmt: skip
    assert summary == Summary(**EMPTY)
    with pytest.raises(UnknownField):
        Summary.from_payload(MappingProxyType({**EMPTY, "odd": 1}))


@pytest.mark.parametrize("field", FIELDS)
def test_two_equal_items_count_twice(field: str) -> None:
    """CV-SUM-6."""
    summary = Summary(**{**EMPTY, field: ["a", "a"]})
    assert (summary.count, build(summary).count) == (2, 2)
    assert judge(summary, build(summary), wait_min=1).verdict == "preserve_first"


def test_only_build_looks_at_the_budget() -> None:
    """CV-STATE-6: a state that was made under a larger budget is judged under any."""
    summary = Summary(**{**EMPTY, "todos": ["x" * 20_000]})
    with pytest.raises(OverBudget):
        build(summary)
    state = build(summary, max_chars=30_000)
    assert state == render(summary)
    assert judge(summary, state).verdict == "wait"


def test_the_defaults_are_3_and_16000() -> None:
    """CV-RULE-6."""
    three, four = (Summary(**{**EMPTY, "todos": ["x"] * count}) for count in (3, 4))
    assert judge(three, build(three)).verdict == "wait"
    assert judge(four, build(four)).verdict == "preserve_first"
    room = 16_000 - len(build(Summary(**{**EMPTY, "todos": ["x"]})).text)
    assert len(build(Summary(**{**EMPTY, "todos": ["x" * (room + 1)]})).text) == 16_000
    with pytest.raises(OverBudget):
        build(Summary(**{**EMPTY, "todos": ["x" * (room + 2)]}))


def test_the_words_are_those_of_the_specification(spec: str) -> None:
    """CV-RULE-1, CV-RULE-3, CV-ASK-4: no word is renamed, and none is added in passing."""
    clauses = dict(re.findall(r"^- \*\*([A-Z-]+-\d)\*\* (.*?)(?=^- |^$)", spec, re.M | re.S))
    of_rules = re.findall(r"`(\w+)`", clauses["CV-RULE-1"])
    of_asking = re.findall(r"`(\w+)`", clauses["CV-ASK-4"])
    registry = spec.split("## 9. Reason registry")[1].split("## 10.")[0]
    assert list(Verdict) == of_rules
    assert list(Reason) == re.findall(r"^\| (\w+) \|", registry, re.M)[1:]
    assert [*Detail, "detail"] == of_asking


# --- readings that become one summary


def reading(name: str, session: str | None = None, **items: list[str]) -> Reading:
    return Reading(name, {field: tuple(texts) for field, texts in items.items()}, session=session)


def test_readings_are_joined_in_their_order() -> None:
    """RD-SUM-1."""
    readings = [
        reading("summary", todos=["b", "a"], questions=["q"]),
        reading("git", uncommitted=["f"], todos=["a"]),
        reading("record", "first", todos=["c"]),
        reading("ledger", "second", todos=["b"], questions=[]),
    ]
    joined = combine(readings)
    assert joined.todos == ("b", "a", "a", "c", "b")
    assert (joined.questions, joined.uncommitted) == (("q",), ("f",))
    assert joined.session == "first"


def test_a_field_that_was_not_read_whole_is_unknown() -> None:
    """RD-SUM-2: one reader that read in part is enough, and so is nobody."""
    whole = reading("one", "s", **{name: [] for name in FIELDS})
    assert combine([whole]).unknown == ()
    for size in range(1, 6):
        for names in itertools.combinations(FIELDS, size):
            part = Reading("two", dict.fromkeys(names, ("x",)), frozenset(names))
            assert combine([whole, part]).unknown == names
            assert combine([part, whole]).todos == (("x",) if "todos" in names else ())
            some = {name: () for name in FIELDS if name not in names}
            assert combine([Reading("three", some)]).unknown == names
    assert combine([]).unknown == FIELDS


@pytest.mark.parametrize("nothing", [None, "", " \n", 7, ["a"]])
def test_what_has_no_name_is_told_as_such(nothing: Any) -> None:
    """RD-SUM-3."""
    assert combine([]).session == "(no session)"
    assert item(nothing) == "(no text)"
    assert item(" a") == " a"


def test_six_words_settle_a_todo_and_no_other() -> None:
    """RD-TODO-1: the list is that of the clause, and not the code's own."""
    words = ["completed", "complete", "done", "cancelled", "canceled", "deleted"]
    assert all(is_settled(word) and is_settled(word.upper()) for word in words)
    for word in ("completing", "doner", "closed", "finished", "archived", "", "in_progress"):
        assert not is_settled(word)


# --- git


def lists_that_begin(source: str, word: str) -> list[int]:
    """The lines of the lists and tuples whose first element is `word`."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.List | ast.Tuple) and node.elts
        if isinstance(node.elts[0], ast.Constant) and node.elts[0].value == word
    ]


def source_of(module: str) -> str:
    """As it is loaded, which is not always what lies on the disk."""
    spec = find_spec(module)
    assert spec is not None
    loader: Any = spec.loader
    source: str = loader.get_source(module)
    return source


def test_git_is_called_from_one_place() -> None:
    """GT-RUN-1: and the check itself can fail."""
    found = {}
    for module in pkgutil.walk_packages([str(PACKAGE)], "verdict_core."):
        # The suite that an installed package carries is no part of what runs.
        if ".properties" not in module.name:
            found[module.name] = lists_that_begin(source_of(module.name), "git")
    assert len(found) > 30
    assert [name for name, lines in found.items() if lines] == ["verdict_core.git"]
    assert lists_that_begin('run(["git", "status"])\n', "git") == [1]


def test_git_runs_in_a_session_of_its_own_without_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GT-RUN-1: what we are given on standard input is not git's to read."""
    isolate(monkeypatch, tmp_path / "home")
    repo = new_repo(tmp_path / "repo")
    told = f"alias.told=!{sys.executable} -c 'import os; print(os.getsid(0))'"
    code = (
        "import os, sys; from pathlib import Path; from verdict_core.git import run\n"
        f"print(os.getsid(0), int(run(Path('.'), '-c', {told!r}, 'told')))\n"
        "print(run(Path('.'), 'hash-object', '--stdin').decode().strip())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repo.path, input=b"ours", check=True, stdout=-1
    )
    ours, git, oid = done.stdout.decode().split()
    assert int(ours) == os.getsid(0) != int(git)
    assert oid == hashlib.sha1(b"blob 0\0").hexdigest()


@pytest.mark.parametrize(
    "name",
    [
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    ],
)
def test_the_variables_that_the_user_set_reach_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """GT-RUN-2."""
    isolate(monkeypatch, tmp_path / "home")
    repo = new_repo(tmp_path / "repo")
    (tmp_path / "value").symlink_to(repo.git("--exec-path").decode().strip())
    value = {"GIT_EXEC_PATH": str(tmp_path / "value"), "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
             "GIT_CONFIG_NOSYSTEM": "0"}.get(name, os.devnull)  # fmt: skip
    monkeypatch.setenv(name, value)
    told = run(repo.path, "-c", "alias.told=!env", "told").decode().splitlines()
    assert f"{name}={value}" in told


def test_git_answers_for_one_field_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RD-GIT-1."""
    isolate(monkeypatch, tmp_path / "home")
    repo = new_repo(tmp_path / "repo")
    for path in ("a", "b c", "new/d", "new/e"):
        repo.write(path)
    assert git_status.read(repo.path).items == {"uncommitted": ("a", "b c", "new/")}
