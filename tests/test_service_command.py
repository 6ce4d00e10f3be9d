"""A command as the service, asked as a real child process. (SPEC SV-CMD, SV-FENCE)"""

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from verdict_core import Judgement, Summary, build, judge, wire
from verdict_core.context.ask import Detail, NoAnswer, Request
from verdict_core.context.summary import FIELDS
from verdict_core.errors import BadConfig
from verdict_core.services.command import Command
from verdict_core.services.reply import unfenced

REQUEST = Request('verdict-core state 1\nsession: "s"\ntodos: 1\n- "f\u00fcr \'x\'"')
WAIT = '{"choice": "wait", "score": 0.5}'
SLACK_S = 0.5


def python(code: str, **settings: Any) -> Command:
    return Command([sys.executable, "-I", "-c", code], **settings)


def shell(code: str, **settings: Any) -> Command:
    return Command(["sh", "-c", code], **settings)


def prints(reply: str) -> Command:
    return Command(["printf", "%s", reply])


def judged(service: Command) -> Judgement:
    fields: dict[str, Any] = dict.fromkeys(FIELDS, ())
    given = Summary(**{**fields, "session": "s", "todos": ["a", "b"], "unknown": []})
    return judge(given, build(given), service=service)


def failed(service: Command, request: Request = REQUEST) -> NoAnswer:
    with pytest.raises(NoAnswer) as caught:
        service.ask(request)
    return caught.value


