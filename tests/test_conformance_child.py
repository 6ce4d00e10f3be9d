"""A child process is lockstep, timed, and never believed when it does something else. (CF-RUN)"""

import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from verdict_core.conformance import child as module
from verdict_core.conformance.child import Child, Fault, GaveUp, Gone, InProcess, Misbehaved
from verdict_core.errors import Usage

# `say(x)` writes, `line` is what came; each script is the body of a loop over stdin.
_LOOP = """\
import os, sys, time
def say(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
for line in sys.stdin.buffer:
{body}
{after}
"""


@contextmanager
def running(body: str, after: str = "", time_limit_s: float = 0.5) -> Iterator[Child]:
    indented = "\n".join(f"    {line}" for line in body.split("\n"))
    script = _LOOP.format(body=indented, after=after)
    child = Child([sys.executable, "-S", "-c", script], time_limit_s=time_limit_s)
    try:
        yield child
    finally:
        child.stop()


def test_a_line_comes_back_for_a_line() -> None:
    """CF-PROTO-2."""
    with running("say(b'<' + line.strip() + b'>\\n')") as child:
        assert child.ask(b"a") == b"<a>"
        assert child.ask(b"b" * 300_000) == b"<" + b"b" * 300_000 + b">"
        assert child.ask(b"") == b"<>"
        assert child.restarts == 0


WRONG = [
    ("sys.stderr.write('no license'); sys.exit(4)", Fault.CRASHED, "exit status 4: no license"),
    ("os.kill(os.getpid(), 9)", Fault.CRASHED, "signal 9"),
    ("say(b'half'); os._exit(0)", Fault.CRASHED, "exit status 0; it had written half"),
    ("os.close(1); time.sleep(9)", Fault.CRASHED, "it closed its output and goes on"),
    ("say(b'a\\nb\\n')", Fault.UNASKED, "more than one line: b"),
    ("say(b'a\\nb')", Fault.UNASKED, "more than one line: b"),
]


@pytest.mark.parametrize(("body", "fault", "said"), WRONG)
def test_what_is_no_reply_is_told_as_what_it_is(body: str, fault: Fault, said: str) -> None:
    """CF-RUN-6, CF-RUN-7: and the next request gets a new child."""
    with running(f"if line == b'bad\\n': {body}\nelse: say(b'good\\n')") as child:
        for n in (1, 2):
            assert child.ask(b"x") == b"good"
            with pytest.raises(Misbehaved) as caught:
                child.ask(b"bad")
            assert caught.value.fault is fault
            assert said in str(caught.value)
            assert child.restarts == n
        assert child.ask(b"x") == b"good"


@pytest.mark.parametrize("before", ["", "say(b'half'); "])
def test_a_reply_that_does_not_come_is_waited_for_and_no_longer(before: str) -> None:
    """CF-RUN-6: with and without half a line."""
    with running(f"if line == b'bad\\n': {before}time.sleep(60)\nsay(b'good\\n')") as child:
        assert child.ask(b"x") == b"good"
        began = time.monotonic()
        with pytest.raises(GaveUp, match="timed_out: no reply within the time limit") as caught:
            child.ask(b"bad")
        assert 0.4 < time.monotonic() - began < 5
        assert ("half" in str(caught.value)) is bool(before)
        assert child.ask(b"x") == b"good"


def test_a_child_that_writes_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """CF-PROTO-9, CF-RUN-6."""
    monkeypatch.setattr(module, "MAX_REPLY", 1_000_000)
    with (
        running("while True: say(b'x' * 65536)", time_limit_s=30) as child,
        pytest.raises(Misbehaved, match="flooded: a line of more than 1000000 bytes"),
    ):
        child.ask(b"x")


def test_whoever_replies_before_it_has_read_the_request_is_out_of_step() -> None:
    """CF-PROTO-2."""
    script = "import sys, time; sys.stdout.write('early\\n'); sys.stdout.flush(); time.sleep(60)"
    child = Child([sys.executable, "-S", "-c", script], time_limit_s=5)
    with pytest.raises(Misbehaved, match="before it had read the request"):
        child.ask(b"x" * 1_000_000)
    child.stop()


def test_a_child_that_guesses_what_it_is_asked_is_found_out() -> None:
    """CF-PROTO-2: it never reads, and the pipe to it fills."""
    loop = "while True: sys.stdout.write('good\\n'); sys.stdout.flush(); time.sleep(0.05)"
    script = f"import sys, time\n{loop}"
    child = Child([sys.executable, "-S", "-c", script], time_limit_s=5)
    with pytest.raises(Misbehaved, match="spoke_unasked"):
        deque((child.ask(b"x" * 8191) for _ in range(100)), maxlen=0)
    child.stop()


