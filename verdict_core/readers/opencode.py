"""An opencode session, read into todos, questions, decisions and next steps.

In: the path of an `opencode.db`, or of an older `storage` directory. Out: a `Reading` of one
session in it. Laws: nothing is written, not even beside the database; where it is not clear which
session is meant every field is unknown, and the newest one's items stand. (SPEC RD-OC)
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import define

from verdict_core.readers import turns
from verdict_core.readers.jsonlines import Object
from verdict_core.readers.opencode_store import Session, Store, open_store
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import FIELDS, Record, mapping, nothing, opened, text_of
from verdict_core.readers.turns import Turns

READER = "opencode"
_TODO_TOOL = "todowrite"
_QUESTION_TOOL = "question"
_SHELL = "bash"
_GOES_ON = ("tool-calls", "unknown")


def read(path: Path, *, named: bool = False) -> Reading:
    """What the session of the working directory, else the newest one, says. (SPEC RD-OC-1)"""
    return opened(READER, path, named, _parse)


def _parse(path: Path) -> Reading:
    with open_store(path) as store:
        if store is None:
            text = "no opencode database and no storage directory; a part alone says nothing"
            return nothing(READER, "no_store", text)
        chosen, sure = _choose(store.sessions(), str(Path.cwd()))
        if chosen is None:
            return nothing(READER, "no_rows", "no session is stored here")
        log = _Log(session=chosen.id)
        record = turns.plain(path, log)
        log.notes["session"] = f"session {chosen.id} of {chosen.directory or 'no directory'}"
        _hear(record, store, chosen.id)
    if not sure:
        log.unread.update(FIELDS)
        text = "several sessions are stored, and none is of this directory"
        log.notes["session_unclear"] = text
    return turns.finish(READER, record)


def _choose(sessions: Iterable[Session], directory: str) -> tuple[Session | None, bool]:
    """The newest session of the directory, else the newest; and whether that is surely the one. A
    child's session is never it. (SPEC RD-OC-2)"""
    roots = sorted((s for s in sessions if not s.parent), key=lambda s: (s.updated, s.id))
    here = [session for session in roots if session.directory == directory]
    if here:
        return here[-1], True
    return (roots[-1], len(roots) == 1) if roots else (None, False)


def _hear(record: "Record[_Log]", store: Store, session: str) -> None:
    log = record.listener
    for message in store.messages(session):
        if message is None or None in message.parts:
            record.lost.append(log.rows)
        if message is not None:
            log.hear({"info": message.data, "parts": message.parts})
    table = store.todos(session)
    # An empty table beside a list that was written is one that the host has not filled.
    if table:
        log.listed(table)
    if store.damaged:
        text = f"damaged rows: {len(store.damaged)}; {', '.join(store.damaged[:20])}"
        log.notes["damaged_lines"] = text


@define
class _Log(Turns):
    def hear(self, row: Object) -> None:
        """Takes one message with its parts."""
        self.step()
        message, parts = row["info"], [part for part in row["parts"] if part is not None]
        if message.get("role") == "user":
            self._person(parts)
        elif message.get("summary") is not True:
            for part in parts:
                self._part(part)
            self._end(message)

    def _person(self, parts: list[Mapping[str, Any]]) -> None:
        """What the person typed; the host adds parts, and messages that only compact."""
        compacts = [part for part in parts if part.get("type") == "compaction"]
        added = [part for part in parts if part.get("synthetic") is True]
        typed = [part for part in parts if part not in compacts and part not in added]
        if typed:
            self.said("\n".join(text_of(part) for part in typed))
        elif added or any(part.get("auto") is True for part in compacts):
            self.worked()

    def _part(self, part: Mapping[str, Any]) -> None:
        if part.get("type") == "text":
            self.spoke(text_of(part))
        elif part.get("type") == "tool":
            self._call(str(part.get("tool")), mapping(part.get("state")))
        elif part.get("type") == "reasoning":
            self.worked()

    def _end(self, message: Mapping[str, Any]) -> None:
        """Where the message leaves the turn: the host goes on after one that ended in calls."""
        if mapping(message.get("error")).get("name") == "MessageAbortedError":
            self.over()
        elif "completed" not in mapping(message.get("time")) or message.get("finish") in _GOES_ON:
            self.worked()

    def _call(self, name: str, state: Mapping[str, Any]) -> None:
        """One call with its result, which stand in one part."""
        given, done = mapping(state.get("input")), state.get("status") == "completed"
        self.worked()
        if name == _TODO_TOOL and state.get("status") != "error":
            self.listed(given.get("todos"))
        elif name == _QUESTION_TOOL:
            questions = turns.questions_of(given)
            self.asked(questions)
            answers = mapping(state.get("metadata")).get("answers")
            if done and isinstance(answers, list):
                pairs = zip(questions, map(turns.joined, answers), strict=False)
                self.answered(dict(pairs))
        elif name == _SHELL and done:
            over = mapping(state.get("metadata")).get("exit") in (None, 0)
            self.ran(given.get("command"), str(state.get("output")), over=over)
