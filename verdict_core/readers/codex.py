"""A Codex session record, read into todos, questions, decisions and next steps.

In: the path of a `rollout-*.jsonl`, also compressed. Out: a `Reading`. Laws: a field that a damaged
or missing part of the record could have held is unknown until the record itself makes it sure
again; nothing that a sub-agent's record copied from its parent speaks for it. (SPEC RD-CX)

It cannot see: commits made in another terminal, what was only spoken of, input that waits in the
terminal's queue, which the host keeps to itself.
"""

from collections.abc import Iterator
from pathlib import Path

from verdict_core.readers.codex_events import Listener
from verdict_core.readers.codex_skim import Skimmer
from verdict_core.readers.flow_fold import fold
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import FIELDS, Record, nothing, opened, told

__all__ = ["FIELDS", "READER", "read"]

READER = "codex"


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says.

    `named`: the person named this path, so that failing to open it raises Unreadable; otherwise a
    record that is not there leaves every field unknown. (SPEC RD-CX-1)
    """
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    listener = Listener()
    record = Record(path, listener, Skimmer(listener).unread)
    record.hear()
    if listener.rows == 0:
        return nothing(READER, "no_rows", "the record holds no row of a session", record.lines)
    if listener.in_parent:
        text = "a sub-agent's record that does not say where its own rows begin"
        return nothing(READER, "only_inherited", text, record.lines)
    lost = [n for n in record.lost if n >= listener.own]
    if listener.based or not listener.begun:
        lost.append(0)
    outcome = fold(listener.events, listener.failed)
    return told(READER, record, outcome, outcome.unknown(lost), listener.session, _notes(listener))


def _notes(listener: Listener) -> Iterator[tuple[str, str]]:
    if listener.based:
        yield "history_elsewhere", "a fork: what was before it stands in another record"
    elif not listener.begun:
        yield "starts_mid_session", "the record does not begin with its head: it is a slice"
    if listener.subagent:
        yield "subagent", f"a sub-agent's record; rows of its parent: {listener.inherited}"
    if listener.compactions:
        yield "compactions", f"compactions in the record: {listener.compactions}"
    yield from listener.notes.items()