def ends(pid: int) -> bool:
    """Whether a process is gone, or is no more than an entry that nobody asked after, soon."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


# What goes in and what comes out.


def test_the_request_stands_on_its_stdin_and_ends(tmp_path: Path) -> None:
    """SV-CMD-2."""
    given = tmp_path / "given"
    answer = Command(["sh", "-c", 'cat > "$1"; printf %s "$2"', "-", str(given), WAIT]).ask(REQUEST)
    assert answer == WAIT.encode()
    assert given.read_bytes() == wire.compact(REQUEST.payload())
    assert json.loads(given.read_bytes()) == {
        "question": REQUEST.question,
        "options": ["safe_to_compact", "wait", "preserve_first"],
        "scale": {"min": 0, "max": 1},
        "state": REQUEST.state,
    }


def test_a_state_longer_than_any_pipe_goes_in_whole() -> None:
    long = Request("x" * 3_000_000)
    count = "import sys; print(len(sys.stdin.buffer.read()))"
    assert int(python(count).ask(long)) == len(wire.compact(long.payload()))


def test_a_command_that_does_not_read_may_answer() -> None:
    long = Request("x" * 3_000_000)
    for code in (f"echo '{WAIT}'", f"exec <&-; sleep 0.1; echo '{WAIT}'"):
        assert shell(code).ask(long) == WAIT.encode() + b"\n"


def test_no_shell_stands_between() -> None:
    words = ["$HOME", "*", ";", "`id`", "a  b", "|", ""]
    assert Command(["printf", "<%s>", *words]).ask(REQUEST).decode() == "".join(
        f"<{word}>" for word in words
    )


def test_its_complaints_are_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    """SV-CMD-2."""
    assert shell(f"echo secret >&2; echo '{WAIT}'").ask(REQUEST) == WAIT.encode() + b"\n"
    assert capfd.readouterr() == ("", "")


def test_svc_03_one_closed_fence_is_unwrapped_and_prose_is_not() -> None:
    fenced = '```json\n{"choice":"preserve_first","score":0.9}\n```'
    unclosed = '```json\n{"choice":"preserve_first"'
    prose = 'Sure: {"choice":"safe_to_compact","score":0.9}'
    found = [judged(prints(reply)) for reply in (fenced, unclosed, prose)]
    assert [(j.verdict, j.reasons[1], j.detail) for j in found] == [
        ("preserve_first", "service_preserve", None),
        ("wait", "service_unusable", "unreadable"),
        ("wait", "service_unusable", "unreadable"),
    ]


@pytest.mark.parametrize(
    ("reply", "verdict", "detail"),
    [
        ('{"choice": "safe_to_compact", "score": 1}', "wait", None),
        ('{"choice": "preserve_first", "score": 0}', "preserve_first", None),
        ('{"choice": "mostly_safe", "score": 0.8}', "wait", "bad_choice"),
        ('{"choice": "safe_to_compact", "score": 999}', "wait", "bad_score"),
        ('{"choice": "safe_to_compact", "score": NaN}', "wait", "bad_score"),
        ('{"choice": "preserve_first", "score": 1, "score": 1}', "wait", "unreadable"),
        ('{"choice": "preserve_first", "score": 1} ok', "wait", "unreadable"),
        ("", "wait", "unreadable"),
    ],
)
def test_the_core_reads_the_answer(reply: str, verdict: str, detail: str | None) -> None:
    judgement = judged(prints(reply))
    assert (judgement.verdict, judgement.detail) == (verdict, detail)


# Time.


def test_the_deadline_is_eight_seconds_unless_another_is_given() -> None:
    """SV-TIME-1."""
    assert Command(["true"]).deadline_s == 8


@pytest.mark.parametrize(
    "code",
    [
        "sleep 60",
        "trap '' TERM HUP INT; sleep 60 & wait; sleep 60",
        "exec >&- <&-; sleep 60",
        f"echo '{WAIT}'; sleep 60",
        "while :; do printf ' '; sleep 0.1; done",
    ],
    ids=["sleeps", "heeds no signal", "hangs up", "answers and stays", "trickles"],
)
def test_svc_01_the_deadline_holds_whatever_the_command_does(code: str) -> None:
    start = time.monotonic()
    judgement = judged(shell(code, deadline_s=0.7))
    assert 0.7 <= time.monotonic() - start <= 0.7 + SLACK_S
    assert (judgement.verdict, judgement.detail) == ("wait", "timeout")
    assert judgement.reasons == ("in_band", "service_absent")


def test_the_deadline_holds_while_the_request_is_not_read() -> None:
    start = time.monotonic()
    error = failed(shell("sleep 60", deadline_s=0.7), Request("x" * 3_000_000))
    assert error.detail is Detail.TIMEOUT
    assert 0.7 <= time.monotonic() - start <= 0.7 + SLACK_S


def test_at_the_deadline_all_that_it_started_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"sleep 60 & echo $! $$ > {shlex.quote(str(pids))}; wait"
    assert failed(shell(code, deadline_s=0.7)).detail is Detail.TIMEOUT
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    assert all(ends(pid) for pid in started)


def test_what_it_leaves_behind_is_not_waited_for_and_killed(tmp_path: Path) -> None:
    """SV-CMD-3."""
    pid = tmp_path / "pid"
    start = time.monotonic()
    code = f"sleep 60 & echo $! > {shlex.quote(str(pid))}; echo '{WAIT}'"
    assert shell(code).ask(REQUEST) == WAIT.encode() + b"\n"
    assert time.monotonic() - start < 4
    assert ends(int(pid.read_text()))


def test_a_session_that_it_opens_for_itself_cannot_hold_it_up(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    open({str(pid)!r}, "w").write(str(os.getpid()))
    time.sleep(60)
while not os.path.exists({str(pid)!r}) or not os.path.getsize({str(pid)!r}):
    time.sleep(0.01)
print({WAIT!r})
"""
    start = time.monotonic()
    try:
        assert python(code).ask(REQUEST) == WAIT.encode() + b"\n"
        assert time.monotonic() - start < 4
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


def test_an_interruption_kills_it(tmp_path: Path) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    pid = tmp_path / "pid"
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            shell(f"echo $$ > {shlex.quote(str(pid))}; sleep 60").ask(REQUEST)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert ends(int(pid.read_text()))


# How it fails.


@pytest.mark.parametrize("status", [126, 127])
def test_a_program_that_is_not_there_behind_another_is_misconfigured(status: int) -> None:
    """SV-CMD-4."""
    assert failed(shell(f"exit {status}")).detail is Detail.MISCONFIGURED


