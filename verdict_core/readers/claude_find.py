"""Where Claude Code keeps the records of a directory.

In: a directory. Out: the path of its newest session record, or None. Law: different directories can
share a folder of records, so a record that names another directory is not believed.
(SPEC RD-CC-13)
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from verdict_core.readers.jsonlines import Lines

# The host cuts a longer name here, and appends a dash and a hash that differs between its builds.
_LONGEST = 200
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]")


def slug(directory: str) -> str:
    """The name of the folder for `directory`, uncut. (SPEC RD-CC-13)"""
    # The host counts UTF-16 units, so a character beyond the basic plane gives two dashes.
    return _NOT_PLAIN.sub(lambda m: "-" if ord(m[0]) < 0x10000 else "--", directory)


def find_newest(directory: Path, *, config: Path | None = None) -> Path | None:
    """The record of `directory` that was written last (by mtime, then by name). `config` is the
    host's directory: $CLAUDE_CONFIG_DIR, else ~/.claude. (SPEC RD-CC-13)"""
    if config is None:
        config = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    names = _names(directory)
    found = sorted(_records(config / "projects", names), reverse=True)
    return next((Path(path) for _, _, path in found if _is_of(path, names)), None)


def _names(directory: Path) -> frozenset[str]:
    """How the host may spell the directory: as it is given, and with its links resolved."""
    spellings = (os.path.abspath(directory), os.path.realpath(directory))
    return frozenset(unicodedata.normalize("NFC", spelling) for spelling in spellings)


def _records(projects: Path, names: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """The records in the folders that can be the directory's: mtime, name, path."""
    slugs = {slug(name) for name in names}
    cut = tuple(name[:_LONGEST] + "-" for name in slugs if len(name) > _LONGEST)
    for folder in _entries(projects):
        if folder.name in slugs or folder.name.startswith(cut):
            for record in _entries(folder):
                if record.name.endswith(".jsonl") and not record.name.startswith("agent-"):
                    yield from _stamped(record)


def _stamped(record: "os.DirEntry[str]") -> Iterator[tuple[int, str, str]]:
    try:
        status = record.stat()
    except OSError:
        return
    if stat.S_ISREG(status.st_mode):
        yield status.st_mtime_ns, record.name, record.path


def _entries(folder: "Path | os.DirEntry[str]") -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_of(path: str, names: frozenset[str]) -> bool:
    """Whether the record's first `cwd` is the directory, or it has none."""
    try:
        with open(path, "rb") as stream:
            for row in Lines().objects(stream):
                cwd = row.get("cwd")
                if isinstance(cwd, str):
                    return unicodedata.normalize("NFC", cwd) in names
    except OSError:
        return False
    return True
