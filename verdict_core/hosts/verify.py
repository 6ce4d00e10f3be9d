"""How good the verdict is: a labelled corpus, an engine to judge it with, two rates.

In: names of corpora. Out: the report on stdout, a JUnit file where one is asked for, and an exit
status that says whether a lost case was let through. (SPEC CP-EXIT)
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from attrs import frozen

from verdict_core import corpus
from verdict_core.context import Service
from verdict_core.corpus import junit as junit_file
from verdict_core.corpus.sources import STDIN
from verdict_core.corpus.text import text_of
from verdict_core.errors import BadConfig, Usage
from verdict_core.hosts import cli

MAX_JOBS = 1_024


@frozen
class FromSpec:
    """Makes the service that `--service SPEC` names, in whatever worker needs one."""

    spec: str

    def __call__(self) -> Service:
        return cli.service_of(self.spec)


def run(
    *,
    corpora: Sequence[str],
    shipped: bool,
    service: str | None,
    jobs: int,
    dask: str | None,
    junit: str | None,
    curve: bool,
    wait_min: int,
    max_chars: int,
    as_json: bool,
) -> int:
    """Print the report and give its exit status: 0 or 1. Everything else is a refusal."""
    names = [*map(str, corpus.SHIPPED if shipped else ()), *corpora]
    if not names:
        raise Usage("name a corpus, or give --shipped for the one of this package", path="CORPUS")
    if names.count(STDIN) > 1:
        raise Usage("stdin can be read once only", path=STDIN)
    make = None if service is None else FromSpec(service)
    if make is not None:
        make()  # what is wrong with the spec is said before anything is read
    with (
        _engine(jobs, dask, asking=make is not None) as engine,
        nullcontext() if junit is None else junit_file.written(junit) as file,
        corpus.sources_of(names) as sources,
    ):
        with _progress(2 * sum(source.size for source in sources)) as advance:
            report = corpus.verify(
                sources,
                wait_min=wait_min,
                max_chars=max_chars,
                service=make,
                engine=engine,
                sink=None if file is None else file.add,
                advance=advance,
            )
        if file is not None:
            file.write(report)
    if as_json:
        cli.emit_json(report.payload(curve=curve))
    else:
        cli.emit(text_of(report, curve=curve))
    return report.exit_status


def _engine(jobs: int, dask: str | None, *, asking: bool) -> AbstractContextManager[corpus.Engine]:
    if not 1 <= jobs <= MAX_JOBS:
        raise BadConfig(f"expected 1 to {MAX_JOBS}", path="--jobs")
    if dask is not None:
        # A cluster has threads enough to flood whoever is asked: --jobs says how many may ask.
        return corpus.cluster(dask, at_once=jobs if asking else None)
    return corpus.processes(jobs) if jobs > 1 else corpus.in_process()


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], object]]:
    """A bar on stderr where that is a terminal, once it takes longer than a second; none without
    the extra `progress`. It is given the bytes done."""
    bar: Any = None
    if sys.stderr.isatty():
        with suppress(ImportError):
            tqdm = importlib.import_module("tqdm").tqdm
            bar = tqdm(total=total, desc="verify", unit="B", unit_scale=True, delay=1, leave=False)
    if bar is None:
        yield lambda done: None
        return
    with bar:
        yield bar.update
