"""Cases from public bug reports, of the kinds context and payload, each built for real.

A test bears the id of its case. `tests/data/cases.jsonl` has the symptom and the report of each.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from claude_record import Conversation
from gitrepo import Repo, isolate
from running import Run

from verdict_core import BadConfig, BadOptions, Summary, build, judge
from verdict_core.context.ask import Request
from verdict_core.context.thresholds import read_thresholds
from verdict_core.wire import parse


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit and nothing open."""
    isolate(monkeypatch, tmp_path / "person")
    path = tmp_path / "repo"
    path.mkdir()
    repo = Repo(path)
    repo.git("init", "-q")
    repo.git("commit", "-q", "--allow-empty", "-m", "first")
    return path


def checked(command: Run, repo: Path, record: Path, *more: str) -> tuple[dict[str, Any], int]:
    done = command("check", "--json", "--repo", repo, "--record", record, *more)
    assert done.stderr == b""
    answer: dict[str, Any] = parse(done.stdout)
    return answer, done.returncode


def test_ctx_01_five_open_todos_are_preserved_first(
    command: Run, clean: Path, tmp_path: Path
) -> None:
    talk = Conversation().person("go on")
    talk.todos(*[(f"design module {n}", "pending") for n in range(1, 6)]).says("Noted.")
    answer, status = checked(command, clean, talk.write(tmp_path / "r.jsonl"))
    assert (answer["verdict"], answer["reasons"]) == ("preserve_first", ["over_threshold"])
    assert (answer["count"], answer["detail"], status) == (5, None, 20)
    assert answer["summary"]["todos"] == [f"design module {n}" for n in range(1, 6)]


def test_ctx_02_a_state_that_drifted_from_its_summary_is_refused(command: Run) -> None:
    summary = {"session": "s", "todos": [], "uncommitted": [], "questions": [], "decisions": [],
               "next_steps": ["one"], "unknown": []}  # fmt: skip
    import json

    built = command("build", "--json", "--summary", "-", stdin=json.dumps(summary).encode())
    document = parse(built.stdout)
    document["summary"] = {**summary, "next_steps": [], "uncommitted": ["a.py"]}
    done = command("judge", "-", "--json", stdin=json.dumps(document).encode())
    assert done.returncode == 3
    assert parse(done.stdout)["refused"]["code"] == "unbound_state"
    assert done.stderr.count(b"\n") == 1


def test_ctx_03_an_unrecorded_decision_counts_and_is_carried_verbatim(
    command: Run, clean: Path, tmp_path: Path
) -> None:
    talk = Conversation().person("clean up the tables")
    talk.asks("May I drop the audit table?", "no: do not drop the audit table").says("I won't.")
    answer, status = checked(command, clean, talk.write(tmp_path / "r.jsonl"))
    assert (answer["verdict"], answer["count"], status) == ("wait", 1, 10)
    assert answer["reasons"] == ["in_band", "service_not_configured"]
    (decision,) = answer["summary"]["decisions"]
    assert "no: do not drop the audit table" in decision
    assert decision in build(Summary.from_payload(answer["summary"])).text


def test_ctx_05_an_answered_question_is_not_an_open_one(
    command: Run, clean: Path, tmp_path: Path
) -> None:
    talk = Conversation().person("set up the server").asks("use port 8080?", "yes").commits()
    answer, status = checked(command, clean, talk.says("Done.").write(tmp_path / "r.jsonl"))
    assert (answer["verdict"], answer["count"], status) == ("safe_to_compact", 0, 0)


def test_ctx_07_commits_on_no_branch_are_durable_and_the_limits_are_said(
    command: Run, clean: Path, tmp_path: Path
) -> None:
    repo = Repo(clean)
    repo.git("checkout", "-q", "--detach")
    for n in range(3):
        repo.git("commit", "-q", "--allow-empty", "-m", f"detached {n}")
    record = (Conversation().person("cycle 3").todos(("cycle 3", "completed")).says("Done.")).write(
        tmp_path / "r.jsonl"
    )
    answer, status = checked(command, clean, record)
    assert (answer["verdict"], answer["count"], status) == ("safe_to_compact", 0, 0)
    people = command("check", "--repo", clean, "--record", record).stdout.decode()
    assert re.search(r"says\s+nothing about work being merged, pushed or right", people)


