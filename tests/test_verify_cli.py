"""`verdict-core verify` as a real process, with real services. (SPEC CP-EXIT)"""

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from running import Run
from test_corpus import BOTH, MANY, line

from verdict_core.wire import parse

PROGRAM = [sys.executable, "-m", "verdict_core"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "c.jsonl").write_bytes(MANY)
    return tmp_path / "c.jsonl"


def service(tmp_path: Path, body: str) -> str:
    """The setting of a service whose program is `body`; `state` is what it is asked about."""
    script = tmp_path / "service.py"
    script.write_text(
        f"import json, os, sys, time\nstate = json.load(sys.stdin)['state']\n{body}\n"
    )
    return f"command:{shlex.join([sys.executable, '-S', str(script)])}"


def answered(text: str) -> str:
    return f"print({text!r})"


SAYS = {c: json.dumps({"choice": c, "score": 0.5}) for c in ("wait", "preserve_first")}


# --- exit statuses


def test_exit_0_nothing_lost_was_let_through(command: Run, corpus: Path) -> None:
    """CP-EXIT-1."""
    corpus.write_bytes(BOTH)
    done = command("verify", corpus, "--json")
    report = parse(done.stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert report["lost_let_through"] | {"interval": None} == {
        "count": 0, "of": 1, "rate": 0.0, "interval": None, "ids": [],
    }  # fmt: skip
    people = command("verify", corpus)
    assert people.stdout.startswith(b"lost let through: 0 of 1 (0.0%; 95 % interval 0.0% to 79.3%)")
    assert people.returncode == 0


def test_exit_1_a_lost_case_was_let_through(command: Run, corpus: Path) -> None:
    """CP-EXIT-1: and a refused keep case alone is not that."""
    corpus.write_bytes(line("gone", "lost") + line("k", "keep", "a"))
    done = command("verify", corpus)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"lost, let through: 1\n  - gone\n" in done.stdout
    corpus.write_bytes(line("l", "lost", "a") + line("k", "keep", "a"))
    assert command("verify", corpus).returncode == 0


def test_exit_2_a_state_is_over_its_budget(command: Run, corpus: Path) -> None:
    """CP-EXIT-2: nothing is scored then, let through or not."""
    corpus.write_bytes(line("gone", "lost") + line("k", "keep", "x" * 16_000))
    done = command("verify", corpus, "--json")
    assert (done.returncode, list(parse(done.stdout))) == (2, ["refused"])
    assert parse(done.stdout)["refused"]["path"] == f"{corpus}:2:$"
    assert command("verify", corpus, "--max-chars", "20000").returncode == 1


@pytest.mark.parametrize(
    ("data", "more", "code"),
    [
        (b"", [], "empty_corpus"),
        (line("k", "keep") + line("j", "keep", "x" * 20_000), [], "single_labelled_corpus"),
        (line("l", "lost"), [], "single_labelled_corpus"),
        (BOTH + line("x", "lost", "x" * 20_000) + b"\n", [], "invalid_json"),
        (BOTH + BOTH, [], "duplicate_id"),
        (BOTH, ["absent.jsonl"], "unreadable"),
        (BOTH, ["--curve", "after-an-option.jsonl"], "usage"),
        (BOTH, ["--jobs", "0"], "bad_config"),
        (BOTH, ["--jobs", "1025"], "bad_config"),
        (BOTH, ["--jobs", "two"], "bad_config"),
        (BOTH, ["--wait-min", "-1"], "bad_config"),
        (BOTH, ["--max-chars", "x"], "bad_config"),
        (BOTH, ["--service", ""], "bad_config"),
        (BOTH, ["--service", "oracle:x"], "bad_config"),
        (BOTH, ["--junit", "no/such/dir.xml"], "unwritable"),
        (BOTH, ["-", "-"], "usage"),
        (BOTH, ["--skip"], "usage"),
    ],
)
def test_exit_3_usage_configuration_or_input(
    command: Run, corpus: Path, data: bytes, more: list[str], code: str
) -> None:
    """CP-EXIT-2, CV-CLI-5."""
    corpus.write_bytes(data)
    done = command("verify", corpus, *more, "--json")
    assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, code)
    assert re.fullmatch(rf"verdict-core: .+: {code}: .+\n", done.stderr.decode())


def test_no_corpus_is_no_empty_success(command: Run) -> None:
    """CP-LINE-7: a pattern that matches no file must not look like a run."""
    done = command("verify", "--json")
    assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, "usage")


