"""An implementation as a child process: one line to it, one line back, within a time limit.

Laws: a child that crashes, hangs, prints garbage, answers another request, or floods is never taken
for one that answered; after any of these it is killed with all that it started, and a new one gets
the next request, so only the request at hand is charged. (SPEC CF-RUN-6, CF-RUN-7)
"""

import contextlib
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from enum import StrEnum
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Protocol

from verdict_core.conformance.protocol import MAX_REPLY
from verdict_core.errors import Usage, visible

TIME_LIMIT_S = 5.0
"""How long one reply may take, and the end of a child whose input has ended. (SPEC CF-RUN-6)"""
START_FACTOR = 6
"""How many times as long the first reply of a child that was just started may take."""
RESTARTS = 20
"""How often one check may need a new child: each costs a start, and shrinking tries many."""
ALL_RESTARTS, ALL_TIMEOUTS = 200, 8
"""How often a whole run may, and may wait for nothing. After that nothing more is asked."""

_CHUNK = 1 << 16
_TAIL = 2_000


class Fault(StrEnum):
    """What a child does instead of replying. (SPEC CF-RUN-6)"""

    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    FLOODED = "flooded"
    UNASKED = "spoke_unasked"
    GARBAGE = "garbage"
    OTHER_ID = "other_id"
    MISSHAPEN = "misshapen"
    ERROR = "said_error"


class Misbehaved(Exception):
    """The child did something else than to reply. A smaller input may show it as well."""

    def __init__(self, fault: Fault, said: str) -> None:
        super().__init__(f"{fault}: {said}")
        self.fault = fault


class GaveUp(BaseException):
    """The same where nobody is to look for a smaller input: each would take too long."""

    def __init__(self, fault: Fault, said: str) -> None:
        super().__init__(f"{fault}: {said}")
        self.fault = fault


class Gone(BaseException):
    """There is nobody to ask any more: the child failed too often, or starts no more."""


class Door(Protocol):
    """Whoever takes a line and gives one: a child process, or a function. `restarts` counts the
    faults, until whoever asks sets it to 0."""

    restarts: int

    def ask(self, line: bytes) -> bytes:
        """The reply to one line, both without LF. Raises Misbehaved, GaveUp."""

    def fail(self, fault: Fault, said: str) -> BaseException:
        """What to raise when the reply is none: the two sides are no longer in step."""

    def stops(self) -> bool:
        """Whether the other side ends when its input does. The next line starts it anew."""

    def stop(self) -> None:
        """End it, whatever it does."""


class InProcess:
    """A door with a function behind it."""

    def __init__(self, reply: Callable[[bytes], bytes]) -> None:
        self.restarts = 0
        self._reply = reply

    def ask(self, line: bytes) -> bytes:
        return self._reply(line)

    def fail(self, fault: Fault, said: str) -> BaseException:
        return Misbehaved(fault, said)

    def stops(self) -> bool:
        return True

    def stop(self) -> None:
        pass


