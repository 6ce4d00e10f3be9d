"""A ledger that was cut, flipped, killed, starved or unplugged loses nothing that it acknowledged.

Each check takes the ledger that it looks at, is run on the real one, and is then run on ledgers
that are broken in the way it looks for, where it has to fail.
"""

import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from progress.strictfs import Image, Killed, StrictDisk, claim_body, ruling_body

from mutants import ledgers as broken
from verdict_core.errors import LedgerFault
from verdict_core.progress.ledger import DISK, Disk, Ledger
from verdict_core.progress.projection import project
from verdict_core.progress.runs import bare_lines
from verdict_core.wire import canonical

Make = Callable[[Path, Disk], Ledger]

RUN = Path("/state/verified-progress/runs/s-a")
LEDGER = RUN / "ledger.jsonl"
STATE = RUN / "state.json"
# Short lines: the checks go through every byte and every bit of them.
SHORT: dict[str, Any] = {"scope": "s", "fingerprinted": "s", "verifier": [], "before": None}
HISTORY = (
    claim_body("a", **SHORT),
    ruling_body(1, "a", **SHORT, after=None, report=None, missing=["x"]),
    claim_body("b", **SHORT),
)
NEXT = claim_body("n\u00e4chste", **SHORT)
ROOT = Path(__file__).parents[2]


def code_of(call: Callable[[], object]) -> str:
    try:
        call()
    except LedgerFault as fault:
        return fault.code
    return "none"


def written(count: int = len(HISTORY)) -> tuple[Image, list[dict[str, Any]]]:
    """The files that so much of HISTORY leaves, and its entries."""
    disk = StrictDisk()
    ledger = Ledger(RUN, disk)
    entries = [ledger.append(body) for body in HISTORY[:count]]
    files = {path: now for path, (_, now) in disk.moments[-1].now.items()}
    return files, entries


def holds(make: Make, image: Image, acknowledged: list[dict[str, Any]]) -> None:
    """After a crash that left `image`: all that was acknowledged is there, in its order, the next
    entry stands on a line of its own, and nothing of it looks like damage to what was there."""
    ledger = make(RUN, StrictDisk(image))
    assert ledger.audit().breaks == ()
    added = ledger.append(NEXT)
    entries = list(ledger.read().entries)
    assert entries[: len(acknowledged)] == acknowledged
    assert entries[-1:] == [added]
    assert len(entries) <= len(acknowledged) + 2
    assert added["number"] == ledger.audit().lines
    assert ledger.audit().breaks == ()
    assert ledger.state() == project(map(canonical, entries))


# --- cuts, zeros, flips ---


def survives_every_cut(make: Make, rest: Callable[[int], bytes]) -> int:
    files, entries = written()
    raw = files[LEDGER]
    ends = [n for n, byte in enumerate(raw) if byte == 0x0A]
    for cut in range(len(raw) + 1):
        whole = [entry for entry, end in zip(entries, ends, strict=True) if end < cut]
        holds(make, {LEDGER: raw[:cut] + rest(len(raw) - cut)}, whole)
    return len(raw) + 1


def test_a_ledger_cut_at_any_byte_keeps_every_whole_line_and_takes_the_next() -> None:
    assert survives_every_cut(Ledger, lambda count: b"") > 1400


def test_a_ledger_whose_tail_became_zeros_at_any_byte_keeps_every_whole_line() -> None:
    assert survives_every_cut(Ledger, bytes) > 1400


def test_a_cut_at_any_byte_below_what_state_json_covers_is_told_and_never_written_over() -> None:
    assert tells_every_cut(Ledger) > 1400


def tells_every_cut(make: Make) -> int:
    files, entries = written()
    raw = files[LEDGER]
    # Up to here a cut takes a part of the last line; one more byte, its LF alone, takes nothing.
    for cut in range(len(raw) - 1):
        disk = StrictDisk({**files, LEDGER: raw[:cut]})
        ledger = make(RUN, disk)
        assert code_of(partial(ledger.append, NEXT)) == "ledger_cut"
        assert code_of(ledger.state) == "ledger_cut"
        audit = ledger.audit()
        assert [(one.line, one.flaw) for one in audit.breaks] == [(3, "cut")]
        assert disk.strict_image() == {**files, LEDGER: raw[:cut]}
        assert ledger.read().entries == tuple(entries[: audit.entries])
    return len(raw) - 1