def test_a_bad_line_is_named_with_file_and_number_before_anything_is_scored(
    command: Run, corpus: Path, tmp_path: Path
) -> None:
    """CP-LINE-4, CP-LINE-5."""
    asked = tmp_path / "asked"
    corpus.write_bytes(MANY + b'{"id": "x", "label": "lost", "summary": {"todos": 3}}\n')
    spec = service(tmp_path, f"open({str(asked)!r}, 'a').write('x')")
    done = command("verify", corpus, "--service", spec, "--junit", "j.xml")
    assert done.returncode == 3
    assert done.stderr.decode() == (
        f"verdict-core: {corpus}:61:$.summary.todos: wrong_type:"
        " expected a list of strings, got a number\n"
    )
    assert not asked.exists()
    assert not (tmp_path / "j.xml").exists()


def test_ctx_09_success_on_nothing_is_refused(command: Run, tmp_path: Path) -> None:
    """CP-LINE-7."""
    keeps = line("a", "keep") + line("b", "keep", "a")
    done = command("verify", "-", "--json", stdin=keeps)
    refused = parse(done.stdout)["refused"]
    assert (done.returncode, refused["code"], refused["path"]) == (3, "single_labelled_corpus", "-")
    assert command("verify", "-", stdin=b"").returncode == 3


def test_ctx_10_an_absent_service_is_exit_0_and_every_case_skip(
    command: Run, corpus: Path, tmp_path: Path
) -> None:
    """CP-SKIP-2."""
    corpus.write_bytes(b"".join(line(f"{x}{n}", x, "a") for x in ("lost", "keep") for n in "12"))
    done = command("verify", corpus, "--json", "--service", "command:false", "--junit", "j.xml")
    report = parse(done.stdout)
    assert (done.returncode, report["skipped"], report["all_skipped"]) == (0, 4, True)
    nothing: dict[str, Any] = {"count": 0, "of": 0, "rate": None, "interval": None, "ids": []}
    assert (report["lost_let_through"], report["keep_refused"]) == (nothing, nothing)
    assert report["skips"] == {"unreachable": 4}
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (root.get("tests"), root.get("skipped"), root.get("failures")) == ("4", "4", "0")
    people = command("verify", corpus, "--service", "command:false")
    assert people.stdout.startswith(b"SKIP: the service was there for none of the 4 cases")
    assert people.returncode == 0


def test_a_forbidden_key_in_an_answer_exits_3(command: Run, corpus: Path, tmp_path: Path) -> None:
    """CP-EXIT-2."""
    spec = service(tmp_path, answered('{"choice": "wait", "score": 1, "rank": 1}'))
    for more in ([], ["--jobs", "2"]):
        done = command("verify", corpus, "--json", "--service", spec, *more)
        refused = parse(done.stdout)["refused"]
        assert (done.returncode, refused["code"]) == (3, "forbidden_key")
        assert refused["path"] == f"{corpus}:2:$.rank"
        assert done.stderr.count(b"\n") == 1


# --- services


REPLIES: dict[str, list[tuple[str, str | None]]] = {
    "svc_03": [
        ('```json\n{"choice":"preserve_first","score":0.9}\n```', None),
        ('```json\n{"choice":"preserve_first"', "unreadable"),
        ('Sure: {"choice":"safe_to_compact","score":0.9}', "unreadable"),
    ],
    "svc_05": [('{"choice":"mostly_safe","score":0.8}', "bad_choice")],
    "svc_06": [
        ('{"choice":"safe_to_compact","score":999}', "bad_score"),
        ('{"choice":"safe_to_compact","score":-0.1}', "bad_score"),
        ('{"choice":"safe_to_compact","score":"0.9"}', "bad_score"),
        ('{"choice":"safe_to_compact","score":true}', "bad_score"),
        ('{"choice":"safe_to_compact"}', "bad_score"),
    ],
}


def unusable(command: Run, corpus: Path, tmp_path: Path, name: str) -> Any:
    """The report where the nth case gets the nth reply, with what went into the expectation."""
    replies = REPLIES[name]
    number = "int(state.split('reply ')[1].split('\"')[0])"
    spec = service(tmp_path, f"print({[reply for reply, _ in replies]!r}[{number}])")
    cases = [line(f"r{n}", "keep", f"reply {n}") for n in range(len(replies))]
    corpus.write_bytes(line("l", "lost", *"abcd") + b"".join(cases))
    done = command("verify", corpus, "--json", "--service", spec)
    assert (done.returncode, done.stderr) == (0, b"")
    report = parse(done.stdout)
    details = [detail for _, detail in replies if detail]
    assert report["unusable"] == len(details)
    assert report["unusable_details"] == {d: details.count(d) for d in details}
    assert report["verdicts"][1]["wait"] == len(details)
    assert (report["skipped"], report["asked"]) == (0, len(replies))
    assert report["keep_refused"]["count"] == len(replies)
    return report


