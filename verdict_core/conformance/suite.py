"""The properties, run against one subject and told as checks.

In: a subject, a seed, a number of examples. Out: one `Check` a property. Laws: the same that test
the reference are run, out of the one copy that there is; a seed and a number say all that is random
in a run; what did not run to its end has not passed. (SPEC CF-RUN)
"""

import ast
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from attrs import frozen
from hypothesis import HealthCheck, Phase, settings

from verdict_core.conformance import parts, plugin
from verdict_core.conformance.checks import Check, Failure, Fate, failure_of, shown
from verdict_core.conformance.child import Gone
from verdict_core.conformance.remote import NotClaimed, Remote

PROFILE = "conformance"
SHOWN_FAILURES = 3
"""How many failing cases of one property are told for one set of clauses: others tell the same."""

Wanted = Callable[[Sequence[str]], bool]


@frozen
class Property:
    """Where a property stands, and the clauses that it names."""

    file: Path
    clauses: tuple[str, ...]


def offered() -> dict[str, Property]:
    """The properties that ask a subject, by name; nothing is imported."""
    found = {}
    for file in sorted(parts.part("properties").resolve().glob("test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")):
                continue
            if plugin.ASKS.intersection(one.arg for one in node.args.args):
                found[node.name] = Property(file, _clauses(ast.get_docstring(node)))
    return found


def run(
    subject: Remote, *, wanted: Wanted, seed: int, examples: int
) -> tuple[list[Check], list[str]]:
    """What came of each property that names a wanted clause, and what went wrong beside them."""
    folder = parts.part("properties").resolve()
    files = {str(one.file) for one in offered().values() if wanted(one.clauses)}
    if not files:
        return [], []
    recorder = Recorder(subject, wanted, seed)
    settings.register_profile(
        PROFILE,
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        # How slow another implementation is says nothing about it.
        suppress_health_check=list(HealthCheck),
        derandomize=False,
        report_multiple_bugs=False,
        deadline=None,
        database=None,
    )
    # Settings are bound when a module is imported, so none may be left from an earlier run.
    _forget(folder)
    arguments = [
        *sorted(files), f"--rootdir={folder}", f"--confcutdir={folder}", "-c", os.devnull,
        "--continue-on-collection-errors", "-p", "no:cacheprovider", "-p", "no:terminal",
        "-p", "verdict_core.conformance.plugin",
    ]  # fmt: skip
    with _environment():
        status = pytest.main(arguments, plugins=[recorder])
    if status is pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if status not in _ENDED:
        recorder.troubles.append(f"the properties ended with {status!r}")
    return recorder.checks(), recorder.troubles


_ENDED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)


def _clauses(docstring: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parts.CLAUSE_ID.findall(docstring or "")))


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """The profile by its name, and no plugins that are installed by chance; all put back after."""
    ours = {"VERDICT_CORE_PROFILE": PROFILE, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    theirs = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_VERSION", "PYTEST_CURRENT_TEST")
    before = {name: os.environ.pop(name, None) for name in (*ours, *theirs)}
    profile, path, written = (
        settings.get_current_profile_name(),
        sys.path[:],
        sys.dont_write_bytecode,
    )
    os.environ.update(ours)
    # Where the package is installed is nobody's place to write.
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, written
        settings.load_profile(profile)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _forget(folder: Path) -> None:
    for name, module in list(sys.modules.items()):
        if folder in Path(getattr(module, "__file__", None) or "/").parents:
            del sys.modules[name]


class Recorder:
    """A pytest plugin that chooses properties, lends them the subject, and remembers."""

    def __init__(self, subject: Remote, wanted: Wanted, seed: int) -> None:
        self.troubles: list[str] = []
        self._subject = subject
        self._wanted = wanted
        self._seed = seed
        self._cases: dict[str, list[_Case]] = {}
        self._clauses: dict[str, tuple[str, ...]] = {}
        self._compared: tuple[str, Any, Any, int] | None = None

    def checks(self) -> list[Check]:
        """One for each property, in the order of the files."""
        return [_check(name, self._clauses[name], cases) for name, cases in self._cases.items()]

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[plugin.REMOTE] = self._subject

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.troubles.append(f"{report.nodeid} cannot be read: {report.longreprtext}")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = []
        for item in items:
            assert isinstance(item, pytest.Function)
            name, function = item.originalname, item.function
            clauses = _clauses(function.__doc__)
            if self._wanted(clauses):
                self._clauses[name] = clauses
                self._cases.setdefault(name, [])
                chosen.append(item)
                if hypothesis.is_hypothesis_test(function):
                    hypothesis.seed(self._seed)(function)
        items[:] = chosen

    def pytest_runtest_setup(self) -> None:
        self._compared = None

    def pytest_assertrepr_compare(self, op: str, left: Any, right: Any) -> None:
        self._compared = op, left, right, self._subject.asked

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Function, call: pytest.CallInfo[None]
    ) -> Iterator[None]:
        report = yield
        if call.when == "call" or call.excinfo is not None:
            name = item.originalname
            self._cases[name].append(self._case(name, call.excinfo and call.excinfo.value))
        return report

    def _case(self, name: str, error: BaseException | None) -> "_Case":
        if error is None:
            return _Case(Fate.PASSED)
        if isinstance(error, pytest.skip.Exception):
            if isinstance(error.__cause__, NotClaimed):
                return _Case(Fate.NOT_CLAIMED, str(error.__cause__))
            return _Case(Fate.SKIPPED, str(error))
        if isinstance(error, Gone):
            return _Case(Fate.NOT_RUN, str(error))
        expected, because = self._expectation()
        # Where nothing was compared, a property's name is the sentence that does not hold.
        expected = expected or name.removeprefix("test_").replace("_", " ")
        exchanges = self._subject.exchanges
        failure = failure_of(
            error, self._clauses[name], exchanges, expected=expected, because=because
        )
        return _Case(Fate.FAILED, "", failure)

    def _expectation(self) -> tuple[str, str]:
        """What a comparison wanted, where it was made after the last reply, so by the failure."""
        if self._compared is None or self._compared[3] != self._subject.asked:
            return "", ""
        op, left, right, _ = self._compared
        return f"{op} {shown(right)}", shown(left)


class _Case:
    def __init__(self, fate: Fate, reason: str = "", failure: Failure | None = None) -> None:
        self.fate = fate
        self.reason = reason
        self.failure = failure


_WORST = (Fate.FAILED, Fate.NOT_RUN, Fate.SKIPPED, Fate.PASSED, Fate.NOT_CLAIMED)


def _check(name: str, clauses: tuple[str, ...], cases: Sequence[_Case]) -> Check:
    fates = [case.fate for case in cases]
    fate = next((fate for fate in _WORST if fate in fates), Fate.NOT_RUN)
    reasons = [case.reason for case in cases if case.fate is fate and case.reason]
    told: Counter[tuple[str, ...]] = Counter()
    failures = []
    for case in cases:
        if case.failure is not None:
            told[case.failure.clauses] += 1
            if told[case.failure.clauses] <= SHOWN_FAILURES:
                failures.append(case.failure)
    return Check(
        id=name,
        clauses=clauses,
        fate=fate,
        reason="; ".join(dict.fromkeys(reasons)),
        passed=fates.count(Fate.PASSED),
        failures=tuple(failures),
    )
