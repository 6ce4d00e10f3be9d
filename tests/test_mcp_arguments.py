"""What a tool takes, and that everything else is refused with a code and a path. (SPEC MC-READ)"""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from mcp_host import (
    CASES,
    CHECK,
    CLAIM,
    CLEAR,
    DOCUMENT,
    OPEN,
    Hosted,
    place,
    summary,
    wired,
)

from verdict_core.errors import ForbiddenKey, VerdictCoreError
from verdict_core.forbidden import FORBIDDEN_KEYS
from verdict_core.hosts import cli, mcp_options, mcp_tools
from verdict_core.hosts.mcp_surface import TOOLS


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return place(tmp_path)


DEEP: Any = []
for _ in range(140):
    DEEP = [DEEP]

REFUSED: list[tuple[str, Any, str, str]] = [
    ("context_verdict_build", None, "missing_field", "$.summary"),
    ("context_verdict_build", {}, "missing_field", "$.summary"),
    ("context_verdict_build", {"summary": []}, "wrong_type", "$.summary"),
    ("context_verdict_build", {"summary": {}, "more": 1}, "missing_field", "$.summary.session"),
    ("context_verdict_build", {"summary": OPEN, "more": 1}, "unknown_field", "$.more"),
    ("context_verdict_build", {"summary": summary(todos="ab")}, "wrong_type", "$.summary.todos"),
    ("context_verdict_build", {"summary": summary(todos=[3])}, "wrong_type", "$.summary.todos[0]"),
    ("context_verdict_build", {"summary": summary(session=1)}, "wrong_type", "$.summary.session"),
    ("context_verdict_build", {"summary": summary(keep=1)}, "forbidden_key", "$.summary.keep"),
    ("context_verdict_build", {"summary": {}, "a": [{"PER-block": 1}]}, "forbidden_key",
     "$.a[0]['PER-block']"),
    ("context_verdict_build", {"summary": summary(todos=["x" * 20_000])}, "over_budget", "$"),
    ("context_verdict_build", {"summary": DEEP, "keep": 1}, "too_deep", "$"),
    ("context_verdict_judge", {"summary": OPEN}, "missing_field", "$.state"),
    ("context_verdict_judge", {**DOCUMENT, "options": ["a", "b", "c", "d"]}, "unknown_field",
     "$.options"),
    ("context_verdict_judge", {**DOCUMENT, "summary": CLEAR}, "unbound_state", "$.state.text"),
    ("context_verdict_judge", {**DOCUMENT, "state": {**DOCUMENT["state"], "count": True}},
     "wrong_type", "$.state.count"),
    ("context_verdict_judge", {**DOCUMENT, "state": {**DOCUMENT["state"], "risk_hints": "-"}},
     "unbound_state", "$.state.risk_hints"),
    ("context_verdict_judge", {**DOCUMENT, "state": {**DOCUMENT["state"], "digest": "sha256:0"}},
     "unbound_state", "$.state.digest"),
    ("context_verdict_verify", {"cases": {}}, "wrong_type", "$.cases"),
    ("context_verdict_verify", {"cases": []}, "empty_corpus", "$.cases"),
    ("context_verdict_verify", {"cases": CASES[:1]}, "single_labelled_corpus", "$.cases"),
    ("context_verdict_verify", {"cases": [*CASES, 3]}, "wrong_type", "$.cases[2]"),
    ("context_verdict_verify", {"cases": [*CASES, CASES[0]]}, "duplicate_id", "$.cases[2].id"),
    ("context_verdict_verify", {"cases": [{**CASES[0], "summary": summary(todos=[""])}]},
     "bad_value", "$.cases[0].summary.todos[0]"),
    ("context_verdict_verify", {"cases": [*CASES, {**CASES[0], "id": "c", "label": "Lost"}]},
     "bad_value", "$.cases[2].label"),
    ("context_verdict_verify", {"cases": [*CASES, {"id": "c", "label": "keep",
      "summary": summary(todos=["x" * 20_000])}]}, "over_budget", "$.cases[2]"),
    ("context_verdict_verify", {"cases": [{"filter": 1}]}, "forbidden_key", "$.cases[0].filter"),
    ("verified_progress_verify", {"claim": "c"}, "missing_field", "$.guard_scope"),
    ("verified_progress_verify", {**CLAIM, "claim": ""}, "bad_value", "$.claim"),
    ("verified_progress_verify", {**CLAIM, "claim": ["c"]}, "wrong_type", "$.claim"),
    ("verified_progress_verify", {**CLAIM, "claim": "x" * 300_000}, "bad_value", "$"),
    ("verified_progress_verify", {**CLAIM, "guard_scope": 1}, "wrong_type", "$.guard_scope"),
    ("verified_progress_verify", {**CLAIM, "guard_scope": ""}, "scope_required", "$"),
    ("verified_progress_verify", {**CLAIM, "guard_scope": "/etc"}, "scope_absolute", "/etc"),
    ("verified_progress_verify", {**CLAIM, "guard_scope": "../x"}, "scope_parent", "../x"),
    ("verified_progress_verify", {**CLAIM, "guard_scope": "absent"}, "scope_missing", "absent"),
    ("verified_progress_verify", {**CLAIM, "report": "Status: complete"}, "unknown_field",
     "$.report"),
    ("verified_progress_ledger", {"limit": 3}, "unknown_field", "$.limit"),
    ("verified_progress_state", {"session": "other"}, "unknown_field", "$.session"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "given", "code", "path"), REFUSED)
