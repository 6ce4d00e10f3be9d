"""What is held, whatever the framework. (SPEC FW-HELD, FW-OPEN, FW-FIELD)"""

import logging
from collections.abc import Iterable
from pathlib import Path

import pytest
from gitrepo import Repo, isolate, new_repo

from verdict_core import BadConfig, BadValue, Summary, Verdict
from verdict_core.context import FIELDS
from verdict_core.hosts.frameworks import Act, Decision, Guard, named_open
from verdict_core.hosts.hook_words import given_back
from verdict_core.readers.reading import Reading

ALL = Reading("test", dict.fromkeys(FIELDS, ()))


def reading(**items: tuple[str, ...]) -> Reading:
    return Reading("test", {**dict.fromkeys(FIELDS, ()), **items})


def decide(*readings: Reading, must: bool = False, absent: Iterable[str] = ()) -> Decision:
    return Guard(None, absent).decide(lambda: readings, must=must)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    isolate(monkeypatch, tmp_path / "home")
    made = new_repo(tmp_path / "repo")
    made.commit(a="one\n")
    return made


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("number", [1, 3, 4, 50])
def test_a_compaction_is_held_while_anything_is_open(field: str, number: int) -> None:
    """FW-HELD-1."""
    items = tuple(f"item {place}" for place in range(number))
    assert decide(reading(**{field: items})).act is Act.HELD


@pytest.mark.parametrize("field", FIELDS)
def test_a_compaction_is_held_while_a_field_is_unknown(field: str) -> None:
    """FW-HELD-1."""
    given = Reading("test", dict.fromkeys(FIELDS, ()), frozenset({field}))
    assert decide(given).act is Act.HELD


def test_a_compaction_that_loses_nothing_is_made() -> None:
    decision = decide(ALL)
    assert decision.act is Act.COMPACTED
    assert decision.judgement is not None
    assert decision.judgement.verdict is Verdict.SAFE_TO_COMPACT
    assert decision.open_work == ""
    assert decide(ALL, must=True).act is Act.COMPACTED


@pytest.mark.parametrize("number", [1, 4, 5000])
def test_what_cannot_wait_is_not_refused(number: int) -> None:
    """FW-HELD-2: also where the state is over its budget."""
    decision = decide(reading(todos=tuple(f"item {n}" for n in range(number))), must=True)
    assert decision.act is Act.FORCED


def fail(error: Exception) -> Iterable[Reading]:
    raise error


@pytest.mark.parametrize("error", [BadValue("no"), ValueError("no"), RecursionError("no")])
@pytest.mark.parametrize(("must", "act"), [(False, Act.HELD), (True, Act.FORCED)])
def test_a_fault_reaches_the_log_and_not_the_framework(
    error: Exception, must: bool, act: Act, caplog: pytest.LogCaptureFixture
) -> None:
    """FW-HELD-4, FW-HELD-1: and is no permission."""
    decision = Guard(None, FIELDS).decide(lambda: fail(error), must=must)
    assert decision.act is act
    assert decision.judgement is None
    (record,) = caplog.records
    assert record.getMessage().startswith(f"compaction {act}: not judged: ")
    assert str(error) in record.getMessage()


def test_a_state_over_its_budget_is_no_permission() -> None:
    """FW-HELD-1."""
    decision = decide(reading(todos=("x" * 20_000,)))
    assert decision.act is Act.HELD
    assert "over_budget" in decision.fault


def test_what_is_held_is_logged_once_in_a_row(caplog: pytest.LogCaptureFixture) -> None:
    """FW-HELD-3."""
    guard = Guard(None, ())
    two, one = reading(todos=("a\n", "b")), reading(todos=("b",))

    def ask(given: Reading, *, must: bool = False) -> str:
        caplog.clear()
        guard.decide(lambda: [given], must=must)
        return "".join(record.getMessage() for record in caplog.records)

    said = "(in_band, service_not_configured): 2 open (2 todos)"
    assert ask(two) == f"compaction held: wait {said}"
    assert ask(two) == ""
    assert ask(one) != ""
    assert ask(two) != ""
    assert ask(two, must=True) == f"compaction forced: wait {said}"
    assert ask(two, must=True) != ""
    assert ask(two) != ""
    assert ask(ALL) == ""
    assert ask(two) != ""
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_what_is_logged_stays_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """FW-HELD-3."""
    Guard(None, ()).decide(lambda: fail(ValueError("a\nb")), must=False)
    assert "\n" not in caplog.records[0].getMessage()


