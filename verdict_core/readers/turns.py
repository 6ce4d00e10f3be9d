"""What a conversation leaves open, for every harness whose record is one straight line of events.

In: events in the order in which they happened, made by a reader of one format. Out: a `Reading`.
Laws: only the person settles a question, only a commit a decision; a lost row makes a field unknown
until the record itself makes it sure again; a compaction is no event, so it settles nothing.
(SPEC RD-TURN)
"""

import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from verdict_core.errors import BadValue, Unreadable
from verdict_core.readers import claude_words as words
from verdict_core.readers.claude_next import RUNNING
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.reading import NO_TEXT, Note, Reading
from verdict_core.readers.todo_status import item, read_todos

FIELDS = ("todos", "questions", "decisions", "next_steps")
# How many places a note names.
_NAMED = 20


@frozen
class Said:
    """Words of the person."""

    text: str


@frozen
class Spoke:
    """Words of the assistant. They end its turn unless something follows them."""

    text: str


@frozen
class Worked:
    """A thought, a call, a result, or what asks the assistant to go on and is not the person."""


@frozen
class Ended:
    """The harness says that the turn is over."""


@frozen
class Stopped:
    """The turn was interrupted."""


@frozen
class Listed:
    """A whole todo list as it stands, and the `call` that wrote it, if one did."""

    todos: Any
    call: str = ""


@frozen
class Failed:
    """This call failed, or was not let through."""

    call: str


@frozen
class Asked:
    """Questions that a tool put to the person."""

    questions: tuple[str, ...]


@frozen
class Answered:
    """The person's answers, by question."""

    answers: Mapping[str, str]


@frozen
class Decided:
    """A plan that the person approved."""

    text: str


@frozen
class Committed:
    """A commit succeeded."""


@frozen
class Goal:
    """What the session works for; None when that is reached or given up."""

    text: str | None


@frozen
class Lost:
    """Something stood here that could not be read."""


Event = (
    Said
    | Spoke
    | Worked
    | Ended
    | Stopped
    | Listed
    | Failed
    | Asked
    | Answered
    | Decided
    | Committed
    | Goal
    | Lost
)


@define
class _Fold:
    failed: frozenset[str]
    todos: tuple[str, ...] = ()
    listed: bool = False
    questions: list[str] = field(factory=list)
    decisions: list[str] = field(factory=list)
    message: str | None = None
    goal: str | None = None
    # The assistant's last words, while nothing stands behind them.
    last: str = ""
    running: bool = False
    answered: bool = True
    lost: set[str] = field(factory=set)
    notes: dict[str, str] = field(factory=dict)

    def take(self, event: Event) -> None:
        match event:
            case Said(text):
                self._said(text)
            case Spoke(text):
                self.last, self.running, self.answered = text, not text.strip(), True
            case Worked():
                self.last, self.running = "", True
            case Ended():
                self.running, self.answered = False, True
            case Stopped():
                self.running = False
            case Listed(todos, call):
                self._listed(todos, call)
            case Asked(questions):
                self.questions += questions
            case Answered(answers):
                self._answered(answers)
            case Decided(text):
                self.decisions.append(item(text))
            case Goal(text):
                self.goal = text
            case Committed():
                self.decisions.clear()
                self.lost.discard("decisions")
            case Lost():
                self.lost.update(FIELDS)
            case Failed():
                pass

    def _said(self, text: str) -> None:
        """The person's message settles what was asked before, and begins a turn. (RD-TURN-2)"""
        self.message, self.last = item(text), ""
        self.running, self.answered = True, False
        self.questions.clear()
        self.lost -= {"questions", "next_steps"}

    def _listed(self, value: Any, call: str) -> None:
        if call in self.failed:
            return
        try:
            todos = read_todos(value)
        except BadValue as error:
            self.lost.add("todos")
            self.notes["bad_todos"] = f"a todo list cannot be read: {error.message}"
            return
        self.todos, self.listed = todos.unlanded, True
        self.lost.discard("todos")
        for code in ("string_encoded", *_DOUBTS):
            self.notes.pop(code, None)
        if todos.encoded:
            self.notes["string_encoded"] = "a todo list came as a JSON string: decoded once"
        for doubt in todos.doubts:
            code, _, name = doubt.partition(":")
            told = self.notes.get(code)
            self.notes[code] = f"{told}, {name}" if told else f"todos that count as open: {name}"

    def _answered(self, answers: Mapping[str, str]) -> None:
        given = {item(question): item(answer) for question, answer in answers.items()}
        given = {question: answer for question, answer in given.items() if answer != NO_TEXT}
        self.questions = [question for question in self.questions if question not in given]
        self.decisions += [f"{question} = {answer}" for question, answer in given.items()]

    def items(self) -> dict[str, tuple[str, ...]]:
        last = (item(self.last),) if words.asks(self.last) else ()
        return {
            "todos": self.todos,
            "questions": (*self.questions, *last),
            "decisions": tuple(self.decisions),
            "next_steps": (*self._turn(), *((item(self.goal),) if self.goal is not None else ())),
        }

    def _turn(self) -> tuple[str, ...]:
        if self.running:
            return (RUNNING + (self.message or NO_TEXT),)
        return (self.message,) if self.message is not None and not self.answered else ()


