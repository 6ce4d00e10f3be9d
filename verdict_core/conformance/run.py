"""One run: hello, the static vectors, then the properties, and a report.

In: a command. Out: a `Report`. Laws: an implementation that cannot be talked to has passed nothing;
a suite without vectors or properties is no suite. (SPEC CF-RUN)
"""

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from attrs import frozen

import verdict_core
from verdict_core.conformance import baseline as known_failures
from verdict_core.conformance import parts, protocol, suite, vectors
from verdict_core.conformance.checks import Check, Fate
from verdict_core.conformance.child import Child, GaveUp, Gone, Misbehaved
from verdict_core.conformance.remote import Hello, Remote, Unsupported
from verdict_core.conformance.report import Report, Settings, rows_of
from verdict_core.errors import Usage


def run(
    child: Child,
    *,
    baseline: str = "",
    only: str | None = None,
    seed: int = 0,
    examples: int = 100,
) -> Report:
    """Put the suite to a child: all of it, or what names the clause `only`, where `*` stands for
    anything. `baseline` is the text of a file of known failures.

    Raises Usage where the child cannot be started, or where nothing names that clause. (CF-RUN-1)
    """
    parcel = _parcel(only)
    known, troubles = known_failures.read(baseline)
    troubles += parcel.lacks
    hello, checks, more = _asked(child, parcel, seed, examples)
    troubles += more
    run_now = {*parcel.clauses, *(check.id for check in checks)}
    troubles += known_failures.unfit(known, checks, parcel.names, run_now)
    settings = Settings(
        command=child.command,
        suite=verdict_core.__version__,
        spec=parts.spec_version(),
        protocol=protocol.VERSION,
        seed=seed,
        examples=examples,
        only=only,
    )
    return Report(
        settings=settings,
        hello=hello,
        rows=rows_of(checks, parts.clauses(), parcel.clauses, known),
        troubles=tuple(troubles),
        beyond=tuple(name for name in parts.clauses() if name not in parcel.named),
    )


@frozen
class _Parcel:
    """What there is to ask: the vectors and the properties with their clauses, those clauses, and
    the ones that are wanted."""

    vectors: Sequence[vectors.Vector]
    properties: Mapping[str, tuple[str, ...]]
    named: Collection[str]
    clauses: Collection[str]

    @property
    def lacks(self) -> list[str]:
        kinds = {"vectors": self.vectors, "properties": self.properties}
        return [f"the suite has no {kind}" for kind, found in kinds.items() if not found]

    @property
    def names(self) -> set[str]:
        return {*parts.clauses(), *self.named, *self.properties, *(v.id for v in self.vectors)}

    def wants(self, clauses: Sequence[str]) -> bool:
        return not set(self.clauses).isdisjoint(clauses)


def _parcel(only: str | None) -> _Parcel:
    static = vectors.load()
    properties = {name: one.clauses for name, one in suite.offered().items()}
    named = {vector.clause for vector in static}
    named |= {name for clauses in properties.values() for name in clauses}
    chosen = {name for name in named if only is None or fnmatchcase(name, only)}
    if only is not None and not chosen:
        raise Usage("no clause of that name is asked for through this door", path="--only")
    return _Parcel(static, properties, named, chosen)


def _asked(
    child: Child, parcel: _Parcel, seed: int, examples: int
) -> tuple[Hello | None, list[Check], list[str]]:
    """Who is there, what came of each check, and what else went wrong."""
    try:
        remote = Remote(child)
    except (Misbehaved, GaveUp, Gone, Unsupported) as error:
        child.stop()
        return None, _not_run(parcel, f"hello: {error}"), [f"hello: {error}"]
    try:
        if remote.hello.protocol != protocol.VERSION:
            said = f"it speaks protocol {remote.hello.protocol}, this suite {protocol.VERSION}"
            return remote.hello, _not_run(parcel, said), []
        wanted = [vector for vector in parcel.vectors if parcel.wants([vector.clause])]
        checks = list(vectors.run(wanted, remote))
        more, troubles = suite.run(remote, wanted=parcel.wants, seed=seed, examples=examples)
        return remote.hello, checks + more, troubles
    finally:
        child.stop()


def _not_run(parcel: _Parcel, reason: str) -> list[Check]:
    offered: dict[str, tuple[str, ...]] = {one.id: (one.clause,) for one in parcel.vectors}
    offered |= parcel.properties
    return [
        Check(id=name, clauses=clauses, fate=Fate.NOT_RUN, reason=reason)
        for name, clauses in offered.items()
        if parcel.wants(clauses)
    ]
