"""`verdict-core verify --dask`: a real cluster of two worker processes, one of them killed in the
middle. (SPEC CP-EXIT-3, CP-EXIT-4)"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from running import Run
from test_corpus import BOTH, MANY, dies, facts, line, refused, told

from verdict_core.corpus import cluster, engine, held, verify
from verdict_core.errors import EngineFailed
from verdict_core.wire import parse

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
# These start and end many processes, and wait for some: `make test-long`.
pytestmark = pytest.mark.long

# Ends when its standard input does, so it never outlives the tests.
CLUSTER = """\
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the scheduler listens. A piece may lose one worker, not two."""
    script = tmp_path_factory.mktemp("cluster") / "cluster.py"
    script.write_text(CLUSTER)
    tests = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    settings = {"PYTHONPATH": tests, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env={**os.environ, **settings}, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.wait(30)


SERVICE = """\
import json, os, sys, time

state = json.load(sys.stdin)["state"]
name = state.split('session: "')[1].split('"')[0]
with open("{asked}", "a") as asked:
    asked.write(name + "\\n")
if name == "s17" and not os.path.exists("{first}"):
    with open("{first}.part", "w") as first:
        first.write(f"{{os.getpid()}} {{os.getppid()}}")
    os.rename("{first}.part", "{first}")
    time.sleep(60)
print(json.dumps({{"choice": ["wait", "preserve_first"][len(name) % 2], "score": 0.5}}))
"""


def test_a_worker_killed_in_the_middle_changes_nothing_and_nothing_counts_twice(
    command: Run, tmp_path: Path, address: str
) -> None:
    """CP-EXIT-3, CP-EXIT-4."""
    cases = [line(f"x{n}", ["lost", "keep"][n % 2], "a" * 900, session=f"s{n}") for n in range(20)]
    (tmp_path / "c.jsonl").write_bytes(b"".join(cases) + line("gone", "lost"))
    asked, first, script = tmp_path / "asked", tmp_path / "first", tmp_path / "service.py"
    script.write_text(SERVICE.format(asked=asked, first=first))
    spec = f"command:{shlex.join([sys.executable, '-S', str(script)])}"
    arguments = ["verify", "c.jsonl", "--json", "--curve", "--service", spec, "--jobs", "2"]
    on_it = [*arguments, "--dask", address, "--junit", "dask.xml"]
    with subprocess.Popen(
        [sys.executable, "-m", "verdict_core", *on_it],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as run:  # fmt: skip
        while not first.exists():
            assert run.poll() is None, run.communicate()
            time.sleep(0.02)
        service, worker = map(int, first.read_text().split())
        os.kill(worker, signal.SIGKILL)
        out, err = run.communicate(timeout=60)
        with suppress(ProcessLookupError):
            os.kill(service, signal.SIGKILL)
    assert err == b""
    askings = Counter(asked.read_text().split())
    assert askings["s17"] == 2
    assert set(askings) == {f"s{n}" for n in range(20)}
    report = parse(out)
    assert (run.returncode, report["cases"], report["asked"]) == (1, 21, 20)
    here = command(*arguments, "--junit", "here.xml")
    assert here.stdout == out
    assert (tmp_path / "here.xml").read_bytes() == (tmp_path / "dask.xml").read_bytes()


def test_a_cluster_gives_the_report_of_one_process(address: str) -> None:
    """CP-EXIT-3."""
    for service in (None, told):
        expected = verify([held("c", MANY)], service=service)
        for at_once in (None, 1):
            with cluster(address, at_once) as each:
                assert each.at_once == (at_once or 8)
                report = verify([held("c", MANY)], service=service, engine=each, piece_bytes=900)
            assert report == expected


def test_a_piece_that_kills_every_worker_ends_the_run_without_a_report(address: str) -> None:
    """CP-EXIT-4."""
    with cluster(address, None) as each:
        error = refused(BOTH, service=dies, engine=each)
    assert facts(error) == ("engine_failed", "$", 3)
    assert "Attempted to run task" in error.message
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("nowhere", ["tcp://127.0.0.1:1", "nonsense://x", "x:y:z"])
def test_a_scheduler_that_does_not_answer_is_named(
    monkeypatch: pytest.MonkeyPatch, nowhere: str
) -> None:
    """CP-EXIT-4."""
    monkeypatch.setattr(engine, "CONNECT_SECONDS", 0.5)
    with pytest.raises(EngineFailed, match="no_cluster: no Dask scheduler answers: ") as caught:
        cluster(nowhere, None).__enter__()
    assert (caught.value.path, caught.value.exit_status) == (nowhere, 3)
