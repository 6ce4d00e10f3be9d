"""The parts of the hooks, one by one. (SPEC HK)"""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

from verdict_core import Summary
from verdict_core.errors import InvalidJson
from verdict_core.hosts import hook, hook_install, hook_judge, hook_memory, hook_words, journal
from verdict_core.hosts.hook_answer import FORMS, Act, Decision, output
from verdict_core.hosts.hook_options import HARNESSES
from verdict_core.hosts.hook_payload import Kind, read
from verdict_core.readers import formats

MANUAL = {"hook_event_name": "PreCompact", "trigger": "manual"}
EMPTY: dict[str, Any] = {
    "session": "s",
    **dict.fromkeys(
        ("todos", "uncommitted", "questions", "decisions", "next_steps", "unknown"), ()
    ),
}


def payload(**members: Any) -> bytes:
    return json.dumps({**MANUAL, **members}).encode()


@pytest.mark.parametrize(
    ("agent", "is_one"), [(None, False), ("", False), ("a1", True), (0, True), ({}, True)]
)
def test_only_an_agent_without_a_name_is_none(agent: object, is_one: bool) -> None:
    """HK-READ-3."""
    assert read(payload(agent_id=agent)).is_agent == is_one
    assert not read(payload()).is_agent


@pytest.mark.parametrize(
    ("event", "members", "kind"),
    [
        ("PreCompact", {"trigger": "manual"}, Kind.MANUAL),
        ("PreCompact", {"trigger": "MANUAL"}, Kind.OTHER),
        ("PreCompact", {"trigger": True}, Kind.OTHER),
        ("PreCompact", {"trigger": None, "source": "manual"}, Kind.OTHER),
        ("SessionStart", {"source": "compact"}, Kind.RESUMED),
        ("SessionStart", {"source": "manual", "trigger": "compact"}, Kind.ELSE),
        ("PostCompact", {"trigger": "manual"}, Kind.ELSE),
        ("precompact", {"trigger": "manual"}, Kind.ELSE),
    ],
)
def test_what_a_firing_is_was_read_and_not_guessed(
    event: str, members: dict[str, Any], kind: Kind
) -> None:
    """HK-READ-2."""
    assert read(payload(hook_event_name=event, **members)).kind is kind


def test_a_value_of_another_type_is_none() -> None:
    """HK-READ-1: what has another type than it should is not there, and nothing crashes."""
    firing = read(payload(session_id=7, transcript_path=[], cwd={}, model=None))
    assert (firing.session, firing.record, firing.cwd) == (None, None, Path("."))
    assert firing.kind is Kind.MANUAL


@pytest.mark.parametrize("fault", [b'"\\ud83d', b'"\\ud83d" x', b"[" * 100_000 + b'"\\ud83d"'])
def test_half_an_emoji_does_not_make_a_broken_payload_whole(fault: bytes) -> None:
    """HK-READ-1."""
    with pytest.raises(InvalidJson):
        read(payload()[:-1] + b', "a": ' + fault)


def test_every_table_has_every_harness() -> None:
    """HK-FORM-1."""
    assert set(FORMS) == set(hook_install.HARNESSES) == set(HARNESSES)
    assert set(HARNESSES) <= set(formats.NAMES)
    for forms in FORMS.values():
        assert set(forms) == set(Act)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_record_is_waited_for_until_it_is_still(tmp_path: Path, is_there: bool) -> None:
    """HK-READ-4: also where it is not there yet; but no longer than the time that there is."""
    path = tmp_path / "record.jsonl"
    if is_there:
        path.write_text("early")
    writer = threading.Timer(0.1, lambda: path.write_text("late one"))
    began = time.monotonic()
    writer.start()
    assert hook_judge.is_still(path, began + 20)
    assert path.read_text() == "late one"
    assert time.monotonic() - began >= 0.1 + hook_judge.STILL_S
    writer.join()
    assert not hook_judge.is_still(path, time.monotonic() + hook_judge.STILL_S / 2)


@pytest.mark.parametrize("harness", FORMS)
def test_a_stop_that_holds_half_an_emoji_is_still_one(harness: str) -> None:
    """HK-FORM-1: a byte that is no UTF-8 would break the form, and the compaction would pass."""
    stop = output(harness, Decision(Act.STOPPED, "unsafe", "x \ud83d\udc80"))
    if harness == "codex":
        assert json.loads(stop.stdout) == {"continue": False, "stopReason": "x \\ud83d\\udc80"}
    else:
        assert (stop.status, stop.stderr) == (2, b"x \\ud83d\\udc80\n")


def test_several_processes_that_ask_at_once_are_all_stopped(tmp_path: Path) -> None:
    """HK-STOP-3: one is the first, and the others come within ten seconds of it."""
    ask = (
        "import sys; from pathlib import Path; from verdict_core.hosts.hook_memory import must_stop"
        "; print(must_stop(Path(sys.argv[1]), 'key'))"
    )
    command = [sys.executable, "-c", ask, str(tmp_path / "a" / "b")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(6)]
    said = [process.communicate()[0] for process in started]
    assert said == [b"True\n"] * 6
    (file,) = (tmp_path / "a" / "b").iterdir()
    os.utime(file, (time.time() - 11,) * 2)
    assert not hook_memory.must_stop(tmp_path / "a" / "b", "key")
    assert hook_memory.must_stop(tmp_path / "a" / "b", "another")


