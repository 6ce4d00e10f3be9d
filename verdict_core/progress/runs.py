"""A run: its name, its place on the disk, and the form of the lines of its ledger.

In: a session id or a working directory; the body of a claim or a ruling; the bytes of a file. Out:
names; a sealed entry; the entries, and where what is none lies. Laws: the same session, reopened,
is the same run; an entry is closed, and its hash covers every byte of its line. (SPEC PG-RUN,
PG-ENTRY, PG-READ)
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from attrs import frozen

from verdict_core.errors import BadValue, InvalidJson, VerdictCoreError, WrongType, child
from verdict_core.wire import canonical, closed, digest, integer, kind, parse, text, texts

FORMAT = "verdict-core/ledger/1"
ZEROS = "0" * 64
"""`prev` of the first entry, and `hash` of a state that covers none. (SPEC PG-LEDGER-3)"""

LINE_BYTES = 1 << 20
"""The longest line, without its LF, that is written or read as an entry. (SPEC PG-ENTRY-4)"""
# What a claim leaves of a line is more than report and lists can fill, so whatever claim was
# written down, its ruling can be: 256 + 256 + 4 * 96 KiB are less than 1 MiB.
CLAIM_BYTES = 256 << 10
REPORT_BYTES = 256 << 10
LIST_BYTES = 96 << 10

_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TIME = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?Z",
    re.ASCII,
)
# `format` and `hash` are neighbours in every entry, so one search finds both.
_MARK = f',"format":"{FORMAT}","hash":"'.encode()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MEMBER = len(',"hash":"')
_NUMBER = b',"number":'
_HEX = re.compile(r"[0-9a-f]{64}")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
Slot = Callable[[Any, str], Any]


def run_id(session: str | None, directory: Path) -> str:
    """`s-` and the session id where that is a plain name, else `x-` and 32 hex digits of its
    SHA-256; without a session `d-` and 32 hex digits of the real path of `directory`.

    An empty session id is none: a variable that is set to nothing names nobody. (SPEC PG-RUN-1)
    """
    if not session:
        return "d-" + _digits(os.fsencode(os.path.realpath(directory)))
    if _PLAIN.fullmatch(session):
        return "s-" + session
    # An id out of the environment can hold lone surrogates, and has a run all the same.
    return "x-" + _digits(session.encode("utf-8", "surrogatepass"))


def run_directory(state: Path, run: str) -> Path:
    """`<state>/verified-progress/runs/<runId>`: `ledger.jsonl` and `state.json`. (SPEC PG-RUN-2)"""
    return state / "verified-progress" / "runs" / run


def _digits(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _string(value: Any, path: str) -> str:
    return text(value, path) if value != "" else ""


def _texts(value: Any, path: str) -> list[str]:
    return list(texts(value, path))


def _matching(pattern: re.Pattern[str]) -> Slot:
    def read(value: Any, path: str) -> str:
        if not pattern.fullmatch(text(value, path)):
            raise BadValue(f"not of the form {pattern.pattern}", path=path)
        return str(value)

    return read


def _one_of(*words: str) -> Slot:
    def read(value: Any, path: str) -> str:
        if text(value, path) not in words:
            raise BadValue(f"only {', '.join(words)} may stand here", path=path)
        return str(value)

    return read


def _or_null(slot: Slot) -> Slot:
    return lambda value, path: None if value is None else slot(value, path)


def _object(slots: Mapping[str, Slot]) -> Slot:
    return lambda value, path: closed(value, path, slots)


def _list(slot: Slot) -> Slot:
    def read(value: Any, path: str) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise WrongType(f"expected a list, got {kind(value)}", path=path)
        return [slot(item, child(path, index)) for index, item in enumerate(value)]

    return read


def _ordinal(value: Any, path: str) -> int:
    if integer(value, path) == 0:
        raise BadValue("lines are counted from 1", path=path)
    return int(value)


_TREE = _object({"count": integer, "digest": _matching(_SHA256)})
_CONTROLS = ("status", "integrity", "contract")
_LISTS: Mapping[str, Slot] = {
    "changed": _list(_object({"change": text, "path": text})),
    "evidence": _texts,
    "evidence_gaps": _list(_object({"path": text, "why": text})),
    "missing": _texts,
}
# What the caller of `append` gives, by kind.
_ASKED: Mapping[str, Slot] = {
    "kind": _one_of("claim", "ruling"),
    "claim": text,
    "scope": text,
    "fingerprinted": text,
    "ignored": _texts,
    "verifier": _list(_string),
    "before": _or_null(_TREE),
}
_RULED: Mapping[str, Slot] = {
    "claim_number": _ordinal,
    "after": _or_null(_TREE),
    "declared": _object(dict.fromkeys(_CONTROLS, _or_null(text))),
    "final": _object(dict.fromkeys(_CONTROLS, text)),
    "outcome": _one_of("progress", "evidence"),
    "reasons": _texts,
    **_LISTS,
}
_BODIES: Mapping[str, Mapping[str, Slot]] = {
    "claim": _ASKED,
    "ruling": {**_ASKED, **_RULED, "report": _or_null(_string)},
}
# What the ledger adds, so that no caller can get it wrong.
_ADDED: Mapping[str, Slot] = {
    "format": _one_of(FORMAT),
    "number": _ordinal,
    "time": _matching(_TIME),
    "run": text,
    "claim_digest": _matching(_SHA256),
    "prev": _matching(_HEX),
    "hash": _matching(_HEX),
}
_REPORT = _object({"text": _string, "length": integer, "digest": _matching(_SHA256)})
_ENTRIES: Mapping[str, Mapping[str, Slot]] = {
    "claim": {**_ASKED, **_ADDED},
    "ruling": {
        **_ASKED,
        **_RULED,
        **_ADDED,
        "report": _or_null(_REPORT),
        "counts": _object(dict.fromkeys(_LISTS, integer)),
    },
}


def _by_kind(value: Any, slots: Mapping[str, Mapping[str, Slot]]) -> dict[str, Any]:
    said = value.get("kind") if isinstance(value, Mapping) else None
    return closed(value, "$", slots["ruling" if said == "ruling" else "claim"])


def cap_report(report: str) -> tuple[str, int, str]:
    """The head of a report that fits into a line, and length in UTF-8 bytes and digest of all of
    it. What fits is 256 KiB, written as a JSON string. (SPEC PG-ENTRY-4)"""
    whole = report.encode()
    head = report[:REPORT_BYTES]
    if len(canonical(head)) > REPORT_BYTES:
        fits, over = 0, len(head)
        while over - fits > 1:
            middle = (fits + over) // 2
            if len(canonical(head[:middle])) > REPORT_BYTES:
                over = middle
            else:
                fits = middle
        head = head[:fits]
    return head, len(whole), digest(whole)


def _cap_list(items: list[Any]) -> list[Any]:
    room = LIST_BYTES - 1
    for index, item in enumerate(items):
        room -= len(canonical(item)) + 1
        if room < 0:
            return items[:index]
    return items


def drafted(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body, checked, its report and lists cut to what a line holds. Raises UnknownField,
    MissingField, WrongType or BadValue, before anything is written. (SPEC PG-ENTRY-1)"""
    draft = _by_kind(body, _BODIES)
    draft["claim_digest"] = digest(draft["claim"].encode())
    if draft["kind"] == "ruling":
        draft["counts"] = {name: len(draft[name]) for name in _LISTS}
        for name in _LISTS:
            draft[name] = _cap_list(draft[name])
        if draft["report"] is not None:
            words = ("text", "length", "digest")
            draft["report"] = dict(zip(words, cap_report(draft["report"]), strict=True))
    return draft


