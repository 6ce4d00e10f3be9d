"""An opencode session, read into todos, questions, decisions and next steps.

In: the path of an `opencode.db`, or of an older `storage` directory. Out: a `Reading` of one
session in it. Laws: nothing is written, not even beside the database; where it is not clear which
session is meant every field is unknown, and the newest one's items stand. (SPEC RD-OC)
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verdict_core.readers import turns
from verdict_core.readers.opencode_store import Session, Store, open_store
from verdict_core.readers.reading import Note, Reading
from verdict_core.readers.turns import Event, mapping, text_of

READER = "opencode"
_TODO_TOOL = "todowrite"
_QUESTION_TOOL = "question"
_SHELL = "bash"


def read(path: Path, *, named: bool = False) -> Reading:
    """What the session of the working directory, else the newest one, says. (SPEC RD-OC-1)"""
    return turns.opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    with open_store(path) as store:
        if store is None:
            text = "no opencode database and no storage directory; a part alone says nothing"
            return turns.nothing(READER, "no_store", text)
        chosen, sure = _choose(store.sessions(), str(Path.cwd()))
        if chosen is None:
            return turns.nothing(READER, "no_rows", "no session is stored here")
        events = list(_events(store, chosen.id))
        told = Note(READER, "session", f"session {chosen.id} of {chosen.directory or 'nowhere'}")
        notes = [told, *_notes(store)]
        if not sure:
            text = "several sessions are stored, and none is of this directory"
            notes.append(Note(READER, "session_unclear", text))
        unread = () if sure else turns.FIELDS
        return turns.fold(READER, events, session=chosen.id, unread=unread, notes=notes)


def _notes(store: Store) -> Iterator[Note]:
    if store.damaged:
        text = f"damaged rows: {len(store.damaged)}; {', '.join(store.damaged[:20])}"
        yield Note(READER, "damaged_lines", text)


def _choose(sessions: Iterable[Session], directory: str) -> tuple[Session | None, bool]:
    """The newest session of the directory, else the newest; and whether that is surely the one. A
    child's session is never it. (SPEC RD-OC-2)"""
    roots = sorted((s for s in sessions if not s.parent), key=lambda s: (s.updated, s.id))
    here = [session for session in roots if session.directory == directory]
    if here:
        return here[-1], True
    return (roots[-1], len(roots) == 1) if roots else (None, False)


def _events(store: Store, session: str) -> Iterator[Event]:
    for message in store.messages(session):
        if message is None:
            yield turns.Lost()
        elif message.data.get("role") == "user":
            yield from _person(message.parts)
        elif message.data.get("summary") is not True:
            yield from _assistant(message.data, message.parts)
    table = store.todos(session)
    # An empty table beside a list that was written is one that the host has not filled.
    if table:
        yield turns.Listed(table)


def _person(parts: Iterable[Mapping[str, Any] | None]) -> Iterator[Event]:
    """What the person typed; the host adds parts of its own, and messages for a compaction."""
    typed: list[str] = []
    goes_on = False
    for part in parts:
        if part is None:
            yield turns.Lost()
        elif part.get("type") == "compaction":
            goes_on = part.get("auto") is True
        elif part.get("synthetic") is True:
            goes_on = True
        else:
            typed.append(text_of(part))
    if typed:
        yield turns.Said("\n".join(typed))
    elif goes_on:
        yield turns.Worked()


def _assistant(
    message: Mapping[str, Any], parts: Iterable[Mapping[str, Any] | None]
) -> Iterator[Event]:
    for part in parts:
        if part is None:
            yield turns.Lost()
        elif part.get("type") == "text":
            yield turns.Spoke(text_of(part))
        elif part.get("type") == "tool":
            yield from _call(part)
        elif part.get("type") == "reasoning":
            yield turns.Worked()
    error = mapping(message.get("error"))
    if error.get("name") == "MessageAbortedError":
        yield turns.Stopped()
    elif "completed" not in mapping(message.get("time")):
        yield turns.Worked()


def _call(part: Mapping[str, Any]) -> Iterator[Event]:
    """One call with its result, which stand in one part."""
    name, state = part.get("tool"), mapping(part.get("state"))
    given, done = mapping(state.get("input")), state.get("status") == "completed"
    yield turns.Worked()
    if name == _TODO_TOOL and state.get("status") != "error":
        yield turns.Listed(given.get("todos"))
    elif name == _QUESTION_TOOL:
        questions = turns.questions_of(given)
        yield turns.Asked(questions)
        if done:
            answers = mapping(state.get("metadata")).get("answers")
            pairs = zip(questions, answers if isinstance(answers, list) else (), strict=False)
            yield turns.Answered({question: _answer(answer) for question, answer in pairs})
    elif name == _SHELL and done:
        over = mapping(state.get("metadata")).get("exit") in (None, 0)
        yield from turns.commit_of(given.get("command"), str(state.get("output")), over=over)


def _answer(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else ""
