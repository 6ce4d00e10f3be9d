"""A Codex session record, read into todos, questions, decisions and next steps.

In: the path of a `rollout-*.jsonl`, also compressed. Out: a `Reading`. Laws: a field that a damaged
or missing part of the record could have held is unknown until the record itself makes it sure
again; nothing that a sub-agent's record copied from its parent speaks for it. (SPEC RD-CX)

It cannot see: commits made in another terminal, what was only spoken of, input that waits in the
terminal's queue, which the host keeps to itself.
"""

from collections.abc import Iterator
from pathlib import Path

from attrs import define, field

from verdict_core.readers.codex_events import Listener
from verdict_core.readers.flow_fold import fold
from verdict_core.readers.jsonlines import Lines
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import FIELDS, line_notes, nothing, told, unreadable
from verdict_core.readers.streams import NoZstd, Source

__all__ = ["FIELDS", "READER", "read"]

READER = "codex"


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says.

    `named`: the person named this path, so that failing to open it raises Unreadable; otherwise a
    record that is not there leaves every field unknown. (SPEC RD-CX-1)
    """
    record = _Record(Source(path))
    try:
        record.hear()
    except NoZstd as error:
        return nothing(READER, "zstd_missing", str(error))
    except (OSError, ValueError) as error:
        return unreadable(READER, path, error, named=named)
    return record.said()


@define
class _Record:
    """`lost` has, for each damaged line, the number of rows before it."""

    source: Source
    lines: Lines = field(factory=Lines)
    listener: Listener = field(factory=Listener)
    lost: list[int] = field(factory=list)

    def hear(self) -> None:
        for line in self.source.lines():
            damaged = len(self.lines.damaged)
            for row in self.lines.read(line):
                self.listener.hear(row)
            if len(self.lines.damaged) > damaged:
                self.lost.append(self.listener.rows)
        if self.source.torn:
            self.lost.append(self.listener.rows)

    def said(self) -> Reading:
        listener = self.listener
        notes = tuple(line_notes(READER, self.lines))
        if listener.rows == 0:
            return nothing(READER, "no_rows", "the record holds no row of a session", *notes)
        if listener.in_parent:
            text = "the record of a sub-agent that does not say where its own rows begin"
            return nothing(READER, "only_inherited", text, *notes)
        outcome = fold(listener.events, listener.failed)
        lost = [n for n in self.lost if n >= listener.own]
        if listener.based or not listener.begun:
            lost.append(0)
        return told(
            READER,
            outcome,
            outcome.unknown(lost),
            listener.session,
            self.lines,
            self._notes(),
        )

    def _notes(self) -> Iterator[tuple[str, str]]:
        listener = self.listener
        if self.source.torn:
            yield "torn_frame", "the last compressed frame is not whole"
        if listener.based:
            yield "history_elsewhere", "a fork: what was before it stands in another record"
        elif not listener.begun:
            yield "starts_mid_session", "the record does not begin with its head: it is a slice"
        if listener.subagent:
            yield "subagent", f"a sub-agent's record; rows of its parent: {listener.inherited}"
        if listener.compactions:
            yield "compactions", f"compactions in the record: {listener.compactions}"
        yield from listener.notes.items()