def sealed(
    draft: Mapping[str, Any], *, number: int, time: str, run: str, prev: str
) -> dict[str, Any]:
    """The entry: the draft, its place in the chain, and its hash. Raises BadValue where its line
    is longer than a line may be. (SPEC PG-ENTRY-2, PG-ENTRY-4)"""
    entry = {**draft, "format": FORMAT, "number": number, "time": time, "run": run, "prev": prev}
    bare = canonical(entry)
    room = (CLAIM_BYTES if draft["kind"] == "claim" else LINE_BYTES) - len(',"hash":""') - 64
    if len(bare) > room:
        raise BadValue(f"an entry of {len(bare)} bytes; {room} fit into its line")
    entry["hash"] = hashlib.sha256(bare).hexdigest()
    return entry


def sealed_at(line: bytes) -> int:
    """Where the hash stands in a line, without its LF, that is an entry as it was written: the
    SHA-256 of its bytes without the member `hash` is that member. Otherwise 0.

    The member is cut out of the bytes: in canonical JSON its spelling stands nowhere else, since a
    quote inside a string is escaped. Parsing would cost twice as much. (SPEC PG-READ-2)
    """
    start = line.rfind(_MARK) + len(_MARK)
    end = start + 64
    if start < len(_MARK) or len(line) > LINE_BYTES or line[end : end + 1] != b'"':
        return 0
    bare = line[: start - _MEMBER] + line[end + 1 :]
    return start if hashlib.sha256(bare).hexdigest().encode() == line[start:end] else 0