def test_a_clock_that_was_set_back_stops_nobody_for_ever(tmp_path: Path) -> None:
    """HK-STOP-3."""
    assert hook_memory.must_stop(tmp_path, "key")
    (file,) = tmp_path.iterdir()
    os.utime(file, (time.time() + 3600,) * 2)
    assert not hook_memory.must_stop(tmp_path, "key")


def test_a_pass_holds_for_ten_seconds_and_then_the_key_is_a_new_one(tmp_path: Path) -> None:
    """HK-STOP-4."""
    hook_memory.let_pass(tmp_path, "key")
    assert not hook_memory.must_stop(tmp_path, "key")
    (file,) = tmp_path.iterdir()
    os.utime(file, (time.time() - 11,) * 2)
    assert hook_memory.must_stop(tmp_path, "key")


def test_a_line_that_was_written_in_part_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HK-LOG-2: and HK-LOG-3, the next one is whole again."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:5]))
    path = tmp_path / "a" / "journal.jsonl"
    with pytest.raises(OSError, match="in part"):
        journal.append(path, {"a": 1})
    monkeypatch.undo()
    journal.append(path, {"b": 2})
    torn, whole = path.read_bytes().splitlines()
    assert torn == b'{"for'
    assert json.loads(whole)["b"] == 2


CHILDREN = {
    # What the work does: how it ended, the last that it said, and a part of what is told of it.
    "tell({'a': 1}); tell({'a': 2})": ("done", {"a": 2}, ""),
    "tell({'a': 'x' * 300_000})": ("done", {"a": "x" * 300_000}, ""),
    "tell({'a': 1}); raise RuntimeError('planted')": ("crash", {"a": 1}, "RuntimeError: planted"),
    "raise BadConfig('no', path='--x')": ("refused", None, "--x: bad_config: no"),
    "os._exit(0)": ("crash", None, "without a word"),
    "os.kill(os.getpid(), signal.SIGKILL)": ("crash", None, "without a word"),
    "tell({'a': 1}); time.sleep(60)": ("deadline", {"a": 1}, "time"),
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)": ("deadline", None, "time"),
    "print('x', flush=True); os.write(2, b'y'); sys.stdin.read()": ("done", None, ""),
}


@pytest.mark.parametrize("work", CHILDREN)
def test_however_the_work_ends_its_caller_goes_on(work: str) -> None:
    """HK-FAIL-2: in a process of its own, since a fork beside threads is none to rely on."""
    script = f"""
    import json, os, signal, sys, time
    from verdict_core.errors import BadConfig
    from verdict_core.hosts.hook_child import within
    def work(tell):
        {work}
    began = time.monotonic()
    result = within(began + 2, work)
    print(json.dumps([result.ended, result.said, result.code, result.fault, os.getpid()]))
    assert time.monotonic() - began < 20
    try:
        while os.waitpid(-1, 0): pass
    except ChildProcessError:
        pass
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        timeout=50,
        check=False,
    )
    assert done.stderr == b""
    ended, said, code, fault, _ = json.loads(done.stdout)
    expected = CHILDREN[work]
    assert (ended, said) == expected[:2]
    assert expected[2] in fault
    assert code == ("bad_config" if ended == "refused" else "")


def test_what_has_no_room_is_counted() -> None:
    """HK-BACK-1: a long item hides no short one, and none is cut."""
    summary = Summary(**{**EMPTY, "todos": ["x" * 10_000, "short"], "questions": ["why?"]})
    text = hook_words.given_back(summary, Path("/h/handoff.json"))
    assert '- todos: "short"' in text
    assert '- questions: "why?"' in text
    assert "xx" not in text
    assert "(1 more did not fit here)" in text


@pytest.mark.parametrize("unknown", [(), ("todos",)])
def test_an_old_handoff_alone_is_given_where_something_is_unknown(unknown: tuple[str, ...]) -> None:
    """HK-BACK-2."""
    summary = Summary(**{**EMPTY, "unknown": unknown})
    text = hook_words.given_back(summary, Path("/h/handoff.json"))
    assert bool(text) == bool(unknown)
    assert ("may be more: todos" in text) == bool(unknown)
    assert hook_words.given_back(summary, None) == ""


def test_a_fault_of_any_length_is_told_in_a_line() -> None:
    """HK-FAIL-1."""
    fault = "bad\nverdict-core: safe_to_compact\x1b[2J" + "x" * 5_000
    for text in (
        hook_words.stopped_unjudged("crash", fault),
        hook_words.passed_unjudged("crash", fault),
        hook_words.nothing_given("crash", fault),
    ):
        assert len(text) < 600
        assert "\n" not in text
        assert "\x1b" not in text


@pytest.mark.parametrize("kind", ["manual", "auto"])
def test_where_no_process_can_be_made_it_passes_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """HK-FAIL-1, HK-LOG-2: nothing can be judged, remembered or kept then."""

    def within(until: float, work: object) -> NoReturn:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(hook, "within", within)
    setting = hook_judge.Setting("codex", tmp_path / "state", 5.0, 3, 16_000, None)
    decision = hook.answered(payload(trigger=kind), setting, time.monotonic())
    assert decision.act is Act.PASSED
    assert "NOT judged" in decision.text
    assert "no process can be made: no more processes" in decision.text
    assert "not in the journal" in decision.text
    assert not (tmp_path / "state").exists()
