"""Claude Agent SDK: the hook for Claude Code as callbacks of a Python program.

In: what the SDK hands to a hook. Out: what its CLI reads. Laws: each firing is decided by
`verdict-core hook claude-code` in a process of its own, so nothing differs from the installed hook;
only a manual compaction is ever blocked, and where nobody could decide, once. (SPEC FW-SDK; extra
`claude-agent`)
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from verdict_core import wire
from verdict_core.errors import visible

DEADLINE_S = 5.0
_SLACK_S = 10.0  # for an interpreter to start, and to end
_BLOCKS = 2
COMMAND: Sequence[str] = (sys.executable, "-P", "-m", "verdict_core", "hook", "claude-code")


class CompactionHooks:
    """The callbacks of one program. `deadline`: seconds for each decision; `options`: more of
    those of `verdict-core hook claude-code`, such as `("--wait-min", "0")`. (SPEC FW-SDK-1)"""

    def __init__(self, *, deadline: float = DEADLINE_S, options: Sequence[str] = ()) -> None:
        self._command = [*COMMAND, "--deadline", f"{deadline:g}", *options]
        self._limit = deadline + _SLACK_S
        self._stopped: set[object] = set()

    def matchers(self) -> dict[Any, list[Any]]:
        """For `ClaudeAgentOptions(hooks=...)`. SessionStart, by which the open items come back
        after a compaction, is not in the SDK's types but in what it hands on. (SPEC FW-SDK-1)"""
        from claude_agent_sdk import HookMatcher

        matcher = HookMatcher(hooks=[self.answer], timeout=self._limit + _SLACK_S)
        return {"PreCompact": [matcher], "SessionStart": [matcher]}

    async def answer(
        self, payload: Any, tool_use_id: str | None = None, context: Any = None
    ) -> dict[str, Any]:
        """The answer to one firing; raises nothing but a cancellation. (SPEC FW-SDK-2 to 4)"""
        try:
            with anyio.fail_after(self._limit):
                done = await anyio.run_process(
                    self._command, input=json.dumps(payload).encode(), check=False
                )
            return _answer(payload, done.returncode, done.stdout, done.stderr)
        except Exception as error:  # the CLI takes a callback that raises for a pass
            return self._undecided(payload, f"{type(error).__name__}: {error}")

    def _undecided(self, payload: Any, fault: str) -> dict[str, Any]:
        session = payload.get("session_id") if isinstance(payload, Mapping) else None
        text = f"verdict-core: wait: this compaction could not be judged: {visible(fault)}."
        if _is_manual(payload) and session not in self._stopped:
            self._stopped.add(session)
            return _block(f"{text} It is stopped this once: compact again to go on.")
        return {"systemMessage": f"{text} Nothing says that it loses no work."}


def _answer(payload: Any, status: int, stdout: bytes, stderr: bytes) -> dict[str, Any]:
    """What the CLI reads, of how the hook ended. (SPEC FW-SDK-2, FW-SDK-3)"""
    text = stderr.decode(errors="backslashreplace").strip()
    if status == _BLOCKS:
        return _block(text) if _is_manual(payload) else {"systemMessage": text}
    if status != 0:
        raise ChildProcessError(f"the hook ended with status {status}: {text[-200:]}")
    answer = wire.parse(stdout) if stdout.strip() else {}
    if not isinstance(answer, dict):
        raise ChildProcessError("the hook printed something else than an object")
    return answer


def _block(text: str) -> dict[str, Any]:
    # Of a callback the CLI shows `systemMessage`; `reason` alone reaches nobody.
    return {"decision": "block", "reason": text, "systemMessage": text}


def _is_manual(payload: Any) -> bool:
    return (
        isinstance(payload, Mapping)
        and payload.get("hook_event_name") == "PreCompact"
        and payload.get("trigger") == "manual"
        and payload.get("agent_id") in (None, "")
    )
