"""A judgement as people read it: the verdict, the open items, what would change the answer.

In: a summary and its judgement. Out: text. Law: what an item holds reaches the terminal escaped,
so it can neither move the cursor nor pass for a line of ours. (SPEC CV-CLI-4)
"""

import os
from collections.abc import Sequence

from verdict_core.context import FIELDS, Judgement, Reason, Summary, Verdict
from verdict_core.errors import visible
from verdict_core.readers.reading import Note

_COLOURS = {Verdict.SAFE_TO_COMPACT: "32", Verdict.WAIT: "33", Verdict.PRESERVE_FIRST: "31"}
_MEANING = {
    Verdict.SAFE_TO_COMPACT: "nothing recorded is unlanded",
    Verdict.WAIT: "the record does not settle it; this is no permission",
    Verdict.PRESERVE_FIRST: "recorded work exists nowhere durable; write it down first",
}
_LANDS = {
    "todos": "finish it, or write it into a file",
    "uncommitted": "commit it",
    "questions": "answer it",
    "decisions": "record it in a file or a commit",
    "next_steps": "do it, or write it into a file",
}
_SERVICE = {
    Reason.SERVICE_NOT_CONFIGURED: "no service is configured that could be asked",
    Reason.SERVICE_ABSENT: "the service was asked and was not there",
    Reason.SERVICE_UNUSABLE: "the service's answer could not be used",
    Reason.SERVICE_WAIT: "the service said wait",
    Reason.SERVICE_PRESERVE: "the service said preserve_first",
    Reason.SERVICE_SAFE_OVERRULED: "the service said safe_to_compact, which opens nothing",
}
_LIMITS = (
    "This is about compaction only: it says nothing about work being merged, pushed or right. No"
    " record shows commits made elsewhere, things only spoken of, or files the session never"
    " touched."
)


def judgement(
    summary: Summary,
    judged: Judgement,
    wait_min: int,
    *,
    notes: Sequence[Note] = (),
    colour: bool = False,
) -> str:
    """The whole text, with a final newline. `colour` is for terminals; NO_COLOR turns it off."""
    name: str = judged.verdict
    if colour and "NO_COLOR" not in os.environ:
        name = f"\x1b[1;{_COLOURS[judged.verdict]}m{name}\x1b[0m"
    lines = [f"{name}: {_MEANING[judged.verdict]}", f"session {visible(summary.session)}", ""]
    for field in FIELDS:
        items: tuple[str, ...] = getattr(summary, field)
        if items or field in judged.unknown:
            unread = " (not read whole)" if field in judged.unknown else ""
            lines.append(f"{field}: {len(items)}{unread}")
            lines += [f"  - {visible(item)}" for item in items]
    lines += [""] if lines[-1] else []
    lines += ["why:", f"  {', '.join(judged.reasons)}", f"  {_because(judged, wait_min)}"]
    lines += ["what would change the answer:", *_changes(summary, judged, wait_min)]
    if notes:
        lines += ["noticed:", *(f"  {n.reader}: {visible(n.text)} ({n.code})" for n in notes)]
    return "\n".join([*lines, _LIMITS, ""])


def _because(judged: Judgement, wait_min: int) -> str:
    if Reason.NOTHING_UNLANDED in judged.reasons:
        return "nothing is open, and every field was read"
    if Reason.OVER_THRESHOLD in judged.reasons:
        return f"{judged.count} open, more than the threshold of {wait_min}"
    said = next(text for reason, text in _SERVICE.items() if reason in judged.reasons)
    detail = f" ({judged.detail})" if judged.detail else ""
    return f"{judged.count} open, not over the threshold of {wait_min}; {said}{detail}"


def _changes(summary: Summary, judged: Judgement, wait_min: int) -> list[str]:
    lines = [
        f"  {len(items)} in {field}: {_LANDS[field]}"
        for field in FIELDS
        if (items := getattr(summary, field))
    ]
    lines += [
        f"  {field} is unknown: have it read whole, or give it with --summary"
        for field in judged.unknown
    ]
    if judged.count:
        lines.append("  all of it: `verdict-core land` writes it down outside the session")
    if judged.count > wait_min:
        lines.append(f"  {wait_min} open items or fewer are no longer preserve_first by count")
    return lines or ["  any open item, or a field that could not be read"]