def test_svc_03_a_fence_is_unwrapped_and_all_else_is_unusable(
    command: Run, corpus: Path, tmp_path: Path
) -> None:
    """CP-SKIP-4."""
    report = unusable(command, corpus, tmp_path, "svc_03")
    assert report["verdicts"][1]["preserve_first"] == 1


def test_svc_05_a_choice_outside_the_three_is_unusable(
    command: Run, corpus: Path, tmp_path: Path
) -> None:
    """CP-SKIP-4."""
    unusable(command, corpus, tmp_path, "svc_05")


def test_svc_06_a_score_outside_its_scale_is_unusable(
    command: Run, corpus: Path, tmp_path: Path
) -> None:
    """CP-SKIP-4."""
    unusable(command, corpus, tmp_path, "svc_06")


def test_check_and_judge_ask_the_same_service(command: Run, tmp_path: Path) -> None:
    """CV-CLI-1, CV-JUDGE-3."""
    (tmp_path / "s.json").write_text(json.dumps(json.loads(BOTH.splitlines()[0])["summary"]))
    built = command("build", "--json", "--summary", "s.json").stdout
    spec = service(tmp_path, answered(SAYS["preserve_first"]))
    done = command("judge", "-", "--json", "--service", spec, stdin=built)
    assert (done.returncode, parse(done.stdout)["reasons"]) == (20, ["in_band", "service_preserve"])
    done = command("check", "--json", "--summary", "s.json", "--service", "command:false")
    judgement = parse(done.stdout)
    assert (done.returncode, judgement["detail"]) == (10, "unreachable")
    for arguments in (["judge", "-"], ["check", "--summary", "s.json"]):
        done = command(*arguments, "--json", "--service", "", stdin=built)
        refused = parse(done.stdout)["refused"]
        assert (done.returncode, refused["path"]) == (3, "--service")


# --- engines, readings, reports


def test_jobs_change_nothing_in_the_report(command: Run, corpus: Path, tmp_path: Path) -> None:
    """CP-EXIT-3."""
    spec = service(tmp_path, answered(SAYS["wait"]))
    corpus.write_bytes(b"".join(MANY.splitlines(keepends=True)[::6]))
    for more in ([], ["--service", spec]):
        reports = [
            command("verify", corpus, "--json", "--curve", *more, "--jobs", jobs, "--junit", jobs)
            for jobs in ("1", "2")
        ]
        assert reports[0].stdout == reports[1].stdout != b""
        assert {(done.returncode, done.stderr) for done in reports} == {(1, b"")}
        assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes() != b""


def test_stdin_a_pipe_and_a_file_give_one_report(
    command: Run, corpus: Path, tmp_path: Path
) -> None:
    """CP-LINE-8."""
    reports = [
        command("verify", corpus, "--json"),
        command("verify", "-", "--json", stdin=MANY),
        subprocess.run(
            ["bash", "-c", '"$@" <(cat c.jsonl) --json', "bash", *PROGRAM, "verify"],
            capture_output=True, cwd=tmp_path, check=False,
        ),
    ]  # fmt: skip
    read = [parse(done.stdout) for done in reports]
    names = [report["files"][0].pop("name") for report in read]
    assert read[0] == read[1] == read[2]
    assert names[:2] == [str(corpus), "-"]


