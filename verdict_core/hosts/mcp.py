"""`verdict-core mcp`: the six tools, served over standard input and output by the official SDK.

In: settings, then calls. Out: results; refusals as results that are errors; crashes as errors of
the protocol. Laws: the SDK carries messages and judges no argument; each call runs in a process of
its own, so that nothing waits for it and all that it started ends with it. (SPEC MC-OUT, MC-RUN)
"""

import json
import signal
import sys
import traceback
from subprocess import PIPE
from typing import Any

import anyio
from anyio.abc import Process
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
)

import verdict_core
from verdict_core import wire
from verdict_core.errors import VerdictCoreError
from verdict_core.hosts.mcp_options import Settings
from verdict_core.hosts.mcp_surface import INSTRUCTIONS, TOOLS

AT_ONCE = 8
"""Calls that run at the same time; others wait. (SPEC MC-RUN-4)"""

GRACE_S = 5.0
"""Seconds in which an interrupted call has to be gone. (SPEC MC-RUN-2)"""

# -P: whoever works in the directory where the server was started must not lend it modules.
_CALL = (sys.executable, "-P", "-m", "verdict_core.hosts.mcp_call")
_VERIFY = "verified_progress_verify"
_CRASHED = "this is a fault of verdict-core, not a verdict and not a ruling; see its standard error"


def run(settings: Settings) -> int:
    """Serve until the client closes our input; exit status 0. (SPEC MC-RUN-3)"""
    # An interruption would otherwise wait for the client's next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, settings)
    except* BrokenPipeError:
        print("verdict-core: the client went away and did not hear all answers", file=sys.stderr)
    return 0


async def _serve(settings: Settings) -> None:
    server = server_of(settings)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def server_of(settings: Settings) -> Server[Any]:
    """The server, not running yet. (SPEC MC-TOOL-1)"""
    tools = [Tool.model_validate(tool) for tool in TOOLS]
    names = {tool.name for tool in tools}
    at_once, verifying = anyio.CapacityLimiter(AT_ONCE), anyio.CapacityLimiter(1)

    async def listed(context: object, params: object) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def called(context: object, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in names:
            raise MCPError(INVALID_PARAMS, f"there is no tool of the name {params.name!r}")
        asked = {
            "tool": params.name,
            "arguments": json.dumps(params.arguments or {}),
            "settings": settings,
        }
        # Two verifiers at work would each be a change of the other's workspace.
        async with verifying if params.name == _VERIFY else at_once:
            try:
                return _result(await _said(json.dumps(asked).encode() + b"\n"))
            except Exception:  # told as a fault: a call that crashed has no answer
                traceback.print_exc()
                raise MCPError(INTERNAL_ERROR, _CRASHED) from None

    return Server(
        "verdict-core",
        version=verdict_core.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )


async def _said(line: bytes) -> dict[str, Any]:
    """What a call says. However it ends, its process is gone. (SPEC MC-REF-2, MC-RUN-2)"""
    async with await anyio.open_process(_CALL, stdin=PIPE, stdout=PIPE, stderr=None) as call:
        try:
            said = await _talk(call, line)
        finally:
            await _end(call)
    if call.returncode != 0:
        raise RuntimeError(f"a call ended with {call.returncode}")
    return dict(wire.parse(said))


async def _talk(call: Process, line: bytes) -> bytes:
    assert call.stdin is not None
    assert call.stdout is not None
    said = bytearray()
    await call.stdin.send(line)
    async for chunk in call.stdout:
        said += chunk
    await call.wait()
    return bytes(said)


async def _end(call: Process) -> None:
    """The end of its input interrupts a call that still runs, and it ends what it started."""
    assert call.stdin is not None
    with anyio.move_on_after(GRACE_S, shield=True):
        await call.stdin.aclose()
        await call.wait()


def _result(said: dict[str, Any]) -> CallToolResult:
    """The result of the protocol: structure, and the same as text. (SPEC MC-OUT-1, MC-REF-1)"""
    refused = said.get("refused")
    if refused is None:
        shown, text = said["result"], wire.compact(said["result"]).decode()
    else:
        place = {"path": refused["path"], "code": refused["code"]}
        shown, text = said, str(VerdictCoreError(refused["message"], **place))
    content = [TextContent(type="text", text=text)]
    return CallToolResult(
        content=[*content], structured_content=shown, is_error=refused is not None
    )