_DOUBTS = ("unknown_status", "null_status", "missing_status", "renamed_field")


def fold(
    reader: str,
    events: Iterable[Event],
    *,
    session: str | None = None,
    unread: Iterable[str] = (),
    todos_need_a_list: bool = False,
    notes: Iterable[Note] = (),
) -> Reading:
    """The reading of `events`. `unread`: fields that this format has no form for, or not all of it;
    what is known of them stands all the same. `todos_need_a_list`: without any list the todos are
    unknown. No event at all leaves every field unknown. (SPEC RD-TURN-1)"""
    events = list(events)
    if all(isinstance(event, Lost) for event in events):
        text = "the record holds no row of a conversation"
        return nothing(reader, "no_rows", text, *notes, session=session)
    state = _Fold(frozenset(event.call for event in events if isinstance(event, Failed)))
    for event in events:
        state.take(event)
    unknown = state.lost.union(unread)
    if todos_need_a_list and not state.listed:
        unknown.add("todos")
    told = (Note(reader, code, text) for code, text in state.notes.items())
    return Reading(reader, state.items(), frozenset(unknown), session, (*notes, *told))


def nothing(reader: str, code: str, text: str, *notes: Note, session: str | None = None) -> Reading:
    """A reading that knows of nothing: all four fields are unknown, and a note says why."""
    items: dict[str, tuple[str, ...]] = dict.fromkeys(FIELDS, ())
    return Reading(reader, items, frozenset(FIELDS), session, (Note(reader, code, text), *notes))


def opened(reader: str, path: Path, named: bool, parse: Callable[[Path], Reading]) -> Reading:
    """`parse(path)`; where the record is not there or cannot be read, Unreadable if the person
    `named` it, else a reading that knows of nothing. (SPEC RD-TURN-6)"""
    try:
        _look(path)
        return parse(path)
    except OSError as error:
        if named:
            raise Unreadable(f"no session record: {error}", path=str(path)) from None
        return nothing(reader, "record_missing", f"the record cannot be read: {error}")


def _look(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except ValueError as error:
        raise OSError(str(error)) from None
    # Opening a pipe waits for somebody to write into it.
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError("neither a file nor a directory")


def rows(stream: Iterable[bytes], lines: Lines) -> Iterator[Object | None]:
    """The objects of a JSON Lines record, and None where something is damaged. (SPEC RD-TURN-3)"""
    for line in stream:
        damaged = len(lines.damaged)
        yield from lines.read(line)
        if len(lines.damaged) > damaged:
            yield None


def line_notes(reader: str, lines: Lines) -> Iterator[Note]:
    """What a person may want to know about the lines of a record."""
    if lines.damaged:
        places = ", ".join(f"{d.line} (byte {d.offset})" for d in lines.damaged[:_NAMED])
        text = f"damaged lines: {len(lines.damaged)}; at {places}"
        yield Note(reader, "damaged_lines", text)
    if lines.joined:
        numbers = _list(lines.joined)
        yield Note(reader, "joined_lines", f"lines with several rows, all read: {numbers}")
    if lines.mended:
        numbers = _list(lines.mended)
        yield Note(reader, "mended_text", f"lone surrogates replaced in lines: {numbers}")


def commit_of(command: Any, output: str, *, over: bool) -> tuple[Event, ...]:
    """The event of a shell command that ran, if it committed into a repository that it did not make
    itself. `over`: it came to its end without an error. (SPEC RD-TURN-4)"""
    if not isinstance(command, str) or not words.commits(command):
        return ()
    if words.makes_repository(command) or not words.committed(output, over=over):
        return ()
    return (Committed(),)


def questions_of(given: Any) -> tuple[str, ...]:
    """The questions of `{"questions": [{"question"}]}`; what has none is one without text."""
    questions = mapping(given).get("questions")
    if not isinstance(questions, list) or not questions:
        return (NO_TEXT,)
    return tuple(item(q.get("question") if isinstance(q, dict) else q) for q in questions)


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a list; of anything else none."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            yield one


def text_of(content: Any) -> str:
    """The words of a message's content: a string, or the texts of its parts, a line each."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = (part if isinstance(part, str) else mapping(part).get("text") for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def json_of(text: Any) -> Any:
    """The value that a JSON string holds; None where it holds none. An object stays as it is."""
    if not isinstance(text, str):
        return text
    found = Lines().read(text.encode(errors="replace"))
    return found[0] if len(found) == 1 else None


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:_NAMED]))
