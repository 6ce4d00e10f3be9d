"""Small Claude Code records, row by row, in the shapes that the real program writes.

In: what was said and done. Out: the lines of a `<session>.jsonl`. By hand, not the real program:
the shapes are those of the real records under tests/data/records.
"""

import json
from pathlib import Path
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"


class Conversation:
    """Rows in one unbroken chain."""

    def __init__(self, cwd: str = "/w/project") -> None:
        self.cwd = cwd
        self.rows: list[dict[str, Any]] = []

    def _row(self, kind: str, **members: Any) -> None:
        number = len(self.rows)
        self.rows.append(
            {
                "parentUuid": f"u-{number - 1}" if number else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": self.cwd,
                "sessionId": SESSION,
                "version": "2.1.100",
                "type": kind,
                "uuid": f"u-{number}",
                "timestamp": f"2026-03-01T10:00:{number:02d}.000Z",
                **members,
            }
        )

    def person(self, text: str) -> "Conversation":
        self._row("user", message={"role": "user", "content": text})
        return self

    def says(self, text: str) -> "Conversation":
        return self._assistant({"type": "text", "text": text})

    def calls(
        self, name: str, given: dict[str, Any], result: Any = "done", *, use: Any = None
    ) -> "Conversation":
        call = f"toolu_{len(self.rows)}"
        self._assistant({"type": "tool_use", "id": call, "name": name, "input": given})
        content = [{"type": "tool_result", "tool_use_id": call, "content": result}]
        self._row("user", message={"role": "user", "content": content}, toolUseResult=use)
        return self

    def todos(self, *todos: tuple[str, str]) -> "Conversation":
        rows = [{"content": text, "status": how, "activeForm": text} for text, how in todos]
        return self.calls("TodoWrite", {"todos": rows}, "Todos have been modified", use={})

    def asks(self, question: str, answer: str) -> "Conversation":
        given = {"questions": [{"question": question, "header": "h", "options": []}]}
        use = {"questions": given["questions"], "answers": {question: answer}}
        return self.calls("AskUserQuestion", given, "User has answered", use=use)

    def commits(self) -> "Conversation":
        given = {"command": "git commit -qm work"}
        return self.calls("Bash", given, "[main 1a2b3c4] work\n 1 file changed")

    def _assistant(self, block: dict[str, Any]) -> "Conversation":
        message = {"id": f"msg_{len(self.rows)}", "role": "assistant", "content": [block]}
        self._row("assistant", message=message)
        return self

    def lines(self) -> bytes:
        return b"".join(json.dumps(row).encode() + b"\n" for row in self.rows)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.lines())
        return path
