"""A real HTTP server on loopback that answers as an OpenAI-compatible endpoint, or misbehaves.

In: one way to answer for each request, the last one for all that follow. Out: its base address, and
every request that it got. Law: no thread, socket or hanging way outlives its `with`.
"""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, BinaryIO

from attrs import frozen

REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized"}


@frozen
class Asked:
    """A request as it came: names of headers in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@frozen
class Exchange:
    """What a way of answering is given: `over` is set when the server stops."""

    asked: Asked
    connection: socket.socket
    over: threading.Event

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def drip(self, data: Iterator[bytes] | bytes, every_s: float) -> None:
        """Send a byte after another, with a pause before each."""
        for byte in data:
            if self.over.wait(every_s):
                return
            self.send(bytes([byte]) if isinstance(byte, int) else byte)


Way = Callable[[Exchange], None]


def head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Whatever')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def replies(status: int, body: bytes = b"", **headers: str) -> Way:
    """Any status, body and headers; `_` in a header's name stands for `-`."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    fixed = {"Connection": "close", "Content-Length": str(len(body))}
    return lambda exchange: exchange.send(head(status, {**fixed, **more}) + body)


def completes(*choices: Any) -> Way:
    """A chat completion of these choices."""
    return replies(200, json.dumps({"object": "chat.completion", "choices": choices}).encode())


def says(content: Any, *, finish_reason: str = "stop", **message: Any) -> Way:
    """A chat completion with one message of this content."""
    message = {"role": "assistant", "content": content, **message}
    return completes({"index": 0, "finish_reason": finish_reason, "message": message})


def never_answers(exchange: Exchange) -> None:
    exchange.over.wait()


def head_then_silence(exchange: Exchange) -> None:
    exchange.send(head(200, {"Content-Length": "100"}))
    exchange.over.wait()


def half_a_body_then_silence(exchange: Exchange) -> None:
    exchange.send(head(200, {"Content-Length": "100"}) + b'{"choices": [')
    exchange.over.wait()


def a_body_byte_a_second(exchange: Exchange) -> None:
    exchange.send(head(200, {"Content-Length": "100"}))
    exchange.drip(b" " * 100, 1)


def a_header_byte_at_a_time(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nX-Long: ")
    exchange.drip(b"x" * 1000, 0.1)


def an_error_byte_a_second(exchange: Exchange) -> None:
    exchange.send(head(400, {"Content-Length": "100"}))
    exchange.drip(b" " * 100, 1)


def resets(exchange: Exchange) -> None:
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def closes(exchange: Exchange) -> None:
    """Goes away without a word."""


def breaks_off(status: int) -> Way:
    """Promises more than it sends."""
    return lambda exchange: exchange.send(head(status, {"Content-Length": "100"}) + b'{"ch')


def says_no_http(exchange: Exchange) -> None:
    exchange.send(b"SSH-2.0-OpenSSH_9.6\r\n")


def floods(status: int) -> Way:
    """A body without an end."""

    def way(exchange: Exchange) -> None:
        exchange.send(head(status, {"Connection": "close"}))
        while not exchange.over.is_set():
            exchange.send(b" " * 65536)

    return way


def echoes_the_key(status: int) -> Way:
    """Sends the key back wherever an answer can hold it."""

    def way(exchange: Exchange) -> None:
        said = exchange.asked.headers["authorization"]
        body = json.dumps({"error": {"message": f"Incorrect API key provided: {said}"}}).encode()
        replies(status, body, X_Echo=said, X_Request_Id=said)(exchange)

    return way


class LlmServer:
    """Listens while its `with` lasts. `requests` grows with each request that was read whole."""

    def __init__(self, *ways: Way) -> None:
        self.requests: list[Asked] = []
        self.faults: list[Exception] = []
        self._ways = ways
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.address[1]}/v1"

    def __enter__(self) -> "LlmServer":
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        assert self.faults == []

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as file:
                asked = read_request(file)
                if asked is None:
                    return
                with self._lock:
                    way = self._ways[min(len(self.requests), len(self._ways) - 1)]
                    self.requests.append(asked)
                way(Exchange(asked, connection, self._over))
        except OSError:
            pass  # the client went away, which is its right
        except Exception as fault:  # for the test, which looks at the end
            self.faults.append(fault)


def read_request(file: BinaryIO) -> Asked | None:
    """One request, or None where the client went away or spoke something else than HTTP."""
    line = file.readline(65536).decode("latin-1").rstrip("\r\n")
    if not line.endswith(" HTTP/1.1"):
        return None
    headers = {}
    while (header := file.readline(65536).decode("latin-1").rstrip("\r\n")) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    return Asked(line, headers, file.read(int(headers.get("content-length", "0"))))
