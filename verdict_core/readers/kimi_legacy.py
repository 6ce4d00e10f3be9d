"""The older records of Kimi: `wire.jsonl` with messages in envelopes, and `context.jsonl`.

In: one row after the other. Out: events. Law: what a sub-agent's row wraps does not count.
(SPEC RD-KIMI-5)
"""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.kimi_calls import Call, args_of
from verdict_core.readers.turns import Event, mapping, objects, text_of

# The host's own words, in the person's name.
_NOT_SAID = ("<system>", "<system-reminder>")
_FAILED = "<system>ERROR"
_WORKS = frozenset({"StepBegin", "ApprovalRequest", "ApprovalResponse"})


@define
class Legacy:
    """Reads row after row. `is_context`: rows of a `context.jsonl` were among them, which the host
    writes anew at a compaction, so that a todo list may have stood in what is gone."""

    is_context: bool = False
    _calls: dict[str, Call] = field(factory=dict)
    # The call whose arguments may still come in parts, and those that came.
    _streamed: Mapping[str, Any] | None = None
    _parts: list[str] = field(factory=list)

    def take(self, row: Object) -> Iterator[Event]:
        """The events of one row."""
        if "role" in row:
            self.is_context = True
            yield from self._context(row)
            return
        message = mapping(row.get("message"))
        kind, payload = message.get("type"), mapping(message.get("payload"))
        if kind == "ToolCallPart":
            self._parts.append(str(payload.get("arguments_part") or ""))
        else:
            yield from self.finish()
            yield from self._wire(kind, payload)

    def finish(self) -> Iterator[Event]:
        """The events of a call whose arguments are as whole as they will be."""
        if self._streamed is not None:
            call, self._streamed = self._streamed, None
            yield from self._made(call, "".join(self._parts))

    def _wire(self, kind: Any, payload: Mapping[str, Any]) -> Iterator[Event]:
        if kind in _WORKS:
            yield turns.Worked()
        elif kind == "TurnBegin":
            yield from _said(payload.get("user_input"))
        elif kind == "ContentPart":
            yield turns.Spoke(text_of(payload))
        elif kind == "ToolCall":
            self._streamed = payload
            self._parts = [str(mapping(payload.get("function")).get("arguments") or "")]
        elif kind == "ToolResult":
            yield from self._result(payload)
        elif kind == "TurnEnd":
            yield turns.Ended()
        elif kind == "StepInterrupted":
            yield turns.Stopped()

    def _result(self, payload: Mapping[str, Any]) -> Iterator[Event]:
        result = mapping(payload.get("return_value"))
        failed = result.get("is_error") is True
        output = text_of(result.get("output"))
        yield from self._gave(str(payload.get("tool_call_id")), output, failed=failed)
        for shown in objects(result.get("display")):
            if shown.get("type") == "todo":
                yield turns.Listed(shown.get("items"))

    def _context(self, row: Object) -> Iterator[Event]:
        text = text_of(row.get("content"))
        if row["role"] == "user":
            yield from _said(text)
        elif row["role"] == "assistant":
            yield turns.Spoke(text)
            for call in objects(row.get("tool_calls")):
                yield from self._made(call, mapping(call.get("function")).get("arguments"))
        elif row["role"] == "tool":
            failed = text.startswith(_FAILED)
            yield from self._gave(str(row.get("tool_call_id")), text, failed=failed)

    def _made(self, call: Mapping[str, Any], arguments: Any) -> Iterator[Event]:
        name = str(mapping(call.get("function")).get("name"))
        made = Call(str(call.get("id")), name, args_of(arguments))
        self._calls[made.id] = made
        yield from made.made()

    def _gave(self, name: str, output: str, *, failed: bool) -> Iterator[Event]:
        call = self._calls.get(name, Call(name, "", {}))
        yield from call.gave(output, failed=failed)


def _said(content: Any) -> Iterator[Event]:
    text = text_of(content)
    if text.strip() and not text.startswith(_NOT_SAID):
        yield turns.Said(text)
