"""What the tests of landing share: summaries as the readers give them, and whole repositories
compared byte for byte."""

from pathlib import Path
from typing import Any

from gitrepo import Repo, snapshot

from verdict_core import Summary
from verdict_core.context import FIELDS
from verdict_core.landing import Landed, Landing
from verdict_core.readers import git_status

RUN = "s-s"
REF = "refs/verdict-core/s-s/1"
# Where a landing adds files: what stands there is compared apart.
_ADDS = (".git/objects", ".git/refs")


def summary(**fields: Any) -> Summary:
    return Summary(**{"session": "s", **dict.fromkeys(FIELDS, ()), "unknown": (), **fields})


def reported(repo: Repo, **fields: Any) -> Summary:
    """A summary with what the git reader says of `repo`."""
    reading = git_status.read(repo.path)
    assert reading.unknown == frozenset()
    return summary(uncommitted=reading.items["uncommitted"], **fields)


def codes(landed: Landed) -> dict[str, str]:
    return {one.item: one.code for one in landed.unlanded}


def entries(repo: Repo, ref: str = REF) -> dict[bytes, tuple[str, bytes]]:
    """Mode and bytes of all that a ref holds, by path, as a plain git says."""
    found = {}
    for line in repo.git("ls-tree", "-r", "-z", ref).split(b"\0")[:-1]:
        about, path = line.split(b"\t", 1)
        mode, kind, oid = about.decode().split()
        found[path] = (mode, repo.git("cat-file", "-p", oid) if kind == "blob" else b"")
    return found


def rest(folder: Path) -> dict[str, Any]:
    """All of a repository but objects, and refs of landings; times of their folders apart."""
    return {
        name: about if name not in _ADDS else about[0]
        for name, about in snapshot(folder).items()
        if not name.startswith((".git/objects/", ".git/refs/verdict-core"))
    }


def objects(folder: Path) -> dict[str, Any]:
    return {
        name: (about[0], about[2])
        for name, about in snapshot(folder).items()
        if name.startswith(".git/objects/")
    }


def holds(landing: Landing, whole: Summary, repo: Repo) -> bool:
    """Whether everything of a summary is landed."""
    return landing.remaining(whole, repo.path).count == 0
