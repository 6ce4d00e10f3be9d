"""This library behind the door that every implementation is asked through.

In: documents. Out: results and refusals as data. Law: a crash is not a refusal and passes through.
"""

from collections.abc import Callable, Mapping
from typing import Any

from verdict_core import wire
from verdict_core.conformance.subject import Refused, Result, Script
from verdict_core.context import (
    NoAnswer,
    Request,
    Summary,
    build,
    judge,
    judge_document,
    read_answer,
)
from verdict_core.errors import VerdictCoreError
from verdict_core.forbidden import refuse_forbidden


class ScriptedService:
    """A service that does what its script says and counts how often it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked = 0

    def ask(self, request: Request, /) -> bytes:
        self.asked += 1
        if self.script.answer is None:
            raise NoAnswer(self.script.detail or "unreachable")
        return self.script.answer


class Reference:
    """The Subject that this package is."""

    def build(self, summary: bytes, *, max_chars: int = 16_000) -> Result | Refused:
        return _said(lambda: build(Summary.from_json(summary), max_chars=max_chars).payload())

    def judge(
        self, document: bytes, *, wait_min: int = 3, script: Script | None = None
    ) -> tuple[Result | Refused, int]:
        service = None if script is None else ScriptedService(script)
        result = _said(
            lambda: judge(*judge_document(document), wait_min=wait_min, service=service).payload()
        )
        return result, service.asked if service else 0

    def request(self, document: bytes) -> Result | Refused:
        return _said(lambda: Request.from_json(document).payload())

    def answer(self, document: bytes) -> Result | Refused:
        def read() -> Mapping[str, Any]:
            try:
                answer = read_answer(document)
            except NoAnswer as error:
                return {"detail": error.detail}
            return {"choice": answer.choice, "score": answer.score}

        return _said(read)

    def forbidden(self, document: bytes) -> Result | Refused:
        return _said(lambda: refuse_forbidden(wire.parse(document)) or {})


def _said(run: Callable[[], Any]) -> Result | Refused:
    """What came of `run`, as it stands on the wire."""
    try:
        result = run()
    except VerdictCoreError as error:
        return Refused(error.code, error.path)
    plain: Result = wire.parse(wire.compact(result))
    return plain
