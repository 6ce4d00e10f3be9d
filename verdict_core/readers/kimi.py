"""A Kimi Code session record, read into todos, questions, decisions and next steps.

In: the path of a `wire.jsonl`, of the directory around it, or of an older `wire.jsonl` or
`context.jsonl`. Out: a `Reading`. Laws: the last list that was stored is the list; a compaction
settles nothing; what sub-agents do in records of their own does not count. (SPEC RD-KIMI)
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.kimi_calls import Call
from verdict_core.readers.kimi_legacy import Legacy
from verdict_core.readers.reading import Note, Reading
from verdict_core.readers.turns import Event, mapping, text_of

READER = "kimi-code"
_STORE = "todo"
_SAYS = frozenset({None, "user", "skill_activation", "plugin_command"})
# Messages that stand in the history and ask nobody to go on.
_ASIDE = frozenset({"injection", "shell_command", "compaction_summary", "hook_result"})
# Where a session's directory has the record of its main agent, newest layout first.
PLACES = ("agents/main/wire.jsonl", "wire.jsonl", "context.jsonl")


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path`, or the session in this directory, says. (SPEC RD-KIMI-1)"""
    return turns.opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    if path.is_dir():
        found = next((path / place for place in PLACES if (path / place).is_file()), None)
        if found is None:
            raise OSError("no record of a main agent in this directory")
        path = found
    lines, wire = Lines(), _Wire()
    with path.open("rb") as stream:
        for row in turns.rows(stream, lines):
            wire.take(row)
    wire.events += wire.legacy.finish()
    return turns.fold(
        READER,
        wire.events,
        todos_need_a_list=wire.legacy.is_context,
        notes=[*turns.line_notes(READER, lines), *wire.notes()],
    )


@define
class _Wire:
    events: list[Event] = field(factory=list)
    legacy: Legacy = field(factory=Legacy)
    compactions: int = 0
    _calls: dict[str, Call] = field(factory=dict)

    def notes(self) -> Iterator[Note]:
        if self.compactions:
            yield Note(READER, "compactions", f"compactions in the record: {self.compactions}")

    def take(self, row: Object | None) -> None:
        if row is None:
            self.events.append(turns.Lost())
            return
        kind = row.get("type")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(self, row)
        elif kind is None:
            self.events += self.legacy.take(row)

    def prompt(self, row: Object) -> None:
        """A turn begins, or gets more to work on; its message follows as a row of its own."""
        self.events.append(turns.Worked())

    def message(self, row: Object) -> None:
        message = mapping(row.get("message"))
        origin = mapping(message.get("origin"))
        text = text_of(message.get("content"))
        if message.get("role") == "assistant":
            self.events.append(turns.Spoke(text))
        elif message.get("role") == "user":
            kind = origin.get("kind")
            # A skill that the model or another skill called is no words of the person.
            if kind in _SAYS and origin.get("trigger") in (None, "user-slash"):
                self.events.append(turns.Said(text))
            elif kind not in _ASIDE:
                self.events.append(turns.Worked())

    def loop(self, row: Object) -> None:
        event = mapping(row.get("event"))
        match event.get("type"):
            case "content.part":
                self.events.append(turns.Spoke(text_of(event.get("part"))))
            case "tool.call":
                self._call(event)
            case "tool.result":
                self._result(event)
            case "step.begin":
                self.events.append(turns.Worked())

    def _call(self, event: Mapping[str, Any]) -> None:
        plan = mapping(event.get("display")).get("plan")
        call = Call(
            str(event.get("uuid")),
            str(event.get("name")),
            mapping(event.get("args")),
            plan if isinstance(plan, str) else None,
        )
        self._calls[call.id] = call
        self.events += call.made()

    def _result(self, event: Mapping[str, Any]) -> None:
        name = str(event.get("parentUuid"))
        result = mapping(event.get("result"))
        call = self._calls.get(name, Call(name, "", {}))
        failed = result.get("isError") is True
        self.events += call.gave(text_of(result.get("output")), failed=failed)

    def store(self, row: Object) -> None:
        if row.get("key") == _STORE:
            self.events.append(turns.Listed(row.get("value")))

    def compaction(self, row: Object) -> None:
        self.compactions += 1

    def cancel(self, row: Object) -> None:
        if row.get("target") != "queued":
            self.events.append(turns.Stopped())

    def ended(self, row: Object) -> None:
        cancelled = row.get("reason") == "cancelled"
        self.events.append(turns.Stopped() if cancelled else turns.Ended())

    def goal(self, row: Object) -> None:
        self.events.append(turns.Goal(str(row.get("objective"))))

    def goal_update(self, row: Object) -> None:
        if row.get("status") == "complete":
            self.events.append(turns.Goal(None))

    def goal_clear(self, row: Object) -> None:
        self.events.append(turns.Goal(None))

    def clear(self, row: Object) -> None:
        """The conversation begins anew; the list that is stored beside it does not."""
        self._cut(0)

    def undo(self, row: Object) -> None:
        """Takes back the last messages of the person and all that followed. (SPEC RD-KIMI-4)"""
        said = [n for n, event in enumerate(self.events) if isinstance(event, turns.Said)]
        count = row.get("count")
        if isinstance(count, int) and 0 < count <= len(said):
            self._cut(said[-count])
        elif said:
            self._cut(0)

    def _cut(self, place: int) -> None:
        stays = turns.Listed | turns.Failed | turns.Lost | turns.Goal | turns.Committed
        self.events[place:] = [event for event in self.events[place:] if isinstance(event, stays)]


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
    "goal.clear": _Wire.goal_clear,
    "forked": _Wire.goal_clear,
}
