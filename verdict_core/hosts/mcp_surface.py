"""What an MCP host sees of the six tools: names, words, and closed schemas, as data.

Laws: every object in a schema is closed and requires what it lists; no property bears one of the 35
names; what a tool answers fits its output schema, a refusal too. (SPEC MC-TOOL, MC-OUT)
"""

from collections.abc import Iterable, Mapping
from typing import Any

from verdict_core.context import FIELDS, Detail, Reason, Verdict
from verdict_core.corpus import Label
from verdict_core.corpus.report import NOT_ASKED
from verdict_core.progress.admission import Outcome
from verdict_core.progress.report import Contract, Integrity, Status
from verdict_core.progress.runs import Why

Schema = dict[str, Any]

INSTRUCTIONS = (
    "context_verdict_judge says whether compacting this session's context now would lose work; only"
    " safe_to_compact is permission. verified_progress_verify has a claimed step checked by a"
    " verifier that the user fixed; only the outcome progress says that it was done. There is no"
    " way to ask which parts of a context matter."
)


def _closed(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(words: Iterable[str]) -> Schema:
    return {"type": "string", "enum": [str(word) for word in words]}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _said(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


_STRING: Schema = {"type": "string"}
_TEXT: Schema = {"type": "string", "minLength": 1}
_TEXTS = _list(_TEXT)
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBERS = _list(_COUNT)
_BOOLEAN: Schema = {"type": "boolean"}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}

_MEANING = {
    "todos": "what is still to be done",
    "uncommitted": "files that differ from the last commit",
    "questions": "questions to the user without an answer",
    "decisions": "what was decided and is recorded in no file",
    "next_steps": "what comes next",
}
_UNKNOWN = _list(_one_of(FIELDS))
_SUMMARY = _closed(
    session=_said(_TEXT, "the session's name"),
    **{name: _said(_TEXTS, f"{text}, one string an item") for name, text in _MEANING.items()},
    unknown=_said(_UNKNOWN, "the fields that you could not read whole, in this order"),
)
_STATE = _closed(text=_TEXT, digest=_TEXT, count=_COUNT, unknown=_UNKNOWN, risk_hints=_TEXT)
_CASE = _closed(
    id=_TEXT, label=_said(_one_of(Label), "lost: compacting loses work"), summary=_SUMMARY
)

_JUDGEMENT = _closed(
    verdict=_one_of(Verdict),
    reasons=_list(_one_of(Reason)),
    detail=_or_null(_one_of(Detail)),
    count=_COUNT,
    unknown=_UNKNOWN,
    score=_or_null(_SHARE),
    digest=_TEXT,
)
_RATE = _closed(
    count=_COUNT,
    of=_COUNT,
    rate=_or_null(_SHARE),
    interval=_or_null({**_list(_SHARE), "minItems": 2, "maxItems": 2}),
    ids=_TEXTS,
)
_BY_DETAIL: Schema = {
    "type": "object",
    "properties": dict.fromkeys((*map(str, Detail), NOT_ASKED), _COUNT),
    "additionalProperties": False,
}
_REPORT = _closed(
    cases=_COUNT,
    lost_let_through=_RATE,
    keep_refused=_RATE,
    asked=_COUNT,
    skipped=_COUNT,
    all_skipped=_BOOLEAN,
    skips=_BY_DETAIL,
    unusable=_COUNT,
    unusable_details=_BY_DETAIL,
    verdicts=_list(
        _closed(label=_one_of(Label), **{str(name): _COUNT for name in Verdict}, skipped=_COUNT)
    ),
    wait_min=_COUNT,
    max_chars=_COUNT,
    service=_BOOLEAN,
    files=_list(_closed(name=_TEXT, cases=_COUNT, digest=_TEXT)),
)

_CONTROLS = {
    "status": _one_of(Status),
    "integrity": _one_of(Integrity),
    "contract": _one_of(Contract),
}
_CHANGED = _list(_closed(path=_TEXT, change=_TEXT))
_EPISODE = _closed(
    outcome=_one_of(Outcome),
    **_CONTROLS,
    reasons=_TEXTS,
    changed=_CHANGED,
    gaps=_TEXTS,
    number=_COUNT,
    run=_TEXT,
)
_TREE = _closed(count=_COUNT, digest=_TEXT)
_ASKED: Mapping[str, Schema] = {
    "claim": _TEXT,
    "scope": _TEXT,
    "fingerprinted": _TEXT,
    "ignored": _TEXTS,
    "verifier": _list(_STRING),
    "before": _or_null(_TREE),
    "format": _TEXT,
    "number": _COUNT,
    "time": _TEXT,
    "run": _TEXT,
    "claim_digest": _TEXT,
    "prev": _TEXT,
    "hash": _TEXT,
}
_RULED: Mapping[str, Schema] = {
    "claim_number": _COUNT,
    "after": _or_null(_TREE),
    "declared": _closed(**dict.fromkeys(_CONTROLS, _or_null(_TEXT))),
    "final": _closed(**_CONTROLS),
    "outcome": _one_of(Outcome),
    "reasons": _TEXTS,
    "changed": _CHANGED,
    "evidence": _TEXTS,
    "evidence_gaps": _list(_closed(path=_TEXT, why=_TEXT)),
    "missing": _TEXTS,
    "report": _or_null(_closed(text=_STRING, length=_COUNT, digest=_TEXT)),
    "counts": _closed(changed=_COUNT, evidence=_COUNT, evidence_gaps=_COUNT, missing=_COUNT),
}
_ENTRY: Schema = {
    "anyOf": [
        _closed(kind=_one_of(["claim"]), **_ASKED),
        _closed(kind=_one_of(["ruling"]), **_ASKED, **_RULED),
    ]
}
_LEDGER = _closed(
    run=_TEXT,
    entries=_list(_ENTRY),
    damaged=_list(_closed(line=_COUNT, offset=_COUNT, length=_COUNT, why=_one_of(Why))),
    torn=_BOOLEAN,
)
_CLAIMED = {"round": _COUNT, "claim": _TEXT, "scope": _TEXT}
_PROGRESS = _closed(
    run=_TEXT,
    number=_COUNT,
    verified_rounds=_NUMBERS,
    stale=_NUMBERS,
    rejected_rounds=_NUMBERS,
    pending=_list(_closed(**_CLAIMED)),
    verified=_list(_closed(**_CLAIMED)),
    rejected=_list(_closed(**_CLAIMED, reasons=_TEXTS)),
    open_items=_list(_closed(round=_COUNT, item=_TEXT)),
)
_REFUSED = _closed(refused=_closed(code=_TEXT, path=_STRING, message=_STRING))


def _tool(name: str, title: str, text: str, given: Schema, answer: Schema, **hints: bool) -> Schema:
    return {
        "name": name,
        "title": title,
        "description": text,
        "inputSchema": given,
        # Some hosts hold refusals to the output schema too, and would hide what does not fit.
        "outputSchema": {"type": "object", "oneOf": [answer, _REFUSED]},
        "annotations": {"readOnlyHint": True, "destructiveHint": False, **hints},
    }


TOOLS: tuple[Schema, ...] = (
    _tool(
        "context_verdict_build",
        "Build the state to be judged",
        "Render a closed summary of the session's unlanded work into the one state that"
        " context_verdict_judge takes. Every field is required; say in `unknown` what you could not"
        " read whole, for not known is not empty. The answer is {summary, state}: pass both on as"
        " they are.",
        _closed(summary=_SUMMARY),
        _closed(summary=_SUMMARY, state=_STATE),
    ),
    _tool(
        "context_verdict_judge",
        "Would compacting now lose work?",
        "Judge a summary with the state that context_verdict_build made of it. The verdict is"
        " safe_to_compact, wait or preserve_first; only safe_to_compact is permission to compact."
        " With preserve_first write the open work down first, then build and judge again.",
        _closed(summary=_SUMMARY, state=_STATE),
        _JUDGEMENT,
    ),
    _tool(
        "context_verdict_verify",
        "Score the verdict on labelled cases",
        "Judge labelled cases and report two rates: lost cases that were let through, and keep"
        " cases that were refused. Both labels have to occur.",
        _closed(cases=_list(_CASE)),
        _REPORT,
    ),
    _tool(
        "verified_progress_verify",
        "Have a claimed step verified",
        "Have a step that you claim to have finished checked by the verifier that the user fixed,"
        " and keep the ruling in the ledger. Change nothing below the guard scope until the answer"
        " is there: any change makes the claim evidence. Only the outcome progress says that the"
        " step was done.",
        _closed(
            claim=_said(_TEXT, "what was done, in words"),
            guard_scope=_said(
                _TEXT, "what nobody may change meanwhile: a path or glob from the workspace: src/**"
            ),
        ),
        _EPISODE,
        readOnlyHint=False,
    ),
    _tool(
        "verified_progress_ledger",
        "Show the ledger",
        "Every claim and ruling of this run, oldest first, and every damaged line.",
        _closed(),
        _LEDGER,
    ),
    _tool(
        "verified_progress_state",
        "What is verified, stale, rejected, pending, open",
        "What the ledger of this run comes to, and which verified rounds are stale now because the"
        " content below their scope is no longer the same.",
        _closed(),
        _PROGRESS,
    ),
)
