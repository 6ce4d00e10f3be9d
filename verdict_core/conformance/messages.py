"""Random requests of each operation, from plain to hostile.

In: an operation. Out: a strategy of the members of its request. Law: whatever stands in one, some
answer to it is right. (SPEC CF-DIFF)
"""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from hypothesis import strategies as st

from verdict_core.conformance import protocol
from verdict_core.conformance.door import (
    CONTRACT,
    FAILS,
    INTEGRITY,
    ORDER,
    STATUS,
)
from verdict_core.conformance.strategies import (
    damages,
    dump,
    forbidden_names,
    ledgers,
    report_bytes,
    summaries,
    texts,
    values,
)
from verdict_core.conformance.subject import Script
from verdict_core.context import Summary
from verdict_core.context.state import render
from verdict_core.forbidden import FORBIDDEN_KEYS

Members = Mapping[str, Any]
_PLAIN = st.sampled_from(FORBIDDEN_KEYS)
_SCORES = st.sampled_from([0, 0.5, 1, -1, 1.5, "0.9", True, None])
_SCOPES = ("src", "a", "f", "*", "**", "?", "[a]", "", ".", "..", "out", ".git", "nothing")


_NO_NUMBERS = ("-1", "3.0", "true", '"3"', "null", "NaN", "9007199254740992")


def numbers(*good: str) -> st.SearchStrategy[str]:
    """Thresholds as they travel: one in eight is none."""
    return st.integers(0, 7).flatmap(lambda way: st.sampled_from(_NO_NUMBERS if way == 7 else good))