def test_whatever_else_is_given_is_refused(
    workspace: Path, tmp_path: Path, tool: str, given: Any, code: str, path: str
) -> None:
    """MC-READ-1, MC-READ-2."""
    words = ["mcp", "--workspace", str(workspace), "--state-dir", str(tmp_path / "state"), *CHECK]
    settings = mcp_options.settings_of(cli._parser().parse_args(words))
    with pytest.raises(VerdictCoreError) as caught:
        mcp_tools.answer(tool, json.dumps(given or {}), Namespace(**settings))
    assert (caught.value.code, caught.value.path) == (code, path)


def test_a_client_that_lies_is_refused(host: Hosted) -> None:
    """MC-REF-1: over the real protocol, with nothing of it in the ledger."""
    for tool, given, code, path in REFUSED:
        assert host.refused(tool, given) == (code, path), (tool, given)
    assert host.answer("verified_progress_ledger")["entries"] == []


@pytest.mark.parametrize("name", FORBIDDEN_KEYS)
@pytest.mark.parametrize("tool", [tool["name"] for tool in TOOLS])
def test_every_forbidden_name_is_refused_before_the_structure(tool: str, name: str) -> None:
    """MC-READ-1."""
    given = json.dumps({"claim": 3, "more": {"deep": [{name: 1}]}})
    with pytest.raises(ForbiddenKey) as caught:
        mcp_tools.answer(tool, given, Namespace())
    assert caught.value.path == f"$.more.deep[0].{name}"


LOOSE = [
    ('{"summary": NaN}', "invalid_json"),
    ('{"summary": -Infinity}', "invalid_json"),
    ('{"summary": 1e999}', "invalid_json"),
    ('{"summary": 9007199254740993.5, "keep": 1}', "forbidden_key"),
    ("null", "missing_field"),
]


def test_what_is_no_strict_json_is_refused_behind_the_sdk(workspace: Path) -> None:
    """MC-READ-1: the arguments are read again, as text."""
    with wired(cwd=workspace) as wire:
        for number, (arguments, code) in enumerate(LOOSE, 1):
            wire.call(number, "context_verdict_build", arguments)
            result = wire.reply(number)["result"]
            assert result["isError"] is True
            assert result["structuredContent"]["refused"]["code"] == code
