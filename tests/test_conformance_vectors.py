"""The vectors are data: sound, complete where a table is finite, and true of the reference.

The families below are made here, from lists that are written down a second time, and compared with
the files line by line: what is generated cannot drift, and no line of a family can be lost.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verdict_core.conformance import parts, suite, vectors
from verdict_core.conformance.checks import Fate
from verdict_core.conformance.plugin import behind
from verdict_core.conformance.protocol import Reply
from verdict_core.conformance.reference import Reference
from verdict_core.conformance.subject import CAPABILITIES, Refused
from verdict_core.errors import VerdictCoreError

FIELDS = ("todos", "uncommitted", "questions", "decisions", "next_steps")
GROUPS = {
    "blocks": "block blocks blockId blockIds blockIndex blockIndices perBlock",
    "smaller units": "perMessage messageIds perTurn turnIds perChunk chunkIds segments",
    "choosing": "select selected selection pick picks filter screen",
    "removing": "drop dropped droppable discard prune evict remove",
    "ranking": "keep retain rank ranking importance relevance salience",
}
STATUS = ("complete", "incomplete", "blocked")
INTEGRITY = ("clean", "suspect", "violation")
CONTRACT = ("aligned", "unknown", "needs_revision", "invalid")

Line = dict[str, Any]


def vector(id: str, clause: str, finds: str, send: Any, expect: Any) -> Line:
    return {"id": id, "clause": clause, "finds": finds, "send": send, "expect": expect}


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def summary(count: int = 0, unknown: tuple[str, ...] = (), **members: Any) -> dict[str, Any]:
    """A summary of `count` items, spread over the fields."""
    items = {name: [f"{name} {n}" for n in range(at, count, 5)] for at, name in enumerate(FIELDS)}
    return {"session": "s-1", **items, "unknown": list(unknown), **members}


def state(given: dict[str, Any]) -> dict[str, Any]:
    """The state of a summary, by a second hand. (SPEC CV-STATE-2, CV-STATE-3, CV-DIGEST-1)"""
    lines = ["verdict-core state 1", f"session: {text(given['session'])}"]
    for name in FIELDS:
        unknown = " unknown" if name in given["unknown"] else ""
        lines.append(f"{name}: {len(given[name])}{unknown}")
        lines += [f"- {text(item)}" for item in given[name]]
    count = sum(len(given[name]) for name in FIELDS)
    held = ",".join(name for name in FIELDS if given[name]) or "-"
    hints = f"count={count} open={held} unknown={','.join(given['unknown']) or '-'}"
    whole = "\n".join([*lines, f"risk_hints: {hints}"])
    bound = {"format": "verdict-core/state/1", "summary": given, "text": whole}
    canonical = json.dumps(bound, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return {
        "text": whole,
        "digest": "sha256:" + hashlib.sha256(canonical.encode()).hexdigest(),
        "count": count,
        "unknown": given["unknown"],
        "risk_hints": hints,
    }


def judge(given: dict[str, Any], wait_min: str = "3", service: Any = None, **more: Any) -> Line:
    document = text({"summary": given, "state": state(given)})
    return {"op": "judge", "document": document, "wait_min": wait_min, "safe_max": None,
            "service": service, **more}  # fmt: skip


# --- every name, as it is, in snake case and in full width


def names() -> Iterator[Line]:
    shapes = (
        ("as_is", lambda name: name),
        ("snake", lambda name: "".join("_" + c.lower() if c.isupper() else c for c in name)),
        ("full_width", lambda name: "".join(chr(ord(c) + 0xFEE0) for c in name)),
    )
    for group, listed in GROUPS.items():
        for name, (spelling, spell) in itertools.product(listed.split(), shapes):
            key = spell(name)
            path = f"$.a[0].{key}" if spelling != "full_width" else f"$.a[0]['{key}']"
            yield vector(
                f"KEY-{name}-{spelling}",
                "CV-KEY-1" if spelling == "as_is" else "CV-KEY-2",
                f"a list of names without {name} ({group}), or a comparison of spellings as bytes",
                {"op": "forbidden", "document": text({"a": [{key: None}]})},
                {"refused": {"code": "forbidden_key", "path": path}},
            )


# --- every row of the rule table, with all fields known and with one that is not

ANSWERS = {
    "said_wait": ("wait", "wait", "service_wait"),
    "said_preserve_first": ("preserve_first", "preserve_first", "service_preserve"),
    "said_safe_to_compact": ("safe_to_compact", "wait", "service_safe_overruled"),
}
DETAILS = {
    **dict.fromkeys(("timeout", "unreachable", "rate_limited", "misconfigured", "declined"),
                    "service_absent"),
    **dict.fromkeys(("truncated", "unreadable", "bad_choice", "bad_score"), "service_unusable"),
}  # fmt: skip


def cells() -> Iterator[tuple[str, int, Any, str, list[str]]]:
    """Row, count, service, verdict and reasons."""
    answer = [{"answer": '{"choice": "safe_to_compact", "score": 1}'}]
    yield "clear-not_asked", 0, answer, "safe_to_compact", ["nothing_unlanded"]
    yield "over-not_asked", 4, answer, "preserve_first", ["over_threshold"]
    yield "band-not_configured", 3, None, "wait", ["in_band", "service_not_configured"]
    for row, (choice, verdict, reason) in ANSWERS.items():
        said = [{"answer": text({"choice": choice, "score": 0.25})}]
        yield f"band-{row}", 3, said, verdict, ["in_band", reason]
    for detail, reason in DETAILS.items():
        yield f"band-{detail}", 1, [{"detail": detail}], "wait", ["in_band", reason]


def rules() -> Iterator[Line]:
    for unknown in ((), ("decisions",)):
        for row, count, service, verdict, reasons in cells():
            if unknown and row == "clear-not_asked":
                continue
            reasons = [*reasons, "field_unknown"] if unknown else reasons
            yield vector(
                f"RULE-{row}" + "-unknown" * len(unknown),
                "CV-RULE-4" if unknown else "CV-RULE-3",
                f"another verdict, reason or order of reasons in the row {row}",
                judge(summary(count, unknown), service=service),
                {"result": {"verdict": verdict, "reasons": reasons}},
            )


# --- every cell of the admission table


def admission() -> Iterator[Line]:
    for status, integrity, contract, changed in itertools.product(
        STATUS, INTEGRITY, CONTRACT, (False, True)
    ):
        reasons = ["workspace_changed"] * changed
        reasons += [f"status_{status}"] * (status != "complete")
        reasons += [f"integrity_{integrity}"] * (integrity != "clean")
        reasons += ["contract_not_aligned"] * (contract != "aligned")
        forbids = integrity == "violation" or contract != "aligned"
        becomes = "incomplete" if status == "complete" and forbids else status
        send = {"op": "admit", "status": status, "integrity": integrity, "contract": contract,
                "changed": changed}  # fmt: skip
        name = "-".join([status, integrity, contract, *["changed"] * changed])
        ruling = {
            "status": "blocked" if changed else becomes,
            "integrity": "violation" if changed else integrity,
            "contract": contract,
            "outcome": "evidence" if reasons else "progress",
        }
        clause = "PG-ADMIT-3" if changed else "PG-ADMIT-2" if reasons else "PG-ADMIT-1"
        finds = "another cell of the admission table"
        yield vector(f"ADMIT-{name}", clause, finds, send, {"result": ruling})
        finds = "a reason that is left out, or in another order"
        yield vector(f"WHY-{name}", "PG-ADMIT-4", finds, send, {"result": {"reasons": reasons}})


FAMILIES = {"keys": names, "rules": rules, "admission": admission}


@pytest.mark.parametrize("file", FAMILIES)
def test_a_family_stands_in_its_file_whole(file: str) -> None:
    lines = (parts.part("vectors") / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    stands = [json.loads(line) for line in lines]
    missing = [text(line) for line in FAMILIES[file]() if line not in stands]
    assert missing == []


# How many there are of those that are numbered. A number is never taken back: these only grow.
NUMBERED = {
    "WIRE": 71, "SUM": 42, "STATE": 47, "KEY": 26, "RULE": 56, "ASK": 40, "CORPUS": 21,
    "REPORT": 68, "SCOPE": 8, "LEDGER": 33,
}  # fmt: skip


def test_an_id_is_permanent() -> None:
    """CF-VEC-3: numbers without a gap, up to at least the last that was ever given."""
    found: dict[str, list[int]] = {}
    for one in vectors.load():
        numbered = re.fullmatch(r"([A-Z]+)-(\d{3})", one.id)
        if numbered:
            found.setdefault(numbered[1], []).append(int(numbered[2]))
    assert found.keys() == NUMBERED.keys()
    for prefix, numbers in found.items():
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= NUMBERED[prefix]


def test_every_vector_is_true_of_the_reference() -> None:
    """CF-VEC-3: and every operation, and every clause of its own half, has one."""
    subject = behind(Reference())
    found = vectors.load()
    checks = list(vectors.run(found, subject))
    assert [check for check in checks if check.fate is not Fate.PASSED] == []
    assert {vector.send["op"] for vector in found} == CAPABILITIES
    assert len({vector.finds for vector in found}) > 300


def test_every_vector_can_fail() -> None:
    """CF-VEC-3: with the opposite expectation, so none is true of anything."""
    subject = behind(Reference())
    for one in vectors.load():
        reply = subject.ask(**one.send)
        if "refused" in one.expect:
            assert vectors.differs(Reply(result={}, asked=reply.asked), one.expect)
            assert vectors.differs(Reply(refused=Refused("x", "$")), one.expect)
        else:
            assert vectors.differs(Reply(refused=Refused("x", "$")), one.expect)
            for name in one.expect["result"]:
                spoiled = {**(reply.result or {}), name: "spoiled"}
                assert vectors.differs(Reply(result=spoiled, asked=reply.asked), one.expect)


def test_every_clause_that_is_named_stands_in_the_specification() -> None:
    named = {vector.clause for vector in vectors.load()}
    named |= {clause for one in suite.offered().values() for clause in one.clauses}
    assert sorted(named - parts.clauses().keys()) == []


REFUSED = Reply(refused=Refused("bad_value", "$.a"))
JUDGED = Reply(result={"count": 1}, asked=({"state": "s", "question": "q"},))


@pytest.mark.parametrize(
    ("reply", "expect", "said"),
    [
        (REFUSED, {"refused": {"code": "bad_value"}}, ""),
        (REFUSED, {"refused": {"code": "bad_value", "path": "$.a"}}, ""),
        (REFUSED, {"refused": {"code": "bad_value", "path": "$"}}, "the path is $"),
        (REFUSED, {"refused": {"code": "wrong_type"}}, "it has to be refused with wrong_type"),
        (REFUSED, {"result": {}}, "it has to give a result"),
        (JUDGED, {"refused": {"code": "x"}}, "it has to be refused with x"),
        (JUDGED, {"result": {}}, ""),
        (JUDGED, {"result": {"count": 1.0}}, ""),
        (JUDGED, {"result": {"count": True}}, "the result has another count"),
        (JUDGED, {"result": {"detail": None}}, "the result has another detail"),
        (JUDGED, {"result": {}, "asked": [{"state": "s"}]}, ""),
        (JUDGED, {"result": {}, "asked": [{}]}, ""),
        (JUDGED, {"result": {}, "asked": []}, "the service gets 0 requests"),
        (JUDGED, {"result": {}, "asked": [{"state": "t"}]}, "the service gets another request"),
        (JUDGED, {"result": {}, "asked": [{"scale": 1}]}, "the service gets another request"),
    ],
)
def test_what_an_expectation_does_not_name_is_free(
    reply: Reply, expect: dict[str, Any], said: str
) -> None:
    """CF-VEC-3."""
    assert vectors.differs(reply, expect) == said


GOOD = vector("X-1", "CV-RULE-1", "x", {"op": "admit"}, {"result": {}})
BAD: list[tuple[Any, str]] = [
    ("x", "bad.jsonl:2:$: invalid_json"),
    ([], "bad.jsonl:2:$: wrong_type"),
    (GOOD, "bad.jsonl:2:$.id: bad_value"),
    ({**GOOD, "id": "X-2", "clause": "RULE-1"}, "bad.jsonl:2:$.clause: bad_value"),
    ({**GOOD, "id": "X-2", "finds": ""}, "bad.jsonl:2:$.finds: bad_value"),
    ({**GOOD, "id": "X-2", "more": 1}, "bad.jsonl:2:$.more: unknown_field"),
    ({**GOOD, "id": "X-2", "send": {"op": "x"}}, "bad.jsonl:2:$.send: bad_value"),
    ({**GOOD, "id": "X-2", "send": []}, "bad.jsonl:2:$.send: bad_value"),
    ({**GOOD, "id": "X-2", "send": {"op": "admit", "id": 1}}, "bad.jsonl:2:$.send: bad_value"),
    ({**GOOD, "id": "X-2", "expect": []}, "bad.jsonl:2:$.expect: wrong_type"),
    ({**GOOD, "id": "X-2", "expect": {}}, "bad.jsonl:2:$.expect: bad_value"),
    ({**GOOD, "id": "X-2", "expect": {"result": {}, "x": 1}}, "bad.jsonl:2:$.expect: bad_value"),
    ({**GOOD, "id": "X-2", "expect": {"refused": {}}}, "bad.jsonl:2:$.expect.refused.code"),
    ({**GOOD, "id": "X-2", "expect": {"refused": 1}}, "bad.jsonl:2:$.expect.refused: wrong_type"),
]


@pytest.mark.parametrize(("line", "said"), BAD)
def test_a_vector_that_is_none_is_refused_with_its_place(
    tmp_path: Path, line: Any, said: str
) -> None:
    """CF-VEC-3."""
    second = line if line == "x" else json.dumps(line)
    (tmp_path / "bad.jsonl").write_text(f"{json.dumps(GOOD)}\n{second}\n")
    with pytest.raises(VerdictCoreError) as caught:
        vectors.load(tmp_path)
    assert str(caught.value).startswith(said)


def test_the_readme_names_every_file() -> None:
    folder = parts.part("vectors")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for file in folder.glob("*.jsonl"):
        assert re.search(rf"^\|.*\b{file.stem}\b.*\|", readme, re.M), file.name
    assert len(readme.splitlines()) < 80


def test_a_part_that_is_nowhere_is_unreadable() -> None:
    """There is one place, beside the package that is imported."""
    with pytest.raises(VerdictCoreError, match="unreadable"):
        parts.part("no-such-part")
    assert parts.spec_version() in parts.part("SPEC.md").read_text(encoding="utf-8")
