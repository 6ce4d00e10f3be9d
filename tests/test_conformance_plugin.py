"""The suite for those who live in pytest. (SPEC CF-BASE-4)"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from verdict_core.conformance import parts, plugin
from verdict_core.conformance.reference import Reference

# These start and end many processes, and wait for some: `make test-long`.
pytestmark = pytest.mark.long

CHILDREN = Path(__file__).parent / "conformance_children.py"


def put_to(tmp_path: Path, *arguments: str, plugged: bool = True) -> str:
    """What pytest says of the suite, in a process and a directory of its own."""
    options = ["-q", "-rs", "-p", "no:cacheprovider", "-c", os.devnull]
    if plugged:
        options += ["-p", "verdict_core.conformance.plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "VERDICT_CORE_PROFILE": "mutants", "COLUMNS": "200"},
        timeout=300,
    )
    return done.stdout.decode() + done.stderr.decode()


def subject(name: str) -> list[str]:
    return ["--subject", shlex.join([sys.executable, str(CHILDREN), name])]


def suite(*files: str) -> list[str]:
    return [str(parts.part("properties") / f"test_{file}_properties.py") for file in files]


def test_a_subject_that_claims_little_is_skipped_with_that_reason(tmp_path: Path) -> None:
    """CF-BASE-4."""
    said = put_to(tmp_path, *subject("ClaimsLittle"), *suite("admission", "scope", "protocol"))
    assert "not claimed: scope" in said
    assert "not claimed: read_report" in said
    assert " failed" not in said
    assert "passed" in said


def test_a_subject_that_is_wrong_fails(tmp_path: Path) -> None:
    """CF-BASE-4."""
    said = put_to(tmp_path, *subject("ExpectsAnAnswer"), *suite("admission"))
    assert "FAILED" in said or "1 failed" in said
    assert "test_each_reason_is_given_exactly_where_it_holds" in said
    assert "1 failed, 7 passed" in said


@pytest.mark.parametrize(
    ("name", "said"), [("one_more_later", "_id"), ("unsupported", "unsupported: invalid")]
)
def test_what_a_subject_says_unasked_or_cannot_is_told(
    tmp_path: Path, name: str, said: str
) -> None:
    """CF-BASE-4, CF-RUN-6."""
    limit = ["--subject-time-limit", "20"]
    found = put_to(tmp_path, *subject(name), *limit, *suite("admission"))
    assert said in found or "spoke_unasked" in found


def test_what_asks_nobody_is_not_asked_of_another(tmp_path: Path) -> None:
    """CF-BASE-4: it is about this package's own disk."""
    there = put_to(tmp_path, *subject(""), *suite("admission", "fingerprint"))
    assert "8 passed" in there
    alone = put_to(tmp_path, *suite("fingerprint"), "--collect-only")
    assert "test_every_path_on_the_disk_is_in_the_fingerprint" in alone


def test_without_a_subject_the_suite_is_put_to_this_package(tmp_path: Path) -> None:
    assert "17 passed" in put_to(tmp_path, *suite("protocol"), plugged=False)


def test_a_subject_that_cannot_be_started_is_a_matter_of_usage(tmp_path: Path) -> None:
    said = put_to(tmp_path, "--subject", "/nowhere/at-all", *suite("admission"))
    assert "ERROR: /nowhere/at-all: usage: cannot be started" in said


def test_the_plugin_lends_a_session_its_subject_and_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CF-BASE-4: in this process, where it can be looked at."""
    options = ["-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:terminal"]
    plug = ["-p", "verdict_core.conformance.plugin"]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("VERDICT_CORE_PROFILE", "ci")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setattr(sys, "path", sys.path[:])
    profile = settings.get_current_profile_name()
    for name, ended in (("ClaimsLittle", 0), ("ExpectsAnAnswer", 1), ("unsupported", 0)):
        arguments = [*options, *plug, *subject(name), *suite("admission")]
        assert pytest.main(arguments) == ended
    nowhere = ["--subject", "/nowhere/at-all"]
    assert pytest.main([*options, *plug, *nowhere, *suite("admission")]) == 4
    alone = ["-k", "one_cell_of_72"]
    assert pytest.main([*options, *plug, *alone, *suite("admission")]) == 0
    settings.load_profile(profile)


def test_a_session_without_a_subject_asks_the_reference(pytestconfig: pytest.Config) -> None:
    assert isinstance(plugin.subject_of(pytestconfig), Reference)
    assert plugin.door_of(pytestconfig).hello.name == "verdict-core"
