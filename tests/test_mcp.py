"""`verdict-core mcp`, met by the SDK's own client over real standard input and output. (SPEC MC)"""

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_host import Hosted, hosted, text_of, wired
from running import Run
from test_public_surface import forbidden, loaded_by, properties

from verdict_core.context import FIELDS, Summary, build
from verdict_core.errors import ForbiddenKey
from verdict_core.forbidden import FORBIDDEN_KEYS
from verdict_core.hosts import cli, mcp, mcp_tools
from verdict_core.hosts.mcp_surface import TOOLS
from verdict_core.wire import parse

# The tools and their arguments. Whoever changes the surface changes this list.
RECORDED = {
    "context_verdict_build": ["summary"],
    "context_verdict_judge": ["summary", "state"],
    "context_verdict_verify": ["cases"],
    "verified_progress_verify": ["claim", "guard_scope"],
    "verified_progress_ledger": [],
    "verified_progress_state": [],
}
CHECK = ["--check", "--", "grep", "-q", "x = 1", "src/a.py"]


def summary(**fields: Any) -> dict[str, Any]:
    return {"session": "s", **{name: [] for name in FIELDS}, "unknown": [], **fields}


def state(given: dict[str, Any]) -> dict[str, Any]:
    return dict(parse(json.dumps(build(Summary.from_payload(given)).payload())))


OPEN, CLEAR = summary(todos=["write the test"]), summary()
DOCUMENT = {"summary": OPEN, "state": state(OPEN)}
CASES = [
    {"id": "a", "label": "lost", "summary": OPEN},
    {"id": "b", "label": "keep", "summary": CLEAR},
]
CLAIM = {"claim": "x is set", "guard_scope": "src/**"}


def place(top: Path) -> Path:
    workspace = top / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a.py").write_text("x = 1\n")
    return workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return place(tmp_path)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """One server for the tests that leave no trace in it."""
    top = tmp_path_factory.mktemp("host")
    with hosted("--state-dir", top / "state", *CHECK, cwd=place(top)) as server:
        yield server


# --- the surface


def test_there_are_exactly_six_tools_with_the_recorded_arguments(host: Hosted) -> None:
    """MC-TOOL-1."""
    assert {tool.name: list(tool.input_schema["properties"]) for tool in host.tools()} == RECORDED


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object in a schema, at any depth."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_every_object_of_every_schema_is_closed(host: Hosted) -> None:
    """MC-TOOL-2."""
    for tool in host.tools():
        taken = list(objects(tool.input_schema))
        assert taken
        for one in taken:
            assert one["additionalProperties"] is False
            assert one["required"] == list(one["properties"])
        assert tool.output_schema is not None
        answers = [one for one in objects(tool.output_schema) if "oneOf" not in one]
        assert len(answers) >= 3
        assert all(one["additionalProperties"] is False for one in answers)
        assert tool.output_schema["type"] == "object"


def test_no_argument_and_no_property_bears_a_forbidden_name(host: Hosted) -> None:
    """MC-TOOL-3."""
    schemas = [[tool.input_schema, tool.output_schema] for tool in host.tools()]
    named = list(properties(schemas))
    assert {"guard_scope", "risk_hints", "keep_refused", "refused"} <= set(named)
    assert forbidden([*named, *RECORDED]) == []


def test_only_what_keeps_a_ruling_says_that_it_writes(host: Hosted) -> None:
    """MC-TOOL-4."""
    hints = {tool.name: tool.annotations for tool in host.tools()}
    writing = [name for name, hint in hints.items() if hint and not hint.read_only_hint]
    assert writing == ["verified_progress_verify"]
    assert all(hint and hint.destructive_hint is False for hint in hints.values())


