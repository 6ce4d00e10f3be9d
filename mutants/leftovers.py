"""Processes that a broken package left running.

In: a path that stands in their environment. Out: none of them. Where there is no /proc nothing is
done: they end by themselves, sooner or later.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path


def sweep(mark: Path) -> None:
    """Kill every process that was started with `mark` as an entry of a path in its environment."""
    needle = f"{mark}{os.pathsep}".encode()
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if needle in file.read_bytes():
                os.kill(int(file.parent.name), signal.SIGKILL)
