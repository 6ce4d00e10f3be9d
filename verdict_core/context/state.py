"""The one renderer: a summary in, the state that a verdict is bound to out.

Laws: rendering is injective whatever an item holds; nothing is cut; the digest covers the summary
and the text, and a state that is not the one its summary renders to is refused. (SPEC CV-STATE,
CV-DIGEST)
"""

from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.context.summary import FIELDS, Summary
from verdict_core.context.thresholds import threshold
from verdict_core.errors import ROOT, OverBudget, UnboundState, WrongType, child
from verdict_core.forbidden import refuse_forbidden

FORMAT = "verdict-core/state/1"
DEFAULT_MAX_CHARS = 16_000
_FIRST_LINE = "verdict-core state 1"


@frozen(kw_only=True)
class State:
    """What `build` makes and `judge` asks for again: `text` (code points, LF between lines),
    `digest`, `count` of items, `unknown` field names, `risk_hints`. (SPEC CV-STATE-1)"""

    text: str
    digest: str
    count: int
    unknown: tuple[str, ...]
    risk_hints: str

    @classmethod
    def from_payload(cls, payload: Any, path: str = ROOT) -> "State":
        """The state in a value that was parsed; whether it is bound is `judge`'s to say."""
        return cls(**wire.closed(payload, path, _SLOTS))

    def payload(self) -> dict[str, Any]:
        """The object that stands on the wire. (SPEC CV-STATE-1)"""
        return {name: getattr(self, name) for name in _SLOTS}


_SLOTS = {
    "text": wire.text,
    "digest": wire.text,
    "count": wire.integer,
    "unknown": wire.texts,
    "risk_hints": wire.text,
}
_DOCUMENT = {"summary": Summary.from_payload, "state": State.from_payload}


def build(summary: Summary, *, max_chars: int = DEFAULT_MAX_CHARS) -> State:
    """Render a summary. `max_chars` is in code points of the text; equal passes.

    Raises OverBudget (exit status 2), BadConfig, WrongType. (SPEC CV-STATE-6)
    """
    limit = threshold(max_chars, "max_chars")
    state = render(summary)
    if len(state.text) > limit:
        raise OverBudget(
            f"the state has {len(state.text)} characters and its budget is {limit};"
            " raise max_chars, or write some of the work down and judge again"
        )
    return state


def render(summary: Summary) -> State:
    """The state of a summary, whatever its length. Pure. (SPEC CV-STATE-2 to CV-STATE-5)"""
    if not isinstance(summary, Summary):
        raise WrongType(f"expected a Summary, got {type(summary).__name__}", path="$.summary")
    payload = summary.payload()
    unknown = summary.unknown
    lines = [_FIRST_LINE, f"session: {wire.quoted(summary.session)}"]
    for name in FIELDS:
        items = payload[name]
        lines.append(f"{name}: {len(items)}{' unknown' if name in unknown else ''}")
        if items:
            lines += [f"- {wire.quoted(item)}" for item in items]
    count = summary.count
    held = ",".join([name for name in FIELDS if payload[name]])
    hints = f"count={count} open={held or '-'} unknown={','.join(unknown) or '-'}"
    lines.append(f"risk_hints: {hints}")
    text = "\n".join(lines)
    bound = bound_bytes(payload, text)
    return State(
        text=text, digest=wire.digest(bound), count=count, unknown=unknown, risk_hints=hints
    )


def bound_bytes(summary: dict[str, Any], text: str) -> bytes:
    """The canonical bytes that the digest is taken of. (SPEC CV-DIGEST-1)"""
    return wire.canonical({"format": FORMAT, "summary": summary, "text": text})


def refuse_unbound(state: State, made: State) -> None:
    """Refuse a state that differs in any part from the one just made. (SPEC CV-DIGEST-3)"""
    if not isinstance(state, State):
        raise WrongType(f"expected a State, got {type(state).__name__}", path="$.state")
    for name in _SLOTS:
        given, wanted = getattr(state, name), getattr(made, name)
        # `True == 1`, and a list is never equal to a tuple: only the same type can be the same.
        if type(given) is not type(wanted) or given != wanted:
            raise UnboundState(
                "not what this summary renders to: build the state again from the summary that is"
                " judged",
                path=child("$.state", name),
            )


def judge_document(data: bytes | str) -> tuple[Summary, State]:
    """`{"summary", "state"}`, exactly what `build --json` prints. (SPEC CV-CLI-3)"""
    payload = wire.parse(data)
    refuse_forbidden(payload)
    members = wire.closed(payload, ROOT, _DOCUMENT)
    return members["summary"], members["state"]
