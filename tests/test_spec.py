"""The examples and vectors of SPEC.md, run. (SPEC CV-DIGEST, sections 1 and 6)"""

import hashlib
import re
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from verdict_core import Summary, build, judge
from verdict_core.progress import admission, episode, report, verifier
from verdict_core.progress.admission import admit
from verdict_core.progress.ledger import Ledger
from verdict_core.progress.report import Contract, Integrity, Status, read_report
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
        assert re.search(r"\b(MUST|MAY)\b", normative), clause


@pytest.mark.parametrize("word", ["SHOULD", "RECOMMENDED"])
def test_nothing_is_half_required(spec: str, word: str) -> None:
    assert word not in spec


def test_the_ledger_vector_is_true(spec: str) -> None:
    """PG-ENTRY-2, PG-LEDGER-3: both lines, by hand: hash and prev are over the bytes given."""
    (vector,) = (v for v in map(parse, blocks(spec, "vector")) if v["id"] == "V-LEDGER-1")
    first, second = bytes.fromhex(vector["line_1_hex"]), bytes.fromhex(vector["line_2_hex"])
    for line, digest in ((first, vector["hash_1"]), (second, vector["hash_2"])):
        entry = parse(line)
        assert entry.pop("hash") == digest
        assert hashlib.sha256(rfc8785.dumps(entry)).hexdigest() == digest
        assert entry["number"] == (1 if line is first else 2)
    assert parse(second)["prev"] == vector["prev_2"] == hashlib.sha256(first).hexdigest()


def test_the_ledger_vector_is_what_the_ledger_reads(spec: str, tmp_path: Path) -> None:
    (vector,) = (v for v in map(parse, blocks(spec, "vector")) if v["id"] == "V-LEDGER-1")
    ledger = Ledger(tmp_path / "s-1")
    ledger.directory.mkdir()
    lines = (bytes.fromhex(vector[name]) for name in ("line_1_hex", "line_2_hex"))
    ledger.path.write_bytes(b"".join(line + b"\n" for line in lines))
    assert ledger.read().damaged == ()
    assert ledger.audit().unbroken
    assert ledger.state().verified_rounds == (1,)


def test_the_example_report_is_progress(spec: str) -> None:
    (text,) = blocks(spec, "example-report")
    read = read_report(text)
    assert admit(read.status, read.integrity, read.contract, False).outcome == "progress"
    assert admit(read.status, read.integrity, read.contract, True).outcome == "evidence"


def test_the_admission_table_in_the_specification_is_the_one_in_the_code(spec: str) -> None:
    """PG-ADMIT-1, PG-ADMIT-2, cell by cell."""
    section = spec.split("| status | integrity | aligned | unknown | needs_revision | invalid |")[1]
    rows = [line.strip("| ").split(" | ") for line in section.split("\n\n")[0].splitlines()[2:]]
    assert len(rows) == 9
    for status, integrity, *cells in rows:
        for contract, cell in zip(Contract, cells, strict=True):
            ruling = admit(Status(status), Integrity(integrity), contract, False)
            words = [str(ruling.status), *[str(ruling.outcome)] * (ruling.outcome == "progress")]
            assert cell.split(", ") == words
            assert (ruling.integrity, ruling.contract) == (integrity, contract)


def test_the_reasons_of_the_progress_half_are_those_in_the_code(spec: str) -> None:
    """PG-REASON-1."""
    section = spec.split("| from | reasons |")[1].split("\n\n")[0]
    listed = [word for line in section.splitlines()[2:] for word in
              line.strip("| ").split(" | ")[1].split(", ")]  # fmt: skip
    registries: tuple[type[StrEnum], ...] = (
        verifier.Reason, report.Reason, episode.Reason, admission.Reason,
    )  # fmt: skip
    assert listed == [str(word) for registry in registries for word in registry]
