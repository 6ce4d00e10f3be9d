"""Runs the tests that have to fail, each against its fault, and says which did not.

In: faults. Out: a verdict on each, and a table. Laws: a fault is killed by the failure of its named
test alone; what cannot be found, compiled or run is broken, never killed; nothing to run is a
failure. Before any fault, every named test passes on the package as it is.
"""

import compileall
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from attrs import frozen

from mutants import exchange
from mutants.faults import ROOT, Fault
from mutants.fragments import Misfit, mutated
from mutants.leftovers import sweep

TIME_LIMIT_S = 120.0
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
    """Tests to be run in a process of their own, on the package with one module exchanged."""

    tests: tuple[str, ...]
    target: str | None = None
    source: str = ""


@frozen
class _Outcome:
    status: int
    failures: tuple[tuple[str, str, str], ...] = ()
    said: str = ""
    seconds: float = 0.0


def run(faults: Sequence[Fault], *, processes: int = 2) -> Iterator[Verdict]:
    """A verdict on each fault, as they come in."""
    jobs: list[tuple[Fault, _Job]] = []
    for fault in faults:
        try:
            file = ROOT / fault.target
            source = file.read_text(encoding="utf-8")
            text = mutated(source, fault.fragment, fault.replacement, fault.within)
        except (OSError, Misfit) as error:
            yield Verdict(fault, Fate.BROKEN, str(error), 0.0)
        else:
            jobs.append((fault, _Job((fault.killed_by,), fault.target, text)))
    for fault, outcome in _all(jobs, processes):
        yield Verdict(fault, *judged(fault.killed_by, outcome), outcome.seconds)


def unsound(faults: Iterable[Fault], *, processes: int = 2) -> dict[str, str]:
    """What the named tests of a file say that do not pass on the package as it is: none must."""
    files: dict[str, set[str]] = {}
    for fault in faults:
        files.setdefault(fault.killed_by.partition("::")[0], set()).add(fault.killed_by)
    jobs = [(file, _Job(tuple(sorted(tests)))) for file, tests in sorted(files.items())]
    return {file: run.said for file, run in _all(jobs, processes) if run.status != 0}


def judged(test: str, outcome: _Outcome) -> tuple[Fate, str]:
    """What a run of one test says about the fault that it was run on."""
    if outcome.status == 0:
        return Fate.SURVIVED, ""
    calls = [
        raised
        for name, when, raised in outcome.failures
        if when == "call" and (name == test or name.startswith((f"{test}[", f"{test}::")))
    ]
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


def _all(jobs: Sequence[tuple[Any, _Job]], processes: int) -> Iterator[tuple[Any, _Outcome]]:
    """Each job's outcome. The parent has what the tests need imported, so that a fork is ready."""
    _warm()
    waiting, running = list(jobs), dict[int, tuple[Any, Path, float]]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        _compile(Path(top, "compiled"))
        while waiting or running:
            while waiting and len(running) < processes:
                key, job = waiting.pop(0)
                place = Path(top, str(len(waiting)))
                place.mkdir()
                running[_started(job, place)] = key, place, time.monotonic()
            pid, status = _ended(running)
            key, place, began = running.pop(pid)
            sweep(place)
            yield key, _outcome(place, status, time.monotonic() - began)


def _warm() -> None:
    import hypothesis.strategies  # noqa: F401  # and not before: a look at the records is cheap
    import jiter  # noqa: F401
    import orjson  # noqa: F401
    import pytest  # noqa: F401
    from hypothesis import Phase, settings

    # For the tests beside the property suite, which has the same profile.
    quick = [Phase.explicit, Phase.generate]
    settings.register_profile(
        "mutants", derandomize=True, deadline=None, database=None, phases=quick
    )
    settings.load_profile("mutants")
    sys.stdout.flush()


def _compile(cache: Path) -> None:
    """Compile everything once, apart from the checkout, for all the processes to come."""
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(cache)
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for folder in ("verdict_core", "tests", "properties"):
        compileall.compile_dir(ROOT / folder, quiet=2)


def _started(job: _Job, place: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        said = os.open(place / "said", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        exchange.enter(str(ROOT), str(place), job.target, job.source)
        (place / "outcome").write_text(json.dumps(_tested(job.tests, place)))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(0)


def _tested(tests: Sequence[str], place: Path) -> dict[str, Any]:
    import pytest

    os.chdir(ROOT)
    os.environ["VERDICT_CORE_PROFILE"] = "mutants"
    # Plugins that are installed by chance only cost time; the suite needs none of them.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    watch = Watch()
    # What an assertion compared is not asked for here, so none is rewritten.
    options = [
        "-x",
        "-q",
        "--no-header",
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        f"--basetemp={place / 'tmp'}",
    ]
    status = pytest.main([*options, *tests], plugins=[watch])
    return {"status": int(status), "failures": watch.failures}


class Watch:
    """Remembers what failed, in which phase, and with what."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, str, str]] = []

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        kind = call.excinfo.type
        module = "" if kind.__module__ in ("builtins", "_pytest.outcomes") else kind.__module__
        name = f"{module}.{kind.__qualname__}".lstrip(".")
        self.failures.append((node.nodeid, getattr(report, "when", "collect"), name))


def _ended(running: dict[int, tuple[Any, Path, float]]) -> tuple[int, int]:
    """The next child that ends; one that takes too long is killed with all that it started."""
    while True:
        for pid, (_, _, began) in running.items():
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return pid, os.waitstatus_to_exitcode(status)
            if time.monotonic() - began > TIME_LIMIT_S:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
        time.sleep(0.005)


def _outcome(place: Path, status: int, seconds: float) -> _Outcome:
    said = (place / "said").read_text(errors="replace")
    try:
        found = json.loads((place / "outcome").read_text())
    except (OSError, ValueError):
        return _Outcome(status or -1, said=said or "no outcome", seconds=seconds)
    failures = tuple(tuple(failure) for failure in found["failures"])
    return _Outcome(found["status"], failures, said, seconds)
