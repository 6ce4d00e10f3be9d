"""Which harness wrote a record, told from what is in it, and its reader.

In: the path of a record, and perhaps the format's name. Out: a `Reading`. Laws: the file's own name
decides nothing; the first row that a format claims decides; what no format claims leaves every
field unknown, never empty. (SPEC RD-FMT)
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import jiter

from verdict_core.errors import Usage
from verdict_core.readers.jsonlines import Lines, Object
from verdict_core.readers.reading import Reading
from verdict_core.readers.session import mapping, nothing, opened
from verdict_core.readers.streams import Source

READER = "record"
# The module of each format's reader, imported when it is used.
_MODULES = {
    "claude-code": "claude_code",
    "codex": "codex",
    "dsh": "dsh",
    "gemini-cli": "gemini_cli",
    "kimi-code": "kimi",
    "opencode": "opencode",
    "openhands": "openhands",
    "langchain": "langchain",
    "copilot-cli": "copilot_cli",
    "cursor": "cursor",
}
NAMES = tuple(_MODULES)
# How much of a record is looked at. The first rows of some harnesses hold whole system prompts.
_HEAD = 1 << 20
_CLAUDE_ASIDE = (
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "last-prompt",
    "ai-title",
    "mode",
)


def read(path: Path, *, named: bool = False, format: str | None = None) -> Reading:
    """What the record at `path` says, by the reader of `format`, or of what it is recognised as.

    Raises Usage for a name that is none of NAMES, and Unreadable for a record that the person
    `named` and that cannot be opened. (SPEC RD-FMT-1, RD-FMT-2, RD-FMT-3)
    """
    if format is not None and format not in NAMES:
        raise Usage(f"no such format; there are: {', '.join(NAMES)}", path="--format")
    return opened(READER, path, named, lambda path: _read(path, named, format))


def _read(path: Path, named: bool, format: str | None) -> Reading:
    name = format or recognise(path)
    if name is None:
        text = f"no known format; name it with --format, one of: {', '.join(NAMES)}"
        return nothing(READER, "format_unknown", text)
    module = import_module(f"verdict_core.readers.{_MODULES[name]}")
    reading: Reading = module.read(path, named=named)
    return reading


def recognise(path: Path) -> str | None:
    """The name of the format, or None. Raises OSError, and NoZstd for what is compressed where
    nothing reads that. (SPEC RD-FMT-1)"""
    if path.is_dir():
        names = (n for n, held in _DIRECTORIES.items() if any(any(path.glob(h)) for h in held))
        return next(names, None)
    head = _head(path)
    if head.startswith(b"SQLite format 3\0"):
        return "opencode"
    for row in _rows(head):
        for name, claims in _CLAIMS:
            if claims(row):
                return name
    return None


def _head(path: Path) -> bytes:
    """The first bytes of the content, unpacked where it is compressed."""
    head = b""
    for chunk in Source(path).chunks():
        head += chunk
        if len(head) >= _HEAD:
            break
    return head


def _rows(head: bytes) -> Iterator[Object]:
    """The rows at the head of a record; of one that is a single object over many lines, and of one
    that is cut off here, as much as there is."""
    lines = head.split(b"\n")
    if lines[0].strip(b" \t\r\xef\xbb\xbf") == b"{":
        lines = [head]
    for line in lines:
        found = Lines().read(line)
        yield from found or _part(line)


def _part(line: bytes) -> Iterator[Object]:
    try:
        value = jiter.from_json(line, partial_mode=True)
    except ValueError:
        return
    if isinstance(value, dict):
        yield value


def _is_claude_code(row: Object) -> bool:
    if row.get("type") in ("user", "assistant", "system"):
        return "parentUuid" in row or "uuid" in row
    return "parentUuid" in row or (row.get("type") in _CLAUDE_ASIDE and "payload" not in row)


def _is_codex(row: Object) -> bool:
    return isinstance(row.get("payload"), dict) and "timestamp" in row and _is_typed(row)


def _is_dsh(row: Object) -> bool:
    return row.get("type") == "session" and "createdAt" in row


def _is_kimi(row: Object) -> bool:
    role = row.get("role")
    return (
        (row.get("type") == "metadata" and "protocol_version" in row)
        or (isinstance(role, str) and role.startswith("_"))
        or isinstance(mapping(row.get("message")).get("payload"), dict)
    )


def _is_openhands(row: Object) -> bool:
    kind = row.get("kind")
    event = isinstance(kind, str) and {"id", "timestamp", "source"} <= row.keys()
    return event or {"agent", "workspace", "execution_status"} <= row.keys()


def _is_copilot(row: Object) -> bool:
    return isinstance(row.get("data"), dict) and "parentId" in row and _is_typed(row)


def _is_gemini(row: Object) -> bool:
    return (
        {"sessionId", "projectHash"} <= row.keys()
        or "$set" in row
        or "$rewindTo" in row
        or (row.get("type") in ("user", "gemini") and {"id", "timestamp", "content"} <= row.keys())
    )


def _is_cursor(row: Object) -> bool:
    talks = row.get("role") in ("user", "assistant") and "type" not in row
    return talks and "content" in mapping(row.get("message"))


def _is_opencode(row: Object) -> bool:
    return {"id", "sessionID"} <= row.keys() or {"id", "projectID", "directory"} <= row.keys()


def _is_langchain(row: Object) -> bool:
    state = mapping(row.get("values", row))
    return any(isinstance(state.get(name), list) for name in ("todos", "messages"))


def _is_typed(row: Object) -> bool:
    return isinstance(row.get("type"), str)


# Asked in this order, of one row after the other.
_CLAIMS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("claude-code", _is_claude_code),
    ("codex", _is_codex),
    ("dsh", _is_dsh),
    ("kimi-code", _is_kimi),
    ("openhands", _is_openhands),
    ("copilot-cli", _is_copilot),
    ("gemini-cli", _is_gemini),
    ("cursor", _is_cursor),
    ("opencode", _is_opencode),
    ("langchain", _is_langchain),
)
# What a directory of each format holds one of.
_DIRECTORIES = {
    "openhands": ("base_state.json", "event-*.json", "events/event-*.json"),
    "opencode": ("opencode.db", "storage/message", "message"),
    "kimi-code": ("agents/main/wire.jsonl", "wire.jsonl", "context.jsonl"),
}
