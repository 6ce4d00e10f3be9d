"""Work in a process of its own, with an end that holds whatever hangs in it.

In: work, and when it has to be over. Out: how it ended, and the last that it said. Laws: a git, a
disk or a parser that hangs, and a crash of the interpreter, end the work and not its caller.
(SPEC HK-FAIL-2)
"""

import json
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from types import FrameType
from typing import Any, NoReturn

from attrs import frozen

from verdict_core.errors import VerdictCoreError

Said = dict[str, Any]
Tell = Callable[[Said], None]
Work = Callable[[Tell], None]

# How long a process may take to end after it was asked to, and again after it was made to.
GRACE_S = 0.1
_CHUNK = 1 << 16


class Ended(StrEnum):
    """How the work ended: of itself, by a refusal, by a crash, or because its time was over."""

    DONE = "done"
    REFUSED = "refused"
    CRASHED = "crash"
    LATE = "deadline"


@frozen
class Result:
    """`said` is the last that the work told, or None; `fault` says in a line what ended it, and
    `code` is the refusal's."""

    ended: Ended
    said: Said | None = None
    code: str = ""
    fault: str = ""


class _TimeIsOver(BaseException):
    """Raised where the work stands, so that it takes what it started with it."""


def within(until: float, work: Work) -> Result:
    """Does `work` in a process of its own until `until`, a `time.monotonic()` value. What it tells
    is JSON, and the last of it counts. Raises OSError where no process can be made."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        _be_the_child(writing, work)
    os.close(writing)
    late = True
    try:
        result = _hear(reading, until)
        late = result.ended is Ended.LATE
    finally:
        os.close(reading)
        _end(process, late=late)
    return result


def _be_the_child(writing: int, work: Work) -> NoReturn:
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, _stop_here)
        # Whoever started the hook waits until nobody can write to it any more.
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        last = _done(writing, work)
        _send(writing, last)
        status = 0
    finally:
        os._exit(status)


def _done(writing: int, work: Work) -> Said:
    try:
        work(lambda said: _send(writing, {"said": said}))
    except VerdictCoreError as error:
        return {"ended": Ended.REFUSED, "code": error.code, "fault": str(error)}
    except Exception as error:  # whoever waits is told, and decides as for any failure
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(where.filename)}, line {where.lineno}"
        return {"ended": Ended.CRASHED, "fault": f"{type(error).__name__}: {error} ({place})"}
    return {"ended": Ended.DONE}


def _send(writing: int, said: Said) -> None:
    data = json.dumps(said).encode() + b"\n"
    while data:
        data = data[os.write(writing, data) :]


def _stop_here(number: int, frame: FrameType | None) -> NoReturn:
    raise _TimeIsOver


def _hear(reading: int, until: float) -> Result:
    heard, said = b"", None
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return Result(Ended.LATE, said, fault="the time that this hook may take was over")
        more = os.read(reading, _CHUNK)
        if not more:
            fault = "the process ended without a word"
            return Result(Ended.CRASHED, said, fault=fault)
        *lines, heard = (heard + more).split(b"\n")
        for message in map(json.loads, lines):
            if "ended" in message:
                return Result(**{**message, "ended": Ended(message["ended"])}, said=said)
            said = message["said"]


def _end(process: int, *, late: bool) -> None:
    """Ends the process and what it started, and waits for it no longer than it has to."""
    for number in (signal.SIGTERM, signal.SIGKILL) if late else (None, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError):
                os.kill(process, number)
        until = time.monotonic() + GRACE_S
        while time.monotonic() < until:
            if os.waitpid(process, os.WNOHANG)[0]:
                return
            time.sleep(0.002)
