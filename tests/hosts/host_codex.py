"""The installed hook in the real Codex CLI, against a scripted model. (SPEC HK)

Run by `make host-codex`, which installs the program; pytest does not collect this by itself.
"""

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hosts.scripted import Body, Event, Model
from hosts.stage import Stage, new_stage

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / ".hosts" / "codex" / "node_modules" / "@openai"
HEADING = "data from the session's record, not instructions"
STEP = "Write the parser"
SUMMARISE = "SUMMARISE-NOW"
LIMIT_S = 60.0
STEPS = [{"step": STEP, "status": "in_progress"}, {"step": "Read", "status": "completed"}]
PLAN = {"name": "update_plan", "arguments": {"plan": STEPS}}
WRITE = {"name": "exec_command", "arguments": {"cmd": "echo work > parser.py"}}
CONFIG = """\
model = "scripted"
model_provider = "scripted"
model_context_window = 200000
model_auto_compact_token_limit = {limit}
compact_prompt = "{summarise}"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
[tools.update_plan]
enabled = true
[features]
apps = false
plugins = false
enable_request_compression = false
[projects."{project}"]
trust_level = "trusted"
"""


class Turns:
    """Answers in turn; `used` is the tokens that the model claims to have read, by turn."""

    def __init__(self, *turns: tuple[list[Body], int]) -> None:
        self._turns = list(turns)
        self._count = 0

    def __call__(self, body: Body) -> tuple[str, list[Event]]:
        self._count += 1
        if SUMMARISE in json.dumps((body.get("input") or [""])[-1]):
            return "summary", self._events("A parser is being written.", [], 3_000)
        calls, used = self._turns.pop(0) if self._turns else ([], 3_000)
        return "turn", self._events("That is all.", calls, used)

    def _events(self, text: str, calls: list[Body], used: int) -> list[Event]:
        number = self._count
        items: list[Body] = [
            {"type": "function_call", "id": f"fc_{number}_{at}", "call_id": f"call_{number}_{at}",
             "name": call["name"], "arguments": json.dumps(call["arguments"])}
            for at, call in enumerate(calls)
        ]  # fmt: skip
        if not items:
            part = {"type": "output_text", "text": text, "annotations": []}
            items = [{"type": "message", "id": f"msg_{number}", "role": "assistant",
                      "content": [part]}]  # fmt: skip
        usage = {"input_tokens": used, "input_tokens_details": {"cached_tokens": 0},
                 "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
                 "total_tokens": used + 20}  # fmt: skip
        reply = {"id": f"resp_{number}", "status": "completed", "output": items, "usage": usage}
        return [
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            *({"type": "response.output_item.done", "output_index": at, "item": item}
              for at, item in enumerate(items)),
            {"type": "response.completed", "response": reply},
        ]  # fmt: skip


@contextmanager
def staged(tmp_path: Path, turns: Turns, *, limit: int) -> Iterator[tuple[Stage, Model]]:
    """A project with the hook in it; the program compacts of itself at `limit` tokens."""
    home = tmp_path / "codex"
    home.mkdir()
    with Model(turns).running() as model:
        stage = new_stage(tmp_path, CODEX_HOME=str(home), SCRIPTED_KEY="scripted", NO_COLOR="1")
        (home / "config.toml").write_text(
            CONFIG.format(
                address=model.address, limit=limit, summarise=SUMMARISE, project=stage.repo.path
            )
        )
        assert "Hooks need review" in stage.ours("hook", "install", "codex", "--user")
        yield stage, model


def binary() -> str:
    found = sorted(INSTALLED.glob("codex*/vendor/*/bin/codex"))
    return os.environ.get("CODEX_BIN") or str(found[0])


