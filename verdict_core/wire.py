"""Strict JSON in, canonical bytes out, and the checks that every closed object shares.

In: bytes from outside. Out: plain dicts, lists, strings and numbers, or a refusal with a path.
Law: nothing is coerced, repaired or dropped on the way in. (SPEC CV-WIRE, CV-DIGEST)
"""

import bisect
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jiter
import orjson

from verdict_core.errors import (
    BadValue,
    InvalidJson,
    MissingField,
    UnknownField,
    WrongType,
    child,
)

MAX_DEPTH = 128
MAX_INTEGER = 2**53 - 1

_MARK = b"\xef\xbb\xbf"
_PLACE = re.compile(r" at line (\d+) column (\d+)$")
# What the parser says -> our code. Its words are pinned by tests; any other is invalid_json.
_CODES = (
    ("Detected duplicate key", "duplicate_key"),
    ("recursion limit exceeded", "too_deep"),
    ("lone leading surrogate", "lone_surrogate"),
    ("unexpected end of hex escape", "lone_surrogate"),
    ("number out of range", "number_out_of_range"),
)


def _parses(depth: int) -> bool:
    try:
        jiter.from_json(b"[" * depth + b"]" * depth)
    except ValueError:
        return False
    return True


# The parser has a limit of its own, deeper than ours and not a setting. Standing a document inside
# the difference makes its limit ours, at the price of a copy instead of a walk.
_PARSER_DEPTH = bisect.bisect_left(range(1, 2048), True, key=lambda depth: not _parses(depth))
_PADDING = _PARSER_DEPTH - MAX_DEPTH
_OPEN, _CLOSE = b"[" * _PADDING, b"]" * _PADDING
_SHORT = 4096


def parse(data: bytes | str, *, allow_nan: bool = False) -> Any:
    """The value of one JSON text of at most 128 levels.

    `allow_nan` is for answers alone, where NaN has a code of its own. Raises InvalidJson at `$`
    with the byte offset in its message. (SPEC CV-WIRE-1 to CV-WIRE-4)
    """
    if isinstance(data, str):
        data = _encode(data)
    # Fewer brackets than levels cannot be too deep; where the text is short, counting is cheaper.
    if len(data) < _SHORT and data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return _parse(data, 0, allow_nan)
    value = _parse(_OPEN + data + _CLOSE, _PADDING, allow_nan)
    for _ in range(_PADDING):
        # A text that closes a bracket of the padding has to open another one: two values.
        if len(value) != 1:
            raise InvalidJson("not exactly one JSON value")
        value = value[0]
    return value


def _parse(data: bytes, padding: int, allow_nan: bool) -> Any:
    try:
        return jiter.from_json(
            data, allow_inf_nan=allow_nan, cache_mode="keys", catch_duplicate_keys=True
        )
    except ValueError as error:
        raise _invalid(data, padding, str(error)) from None


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidJson(
            f"lone surrogate at character {error.start}", code="lone_surrogate"
        ) from None


def _invalid(data: bytes, padding: int, said: str) -> InvalidJson:
    if data.startswith(_MARK, padding):
        return InvalidJson("byte order mark at offset 0", code="byte_order_mark")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return InvalidJson(f"not UTF-8 at offset {error.start - padding}", code="invalid_utf8")
    code = next((code for words, code in _CODES if words in said), "invalid_json")
    return InvalidJson(
        _PLACE.sub(lambda m: f" at offset {_offset(data, m) - padding}", said), code=code
    )


def _offset(data: bytes, place: re.Match[str]) -> int:
    start = 0
    for _ in range(int(place[1]) - 1):
        start = data.index(b"\n", start) + 1
    return start + max(0, int(place[2]) - 1)


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a value of ASCII keys, strings, booleans, null and integers below 2^53.

    Nothing else is ever given to it; floats above all, whose canonical form differs.
    (SPEC CV-DIGEST-1)
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def compact(value: Any) -> bytes:
    """JSON in the order of its dicts, for answers that people and programs read."""
    return orjson.dumps(value)


def quoted(text: str) -> str:
    """A string as RFC 8785 writes it: shortest escapes, lower-case hex, the rest as it is."""
    return orjson.dumps(text).decode()


def digest(data: bytes) -> str:
    """`sha256:` and 64 lower-case hex digits. (SPEC CV-DIGEST-2)"""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def closed(value: Any, path: str, slots: Mapping[str, Callable[[Any, str], Any]]) -> dict[str, Any]:
    """The members of an object that has exactly the keys of `slots`, each read by its slot.

    Raises WrongType, UnknownField, MissingField, or what a slot raises: the first in document
    order, a missing key last. (SPEC CV-SUM-2)
    """
    if type(value) is not dict and not isinstance(value, Mapping):
        raise WrongType(f"expected an object, got {kind(value)}", path=path)
    members = {}
    for key, item in value.items():
        if key not in slots:
            raise UnknownField(f"only {', '.join(slots)} may stand here", path=child(path, key))
        members[key] = slots[key](item, child(path, key))
    for key in slots:
        if key not in members:
            raise MissingField("required", path=child(path, key))
    return members


def text(value: Any, path: str) -> str:
    """A non-empty string of Unicode scalar values. Raises WrongType, BadValue. (SPEC CV-SUM-4)"""
    if not isinstance(value, str):
        raise WrongType(f"expected a string, got {kind(value)}", path=path)
    if not value:
        raise BadValue("an empty string says nothing", path=path)
    if not _scalar(value):
        raise BadValue("a lone surrogate has no UTF-8 form", path=path, code="lone_surrogate")
    return value


def texts(value: Any, path: str) -> tuple[str, ...]:
    """A list (or tuple) of non-empty strings. Raises WrongType, BadValue. (SPEC CV-SUM-4)"""
    if not isinstance(value, (list, tuple)):
        raise WrongType(f"expected a list of strings, got {kind(value)}", path=path)
    try:
        sound = all(value) and _scalar("".join(value))
    except TypeError:
        sound = False
    if sound:
        return tuple(value)
    return tuple(text(item, child(path, index)) for index, item in enumerate(value))


def integer(value: Any, path: str) -> int:
    """An integer of 0 to 2^53 - 1; true is none. Raises WrongType, BadValue. (SPEC CV-WIRE-5)"""
    if type(value) is not int:
        raise WrongType(f"expected an integer, got {kind(value)}", path=path)
    if not 0 <= value <= MAX_INTEGER:
        raise BadValue("not between 0 and 2^53 - 1", path=path, code="number_out_of_range")
    return value


def kind(value: Any) -> str:
    """What a JSON reader calls the type of `value`."""
    names: Sequence[tuple[Any, str]] = (
        (bool, "a boolean"),
        (str, "a string"),
        (int | float, "a number"),
        (Mapping, "an object"),
        (list | tuple, "a list"),
        (type(None), "null"),
    )
    return next((name for types, name in names if isinstance(value, types)), type(value).__name__)


def _scalar(value: str) -> bool:
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError:
        return False
    return True
