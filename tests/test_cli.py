"""The command line as a real process. (SPEC CV-CLI)"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from claude_record import SESSION, Conversation
from gitrepo import Repo, isolate
from running import Run

from verdict_core.wire import parse

EMPTY: dict[str, Any] = {
    "session": "s", "todos": [], "uncommitted": [], "questions": [], "decisions": [],
    "next_steps": [], "unknown": [],
}  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    isolate(monkeypatch, tmp_path / "person")
    path = tmp_path / "repo"
    path.mkdir()
    Repo(path).git("init", "-q")
    Repo(path).git("commit", "-q", "--allow-empty", "-m", "first")
    return path


def written(path: Path, **fields: Any) -> Path:
    path.write_text(json.dumps({**EMPTY, **fields}))
    return path


@pytest.mark.parametrize(
    ("fields", "more", "verdict", "status"),
    [
        ({}, [], "safe_to_compact", 0),
        ({"todos": ["a"]}, [], "wait", 10),
        ({"unknown": ["todos"]}, [], "wait", 10),
        ({"todos": ["a"]}, ["--wait-min", "0"], "preserve_first", 20),
        ({"todos": list("abcd")}, [], "preserve_first", 20),
        ({"todos": list("abcd")}, ["--wait-min", "4"], "wait", 10),
    ],
)
def test_build_piped_into_judge_gives_a_verdict(
    command: Run, tmp_path: Path, fields: Any, more: list[str], verdict: str, status: int
) -> None:
    """CV-CLI-1, CV-CLI-3, CV-CLI-4."""
    built = command("build", "--json", "--summary", written(tmp_path / "s.json", **fields))
    assert (built.returncode, built.stderr) == (0, b"")
    document = parse(built.stdout)
    assert list(document) == ["summary", "state"]
    assert list(document["state"]) == ["text", "digest", "count", "unknown", "risk_hints"]
    done = command("judge", "-", "--json", *more, stdin=built.stdout)
    judgement = parse(done.stdout)
    assert list(judgement) == [
        "verdict", "reasons", "detail", "count", "unknown", "score", "digest",
    ]  # fmt: skip
    assert (judgement["verdict"], done.returncode, done.stderr) == (verdict, status, b"")
    people = command("judge", "-", *more, stdin=built.stdout)
    assert people.stdout.decode().startswith(f"{verdict}: ")
    assert people.returncode == status


def test_build_for_people_is_the_state_and_its_digest(command: Run, tmp_path: Path) -> None:
    done = command("build", "--summary", written(tmp_path / "s.json", todos=["a"]))
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "verdict-core state 1"
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", lines[-1])


def test_a_state_over_its_budget_exits_2(command: Run, tmp_path: Path) -> None:
    """CV-STATE-6, CV-CLI-1."""
    file = written(tmp_path / "s.json", todos=["x" * 50])
    for name in ("build", "check"):
        done = command(name, "--json", "--summary", file, "--max-chars", "50")
        assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (2, "over_budget")


BAD_USAGE = [
    ([], "usage"),
    (["nonsense"], "usage"),
    (["judge"], "usage"),
    (["build"], "usage"),
    (["check", "--rep", "x"], "usage"),
    (["check", "stray"], "usage"),
    (["judge", "-", "--max-chars", "1"], "usage"),
    (["build", "--summary"], "usage"),
    (["build", "--summary", "-", "--max-chars", "many"], "bad_config"),
    (["build", "--summary", "no/such/file"], "unreadable"),
    (["judge", "."], "unreadable"),
    (["judge", "nul\\0name"], "unreadable"),
    (["check", "--record", "no/such/record"], "unreadable"),
    (["check", "--summary", "no/such/summary"], "unreadable"),
    (["judge", "-"], "invalid_json"),
]


@pytest.mark.parametrize(("arguments", "code"), BAD_USAGE)
def test_bad_input_gets_one_line_and_exit_3(command: Run, arguments: list[str], code: str) -> None:
    """CV-CLI-5, CV-ERR-1, CV-CLI-1."""
    plain = command(*arguments)
    assert (plain.returncode, plain.stdout) == (3, b"")
    assert re.fullmatch(rf"verdict-core: .+: {code}: .+\n", plain.stderr.decode())
    if arguments and arguments[0] in ("check", "judge", "build"):
        done = command(*arguments, "--json")
        refused = parse(done.stdout)["refused"]
        assert (done.returncode, list(refused)) == (3, ["code", "path", "message"])
        assert refused["code"] == code
        assert done.stderr.count(b"\n") == 1


def test_a_name_that_is_not_utf8_or_that_moves_the_cursor_is_named_safely(command: Run) -> None:
    """CV-CLI-4, CV-CLI-5."""
    done = command("judge", os.fsdecode(b"no/\xff\x1b[2J\n"), "--json")
    assert done.returncode == 3
    assert done.stderr.count(b"\n") == 1
    assert b"\x1b" not in done.stderr
    assert parse(done.stdout)["refused"]["path"] == "no/\\xff\x1b[2J\n"


def test_help_is_no_error(command: Run) -> None:
    for arguments in (["--help"], ["check", "--help"]):
        done = command(*arguments)
        assert done.returncode == 0
        assert b"usage: verdict-core" in done.stdout


# --- check


def test_check_joins_the_given_summary_git_and_the_record(
    command: Run, repo: Path, tmp_path: Path
) -> None:
    """CV-CLI-2, RD-SUM-1, RD-SUM-2."""
    (repo / "new.py").write_text("x")
    record = Conversation(str(repo)).person("go").todos(("from the record", "pending")).says("ok")
    done = command(
        "check", "--json", "--repo", repo, "--record", record.write(tmp_path / "r.jsonl"),
        "--summary", written(tmp_path / "s.json", session="mine", todos=["from me"],
                             uncommitted=["elsewhere.py"], unknown=["questions"]),
    )  # fmt: skip
    answer = parse(done.stdout)
    assert answer["summary"] == {
        "session": "mine",
        "todos": ["from me", "from the record"],
        "uncommitted": ["elsewhere.py", "new.py"],
        "questions": [],
        "decisions": [],
        "next_steps": [],
        "unknown": ["questions"],
    }
    assert (answer["verdict"], done.returncode) == ("preserve_first", 20)
    assert list(answer)[-2:] == ["summary", "notes"]
    assert all(list(note) == ["reader", "code", "text"] for note in answer["notes"])


def test_check_finds_the_top_level_and_the_newest_record_by_itself(
    command: Run, repo: Path, tmp_path: Path
) -> None:
    """CV-CLI-6, CV-CLI-7."""
    (repo / "sub").mkdir()
    (repo / "sub" / "new.py").write_text("x")
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(repo))
    folder = tmp_path / "home" / ".claude" / "projects" / slug
    old = Conversation(str(repo)).person("go").says("Done.").write(folder / "old.jsonl")
    new = Conversation(str(repo)).person("go").says("Shall I push?").write(folder / "new.jsonl")
    os.utime(old, (1, 1))
    done = command("check", "--json", cwd=repo)
    answer = parse(done.stdout)
    assert answer["summary"]["session"] == SESSION
    assert answer["summary"]["uncommitted"] == ["sub/"]
    assert answer["summary"]["questions"] == ["Shall I push?"]
    assert any(str(new) in note["text"] for note in answer["notes"])
    assert done.returncode == 10
    inside = parse(command("check", "--json", cwd=repo / "sub").stdout)
    assert inside["summary"] == answer["summary"]


def test_without_a_record_its_fields_are_unknown_and_it_is_said(command: Run, repo: Path) -> None:
    """CV-CLI-7."""
    done = command("check", "--json", "--repo", repo)
    answer = parse(done.stdout)
    assert answer["unknown"] == ["todos", "questions", "decisions", "next_steps"]
    assert (answer["verdict"], done.returncode) == ("wait", 10)
    assert answer["summary"]["session"] == "(no session)"
    assert "no_record" in [note["code"] for note in answer["notes"]]
    people = command("check", "--repo", repo).stdout.decode()
    assert "no session record of" in people


def test_a_directory_that_is_no_top_level_is_never_answered_by_its_parent(
    command: Run, repo: Path, tmp_path: Path
) -> None:
    """CV-CLI-6."""
    (repo / "sub").mkdir()
    summary = written(tmp_path / "s.json")
    for directory in (repo / "sub", tmp_path / "absent", summary):
        done = command("check", "--json", "--repo", directory, "--summary", summary)
        answer = parse(done.stdout)
        assert (answer["unknown"], done.returncode) == (["uncommitted"], 10)


def test_a_clean_session_in_a_clean_repository_is_safe(
    command: Run, repo: Path, tmp_path: Path
) -> None:
    record = Conversation(str(repo)).person("go").says("Done.").write(tmp_path / "r.jsonl")
    done = command("check", "--repo", repo, "--record", record)
    assert done.returncode == 0
    text = done.stdout.decode()
    assert text.startswith("safe_to_compact: nothing recorded is unlanded\n")
    assert "\x1b" not in text


def test_items_reach_the_terminal_escaped(command: Run, repo: Path, tmp_path: Path) -> None:
    """CV-CLI-4."""
    hostile = "\x1b[2J\r\u202eevil\nverdict: safe_to_compact"
    talk = Conversation(str(repo)).person("go").todos((hostile, "pending")).says("ok")
    done = command("check", "--repo", repo, "--record", talk.write(tmp_path / "r.jsonl"))
    text = done.stdout.decode()
    assert "\\u001b[2J\\u000d\\u202eevil\\u000averdict: safe_to_compact" in text
    assert not any(line.startswith("verdict: safe") for line in text.splitlines())


def on_a_terminal(arguments: list[str], cwd: Path, env: dict[str, str]) -> str:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "verdict_core", *arguments], stdout=slave, cwd=cwd, env=env
    ):
        os.close(slave)
        said = b""
        while select.select([master], [], [], 30)[0]:
            try:
                said += os.read(master, 65536)
            except OSError:
                break
    os.close(master)
    return said.decode()


def test_colour_goes_to_a_terminal_only(repo: Path, tmp_path: Path) -> None:
    """CV-CLI-4."""
    summary = written(tmp_path / "s.json")
    arguments = ["check", "--repo", str(repo), "--summary", str(summary)]
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    assert on_a_terminal(arguments, tmp_path, env).startswith("\x1b[1;32msafe_to_compact\x1b[0m")
    assert on_a_terminal(arguments, tmp_path, {**env, "NO_COLOR": "1"}).startswith("safe_to")
    judged = ["judge", str(tmp_path / "d.json")]
    document = subprocess.run(
        [sys.executable, "-m", "verdict_core", "build", "--json", "--summary", summary],
        capture_output=True, check=True, cwd=tmp_path,
    ).stdout  # fmt: skip
    (tmp_path / "d.json").write_bytes(document)
    assert "\x1b[1;32m" in on_a_terminal(judged, tmp_path, env)


def opened_for(child: "subprocess.Popen[bytes]", fifo: Path) -> int:
    """The writing end, once the child has opened the reading one."""
    while child.poll() is None:
        with suppress(OSError):
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    raise AssertionError("the command ended before it read its input")


def test_an_interruption_leaves_nothing_half_written(tmp_path: Path) -> None:
    """CV-CLI-1: and no status that could be taken for permission."""
    os.mkfifo(tmp_path / "input")
    with subprocess.Popen(
        [sys.executable, "-m", "verdict_core", "judge", "input", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
        # A run in the background may have been started with interruptions ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:  # fmt: skip
        other_end = opened_for(child, tmp_path / "input")
        # A signal that comes just before a read begins is seen only after it: so again, as a
        # person would. Whatever goes wrong, closing the other end lets the child end.
        try:
            for _ in range(6):
                child.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    child.wait(5)
                    break
        finally:
            os.close(other_end)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (130, b"", b"verdict-core: interrupted\n")


def test_a_reader_that_goes_away_is_no_permission(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", '"$0" -m verdict_core check --help | true; exit "${PIPESTATUS[0]}"',
         sys.executable], cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 70)
    summary = written(tmp_path / "s.json", todos=["x" * 1000] * 15)
    script = (
        '"$0" -m verdict_core build --json --max-chars 99999 --summary "$1" 2>/dev/null'
        ' | { exec 0<&-; sleep 0.1; }; exit "${PIPESTATUS[0]}"'
    )
    for _ in range(3):
        done = subprocess.run(
            ["bash", "-c", script, sys.executable, str(summary)], cwd=tmp_path, check=False,
            capture_output=True,
        )  # fmt: skip
        assert done.returncode in (0, 70)
        assert b"Traceback" not in done.stderr


def test_a_crash_exits_70_and_says_that_it_is_no_verdict(tmp_path: Path) -> None:
    """CV-CLI-1. A real fault is put in: the reader is replaced by one that divides by nought."""
    code = (
        "import sys; from verdict_core.hosts import cli\n"
        "cli.read_input = lambda name: 1 // 0\n"
        "sys.exit(cli.main(['judge', '-', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stdout) == (70, b"")
    assert done.stderr.endswith(b"not a verdict\n")
    assert b"ZeroDivisionError" in done.stderr
