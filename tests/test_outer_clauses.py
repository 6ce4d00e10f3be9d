"""What SPEC.md promises of corpus, services and conformance and no other test would miss."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_server import LlmServer, replies, says

from verdict_core.conformance import protocol
from verdict_core.conformance.checks import Check, Failure, Fate, failure_of
from verdict_core.conformance.differ import agree
from verdict_core.conformance.protocol import Reply
from verdict_core.conformance.remote import Exchange
from verdict_core.conformance.report import Report as Conformance
from verdict_core.conformance.report import Row, Settings, rows_of
from verdict_core.conformance.subject import Refused
from verdict_core.context import NoAnswer, Request
from verdict_core.corpus import held, sources_of, verify
from verdict_core.corpus.text import text_of
from verdict_core.errors import OverBudget, VerdictCoreError

FIELDS = ("todos", "uncommitted", "questions", "decisions", "next_steps")


def line(name: str, label: str, *todos: str) -> bytes:
    summary = {"session": "s", **{field: [] for field in FIELDS}, "unknown": []}
    case = {"id": name, "label": label, "summary": {**summary, "todos": todos}}
    return json.dumps(case).encode() + b"\n"


BOTH = line("l", "lost", "a") + line("k", "keep")


# --- corpus


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="needs /dev/fd, to name a pipe")
def test_a_corpus_that_is_a_pipe_is_read_whole() -> None:
    """CP-LINE-8: it can be read once, and it is needed twice."""
    reader, writer = os.pipe()
    try:
        os.write(writer, BOTH)
        os.close(writer)
        with sources_of([f"/dev/fd/{reader}"]) as sources:
            assert verify(sources).files[0].cases == 2
    finally:
        os.close(reader)


def test_the_report_of_a_corpus_has_its_members() -> None:
    """CP-RATE-6."""
    report = verify([held("c", BOTH)]).payload()
    (file,) = report["files"]
    assert (list(file), file["name"], file["cases"]) == (["name", "cases", "digest"], "c", 2)
    assert report["verdicts"] == (
        {"label": "lost", "safe_to_compact": 0, "wait": 1, "preserve_first": 0, "skipped": 0},
        {"label": "keep", "safe_to_compact": 1, "wait": 0, "preserve_first": 0, "skipped": 0},
    )
    assert (report["wait_min"], report["max_chars"], report["service"]) == (3, 16_000, False)


@pytest.mark.parametrize("piece_bytes", [1, 200, 10**6])
def test_a_bad_line_comes_before_a_budget(piece_bytes: int) -> None:
    """CP-EXIT-1: 3 before 2, wherever it stands."""
    large = line("x", "lost", "x" * 20_000)
    with pytest.raises(OverBudget) as over:
        verify([held("c", large + BOTH)], piece_bytes=piece_bytes)
    assert (over.value.path, over.value.exit_status) == ("c:1:$", 2)
    with pytest.raises(VerdictCoreError) as bad:
        verify([held("c", large + BOTH + b"{\n")], piece_bytes=piece_bytes)
    assert (bad.value.code, bad.value.exit_status) == ("invalid_json", 3)


@pytest.mark.parametrize("piece_bytes", [1, 150, 10**6])
def test_a_bad_line_has_its_number_however_the_lines_are_cut(piece_bytes: int) -> None:
    """CP-EXIT-3, CP-LINE-4."""
    with pytest.raises(VerdictCoreError) as caught:
        verify([held("c", BOTH + line("m", "keep") + b"[]\n")], piece_bytes=piece_bytes)
    assert caught.value.path == "c:4:$"


def test_the_curve_says_in_words_that_the_rates_stay() -> None:
    """CP-CURVE-3."""
    said = text_of(verify([held("c", BOTH)]), curve=True)
    assert "the two rates do not depend on wait_min" in said
    assert "only a count of 0 with nothing unknown is safe_to_compact" in said


@pytest.mark.parametrize("data", [b"\n" + BOTH, BOTH + b"\n", BOTH.replace(b"\n", b"\n\n", 1)])
def test_a_blank_line_is_refused(data: bytes) -> None:
    """CP-LINE-3."""
    with pytest.raises(VerdictCoreError) as caught:
        verify([held("c", data)])
    assert caught.value.code == "invalid_json"


# --- services

GIVEN_UP = """\
import socket, time
socket.getaddrinfo = lambda *a, **k: (time.sleep(5), print("waited for"))
from verdict_core.context import NoAnswer, Request
from verdict_core.services.openai_chat import Chat
try:
    Chat("m", "http://nowhere.invalid/v1", 0.3).ask(Request("text"))
except NoAnswer as error:
    print(error.detail)
