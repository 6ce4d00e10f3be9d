"""This library behind the door that every implementation is asked through.

In: documents. Out: results and refusals as data. Law: a crash is not a refusal and passes through.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict

from verdict_core import corpus, wire
from verdict_core.conformance.subject import CAPABILITIES, Refused, Result, Script
from verdict_core.context import (
    DEFAULT_WAIT_MIN,
    NoAnswer,
    Request,
    Summary,
    build,
    judge,
    judge_document,
    read_answer,
)
from verdict_core.context.thresholds import read_thresholds, threshold
from verdict_core.corpus import Report
from verdict_core.errors import VerdictCoreError
from verdict_core.forbidden import refuse_forbidden
from verdict_core.git import show_path
from verdict_core.progress.admission import admit
from verdict_core.progress.projection import State, audited, project, rendered
from verdict_core.progress.report import (
    Contract,
    Integrity,
    Status,
    bind,
    decode,
    read_report,
)
from verdict_core.progress.runs import bare_lines, lines
from verdict_core.progress.scope import resolve

CORPUS = "corpus"
"""The name of the corpus in `verify`, with which the path of a refusal begins."""


class ScriptedService:
    """A service that does what its scripts say, one an asking, and remembers what it was asked."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.scripts = scripts
        self.asked: list[Result] = []

    def ask(self, request: Request, /) -> bytes:
        script = self.scripts[min(len(self.asked), len(self.scripts) - 1)]
        self.asked.append(_plain(request.payload()))
        if script.answer is None:
            raise NoAnswer(script.detail or "unreachable")
        return script.answer


class Reference:
    """The Subject that this package is."""

    @property
    def capabilities(self) -> frozenset[str]:
        return CAPABILITIES

    def build(self, summary: bytes, *, max_chars: Any = 16_000) -> Result | Refused:
        def run() -> Any:
            threshold(max_chars, "max_chars")
            return build(Summary.from_json(summary), max_chars=max_chars).payload()

        return _said(run)

    def judge(
        self,
        document: bytes,
        *,
        wait_min: Any = DEFAULT_WAIT_MIN,
        safe_max: Any = None,
        script: Script | None = None,
    ) -> tuple[Result | Refused, Sequence[Result]]:
        service = None if script is None else ScriptedService((script,))

        def run() -> Any:
            threshold(wait_min, "wait_min")
            if safe_max is not None:
                read_thresholds({"safe_max": safe_max})
            return judge(*judge_document(document), wait_min=wait_min, service=service).payload()

        return _said(run), tuple(service.asked) if service else ()

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
        def walk() -> Mapping[str, Any]:
            refuse_forbidden(wire.parse(document))
            return {}

        return _said(walk)

    def verify(
        self,
        document: bytes,
        *,
        wait_min: Any = DEFAULT_WAIT_MIN,
        max_chars: Any = 16_000,
        scripts: Sequence[Script] | None = None,
    ) -> Result | Refused:
        service = None if scripts is None else ScriptedService(scripts)

        def run() -> Any:
            report = corpus.verify(
                [corpus.held(CORPUS, document)],
                wait_min=wait_min,
                max_chars=max_chars,
                service=None if service is None else lambda: service,
            )
            return _rates(report)

        return _said(run)

    def read_report(self, document: bytes, *, claim: str | None = None) -> Result | Refused:
        text, _ = decode(document)
        report = read_report(text)
        if claim is not None:
            report = bind(report, claim)
        names = ("status", "integrity", "contract", "reasons", "missing", "evidence", "claim")
        return _said(lambda: {name: getattr(report, name) for name in names})

    def admit(self, status: str, integrity: str, contract: str, changed: bool) -> Result | Refused:
        cell = Status(status), Integrity(integrity), Contract(contract), changed
        return _said(lambda: asdict(admit(*cell)))

    def scope(
        self,
        scope: str | None,
        workspace: str,
        *,
        ignores: Sequence[str] = (),
        state_dir: str | None = None,
        harness_home: str | None = None,
    ) -> Result | Refused:
        def run() -> Any:
            found = resolve(
                scope,
                Path(workspace),
                ignores=ignores,
                state_dir=None if state_dir is None else Path(state_dir),
                harness_home=None if harness_home is None else Path(harness_home),
            )
            return {"root": show_path(found.root)}

        return _said(run)

    def fold(self, document: bytes) -> Result | Refused:
        state = project(bare_lines(io.BytesIO(document)))
        members = wire.parse(rendered(state))
        del members["digest"], members["format"]
        return {**members, "open_items": [asdict(item) for item in state.open_items]}

    def chain(self, document: bytes, *, state: Mapping[str, Any] | None = None) -> Result | Refused:
        audit = audited(lines(io.BytesIO(document)), State(**(state or {})))
        return _plain(asdict(audit))


def _rates(report: Report) -> Mapping[str, Any]:
    payload = report.payload()
    rates = ("lost_let_through", "keep_refused")
    counts = ("cases", "asked", "skipped", "all_skipped", "unusable")
    return {
        **{name: payload[name] for name in counts},
        **{name: {k: payload[name][k] for k in ("count", "of", "rate")} for name in rates},
        "exit": report.exit_status,
    }


def _said(run: Callable[[], Any]) -> Result | Refused:
    """What came of `run`, as it stands on the wire."""
    try:
        result = run()
    except VerdictCoreError as error:
        return Refused(error.code, error.path)
    return _plain(result)


def _plain(value: Any) -> Result:
    plain: Result = wire.parse(wire.compact(value))
    return plain