def test_a_file_whose_name_is_not_utf8_is_named_safely(command: Run, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\x1b.jsonl")
    (tmp_path / name).write_bytes(BOTH)
    done = command("verify", name, "--json")
    assert parse(done.stdout)["files"][0]["name"] == "\\udcff\\u001b.jsonl"
    (tmp_path / name).write_bytes(b"{\n")
    done = command("verify", name, "--json")
    assert (done.returncode, done.stderr.count(b"\n"), b"\x1b" in done.stderr) == (3, 1, False)


def test_the_curve_is_a_table_and_stands_in_the_json(command: Run, corpus: Path) -> None:
    """CP-CURVE-1, CP-CURVE-3."""
    people = command("verify", corpus, "--curve").stdout.decode()
    assert "the two rates do not depend on wait_min" in people
    table = people.split("wait_min  lost: wait")[1].splitlines()[1:]
    rows = parse(command("verify", corpus, "--curve", "--json").stdout)["curve"]
    assert [row["wait_min"] for row in rows] == list(range(6)) == [int(r.split()[0]) for r in table]
    assert f"{rows[2]['lost_wait']:.1%}" == table[2].split()[1]


def test_the_shipped_corpus_is_scored_with_one_option(command: Run) -> None:
    """CP-EXIT-1."""
    done = command("verify", "--shipped", "--json")
    report = parse(done.stdout)
    assert (done.returncode, report["cases"], len(report["files"])) == (1, 153, 2)
    assert report["lost_let_through"]["of"] + report["keep_refused"]["of"] == 153


# --- long runs


def terminal(arguments: list[str], cwd: Path) -> tuple[str, bytes, int]:
    """What a run says to a terminal on stderr, its stdout, its status."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=slave, cwd=cwd
    ) as child:
        os.close(slave)
        said = b""
        while select.select([master], [], [], 30)[0]:
            try:
                said += os.read(master, 65536)
            except OSError:
                break
        assert child.stdout is not None
        out = child.stdout.read()
    os.close(master)
    return said.decode(), out, child.returncode


@pytest.mark.skipif(find_spec("tqdm") is None, reason="the extra `progress` is not installed")
def test_a_bar_shows_on_a_terminal_once_it_takes_longer_than_a_second(
    command: Run, corpus: Path, tmp_path: Path
) -> None:
    """CP-EXIT-6."""
    said, out, status = terminal(["verify", "c.jsonl", "--json"], tmp_path)
    assert (said, status, parse(out)["cases"]) == ("", 1, 60)
    corpus.write_bytes(b"".join(line(f"x{n}", "lost", "a" * 900) for n in range(10)) + BOTH)
    slow = service(tmp_path, f"time.sleep(0.2); {answered(SAYS['wait'])}")
    said, out, status = terminal(["verify", "c.jsonl", "--json", "--service", slow], tmp_path)
    assert re.search(r"verify: +\d+%\|", said)
    assert (parse(out)["cases"], status) == (12, 0)
    quiet = command("verify", corpus, "--json", "--service", slow)
    assert (quiet.stdout, quiet.stderr) == (out.replace(b"c.jsonl", bytes(corpus)), b"")


PEAK = """\
import sys
from verdict_core.hosts.cli import main
status = main(sys.argv[1:])
peak = next(row for row in open("/proc/self/status") if row.startswith("VmHWM:"))
print(peak.split()[1], file=sys.stderr)
sys.exit(status)
"""


def peak(arguments: list[str], cwd: Path) -> int:
    """The most memory that a run held, in KiB. What wait4 tells would be ours: it counts from
    before the program was loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *arguments], capture_output=True, check=True, cwd=cwd
    )
    return int(done.stderr)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, to see memory")
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """CP-LINE-10."""
    peaks = []
    for number in (10_000, 40_000):
        with open(tmp_path / "c.jsonl", "wb") as file:
            file.write(BOTH)
            file.writelines(line(f"case-{n}", "keep", "x" * 800) for n in range(number))
        peaks.append(peak(["verify", "c.jsonl", "--junit", "j.xml"], tmp_path))
    assert peaks[1] - peaks[0] < 3_000, peaks
    assert 10_000 < max(peaks) < 150_000


@pytest.fixture
def asking(corpus: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A service that says who it is and then takes a minute; the file in which it says so."""
    corpus.write_bytes(b"".join(line(f"x{n}", "lost", "a" * 900) for n in range(40)) + BOTH)
    pids = tmp_path / "pids"
    body = f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(60)"
    yield service(tmp_path, body), pids
    for pid in asked(pids):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def asked(pids: Path) -> list[int]:
    return [int(pid) for pid in pids.read_text().split()] if pids.exists() else []


def alive(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("whole_group", [True, False], ids=["the group", "the command alone"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interruption_leaves_nothing_half_written_and_nobody_running(
    asking: tuple[str, Path], tmp_path: Path, jobs: str, whole_group: bool
) -> None:
    """CP-EXIT-5."""
    spec, pids = asking
    more = ["--jobs", jobs, "--junit", "j.xml", "--json"]
    with subprocess.Popen(
        [*PROGRAM, "verify", "c.jsonl", "--service", spec, *more], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as child:  # fmt: skip
        while len(asked(pids)) < int(jobs):
            assert child.poll() is None
            time.sleep(0.02)
        (os.killpg if whole_group else os.kill)(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (130, b"", b"verdict-core: interrupted\n")
    assert not any(alive(pid) for pid in asked(pids))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "pids", "service.py"]


def test_workers_end_with_a_command_that_was_killed(
    asking: tuple[str, Path], tmp_path: Path
) -> None:
    """CP-EXIT-5."""
    spec, pids = asking
    with subprocess.Popen(
        [*PROGRAM, "verify", "c.jsonl", "--service", spec, "--jobs", "2"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    ) as child:  # fmt: skip
        while len(asked(pids)) < 2:
            assert child.poll() is None
            time.sleep(0.02)
        child.kill()
        # Its output ends when the last of them lets go of it.
        out, err = child.communicate(timeout=30)
    assert (out, b"Traceback" in err) == (b"", False)
    assert not any(alive(pid) for pid in asked(pids))
