"""The strategies, for our tests and for anybody's."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import _verdict_core_hypothesis as hook
from verdict_core import Summary, build
from verdict_core.conformance.door import EMPTY, FIELDS, bound, built, claimed, given_result
from verdict_core.conformance.reference import Reference
from verdict_core.conformance.remote import NotClaimed
from verdict_core.conformance.strategies import (
    damages,
    forbidden_names,
    ledgers,
    report_bytes,
    summaries,
    valid_summaries,
    values,
)
from verdict_core.conformance.subject import Refused
from verdict_core.forbidden import is_forbidden, refuse_forbidden
from verdict_core.progress.runs import sealed_at

quick = settings(max_examples=60, deadline=None, database=None)


@quick
@given(summaries())
def test_every_summary_is_valid(summary: dict[str, Any]) -> None:
    state = Reference().build(json.dumps(summary).encode())
    assert not isinstance(state, Refused)
    assert set(summary) == {"session", *FIELDS, "unknown"}


@quick
@given(valid_summaries())
def test_every_summary_value_is_one(summary: Summary) -> None:
    assert build(summary).count == summary.count


@quick
@given(values(), forbidden_names())
def test_values_have_no_forbidden_name_and_forbidden_names_are(value: Any, name: str) -> None:
    refuse_forbidden(value)
    assert is_forbidden(name)


@quick
@given(ledgers(), damages())
def test_lines_are_sealed_and_damage_is_not(written: list[bytes], damage: bytes) -> None:
    assert all(map(sealed_at, written))
    assert not sealed_at(damage)


@pytest.mark.parametrize("part", [b"Status: complete", b"```", b"\xff"])
def test_reports_are_of_many_kinds(part: bytes) -> None:
    many = settings(max_examples=5_000, database=None, deadline=None)
    find(report_bytes(), lambda data: part in data, settings=many)


# --- Summary for those who ask Hypothesis for its type

ASKS = """\
import sys
{first}
{second}
assert "verdict_core.conformance" not in sys.modules
from hypothesis import given, strategies as st
@given(st.from_type(Summary))
def test(summary):
    assert isinstance(summary, Summary)
test()
"""
PLUGIN = "import _verdict_core_hypothesis as hook"
HYPOTHESIS = f"import hypothesis; {PLUGIN}; hook.register()"
OURS = "from verdict_core import Summary"


@pytest.mark.parametrize(("first", "second"), [(HYPOTHESIS, OURS), (OURS, HYPOTHESIS)])
def test_a_summary_is_known_by_its_type_whichever_is_imported_first(
    first: str, second: str
) -> None:
    code = ASKS.format(first=first, second=second)
    root = Path(hook.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, cwd=root, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_project_that_does_not_use_us_imports_nothing_of_ours() -> None:
    code = (
        f"{PLUGIN}\nimport sys\nhook.register()\nprint([m for m in sys.modules if 'verdict' in m])"
    )
    root = Path(hook.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, cwd=root, text=True
    )
    assert done.stdout.strip() == "['_verdict_core_hypothesis']"


def test_the_hook_waits_for_one_module_and_then_goes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registered: list[Any] = []
    monkeypatch.setattr(st, "register_type_strategy", lambda *pair: registered.append(pair))
    before = sys.meta_path[:]
    hook.register()
    assert [pair[0] for pair in registered] == [Summary]
    assert find(registered[0][1](Summary), lambda summary: True).count >= 0
    module = sys.modules[hook.MODULE]
    monkeypatch.delitem(sys.modules, hook.MODULE)
    hook.register()
    assert sys.meta_path[1:] == before
    watcher = sys.meta_path[0]
    assert watcher.find_spec("other", None) is None
    spec = watcher.find_spec(hook.MODULE, None)
    assert sys.meta_path == before
    assert spec is not None
    assert spec.loader is not None
    monkeypatch.setitem(sys.modules, hook.MODULE, module)
    spec.loader.exec_module(module)
    assert len(registered) == 2


# --- the small words


def test_what_is_expected_to_have_a_result_says_where_it_was_refused() -> None:
    with pytest.raises(AssertionError, match=r"refused with bad_value at \$\.session"):
        built(Reference(), {**EMPTY, "session": ""})
    assert given_result({"a": 1}) == {"a": 1}
    assert json.loads(bound(Reference(), EMPTY))["summary"] == EMPTY


def test_only_what_is_claimed_is_asked() -> None:
    class Little(Reference):
        @property
        def capabilities(self) -> frozenset[str]:
            return frozenset({"build"})

    assert claimed(Little(), "judge", "build") == ["build"]
    with pytest.raises(NotClaimed, match="judge, fold"):
        claimed(Little(), "judge", "fold")