class Child:
    """A command, started when it is first asked and again after each fault. (CF-RUN-6, CF-RUN-7)"""

    def __init__(self, command: Sequence[str], *, time_limit_s: float = TIME_LIMIT_S) -> None:
        self.command = tuple(command)
        self.restarts = 0
        self._time_limit_s = time_limit_s
        self._process: Popen[bytes] | None = None
        self._poll = select.poll()
        self._is_new = True
        self._starts = 0
        self._timeouts = 0
        self._errors: deque[bytes] = deque(maxlen=8)

    def ask(self, line: bytes) -> bytes:
        """The line that comes back. Raises Misbehaved, GaveUp or Gone, and Usage where the command
        cannot be started at all."""
        process = self._process or self._start()
        limit = self._time_limit_s * (START_FACTOR if self._is_new else 1)
        self._is_new = False
        reply = self._exchange(process, line + b"\n", time.monotonic() + limit)
        whole, end, rest = reply.partition(b"\n")
        if not end:
            raise self.fail(Fault.CRASHED, f"{self._ended(process)}{_partly(reply)}")
        if rest:
            raise self.fail(Fault.UNASKED, f"more than one line: {_shown(rest)}")
        return whole

    def fail(self, fault: Fault, said: str) -> Misbehaved | GaveUp:
        """The exception to raise. The child is killed: what it says next is out of step."""
        self.stop()
        self.restarts += 1
        if fault is Fault.TIMED_OUT:
            self._timeouts += 1
            return GaveUp(fault, said)
        return (GaveUp if self.restarts > RESTARTS else Misbehaved)(fault, said)

    def stop(self) -> None:
        """Kill the child with all that it started."""
        process, self._process = self._process, None
        if process is not None:
            self._reap(process)

    def stops(self) -> bool:
        """Whether the child ends when its input does, saying nothing more. (SPEC CF-PROTO-10)"""
        process, self._process = self._process, None
        if process is None:
            return True
        deadline = time.monotonic() + self._time_limit_s
        _, out, err = _pipes(process)
        assert process.stdin is not None
        process.stdin.close()
        try:
            while ready := self._poll.poll(max(deadline - time.monotonic(), 0) * 1000):
                if any(fd == err for fd, _ in ready):
                    self._listen(err)
                elif os.read(out, _CHUNK):
                    return False
                else:
                    process.wait(timeout=self._time_limit_s)
                    return True
        except TimeoutExpired:
            pass
        finally:
            self._reap(process)
        return False

    def _start(self) -> Popen[bytes]:
        if self._starts > ALL_RESTARTS or self._timeouts >= ALL_TIMEOUTS:
            raise Gone(f"started {self._starts} times, and {self._timeouts} times without a reply")
        try:
            process = Popen(
                self.command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            said = f"cannot be started: {getattr(error, 'strerror', None) or error}"
            if self._starts:
                raise Gone(said) from None
            raise Usage(said, path=self.command[0]) from None
        self._starts += 1
        self._process, self._is_new = process, True
        self._errors.clear()
        self._poll = select.poll()
        stdin, out, err = _pipes(process)
        for fd in (stdin, out, err):
            os.set_blocking(fd, False)
        self._poll.register(out, select.POLLIN)
        self._poll.register(err, select.POLLIN)
        return process

    def _exchange(self, process: Popen[bytes], data: bytes, deadline: float) -> bytes:
        """What the child writes from now on up to its LF, and all that comes with that."""
        stdin, out, err = _pipes(process)
        reply = bytearray()
        data = self._tell(stdin, data)
        while not reply.endswith(b"\n") and b"\n" not in reply[-_CHUNK:]:
            left = deadline - time.monotonic()
            ready = self._poll.poll(max(left, 0) * 1000)
            if left <= 0 or not ready:
                raise self.fail(Fault.TIMED_OUT, f"no reply within the time limit{_partly(reply)}")
            for fd, _ in ready:
                if fd == err:
                    self._listen(err)
                elif fd == out:
                    chunk = os.read(out, _CHUNK)
                    if not chunk:
                        return bytes(reply)
                    reply += chunk
                else:
                    data = self._tell(fd, data)
            if len(reply) > MAX_REPLY:
                raise self.fail(Fault.FLOODED, f"a line of more than {MAX_REPLY} bytes")
        if data:
            raise self.fail(Fault.UNASKED, "it replied before it had read the request")
        return bytes(reply)

    def _tell(self, fd: int, data: bytes) -> bytes:
        """Write some of `data`, and listen for when the rest of it can be."""
        try:
            rest = data[os.write(fd, data) :]
        except BlockingIOError:
            rest = data
        except BrokenPipeError:
            rest = b""
        if rest:
            self._poll.register(fd, select.POLLOUT)
        else:
            with contextlib.suppress(KeyError):
                self._poll.unregister(fd)
        return rest

    def _listen(self, fd: int) -> None:
        chunk = os.read(fd, _CHUNK)
        self._errors.append(chunk[-_TAIL:])
        if not chunk:
            self._poll.unregister(fd)

    def _ended(self, process: Popen[bytes]) -> str:
        """How a child that closed its output ended, and what it said last on stderr."""
        try:
            status = process.wait(timeout=self._time_limit_s)
        except TimeoutExpired:
            return "it closed its output and goes on"
        with contextlib.suppress(BlockingIOError):
            self._errors.append(os.read(_pipes(process)[2], _CHUNK)[-_TAIL:])
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        said = b"".join(self._errors)[-_TAIL:].decode(errors="replace").strip()
        return f"it ended with {how}" + (f": {visible(said)}" if said else "")

    def _reap(self, process: Popen[bytes]) -> None:
        # Its group, so that nothing that it started lives on.
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with process:
            pass


def _pipes(process: Popen[bytes]) -> tuple[int, int, int]:
    files = (process.stdin, process.stdout, process.stderr)
    stdin, out, err = (file.fileno() for file in files if file is not None)
    return stdin, out, err


def _partly(reply: bytes | bytearray) -> str:
    return f"; it had written {_shown(reply)}" if reply else ""


def _shown(data: bytes | bytearray) -> str:
    return visible(bytes(data[:100]).decode(errors="replace")) + ("…" if len(data) > 100 else "")
