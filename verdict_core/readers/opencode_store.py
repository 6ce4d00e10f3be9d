"""Where opencode keeps its sessions: a SQLite database, before that a tree of JSON files.

In: a path. Out: sessions, messages with their parts, todos, in the host's own order; None stands
for what cannot be read. Law: the store is only read, and is left as it was. (SPEC RD-OC-3)
"""

import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import jiter
from attrs import define, field, frozen

from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.session import mapping

MAGIC = b"SQLite format 3\0"


@frozen
class Session:
    """`parent` is set for a sub-agent's session; `updated` grows with time."""

    id: str
    parent: str | None
    directory: str | None
    updated: float


@frozen
class Message:
    """A message and its parts, in order; None stands for a part that cannot be read."""

    data: Mapping[str, Any]
    parts: tuple[Mapping[str, Any] | None, ...]


class Store(Protocol):
    """`damaged` names what could not be read."""

    damaged: list[str]

    def sessions(self) -> Iterator[Session]:
        """All sessions, children too."""

    def messages(self, session: str) -> Iterator[Message | None]:
        """The messages of one session."""

    def todos(self, session: str) -> Any:
        """Its todo list as it is stored now; None where none is stored."""


@contextmanager
def open_store(path: Path) -> Iterator[Store | None]:
    """The store at `path`, or None where there is none. Raises OSError. (SPEC RD-OC-3)"""
    if path.is_dir():
        database = path / "opencode.db"
        if not database.is_file():
            root = path / "storage" if (path / "storage").is_dir() else path
            yield Tree(root) if (root / "message").is_dir() else None
            return
        path = database
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            yield None
            return
    try:
        with _connected(path) as connection:
            database_ = Database(connection)
            yield database_ if {"message", "part"} <= database_.tables else None
    except sqlite3.Error as error:
        raise OSError(f"not a database that can be read: {error}") from None


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that leaves no trace. What a running host wrote last stands in the log beside
    the database, which an immutable connection does not read."""
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    if not log.exists() or log.stat().st_size == 0:
        with closing(_connect(path, "immutable=1")) as connection:
            yield connection
    elif index.exists():
        with closing(_connect(path, "mode=ro")) as connection:
            yield connection
    else:
        # Reading here would make the index, and nobody is there to take it away again.
        with TemporaryDirectory() as scratch:
            for file in (path, log):
                shutil.copyfile(file, Path(scratch, file.name))
            with closing(_connect(Path(scratch, path.name), "mode=ro")) as connection:
                yield connection


def _connect(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=5)
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


@define
class Database:
    """The database. Columns that a version lacks are None."""

    _connection: sqlite3.Connection
    damaged: list[str] = field(factory=list)

    @property
    def tables(self) -> set[str]:
        found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in found}

    def sessions(self) -> Iterator[Session]:
        if "session" not in self.tables:
            query = "SELECT session_id, max(time_updated) FROM message GROUP BY session_id"
            for name, updated in self._connection.execute(query):
                yield Session(str(name), None, None, _time(updated))
            return
        cursor = self._connection.execute("SELECT * FROM session")
        names = [column[0] for column in cursor.description]
        for values in cursor:
            row = dict(zip(names, values, strict=True))
            name, parent = str(row.get("id")), row.get("parent_id")
            yield Session(name, parent, row.get("directory"), _time(row.get("time_updated")))

    def messages(self, session: str) -> Iterator[Message | None]:
        parts: dict[str, list[Object | None]] = defaultdict(list)
        query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
        for name, message, data in self._connection.execute(query, (session,)):
            parts[message].append(self._read(name, data))
        query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
        for name, data in self._connection.execute(query, (session,)):
            value = self._read(name, data)
            yield None if value is None else Message(value, tuple(parts[name]))

    def todos(self, session: str) -> Any:
        if "todo" not in self.tables:
            return None
        query = "SELECT content, status FROM todo WHERE session_id = ? ORDER BY position"
        rows = self._connection.execute(query, (session,))
        return [{"content": content, "status": status} for content, status in rows]

    def _read(self, name: Any, data: Any) -> Object | None:
        value = _object(data.encode() if isinstance(data, str) else data)
        if value is None:
            self.damaged.append(str(name))
        return value


@define
class Tree:
    """The older tree: `session/*/ID.json`, `message/SESSION/ID.json`, `part/MESSAGE/ID.json`,
    `todo/SESSION.json`."""

    _root: Path
    damaged: list[str] = field(factory=list)

    def sessions(self) -> Iterator[Session]:
        for file in sorted(self._root.glob("session/*/*.json")):
            row = mapping(self._read(file))
            updated = _time(mapping(row.get("time")).get("updated"))
            yield Session(file.stem, row.get("parentID"), row.get("directory"), updated)

    def messages(self, session: str) -> Iterator[Message | None]:
        for file in sorted((self._root / "message" / session).glob("*.json")):
            value = self._read(file)
            parts = sorted((self._root / "part" / file.stem).glob("*.json"))
            read = tuple(self._read(part) for part in parts)
            yield None if value is None else Message(value, read)

    def todos(self, session: str) -> Any:
        try:
            data = (self._root / "todo" / f"{session}.json").read_bytes()
        except OSError:
            return None
        try:
            return jiter.from_json(data)
        except ValueError:
            return data.decode(errors="replace")

    def _read(self, file: Path) -> Object | None:
        value = _object(file.read_bytes())
        if value is None:
            self.damaged.append(file.name)
        return value


def _time(value: Any) -> float:
    return value if isinstance(value, int | float) else 0


def _object(data: Any) -> Object | None:
    found = Lines().read(data) if isinstance(data, bytes) else []
    return found[0] if len(found) == 1 else None