def spoiled(objects: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[bytes]:
    """Objects as JSON text, a third of them with something wrong at the top."""

    def change(found: tuple[dict[str, Any], str, Any, int]) -> dict[str, Any]:
        whole, key, value, how = found
        names = list(whole)
        if how == 0:
            return {**whole, key: value}
        if how == 1:
            return {**whole, names[len(key) % len(names)]: value}
        return {name: whole[name] for name in names if name != names[len(key) % len(names)]}

    keys = texts(6) | forbidden_names()
    changed = st.tuples(objects, keys, values(), st.integers(0, 2)).map(change).map(dump)
    whole = objects.map(dump)
    cut = st.tuples(whole, st.integers(0, 200)).map(lambda two: two[0][: two[1]])
    twice = whole.map(lambda text: text[:-1] + b"," + text[1:])
    wrong = changed | changed | changed | cut | twice | st.binary(max_size=12)
    # One branch of three: alternatives that are themselves alternatives would be levelled.
    return st.integers(0, 2).flatmap(lambda way: wrong if way == 2 else whole)


def scripts() -> st.SearchStrategy[list[Script] | None]:
    """What a service does, an answer that is no answer among it."""
    answer = st.fixed_dictionaries({"choice": st.sampled_from(ORDER) | texts(4), "score": _SCORES})
    odd = spoiled(answer).map(lambda data: Script(answer=data))
    scored = st.tuples(st.sampled_from(ORDER), st.sampled_from([0, 0.01, 1])).map(
        lambda two: Script(answer=dump({"choice": two[0], "score": two[1]}))
    )
    one = scored | st.sampled_from(list(FAILS.values())) | odd
    return st.none() | st.lists(one, min_size=1, max_size=3)


def _service() -> st.SearchStrategy[Any]:
    return scripts().map(protocol.service)


def _documents() -> st.SearchStrategy[dict[str, Any]]:
    def bound(summary: dict[str, Any]) -> dict[str, Any]:
        return {"summary": summary, "state": render(Summary(**summary)).payload()}

    def drift(two: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
        return {**two[0], "state": {**two[0]["state"], **two[1]}}

    parts: dict[str, Any] = {
        "text": texts(6), "count": st.integers(-1, 3), "unknown": values(), "risk_hints": texts(6)
    }  # fmt: skip
    whole = summaries(2).map(bound)
    return whole | whole | st.tuples(whole, st.fixed_dictionaries({}, optional=parts)).map(drift)


def _requests() -> st.SearchStrategy[dict[str, Any]]:
    options = st.permutations(ORDER) | st.just(ORDER) | st.lists(st.sampled_from(ORDER))
    scale = st.sampled_from([{"min": 0, "max": 1}, {"min": 0, "max": 2}, {"min": 0}])
    return st.fixed_dictionaries(
        {"question": texts(6), "options": options, "scale": scale, "state": texts(6)}
    )


def _corpora() -> st.SearchStrategy[bytes]:
    labels = st.sampled_from(["lost", "keep"])
    case = st.fixed_dictionaries({"id": texts(3), "label": labels, "summary": summaries(1)})
    whole = st.tuples(labels, summaries(1))
    both = st.tuples(whole, whole, st.lists(whole, max_size=4)).map(
        lambda found: [("lost", found[0][1]), ("keep", found[1][1]), *found[2]]
    )
    sound = both.map(
        lambda cases: [
            dump({"id": str(number), "label": label, "summary": summary})
            for number, (label, summary) in enumerate(cases)
        ]
    )
    line = spoiled(case).map(lambda data: data.replace(b"\n", b" "))
    odd = st.tuples(sound, line).map(lambda two: [*two[0], two[1]]) | st.lists(line)
    return st.integers(0, 2).flatmap(lambda way: odd if way == 2 else sound).map(b"\n".join)


def _ledgers() -> st.SearchStrategy[bytes]:
    parts = st.lists(ledgers(4) | damages().map(lambda line: [line]), max_size=3)
    return st.tuples(
        ledgers() | parts.map(lambda many: list(chain.from_iterable(many))), st.booleans()
    ).map(lambda two: b"\n".join(two[0]) + b"\n" * two[1])


def requests(op: str, workspace: str) -> st.SearchStrategy[Members]:
    """The members of a request; `workspace` is a directory for guard scopes."""
    document = st.builds(protocol.document, _BYTES[op]()) if op in _BYTES else st.nothing()
    wait_min, budget = numbers("0", "3", "50", "50"), numbers("16000", "16000", "200", "130")
    claim = st.none() | st.just("sha256:" + "a" * 64)
    state = st.none() | st.just({"number": 1, "hash": "0" * 64})
    scope = texts(8) | st.lists(st.sampled_from(_SCOPES), max_size=4).map("/".join)
    members: Mapping[str, Mapping[str, st.SearchStrategy[Any]]] = {
        "build": {"document": document, "max_chars": budget},
        "judge": {
            "document": document,
            "wait_min": wait_min,
            "safe_max": st.sampled_from([None, None, None, "0", "1", "true"]),
            "service": _service(),
        },
        "verify": {
            "document": document,
            "wait_min": wait_min,
            "max_chars": budget,
            "service": _service(),
        },
        "read_report": {"document": document, "claim": claim},
        "admit": {
            "status": st.sampled_from(STATUS),
            "integrity": st.sampled_from(INTEGRITY),
            "contract": st.sampled_from(CONTRACT),
            "changed": st.booleans(),
        },
        "scope": {
            "scope": st.none() | scope,
            "workspace": st.just(workspace),
            "ignores": st.lists(scope, max_size=2),
            "state_dir": st.none() | st.just(f"{workspace}/src/state"),
            "harness_home": st.none() | st.just(workspace),
        },
        "chain": {"document": document, "state": state},
    }
    chosen = members.get(op, {"document": document})
    # In this order, so that two lines differ only where they say something else.
    return st.tuples(*chosen.values()).map(lambda found: dict(zip(chosen, found, strict=True)))


_BYTES: Mapping[str, Callable[[], st.SearchStrategy[bytes]]] = {
    "build": lambda: spoiled(summaries()),
    "judge": lambda: spoiled(_documents()),
    "request": lambda: spoiled(_requests()),
    "answer": lambda: spoiled(
        st.fixed_dictionaries({"choice": st.sampled_from(ORDER) | texts(4), "score": _SCORES})
    ),
    "forbidden": lambda: spoiled(
        st.dictionaries(texts(6) | forbidden_names() | _PLAIN, values(), min_size=1)
    ),
    "verify": _corpora,
    "read_report": report_bytes,
    "fold": _ledgers,
    "chain": _ledgers,
}