def finds_every_flip(make: Make) -> int:
    files, entries = written(2)
    raw = files[LEDGER]
    for place in range(len(raw)):
        for bit in range(8):
            data = bytearray(raw)
            data[place] ^= 1 << bit
            ledger = make(RUN, StrictDisk({LEDGER: bytes(data)}))
            audit = ledger.audit()
            assert not audit.unbroken
            read = ledger.read().entries
            assert len(read) == audit.entries
            # One line, or two where an LF became something else; and nothing is read otherwise.
            assert len(entries) - 2 <= len(read) < len(entries)
            assert all(entry in entries for entry in read)
            lines = bare_lines(io.BytesIO(data))
            assert project(lines) == project(map(canonical, read))
    return len(raw) * 8


def test_every_single_flipped_bit_is_found_and_costs_no_other_line() -> None:
    assert finds_every_flip(Ledger) > 8000


# --- power cuts and kills on a file system that keeps nothing but what was synced ---


def survives_every_power_cut(make: Make) -> int:
    disk = StrictDisk()
    ledger = make(RUN, disk)
    entries = []
    for body in HISTORY:
        entries.append(ledger.append(body))
        disk.acknowledged += 1
        disk.moment()
    seen = set()
    for moment in disk.moments:
        for image in moment.images(LEDGER, STATE):
            key = (moment.acknowledged, *sorted(image.items()))
            if key not in seen:
                seen.add(key)
                holds(make, image, entries[: moment.acknowledged])
    return len(seen)


def test_a_power_cut_at_any_call_loses_no_acknowledged_entry() -> None:
    """PG-LEDGER-2, PG-LEDGER-5."""
    assert survives_every_power_cut(Ledger) > 2800


def survives_a_second_power_cut(make: Make) -> int:
    """The first cut tears the third line, the second one the line that closes it off."""
    files, entries = written()
    raw = files[LEDGER]
    seen = 0
    for cut in range(raw.rindex(b"\n", 0, -1) + 2, len(raw), 40):
        disk = StrictDisk({LEDGER: raw[:cut]})
        added = make(RUN, disk).append(NEXT)
        disk.acknowledged = 1
        disk.moment()
        for moment in disk.moments:
            acknowledged = [*entries[:2], added][: 2 + moment.acknowledged]
            for image in moment.images(LEDGER, STATE, step=23):
                ledger = make(RUN, StrictDisk(image))
                last = ledger.append(NEXT)
                read = list(ledger.read().entries)
                assert [entry for entry in read if entry in acknowledged] == acknowledged
                assert read[-1:] == [last]
                assert last["number"] == ledger.audit().lines
                seen += 1
    return seen


def test_a_second_power_cut_on_top_of_a_torn_tail_loses_no_acknowledged_entry() -> None:
    assert survives_a_second_power_cut(Ledger) > 500


def survives_every_kill(make: Make) -> int:
    """A process is killed in front of any call; another one appends; then the power is cut."""
    calls = 0
    while True:
        disk = StrictDisk(kill_at=calls)
        acknowledged: list[dict[str, Any]] = []
        try:
            ledger = make(RUN, disk)
            # One by one: what is on the list when the process dies was acknowledged.
            acknowledged.extend(map(ledger.append, HISTORY))
        except Killed:
            disk.kill_at = None
        else:
            return calls
        acknowledged.append(make(RUN, disk).append(NEXT))
        assert make(RUN, disk).audit().unbroken
        after = make(RUN, StrictDisk(disk.strict_image())).read().entries
        assert [entry for entry in after if entry in acknowledged] == acknowledged
        calls += 1


def test_a_kill_at_any_call_leaves_nothing_that_the_next_process_trusts_in_vain() -> None:
    assert survives_every_kill(Ledger) > 30


def reports_every_failed_sync(make: Make) -> None:
    for failing in range(len(HISTORY)):
        disk = StrictDisk(fail_sync_at=failing)
        ledger = make(RUN, disk)
        acknowledged = [ledger.append(body) for body in HISTORY[:failing]]
        assert code_of(partial(ledger.append, NEXT)) == "append_failed"
        assert code_of(partial(ledger.append, NEXT)) == "ledger_poisoned"
        holds(make, {LEDGER: b"", **disk.strict_image()}, acknowledged)


def test_a_failed_sync_fails_its_append_and_poisons_the_handle() -> None:
    """PG-LEDGER-7."""
    reports_every_failed_sync(Ledger)


