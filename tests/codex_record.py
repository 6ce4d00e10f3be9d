"""Builds Codex records, row by row, in the shapes of the real program."""

import json
from pathlib import Path
from typing import Any

from attrs import define, field

from verdict_core.readers.codex import read
from verdict_core.readers.reading import Reading

NAME = "01a22dab-af24-7c61-a54f-28ddfd3e56c9"


@define
class Rollout:
    """`rows` are the rows so far; each method appends one and returns the record."""

    meta: dict[str, Any] = field(factory=dict)
    headless: bool = False
    space: str = ""
    rows: list[bytes] = field(factory=list)
    calls: int = 0

    def __attrs_post_init__(self) -> None:
        if not self.headless:
            self.row("session_meta", {"id": NAME, "source": "cli", **self.meta})

    def raw(self, line: bytes) -> "Rollout":
        self.rows.append(line)
        return self

    def row(self, kind: str, payload: dict[str, Any], **more: Any) -> "Rollout":
        row = {"timestamp": "2026-11-30T18:15:55.980Z", "type": kind, "payload": payload, **more}
        marks = ("," + self.space, ":" + self.space)
        return self.raw(json.dumps(row, ensure_ascii=False, separators=marks).encode() + b"\n")

    def event(self, kind: str, **payload: Any) -> "Rollout":
        return self.row("event_msg", {"type": kind, **payload})

    def item(self, kind: str, **payload: Any) -> "Rollout":
        return self.row("response_item", {"type": kind, **payload})

    def started(self) -> "Rollout":
        return self.event("task_started", turn_id="t1")

    def complete(self) -> "Rollout":
        return self.event("task_complete", turn_id="t1")

    def said(self, text: str) -> "Rollout":
        return self.user(text).event("user_message", message=text)

    def user(self, text: str, **more: Any) -> "Rollout":
        content = [{"type": "input_text", "text": text}]
        return self.item("message", role="user", content=content, **more)

    def answer(self, text: str, phase: str | None = "final_answer") -> "Rollout":
        content = [{"type": "output_text", "text": text}]
        return self.item("message", role="assistant", content=content, phase=phase)

    def call(self, name: str, given: Any, output: Any = None) -> "Rollout":
        """A call; `output` None is none yet."""
        self.calls += 1
        call = f"call_{self.calls}"
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        self.item("function_call", name=name, arguments=text, call_id=call)
        if output is not None:
            self.item("function_call_output", call_id=call, output=output)
        return self

    def script(self, script: str, output: Any = None) -> "Rollout":
        self.calls += 1
        call = f"call_{self.calls}"
        self.item("custom_tool_call", status="completed", call_id=call, name="exec", input=script)
        if output is not None:
            self.item("custom_tool_call_output", call_id=call, output=output)
        return self

    def plan(self, *steps: tuple[str, str], output: Any = "Plan updated") -> "Rollout":
        plan = [{"step": step, "status": status} for step, status in steps]
        return self.call("update_plan", {"explanation": "so", "plan": plan}, output)

    def ask(self, question: str, output: Any = None) -> "Rollout":
        questions = [{"id": "q1", "header": "Header", "question": question, "options": []}]
        return self.call("request_user_input", {"questions": questions}, output)

    def shell(self, command: Any, output: Any = None) -> "Rollout":
        return self.call("exec_command", {"cmd": command, "workdir": "/w"}, output)

    def read(self, place: Path) -> Reading:
        path = place / "rollout.jsonl"
        path.write_bytes(b"".join(self.rows))
        return read(path, named=True)


def answered(*texts: str) -> str:
    """The output of a question that was answered."""
    return json.dumps({"answers": {"q1": {"answers": list(texts)}}})


def ran(output: str, code: int = 0) -> str:
    """The output of a command that came to its end."""
    head = "Chunk ID: 89c90f\nWall time: 0.0 seconds\nProcess exited with code"
    return f"{head} {code}\nOriginal token count: 2\nOutput:\n{output}"
