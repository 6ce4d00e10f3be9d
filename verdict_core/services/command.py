"""A command as the service: the request's JSON on its stdin, the answer's JSON on its stdout.

In: an argument list and a request. Out: what the command printed, unread, or NoAnswer with exactly
one detail. Laws: no shell; one deadline; whatever the command started in its group is dead when
`ask` returns, however it returns. (SPEC SV-CMD)
"""

import contextlib
import os
import signal
from collections.abc import Iterable
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from subprocess import DEVNULL, PIPE, Popen
from time import monotonic

from attrs import field, frozen

from verdict_core import wire
from verdict_core.context.ask import Detail, NoAnswer, Request
from verdict_core.errors import BadConfig
from verdict_core.services.reply import DEADLINE_S, REPLY_BYTES, seconds, unfenced

# A group can outlive the pipe's end and the other way round, so both are looked at: the pipes by
# waiting, the command by asking after it this often.
_TICK_S = 0.01
# What a shell, env or nice ends with where the program behind it is not there or may not be run.
_NOT_STARTED = (126, 127)


def _arguments(value: Iterable[str]) -> tuple[str, ...]:
    argv = () if isinstance(value, str) else tuple(value)
    if not argv or not all(isinstance(part, str) for part in argv):
        raise BadConfig("expected a program and its arguments, as a list", path="argv")
    return argv


@frozen
class Command:
    """`argv`, a program and its arguments; `deadline_s`, seconds that one asking may take. Raises
    BadConfig. (SPEC SV-CMD-1)"""

    argv: tuple[str, ...] = field(converter=_arguments)
    deadline_s: float = field(default=DEADLINE_S, validator=seconds)

    def ask(self, request: Request, /) -> bytes:
        """What the command printed. Raises NoAnswer: misconfigured where it cannot be started,
        timeout, unreachable where it ends badly, unreadable where it prints too much.
        (SPEC SV-CMD-2 to SV-CMD-1)"""
        given = wire.compact(request.payload())
        ends = monotonic() + self.deadline_s
        try:
            # Its complaints go nowhere: they may hold the key that it works with.
            process = Popen(
                self.argv,
                bufsize=0,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            why = getattr(error, "strerror", None) or "no such argument list"
            raise NoAnswer(Detail.MISCONFIGURED, f"the command cannot be started: {why}") from None
        with process:
            try:
                output, alive = _exchange(process, memoryview(given), ends)
            finally:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
        return unfenced(self._judged(output, alive, process.returncode))

    def _judged(self, output: bytes, alive: bool, status: int) -> bytes:
        if len(output) > REPLY_BYTES:
            raise NoAnswer(Detail.UNREADABLE, f"the command printed more than {REPLY_BYTES} bytes")
        if alive:
            raise NoAnswer(Detail.TIMEOUT, f"the command did not end within {self.deadline_s:g} s")
        if status in _NOT_STARTED:
            raise NoAnswer(Detail.MISCONFIGURED, f"the command ended with status {status}")
        if status < 0:
            raise NoAnswer(Detail.UNREACHABLE, f"the command was ended by signal {-status}")
        if status > 0:
            raise NoAnswer(Detail.UNREACHABLE, f"the command ended with status {status}")
        return output


def _exchange(process: Popen[bytes], given: memoryview, ends: float) -> tuple[bytes, bool]:
    """What the command printed until it ended, said too much or ran out of time; and whether it
    was still alive then."""
    assert process.stdin is not None
    assert process.stdout is not None
    output = bytearray()
    alive = True
    with DefaultSelector() as ready:
        os.set_blocking(process.stdin.fileno(), False)
        ready.register(process.stdin, EVENT_WRITE)
        ready.register(process.stdout, EVENT_READ)
        # Once the command has ended, one read gets all that it left in the pipe. What it started
        # may hold the pipe open for ever and is not waited for.
        while alive and len(output) <= REPLY_BYTES and (left := ends - monotonic()) > 0:
            alive = process.poll() is None
            for key, _ in ready.select(min(left, _TICK_S) if alive else 0):
                if key.fileobj is process.stdout:
                    printed = os.read(key.fd, REPLY_BYTES + 1)
                    output += printed
                    pipe, done = process.stdout, not printed
                else:
                    given = _feed(key.fd, given)
                    pipe, done = process.stdin, not given
                if done:
                    ready.unregister(pipe)
                    pipe.close()
    return bytes(output), alive


def _feed(pipe: int, given: memoryview) -> memoryview:
    """What is left of `given`: nothing, where the command does not want to read it."""
    try:
        return given[os.write(pipe, given) :]
    except BrokenPipeError:
        return given[:0]