def test_what_a_child_says_on_stderr_is_its_own_business() -> None:
    """CF-PROTO-9: more of it than a pipe holds, before and after the reply."""
    body = "sys.stderr.write('e' * 300_000); say(b'good\\n'); sys.stderr.write('e' * 10_000)"
    with running(body, time_limit_s=10) as child:
        for _ in range(3):
            assert child.ask(b"x") == b"good"
        assert child.stops()
    with running("if line == b'first\\n': os.close(2)\nsay(b'good\\n')") as child:
        assert child.ask(b"first") == b"good"
        assert child.ask(b"x") == b"good"
        assert child.ask(b"x") == b"good"


def test_a_child_that_does_not_read_is_no_crash_of_ours() -> None:
    """CF-RUN-6: its input is closed while we write."""
    with running("os.close(0); time.sleep(0.1); say(b'x\\n'); os._exit(0)") as child:
        child.ask(b"x")
        with pytest.raises((Misbehaved, GaveUp)):
            child.ask(b"x" * 1_000_000)


def test_all_that_a_child_started_ends_with_it(tmp_path: Path) -> None:
    """CF-RUN-7."""
    file = tmp_path / "pid"
    body = (
        f"pid = os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '60')\n"
        f"open({str(file)!r}, 'w').write(str(pid))\nsay(b'x\\n')"
    )
    with running(body) as child:
        child.ask(b"x")
        child.stop()
    pid = int(file.read_text())
    until = time.monotonic() + 5
    while time.monotonic() < until and not _is_dead(pid):
        time.sleep(0.02)
    assert _is_dead(pid)


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except FileNotFoundError:
        return True


def test_the_end_of_input_is_the_end_of_a_good_child() -> None:
    """CF-PROTO-10."""
    with running("say(b'x\\n')") as child:
        assert child.stops()
        child.ask(b"x")
        assert child.stops()
        assert child.ask(b"x") == b"x"


@pytest.mark.parametrize(
    "after", ["time.sleep(60)", "say(b'bye\\n')", "os.close(1); time.sleep(60)"]
)
def test_a_child_that_goes_on_or_says_goodbye_does_not_stop(after: str) -> None:
    """CF-PROTO-10."""
    with running("say(b'x\\n')", after) as child:
        child.ask(b"x")
        assert not child.stops()


def test_a_child_that_fails_too_often_is_not_shrunk_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CF-RUN-7."""
    monkeypatch.setattr(module, "RESTARTS", 2)
    with running("os._exit(1)") as child:
        for _ in range(2):
            with pytest.raises(Misbehaved):
                child.ask(b"x")
        with pytest.raises(GaveUp, match="crashed"):
            child.ask(b"x")
        child.restarts = 0
        with pytest.raises(Misbehaved):
            child.ask(b"x")


@pytest.mark.parametrize(
    ("name", "body"), [("ALL_RESTARTS", "os._exit(1)"), ("ALL_TIMEOUTS", "time.sleep(60)")]
)
def test_a_child_that_fails_for_good_is_asked_no_more(
    monkeypatch: pytest.MonkeyPatch, name: str, body: str
) -> None:
    """CF-RUN-7."""
    monkeypatch.setattr(module, name, 1)
    with running(body, time_limit_s=0.1) as child:
        for _ in range(2 if name == "ALL_RESTARTS" else 1):
            with pytest.raises((Misbehaved, GaveUp)):
                child.ask(b"x")
        with pytest.raises(Gone, match="started"):
            child.ask(b"x")


def test_a_command_that_cannot_be_started_is_a_matter_of_usage(tmp_path: Path) -> None:
    """CF-RUN-2."""
    with pytest.raises(Usage, match="cannot be started: No such file"):
        Child([str(tmp_path / "nothing")]).ask(b"x")
    with pytest.raises(Usage, match="cannot be started: embedded null byte"):
        Child(["a\0b"]).ask(b"x")


def test_a_command_that_is_taken_away_is_gone(tmp_path: Path) -> None:
    """CF-RUN-7."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nread line\necho one\nread line\nexit 1\n")
    program.chmod(0o755)
    child = Child([str(program)])
    assert child.ask(b"x") == b"one"
    os.remove(program)
    with pytest.raises(Misbehaved):
        child.ask(b"x")
    with pytest.raises(Gone, match="cannot be started"):
        child.ask(b"x")


def test_a_function_is_a_door_as_well() -> None:
    door = InProcess(lambda line: line.upper())
    assert door.ask(b"x") == b"X"
    assert door.stops()
    assert isinstance(door.fail(Fault.GARBAGE, "x"), Misbehaved)
    door.stop()
