"""mutmut over the modules that decide something, and the list of what may survive it.

In: `mutmut.toml`, `survivors.toml`. Out: the survivors that nobody answers for, and the answers
that nobody needs. Laws: a survivor is known by its changed lines, not by a number; a time-out, an
unused entry and an empty run fail.
"""

import argparse
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from attrs import frozen

from mutants.chosen import changed_since
from mutants.faults import ROOT
from mutants.leftovers import sweep
from mutants.prose import only_words_differ

HERE = ROOT / "mutants"
CONFIG, SURVIVORS = HERE / "mutmut.toml", HERE / "survivors.toml"
_COPIED = ("verdict_core", "tests", "properties", "examples", "SPEC.md", "README.md")
_NUMBER = re.compile(r"__mutmut_(?:orig|\d+)")
_KILLED = {1, 3}
_SURVIVED = {0}
_TIMED_OUT = {24, 36, 152, 255, -24}
_LEFT_OUT = 34
# How pytest is told to leave out a file, and a test.
_LEAVES = {False: "ignore", True: "deselect"}
# mutmut has no command that only makes mutants: it is stopped where it would begin to test.
_MAKE = """\
import sys
from mutmut import __main__ as mutmut
mutmut.get_mutant_runner = lambda processes: sys.exit(0)
mutmut._run((), int(sys.argv[1]))
"""


@frozen
class Mutant:
    """One change that mutmut made: where, what (`-` and `+` lines), its exit status, and whether
    only words for people changed."""

    module: str
    function: str
    change: tuple[str, ...]
    status: int | None
    is_prose: bool = False

    @property
    def key(self) -> str:
        """What a survivor is known by: it stays when lines move and when others come and go."""
        text = "\n".join([self.module, self.function, *self.change])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def wrong(
    mutants: Sequence[Mutant], answers: Sequence[Mapping[str, str]], modules: Iterable[str]
) -> list[str]:
    """What is wrong with a run over `modules`, given the survivors that are answered for."""
    if not mutants:
        return ["there is no mutant: nothing was tested"]
    found = [*_badly_answered(answers)]
    known = {answer.get("key") for answer in answers}
    survivors = [mutant for mutant in mutants if mutant.status in _SURVIVED]
    found += [_told("survived", m) for m in survivors if m.key not in known]
    found += [_told("timed out", m) for m in mutants if m.status in _TIMED_OUT]
    ended = _KILLED | _SURVIVED | _TIMED_OUT | {_LEFT_OUT}
    found += [_told(f"ended with {m.status}", m) for m in mutants if m.status not in ended]
    used = {mutant.key for mutant in survivors}
    for answer in answers:
        ran = any(fnmatchcase(answer.get("module", ""), pattern) for pattern in modules)
        if ran and answer.get("key") not in used:
            found.append(f"survivors.toml: {answer.get('key')} is not needed")
    return found


def _badly_answered(answers: Sequence[Mapping[str, str]]) -> Iterator[str]:
    keys = Counter(answer.get("key") for answer in answers)
    for answer in answers:
        if set(answer) != {"key", "module", "change", "why"} or len(answer["why"]) < 20:
            yield f"survivors.toml: {answer.get('key')} needs key, module, change, why, and no more"
        if keys[answer.get("key")] > 1:
            yield f"survivors.toml: {answer.get('key')} stands twice"


def _told(what: str, mutant: Mutant) -> str:
    return "\n  ".join([f"{what}: {mutant.key} {mutant.module} {mutant.function}", *mutant.change])


def mutants_of(copy: Path) -> list[Mutant]:
    """The mutants of a run that mutmut made in `copy`."""
    return [mutant for _, found in _modules(copy) for mutant in found.values()]


def _modules(copy: Path) -> Iterator[tuple[Path, dict[str, Mutant]]]:
    """What mutmut keeps of each module, and its mutants by mutmut's name."""
    top = copy / "mutants"
    for meta in sorted(top.rglob("*.meta")):
        statuses = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
        if statuses:
            module = meta.with_suffix("")
            index = module.with_name(f"{module.name}.spans")
            spans = json.loads(index.read_text(encoding="utf-8"))["spans"]
            lines = module.read_text(encoding="utf-8").splitlines()
            yield meta, dict(_of_module(str(module.relative_to(top)), statuses, spans, lines))


def _of_module(
    module: str, statuses: Mapping[str, Any], spans: Mapping[str, Any], lines: Sequence[str]
) -> Iterator[tuple[str, Mutant]]:
    def text(name: str) -> list[str]:
        start, end = spans[name]
        return [_NUMBER.sub("", line) for line in lines[start - 1 : end]]

    for key, status in statuses.items():
        name = key.rpartition(".")[2]
        function = name.partition("__mutmut_")[0]
        before, after = text(f"{function}__mutmut_orig"), text(name)
        bare = [[line.strip() for line in lines] for lines in (before, after)]
        changed = difflib.unified_diff(bare[0], bare[1], n=0)
        change = [line for line in changed if line[0] in "+-" and line[:3] not in ("+++", "---")]
        readable = function.removeprefix("x")[1:].replace("\u01c1", ".")
        is_prose = only_words_differ("\n".join(before), "\n".join(after))
        yield key, Mutant(module, readable, tuple(change), status, is_prose)


def _leave_out(copy: Path, at_import: Iterable[str]) -> None:
    """Mark what mutmut does not have to run: words, and what runs while a module is imported."""
    used = set()
    for meta, found in _modules(copy):
        kept = json.loads(meta.read_text(encoding="utf-8"))
        for key, mutant in found.items():
            place = f"{mutant.module}:{mutant.function}"
            used.add(place)
            if mutant.is_prose or place in at_import:
                kept["exit_code_by_key"][key] = _LEFT_OUT
        meta.write_text(json.dumps(kept), encoding="utf-8")
    modules = {place.partition(":")[0] for place in used}
    unknown = {place for place in at_import if place.partition(":")[0] in modules} - used
    if unknown:
        raise ValueError(f"mutmut.toml: at_import names {', '.join(sorted(unknown))}")


def run(suite: Mapping[str, Any], config: Mapping[str, Any], copy: Path, processes: int) -> int:
    """Let mutmut run in `copy`, which is empty; its exit status."""
    _fill(suite, copy)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{copy / 'plugins'}{os.pathsep}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "VERDICT_CORE_PROFILE": "automatic",
        "VERDICT_CORE_EXAMPLES": str(config["examples"]),
        "VERDICT_CORE_TEST_SECONDS": str(config["seconds_a_test"]),
    }
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(processes)]
    with (copy / "said").open("wb") as said:
        make = [sys.executable, "-c", _MAKE, str(processes)]
        subprocess.run(make, cwd=copy, env=environment, stdout=said, stderr=said, check=True)
        _leave_out(copy, config["at_import"])
        done = subprocess.run(command, cwd=copy, env=environment, stdout=said, stderr=said)
    sweep(copy / "plugins")
    return done.returncode


def _fill(suite: Mapping[str, Any], copy: Path) -> None:
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    # Apart: mutmut takes the copy itself off the path.
    (copy / "plugins").mkdir()
    shutil.copy(HERE / "limits.py", copy / "plugins" / "limits.py")
    _write_config(suite, copy / "pyproject.toml")


def _write_config(suite: Mapping[str, Any], file: Path) -> None:
    """The checkout's pyproject.toml with what mutmut is told. JSON lists are TOML lists."""
    told = {
        "source_paths": ["verdict_core"],
        # Only processor time ends a test (see `limits`): a slow machine is no finding.
        "timeout_multiplier": 100.0,
        "timeout_constant": 60.0,
        "debug": True,  # or it keeps to itself what a test said
        "only_mutate": suite["modules"],
        "also_copy": [name for name in _COPIED if name not in ("verdict_core", "tests")],
        "pytest_add_cli_args": ["-p", "limits", "-p", "no:cacheprovider", "-q"],
        "pytest_add_cli_args_test_selection": [
            *suite["tests"],
            *(f"--{_LEAVES['::' in test]}={test}" for test in suite["leaves_out"]),
        ],
    }
    rows = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    file.write_text("\n".join([text, "[tool.mutmut]", *rows, ""]), encoding="utf-8")


def touched(suites: Mapping[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """The suites with those modules alone that are among `paths`."""
    chosen = {}
    for name, suite in suites.items():
        modules = [p for p in paths if any(fnmatchcase(p, m) for m in suite["modules"])]
        if modules:
            chosen[name] = {**suite, "modules": modules}
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants.automatic", description="mutmut, and its list.")
    parser.add_argument(
        "--changed-since",
        metavar="COMMIT",
        help="only modules that changed; all where git cannot tell",
    )
    parser.add_argument("--modules", nargs="*", metavar="FILE", help="only these modules")
    parser.add_argument("--suites", nargs="*", metavar="NAME", help="only these suites")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    answers = tomllib.loads(SURVIVORS.read_text(encoding="utf-8")).get("survivor", [])
    suites, paths = config["suites"], options.modules
    if options.suites:
        suites = {name: suites[name] for name in options.suites}
    if options.changed_since:
        paths = changed_since(options.changed_since)
        if paths is not None and not touched(suites, paths):
            print(f"no module that decides something changed since {options.changed_since}")
            return 0
    good = True
    for name, suite in (suites if paths is None else touched(suites, paths)).items():
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mutmut-") as place:
            status = run(suite, config, Path(place), options.processes)
            found = mutants_of(Path(place))
            said = (Path(place) / "said").read_text(encoding="utf-8", errors="replace")
        if status != 0:
            print(said[-4_000:], f"mutmut ended with {status}", sep="\n")
            return 1
        problems = wrong(found, answers, suite["modules"])
        print(*problems, sep="\n", end="\n" if problems else "")
        counts = Counter(mutant.status for mutant in found)
        print(f"{name}: {len(found)} mutants, {counts[1] + counts[3]} killed, {counts[0]} survived,"
              f" {counts[_LEFT_OUT]} left out, {len(problems)} wrong,"
              f" {time.monotonic() - began:.0f} s")  # fmt: skip
        good = good and not problems
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
