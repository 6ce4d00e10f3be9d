"""The faults of a quick run: those of what decides, those of what changed, and a part of the
others that goes round.

In: faults, a commit. Out: some of them. Law: where git cannot tell what changed, all of them; as
many commits as there are parts have every fault run.
"""

import subprocess
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

from mutants.faults import ROOT, Fault

DECIDES = tuple(
    f"verdict_core/{part}" for part in ("context/", "progress/", "errors", "forbidden", "wire")
)
"""Where a fault can turn a verdict, a ruling or a ledger."""
# A change of these concerns every fault.
_RUNS = {f"mutants/{name}.py" for name in ("exchange", "faults", "fragments", "runner")}


def changed_since(commit: str, root: Path = ROOT) -> list[str] | None:
    """The paths that differ from a commit, in the working tree too; None where git cannot tell."""
    paths = _git(root, "diff", "--name-only", "--no-renames", commit, "--")
    added = _git(root, "ls-files", "--others", "--exclude-standard")
    return None if paths is None or added is None else [*paths, *added]


def part_of(root: Path, parts: int) -> int:
    """Which part is this commit's: the next commit has the next one."""
    count = _git(root, "rev-list", "--count", "HEAD")
    return int(count[0]) % parts if count else 0


def _git(root: Path, *words: str) -> list[str] | None:
    command = ["git", "-C", str(root), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def chosen(
    faults: Sequence[Fault], paths: Collection[str] | None, part: int, parts: int
) -> list[Fault]:
    """The faults of what decides, those whose target, test or record is among the paths, and part
    number `part` of the others."""
    if paths is None or not _RUNS.isdisjoint(paths):
        return list(faults)
    return [
        fault
        for fault in faults
        if fault.target.startswith(DECIDES)
        or not {fault.target, fault.record, fault.killed_by.partition("::")[0]}.isdisjoint(paths)
        or zlib.crc32(fault.id.encode()) % parts == part
    ]
