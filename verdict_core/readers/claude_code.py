"""A Claude Code session record, read into todos, questions, decisions and next steps.

In: the path of a `<session>.jsonl`. Out: a `Reading`. Laws: a field that a damaged or missing part
of the record could have held is unknown until the record itself makes it sure again; a record that
cannot be read leaves all four unknown, never empty. (SPEC RD-CC)

It cannot see: commits made in another terminal, what was only spoken of, work in files that the
session did not touch, and the task files that the host keeps beside its records.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import define, field

from verdict_core.readers.claude_events import Listener, Queued, Result, Words
from verdict_core.readers.claude_find import find_newest
from verdict_core.readers.claude_next import queue_left, running_turn
from verdict_core.readers.claude_rows import Branch, Role
from verdict_core.readers.claude_skim import Skimmer
from verdict_core.readers.claude_talk import Talk, blocked_rows, read_talk
from verdict_core.readers.claude_todos import Todos, fold_todos
from verdict_core.readers.jsonlines import Lines
from verdict_core.readers.reading import Note, Reading
from verdict_core.readers.session import FIELDS, line_notes, nothing, opened

__all__ = ["FIELDS", "READER", "find_newest", "read"]

READER = "claude-code"
_CHUNK = 1 << 20
# Up to this length a line is parsed as fast as it is skimmed, and damage in it is seen.
_SHORT = 512
_COUNTED = {
    "compactions": "compactions in the record",
    "synthetic_answer": "answers that the host gave instead of the assistant",
}


def read(path: Path, *, named: bool = False) -> Reading:
    """What the record at `path` says.

    `named`: the person named this path, so that failing to open it raises Unreadable; otherwise a
    record that is not there (a forked session has none) leaves every field unknown.
    (SPEC RD-CC-1)
    """
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    with path.open("rb", buffering=_CHUNK) as stream:
        record = _heard(stream)
    if record.listener.rows.leaf < 0:
        text = "the record holds no row of a conversation"
        return nothing(READER, "no_rows", text, record.lines)
    return _said(record)


@define
class _Record:
    """`lost` has, for each damaged line, the number of rows before it."""

    lines: Lines = field(factory=Lines)
    listener: Listener = field(factory=Listener)
    lost: list[int] = field(factory=list)


def _heard(stream: Iterable[bytes]) -> _Record:
    record = _Record()
    lines, listener = record.lines, record.listener
    skimmer = Skimmer(listener)
    for line in stream:
        if len(line) > _SHORT and skimmer.skim(line):
            lines.skip(1, len(line))
            continue
        damaged = len(lines.damaged)
        for row in lines.read(line):
            listener.hear(row)
        if len(lines.damaged) > damaged:
            record.lost.append(len(listener.rows))
    skimmer.finish()
    return record


def _said(record: _Record) -> Reading:
    listener = record.listener
    branch = listener.rows.branch()
    live = [e for e in listener.events if not isinstance(e, Queued) and branch.alive[e.row]]
    roles = bytearray(branch.roles)
    blocked = blocked_rows(live, roles)
    for row in blocked:
        roles[row] = Role.NOTHING
    live = [e for e in live if not (isinstance(e, Words) and e.row in blocked)]
    results = {event.call: event for event in live if isinstance(event, Result)}
    todos = fold_todos(live, results)
    talk = read_talk(live, results, roles)
    return Reading(
        READER,
        items={
            "todos": todos.items,
            "questions": talk.questions,
            "decisions": talk.decisions,
            "next_steps": (*running_turn(roles, talk), *queue_left(listener.events)),
        },
        unknown=_unknown(record, branch, todos, talk),
        session=listener.session,
        notes=tuple(_notes(record, branch, todos, talk)),
    )


def _unknown(record: _Record, branch: Branch, todos: Todos, talk: Talk) -> frozenset[str]:
    """A lost row could have held anything; what makes each field sure again is its own.
    (SPEC RD-CC-2)"""
    lost = [0, *record.lost] if branch.sliced else record.lost
    start = -1 if branch.sliced else branch.root
    sure = {
        "todos": todos.sure_from,
        # The person's message settles what was asked before, and begins a turn for which
        # everything that was queued before has been taken.
        "questions": talk.spoke,
        "next_steps": talk.spoke,
        "decisions": talk.committed,
    }
    unknown = {name for name, row in sure.items() if any(n > max(row, start) for n in lost)}
    if any(row > todos.sure_from for row in todos.doubtful):
        unknown.add("todos")
    return frozenset(unknown)


def _branch_notes(listener: Listener, branch: Branch) -> Iterator[tuple[str, str]]:
    if branch.sliced:
        yield "starts_mid_session", "the first row's parent is missing: the record is a slice"
    if branch.joined:
        yield "parent_missing", f"rows joined to the row before them: {branch.joined}"
    if branch.restarted:
        yield "conversation_restarted", f"nothing before row {branch.root + 1} counts"
    if branch.left_out:
        yield "rows_off_branch", f"rows off the live branch: {branch.left_out}"
    if listener.rows.sidechain:
        yield "sidechain_rows", f"rows of sub-agents left out: {listener.rows.sidechain}"
    for code, count in sorted(listener.counts.items()):
        yield code, f"{_COUNTED[code]}: {count}"


def _notes(record: _Record, branch: Branch, todos: Todos, talk: Talk) -> Iterator[Note]:
    yield from line_notes(READER, record.lines)
    notes = list(_branch_notes(record.listener, branch))
    for doubt in todos.doubts:
        code, _, name = doubt.partition(":")
        notes.append((code, f"todo {name} counts as open"))
    notes += [*todos.notes.items(), *talk.notes.items()]
    if record.listener.timestamp is not None:
        notes.append(("last_timestamp", record.listener.timestamp))
    yield from (Note(READER, code, text) for code, text in notes)
