"""What runs while `verdict-core mcp` serves, and that it ends: with its call, its client, itself.

(SPEC MC-RUN)
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_host import (
    CLAIM,
    DOCUMENT,
    OPEN,
    SERVER,
    cancelled_after,
    hosted,
    is_gone,
    place,
    slow_check,
    until,
    who,
    wired,
)
from running import PATIENCE_S

from verdict_core.progress.ledger import Ledger
from verdict_core.wire import parse

# These start and end many processes, and wait for some: `make test-long`.
pytestmark = pytest.mark.long


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return place(tmp_path)


def kinds(state: Path) -> list[str]:
    """The kinds of the entries of the only run there is."""
    (run,) = (state / "verified-progress" / "runs").iterdir()
    return [entry["kind"] for entry in Ledger(run).read().entries]


def children(process: int) -> list[int]:
    words = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(word) for word in words]


def gone(processes: list[int]) -> None:
    until(lambda: all(map(is_gone, processes)))


def test_pings_are_answered_while_a_claim_is_verified(workspace: Path, tmp_path: Path) -> None:
    """MC-RUN-1: and so are other calls."""
    mark = tmp_path / "mark"
    with wired("--state-dir", tmp_path / "state", *slow_check(mark), cwd=workspace) as wire:
        wire.call(1, "verified_progress_verify", json.dumps(CLAIM))
        who(mark)
        wire.send(id=2, method="ping")
        assert wire.reply(2)["result"] == {}
        wire.call(3, "verified_progress_state")
        pending = wire.reply(3)["result"]["structuredContent"]["pending"]
        assert [one["claim"] for one in pending] == ["x is set"]
        assert [json.loads(line).get("id") for line in wire.heard] == [0, 2, 3]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_call_that_is_cancelled_ends_with_all_that_it_started(
    workspace: Path, tmp_path: Path, mode: str
) -> None:
    """MC-RUN-2: the claim stays pending, and the next one is verified."""
    state, mark = tmp_path / "state", tmp_path / "mark"
    with hosted("--state-dir", state, *slow_check(mark), cwd=workspace, mode=mode) as server:
        for number in (1, 2):
            server.portal.call(
                cancelled_after, server.client, mark.exists, "verified_progress_verify", CLAIM
            )
            gone(who(mark))
            assert kinds(state) == ["claim"] * number
            mark.unlink()
        pending = server.answer("verified_progress_state")["pending"]
        assert [one["round"] for one in pending] == [1, 2]


def test_a_client_that_is_killed_leaves_nothing_running(workspace: Path, tmp_path: Path) -> None:
    """MC-RUN-2: the SDK's own client, killed in the middle of a verification."""
    state, mark = tmp_path / "state", tmp_path / "mark"
    code = (
        "import anyio, json, os, sys\n"
        "from mcp.client.client import Client\n"
        "from mcp.client.stdio import StdioServerParameters, stdio_client\n"
        "words, given = json.loads(sys.argv[1]), json.loads(sys.argv[2])\n"
        "async def main():\n"
        "    server = StdioServerParameters(command=words[0], args=words[1:], env={**os.environ})\n"
        "    async with Client(stdio_client(server)) as client:\n"
        "        await client.call_tool('verified_progress_verify', given)\n"
        "anyio.run(main)\n"
    )
    words = json.dumps([*SERVER, "--state-dir", str(state), *slow_check(mark)])
    argv = [sys.executable, "-P", "-c", code, words, json.dumps(CLAIM)]
    with subprocess.Popen(argv, cwd=workspace, stderr=subprocess.DEVNULL) as client:
        verifying = who(mark)
        (server,) = children(client.pid)
        calls = children(server)
        client.kill()
    assert calls
    gone([server, *calls, *verifying])
    assert kinds(state) == ["claim"]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda one: one.name
)
def test_a_server_that_is_killed_takes_all_with_it(
    workspace: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """MC-RUN-2, MC-RUN-3."""
    state, mark = tmp_path / "state", tmp_path / "mark"
    with wired("--state-dir", state, *slow_check(mark), cwd=workspace) as wire:
        wire.call(1, "verified_progress_verify", json.dumps(CLAIM))
        verifying = who(mark)
        calls = children(wire.process.pid)
        wire.process.send_signal(number)
        assert wire.process.wait(PATIENCE_S) == -number
        assert calls
        gone([*calls, *verifying])
    assert kinds(state) == ["claim"]


@pytest.mark.parametrize("listens", [True, False])
def test_the_end_of_its_input_ends_a_server_with_all_that_it_started(
    workspace: Path, tmp_path: Path, listens: bool
) -> None:
    """MC-RUN-3: that is no crash, though nobody hears the last words."""
    state, mark = tmp_path / "state", tmp_path / "mark"
    words = ["--state-dir", str(state), *slow_check(mark)]
    errors = tmp_path / "stderr"
    with wired(*words, cwd=workspace, errors=errors) as wire:
        wire.call(1, "verified_progress_verify", json.dumps(CLAIM))
        processes = [*who(mark), *children(wire.process.pid)]
        assert wire.process.stdin is not None
        assert wire.process.stdout is not None
        if not listens:
            wire.process.stdout.close()
        wire.process.stdin.close()
        assert wire.process.wait(20) == 0
        assert len(processes) == 3
        gone(processes)
    assert kinds(state) == ["claim"]
    assert b"Traceback" not in errors.read_bytes()


def test_a_signal_to_a_call_interrupts_it_once(workspace: Path, tmp_path: Path) -> None:
    """MC-RUN-2: whoever signals the whole group, and then again, does not keep it from ending."""
    state, mark = tmp_path / "state", tmp_path / "mark"
    with wired("--state-dir", state, *slow_check(mark), cwd=workspace) as wire:
        wire.call(1, "verified_progress_verify", json.dumps(CLAIM))
        verifying = who(mark)
        (call,) = children(wire.process.pid)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            os.kill(call, number)
        assert wire.reply(1)["error"]["code"] == -32603
        gone([call, *verifying])
    assert kinds(state) == ["claim"]


def test_claims_are_verified_one_after_the_other(workspace: Path, tmp_path: Path) -> None:
    """MC-RUN-4: two verifiers at once would each be a change of the other's workspace."""
    check = ["--check", "--", "sh", "-c", "touch src/busy && sleep 0.3 && rm src/busy; true"]
    words = ["--ignore", "src/busy", "--state-dir", str(tmp_path / "state"), *check]
    with wired(*words, cwd=workspace) as wire:
        for number in (1, 2, 3):
            wire.call(number, "verified_progress_verify", json.dumps(CLAIM))
        rulings = [wire.reply(number)["result"]["structuredContent"] for number in (1, 2, 3)]
    assert [ruling["number"] for ruling in rulings] == [2, 4, 6]
    assert kinds(tmp_path / "state") == ["claim", "ruling"] * 3


def test_eight_calls_run_at_once_and_others_wait(workspace: Path, tmp_path: Path) -> None:
    """MC-RUN-4."""
    busy, seen = tmp_path / "busy", tmp_path / "seen"
    busy.mkdir()
    script = tmp_path / "service.sh"
    answer = '{"choice": "wait", "score": 1}'
    script.write_text(
        f"touch {busy}/$$; sleep 1; ls {busy} | wc -l >>{seen}; rm {busy}/$$; echo '{answer}'\n"
    )
    with wired("--service", f"command:sh {script}", cwd=workspace) as wire:
        for number in range(1, 21):
            wire.call(number, "context_verdict_judge", json.dumps(DOCUMENT))
        replies = [wire.reply(number)["result"]["structuredContent"] for number in range(1, 21)]
    assert {one["reasons"][-1] for one in replies} == {"service_wait"}
    together = [int(count) for count in seen.read_text().split()]
    assert len(together) == 20
    assert 2 <= max(together) <= 8


def test_standard_output_carries_the_protocol_alone(workspace: Path, tmp_path: Path) -> None:
    """MC-OUT-3: whatever a verifier, a service or a fault writes."""
    loud = "echo loud; echo loud >&2; exit 0"
    answer = 'echo loud >&2; echo \'{"choice": "wait", "score": 1}\''
    (tmp_path / "service.sh").write_text(answer)
    words = [
        "--state-dir",
        str(tmp_path / "state"),
        "--service",
        f"command:sh {tmp_path}/service.sh",
    ]
    words += ["--verifier", "--", "sh", "-c", loud]
    errors = tmp_path / "stderr"
    with wired(*words, cwd=workspace, errors=errors) as wire:
        wire.call(1, "verified_progress_verify", json.dumps(CLAIM))
        assert wire.reply(1)["result"]["structuredContent"]["outcome"] == "evidence"
        wire.call(2, "context_verdict_judge", json.dumps(DOCUMENT))
        assert wire.reply(2)["result"]["structuredContent"]["verdict"] == "wait"
        wire.write(b"no protocol at all")
        wire.write(b"\xff\xfe")
        wire.send(id=3, method="tools/call", params={"name": 3})
        assert wire.reply(3)["error"]["code"] == -32602
        wire.call(4, "context_verdict_build", json.dumps({"summary": {"keep": 1}}))
        assert wire.reply(4)["result"]["isError"] is True
        assert all(parse(line)["jsonrpc"] == "2.0" for line in wire.heard)
    assert "loud" in errors.read_text()


def test_what_the_sdk_hides_is_as_the_specification_says(workspace: Path) -> None:
    """The last of two keys is seen, and bytes that are no UTF-8 arrive replaced."""
    twice = json.dumps({"summary": OPEN})
    twice = re.sub(r'"todos"', '"todos": [], "todos"', twice)
    with wired(cwd=workspace) as wire:
        wire.call(1, "context_verdict_build", twice)
        built: Any = wire.reply(1)["result"]["structuredContent"]
        assert built["summary"]["todos"] == OPEN["todos"]
        line = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":'
        wire.write(line + b'"verified_progress_state","arguments":{"\xff":1}}}')
        refused = wire.reply(2)["result"]["structuredContent"]["refused"]
        assert (refused["code"], refused["path"]) == ("unknown_field", "$['\ufffd']")


def test_a_payload_of_many_megabytes_is_judged_or_refused(workspace: Path) -> None:
    """MC-READ-1: nothing is cut."""
    many = [f"todo {number} {'x' * 100}" for number in range(100_000)]
    with hosted(cwd=workspace) as server:
        given = {"summary": {**OPEN, "todos": many}}
        assert server.refused("context_verdict_build", given) == ("over_budget", "$")
        lost = {"id": "a", "label": "lost", "summary": OPEN}
        kept = {"id": "b", "label": "keep", "summary": {**OPEN, "todos": ["x" * (17 << 20)]}}
        code = server.refused("context_verdict_verify", {"cases": [lost, kept]})
        assert code == ("bad_value", "$.cases[1]")
