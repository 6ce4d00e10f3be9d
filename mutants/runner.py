"""Runs the tests that have to fail, each against its fault, and says which did not.

In: faults. Out: a verdict on each, and a table. Laws: a fault is killed by the failure of its named
test alone; what cannot be found, compiled or run is broken, never killed; nothing to run is a
failure. The very case that failed passes on the package as it is, or it found nothing.
"""

import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import frozen

from mutants import exchange
from mutants.faults import ROOT, Fault
from mutants.fragments import Misfit, mutated
from mutants.leftovers import sweep

# For each test that a process is given.
TIME_LIMIT_S = 120.0
# What an assertion compared is not asked for here, so none is rewritten.
_OPTIONS = ["-q", "--no-header", "--assert=plain"]
# Parts of pytest that no test needs here, and that take time in each process.
for _name in ("cacheprovider", "unraisableexception", "threadexception", "faulthandler", "doctest",
              "junitxml", "pastebin", "stepwise", "setuponly", "setupplan"):  # fmt: skip
    _OPTIONS += ["-p", f"no:{_name}"]
# What a mistake in a replacement raises, and what Hypothesis says when it could not do its work.
_NO_FINDING = (
    "NameError",
    "UnboundLocalError",
    "ImportError",
    "ModuleNotFoundError",
    "SyntaxError",
    "hypothesis.",
)


class Fate(StrEnum):
    """What became of a fault."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKEN = "broken"


@frozen
class Verdict:
    """A fault's fate, what was raised or went wrong, and how long it took."""

    fault: Fault
    fate: Fate
    how: str
    seconds: float


@frozen
class _Job:
    """Tests to be run in a process of their own: on the package with a fault, or, as far as they
    are among `cases`, on the package as it is."""

    tests: tuple[str, ...]
    fault: Fault | None = None
    cases: frozenset[str] = frozenset()


@frozen
class _Outcome:
    """How pytest ended, what failed, and what was printed; or why there was nothing to run."""

    status: int
    failures: tuple[tuple[str, str, str], ...] = ()
    said: str = ""
    seconds: float = 0.0
    misfit: str | None = None


def run(faults: Sequence[Fault], *, processes: int = 3) -> tuple[list[Verdict], dict[str, str]]:
    """A verdict on each fault; and the files of which a case that failed under a fault fails on the
    package as it is too, with what they say: those find nothing."""
    if not faults:
        return [], {}
    with _ready({_file(fault) for fault in faults}) as top:
        jobs = [_Job((fault.killed_by,), fault) for fault in faults]
        found = list(_all(jobs, processes, top))
        again = list(_all(_without_faults(found), processes, top))
    failing = {_of(job.tests[0]): end.said for job, end in again if end.status != 0}
    verdicts = [
        Verdict(job.fault, *judged(job.fault, outcome, failing), outcome.seconds)
        for job, outcome in found
        if job.fault is not None
    ]
    return verdicts, failing


def _without_faults(found: Iterable[tuple[_Job, _Outcome]]) -> list[_Job]:
    """For each file the cases that found a fault: they have to pass where there is none. The
    longest come first."""
    tests: dict[str, set[str]] = {}
    cases: dict[str, set[str]] = {}
    for job, outcome in found:
        for name, _ in _findings(job.tests[0], outcome):
            tests.setdefault(_of(name), set()).add(_test(job.tests[0]))
            cases.setdefault(_of(name), set()).add(name)
    files = sorted(cases, key=lambda file: -len(cases[file]))
    return [_Job(tuple(sorted(tests[file])), cases=frozenset(cases[file])) for file in files]


def _findings(test: str, outcome: _Outcome) -> list[tuple[str, str]]:
    """The cases of the test that failed, and with what."""
    own = (f"{test}[", f"{test}::")
    return [
        (name, raised)
        for name, when, raised in outcome.failures
        if when == "call" and (name == test or name.startswith(own))
    ]


def _file(fault: Fault) -> str:
    return _of(fault.killed_by)


def _of(test: str) -> str:
    return test.partition("::")[0]


def judged(fault: Fault, outcome: _Outcome, failing: Container[str] = ()) -> tuple[Fate, str]:
    """What the run of its test says about a fault; nothing where that fails without one."""
    if _file(fault) in failing:
        return Fate.BROKEN, f"{_file(fault)} fails without a fault"
    if outcome.misfit is not None:
        return Fate.BROKEN, outcome.misfit
    if outcome.status == 0:
        return Fate.SURVIVED, ""
    calls = [raised for _, raised in _findings(fault.killed_by, outcome)]
    if outcome.status != 1 or not calls:
        last = outcome.said.strip().splitlines()[-1:]
        return Fate.BROKEN, f"the test did not fail but ended with {outcome.status}: {last}"
    if all(raised.startswith(_NO_FINDING) for raised in calls):
        return Fate.BROKEN, f"not found, but {calls[0]}"
    return Fate.KILLED, next(raised for raised in calls if not raised.startswith(_NO_FINDING))


def report(verdicts: Sequence[Verdict], write: Callable[[str], object] = print) -> bool:
    """Print the kill table and what is wrong; whether nothing is."""
    width = max((len(verdict.fault.id) for verdict in verdicts), default=0)
    for v in sorted(verdicts, key=lambda v: (v.fault.clause, v.fault.id)):
        test = v.fault.killed_by.rpartition("::")[2]
        line = f"{v.fate:8} {v.fault.clause:11} {v.fault.id:{width}} {v.seconds:5.1f} s  {test}"
        write(f"{line}  {v.how}".rstrip())
    counts = Counter(verdict.fate for verdict in verdicts)
    write(", ".join(f"{counts[fate]} {fate}" for fate in Fate) + f", of {len(verdicts)}")
    if not verdicts:
        write("an empty table kills nothing")
    return bool(verdicts) and counts[Fate.KILLED] == len(verdicts)


