"""Deadlines, two landings at once, full disks, and death in the middle. (SPEC LD-LAND)"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from gitrepo import Repo, fake_git, new_repo
from landings import REF, RUN, codes, entries, holds, reported, rest, summary

from verdict_core import Summary, git
from verdict_core.landing import Landing, handoffs
from verdict_core.landing.repository import Clock

pytestmark = pytest.mark.usefixtures("own_home")

# Lands the paths that are named and a todo, and says what came of it.
LAND = f"""
import sys
from pathlib import Path
sys.path[:0] = {sys.path!r}
from landings import codes, summary
from verdict_core.landing import Landing
whole = summary(uncommitted=sys.argv[3:], todos=["t"])
landed = Landing(Path(sys.argv[2]), "s-s").land(whole, Path(sys.argv[1]))
print(landed.ref, landed.handoff, codes(landed))
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="a\n", gone="gone\n")
    repo.write("a", "work\n")
    (repo.path / "gone").unlink()
    repo.write("new/b", "b\n")
    return repo


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path / "state", RUN)


def started(repo: Repo, state: Path, whole: Summary) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", LAND, repo.path, state, *whole.uncommitted],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


# --- deadline ------------------------------------------------------------------------------------


def test_after_the_deadline_nothing_begins(repo: Repo, landing: Landing, tmp_path: Path) -> None:
    """LD-LAND-3."""
    whole, before = reported(repo, todos=["t"]), rest(repo.path)
    landed = landing.land(whole, repo.path, deadline=time.monotonic() - 1)
    assert (landed.ref, landed.handoff) == (None, None)
    assert codes(landed) == dict.fromkeys(("t", *whole.uncommitted), "deadline")
    assert not (tmp_path / "state").exists()
    assert rest(repo.path) == before
    assert landing.land(whole, repo.path, deadline=time.monotonic() + 60).unlanded == ()