def test_what_cannot_be_started_is_misconfigured(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    for argv in (["/nowhere/judge"], ["no-such-judge"], [str(plain)], [str(tmp_path)], [""],
                 ["judge\0"], ["env", "no-such-judge"]):  # fmt: skip
        error = failed(Command(argv))
        assert error.detail is Detail.MISCONFIGURED, argv
        assert "judge" not in str(error)
        assert error.__cause__ is None


@pytest.mark.parametrize("status", [1, 2, 125, 128, 255])
def test_any_other_status_is_unreachable_whatever_it_printed(status: int) -> None:
    """SV-CMD-5."""
    error = failed(shell(f"echo '{WAIT}'; exit {status}"))
    assert (error.detail, f"status {status}" in str(error)) == ("unreachable", True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_signal_is_unreachable(number: signal.Signals) -> None:
    """SV-CMD-5."""
    error = failed(shell(f"echo '{WAIT}'; kill -{number.value} $$"))
    assert (error.detail, f"signal {number.value}" in str(error)) == ("unreachable", True)


def test_it_is_asked_once(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    failed(shell(f"echo x >> {shlex.quote(str(asked))}; exit 1"))
    assert asked.read_text() == "x\n"


def test_the_longest_reply_is_read_and_a_byte_more_is_not() -> None:
    """SV-TIME-4."""
    code = "import sys; sys.stdout.write({!r}.ljust({}))"
    assert len(python(code.format(WAIT, 64 << 10)).ask(REQUEST)) == 64 << 10
    error = failed(python(code.format(WAIT, (64 << 10) + 1)))
    assert error.detail is Detail.UNREADABLE


def test_a_flood_ends_at_once() -> None:
    start = time.monotonic()
    assert failed(Command(["yes"])).detail is Detail.UNREADABLE
    assert time.monotonic() - start < 4


# Set up.


@pytest.mark.parametrize("argv", [[], "judge --now", [1], [None]])
def test_what_is_no_argument_list_is_refused(argv: Any) -> None:
    """SV-CMD-1."""
    with pytest.raises(BadConfig, match=r"^argv: bad_config"):
        Command(argv)


@pytest.mark.parametrize("deadline_s", [0, -1, float("nan"), True, "8"])
def test_a_deadline_that_is_no_time_is_refused(deadline_s: Any) -> None:
    with pytest.raises(BadConfig, match=r"^deadline_s: bad_config"):
        Command(["true"], deadline_s)


# The fence.


@pytest.mark.parametrize(
    "reply",
    [
        b"```\n{}\n```",
        b"```json\n{}\n```",
        b"```JSON\n{}\n```\n",
        b"\n\n  ``` json \n{}\n  ```  \n\n",
        b"```json\r\n{}\r\n```\r\n",
    ],
)
def test_one_closed_fence_around_the_whole_is_taken_off(reply: bytes) -> None:
    """SV-FENCE-1."""
    assert unfenced(reply).strip() == b"{}"


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"{}",
        b"```",
        b"``````",
        b"```json\n{}",
        b"{}\n```",
        b"```json {}```",
        b"```json\n{}```",
        b"```{}\n```",
        b"```json title\n{}\n```",
        b"````\n{}\n````",
        b"```\n```json\n{}\n```\n```",
        b"```\n{}\n```\n```\n{}\n```",
        b"Sure:\n```json\n{}\n```",
        b"```json\n{}\n```\nThat is all.",
        b"~~~\n{}\n~~~",
        b"``\n{}\n``",
    ],
)
def test_anything_else_stays_as_it_is(reply: bytes) -> None:
    """SV-FENCE-1."""
    assert unfenced(reply) == reply


def test_a_long_reply_is_looked_at_once() -> None:
    start = time.process_time()
    for blank in (b" ", b"`", b"\n", b"```\n"):
        unfenced(b"```json\n" + blank * (64 << 10))
    assert time.process_time() - start < 1