@contextmanager
def _ready(files: Iterable[str]) -> Iterator[Path]:
    """An empty folder, while what the tests of these files need is imported: a fork is quick."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        _keep_compiled(Path(top, "compiled"))
        _warm(files)
        yield Path(top)


def _all(jobs: Sequence[_Job], processes: int, top: Path) -> Iterator[tuple[_Job, _Outcome]]:
    """Each job's outcome, as they come in."""
    waiting, running = list(jobs), dict[int, tuple[_Job, Path, float]]()
    while waiting or running:
        while waiting and len(running) < processes:
            job = waiting.pop(0)
            place = Path(tempfile.mkdtemp(dir=top))
            running[_started(job, place)] = job, place, time.monotonic()
        pid, status = _ended(running)
        job, place, began = running.pop(pid)
        sweep(place)
        yield job, _outcome(place, status, time.monotonic() - began)
        shutil.rmtree(place, ignore_errors=True)


def _warm(files: Iterable[str]) -> None:
    """Import what the test files need, and forget what is ours: that comes anew with each fault."""
    import pytest  # and not before: a look at the records is cheap

    os.chdir(ROOT)
    os.environ["VERDICT_CORE_PROFILE"] = "mutants"
    # Plugins that are installed by chance only cost time; the suite needs none of them.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    before, path = set(sys.modules), list(sys.path)
    there = [file for file in sorted(files) if Path(ROOT, file).is_file()]
    if there:  # or pytest would collect all files
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            pytest.main([*_OPTIONS, "--collect-only", *there])
    sys.path[:] = path
    for name in sys.modules.keys() - before:
        if _is_ours(sys.modules[name]):
            del sys.modules[name]
    _quick_hypothesis()
    gc.freeze()
    assert threading.active_count() == 1, threading.enumerate()
    sys.stdout.flush()


def _is_ours(module: ModuleType) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    # The environment may stand in the checkout.
    above = [Path(place).parents for place in places if place]
    return any(ROOT in folders and Path(sys.prefix) not in folders for folders in above)


def _quick_hypothesis() -> None:
    """The profile of the property suite, for the tests beside it."""
    from hypothesis import Phase, settings

    settings.register_profile(
        "mutants",
        derandomize=True,
        deadline=None,
        database=None,
        max_examples=40,
        phases=[Phase.explicit, Phase.generate],
    )
    settings.load_profile("mutants")


def _keep_compiled(cache: Path) -> None:
    """Compile everything once, apart from the checkout, for all the processes to come."""
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(cache)
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _started(job: _Job, place: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        said = os.open(place / "said", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        (place / "outcome").write_text(json.dumps(_done(job, place)))
    except BaseException:  # a fork that goes on would run its parent's work once more
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(0)


def _done(job: _Job, place: Path) -> dict[str, Any]:
    fault, target, source = job.fault, None, ""
    if fault is not None:
        target = fault.target
        try:
            before = (ROOT / target).read_text(encoding="utf-8")
            source = mutated(before, fault.fragment, fault.replacement, fault.within)
        except (OSError, Misfit) as error:
            return {"status": -1, "failures": [], "misfit": str(error)}
    exchange.enter(str(ROOT), str(place), target, source)
    import pytest

    watch = Watch(job.cases)
    # Where a fault was found is looked at by nobody; what fails without one is.
    traceback = "short" if fault is None else "no"
    options = ["-x", f"--tb={traceback}", f"--basetemp={place / 'tmp'}"]
    status = pytest.main([*_OPTIONS, *options, *job.tests], plugins=[watch])
    return {"status": int(status), "failures": watch.failures}


class Watch:
    """Remembers what failed, in which phase, and with what. Of a test that has some of `cases` no
    other runs; all of them do where it has none, as where a fault gave them other names."""

    def __init__(self, cases: Container[str] = ()) -> None:
        self.failures: list[tuple[str, str, str]] = []
        self._cases = cases

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        chosen = {_test(item.nodeid) for item in items if item.nodeid in self._cases}
        items[:] = [
            item for item in items if item.nodeid in self._cases or _test(item.nodeid) not in chosen
        ]

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        kind = call.excinfo.type
        module = "" if kind.__module__ in ("builtins", "_pytest.outcomes") else kind.__module__
        name = f"{module}.{kind.__qualname__}".lstrip(".")
        self.failures.append((node.nodeid, getattr(report, "when", "collect"), name))


def _test(case: str) -> str:
    return case.partition("[")[0]


def _ended(running: dict[int, tuple[_Job, Path, float]]) -> tuple[int, int]:
    """The next child that ends; one that takes too long is killed with all that it started."""
    while True:
        for pid, (job, _, began) in running.items():
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return pid, os.waitstatus_to_exitcode(status)
            if time.monotonic() - began > TIME_LIMIT_S * len(job.tests):
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
        time.sleep(0.005)


def _outcome(place: Path, status: int, seconds: float) -> _Outcome:
    said = (place / "said").read_text(errors="replace")
    try:
        found = json.loads((place / "outcome").read_text())
    except (OSError, ValueError):
        ended = f"no outcome: it ended with {status} after {seconds:.0f} s"
        return _Outcome(status or -1, said=f"{said}\n{ended}", seconds=seconds)
    failures = tuple(tuple(failure) for failure in found["failures"])
    return _Outcome(found["status"], failures, said, seconds, found.get("misfit"))