# --- answers


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_all_six_tools_answer_with_what_the_command_line_prints(
    workspace: Path, tmp_path: Path, command: Run, mode: str
) -> None:
    """MC-OUT-1: in both generations of the protocol; the client holds each to its schema."""
    kept = ["--state-dir", str(tmp_path / "state"), "--workspace", str(workspace)]
    with hosted(*kept, *CHECK, cwd=workspace, mode=mode) as server:
        built = server.call("context_verdict_build", {"summary": OPEN})
        assert built.structured_content == DOCUMENT
        assert json.loads(text_of(built)) == DOCUMENT
        judged = server.answer("context_verdict_judge", built.structured_content)
        scored = server.answer("context_verdict_verify", {"cases": CASES})
        ruled = server.answer("verified_progress_verify", CLAIM)
        ledger = server.answer("verified_progress_ledger")
        standing = server.answer("verified_progress_state", {})
    document = json.dumps(DOCUMENT).encode()
    assert judged == parse(command("judge", "--json", "-", stdin=document).stdout)
    lines = "".join(f"{json.dumps(case)}\n" for case in CASES).encode()
    printed = parse(command("verify", "--json", "-", stdin=lines).stdout)
    printed["files"][0]["name"] = "$.cases"
    assert scored == printed
    assert list(ruled) == [
        "outcome", "status", "integrity", "contract", "reasons", "changed", "gaps", "number", "run",
    ]  # fmt: skip
    assert (ruled["outcome"], ruled["number"]) == ("progress", 2)
    assert ledger == parse(command("progress", "ledger", "--json", *kept).stdout)
    assert [entry["kind"] for entry in ledger["entries"]] == ["claim", "ruling"]
    assert standing == parse(command("progress", "state", "--json", *kept).stdout)
    assert standing["verified_rounds"] == [1]


def test_every_kind_of_answer_fits_its_output_schema(workspace: Path, tmp_path: Path) -> None:
    """MC-OUT-2: evidence, damage, stale and open rounds, null rates, and what is refused."""
    says = "print('Status: incomplete\\nIntegrity: clean\\nMissing:\\n- z')"
    words = ["--state-dir", str(tmp_path / "state"), "--session", "s", "--wait-min", "0"]
    words += ["--verifier", "--", sys.executable, "-c", says]
    with hosted(*words, cwd=workspace) as server:
        schemas = {tool.name: tool.output_schema for tool in server.tools()}
        ruled = server.answer("verified_progress_verify", CLAIM)
        assert (ruled["outcome"], ruled["contract"]) == ("evidence", "unknown")
        (path,) = (tmp_path / "state").rglob("ledger.jsonl")
        with path.open("ab") as file:
            file.write(b"{torn\n")
        ledger = server.answer("verified_progress_ledger")
        assert [one["why"] for one in ledger["damaged"]] == ["not_json"]
        standing = server.answer("verified_progress_state")
        assert standing["open_items"] == [{"round": 1, "item": "z"}]
        assert standing["rejected"][0]["reasons"]
        judged = server.answer("context_verdict_judge", DOCUMENT)
        assert judged["verdict"] == "preserve_first"
        for name in RECORDED:
            result = server.call(name, {"other": 1})
            jsonschema.validate(result.structured_content, schemas[name] or {})


def test_a_service_is_asked_as_the_command_line_said(workspace: Path, tmp_path: Path) -> None:
    """MC-SET-1: and what it answers against the rules is refused, not passed on."""
    answers = tmp_path / "answers"
    answers.write_text('{"choice": "preserve_first", "score": 0.5}')
    with hosted("--service", f"command:cat {answers}", cwd=workspace) as server:
        judged = server.answer("context_verdict_judge", DOCUMENT)
        assert (judged["verdict"], judged["score"]) == ("preserve_first", 0.5)
        assert server.answer("context_verdict_verify", {"cases": CASES})["asked"] == 1
        answers.write_text('{"choice": "wait", "score": 0.5, "rank": 1}')
        assert server.refused("context_verdict_judge", DOCUMENT) == ("forbidden_key", "$.rank")


# --- refusals

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
def test_a_client_that_lies_is_refused(
    host: Hosted, tool: str, given: Any, code: str, path: str
) -> None:
    """MC-REF-1, MC-READ-1, MC-READ-2."""
    assert host.refused(tool, given) == (code, path)


def test_nothing_that_was_refused_is_in_the_ledger(host: Hosted) -> None:
    """MC-REF-1: whatever order the tests run in, this server ruled nothing."""
    assert host.refused("verified_progress_verify", {**CLAIM, "claim": "x" * 300_000})
    assert host.answer("verified_progress_ledger")["entries"] == []


@pytest.mark.parametrize("name", FORBIDDEN_KEYS)
@pytest.mark.parametrize("tool", RECORDED)
def test_every_forbidden_name_is_refused_before_the_structure(tool: str, name: str) -> None:
    """MC-READ-1."""
    given = json.dumps({"claim": 3, "more": {"deep": [{name: 1}]}})
    with pytest.raises(ForbiddenKey) as caught:
        mcp_tools.answer(tool, given, Namespace())
    assert caught.value.path == f"$.more.deep[0].{name}"