class ShortDisk(Disk):
    """Writes `count` bytes of a line of the ledger, and says so."""

    count = 0

    def write(self, fd: int, data: bytes) -> int:
        return super().write(fd, data[: self.count])


def reports_every_short_write(make: Make, directory: Path) -> None:
    for count in (0, 1, 44, 400):
        disk = ShortDisk()
        disk.count = count
        ledger = make(directory / str(count), disk)
        assert code_of(partial(ledger.append, NEXT)) == "append_failed"
        assert code_of(partial(ledger.append, NEXT)) == "ledger_poisoned"
        added = make(ledger.directory, DISK).append(NEXT)
        assert added["number"] == (2 if count else 1)
        assert ledger.read().entries == (added,)
        assert ledger.audit().unbroken


def test_a_short_write_is_never_acknowledged_and_its_tail_is_closed_off(tmp_path: Path) -> None:
    """PG-LEDGER-7."""
    reports_every_short_write(Ledger, tmp_path)


# --- real processes ---

CHILD = """
import os, resource, sys
from pathlib import Path
from mutants import ledgers as broken
from progress.strictfs import claim_body, ruling_body
from verdict_core.errors import LedgerFault
from verdict_core.progress.ledger import Ledger

make = getattr(broken, sys.argv[1], Ledger)
ledger = make(Path(sys.argv[2]))
number = None
for turn in range(int(sys.argv[3])):
    if len(sys.argv) > 4:
        limit = os.path.getsize(ledger.path) + int(sys.argv[4]) if turn else 1 << 20
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    body = ruling_body(number) if number else claim_body()
    try:
        said = ledger.append(body)["number"]
        number = None if number else said
    except LedgerFault as fault:
        said = fault.code
    os.write(1, b"%s\\n" % str(said).encode())
"""


