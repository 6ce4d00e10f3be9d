"""What is done with one piece of a corpus, wherever that happens: checked, then judged.

In: whole lines as bytes. Out: a few counts and ids, never the cases. Law: a piece's only effect is
what it returns, once, so work that had to be done twice is counted once. (SPEC CP)
"""

import threading
from collections import Counter
from collections.abc import Callable, Hashable

from attrs import define, field

from verdict_core.context import Service, build, judge
from verdict_core.corpus.cases import Fault, Label, lines_of, read_case
from verdict_core.corpus.kinds import Kind, Outcome, outcome_of
from verdict_core.errors import CorpusChanged, OverBudget, VerdictCoreError

LISTED = 1_000
"""How many ids of one kind a report names. (SPEC CP-RATE-5)"""

MakeService = Callable[[], Service]
"""Makes a service. Hashable and picklable, as a function or a frozen instance is."""

_here = threading.local()


@define
class Sound:
    """The first reading of a piece. `over` is the first state over its budget."""

    lines: int = 0
    ids: list[str] = field(factory=list)
    labels: set[Label] = field(factory=set)
    over: Fault | None = None
    fault: Fault | None = None


@define
class Judged:
    """The second reading of a piece, or of many. `let_through` and `refused` are the ids that a
    report may name."""

    lines: int = 0
    counts: "Counter[Kind]" = field(factory=Counter)
    let_through: list[str] = field(factory=list)
    refused: list[str] = field(factory=list)
    outcomes: list[Outcome] = field(factory=list)
    fault: Fault | None = None

    def add(self, outcome: Outcome) -> None:
        """One more case."""
        kind = outcome.kind
        self.lines += 1
        self.counts[kind] += 1
        if kind.let_through and len(self.let_through) < LISTED:
            self.let_through.append(outcome.id)
        if kind.refused and not kind.absent and len(self.refused) < LISTED:
            self.refused.append(outcome.id)

    def join(self, later: "Judged") -> None:
        """What another piece, which comes later in the corpus, adds to the counts and ids."""
        self.lines += later.lines
        self.counts.update(later.counts)
        for mine, more in ((self.let_through, later.let_through), (self.refused, later.refused)):
            mine += more[: LISTED - len(mine)]


def check_piece(piece: bytes, *, max_chars: int) -> Sound:
    """Whether every line is a case, asking nobody. (SPEC CP-LINE-5)"""
    sound = Sound()
    for index, line in enumerate(lines_of(piece)):
        try:
            case = read_case(line)
            sound.lines += 1
            sound.ids.append(case.id)
            sound.labels.add(case.label)
            build(case.summary, max_chars=max_chars)
        except OverBudget as error:
            # Not the end: a line further on that is no case comes before it. (CP-EXIT-2)
            sound.over = sound.over or Fault.of(index, error)
        except VerdictCoreError as error:
            sound.fault = Fault.of(index, error)
            break
    return sound


def judge_piece(
    piece: bytes, *, wait_min: int, max_chars: int, service: MakeService | None, outcomes: bool
) -> Judged:
    """Every case judged; with `outcomes` what came of each, too. (SPEC CP-RATE-1)"""
    judged = Judged()
    asked = None if service is None else _service(service)
    for index, line in enumerate(lines_of(piece)):
        try:
            case = read_case(line)
            state = build(case.summary, max_chars=max_chars)
        except VerdictCoreError as error:
            changed = CorpusChanged(f"sound at the first reading, and now {error.code}")
            judged.fault = Fault.of(index, changed)
            break
        try:
            judgement = judge(case.summary, state, wait_min=wait_min, service=asked)
        except VerdictCoreError as error:
            judged.fault = Fault.of(index, error, "in the service's answer: ")
            break
        outcome = outcome_of(case, judgement)
        judged.add(outcome)
        if outcomes:
            judged.outcomes.append(outcome)
    return judged


def _service(make: MakeService) -> Service:
    """The service of this thread: made once, and shared with no other."""
    made: dict[Hashable, Service] = _here.__dict__.setdefault("services", {})
    if make not in made:
        made[make] = make()
    return made[make]
