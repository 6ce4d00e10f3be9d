"""Real power cuts: an ext4 file system of its own, shut down without writing its journal out.

Everything that the kernel held in memory is gone, as after a cut; what the file system had promised
is there again once it is mounted. Needs root, loop devices and ext4; says so where it has them not.
"""

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from progress.strictfs import claim_body, ruling_body

from mutants import ledgers as broken
from verdict_core.errors import LedgerFault
from verdict_core.progress.ledger import Disk, Ledger
from verdict_core.progress.runs import run_directory

EXT4_IOC_SHUTDOWN = 0x8004587D
WITHOUT_LOG_FLUSH = struct.pack("I", 2)
HISTORY = (claim_body("a"), ruling_body(1, "a"), claim_body("b"))


class PowerCut(Exception):
    """The machine is off."""


class Machine:
    """A mounted file system that can lose its power."""

    def __init__(self, directory: Path) -> None:
        self.image = directory / "ext4.img"
        self.mount_point = directory / "disk"

    def make(self) -> None:
        self.mount_point.mkdir()
        with self.image.open("wb") as file:
            file.truncate(16 << 20)
        self._run("mkfs.ext4", "-q", "-F", str(self.image))
        self.start()

    def start(self) -> None:
        self._run("mount", "-o", "loop", str(self.image), str(self.mount_point))

    def stop(self) -> None:
        self._run("umount", str(self.mount_point))

    def cut(self) -> None:
        fd = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, WITHOUT_LOG_FLUSH)
        finally:
            os.close(fd)

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{command[0]}: {done.stderr.strip()}")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    try:
        if os.geteuid() != 0:
            raise PermissionError("not root")
        machine.make()
        machine.cut()
    except OSError as error:
        if machine.mount_point.is_mount():
            machine.stop()
        pytest.skip(f"could not run: no file system here whose power can be cut: {error}")
    machine.stop()
    machine.start()
    yield machine
    machine.stop()


class CutDisk(Disk):
    """Cuts the power in front of the call with the number `at`, from 0; a write is half done."""

    def __init__(self, machine: Machine, at: int) -> None:
        self._machine = machine
        self._left = at

    def mkdir(self, path: Path) -> None:
        self._call()
        super().mkdir(path)

    def open(self, path: Path, flags: int) -> int:
        self._call()
        return super().open(path, flags)

    def write(self, fd: int, data: bytes) -> int:
        if self._left == 0:
            os.write(fd, data[: len(data) // 2])
        self._call()
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self._call()
        super().fsync(fd)

    def replace(self, source: Path, target: Path) -> None:
        self._call()
        super().replace(source, target)

    def _call(self) -> None:
        if self._left == 0:
            self._machine.cut()
            raise PowerCut
        self._left -= 1


def survives_a_cut_at_every_call(machine: Machine, make: type[Ledger]) -> int:
    at, finished = 0, False
    while not finished:
        directory = run_directory(machine.mount_point / make.__name__ / str(at), "s-a")
        acknowledged: list[dict[str, Any]] = []
        try:
            ledger = make(directory, CutDisk(machine, at))
            # One by one: what is on the list when the power goes was acknowledged.
            acknowledged.extend(map(ledger.append, HISTORY))
            finished = True
            machine.cut()
        except PowerCut:
            pass
        machine.stop()
        machine.start()
        after = Ledger(directory)
        assert after.audit().unbroken
        entries = list(after.read().entries)
        assert entries[: len(acknowledged)] == acknowledged
        assert len(entries) <= len(acknowledged) + 1
        added = after.append(claim_body("next"))
        assert list(after.read().entries) == [*entries, added]
        assert after.audit().unbroken
        at += 1
    return at


def test_a_power_cut_at_any_call_loses_no_acknowledged_entry_on_ext4(machine: Machine) -> None:
    assert survives_a_cut_at_every_call(machine, Ledger) > 30


# Names are left to the strict file system: ext4 makes that of a new file durable with its bytes.
@pytest.mark.parametrize("make", [broken.NeverSyncs, broken.SyncsWithTheNext])
def test_a_power_cut_finds_a_ledger_that_acknowledges_too_early(
    make: type[Ledger], machine: Machine
) -> None:
    with pytest.raises((AssertionError, LedgerFault)):
        survives_a_cut_at_every_call(machine, make)
