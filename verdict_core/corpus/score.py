"""The two readings of a corpus: is every line a case, and what is each case judged.

In: sources of lines, a way to make a service, an engine. Out: a `Report`. Laws: nothing is scored
before all was read and found sound; what is held does not grow with the corpus; the report depends
neither on the engine nor on how the lines are cut into pieces. (SPEC CP)
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import TypeVar

from verdict_core.context import DEFAULT_MAX_CHARS, DEFAULT_WAIT_MIN
from verdict_core.context.thresholds import threshold
from verdict_core.corpus.cases import Label
from verdict_core.corpus.engine import Engine, InProcess
from verdict_core.corpus.ids import ids_on_disk
from verdict_core.corpus.kinds import Outcome
from verdict_core.corpus.pieces import Judged, MakeService, Sound, check_piece, judge_piece
from verdict_core.corpus.report import File, Report, Settings
from verdict_core.corpus.sources import Reading, Source
from verdict_core.errors import (
    CorpusChanged,
    DuplicateId,
    EmptyCorpus,
    SingleLabelCorpus,
    VerdictCoreError,
    visible,
)

PIECE_BYTES = 1024 * 1024
ASKING_PIECE_BYTES = 2 * 1024
"""Pieces are small where a service is asked: its answers are what takes the time, and then several
workers can ask at once even for a small corpus."""

Sink = Callable[[Source, Sequence[Outcome]], object]
Advance = Callable[[int], object]
Found = TypeVar("Found", Sound, Judged)


def verify(
    sources: Sequence[Source],
    *,
    wait_min: int = DEFAULT_WAIT_MIN,
    max_chars: int = DEFAULT_MAX_CHARS,
    service: MakeService | None = None,
    engine: Engine | None = None,
    piece_bytes: int | None = None,
    sink: Sink | None = None,
    advance: Advance | None = None,
) -> Report:
    """Judge every case of a corpus and report both rates.

    `service` makes the service that is asked in the band; it is called once in each worker. `sink`
    is given what came of every case, in order; `advance` the bytes done, in all twice the corpus.

    Raises what a line is refused with, Unreadable, EmptyCorpus, DuplicateId, SingleLabelCorpus,
    BadConfig, EngineFailed; OverBudget (exit status 2) after all these; then CorpusChanged, and
    ForbiddenKey for an answer that bears a forbidden name. (SPEC CP-LINE-5, CP-EXIT-2)
    """
    settings = Settings(
        threshold(wait_min, "wait_min"), threshold(max_chars, "max_chars"), service is not None
    )
    size = piece_bytes or (ASKING_PIECE_BYTES if service else PIECE_BYTES)
    run = partial(_run, engine or Engine(InProcess()), advance or (lambda _: None))
    first, second = Reading(sources, size), Reading(sources, size)
    cases = _check(sources, run(first, partial(check_piece, max_chars=max_chars)))
    work = partial(
        judge_piece,
        wait_min=wait_min,
        max_chars=max_chars,
        service=service,
        outcomes=sink is not None,
    )
    whole = Judged()
    for source, _, judged in run(second, work):
        whole.join(judged)
        if sink is not None:
            sink(source, judged.outcomes)
    for source in sources:
        if first.digests[source] != second.digests[source]:
            raise CorpusChanged("another one at its second reading", path=source.name)
    return Report.of(
        whole.counts,
        let_through=whole.let_through,
        refused=whole.refused,
        settings=settings,
        files=[File(visible(s.name), cases[s], f"sha256:{second.digests[s]}") for s in sources],
    )


def _run(
    engine: Engine, advance: Advance, reading: Reading, work: Callable[[bytes], Found]
) -> Iterator[tuple[Source, int, Found]]:
    """What `work` found in each piece of a reading, with the number of the piece's first line."""
    lines: Counter[Source] = Counter()
    for source, piece, found in engine.in_order(work, reading):
        line = lines[source] + 1
        if found.fault is not None:
            raise found.fault.at(source.name, line)
        yield source, line, found
        lines[source] += found.lines
        advance(len(piece))


def _check(
    sources: Sequence[Source], readings: Iterator[tuple[Source, int, Sound]]
) -> "Counter[Source]":
    """The number of cases of each source, or the refusal of the whole. (SPEC CP-EXIT-2)"""
    cases: Counter[Source] = Counter()
    labels: set[Label] = set()
    over: VerdictCoreError | None = None
    with ids_on_disk() as ids:
        for source, line, sound in readings:
            cases[source] += sound.lines
            labels |= sound.labels
            ids.add(sound.ids)
            if sound.over is not None and over is None:
                over = sound.over.at(source.name, line)
        for source in sources:
            if not cases[source]:
                raise EmptyCorpus("no case stands here", path=source.name)
        if not sources:
            raise EmptyCorpus("no corpus was named")
        _refuse_repeated(ids.repeated(), sources, cases)
    if len(labels) < len(Label):
        raise _single(labels, sources)
    if over is not None:
        raise over
    return cases


def _refuse_repeated(
    places: tuple[int, int] | None, sources: Sequence[Source], cases: "Counter[Source]"
) -> None:
    if places is None:
        return
    ends = list(accumulate(cases[source] for source in sources))

    def line(place: int) -> str:
        source = sources[bisect_right(ends, place)]
        return f"{source.name}:{place - ends[sources.index(source)] + cases[source] + 1}"

    first, second = map(line, places)
    raise DuplicateId(f"the id stands at {first} already", path=f"{second}:$.id")


def _single(labels: set[Label], sources: Sequence[Source]) -> SingleLabelCorpus:
    (label,) = labels
    more = f" (and {len(sources) - 1} more)" if len(sources) > 1 else ""
    return SingleLabelCorpus(
        f"every case is {label}, so only one of the two rates could be shown; a corpus has lost"
        " and keep cases",
        path=f"{sources[0].name}{more}",
    )
