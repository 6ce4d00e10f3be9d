"""What a strict type checker has to accept; checked and never run."""

from collections.abc import Mapping
from typing import Any

from verdict_core import Judgement, Request, Service, State, Summary, build, judge


class Mine:
    def ask(self, request: Request, /) -> Mapping[str, Any]:
        return {"choice": request.options[1], "score": 0.5}


def embedded() -> Judgement:
    summary = Summary(
        session="s-1",
        todos=["write the test"],
        uncommitted=(),
        questions=[],
        decisions=[],
        next_steps=[],
        unknown=["uncommitted"],
    )
    service: Service = Mine()
    state: State = build(summary, max_chars=9_000)
    return judge(summary, state, wait_min=2, service=service)