@pytest.mark.parametrize("command", [
    "hash-object -w", "read-tree", "update-ref", "for-each-ref", "show-toplevel",
])  # fmt: skip
def test_a_git_that_hangs_is_left_at_the_deadline(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """LD-LAND-3: what needs no git is landed all the same."""
    whole = reported(repo, todos=["t"])
    text = f'case "$*" in *"{command}"*) sleep 60;; esac; exec "$REAL_GIT" "$@"'
    fake_git(monkeypatch, tmp_path / "bin", text)
    start = time.monotonic()
    landed = landing.land(whole, repo.path, deadline=start + 4)
    assert time.monotonic() - start < 20
    if command == "hash-object -w":  # a removal needs no object
        assert codes(landed) == {"a": "deadline", "new/": "deadline"}
    elif command in (
        "for-each-ref",
        "show-toplevel",
    ):  # the look at what is landed already is what hung
        assert codes(landed) == dict.fromkeys(("t", *whole.uncommitted), "deadline")
        return
    else:
        assert codes(landed) == dict.fromkeys(whole.uncommitted, "deadline")
    assert landed.handoff is not None
    monkeypatch.undo()


def test_files_that_come_too_late_are_named_and_the_others_landed(
    repo: Repo, landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-LAND-3: the time of files is up before the third of three."""
    looks = iter([False, False, True])

    class Late(Clock):
        passed = property(lambda self: next(looks))

    earlier = Clock.earlier
    monkeypatch.setattr(Clock, "earlier", lambda self, *args: Late(earlier(self, *args).deadline))
    landed = landing.land(reported(repo), repo.path, deadline=time.monotonic() + 60)
    assert codes(landed) == {"new/": "deadline"}
    assert entries(repo) == {b"a": ("100644", b"work\n")}


def test_some_of_the_time_is_left_for_what_comes_after_the_files() -> None:
    """LD-LAND-3."""
    assert Clock().earlier(1, 0.5) == Clock()
    assert (Clock().left(), Clock().passed) == (None, False)
    now = time.monotonic()
    assert Clock(now + 100).earlier(1, 0.5).deadline == now + 99
    near = Clock(now + 1).earlier(10, 0.5).deadline
    assert near is not None
    assert now + 0.4 < near < now + 1
    assert Clock(now - 5).earlier(1, 0.5) == Clock(now - 5)
    assert Clock(now - 5).passed


# --- two at once ---------------------------------------------------------------------------------


def test_landings_at_once_take_a_number_each(repo: Repo, landing: Landing, tmp_path: Path) -> None:
    """LD-REF-1, LD-HAND-5: four processes, and nothing of any is lost."""
    children = [started(repo, tmp_path / "state", reported(repo)) for _ in range(4)]
    said = [child.communicate(timeout=120) for child in children]
    assert [child.returncode for child in children] == [0] * 4, said
    refs = [out.decode().split()[0] for out, _ in said]
    handoffs = [out.decode().split()[1] for out, _ in said]
    assert all(out.decode().strip().endswith("{}") for out, _ in said)
    # One that came late enough found all landed, and names what another made.
    kept = landing.list(repo.path)
    assert {ref.name for ref in kept.refs} == set(refs)
    assert {str(one.path) for one in kept.handoffs} == set(handoffs)
    assert holds(landing, reported(repo, todos=["t"]), repo)


def test_a_number_that_was_taken_meanwhile_gives_way_to_the_next(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-REF-1: and the ref that was there is not moved."""
    git_dir, head = repo.path, "HEAD"
    text = (
        f'case "$*" in *commit-tree*) "$REAL_GIT" -C {git_dir} update-ref {REF} {head};; esac;'
        ' exec "$REAL_GIT" "$@"'
    )
    fake_git(monkeypatch, tmp_path / "bin", text)
    whole = reported(repo)
    landed = landing.land(whole, repo.path)
    assert landed.ref == "refs/verdict-core/s-s/2"
    assert repo.git("rev-parse", REF) == repo.git("rev-parse", "HEAD")
    assert landed.unlanded == ()


def test_a_handoff_number_that_was_taken_meanwhile_gives_way_to_the_next(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD-HAND-5."""
    first = landing.land(summary(todos=["first"]), None).handoff
    monkeypatch.setattr(handoffs, "_folders", lambda directory: iter(()))
    assert first is not None
    before = first.read_bytes()
    payload = {**json.loads(before), "todos": ["second"]}
    second = handoffs.write(landing.directory, payload)
    assert (first.parent.name, second.parent.name) == ("1", "2")
    assert first.read_bytes() == before


# --- killed --------------------------------------------------------------------------------------

COMMANDS = ["rev-parse", "diff-index", "hash-object -w", "read-tree", "update-index", "write-tree",
            "commit-tree", "update-ref", "for-each-ref", "diff-tree", "cat-file"]  # fmt: skip


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_landing_that_is_killed_is_landed_again(
    repo: Repo, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    command: str, when: str,
) -> None:  # fmt: skip
    """LD-LAND-5: at every call of git, before it and after it."""
    whole, before = reported(repo, todos=["t"]), rest(repo.path)
    kill = "kill -9 $PPID"
    run = f"{kill}; exit 1" if when == "before" else f'"$REAL_GIT" "$@"; {kill}; exit 1'
    text = f'case "$*" in *"{command}"*) {run};; esac; exec "$REAL_GIT" "$@"'
    with monkeypatch.context() as context:
        fake_git(context, tmp_path / "bin", text)
        child = started(repo, tmp_path / "state", whole)
        child.communicate(timeout=60)
        assert child.returncode == -signal.SIGKILL
    time.sleep(0.05)
    assert rest(repo.path) == before
    left = landing.remaining(whole, repo.path)
    refs = repo.git("for-each-ref", "refs/verdict-core/")
    assert bool(left.uncommitted) == (refs == b"")
    landed = landing.land(whole, repo.path)
    assert landed.unlanded == ()
    assert landed.ref == REF
    assert holds(landing, whole, repo)
    repo.git("fsck", "--strict", "--no-dangling")


def test_the_lock_that_a_killed_git_left_is_in_nobodys_way(repo: Repo, landing: Landing) -> None:
    """LD-LAND-5."""
    lock = repo.path / ".git" / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.write_bytes(b"")
    whole = reported(repo)
    landed = landing.land(whole, repo.path)
    assert (landed.ref, landed.unlanded) == ("refs/verdict-core/s-s/2", ())


def test_where_no_ref_can_be_made_it_is_said(repo: Repo, landing: Landing) -> None:
    """LD-LAND-1, LD-LAND-2: the place is taken, for every number."""
    repo.git("update-ref", "refs/verdict-core/s-s", "HEAD")
    whole = reported(repo)
    landed = landing.land(whole, repo.path)
    assert landed.ref is None
    assert codes(landed) == dict.fromkeys(whole.uncommitted, "git_failed")


@pytest.mark.parametrize("call", ["mkdir", "open", "fsync", "replace"])
@pytest.mark.parametrize("number", range(1, 9))
def test_a_handoff_is_whole_or_absent_wherever_its_writer_dies(
    landing: Landing, tmp_path: Path, call: str, number: int
) -> None:
    """LD-LAND-5, LD-HAND-4."""
    code = (
        f"import os, signal, sys\nsys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path\nfrom landings import summary\n"
        "from verdict_core.landing import Landing\n"
        f"plain, left = os.{call}, [{number}]\n"
        "def dies(*args, **more):\n"
        "    left[0] -= 1\n"
        "    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return plain(*args, **more)\n"
        f"os.{call} = dies\n"
        f"Landing(Path({str(tmp_path / 'state')!r}), 's-s').land(summary(todos=['t']), None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    whole = summary(todos=["t"])
    left = landing.remaining(whole, None)
    json_files = list((tmp_path / "state").rglob("handoff.json"))
    assert (left.count == 0) == bool(json_files)
    assert all(file.with_name("handoff.md").exists() for file in json_files)
    assert landing.land(whole, None).unlanded == ()
    assert landing.remaining(whole, None).count == 0


# --- no room -------------------------------------------------------------------------------------


def test_on_a_full_disk_what_could_not_be_stored_is_named(
    repo: Repo, landing: Landing, tmp_path: Path
) -> None:
    """LD-LAND-1, LD-LAND-2: the system refuses every file of more than 64 KiB."""
    noise = os.urandom(200_000)
    (repo.path / "large").write_bytes(noise)
    whole, before = reported(repo), rest(repo.path)
    limit = (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\nlanded = "
    )
    code = LAND.replace("landed = ", limit)
    done = subprocess.run(
        [sys.executable, "-c", code, repo.path, tmp_path / "state", *whole.uncommitted],
        capture_output=True, check=True,
    )  # fmt: skip
    assert b"'large': 'unwritable'" in done.stdout
    assert rest(repo.path) == before
    left = landing.remaining(whole, repo.path).uncommitted
    assert "large" in left
    landed = landing.land(whole, repo.path)
    assert landed.unlanded == ()
    assert git.run(repo.path, "cat-file", "-p", f"{landed.ref}:large") == noise