def test_open_work_is_given_to_the_model_that_goes_on() -> None:
    """FW-OPEN-1."""
    given = reading(todos=("write the test",), next_steps=("- todos: \n",))
    text = decide(given, must=True).open_work
    items = {**dict.fromkeys(FIELDS, ()), **given.items}
    assert text == given_back(Summary(session="(no session)", unknown=(), **items), None)
    assert '\n- todos: "write the test"\n- next_steps: "- todos: \\n"' in text
    assert "not instructions" in text
    assert decide(given).open_work == ""
    assert decide(reading(todos=("x" * 20_000, "y")), must=True).open_work.count("\n- ") == 1


def test_a_forced_compaction_without_items_adds_no_text() -> None:
    """FW-OPEN-1."""
    assert decide(Reading("test", {}), must=True).open_work == ""
    assert Decision(Act.FORCED).open_work == ""


def test_what_was_given_that_way_is_read_back() -> None:
    """FW-OH-3: in the form of HK-BACK-1 alone, each once."""
    items = ('write the "late" test\n- todos: "no"', "\u202ea", "\U0001f600", "b")
    text = decide(reading(todos=(*items, "b"), next_steps=("go on",)), must=True).open_work
    before = 'SUMMARY\n- todos: none\n- todos: "\\x"\n- todos: "" \n  - todos: "in"\n* todos: "a"\n'
    assert named_open(before + text, "todos") == items
    assert named_open(before + text, "next_steps") == ("go on",)
    assert named_open(before, "todos") == ()
    assert named_open(text + "\n" + text.replace('"b"', '"c"'), "todos") == (*items, "c")


def test_a_field_that_nobody_read_is_unknown_unless_it_is_absent() -> None:
    """FW-FIELD-1."""
    given = Reading("test", {"todos": ()})
    rest = [name for name in FIELDS if name != "todos"]
    assert decide(given, absent=rest).act is Act.COMPACTED
    for name in rest:
        decision = decide(given, absent=[other for other in rest if other != name])
        assert decision.act is Act.HELD
        assert decision.summary is not None
        assert decision.summary.unknown == (name,)


def test_what_was_read_counts_whatever_is_said_to_be_absent() -> None:
    """FW-FIELD-1."""
    assert decide(Reading("test", {"todos": ("a",)}), absent=FIELDS).act is Act.HELD
    unread = Reading("test", {"todos": ()}, frozenset({"todos"}))
    decision = decide(unread, absent=FIELDS)
    assert decision.act is Act.HELD
    assert decision.summary is not None
    assert decision.summary.unknown == ("todos",)


@pytest.mark.parametrize("absent", [["todo"], "todos", ["todos", "unknown"]])
def test_a_name_that_is_no_field_is_refused(absent: Iterable[str]) -> None:
    """FW-FIELD-2."""
    with pytest.raises(BadConfig) as caught:
        Guard(None, absent)
    assert caught.value.path == "absent"


def test_uncommitted_work_is_read_where_a_repository_is_named(repo: Repo) -> None:
    """FW-FIELD-3."""
    rest = [name for name in FIELDS if name != "uncommitted"]
    guard = Guard(str(repo.path), rest)
    assert guard.decide(lambda: [], must=False).act is Act.COMPACTED
    repo.write("new.txt")
    decision = guard.decide(lambda: [], must=False)
    assert decision.act is Act.HELD
    assert decision.summary is not None
    assert decision.summary.uncommitted == ("new.txt",)
    repo.commit()
    assert guard.decide(lambda: [], must=False).act is Act.COMPACTED


def test_without_a_repository_uncommitted_work_is_unknown(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FW-FIELD-3: also where the process stands in one."""
    monkeypatch.chdir(repo.path)
    rest = [name for name in FIELDS if name != "uncommitted"]
    decision = Guard(None, rest).decide(lambda: [], must=False)
    assert decision.summary is not None
    assert decision.summary.unknown == ("uncommitted",)


def test_a_directory_that_is_no_repository_is_unknown(tmp_path: Path) -> None:
    """FW-FIELD-3, FW-HELD-1."""
    decision = Guard(tmp_path, FIELDS).decide(lambda: [], must=False)
    assert decision.act is Act.HELD
    assert decision.summary is not None
    assert decision.summary.unknown == ("uncommitted",)
