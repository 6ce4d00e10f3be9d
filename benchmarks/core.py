"""The rows of the deciding core: decision, walk, parse, digest, structure, judge.

In: nothing. Out: rows. The payloads are those that the core meets: summaries with items of a
dozen words, and message-like payloads of 100 KB and 1 KB.
"""

import functools
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import attrs
import cattrs
import jiter
import jsonschema
import msgspec
import orjson
import pydantic
import rfc8785

from benchmarks.rows import Row
from verdict_core import Summary, build, forbidden, judge, refuse_forbidden, wire
from verdict_core.context import judge_document
from verdict_core.context.rules import Asking, row_of
from verdict_core.context.state import bound_bytes

PROSE = "the tokenizer accepts both line endings now, but a file that mixes them is read wrongly "


def summary_payload(items: int) -> dict[str, Any]:
    """A summary of so many items, as its JSON object."""
    todos = [f"todo number {n}: write down what was decided about it" for n in range(items // 2)]
    files = [f"src/parser/module_{n}.py" for n in range(items - items // 2)]
    return {"session": "s-1", "todos": todos, "uncommitted": files, "questions": [],
            "decisions": [], "next_steps": [], "unknown": []}  # fmt: skip


def messages(size: int) -> bytes:
    """A message-like payload of about so many bytes."""
    rows: list[Any] = []
    while len(orjson.dumps(rows)) < size:
        n = len(rows)
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": PROSE}}
        rows.append({"role": "user", "content": [{"type": "text", "text": PROSE * 4}, call]})
    return orjson.dumps(rows)


# --- one decision


def _plain(count: int, any_unknown: bool, wait_min: int, asking: Asking) -> object:
    if count > wait_min:
        return _plain
    if count > 0 or any_unknown:
        return _plain
    return _plain


def decision() -> Row:
    asking = Asking.NOT_ASKED
    many = range(1_000)

    def limit() -> None:
        for _ in many:
            _plain(7, False, 3, asking)

    def ours() -> None:
        for _ in many:
            row_of(7, False, 3)[asking]

    return Row("rule table, 1,000 decisions", ("plain function", limit), ours, 1.3, number=20)


# --- the walk


def _recursive(value: Any) -> None:
    if isinstance(value, dict):
        for key, below in value.items():
            if forbidden.is_forbidden(key):
                raise ValueError(key)
            _recursive(below)
    elif isinstance(value, list):
        for below in value:
            _recursive(below)


SCHEMA = {"$defs": {"any": {"propertyNames": {"not": {"enum": list(forbidden.FORBIDDEN_KEYS)}},
                            "additionalProperties": {"$ref": "#/$defs/any"},
                            "items": {"$ref": "#/$defs/any"}}},
          "$ref": "#/$defs/any"}  # fmt: skip


def walks() -> Iterator[Row]:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    kinds = {
        "100 KB of messages": (messages(100_000), 0.9),
        "100 KB summary": (orjson.dumps(summary_payload(2_300)), 0.9),
        "1 KB of messages": (messages(1_000), 1.5),
    }
    for name, (data, goal) in kinds.items():
        value = orjson.loads(data)
        yield Row(
            f"forbidden walk, {name}",
            ("orjson.loads", functools.partial(orjson.loads, data)),
            functools.partial(refuse_forbidden, value),
            goal,
            {"recursive walk": functools.partial(_recursive, value)},
            number=20 if len(data) > 10_000 else 500,
        )
    keys = orjson.dumps({f"name {n} of a thing": PROSE[: n % 80] for n in range(1_500)})
    distinct = orjson.loads(keys)

    def fresh() -> None:
        forbidden._harmless.clear()
        refuse_forbidden(distinct)

    yield Row("forbidden walk, all keys distinct", ("orjson.loads", lambda: orjson.loads(keys)),
              fresh, 2.2, {"jsonschema": lambda: validator.is_valid(distinct)},
              number=10, rounds=9)  # fmt: skip


# --- the parse


def parses() -> Iterator[Row]:
    for name, data in {
        "100 KB of messages": messages(100_000),
        "100 KB summary": orjson.dumps(summary_payload(2_300)),
    }.items():
        yield Row(
            f"strict parse, {name}",
            ("orjson.loads", functools.partial(orjson.loads, data)),
            functools.partial(wire.parse, data),
            2.0,
            {
                "jiter": functools.partial(
                    jiter.from_json, data, catch_duplicate_keys=True, cache_mode="keys"
                ),
                "json with a hook": functools.partial(json.loads, data, object_pairs_hook=dict),
            },
            number=20,
        )


# --- canonical bytes and digest


def digest() -> Row:
    payload = summary_payload(160)
    text = build(Summary.from_payload(payload)).text
    data = bound_bytes(payload, text)
    value: Any = {"format": "verdict-core/state/1", "summary": payload, "text": text}
    return Row(
        f"canonical bytes and digest, {len(data) / 1000:.0f} KB",
        ("SHA-256 alone", lambda: hashlib.sha256(data).hexdigest()),
        lambda: wire.digest(bound_bytes(payload, text)),
        1.5,
        {"rfc8785": lambda: hashlib.sha256(rfc8785.dumps(value)).hexdigest()},
    )


# --- structure


def _strings(value: Any) -> tuple[str, ...]:
    if type(value) is not list:
        raise TypeError
    for item in value:
        if type(item) is not str or not item:
            raise TypeError
    return tuple(value)


@attrs.frozen
class _ByHand:
    session: str
    todos: tuple[str, ...]
    uncommitted: tuple[str, ...]
    questions: tuple[str, ...]
    decisions: tuple[str, ...]
    next_steps: tuple[str, ...]
    unknown: tuple[str, ...]


_NAMES = tuple(field.name for field in attrs.fields(_ByHand))


def _by_hand(value: dict[str, Any]) -> _ByHand:
    if value.keys() != set(_NAMES) or type(value["session"]) is not str:
        raise TypeError
    return _ByHand(value["session"], *[_strings(value[name]) for name in _NAMES[1:]])


class _Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")
    session: str
    todos: list[str]
    uncommitted: list[str]
    questions: list[str]
    decisions: list[str]
    next_steps: list[str]
    unknown: list[str]


def structures() -> Iterator[Row]:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for items in (20, 200, 2_000):
        payload = summary_payload(items)
        yield Row(
            f"structure a summary, {items} items",
            ("hand-written strict attrs", functools.partial(_by_hand, payload)),
            functools.partial(Summary.from_payload, payload),
            1.2,
            {
                "cattrs": functools.partial(converter.structure, payload, _ByHand),
                "pydantic": functools.partial(_Model.model_validate, payload),
            },
            number=20_000 // items,
        )


# --- judge


class _Wire(msgspec.Struct, forbid_unknown_fields=True):
    session: str
    todos: list[str]
    uncommitted: list[str]
    questions: list[str]
    decisions: list[str]
    next_steps: list[str]
    unknown: list[str]


class _Bound(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    digest: str
    count: int
    unknown: list[str]
    risk_hints: str


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    summary: _Wire
    state: _Bound


def judging() -> Row:
    summary = Summary.from_payload(
        {**summary_payload(0), "todos": ["write the test"], "uncommitted": ["a.py"]}
    )
    document = wire.compact({"summary": summary.payload(), "state": build(summary).payload()})
    decoder, encoder = msgspec.json.Decoder(_Document), msgspec.json.Encoder(order="sorted")

    def limit() -> bool:
        read = decoder.decode(document)
        items = [read.summary.todos, read.summary.uncommitted, read.summary.questions,
                 read.summary.decisions, read.summary.next_steps]  # fmt: skip
        text = "\n".join(f"- {encoder.encode(item).decode()}" for field in items for item in field)
        bound = encoder.encode({"format": "f", "summary": read.summary, "text": text})
        return hashlib.sha256(bound).hexdigest() == read.state.digest

    return Row(
        f"judge, end to end from bytes ({len(document)} B)",
        ("msgspec decode, render, digest", limit),
        lambda: judge(*judge_document(document)),
        3.0,
        number=500,
    )


def rows() -> Iterator[Row]:
    """The rows, in the order of the table."""
    yield decision()
    yield from walks()
    yield from parses()
    yield digest()
    yield from structures()
    yield judging()
