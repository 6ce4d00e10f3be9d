"""The examples and vectors of SPEC.md, run. (SPEC CV-DIGEST, sections 1 and 6)"""

import hashlib
import re
from typing import Any

import pytest
import rfc8785

from verdict_core import Summary, build, judge
from verdict_core.wire import canonical, parse

CLAUSE = re.compile(
    r"^- \*\*([A-Z]{2}-[A-Z]+-\d+)\*\* (.*?)(?=^- \*\*|^#|^\||^```|^$)", re.M | re.S
)


def blocks(spec: str, name: str) -> list[str]:
    return re.findall(rf"^```\w+ {name}\n(.*?)^```", spec, re.M | re.S)


def test_the_worked_example_is_true(spec: str) -> None:
    summary = Summary.from_json(blocks(spec, "example-summary")[0])
    state = build(summary)
    assert state.text == blocks(spec, "example-text")[0].rstrip("\n")
    assert f"`{state.digest[:23]}`…" in spec
    expected = parse(blocks(spec, "example-judgement")[0])
    judged = judge(summary, state).payload()
    assert parse(canonical({**judged, "digest": None})) == {**expected, "digest": None}


def test_the_vectors_are_true(spec: str) -> None:
    """CV-DIGEST-1, CV-DIGEST-2: the bytes in hex, made by a second implementation too."""
    vectors: list[Any] = [parse(text) for text in blocks(spec, "vector")]
    vectors = [vector for vector in vectors if vector["clause"].startswith("CV-DIGEST")]
    assert len(vectors) >= 2
    for vector in vectors:
        state = build(Summary.from_payload(vector["summary"]))
        bound = {"format": "verdict-core/state/1", "summary": vector["summary"], "text": state.text}
        assert rfc8785.dumps(bound).hex() == vector["canonical_hex"]
        assert state.digest == vector["digest"]
        raw = bytes.fromhex(vector["canonical_hex"])
        assert state.digest == "sha256:" + hashlib.sha256(raw).hexdigest()


def test_every_clause_has_one_id_and_one_must(spec: str) -> None:
    clauses = CLAUSE.findall(spec)
    assert len(clauses) > 40
    ids = [clause for clause, _ in clauses]
    assert sorted(set(ids)) == sorted(ids)
    for clause, text in clauses:
        normative = text.split("*Why:*")[0]
        assert "MUST" in normative, clause


@pytest.mark.parametrize("word", ["SHOULD", "RECOMMENDED"])
def test_nothing_is_half_required(spec: str, word: str) -> None:
    assert word not in spec
