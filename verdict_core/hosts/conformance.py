"""`verdict-core conformance`: the suite put to somebody else's implementation, or ours to be asked.

In: a command. Out: a table on stdout, reports in files, and an exit status: 0 all passed, 1
something failed, 4 incomplete, 3 usage. (SPEC CF-RUN)
"""

import importlib
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from verdict_core import disk, wire
from verdict_core.errors import BadConfig, Unwritable, Usage
from verdict_core.hosts import cli

SERVE = ["serve"]
EXAMPLES, EXAMPLES_AGAINST = "100", "500"
_NEEDED = ("hypothesis", "pytest")


def run(
    *,
    command: Sequence[str],
    baseline: str | None,
    only: str | None,
    seed: str,
    examples: str | None,
    time_limit: str,
    against: str | None,
    json: str | None,
    junit: str | None,
) -> int:
    """Run what the options say and give its exit status. Everything else is a refusal."""
    if command == SERVE:
        return _serve()
    examples = examples or (EXAMPLES if against is None else EXAMPLES_AGAINST)
    settings = {"seed": cli.number(seed, "--seed"), "examples": _positive(examples, "--examples")}
    limit = _seconds(time_limit)
    known = "" if baseline is None else cli.read_input(baseline).decode(errors="replace")
    if against is not None and (baseline, only, junit) != (None, None, None):
        raise Usage("goes with none of --baseline, --only and --junit", path="--against")
    for name in _NEEDED:
        _require(name)
    with _storage():
        if against is not None:
            return _compare(command, shlex.split(against), limit, settings, json)
        return _run(command, limit, settings, known, only, json, junit)


def _run(
    command: Sequence[str],
    limit: float,
    settings: dict[str, int],
    known: str,
    only: str | None,
    json: str | None,
    junit: str | None,
) -> int:
    from verdict_core.conformance import junit as junit_file
    from verdict_core.conformance import run as runner
    from verdict_core.conformance.child import Child
    from verdict_core.conformance.text import text_of

    child = Child(command, time_limit_s=limit)
    report = runner.run(child, baseline=known, only=only, **settings)
    cli.emit(text_of(report))
    if json is not None:
        _write(json, wire.compact(report.payload()) + b"\n")
    if junit is not None:
        _write(junit, junit_file.xml_of(report).encode())
    return report.exit_status


@contextmanager
def _storage() -> Iterator[None]:
    """Hypothesis keeps what it has worked out in the working directory, which is somebody's."""
    name = "HYPOTHESIS_STORAGE_DIRECTORY"
    before = os.environ.get(name)
    with tempfile.TemporaryDirectory(prefix="verdict-core-") as place:
        os.environ[name] = before or place
        try:
            yield
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before


def _serve() -> int:
    from verdict_core.conformance import serve

    serve.serve(sys.stdin.buffer, sys.stdout.buffer)
    return 0


def _compare(
    command: Sequence[str],
    other: Sequence[str],
    limit: float,
    settings: dict[str, int],
    json: str | None,
) -> int:
    from verdict_core.conformance import differ
    from verdict_core.conformance.child import Child
    from verdict_core.conformance.text import text_of_differences

    if not other:
        raise Usage("an empty command", path="--against")
    pair = Child(command, time_limit_s=limit), Child(other, time_limit_s=limit)
    found = differ.compare(pair[0], pair[1], **settings)
    cli.emit(text_of_differences(found))
    if json is not None:
        _write(json, wire.compact(found.payload()) + b"\n")
    return found.exit_status


def _require(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        raise Usage(
            f"the suite needs {name}: pip install 'verdict-core[conformance]'", path="conformance"
        ) from None


def _positive(text: str, option: str) -> int:
    number = cli.number(text, option)
    if number == 0:
        raise BadConfig("expected 1 or more", path=option)
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise BadConfig(f"expected seconds of up to 3600, got {text!r}", path="--time-limit")
    return seconds


def _write(name: str, data: bytes) -> None:
    """A file that is there whole or not at all. Raises Unwritable."""
    target = Path(name)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        disk.replace(target, data, mode=0o644)
    except OSError as error:
        raise Unwritable(str(error.strerror or error), path=name) from None
