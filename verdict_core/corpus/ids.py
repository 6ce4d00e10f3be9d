"""Whether an id stands twice in a corpus of any size.

In: the ids, in order. Out: the first that repeats, with both its places. Law: they are sorted on
disk and never held, so a hundred million need no more memory than a million. (SPEC CP-LINE-6)
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager


class Ids:
    """The ids of a corpus. A place is the number of ids before it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("CREATE TABLE ids (place INTEGER PRIMARY KEY, id BLOB)")

    def add(self, ids: Iterable[str]) -> None:
        """The next ids, in order."""
        # As bytes: an id may hold a NUL, at which a text would end.
        rows = ((name.encode(),) for name in ids)
        self._database.executemany("INSERT INTO ids (id) VALUES (?)", rows)

    def repeated(self) -> tuple[int, int] | None:
        """The places of the id that stands twice and begins first, or None."""
        found = self._database.execute(
            "SELECT id, MIN(place) FROM ids GROUP BY id HAVING COUNT(*) > 1 ORDER BY 2 LIMIT 1"
        ).fetchone()
        if found is None:
            return None
        first, second = self._database.execute(
            "SELECT place FROM ids WHERE id = ? ORDER BY place LIMIT 2", found[:1]
        )
        return first[0] - 1, second[0] - 1


@contextmanager
def ids_on_disk() -> Iterator[Ids]:
    """No ids yet, in a temporary file that goes away with the block."""
    # The empty name is SQLite's own for a private database in a file that is deleted at once.
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("BEGIN")
        yield Ids(database)