SETTINGS = ["verifier", "check", "command", "ignore", "ignores", "workspace", "session", "timeout"]
SETTINGS += ["state_dir", "wait_min", "max_chars", "service", "sandbox", "harness_home", "safe_max"]


def test_no_argument_is_a_setting(host: Hosted) -> None:
    """MC-SET-1: whoever claims does not choose who checks."""
    given: dict[str, Any] = {
        "context_verdict_build": {"summary": OPEN},
        "context_verdict_judge": DOCUMENT,
        "context_verdict_verify": {"cases": CASES},
        "verified_progress_verify": CLAIM,
    }
    named = {name for tool in TOOLS for name in tool["inputSchema"]["properties"]}
    assert named.isdisjoint(SETTINGS)
    for number, setting in enumerate(SETTINGS):
        tool = list(RECORDED)[number % len(RECORDED)]
        sent = {**given.get(tool, {}), setting: "true"}
        assert host.refused(tool, sent) == ("unknown_field", f"$.{setting}")


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(host: Hosted) -> None:
    """MC-REF-3."""
    with pytest.raises(MCPError, match="no tool of the name 'context_verdict_pick'") as caught:
        host.call("context_verdict_pick", {})
    assert caught.value.code == -32602


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"summary": NaN}', "invalid_json"),
        ('{"summary": -Infinity}', "invalid_json"),
        ('{"summary": 1e999}', "invalid_json"),
        ('{"summary": 9007199254740993.5, "keep": 1}', "forbidden_key"),
    ],
)
def test_what_is_no_strict_json_is_refused_behind_the_sdk(
    workspace: Path, tmp_path: Path, arguments: str, code: str
) -> None:
    """MC-READ-1: the arguments are read again, as text."""
    with wired("--state-dir", tmp_path / "state", cwd=workspace) as wire:
        wire.call(1, "context_verdict_build", arguments)
        result = wire.reply(1)["result"]
    assert (result["isError"], result["structuredContent"]["refused"]["code"]) == (True, code)


# --- settings

WRONG: list[tuple[list[str], str, str]] = [
    (["--wait-min", "3.0"], "bad_config", "--wait-min"),
    (["--max-chars", "-1"], "bad_config", "--max-chars"),
    (["--service", "shell:x"], "bad_config", "--service"),
    (["--workspace", "absent"], "bad_config", "--workspace"),
    (["--workspace", sys.executable], "bad_config", "--workspace"),
    (["--ignore", "../x"], "bad_config", "--ignore"),
    (["--timeout", "soon", *CHECK], "bad_config", "--timeout"),
    (["--timeout", "0", *CHECK], "bad_config", "--timeout"),
    (["--check"], "usage", "mcp"),
    (["--", "true"], "usage", "mcp"),
    (["--check", "--verifier", "--", "true"], "usage", "verdict-core mcp"),
    (["--wait-min"], "usage", "verdict-core mcp"),
]


@pytest.mark.parametrize(("words", "code", "path"), WRONG)
def test_what_cannot_be_served_with_is_refused_at_the_start(
    command: Run, words: list[str], code: str, path: str
) -> None:
    """MC-SET-2."""
    done = command("mcp", *words)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.decode().startswith(f"verdict-core: {path}: {code}: ")
    assert done.stderr.count(b"\n") == 1


def test_a_sandbox_that_cannot_work_is_refused_at_the_start(command: Run, tmp_path: Path) -> None:
    """MC-SET-2."""
    done = command("mcp", "--sandbox", *CHECK, env={"PATH": str(tmp_path)})
    assert (done.returncode, b": sandbox_missing: " in done.stderr) == (3, True)


