"""The older records of Kimi: `wire.jsonl` with messages in envelopes, and `context.jsonl`.

In: one row after the other. Out: events in a log. Law: what a sub-agent's row wraps does not count.
(SPEC RD-KIMI-5)
"""

from collections.abc import Mapping
from typing import Any

from attrs import define, field

from verdict_core.readers.jsonlines import Object
from verdict_core.readers.kimi_calls import Call, CallLog, args_of
from verdict_core.readers.session import mapping, text_of
from verdict_core.readers.turns import objects

# The host's own words, in the person's name.
_NOT_SAID = ("<system>", "<system-reminder>")
_FAILED = "<system>ERROR"
_WORKS = ("StepBegin", "ApprovalRequest", "ApprovalResponse")


@define
class Legacy:
    """Reads row after row into `log`."""

    log: CallLog
    # The call whose arguments may still come in parts, and those that came.
    _streamed: Mapping[str, Any] | None = None
    _parts: list[str] = field(factory=list)

    def take(self, row: Object) -> None:
        """Takes one row."""
        if "role" in row:
            self._context(row)
            return
        message = mapping(row.get("message"))
        kind, payload = message.get("type"), mapping(message.get("payload"))
        if kind == "ToolCallPart":
            self._parts.append(str(payload.get("arguments_part") or ""))
        else:
            self.finish()
            self._wire(kind, payload)

    def finish(self) -> None:
        """A call whose arguments came in parts has all that it will have."""
        if self._streamed is not None:
            call, self._streamed = self._streamed, None
            self._made(call, "".join(self._parts))

    def _wire(self, kind: Any, payload: Mapping[str, Any]) -> None:
        if kind in _WORKS:
            self.log.worked()
        elif kind == "TurnBegin":
            self._said(text_of(payload.get("user_input")))
        elif kind == "ContentPart":
            self.log.spoke(text_of(payload))
        elif kind == "ToolCall":
            self._streamed = payload
            self._parts = [str(mapping(payload.get("function")).get("arguments") or "")]
        elif kind == "ToolResult":
            self._result(payload)
        elif kind in ("TurnEnd", "StepInterrupted"):
            self.log.over()

    def _result(self, payload: Mapping[str, Any]) -> None:
        result = mapping(payload.get("return_value"))
        failed = result.get("is_error") is True
        self.log.gave(
            str(payload.get("tool_call_id")), text_of(result.get("output")), failed=failed
        )
        for shown in objects(result.get("display")):
            if shown.get("type") == "todo":
                self.log.listed(shown.get("items"))

    def _context(self, row: Object) -> None:
        text = text_of(row.get("content"))
        # The host writes this file anew at a compaction, and a list may have stood in what is gone.
        self.log.unread.add("todos")
        if row["role"] == "user":
            self._said(text)
        elif row["role"] == "assistant":
            self.log.spoke(text)
            for call in objects(row.get("tool_calls")):
                self._made(call, mapping(call.get("function")).get("arguments"))
        elif row["role"] == "tool":
            failed = text.startswith(_FAILED)
            self.log.gave(str(row.get("tool_call_id")), text, failed=failed)

    def _made(self, call: Mapping[str, Any], arguments: Any) -> None:
        name = str(mapping(call.get("function")).get("name"))
        self.log.made(Call(str(call.get("id")), name, args_of(arguments)))

    def _said(self, text: str) -> None:
        if text.strip() and not text.startswith(_NOT_SAID):
            self.log.said(text)