def integer_at(line: bytes, start: int) -> int:
    """The integer that stands in a line from `start` to the next comma; 0 where none does."""
    digits = line[start : line.find(b",", start)]
    return int(digits) if digits.isdigit() else 0


def number_of(line: bytes) -> int:
    """The number that an entry's line names; 0 where it names none, as no entry does."""
    return integer_at(line, line.rfind(_NUMBER) + len(_NUMBER))


def entry(line: bytes) -> dict[str, Any]:
    """The entry on a line. Raises InvalidJson, or what is wrong with its structure; says nothing
    about its hash. (SPEC PG-ENTRY-1)"""
    return _by_kind(parse(line), _ENTRIES)


class Why(StrEnum):
    """Why a line is no entry. (SPEC PG-READ-3)"""

    BLANK = "blank"
    OVERSIZE = "oversize"
    NOT_JSON = "not_json"
    NOT_AN_ENTRY = "not_an_entry"
    HASH = "hash"


@frozen
class Damage:
    """A line that is no entry: its physical number from 1, place and length in bytes without its
    LF, and whether an LF ends it. (SPEC PG-READ-3)"""

    line: int
    offset: int
    length: int
    why: Why
    ended: bool


@frozen
class Line:
    """A physical line: `raw` without its LF; `bare` also without a CR and, at offset 0, a mark."""

    number: int
    offset: int
    raw: bytes
    bare: bytes
    ended: bool

    def said(self) -> dict[str, Any] | Damage:
        """The entry on this line, or why there is none. (SPEC PG-READ-2)"""
        why = self._why_not()
        if isinstance(why, Why):
            return Damage(self.number, self.offset, len(self.raw), why, self.ended)
        return why

    def _why_not(self) -> dict[str, Any] | Why:
        if not self.bare:
            return Why.BLANK
        if len(self.bare) > LINE_BYTES:
            return Why.OVERSIZE
        try:
            said = entry(self.bare)
        except InvalidJson:
            return Why.NOT_JSON
        except VerdictCoreError:
            return Why.NOT_AN_ENTRY
        if canonical(said) != self.bare:
            return Why.NOT_AN_ENTRY
        if not sealed_at(self.bare):
            return Why.HASH
        is_of_claim = said["claim_digest"] == digest(said["claim"].encode())
        return said if is_of_claim else Why.NOT_AN_ENTRY


def bare(raw: bytes, offset: int) -> bytes:
    """A physical line without what is read and never written: a CR at its end, and a mark at
    offset 0. (SPEC PG-READ-4)"""
    line = raw.removesuffix(b"\r")
    return line if offset else line.removeprefix(_BYTE_ORDER_MARK)


def lines(file: Iterable[bytes]) -> Iterator[Line]:
    """The physical lines of a file, which is opened in binary mode: 0x0A alone ends one.
    (SPEC PG-READ-4)"""
    offset = 0
    for number, whole in enumerate(file, 1):
        raw = whole.removesuffix(b"\n")
        yield Line(number, offset, raw, bare(raw, offset), whole.endswith(b"\n"))
        offset += len(whole)


def bare_lines(file: BinaryIO) -> Iterator[bytes]:
    """What `lines` gives as `bare`, and nothing else: three times as fast. (SPEC PG-READ-4)"""
    if file.read(len(_BYTE_ORDER_MARK)) != _BYTE_ORDER_MARK:
        file.seek(0)
    for whole in file:
        yield whole.removesuffix(b"\n").removesuffix(b"\r")
