"""A model that says what a script tells it, behind the Messages API, on this machine alone.

In: a script, from a word in a prompt to the answers that follow it. Out: the address of a server.
"""

import json
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
Script = Mapping[str, Sequence[Block]]


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def call(name: str, **given: Any) -> Block:
    return {"type": "tool_use", "name": name, "input": given}


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serves until the block is left. The newest prompt that holds a word of the script begins its
    answers, one a request; after them, and without such a word, it says "All right."."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *about: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in _events(_answer(script, asked)):
                line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                self.wfile.write(line.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _answer(script: Script, asked: Mapping[str, Any]) -> Block:
    answered = 0
    for message in reversed(asked["messages"] if asked.get("tools") else []):
        if message["role"] == "assistant":
            answered += 1
            continue
        said = json.dumps(message["content"])
        if "summary of the conversation" in said:
            return text("<summary>(what came before)</summary>")
        word = next((word for word in script if word in said), None)
        if word is not None:
            answers = script[word]
            return answers[answered] if answered < len(answers) else text("All right.")
    return text("All right.")


def _events(block: Block) -> Iterator[Block]:
    is_call = block["type"] == "tool_use"
    usage = {"input_tokens": 100, "output_tokens": 10}
    about = {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": about}
    begun = (
        {**block, "id": f"toolu_{uuid.uuid4().hex}", "input": {}}
        if is_call
        else {**block, "text": ""}
    )
    yield {"type": "content_block_start", "index": 0, "content_block": begun}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if is_call
        else {"type": "text_delta", "text": block["text"]}
    )
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "tool_use" if is_call else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}
