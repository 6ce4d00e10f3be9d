"""The vectors are data: sound, complete where a table is finite, and true of the reference.

The families below are made here, from lists that are written down a second time, and compared with
the files line by line: what is generated cannot drift, and no line of a family can be lost.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from verdict_core.conformance import parts

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