def test_without_the_sdk_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """MC-SET-2."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main(["mcp"]) == 3
    assert "pip install 'verdict-core[mcp]'" in capsys.readouterr().err


def test_an_empty_workspace_is_one(tmp_path: Path) -> None:
    top = tmp_path / "workspace"
    top.mkdir()
    with hosted("--state-dir", tmp_path / "state", *CHECK, cwd=top) as server:
        given = {**CLAIM, "guard_scope": "."}
        assert server.refused("verified_progress_verify", given) == ("scope_empty", ".")


def test_the_workspace_is_the_one_that_stood_there_at_the_start(
    workspace: Path, tmp_path: Path
) -> None:
    """MC-SET-3: a link that is moved does not move what is checked, nor where it is kept."""
    other, link = place(tmp_path / "other"), tmp_path / "link"
    (other / "src" / "a.py").write_text("x = 2\n")
    link.symlink_to(workspace)
    with hosted("--workspace", link, "--state-dir", "../state", *CHECK, cwd=workspace) as server:
        link.unlink()
        link.symlink_to(other)
        assert server.answer("verified_progress_verify", CLAIM)["outcome"] == "progress"
    assert len(list((tmp_path / "state").rglob("ledger.jsonl"))) == 1


def test_without_a_verifier_a_claim_is_evidence(workspace: Path, tmp_path: Path) -> None:
    """MC-SET-4."""
    with hosted("--state-dir", tmp_path / "state", cwd=workspace) as server:
        ruled = server.answer("verified_progress_verify", CLAIM)
    assert (ruled["outcome"], ruled["status"], ruled["reasons"][0]) == (
        "evidence", "blocked", "no_verifier",
    )  # fmt: skip
    assert "every claim will be kept as evidence" in (tmp_path / "stderr").read_text()


def test_the_workspace_lends_no_modules(workspace: Path, tmp_path: Path) -> None:
    """MC-SET-5: or whoever claims would write who checks."""
    mark = tmp_path / "mark"
    for name in ("attrs", "orjson", "json", "verdict_core", "sitecustomize"):
        (workspace / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\n")
    with hosted("--state-dir", tmp_path / "state", *CHECK, cwd=workspace) as server:
        assert server.answer("verified_progress_verify", CLAIM)["outcome"] == "progress"
        assert server.answer("context_verdict_build", {"summary": OPEN}) == DOCUMENT
    assert not mark.exists()


# --- crashes

CRASHES = {
    "it ends with a status": "raise SystemExit(1)",
    "it says nothing": "",
    "it says what is no JSON": "print('safe_to_compact')",
    "it is killed": "import os; os.kill(os.getpid(), 9)",
    "it says and then fails": 'print(\'{"result": {"verdict": "safe_to_compact"}}\'); 1 / 0',
    "it says what is neither": "print('{}')",
}


@pytest.mark.parametrize("code", CRASHES.values(), ids=CRASHES)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_crash_is_an_error_and_never_a_verdict(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], mode: str, code: str
) -> None:
    """MC-REF-2."""
    monkeypatch.setattr(mcp, "_CALL", (sys.executable, "-c", code))

    async def judge() -> MCPError:
        async with Client(mcp.server_of({}), mode=mode) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("context_verdict_judge", DOCUMENT)
        return caught.value

    error = anyio.run(judge)
    assert "a fault of verdict-core, not a verdict" in error.message
    assert error.code == -32603
    assert "Traceback" in capfd.readouterr().err


def test_a_fault_inside_a_call_is_told_on_standard_error() -> None:
    """MC-REF-2: what is refused is an answer, what is broken is none."""
    settings = {"wait_min": "not a number", "service": None}
    line = json.dumps({"tool": "context_verdict_judge", "arguments": json.dumps(DOCUMENT),
                       "settings": settings})  # fmt: skip
    call = [sys.executable, "-P", "-m", "verdict_core.hosts.mcp_call"]
    done = subprocess.run(call, input=f"{line}\n".encode(), capture_output=True, check=False)
    assert json.loads(done.stdout)["refused"]["code"] == "bad_config"
    line = line.replace('"service": null', '"other": null')
    done = subprocess.run(call, input=f"{line}\n".encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"AttributeError" in done.stderr


# --- what it costs who does not use it


@pytest.mark.parametrize(
    "statement",
    [
        "import verdict_core",
        "from verdict_core.hosts import cli; cli._parser()",
        "from verdict_core.hosts import cli; cli.main(['judge', 'absent'])",
        "import verdict_core.hosts.mcp_call",
    ],
)
def test_only_the_server_loads_the_sdk(statement: str) -> None:
    loaded = {name.partition(".")[0] for name in loaded_by(statement)}
    assert "verdict_core" in loaded
    assert loaded.isdisjoint({"mcp", "mcp_types", "anyio", "pydantic", "starlette"})
