"""The tools that look for weak tests can fail themselves: each way in which they have to."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from gitrepo import isolate, new_repo

from mutants import automatic, runner
from mutants.automatic import Mutant, mutants_of, touched, wrong
from mutants.chosen import DECIDES, changed_since, chosen, part_of
from mutants.faults import RECORDS, ROOT, BadRecord, Fault, by_hand
from mutants.fragments import Misfit, fitted, mutated
from mutants.generated import _all_bounds_have_faults, from_data
from mutants.prose import only_words_differ

SOURCE = '''
LIMIT = 3

def found(items):
    """Whether there are few."""
    if not items:
        return False
    return len(items) <= LIMIT  # equal passes

class Box:
    size: int = LIMIT
    def full(self):
        print("x"); print("y")
        return not self.size
'''


# --- fragments


@pytest.mark.parametrize(
    ("fragment", "replacement", "within", "there"),
    [
        ("len(items) <= LIMIT", "len(items) < LIMIT", "found", "return len(items) < LIMIT"),
        ("  len( items )<=LIMIT ", "True", "", "return True"),
        ("LIMIT = 3", "LIMIT = 4", "", "LIMIT = 4"),
        ("if not items:\n    return False", "", "found", "    pass\n    return len"),
        ("not self.size", "self.size", "Box.full", "return self.size"),
        ("print('x')\nprint('y')", "", "Box", "pass"),
        ("size: int = LIMIT", "size: int = 0", "Box", "size: int = 0"),
        ("LIMIT", "9", "Box.size", "size: int = 9"),
    ],
)
def test_a_fragment_is_replaced_where_it_stands(
    fragment: str, replacement: str, within: str, there: str
) -> None:
    assert there in mutated(SOURCE, fragment, replacement, within)


@pytest.mark.parametrize(
    ("fragment", "replacement", "within", "says"),
    [
        ("len(items) > LIMIT", "True", "", "0 times"),
        ("LIMIT", "4", "", "2 times"),
        ("items", "x", "", "2 times"),
        ("items", "x", "Box", "0 times"),
        ("items", "x", "absent", "names 0 places"),
        ("3", "3", "", "the replacement is the fragment"),
        ("3", "0b11", "", "the replacement is the fragment"),
        ("if", "x", "", "no Python"),
        ("", "x = 1", "", "empty"),
        ("return False", "break", "", "does not compile"),
    ],
)
def test_what_does_not_fit_exactly_once_is_told(
    fragment: str, replacement: str, within: str, says: str
) -> None:
    with pytest.raises(Misfit, match=says):
        mutated(SOURCE, fragment, replacement, within)


def test_comments_and_formatting_do_not_matter() -> None:
    moved = SOURCE.replace("<= LIMIT  # equal passes", "<= (\n        LIMIT\n    )")
    one, other = (mutated(text, "len(items) <= LIMIT", "True") for text in (SOURCE, moved))
    assert one == other


# --- records

RECORD = """
id = "{id}"
clause = "CV-SUM-6"
target = "verdict_core/context/summary.py"
within = "Summary.count"
fragment = "{fragment}"
replacement = "{replacement}"
killed_by = "{killed_by}"
"""
COUNT = "tests/test_clauses.py::test_two_equal_items_count_twice"
KILLED = {"fragment": "len(self.todos)", "replacement": "len(set(self.todos))", "killed_by": COUNT}


def write(folder: Path, id: str, text: str = RECORD, **values: str) -> None:
    (folder / f"{id}.toml").write_text(text.format(**{**KILLED, "id": id, **values}))


def run(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mutants", "--records", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_killed_fault_is_green_and_named_in_the_table(tmp_path: Path) -> None:
    write(tmp_path, "repeats_are_lost")
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed   CV-SUM-6    repeats_are_lost" in done.stdout
    assert "1 killed, 0 survived, 0 broken, of 1" in done.stdout


@pytest.mark.long
def test_the_mutated_module_reaches_a_child_process(tmp_path: Path) -> None:
    test = "tests/test_cli.py::test_a_state_over_its_budget_exits_2"
    values = {"fragment": "exit_status = EXIT_OVER_BUDGET", "replacement": "exit_status = 4"}
    text = RECORD.replace("context/summary.py", "errors.py").replace("Summary.count", "OverBudget")
    write(tmp_path, "another_status", text, killed_by=test, **values)
    done = run(tmp_path)
    assert (done.returncode, "1 killed" in done.stdout) == (0, True), done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"replacement": "len(list(self.todos))"}, "1 survived"),
        ({"fragment": "len(self.absent)"}, "the fragment stands there 0 times"),
        ({"replacement": "len(self.todo_s)"}, "1 killed"),
        ({"replacement": "undefined_name"}, "not found, but NameError"),
        ({"killed_by": "tests/test_clauses.py::test_of_nothing"}, "did not fail but ended with 4"),
        ({"killed_by": "tests/no_such_file.py::test_x"}, "did not fail but ended with 4"),
    ],
)
def test_a_fault_that_is_not_killed_by_its_test_is_red(
    tmp_path: Path, values: dict[str, str], says: str
) -> None:
    write(tmp_path, "one", **values)
    done = run(tmp_path)
    assert says in done.stdout, done.stdout + done.stderr
    assert done.returncode == (0 if says == "1 killed" else 1)


@pytest.mark.long
def test_a_fault_at_import_is_broken_and_not_killed(tmp_path: Path) -> None:
    text = RECORD.replace('within = "Summary.count"\n', "")
    values = {"fragment": "_slot('todos')", "replacement": "1 // 0"}
    write(tmp_path, "one", text.replace('"{fragment}"', '"""{fragment}"""'), **values)
    done = run(tmp_path)
    assert done.returncode == 1
    assert "0 killed, 0 survived, 1 broken" in done.stdout


def test_an_empty_table_is_red(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert "an empty table kills nothing" in done.stdout


@pytest.mark.long
def test_one_survivor_among_many_is_red(tmp_path: Path) -> None:
    write(tmp_path, "one")
    write(tmp_path, "two", replacement="len(list(self.todos))")
    done = run(tmp_path)
    assert (done.returncode, "1 killed, 1 survived" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id = 1 = 2", "one.toml"),
        ('id = "one"', "the keys are"),
        (RECORD + 'more = "x"', "the keys are"),
        (RECORD.replace('"CV-SUM-6"', "6"), "every value is a string"),
        (RECORD.replace("{id}", "other"), "its id is other"),
    ],
)
def test_a_record_that_cannot_be_read_is_red(tmp_path: Path, text: str, says: str) -> None:
    write(tmp_path, "one", text)
    with pytest.raises(BadRecord, match=says):
        by_hand(tmp_path)
    assert run(tmp_path).returncode == 1


def test_every_fault_fits_exactly_once() -> None:
    """A record that no longer matches is found here too, without running anything."""
    faults = [*by_hand(), *from_data()]
    assert len(list(RECORDS.glob("*.toml"))) == len(by_hand()) > 100
    assert len({fault.id for fault in faults}) == len(faults)
    misfits = {}
    for fault in faults:
        source = (ROOT / fault.target).read_text(encoding="utf-8")
        try:
            fitted(source, fault.fragment, fault.replacement, fault.within)
        except Misfit as error:
            misfits[fault.id] = str(error)
    assert misfits == {}


def test_a_bound_without_a_fault_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mutants.generated.BOUNDS", ())
    with pytest.raises(BadRecord, match="is a bound without a fault"):
        _all_bounds_have_faults()


# --- a quick run


def test_a_quick_run_has_the_faults_of_what_decides_and_of_what_changed() -> None:
    faults = [*by_hand(), *from_data()]
    decide = [fault for fault in faults if fault.target.startswith(DECIDES)]
    others = [fault for fault in faults if fault not in decide]
    assert len(decide) > 500
    rounds = [chosen(faults, ["README.md"], part, 8) for part in range(8)]
    assert all(len(decide) < len(part) < len(decide) + len(others) / 4 for part in rounds)
    assert all(set(decide) <= set(part) for part in rounds)
    # Every other one sooner or later.
    assert sum(len(part) - len(decide) for part in rounds) == len(others)
    one = others[0]
    for path in (one.target, one.record, one.killed_by.partition("::")[0]):
        assert all(one in chosen(faults, [path], part, 8) for part in range(8))
    for everything in (None, ["mutants/runner.py"]):
        assert chosen(faults, everything, 0, 8) == faults


def test_what_changed_is_what_differs_from_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path / "home")
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="1", b="1", c="1")
    # No commit before it, no such commit, no repository: then everything runs.
    assert changed_since("HEAD~1", repo.path) is None
    assert changed_since("HEAD", tmp_path / "home") is None
    repo.commit(a="2")
    repo.write("b", "2")
    repo.write("new", "1")
    assert changed_since("HEAD~1", repo.path) == ["a", "b", "new"]
    assert changed_since("HEAD", repo.path) == ["b", "new"]
    assert (part_of(repo.path, 4), part_of(repo.path, 2), part_of(tmp_path, 4)) == (2, 0, 0)


def test_a_quick_run_says_what_it_leaves_to_the_whole_one() -> None:
    command = [sys.executable, "-m", "mutants", "--changed-since", "HEAD", "--only", "exit_*.wait"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert re.match(
        r"\d+ of \d{4,} faults: what decides, what changed since HEAD, and", done.stdout
    )


# --- what a run says

FAULT = Fault(id="a", clause="X-Y-1", target="t", fragment="f", replacement="r", killed_by="f::t")


@pytest.mark.parametrize(
    ("status", "failures", "fate"),
    [
        (0, [], "survived"),
        (1, [("f::t", "call", "AssertionError")], "killed"),
        (1, [("f::t[1]", "call", "AssertionError")], "killed"),
        (1, [("f::t", "call", "KeyError")], "killed"),
        (1, [("f::t", "setup", "AssertionError")], "broken"),
        (1, [("f::t_other", "call", "AssertionError")], "broken"),
        (1, [("f::t", "call", "NameError")], "broken"),
        (1, [("f::t", "call", "hypothesis.errors.FailedHealthCheck")], "broken"),
        (1, [], "broken"),
        (2, [("f", "collect", "ImportError")], "broken"),
        (3, [], "broken"),
        (4, [], "broken"),
        (5, [], "broken"),
        (-9, [], "broken"),
    ],
)
def test_only_the_failure_of_the_named_test_kills(
    status: int, failures: Sequence[tuple[str, str, str]], fate: str
) -> None:
    outcome = runner._Outcome(status, tuple(failures))
    assert runner.judged(FAULT, outcome)[0] == fate
    # Whatever it said: a test that fails anyway finds nothing.
    assert runner.judged(FAULT, outcome, {"f"})[0] == "broken"


@pytest.mark.parametrize(("status", "fate"), [(0, "killed"), (1, "broken"), (-9, "broken")])
def test_what_fails_without_a_fault_too_finds_none(
    status: int, fate: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[runner._Job] = []

    def ran(
        jobs: Sequence[runner._Job], processes: int, top: Path
    ) -> Iterator[tuple[runner._Job, runner._Outcome]]:
        for job in jobs:
            asked.append(job)
            failed = runner._Outcome(1, (("f::t[1-[x]]", "call", "AssertionError"),))
            yield job, failed if job.fault else runner._Outcome(status, said="said")

    monkeypatch.setattr(runner, "_ready", lambda files: nullcontext(tmp_path))
    monkeypatch.setattr(runner, "_all", ran)
    (verdict,), failing = runner.run([FAULT])
    assert (verdict.fate, failing) == (fate, {"f": "said"} if status else {})
    # The test as a whole, of which that case alone is run.
    assert asked[1:] == [runner._Job(("f::t",), cases=frozenset({"f::t[1-[x]]"}))]


def test_of_a_test_that_found_faults_only_those_cases_run_again() -> None:
    def left(*cases: str) -> list[str]:
        names = ["f::t[a]", "f::t[b]", "f::u", "f::C::v[a]", "f::C::v[b]"]
        items = [SimpleNamespace(nodeid=name) for name in names]
        runner.Watch(cases).pytest_collection_modifyitems(items)
        return [item.nodeid for item in items]

    assert left("f::t[b]", "f::u", "f::C::v[a]") == ["f::t[b]", "f::u", "f::C::v[a]"]
    # Under the fault it had another name.
    assert left("f::t[z]", "f::u", "f::C::v[a]") == ["f::t[a]", "f::t[b]", "f::u", "f::C::v[a]"]
    assert len(left()) == 5


@pytest.mark.long
def test_a_test_that_never_ends_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = (
        "from mutants import runner\nrunner.TIME_LIMIT_S = 5.0\n"
        "from mutants.faults import by_hand\n"
        "from pathlib import Path\nimport sys\n"
        "print(runner.run(by_hand(Path(sys.argv[1])))[0])"
    )
    endless = "sum(iter(int, 1))"
    write(tmp_path, "one", replacement=endless)
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "BROKEN" in done.stdout
    assert "ended with -9" in done.stdout


# --- what mutmut leaves


def mutant(status: int | None = 0, change: str = "- a") -> Mutant:
    return Mutant("verdict_core/wire.py", "text", (change, "+ b"), status)


WHY = "an argument that is long enough"
ANSWER = {
    "key": mutant().key, "module": "verdict_core/wire.py", "change": "- a\n+ b", "why": WHY,
}  # fmt: skip
MODULES = ["verdict_core/wire.py"]


def test_a_survivor_that_is_answered_for_is_green() -> None:
    assert wrong([mutant(), mutant(1, "- c")], [ANSWER], MODULES) == []
    assert wrong([mutant(1)], [], MODULES) == []


@pytest.mark.parametrize(
    ("mutants", "answers", "says"),
    [
        ([], [], "there is no mutant"),
        ([mutant()], [], "survived"),
        ([mutant(0, "- other")], [ANSWER], "survived"),
        ([mutant(1)], [ANSWER], "is not needed"),
        ([mutant(36)], [], "timed out"),
        ([mutant(), mutant(-24, "- c")], [ANSWER], "timed out"),
        ([mutant(None)], [], "ended with None"),
        ([mutant(33)], [], "ended with 33"),
        ([mutant(-11)], [], "ended with -11"),
        ([mutant()], [{**ANSWER, "why": "so"}], "needs key"),
        ([mutant()], [{**ANSWER, "more": "x"}], "needs key"),
        ([mutant()], [ANSWER, ANSWER], "stands twice"),
    ],
)
def test_what_nobody_answers_for_is_red(
    mutants: list[Mutant], answers: list[dict[str, str]], says: str
) -> None:
    found = wrong(mutants, answers, MODULES)
    assert any(says in line for line in found), found


def test_an_answer_for_a_module_that_did_not_run_is_left_alone() -> None:
    elsewhere = {**ANSWER, "key": "x", "module": "verdict_core/git.py"}
    assert wrong([mutant(1)], [elsewhere], MODULES) == []
    assert wrong([mutant(1)], [elsewhere], ["verdict_core/*.py"]) != []


def test_a_survivor_is_known_by_its_lines_and_not_by_a_number(tmp_path: Path) -> None:
    top = tmp_path / "mutants" / "verdict_core"
    top.mkdir(parents=True)
    orig = ["def x_f__mutmut_orig(a):", "    return a > 1", ""]
    text = [*orig, "def x_f__mutmut_{n}(a):", "    return a >= 1"]

    def key(number: int, before: list[str]) -> list[str]:
        lines = [*before, *(line.replace("{n}", str(number)) for line in text)]
        (top / "m.py").write_text("\n".join(lines))
        at = len(before)
        spans = {"x_f__mutmut_orig": [at + 1, at + 2], f"x_f__mutmut_{number}": [at + 4, at + 5]}
        (top / "m.py.spans").write_text(json.dumps({"version": 1, "spans": spans}))
        statuses = {"exit_code_by_key": {f"verdict_core.m.x_f__mutmut_{number}": 0}}
        (top / "m.py.meta").write_text(json.dumps(statuses))
        (found,) = mutants_of(tmp_path)
        assert found.change == ("-return a > 1", "+return a >= 1")
        return [found.key, found.module, found.function]

    assert key(1, []) == key(7, ["", "x = 1"])
    assert key(1, [])[1:] == ["verdict_core/m.py", "f"]


def test_only_the_modules_that_changed_are_run() -> None:
    suites = {"one": {"modules": ["a/*.py"], "tests": ["t"]}, "two": {"modules": ["b.py"]}}
    assert touched(suites, ["a/x.py", "c.py"]) == {"one": {"modules": ["a/x.py"], "tests": ["t"]}}
    assert touched(suites, ["README.md"]) == {}
    assert automatic.SURVIVORS.is_file()


@pytest.mark.parametrize(
    ("before", "after", "only_words"),
    [
        ('raise E("a b", path=p)', 'raise E("A B", path=p)', True),
        ('raise E("a b", path=p)', "raise E(None, path=p)", True),
        ('raise E(f"a {b} c")', 'raise E(f"XXa {b} cXX")', True),
        ('message = "a b"', 'message = ""', True),
        ('raise E("a b", path=p)', 'raise E("a b", path=None)', False),
        ('raise E("a b", code="x_y")', 'raise E("a b", code="X_Y")', False),
        ('raise E("a b", path="$.a")', 'raise E("a b", path="XX$.aXX")', False),
        ('raise E("a b")', "raise E(7 + 1)", False),
        ('return BadValue("required", path=p)', "return BadValue(None, path=p)", True),
        ("raise BadValue(error.message, path=p)", "raise BadValue(None, path=p)", True),
        ('raise BadValue("a b", path=p)', "raise BadValue(path=p)", False),
        ('raise BadValue("a", code="b")', 'raise BadValue("a", code="B")', False),
        ("raise ForbiddenKey(path, key)", "raise ForbiddenKey(None, key)", False),
        ('x = "a b"', 'x = "A B"', False),
        ('return "a b"', "return None", False),
        ("raise E(a)", "raise E(None)", False),
        ('raise E("a b") from None', 'raise E("a b")', False),
        ("x = 1", "x = 1", False),
    ],
)
def test_words_for_people_are_told_from_codes(before: str, after: str, only_words: bool) -> None:
    functions = (f"def f():\n    {line}\n" for line in (before, after))
    assert only_words_differ(*functions) is only_words
