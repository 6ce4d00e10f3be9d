"""A Kimi Code session record, read into todos, questions, decisions and next steps.

In: the path of a `wire.jsonl`, of the directory around it, or of an older `wire.jsonl` or
`context.jsonl`. Out: a `Reading`. Laws: the last list that was stored is the list; a compaction
settles nothing; what sub-agents do in records of their own does not count. (SPEC RD-KIMI)
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from verdict_core.readers import flow, turns
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.kimi_calls import Call, CallLog
from verdict_core.readers.kimi_legacy import Legacy
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import mapping, opened, text_of

READER = "kimi-code"
# Where a session's directory has the record of its main agent, newest layout first.
PLACES = ("agents/main/wire.jsonl", "wire.jsonl", "context.jsonl")
_STORE = "todo"
_SAYS = (None, "user", "skill_activation", "plugin_command")
# Messages that stand in the history and ask nobody to go on.
_ASIDE = ("injection", "shell_command", "compaction_summary", "hook_result")
# What an undone turn leaves behind: files, and what is stored beside the conversation.
_STAYS = flow.Listed | flow.Goal | flow.Committed


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path`, or the session in this directory, says. (SPEC RD-KIMI-1)"""
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    if path.is_dir():
        found = next((path / place for place in PLACES if (path / place).is_file()), None)
        if found is None:
            raise OSError("no record of a main agent in this directory")
        path = found
    record = turns.plain(path, _Wire())
    record.hear()
    record.listener.done()
    return turns.finish(READER, record)


@define
class _Wire(CallLog):
    compactions: int = 0
    _legacy: Legacy = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._legacy = Legacy(self)

    def hear(self, row: Object) -> None:
        """Takes one row of the record."""
        self.step()
        kind = row.get("type")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(self, row)
        elif kind is None:
            self._legacy.take(row)

    def done(self) -> None:
        """The record ends here."""
        self._legacy.finish()
        if "todos" in self.unread and any(isinstance(e, flow.Listed) for e in self.events):
            self.unread.discard("todos")
        if self.compactions:
            self.notes["compactions"] = f"compactions in the record: {self.compactions}"

    def prompt(self, row: Object) -> None:
        """A turn begins, or gets more to work on; its message follows as a row of its own."""
        self.worked()

    def message(self, row: Object) -> None:
        message = mapping(row.get("message"))
        origin = mapping(message.get("origin"))
        text = text_of(message.get("content"))
        if message.get("role") == "assistant":
            self.spoke(text)
        elif message.get("role") == "user":
            kind = origin.get("kind")
            # A skill that the model or another skill called is no words of the person.
            if kind in _SAYS and origin.get("trigger") in (None, "user-slash"):
                self.said(text)
            elif kind not in _ASIDE:
                self.worked()

    def loop(self, row: Object) -> None:
        event = mapping(row.get("event"))
        match event.get("type"):
            case "content.part":
                self.spoke(text_of(event.get("part")))
            case "tool.call":
                self._call(event)
            case "tool.result":
                result = mapping(event.get("result"))
                failed = result.get("isError") is True
                output = text_of(result.get("output"))
                self.gave(str(event.get("parentUuid")), output, failed=failed)
            case "step.begin":
                self.worked()

    def _call(self, event: Mapping[str, Any]) -> None:
        plan = mapping(event.get("display")).get("plan")
        self.made(
            Call(
                str(event.get("uuid")),
                str(event.get("name")),
                mapping(event.get("args")),
                plan if isinstance(plan, str) else None,
            )
        )

    def store(self, row: Object) -> None:
        if row.get("key") == _STORE:
            self.listed(row.get("value"))

    def compaction(self, row: Object) -> None:
        self.compactions += 1

    def cancel(self, row: Object) -> None:
        if row.get("target") != "queued":
            self.over()

    def ended(self, row: Object) -> None:
        self.over()

    def goal(self, row: Object) -> None:
        self.events.append(flow.Goal(self.at, {"status": "active", **row}))

    def goal_update(self, row: Object) -> None:
        """What is new of the goal; most updates only count what it took."""
        if "status" in row:
            self.events.append(flow.Goal(self.at, row))

    def no_goal(self, row: Object) -> None:
        self.events.append(flow.Goal(self.at, None))

    def clear(self, row: Object) -> None:
        """The conversation begins anew; the list that is stored beside it does not."""
        self._cut(0)

    def undo(self, row: Object) -> None:
        """Takes back the last messages of the person and all that followed. (SPEC RD-KIMI-4)"""
        said = [n for n, event in enumerate(self.events) if isinstance(event, flow.Said)]
        count = row.get("count")
        if said and isinstance(count, int) and count > 0:
            self._cut(said[-min(count, len(said))])

    def _cut(self, place: int) -> None:
        self.events[place:] = [event for event in self.events[place:] if isinstance(event, _STAYS)]
        self.over()


_HANDLERS: dict[str, Callable[[_Wire, Object], None]] = {
    "turn.prompt": _Wire.prompt,
    "turn.steer": _Wire.prompt,
    "turn.cancel": _Wire.cancel,
    "turn.ended": _Wire.ended,
    "context.append_message": _Wire.message,
    "context.append_loop_event": _Wire.loop,
    "context.apply_compaction": _Wire.compaction,
    "context.clear": _Wire.clear,
    "context.undo": _Wire.undo,
    "tools.update_store": _Wire.store,
    "goal.create": _Wire.goal,
    "goal.update": _Wire.goal_update,
    "goal.clear": _Wire.no_goal,
    "forked": _Wire.no_goal,
}
