"""A DSH session record, read into todos, questions, decisions and next steps.

In: the path of a `session.jsonl` or `session.jsonl.zstd`. Out: a `Reading`. Laws: todos are folded
over the whole file, not over a turn; a field that a damaged or missing part of the record could
have held is unknown until the record itself makes it sure again. (SPEC RD-DSH)

It cannot see: commits made in another terminal, and what was only spoken of.
"""

from collections.abc import Iterator
from pathlib import Path

from verdict_core.readers.dsh_events import Listener
from verdict_core.readers.flow_fold import fold
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import FIELDS, Record, nothing, opened, told

__all__ = ["FIELDS", "READER", "read"]

READER = "dsh"


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says; the file is only read, as the host refuses one that anything
    else was written into.

    `named`: the person named this path, so that failing to open it raises Unreadable; otherwise a
    record that is not there leaves every field unknown. (SPEC RD-DSH-1)
    """
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    listener = Listener()
    record = Record(path, listener, listener.unread)
    record.hear()
    if listener.rows == 0:
        return nothing(READER, "no_rows", "the record holds no row of a session", record.lines)
    lost = record.lost if listener.begun else [0, *record.lost]
    outcome = fold(listener.events).then("next_steps", listener.queued)
    return told(READER, record, outcome, outcome.unknown(lost), listener.session, _notes(record))


def _notes(record: "Record[Listener]") -> Iterator[tuple[str, str]]:
    listener = record.listener
    if not listener.begun:
        yield "starts_mid_session", "the record does not begin with its head: it is a slice"
    if listener.parent is not None:
        yield "subagent", f"the record of a child of {listener.parent}"
    if listener.compactions:
        yield "compactions", f"compactions in the record: {listener.compactions}"
    yield from listener.notes.items()