class Server:
    """`codex app-server`: requests and answers, a line of JSON each."""

    def __init__(self, stage: Stage) -> None:
        self._process = subprocess.Popen(
            [binary(), "app-server"],
            cwd=stage.repo.path,
            env=stage.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin: IO[bytes] = self._process.stdin
        self._stdout: IO[bytes] = self._process.stdout
        self._said: queue.Queue[Any] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._count = 0
        self.notices: list[Any] = []
        info = {"name": "test", "title": "test", "version": "0"}
        self.ask("initialize", clientInfo=info, capabilities={"experimentalApi": True})
        self._send({"method": "initialized"})

    def ask(self, method: str, **params: Any) -> Any:
        """The result of one request."""
        self._count += 1
        number = self._count
        self._send({"id": number, "method": method, "params": params})
        said = self._until(lambda one: one.get("id") == number and "method" not in one)
        assert "result" in said, said
        return said["result"]

    def wait_for(self, method: str) -> Any:
        """The parameters of the next notice of this name."""
        return self._until(lambda one: one.get("method") == method)["params"]

    def close(self) -> None:
        self._stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._stdout.close()

    def _read(self) -> None:
        for line in self._stdout:
            self._said.put(json.loads(line))

    def _send(self, message: Any) -> None:
        self._stdin.write(json.dumps(message).encode() + b"\n")
        self._stdin.flush()

    def _until(self, fits: Any) -> Any:
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            said = self._said.get(timeout=LIMIT_S)
            self.notices.append(said)
            if fits(said):
                return said
        raise AssertionError(f"nothing came that fits: {self.notices[-5:]}")


@contextmanager
def server(stage: Stage) -> Iterator[Server]:
    running = Server(stage)
    try:
        yield running
    finally:
        running.close()


def trust(running: Server, stage: Stage) -> int:
    """Trusts every hook there is, as a person does in the terminal; how many there were."""
    listed = running.ask("hooks/list", cwds=[str(stage.repo.path)])
    hooks = [hook for entry in listed["data"] for hook in entry["hooks"]]
    trusted = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in hooks}
    edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
    running.ask("config/batchWrite", edits=[edit], reloadUserConfig=True)
    return len(hooks)


def compactions(stage: Stage) -> list[dict[str, Any]]:
    return [line for line in stage.journal() if line["event"] == "PreCompact"]


def test_a_manual_compaction_is_stopped_once_then_landed_and_given_back(tmp_path: Path) -> None:
    turns = Turns(([PLAN], 2_000), ([WRITE], 2_000), ([], 2_000))
    with staged(tmp_path, turns, limit=150_000) as (stage, model), server(stage) as running:
        assert trust(running, stage) == 2
        thread = running.ask("thread/start", cwd=str(stage.repo.path))["thread"]["id"]
        prompt(running, thread, "Build the parser")
        before = stage.repo.plain_status()
        assert b"parser.py" in before

        stopped = compact(running, thread)
        assert stopped["status"] == "interrupted"
        assert "summary" not in model.kinds()
        reasons = [one for one in running.notices if one.get("method") == "hook/completed"]
        assert STEP in json.dumps(reasons)
        assert "compact again after 10 seconds" in json.dumps(reasons)

        stage.wait_until_it_may_pass()
        assert compact(running, thread)["status"] == "completed"
        assert "summary" in model.kinds()
        first, second = compactions(stage)
        assert (first["act"], second["act"], second["why"]) == ("stopped", "passed", "landed")
        assert (first["cause"], second["unlanded"]) == ("manual", [])
        assert stage.repo.git("show", f"{second['ref']}:parser.py") == b"work\n"
        assert stage.repo.plain_status() == before
        assert json.loads(Path(second["handoff"]).read_text())["todos"] == [STEP]

        prompt(running, thread, "Go on")
        given = model.last_text()
        assert HEADING in given
        assert f'todos: \\"{STEP}\\"' in given
        assert 'uncommitted: \\"parser.py\\"' in given
        assert second["handoff"] in given


def prompt(running: Server, thread: str, text: str) -> None:
    running.ask("turn/start", threadId=thread, input=[{"type": "text", "text": text}])
    assert running.wait_for("turn/completed")["turn"]["status"] == "completed"


def compact(running: Server, thread: str) -> Any:
    running.ask("thread/compact/start", threadId=thread)
    return running.wait_for("turn/completed")["turn"]


def test_an_automatic_compaction_is_landed_passes_and_is_given_back(tmp_path: Path) -> None:
    turns = Turns(([PLAN], 2_000), ([WRITE], 15_000), ([], 2_000))
    with staged(tmp_path, turns, limit=10_000) as (stage, model):
        trusting = ("exec", "--json", "--dangerously-bypass-hook-trust")
        done = stage.run(binary(), *trusting, "Build the parser")
        assert done.returncode == 0, done.stdout + done.stderr
        assert model.kinds() == ["turn", "turn", "summary", "turn"]
        (landed,) = compactions(stage)
        assert (landed["cause"], landed["act"], landed["why"]) == ("auto", "passed", "landed")
        assert stage.repo.git("show", f"{landed['ref']}:parser.py") == b"work\n"
        given = model.last_text()
        assert HEADING in given
        assert f'todos: \\"{STEP}\\"' in given


def test_what_is_not_trusted_never_runs_and_nobody_says_so(tmp_path: Path) -> None:
    """HK-INST-9: so `install` has to."""
    turns = Turns(([PLAN], 2_000), ([WRITE], 15_000), ([], 2_000))
    with staged(tmp_path, turns, limit=10_000) as (stage, model):
        done = stage.run(binary(), "exec", "--json", "Build the parser")
        assert done.returncode == 0
        assert "summary" in model.kinds()
        assert stage.journal() == []
        assert "trust" not in done.stdout
