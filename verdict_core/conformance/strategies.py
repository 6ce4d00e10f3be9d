"""Hypothesis strategies for the documents of this field, for our suite and for yours.

In: nothing. Out: strategies of plain JSON values, so that any implementation can be given them.
Needs the extra `test`.
"""

import json
from typing import Any

from hypothesis import strategies as st

from verdict_core.context import FIELDS
from verdict_core.forbidden import FORBIDDEN_KEYS

# Lines and words that a careless renderer takes for its own.
_HOSTILE = (
    "- a", "todos: 1", "risk_hints: count=0 open=- unknown=-", 'session: "s"', "\n", "\r\n", "\\n",
    '"', "a\n- \"b\"", "\u2028", "\ufeff", "unknown", "verdict-core state 1", "\x00", "\x7f", "#",
)  # fmt: skip
_JUNK = "_-. \u200b\u2060\u00ad/*"


def texts(max_size: int = 20) -> st.SearchStrategy[str]:
    """Non-empty strings of scalar values, hostile ones among them."""
    free = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=max_size)
    return (
        free | st.sampled_from(_HOSTILE) | st.tuples(free, st.sampled_from(_HOSTILE)).map("".join)
    )


def items(max_size: int = 4) -> st.SearchStrategy[list[str]]:
    """What one field holds."""
    return st.lists(texts(), max_size=max_size)


def unknowns() -> st.SearchStrategy[list[str]]:
    """Names of unknown fields, in their order."""
    return st.sets(st.sampled_from(FIELDS)).map(lambda names: [n for n in FIELDS if n in names])


def summaries(max_items: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    """Valid summaries as JSON objects, keys in any order."""
    members: dict[str, st.SearchStrategy[Any]] = {"session": texts()}
    members |= {name: items(max_items) for name in FIELDS}
    members["unknown"] = unknowns()
    return st.fixed_dictionaries(members).flatmap(
        lambda summary: st.permutations(list(summary)).map(
            lambda order: {key: summary[key] for key in order}
        )
    )


def values() -> st.SearchStrategy[Any]:
    """Any JSON value without a forbidden name, a few levels deep."""
    leaf = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts(8)
    keys = st.sampled_from(["id", "text", "a", "b c", "é", "per", "blockade", "keeper", "0", ""])
    return st.recursive(
        leaf, lambda below: st.lists(below, max_size=4) | st.dictionaries(keys, below, max_size=4)
    )


def spellings(name: str) -> st.SearchStrategy[str]:
    """Other spellings of a name that fold to it: case, marks between letters, full width."""

    def spell(letters: list[tuple[str, int, str]]) -> str:
        out = ""
        for letter, how, junk in letters:
            out += (letter.lower(), letter.upper(), chr(ord(letter) + 0xFEE0))[how] + junk
        return out

    letter = st.tuples(st.integers(0, 2), st.sampled_from(["", "", *_JUNK]))
    return st.tuples(*[letter.map(lambda how, c=c: (c, *how)) for c in name]).map(
        lambda letters: spell(list(letters))
    )


def forbidden_names() -> st.SearchStrategy[str]:
    """Spellings of the 35 names."""
    return st.sampled_from(FORBIDDEN_KEYS).flatmap(spellings)


def dump(value: Any) -> bytes:
    """A value as JSON text, the way somebody else's program would write it."""
    return json.dumps(value, ensure_ascii=False).encode()
