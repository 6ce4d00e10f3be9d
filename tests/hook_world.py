"""A session that a hook is fired in: a real repository, a record, a state directory.

In: what is open. Out: answers of the hook as its own process, fed with real payloads, and the lines
of the journal.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from attrs import define, field, frozen
from claude_record import Conversation
from gitrepo import Repo, new_repo
from running import PATIENCE_S

HERE = Path(__file__).parent
_LINES = (HERE / "data" / "hooks.jsonl").read_text(encoding="utf-8").splitlines()
PAYLOADS = {(p["harness"], p["key"]): p["stdin"] for p in map(json.loads, _LINES)}
HARNESSES = ("claude-code", "codex")


@frozen
class Answer:
    status: int
    stdout: bytes
    stderr: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.stdout)

    @property
    def is_stop(self) -> bool:
        """Whether the harness takes it for a stop; each has a form of its own."""
        if self.status == 2:
            return True
        said = json.loads(self.stdout) if self.stdout else {}
        return self.status == 0 and said.get("continue") is False and not self.stderr

    @property
    def text(self) -> str:
        said = self.document if self.stdout else {}
        context = said.get("hookSpecificOutput", {}).get("additionalContext")
        text = said.get("stopReason") or said.get("systemMessage") or context
        return text or self.stderr.decode()


@define
class World:
    """`todos` and files are open; the record is Claude Code's, or Codex's where that is named."""

    root: Path
    repo: Repo
    state: Path = field(init=False)
    records: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.state = self.root / "state"
        self.records = self.root / "records"
        self.records.mkdir()

    def payload(self, harness: str, key: str, **changes: Any) -> bytes:
        """The real payload, with its places filled in and members changed."""
        text = PAYLOADS[harness, key]
        text = text.replace("@RECORDS@", str(self.records)).replace("@CWD@", str(self.repo.path))
        return json.dumps({**json.loads(text), **changes}).encode()

    def record(self, harness: str, *todos: str) -> Path:
        """A record with these todos open, at the place that the payloads name."""
        payload = json.loads(self.payload(harness, "PreCompact:manual"))
        path, session = Path(payload["transcript_path"]), payload["session_id"]
        if harness == "codex":
            rows = codex_rows(session, *todos)
            path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
            return path
        talk = Conversation(str(self.repo.path)).person("do it")
        talk.todos(*[(todo, "pending") for todo in todos]).says("Done so far.")
        for row in talk.rows:
            row["sessionId"] = session
        return talk.write(path)

    def fire(
        self,
        harness: str,
        key: str,
        *options: str,
        env: dict[str, str] | None = None,
        stdin: bytes | None = None,
        **changes: Any,
    ) -> Answer:
        """The answer of the hook as its own process to this firing."""
        command = [sys.executable, "-P", "-m", "verdict_core", "hook", harness]
        done = subprocess.run(
            [*command, "--state-dir", str(self.state), *options],
            input=self.payload(harness, key, **changes) if stdin is None else stdin,
            capture_output=True,
            cwd=self.repo.path,
            env={**os.environ, **(env or {})},
            timeout=PATIENCE_S,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def journal(self) -> list[dict[str, Any]]:
        text = (self.state / "hooks" / "journal.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def wait_ten_seconds(self) -> None:
        """Makes everything that the hooks remember eleven seconds older."""
        then = time.time() - 11
        for file in (self.state / "hooks").glob("*/*-*"):
            os.utime(file, (then, then))


def new_world(root: Path) -> World:
    repo = new_repo(root / "project")
    repo.commit(readme="a\n")
    return World(root, repo)


def codex_rows(session: str, *todos: str) -> list[dict[str, Any]]:
    """A rollout in which the plan has these steps open."""
    plan = {"plan": [{"step": todo, "status": "pending"} for todo in todos]}
    call = {"type": "function_call", "name": "update_plan", "call_id": "c1",
            "arguments": json.dumps(plan)}  # fmt: skip
    said = {"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "Planned."}]}  # fmt: skip
    asked = {"type": "message", "role": "user",
             "content": [{"type": "input_text", "text": "do it"}]}  # fmt: skip
    rows: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {"id": session, "cwd": "/w", "cli_version": "0.171.0"}),
        ("event_msg", {"type": "task_started", "turn_id": "t1"}),
        ("response_item", asked),
        ("event_msg", {"type": "user_message", "message": "do it"}),
        ("response_item", call),
        ("response_item", {"type": "function_call_output", "call_id": "c1", "output": "ok"}),
        ("response_item", said),
        ("event_msg", {"type": "task_complete", "turn_id": "t1"}),
    ]
    return [
        {"timestamp": f"2026-03-01T10:00:{at:02d}.000Z", "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate(rows)
    ]
