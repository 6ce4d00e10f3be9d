"""Next steps of a Claude Code record: the turn that is still running, and the typed queue.

In: the roles of live rows, the person's last message, all events in file order. Out: the items.
Laws: the last message and the running turn are one item; a notification is never typed input; an
operation on the queue takes what the record shows that it took. (SPEC RD-CC)
"""

from collections.abc import Iterable, Sequence

from attrs import define, field

from verdict_core.readers.claude_events import Event, Queued, Words
from verdict_core.readers.claude_rows import Role, last_row
from verdict_core.readers.claude_talk import ANSWERS, Talk
from verdict_core.readers.claude_words import NOTIFICATIONS
from verdict_core.readers.reading import NO_TEXT
from verdict_core.readers.todo_status import item

RUNNING = "(running) "

_WORKING = frozenset({Role.CALL, Role.RESULT, Role.THOUGHT, Role.MESSAGE, Role.NUDGE})
_STANDS = _WORKING | {Role.TEXT, Role.STOP}


def running_turn(roles: Sequence[int], talk: Talk) -> tuple[str, ...]:
    """The turn that the last live row leaves unfinished: the person's last message, marked with
    RUNNING; without the mark when it was interrupted before any answer. (SPEC RD-CC-11)"""
    last = last_row(roles, _STANDS)
    if last >= 0 and roles[last] in _WORKING:
        return (RUNNING + (talk.message or NO_TEXT),)
    if talk.message is not None and talk.spoke > last_row(roles, ANSWERS):
        return (talk.message,)
    return ()


@define
class _Queue:
    # What waits, by its number in the order of queueing.
    waiting: dict[int, str] = field(factory=dict)
    count: int = 0
    # For each operation that did not say what it took: how much had been queued by then.
    blind: list[int] = field(factory=list)
    # How many deliveries were shown before their operation.
    shown: int = 0

    def take(self, event: Event) -> None:
        if isinstance(event, Queued):
            self._operate(event.operation, event.content)
        elif isinstance(event, Words):
            self._show(event)

    def _operate(self, operation: str, content: str | None) -> None:
        if operation == "enqueue":
            self.waiting[self.count] = content or ""
            self.count += 1
        elif operation == "popAll":
            self.settle()
            self.waiting = {n: text for n, text in self.waiting.items() if _is_notification(text)}
        elif content is not None:
            self._remove(content)
        elif self.shown:
            self.shown -= 1
        elif len(self.blind) < len(self.waiting):
            self.blind.append(self.count)

    def _show(self, delivered: Words) -> None:
        """Words that wait were delivered: an operation took them, before or after this row."""
        if (self.blind or delivered.queued) and self._remove(delivered.text):
            if self.blind:
                self.blind.pop(0)
            else:
                self.shown += 1

    def settle(self) -> None:
        """Operations that no row explained took typed input first, oldest first."""
        for queued in self.blind:
            there = [n for n in self.waiting if n < queued]
            if there:
                del self.waiting[min(there, key=lambda n: _is_notification(self.waiting[n]))]
        self.blind.clear()

    def _remove(self, text: str) -> bool:
        number = next((n for n, waiting in self.waiting.items() if waiting == text), None)
        if number is None:
            return False
        del self.waiting[number]
        return True


def queue_left(events: Iterable[Event]) -> tuple[str, ...]:
    """Typed input that still waits. (SPEC RD-CC-10)"""
    queue = _Queue()
    for event in events:
        queue.take(event)
    queue.settle()
    return tuple(item(text) for text in queue.waiting.values() if not _is_notification(text))


def _is_notification(text: str) -> bool:
    return text.startswith(NOTIFICATIONS)
