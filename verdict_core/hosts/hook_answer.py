"""What a hook decided, and the form in which each harness reads it.

In: a decision. Out: exit status, standard output, standard error. Law: a stop has exactly the form
that its harness takes for one; in any other form the compaction would pass. (SPEC HK-FORM)
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from verdict_core import wire


class Act(StrEnum):
    """What the hook does with a firing. (SPEC HK-FORM-1)"""

    STOPPED = "stopped"
    PASSED = "passed"
    GIVEN_BACK = "given_back"


@frozen
class Decision:
    """`act`; `why`, a stable word; `text` for whoever reads it, empty where there is nothing to
    say; `facts` for the journal."""

    act: Act
    why: str
    text: str = ""
    facts: Mapping[str, Any] = field(factory=dict)

    def payload(self) -> dict[str, Any]:
        """The decision as JSON, from which `of` makes it again."""
        return {"act": self.act, "why": self.why, "text": self.text, "facts": dict(self.facts)}

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Decision":
        """The decision that a `payload` is."""
        return cls(Act(payload["act"]), payload["why"], payload["text"], payload["facts"])


@frozen
class Output:
    """What the process ends with: its status and its two streams."""

    status: int
    stdout: bytes = b""
    stderr: bytes = b""


@frozen
class Form:
    """An exit status, and where the text stands: in a JSON object at `TEXT`, or bare on standard
    error where there is no object."""

    status: int
    document: Mapping[str, Any] | None


TEXT = "{text}"
_CONTEXT = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": TEXT}}
FORMS: Mapping[str, Mapping[Act, Form]] = {
    "claude-code": {
        Act.STOPPED: Form(2, None),
        Act.PASSED: Form(0, {"systemMessage": TEXT}),
        Act.GIVEN_BACK: Form(0, _CONTEXT),
    },
    "codex": {
        # Any other key beside these two, and any other status, lets the compaction pass.
        Act.STOPPED: Form(0, {"continue": False, "stopReason": TEXT}),
        Act.PASSED: Form(0, {"continue": True, "systemMessage": TEXT}),
        Act.GIVEN_BACK: Form(0, _CONTEXT),
    },
}


def output(harness: str, decision: Decision) -> Output:
    """The decision in the harness's form; an empty text is no output. (SPEC HK-FORM-1)"""
    form = FORMS[harness][decision.act]
    if not decision.text:
        return Output(form.status)
    # What cannot stand in UTF-8 would break the form, and with it the stop.
    text = decision.text.encode(errors="backslashreplace").decode()
    if form.document is None:
        return Output(form.status, stderr=f"{text}\n".encode())
    return Output(form.status, stdout=wire.compact(_filled(form.document, text)) + b"\n")


def _filled(document: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {
        key: _filled(value, text)
        if isinstance(value, Mapping)
        else (text if value is TEXT else value)
        for key, value in document.items()
    }