def command(make: type[Ledger], directory: Path, appends: int, *more: str) -> list[str]:
    return [sys.executable, "-c", CHILD, make.__name__, str(directory), str(appends), *more]


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run(*arguments: str) -> list[str]:
    done = subprocess.run(
        arguments, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.split()


def test_a_file_size_limit_makes_the_kernel_write_short_and_the_append_fail(tmp_path: Path) -> None:
    said = run(*command(Ledger, tmp_path, 3, "44"))
    assert said == ["1", "append_failed", "ledger_poisoned"]
    reading = Ledger(tmp_path).read()
    assert [entry["number"] for entry in reading.entries] == [1]
    assert reading.damaged[0].length == 44
    assert reading.torn


def test_a_file_size_limit_finds_a_ledger_that_takes_short_writes(tmp_path: Path) -> None:
    said = run(*command(broken.TakesShortWrites, tmp_path, 3, "44"))
    assert "append_failed" not in said[:2]


def numbers_are_given_once(make: type[Ledger], directory: Path, writers: int, each: int) -> None:
    children = [
        subprocess.Popen(
            command(make, directory, each),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(writers)
    ]
    said = [child.communicate(timeout=120)[0].split() for child in children]
    reading = Ledger(directory).read()
    numbers = [entry["number"] for entry in reading.entries]
    assert numbers == list(range(1, writers * each + 1))
    assert sorted(int(one) for child in said for one in child if one.isdigit()) == numbers
    assert not reading.damaged
    assert Ledger(directory).audit().unbroken


def test_led_03_two_writers_give_each_number_once_and_each_line_to_one_entry(
    tmp_path: Path,
) -> None:
    numbers_are_given_once(Ledger, tmp_path, writers=2, each=300)
    raw = (tmp_path / "ledger.jsonl").read_bytes()
    assert raw.count(b"\n") == 600
    assert b"\n\n" not in raw


def test_eight_writers_of_five_hundred_appends_make_one_unbroken_chain(tmp_path: Path) -> None:
    # In memory, where there is such a place: locks and numbers are what this is about.
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as place:
        numbers_are_given_once(Ledger, Path(place), writers=8, each=500)
        state = Ledger(Path(place)).state()
    assert len(state.verified_rounds) == 2000
    assert state.pending == ()


def test_led_04_each_of_two_simultaneous_appends_is_found_by_a_fresh_reader(
    tmp_path: Path,
) -> None:
    finds_both(Ledger, tmp_path)


def finds_both(make: Make, directory: Path) -> None:
    for turn in range(10):
        ledgers = [make(directory / str(turn), DISK) for _ in range(2)]
        start = threading.Barrier(2)
        acknowledged: list[dict[str, Any]] = []

        def write(ledger: Ledger, start: threading.Barrier, done: list[dict[str, Any]]) -> None:
            start.wait()
            done.append(ledger.append(NEXT))

        threads = [
            threading.Thread(target=write, args=(ledger, start, acknowledged)) for ledger in ledgers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = make(directory / str(turn), DISK).read().entries
        assert [entry["number"] for entry in found] == [1, 2]
        assert len(acknowledged) == 2
        assert all(entry in found for entry in acknowledged)


class Interrupted(Disk):
    """Lets another handle append while this one is about to write, if the lock lets it."""

    def __init__(self, other: Ledger) -> None:
        self._other = other
        self.threads: list[threading.Thread] = []

    def write(self, fd: int, data: bytes) -> int:
        if not self.threads:
            self.threads.append(threading.Thread(target=self._other.append, args=(NEXT,)))
            self.threads[0].start()
            self.threads[0].join(0.2)
        return super().write(fd, data)


def waits_for_the_lock(make: Make, directory: Path) -> None:
    disk = Interrupted(make(directory, DISK))
    make(directory, disk).append(NEXT)
    disk.threads[0].join()
    reading = Ledger(directory).read()
    assert [entry["number"] for entry in reading.entries] == [1, 2]
    assert Ledger(directory).audit().unbroken


def test_a_second_handle_in_the_same_process_waits_until_the_first_has_written(
    tmp_path: Path,
) -> None:
    """PG-LEDGER-4."""
    waits_for_the_lock(Ledger, tmp_path)


def counts_what_others_wrote(make: Make) -> None:
    disk = StrictDisk()
    one, other = make(RUN, disk), make(RUN, disk)
    numbers = [ledger.append(NEXT)["number"] for ledger in (one, other, one, other)]
    assert numbers == [1, 2, 3, 4]


def test_two_handles_in_turn_count_each_other() -> None:
    counts_what_others_wrote(Ledger)


def writes_once_and_flushes_once(make: Make) -> None:
    disk = StrictDisk()
    ledger = make(RUN, disk)
    ledger.append(NEXT)
    before = len(disk.calls)
    ledger.append(NEXT)
    line, state = ["open", "lock", "write", "fsync"], ["open", "write", "replace"]
    assert disk.calls[before:] == line + state


def test_an_append_is_one_write_and_one_flush() -> None:
    writes_once_and_flushes_once(Ledger)


# --- injected faults: strace ---


def strace(injection: str, directory: Path, make: type[Ledger], appends: int) -> list[str]:
    ledger = directory / "ledger.jsonl"
    return run(
        *("strace", "-f", "-qq", "-o", str(directory / "trace"), "-P", str(ledger)),
        *("-e", f"trace={injection.split(':')[0]}", "-e", f"inject={injection}"),
        *command(make, directory, appends),
    )


@pytest.fixture(scope="module")
def tracer() -> None:
    try:
        done = subprocess.run(["strace", "-qq", "-e", "trace=none", "true"], capture_output=True)
        why = done.stderr.decode() if done.returncode else ""
    except FileNotFoundError as error:
        why = str(error)
    if why:
        pytest.skip(f"could not run: no strace that may trace here: {why}")


def a_failing_sync_is_reported(make: type[Ledger], directory: Path) -> None:
    for nth in (1, 2, 3):
        run_directory = directory / str(nth)
        run_directory.mkdir()
        said = strace(f"fsync:error=EIO:when={nth}", run_directory, make, 4)
        before = [str(number) for number in range(1, nth)]
        poisoned = ["ledger_poisoned"] * (4 - nth)
        assert said == [*before, "append_failed", *poisoned]


@pytest.mark.usefixtures("tracer")
def test_an_io_error_at_the_nth_sync_is_reported_and_not_tried_again(tmp_path: Path) -> None:
    a_failing_sync_is_reported(Ledger, tmp_path)


@pytest.mark.usefixtures("tracer")
def test_strace_finds_a_ledger_that_syncs_twice(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        a_failing_sync_is_reported(broken.SyncsTwice, tmp_path)


@pytest.mark.usefixtures("tracer")
def test_a_full_disk_fails_the_append_and_the_next_handle_goes_on(tmp_path: Path) -> None:
    said = strace("write:error=ENOSPC:when=2", tmp_path, Ledger, 3)
    assert said == ["1", "append_failed", "ledger_poisoned"]
    assert Ledger(tmp_path).append(NEXT)["number"] == 2
    assert Ledger(tmp_path).audit().unbroken


@pytest.mark.usefixtures("tracer")
def test_a_write_that_the_kernel_cuts_to_44_bytes_is_not_acknowledged(tmp_path: Path) -> None:
    a_write_cut_to_44_bytes_is_reported(Ledger, tmp_path)


def a_write_cut_to_44_bytes_is_reported(make: type[Ledger], directory: Path) -> None:
    said = strace("write:retval=44:when=2", directory, make, 3)
    assert said == ["1", "append_failed", "ledger_poisoned"]


@pytest.mark.usefixtures("tracer")
def test_strace_finds_a_ledger_that_takes_short_writes(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        a_write_cut_to_44_bytes_is_reported(broken.TakesShortWrites, tmp_path)


@pytest.mark.usefixtures("tracer")
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_process_killed_at_the_nth_call_leaves_all_that_it_acknowledged(
    call: str, tmp_path: Path
) -> None:
    for nth in (1, 2, 3):
        directory = tmp_path / str(nth)
        directory.mkdir()
        said = strace(f"{call}:signal=SIGKILL:when={nth}", directory, Ledger, 4)
        assert said == [str(number) for number in range(1, nth)]
        ledger = Ledger(directory)
        there = [entry["number"] for entry in ledger.read().entries]
        assert there[: len(said)] == [int(one) for one in said]
        added = ledger.append(NEXT)
        assert added["number"] == len(there) + 1
        assert ledger.audit().unbroken


# --- each check fails on the ledger that is broken in the way it looks for ---

BROKEN: tuple[tuple[type[Ledger], Callable[[Make, Path], object]], ...] = (
    (broken.GluesToTheTail, lambda make, _: survives_every_cut(make, lambda count: b"")),
    (broken.GluesToTheTail, lambda make, _: survives_every_cut(make, bytes)),
    (broken.GluesToTheTail, lambda make, _: survives_every_power_cut(make)),
    (broken.GluesToTheTail, lambda make, _: survives_a_second_power_cut(make)),
    (broken.GluesToTheTail, reports_every_short_write),
    (broken.RebuildsOverACut, lambda make, _: tells_every_cut(make)),
    (broken.TrustsTheJson, lambda make, _: finds_every_flip(make)),
    (broken.NeverSyncs, lambda make, _: survives_every_power_cut(make)),
    (broken.SyncsWithTheNext, lambda make, _: survives_every_power_cut(make)),
    (broken.NeverSyncsNames, lambda make, _: survives_every_power_cut(make)),
    (broken.SyncsOneName, lambda make, _: survives_every_power_cut(make)),
    (broken.SyncsNamesAfterwards, lambda make, _: survives_every_kill(make)),
    (broken.RewritesTheFile, lambda make, _: survives_every_power_cut(make)),
    (broken.RewritesTheFile, finds_both),
    (broken.SyncsTwice, lambda make, _: reports_every_failed_sync(make)),
    (broken.GoesOnAfterAFailedSync, lambda make, _: reports_every_failed_sync(make)),
    (broken.TakesShortWrites, reports_every_short_write),
    (broken.NeverLocks, waits_for_the_lock),
    (broken.LocksTheWriteOnly, waits_for_the_lock),
    (broken.CountsByItself, lambda make, _: counts_what_others_wrote(make)),
    (broken.WritesTheEndApart, lambda make, _: writes_once_and_flushes_once(make)),
    (broken.NeverSyncs, lambda make, _: writes_once_and_flushes_once(make)),
)


@pytest.mark.parametrize(
    ("make", "check"), BROKEN, ids=[f"{n}-{make.__name__}" for n, (make, _) in enumerate(BROKEN)]
)
def test_a_broken_ledger_fails_the_check_that_looks_for_it(
    make: type[Ledger], check: Callable[[Make, Path], object], tmp_path: Path
) -> None:
    with pytest.raises((AssertionError, LedgerFault)):
        check(make, tmp_path)


def test_a_ledger_without_a_lock_fails_with_two_real_writers(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        numbers_are_given_once(broken.NeverLocks, tmp_path, writers=2, each=300)


def test_every_broken_ledger_is_found_by_a_check() -> None:
    kinds = {
        kind
        for kind in vars(broken).values()
        if isinstance(kind, type) and issubclass(kind, Ledger) and kind is not Ledger
    }
    assert kinds == {make for make, _ in BROKEN}
