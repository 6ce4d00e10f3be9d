"""`verdict-core mcp` as a real process, met by the SDK's own client or line by line.

In: words of the command line. Out: a `Hosted` whose calls are those of the client, or a `Wire` that
writes and reads the protocol's lines itself.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, Tool
from running import PATIENCE_S

from verdict_core.context import FIELDS, Summary, build
from verdict_core.wire import parse

CHECK = ["--check", "--", "grep", "-q", "x = 1", "src/a.py"]


def summary(**fields: Any) -> dict[str, Any]:
    """A summary in which nothing is open but these."""
    return {"session": "s", **{name: [] for name in FIELDS}, "unknown": [], **fields}


def state(given: dict[str, Any]) -> dict[str, Any]:
    """The state that a summary renders to, as it stands on the wire."""
    return dict(parse(json.dumps(build(Summary.from_payload(given)).payload())))


OPEN, CLEAR = summary(todos=["write the test"]), summary()
DOCUMENT = {"summary": OPEN, "state": state(OPEN)}
CASES = [
    {"id": "a", "label": "lost", "summary": OPEN},
    {"id": "b", "label": "keep", "summary": CLEAR},
]
CLAIM = {"claim": "x is set", "guard_scope": "src/**"}


def place(top: Path) -> Path:
    """A workspace below `top` in which the check holds."""
    workspace = top / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a.py").write_text("x = 1\n")
    return workspace


# As the entry point of an installed package: the working directory lends no modules.
SERVER = (sys.executable, "-P", "-m", "verdict_core", "mcp")


class Hosted:
    """One client with its server, used from outside of its event loop."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal, self.client = portal, client

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> CallToolResult:
        result: CallToolResult = self.portal.call(self.client.call_tool, tool, arguments)
        return result

    def tools(self) -> list[Tool]:
        return self.portal.call(self.client.list_tools).tools

    def answer(self, tool: str, arguments: dict[str, Any] | None = None) -> Any:
        """The structure of a call that was not refused."""
        result = self.call(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def refused(self, tool: str, arguments: dict[str, Any] | None = None) -> tuple[str, str]:
        """Code and path of a call that was refused: the same in its structure and its text."""
        result = self.call(tool, arguments)
        assert result.is_error, result.content
        assert list(result.structured_content) == ["refused"]
        said = result.structured_content["refused"]
        assert list(said) == ["code", "path", "message"]
        text = text_of(result)
        assert text.startswith(f"{said['path']}: {said['code']}: ")
        assert len(text.splitlines()) == 1
        return said["code"], said["path"]


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


@contextmanager
def hosted(
    *words: str | Path, cwd: Path, mode: str = "auto", env: dict[str, str] | None = None
) -> Iterator[Hosted]:
    """The server with these words, in `cwd`. What it says on its standard error is `cwd`/stderr
    of its parent."""
    server = StdioServerParameters(
        command=SERVER[0],
        args=[*SERVER[1:], *map(str, words)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )
    with (
        (cwd.parent / "stderr").open("w") as errors,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            Client(stdio_client(server, errlog=errors), mode=mode)
        ) as client,
    ):
        yield Hosted(portal, client)


class Wire:
    """The protocol by hand: what no client would send, and who is killed while he waits."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.heard: list[bytes] = []

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def call(self, number: int, tool: str, arguments: str = "{}") -> None:
        """A call whose arguments are this text."""
        self.write(
            b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}'
            % (number, tool.encode(), arguments.encode())
        )

    def reply(self, number: int) -> Any:
        """The reply to a request; every line until then is kept in `heard`."""
        for line in self.heard:
            if (said := json.loads(line)).get("id") == number:
                return said
        assert self.process.stdout is not None
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if not select.select([self.process.stdout], [], [], 1.0)[0]:
                continue
            line = self.process.stdout.readline()
            assert line, "the server closed its output"
            self.heard.append(line)
            said = json.loads(line)
            if said.get("id") == number:
                return said
        raise AssertionError(f"no reply to {number}: {self.heard}")


@contextmanager
def wired(*words: str | Path, cwd: Path, errors: Path | None = None) -> Iterator[Wire]:
    """The server, greeted. It is killed with the block. `errors` gets its standard error."""
    with open(errors or os.devnull, "wb") as stderr:
        process = subprocess.Popen(
            [*SERVER, *map(str, words)],
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
        )
    with process:
        wire = Wire(process)
        try:
            client = {"name": "by hand", "version": "1"}
            first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
            wire.send(id=0, method="initialize", params=first)
            wire.reply(0)
            wire.send(method="notifications/initialized")
            yield wire
        finally:
            process.kill()


def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds; fail where it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)


def is_gone(process: int) -> bool:
    """Whether a process is dead; one that nobody reaps is."""
    try:
        status = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return True
    return status.rpartition(b")")[2].split()[0] == b"Z"


def slow_check(mark: Path) -> Sequence[str]:
    """A check that starts another process, writes down who they are, and takes a minute."""
    code = (
        "import os, pathlib, subprocess, sys, time\n"
        "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "mark = pathlib.Path(sys.argv[1])\n"
        "mark.with_suffix('.new').write_text(f'{os.getpid()} {other.pid}')\n"
        "mark.with_suffix('.new').replace(mark)\n"
        "time.sleep(60)\n"
    )
    return ["--check", "--", sys.executable, "-c", code, str(mark)]


def who(mark: Path) -> list[int]:
    """The processes of a slow check, once it runs."""
    until(mark.exists)
    return [int(word) for word in mark.read_text().split()]


async def cancelled_after(client: Client, ready: Callable[[], bool], tool: str, given: Any) -> None:
    """Make a call, and let it go as soon as `ready` says so."""
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, tool, given)
        while not ready():
            await anyio.sleep(0.02)
        group.cancel_scope.cancel()