def test_pay_01_a_repeated_key_is_refused(command: Run) -> None:
    text = b'{"todos":[{"id":"1","text":"fix","status":"pending"}],"todos":[]}'
    done = command("build", "--json", "--summary", "-", stdin=text)
    assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, "duplicate_key")
    assert b'"todos"' in done.stderr


def test_pay_02_forty_kilobytes_of_brackets_are_refused(command: Run) -> None:
    for arguments in (("build", "--summary", "-"), ("judge", "-"), ("check", "--summary", "-")):
        done = command(*arguments, "--json", stdin=b"[" * 20_000 + b"]" * 20_000)
        assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, "too_deep")
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        b'{"safe_max": NaN, "wait_min": 3}',
        b'{"safe_max": 0, "wait_min": Infinity}',
        b'{"safe_max": 4, "wait_min": 3}',
        b'{"safe_max": true, "wait_min": 3}',
    ],
)
def test_pay_03_thresholds_that_open_the_gate_are_refused(text: bytes) -> None:
    with pytest.raises(BadConfig) as caught:
        read_thresholds(parse(text, allow_nan=True))
    assert (caught.value.code, caught.value.exit_status) == ("bad_config", 3)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1", "true", "3.0", " 3", "1_0", "٣", ""])
def test_pay_03_so_are_they_on_the_command_line(command: Run, value: str) -> None:
    done = command("judge", "-", "--json", f"--wait-min={value}")
    assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, "bad_config")
    assert parse(done.stdout)["refused"]["path"] == "--wait-min"


@pytest.mark.parametrize(
    ("key", "code", "path"),
    [
        ("perBlock", "forbidden_key", "$.perBlock"),
        ("per_block", "forbidden_key", "$.per_block"),
        ("PERBLOCK", "forbidden_key", "$.PERBLOCK"),
        ("\uff50\uff45\uff52Block", "forbidden_key", "$['\uff50\uff45\uff52Block']"),
        ("per\u200bBlock", "forbidden_key", "$['per\u200bBlock']"),
        ("perBl\u043eck", "unknown_field", "$['perBl\u043eck']"),
        ("perBlock\ufeff", "forbidden_key", "$['perBlock\ufeff']"),
    ],
)
def test_pay_04_a_look_alike_is_refused_one_way_or_the_other(
    command: Run, key: str, code: str, path: str
) -> None:
    import json

    summary = {"session": "s", "todos": [], "uncommitted": [], "questions": [], "decisions": [],
               "next_steps": [], "unknown": [], key: 1}  # fmt: skip
    done = command("build", "--json", "--summary", "-", stdin=json.dumps(summary).encode())
    refused = parse(done.stdout)["refused"]
    assert (done.returncode, refused["code"], refused["path"]) == (3, code, path)


def test_pay_05_half_of_a_surrogate_pair_is_refused(command: Run) -> None:
    text = b'{"todos":[{"id":"1","text":"bad \\udc88 char","status":"pending"}]}'
    done = command("build", "--json", "--summary", "-", stdin=text)
    assert (done.returncode, parse(done.stdout)["refused"]["code"]) == (3, "lone_surrogate")
    assert re.search(rb"offset \d+", done.stderr)


def test_svc_05_a_request_has_exactly_three_options_in_their_order() -> None:
    """The request's half of the case; the answers' half is among the properties."""
    three = ("safe_to_compact", "wait", "preserve_first")
    assert Request("text", three).options == three
    with pytest.raises(BadOptions, match="four_options"):
        Request("text", (*three, "drop_block_3"))
    with pytest.raises(BadOptions, match="options_order"):
        Request("text", ("wait", "safe_to_compact", "preserve_first"))


def test_svc_11_the_two_ends_never_need_the_service() -> None:
    """The core's half of the case: without any service the ends are decided."""
    base: dict[str, Any] = {"session": "s", "uncommitted": [], "questions": [], "decisions": [],
                            "next_steps": [], "unknown": []}  # fmt: skip
    verdicts = []
    for count in (0, 2, 5):
        summary = Summary(todos=["x"] * count, **base)
        verdicts.append(str(judge(summary, build(summary)).verdict))
    assert verdicts == ["safe_to_compact", "wait", "preserve_first"]
