"""One call of a tool, in a process of its own: `python -m verdict_core.hosts.mcp_call`.

In: one line of JSON, `{"tool", "arguments", "settings"}`, and the end of the input as the wish to
stop. Out: one line, `{"result": ...}` or `{"refused": ...}`. Laws: whoever asked goes away, or is
killed, and what was begun for it is interrupted; an interrupted call says nothing. (SPEC MC-RUN)
"""

import json
import os
import signal
import sys
import threading
from argparse import Namespace
from types import FrameType
from typing import Any

from verdict_core.errors import VerdictCoreError
from verdict_core.hosts import cli, mcp_tools


def main() -> int:
    """Answer, and give the exit status: 0 for an answer, whichever it is."""
    _stop_once()
    try:
        asked = json.loads(sys.stdin.buffer.readline())
        threading.Thread(target=_stop_with, args=(sys.stdin.fileno(),), daemon=True).start()
        cli.emit_json(_said(asked))
    except KeyboardInterrupt:
        return cli.EXIT_INTERRUPTED
    return 0


def _said(asked: Any) -> dict[str, Any]:
    settings = Namespace(**asked["settings"])
    try:
        return {"result": mcp_tools.answer(asked["tool"], asked["arguments"], settings)}
    except VerdictCoreError as error:
        return {"refused": cli.refusal(error)}


def _stop_once() -> None:
    """A signal interrupts. A second one would interrupt the killing of what the first one ends."""
    stopped = False

    def stop(signum: int, frame: FrameType | None) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def _stop_with(stdin: int) -> None:
    # Not through the buffer: its lock, held here, would be in the way of a normal end.
    os.read(stdin, 1)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
