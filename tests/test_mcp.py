"""`verdict-core mcp`, met by the SDK's own client over real standard input and output. (SPEC MC)"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_host import CASES, CHECK, CLAIM, DOCUMENT, OPEN, Hosted, hosted, place, text_of
from running import Run
from test_public_surface import forbidden, loaded_by, properties

from verdict_core.hosts import mcp
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


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return place(tmp_path)


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


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(host: Hosted) -> None:
    """MC-REF-3."""
    with pytest.raises(MCPError, match="no tool of the name 'context_verdict_pick'") as caught:
        host.call("context_verdict_pick", {})
    assert caught.value.code == -32602


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


def call(settings: dict[str, Any]) -> tuple[int, bytes, bytes]:
    """One call of judge as its own process, whose input stays open until it has answered."""
    asked = {"tool": "context_verdict_judge", "arguments": json.dumps(DOCUMENT)}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "verdict_core.hosts.mcp_call"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps({**asked, "settings": settings}).encode() + b"\n")
        process.stdin.flush()
        said, told = process.stdout.read(), process.stderr.read()
        return process.wait(), said, told


def test_a_fault_inside_a_call_is_told_on_standard_error() -> None:
    """MC-REF-2: what is refused is an answer, what is broken is none."""
    status, said, _ = call({"wait_min": "not a number", "service": None})
    assert (status, json.loads(said)["refused"]["code"]) == (0, "bad_config")
    status, said, told = call({"wait_min": 3})
    assert (status, said) == (1, b"")
    assert b"AttributeError" in told


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
