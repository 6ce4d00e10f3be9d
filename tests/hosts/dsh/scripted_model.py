"""A chat model on loopback that says what a script says, a turn a request, and keeps what it hears.

In: turns, each a tool call or the last words. Out: an address for the host, and the tool results
that it sent back, by the name of the tool that was called.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Call = tuple[str, dict[str, Any]]
_COMPACT = "x-deepseek-harness-compact"


class Model:
    """`results` has, for each call of the script in turn, what the host gave back as text."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = calls
        self.offered: set[str] = set()
        self.results: list[str] = []
        self._turn = 0

    def turn(self, asked: dict[str, Any], compacting: bool) -> dict[str, Any]:
        """The message that answers a request."""
        if compacting or not asked.get("tools"):
            return {"content": "a title"}
        self.offered |= {tool["function"]["name"] for tool in asked["tools"]}
        said = [m for m in asked["messages"] if m["role"] == "tool"]
        self.results = [_text(message["content"]) for message in said]
        number, self._turn = self._turn, self._turn + 1
        if number >= len(self.calls):
            return {"content": "That is all."}
        name, arguments = self.calls[number]
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        return {"content": "", "tool_calls": [call]}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


@contextmanager
def served(model: Model) -> Iterator[str]:
    """The model's base address, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: Any) -> None:
            """Nothing: the host's own output is what a failure is read from."""

        def do_GET(self) -> None:  # the name that the server looks for
            self._send("application/json", [b"{}"])

        def do_POST(self) -> None:  # the name that the server looks for
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            said = model.turn(asked, compacting=self.headers.get(_COMPACT) == "1")
            end = "tool_calls" if "tool_calls" in said else "stop"
            usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
            chunks = [
                _chunk(asked, {"role": "assistant", **said}, None),
                {**_chunk(asked, {}, end), "usage": usage},
            ]
            lines = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
            self._send("text/event-stream", [*lines, b"data: [DONE]\n\n"])

        def _send(self, kind: str, pieces: Sequence[bytes]) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(b"".join(pieces))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _chunk(asked: dict[str, Any], delta: dict[str, Any], end: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    head = {"id": "scripted", "object": "chat.completion.chunk", "created": 0}
    return {**head, "model": asked["model"], "choices": [choice]}
