"""The six tools: what each takes, and what answers it. Nothing here knows the protocol.

In: a tool's name, its arguments as JSON text, the settings of the server. Out: the object that the
command line prints with `--json`, or a refusal. Laws: arguments are read like any payload; they
name what is judged and never who judges. (SPEC MC-TOOL, MC-READ)
"""

import json
import re
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from verdict_core import wire
from verdict_core.context import State, Summary, build, judge
from verdict_core.errors import ROOT, VerdictCoreError, WrongType, child
from verdict_core.forbidden import refuse_forbidden
from verdict_core.hosts import cli

Given = Mapping[str, Any]
Slots = Mapping[str, Callable[[Any, str], Any]]

_CASES = "$.cases"
_PLACE = re.compile(re.escape(_CASES) + r":(\d+)(?::\$)?")


def answer(tool: str, arguments: str, settings: Namespace) -> Mapping[str, Any]:
    """What `tool` says to `arguments`, one JSON text. Raises whatever is refused: what is wrong
    with the text first, then a forbidden name, then the structure. (SPEC MC-READ-1)"""
    payload = wire.parse(arguments)
    refuse_forbidden(payload)
    slots, answers = _TOOLS[tool]
    return answers(wire.closed(payload, ROOT, slots), settings)


def _build(given: Given, settings: Namespace) -> Mapping[str, Any]:
    state = build(given["summary"], max_chars=settings.max_chars)
    return {"summary": given["summary"].payload(), "state": state.payload()}


def _judge(given: Given, settings: Namespace) -> Mapping[str, Any]:
    service = None if settings.service is None else cli.service_of(settings.service)
    judgement = judge(given["summary"], given["state"], wait_min=settings.wait_min, service=service)
    return judgement.payload()


def _verify(given: Given, settings: Namespace) -> Mapping[str, Any]:
    """The cases, as a corpus of one file: a line each, in the order in which they were given."""
    from verdict_core import corpus
    from verdict_core.hosts.verify import FromSpec

    lines = "".join(f"{json.dumps(case, ensure_ascii=False)}\n" for case in given["cases"])
    try:
        report = corpus.verify(
            [corpus.held(_CASES, lines.encode())],
            wait_min=settings.wait_min,
            max_chars=settings.max_chars,
            service=None if settings.service is None else FromSpec(settings.service),
        )
    except VerdictCoreError as error:
        error.path, error.message = _placed(error.path), _placed(error.message)
        raise
    return report.payload()


def _placed(text: str) -> str:
    """Lines of the corpus, told as members of the argument. (SPEC MC-READ-2)"""
    return _PLACE.sub(lambda place: child(_CASES, int(place[1]) - 1), text)


def _progress_verify(given: Given, settings: Namespace) -> Mapping[str, Any]:
    from verdict_core.hosts import progress

    asked = Namespace(**vars(settings), claim=given["claim"], scope=given["guard_scope"])
    return progress.episode_answer(progress.episode_of(asked))


def _ledger(given: Given, settings: Namespace) -> Mapping[str, Any]:
    from verdict_core.hosts import progress

    return progress.ledger_answer(settings)


def _state(given: Given, settings: Namespace) -> Mapping[str, Any]:
    from verdict_core.hosts import progress

    return progress.state_answer(settings)


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise WrongType(f"expected a list of cases, got {wire.kind(value)}", path=path)
    return value


def _scope(value: Any, path: str) -> str:
    # An empty one is refused as a scope, with the code that says what is lacking.
    return "" if value == "" else wire.text(value, path)


_TOOLS: Mapping[str, tuple[Slots, Callable[[Given, Namespace], Mapping[str, Any]]]] = {
    "context_verdict_build": ({"summary": Summary.from_payload}, _build),
    "context_verdict_judge": (
        {"summary": Summary.from_payload, "state": State.from_payload},
        _judge,
    ),
    "context_verdict_verify": ({"cases": _list}, _verify),
    "verified_progress_verify": ({"claim": wire.text, "guard_scope": _scope}, _progress_verify),
    "verified_progress_ledger": ({}, _ledger),
    "verified_progress_state": ({}, _state),
}
