"""A model that is scripted, on the loopback interface, for a real harness to talk to.

In: the bodies of requests. Out: what the script says, as a stream of server-sent events. Every
request is remembered, so that a test can look at what reached the model.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Event = dict[str, Any]
# A request's body, and what it is answered with: what kind of request it was, and its events.
Script = Callable[[Body], tuple[str, list[Event]]]


class Model:
    """`address` is where it listens; `requests` are kind and body, in the order they came."""

    def __init__(self, script: Script) -> None:
        self.requests: list[tuple[str, Body]] = []
        self._script = script
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator["Model"]:
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.requests]

    def last_text(self) -> str:
        """Everything that the last request said, as JSON."""
        return json.dumps(self.requests[-1][1], ensure_ascii=False)

    def answer(self, body: Body) -> list[Event]:
        with self._lock:
            kind, events = self._script(body)
            self.requests.append((kind, body))
        return events

    def _handler(model) -> type[BaseHTTPRequestHandler]:  # noqa: N805  # `self` is the handler's
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._send(404, "application/json", b"{}")

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                events = model.answer(json.loads(self.rfile.read(size) or b"{}"))
                lines = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
                self._send(200, "text/event-stream", "".join(lines).encode())

            def _send(self, status: int, kind: str, data: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler
