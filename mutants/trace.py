"""From each clause of SPEC.md to the tests that prove it and the faults that break it, and back.

In: SPEC.md, the docstrings of the tests, the faults, `reasons.toml`, `clauses.lock`. Out: a table
for the annex, and every gap. Laws: a clause without a test or a fault has a written reason; what is
named is there; a clause changes only with the version of the specification. (SPEC, annex)
"""

import argparse
import ast
import hashlib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from mutants.faults import ROOT, Fault, by_hand
from mutants.generated import from_data

BEGIN, END = "<!-- trace:begin -->", "<!-- trace:end -->"
REASONS = ROOT / "mutants" / "reasons.toml"
LOCK = ROOT / "mutants" / "clauses.lock"
NEEDS = ("property", "mutant")

_ID = re.compile(r"\b[A-Z]{2}-[A-Z]+-\d+\b")
_IN_NAME = re.compile(r"^test_([a-z]{2})_([a-z]+)_(\d+)_")
_CLAUSE = re.compile(
    r"^- \*\*([A-Z]{2}-[A-Z]+-\d+)\*\* (.*?)(?=^- |^#|^\||^```|^<!--|^$)", re.M | re.S
)
_VERSION = re.compile(r"^Spec version: (\S+)", re.M)


@frozen
class Sources:
    """What is compared: the specification with its version and its clauses by id, the clauses that
    each test and each place in the code names, the faults, and the reasons by clause and need."""

    spec: str
    version: str
    clauses: Mapping[str, str]
    tests: Mapping[str, frozenset[str]]
    code: Mapping[str, frozenset[str]]
    faults: Sequence[Fault]
    reasons: Mapping[str, Mapping[str, str]]


def clauses_of(spec: str) -> dict[str, str]:
    """The text of each clause, on one line, without its *why*."""
    found: dict[str, str] = {}
    for name, text in _CLAUSE.findall(spec):
        found[name] = " ".join(text.split("*Why:*")[0].split())
    return found


def musts_outside(spec: str) -> list[str]:
    """What says MUST and stands in no clause, but for the paragraph that says what it means."""
    rest = _CLAUSE.sub("", spec).split(BEGIN)[0]
    parts = [part.strip() for part in rest.split("\n\n")]
    return [part for part in parts if "MUST" in part and "RFC 2119" not in part]


def named_by_tests(folders: Sequence[Path], root: Path = ROOT) -> dict[str, frozenset[str]]:
    """The clauses that each test names, in its docstring or as `test_rd_git_1_...`, by
    `file::test`."""
    found = {}
    for file in _files(folders):
        for name, node in _tests(ast.parse(file.read_text(encoding="utf-8"))):
            ids = _ID.findall(ast.get_docstring(node) or "")
            ids += ["-".join(parts).upper() for parts in _IN_NAME.findall(node.name)]
            found[f"{file.relative_to(root)}::{name}"] = frozenset(ids)
    return found


def named_by_code(folders: Sequence[Path], root: Path = ROOT) -> dict[str, frozenset[str]]:
    """The clauses that each module of the package names."""
    return {
        str(file.relative_to(root)): frozenset(_ID.findall(file.read_text(encoding="utf-8")))
        for file in _files(folders)
    }


def _files(folders: Sequence[Path]) -> list[Path]:
    return sorted(file for folder in folders for file in folder.rglob("*.py"))


def _tests(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _tests(node, f"{prefix}{node.name}::")


def gaps(sources: Sources) -> list[str]:
    """Every way in which clauses, tests and faults do not fit together."""
    outside = [f"no clause says: {line}" for line in musts_outside(sources.spec)]
    return [*outside, *_unmet(sources), *_nowhere(sources), *_of_another_clause(sources)]


def _unmet(sources: Sources) -> Iterator[str]:
    if not sources.clauses:
        yield "the specification has no clause"
    met = {
        "property": {name for names in sources.tests.values() for name in names},
        "mutant": {fault.clause for fault in sources.faults},
    }
    for clause, text in sources.clauses.items():
        for need in NEEDS:
            reason = sources.reasons.get(clause, {}).get(need, "")
            is_met = clause in met[need]
            if "MUST" in text and not is_met and not reason:
                yield f"{clause} has no {need}, and reasons.toml does not say why"
            if reason and (is_met or "MUST" not in text):
                yield f"{clause} needs no reason for having no {need}"


def _nowhere(sources: Sources) -> Iterator[str]:
    for kind, named in (("test", sources.tests), ("module", sources.code)):
        for place, names in named.items():
            for name in sorted(names - sources.clauses.keys()):
                yield f"{kind} {place} names {name}, which is no clause"
    for fault in sources.faults:
        if fault.clause not in sources.clauses:
            yield f"mutant {fault.id} names {fault.clause}, which is no clause"
    for clause, needs in sources.reasons.items():
        if clause not in sources.clauses:
            yield f"reasons.toml names {clause}, which is no clause"
        for need in sorted(needs.keys() - set(NEEDS)):
            yield f"reasons.toml: {clause} has a reason for {need}; there are {', '.join(NEEDS)}"


def _of_another_clause(sources: Sources) -> Iterator[str]:
    for fault in sources.faults:
        names = sources.tests.get(fault.killed_by.partition("[")[0])
        if names is None:
            yield f"mutant {fault.id} is killed by {fault.killed_by}, which is no test"
        elif fault.clause not in names:
            yield f"mutant {fault.id} breaks {fault.clause}, which {fault.killed_by} does not name"


def changed(sources: Sources, lock: str) -> list[str]:
    """The clauses that are not as they are locked, where the version is. `lock` is a version and
    then an id and a hash a line."""
    head, *rows = lock.splitlines() or [""]
    version = head.removeprefix("version ")
    locked = dict(row.split() for row in rows)
    now = {name: _hash(text) for name, text in sources.clauses.items()}
    gone = [f"{name} was taken out; a withdrawn id stays listed" for name in locked.keys() - now]
    if version != sources.version:
        return [*gone, f"clauses.lock is for version {version}: run `make lock`"]
    edited = [name for name in now if locked.get(name) != now[name]]
    return gone + [f"{name} was edited, and the spec version was not raised" for name in edited]


def stale(sources: Sources) -> list[str]:
    """Whether the annex of the specification is not what the trace gives."""
    if annexed(sources.spec, table(sources)) == sources.spec:
        return []
    return ["the annex of SPEC.md is not what the trace gives: run `make annex`"]


def locked(sources: Sources) -> str:
    """The lock of the clauses as they are."""
    rows = [f"{name} {_hash(text)}" for name, text in sorted(sources.clauses.items())]
    return "\n".join([f"version {sources.version}", *rows, ""])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def table(sources: Sources) -> str:
    """The annex: a line for each clause."""
    lines = ["| clause | tests that prove it | faults that break it |", "|---|---|---|"]
    for clause in sources.clauses:
        tests = [name for name, named in sources.tests.items() if clause in named]
        faults = [fault.id for fault in sources.faults if fault.clause == clause]
        reasons = sources.reasons.get(clause, {})
        cells = (_cell(tests, reasons.get("property")), _cell(faults, reasons.get("mutant")))
        lines.append(f"| {clause} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(names: Sequence[str], reason: str | None) -> str:
    """Short names; those that were made from one table are counted."""
    short = [name.rpartition("::")[2].removeprefix("test_") for name in names]
    alone = [name for name in short if "." not in name]
    tables = Counter(name.partition(".")[0] for name in short if "." in name)
    told = [*alone, *(f"{count} of {name}" for name, count in tables.items())]
    return f"none: {reason}" if reason else ", ".join(told)


def annexed(spec: str, text: str) -> str:
    """SPEC.md with `text` between the two marks, which are put at its end where there are none."""
    if BEGIN not in spec:
        spec = f"{spec.rstrip()}\n\n## Annex: trace\n\n{BEGIN}\n{END}\n"
    before, rest = spec.split(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def read(root: Path = ROOT) -> Sources:
    """The sources of this checkout. Raises BadRecord, OSError."""
    spec = (root / "SPEC.md").read_text(encoding="utf-8")
    (version,) = _VERSION.findall(spec)
    return Sources(
        spec=spec,
        version=version,
        clauses=clauses_of(spec),
        tests=named_by_tests([root / "properties", root / "tests"], root),
        code=named_by_code([root / "verdict_core"], root),
        faults=[*by_hand(), *from_data()],
        reasons=tomllib.loads(REASONS.read_text(encoding="utf-8")),
    )


def _counted(sources: Sources, found: Sequence[str]) -> str:
    tested = {name for named in sources.tests.values() for name in named}
    broken = {fault.clause for fault in sources.faults}
    whole = sources.clauses.keys() & tested & broken
    parts = {
        "clauses": len(sources.clauses),
        "with a test and a fault": len(whole),
        "with a reason": len(sources.reasons),
        "tests": len(sources.tests),
        "faults": len(sources.faults),
        "gaps": len(found),
    }
    return ", ".join(f"{count} {what}" for what, count in parts.items())


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants.trace", description="Clauses, tests, faults.")
    parser.add_argument("--write", action="store_true", help="put the table into SPEC.md")
    parser.add_argument("--lock", action="store_true", help="lock the clauses of a raised version")
    options = parser.parse_args()
    sources = read()
    if options.write:
        sources = evolve(sources, spec=annexed(sources.spec, table(sources)))
        (ROOT / "SPEC.md").write_text(sources.spec, encoding="utf-8")
    lock = LOCK.read_text(encoding="utf-8") if LOCK.exists() else ""
    if options.lock and not lock.startswith(f"version {sources.version}\n"):
        lock = locked(sources)
        LOCK.write_text(lock, encoding="utf-8")
    found = [*gaps(sources), *changed(sources, lock), *stale(sources)]
    print(*found, sep="\n", end="\n" if found else "")
    print(_counted(sources, found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