"""


def test_an_asking_that_was_given_up_does_not_hold_up_the_end() -> None:
    """SV-TIME-3: the look-up of a name, which nothing can break off, least of all."""
    pytest.importorskip("openai", reason="the extra `services` is not installed")
    done = subprocess.run(
        [sys.executable, "-c", GIVEN_UP], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "timeout\n"


def test_leaving_out_two_parameters_takes_no_third_request() -> None:
    """SV-CHAT-10: an endpoint that refuses the schema, then the temperature, was asked twice."""
    chat = pytest.importorskip("verdict_core.services.openai_chat")
    pytest.importorskip("openai", reason="the extra `services` is not installed")
    refusals = [
        replies(400, json.dumps({"error": {"message": name}}).encode())
        for name in ("response_format", "temperature")
    ]
    answer = says('{"choice": "wait", "score": 0.5}')
    with LlmServer(*refusals, answer) as server:
        service = chat.Chat("m", server.base_url)
        with pytest.raises(NoAnswer) as caught:
            service.ask(Request("text"))
        assert (caught.value.detail, len(server.requests)) == ("misconfigured", 2)
        assert service.ask(Request("text")) == b'{"choice": "wait", "score": 0.5}'
        assert len(server.requests) == 3


# --- conformance


def test_a_reply_may_have_16_mib() -> None:
    """CF-PROTO-9."""
    assert protocol.MAX_REPLY == 16 * 1024 * 1024


SETTINGS = Settings(("x",), "1", "1", 1, 0, 100, None)
FAILURE = Failure(("A-B-1",), "{}", "{}", "", "")


def row(fate: Fate) -> Row:
    return Row("A-B-1", "text", fate, "", {}, ())


@pytest.mark.parametrize(
    ("fates", "troubles", "status"),
    [
        (["passed"], (), 0),
        (["passed", "known_failure"], (), 0),
        (["passed", "not_claimed"], (), 0),
        (["passed", "skipped"], (), 4),
        (["passed", "not_run"], (), 4),
        (["not_claimed"], (), 4),
        ([], (), 4),
        (["passed", "failed"], (), 1),
        (["failed", "skipped", "not_run"], (), 1),
        (["passed"], ("a stale entry",), 1),
    ],
)
def test_a_run_with_anything_skipped_is_incomplete(
    fates: list[str], troubles: tuple[str, ...], status: int
) -> None:
    """CF-RUN-2."""
    rows = tuple(row(Fate(fate)) for fate in fates)
    assert Conformance(SETTINGS, None, rows, troubles, ()).exit_status == status


@pytest.mark.parametrize(
    ("fates", "fate"),
    [
        (["passed", "passed"], "passed"),
        (["passed", "skipped"], "skipped"),
        (["passed", "not_claimed"], "passed"),
        (["skipped", "not_run"], "not_run"),
        (["not_claimed"], "not_claimed"),
        (["passed", "failed"], "failed"),
    ],
)
def test_the_row_of_a_clause_is_its_worst_check(fates: list[str], fate: str) -> None:
    """CF-RUN-3."""
    checks = [
        Check(
            id=str(number),
            clauses=("A-B-1",),
            fate=Fate(one),
            failures=(FAILURE,) if one == "failed" else (),
        )
        for number, one in enumerate(fates)
    ]
    rows: Any = rows_of(checks, {"A-B-1": "text"}, ["A-B-1"], {})
    assert [(one.clause, one.fate) for one in rows] == [("A-B-1", fate)]


def test_a_run_names_what_it_can_be_repeated_from() -> None:
    """CF-RUN-8."""
    said = Conformance(SETTINGS, None, (row(Fate.PASSED),), (), ()).payload()
    named = {name: said[name] for name in ("suite", "spec", "protocol", "seed", "examples")}
    assert named == {"suite": "1", "spec": "1", "protocol": 1, "seed": 0, "examples": 100}
    assert (said["command"], said["only"]) == (("x",), None)


def test_a_failure_shows_line_expectation_and_reply() -> None:
    """CF-RUN-4."""
    exchanges = [Exchange(b'{"id":1}', b'{"id":1,"result":{}}'), Exchange(b'{"id":2}', b"\xff")]
    failure = failure_of(AssertionError("A-B-1: too much"), ["A-B-1"], exchanges, expected="less")
    assert (failure.send, failure.came) == ('{"id":2}', "\ufffd")
    assert (failure.expected, failure.before) == ("less", (('{"id":1}', '{"id":1,"result":{}}'),))
    assert failure.clauses == ("A-B-1",)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"result": {"a": [1, 2]}}, {"result": {"a": [1, 2]}}, True),
        ({"result": {"reasons": ["a"]}}, {"result": {"reasons": ["b"]}}, False),
        ({"result": {"a": 1}}, {"result": {"a": True}}, False),
        ({"result": {}}, {"refused": Refused("bad_value", "$")}, False),
        ({"refused": Refused("bad_value", "$")}, {"refused": Refused("bad_value", "$")}, True),
        ({"refused": Refused("bad_value", "$")}, {"refused": Refused("wrong_type", "$")}, False),
        ({"refused": Refused("bad_value", "$")}, {"refused": Refused("bad_value", "$.a")}, False),
        ({"refused": Refused("too_deep", "$")}, {"refused": Refused("invalid_json", "$")}, True),
    ],
)
def test_replies_that_differ_in_anything_compared_are_a_difference(
    one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    """CF-DIFF-2: decision, reasons, codes and paths."""
    assert agree(Reply(**one), Reply(**other)) is same


CHILD = """\
import sys
from verdict_core.conformance.reference import Reference
from verdict_core.conformance.serve import serve

class Half(Reference):
    capabilities = frozenset({"build"})

serve(sys.stdin.buffer, sys.stdout.buffer, Half())
"""
SUITE = """\
from verdict_core.conformance.plugin import subject_of
import pytest

@pytest.fixture(scope="session")
def subject(pytestconfig):
    return subject_of(pytestconfig)

def test_a(subject):
    assert subject.build(b"") == subject.build(b"")

def test_b(subject):
    assert subject.admit("complete", "clean", "aligned", False) == 1
"""


def test_under_pytest_what_is_not_claimed_is_skipped(tmp_path: Path) -> None:
    """CF-BASE-4."""
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "test_it.py").write_text(SUITE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir=.",
         "--assert=plain",
         "-p", "verdict_core.conformance.plugin", "--subject", f"{sys.executable} child.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert "not claimed: admit" in done.stdout
