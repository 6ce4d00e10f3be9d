"""What the readers of plain conversations share: one place that turns what a row says into events.

In: what the person and the assistant said and did, row by row. Out: a `Reading`. Laws: the turn
runs from any work on until the assistant's words, or until the record says that it is over; a
compaction is no event, so it settles nothing. (SPEC RD-FMT-4)
"""

from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from verdict_core.readers import claude_words as words
from verdict_core.readers import flow
from verdict_core.readers.flow_fold import fold
from verdict_core.readers.reading import NO_TEXT, Reading
from verdict_core.readers.session import Listening, Record, Unread, nothing, told
from verdict_core.readers.todo_status import item


@define
class Turns:
    """The events of a record so far. `rows` counts its rows, `at` is the one whose events come
    next; `failed` are the calls that failed, `unread` the fields that this record cannot tell."""

    rows: int = 0
    at: int = 0
    events: list[flow.Event] = field(factory=list)
    failed: set[str] = field(factory=set)
    session: str | None = None
    unread: set[str] = field(factory=set)
    notes: dict[str, str] = field(factory=dict)

    def step(self) -> None:
        """Goes to the next row."""
        self.at, self.rows = self.rows, self.rows + 1

    def said(self, text: str) -> None:
        """The person spoke: a turn begins. (SPEC RD-FMT-4)"""
        self.events += (flow.Turn(self.at, begins=True), flow.Said(self.at, text))

    def spoke(self, text: str) -> None:
        """The assistant spoke, which ends its turn unless work follows; no words are work."""
        if text.strip():
            asks = text if words.asks(text) else None
            self.events.append(flow.Answer(asks, final=True))
        else:
            self.worked()

    def worked(self) -> None:
        """A thought, a call, a result, or what asks the assistant to go on. (SPEC RD-FMT-4)"""
        if not self.events or self.events[-1] is not flow.Work.CALL:
            self.events += (flow.Turn(self.at, begins=True), flow.Work.CALL)

    def over(self) -> None:
        """The turn ended, or was interrupted."""
        self.events.append(flow.Turn(self.at, begins=False))

    def listed(self, todos: Any, call: str | None = None) -> None:
        """A whole todo list, and the call that wrote it, if it can fail yet."""
        self.events.append(flow.Listed(self.at, todos, call))

    def asked(self, questions: Iterable[str]) -> None:
        """Questions that a tool put to the person."""
        self.events.append(flow.Asked(self.at, tuple(questions)))

    def answered(self, answers: Mapping[str, str]) -> None:
        """Answers by question; a blank one is none. (SPEC RD-FMT-4)"""
        given = {item(question): item(answer) for question, answer in answers.items()}
        found = {question: answer for question, answer in given.items() if answer != NO_TEXT}
        self.events.append(flow.Answered(self.at, found))

    def decided(self, plan: str) -> None:
        """The person approved a plan."""
        self.events.append(flow.Decided(self.at, item(plan)))

    def ran(self, command: Any, output: str, *, over: bool) -> None:
        """A shell command gave this output; `over`: it came to its end without an error. It is a
        commit if it made one, in a repository that it did not make itself. (SPEC RD-FMT-4)"""
        if (
            isinstance(command, str)
            and words.commits(command)
            and not words.makes_repository(command)
            and words.committed(output, over=over)
        ):
            self.events.append(flow.Committed(self.at))


def plain(path: Path, log: Listening) -> "Record[Listening]":
    """A record of which every line is read."""
    return Record(path, log, _every_line)


def _every_line(chunk: bytes) -> Iterator[Unread]:
    for line in BytesIO(chunk):
        yield 0, 0, line


def finish(reader: str, record: "Record[Any]") -> Reading:
    """The reading of a record whose listener is a `Turns`. Without any event nothing is known.
    (SPEC RD-FMT-3)"""
    log: Turns = record.listener
    if not log.events:
        text = "the record holds no row of a conversation"
        return evolve(nothing(reader, "no_rows", text, record.lines), session=log.session)
    outcome = fold(log.events, log.failed)
    unknown = outcome.unknown(record.lost) | log.unread
    return told(reader, record, outcome, unknown, log.session, log.notes.items())


def questions_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The questions of `{"questions": [{"question"}]}`; what has none is one without text."""
    questions = given.get("questions")
    if not isinstance(questions, list) or not questions:
        return (NO_TEXT,)
    return tuple(item(q.get("question") if isinstance(q, dict) else q) for q in questions)


def joined(answer: Any) -> str:
    """One answer as text: of several choices, all."""
    if isinstance(answer, list):
        return ", ".join(str(one) for one in answer)
    return answer if isinstance(answer, str) else ""


def objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a list; of anything else none."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            yield one
