"""Children that a conformance run meets: `python conformance_children.py NAME`.

Each is the reference behind the door with one rule broken, or one that misbehaves as a process when
it is asked for one cell of the admission table. With no NAME it is the reference itself.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from verdict_core.conformance.reference import Reference
from verdict_core.conformance.serve import reply
from verdict_core.conformance.subject import Refused, Result

CELL = b'"status":"blocked","integrity":"violation","contract":"invalid","changed":true'


# --- rules that are broken, and the clauses that have to fail, and no other


class FieldUnknownFirst(Reference):
    """CV-RULE-4."""

    def judge(self, document: bytes, **options: Any) -> tuple[Result | Refused, Sequence[Result]]:
        said, asked = super().judge(document, **options)
        if isinstance(said, Refused) or not said["unknown"]:
            return said, asked
        return {**said, "reasons": said["reasons"][-1:] + said["reasons"][:-1]}, asked


class BudgetInBytes(Reference):
    """CV-STATE-6."""

    def build(self, summary: bytes, *, max_chars: Any = 16_000) -> Result | Refused:
        state = super().build(summary, max_chars=max_chars)
        if not isinstance(state, Refused) and len(state["text"].encode()) > max_chars:
            return Refused("over_budget", "$")
        return state


class ClampsTheScore(Reference):
    """CV-ASK-3."""

    def answer(self, document: bytes) -> Result | Refused:
        said = super().answer(document)
        if said != {"detail": "bad_score"}:
            return said
        given = json.loads(document)
        if type(given.get("score")) not in (int, float):
            return said
        return {"choice": given["choice"], "score": 1}


class ScoreIsAVote(Reference):
    """CV-JUDGE-5."""

    def judge(self, document: bytes, **options: Any) -> tuple[Result | Refused, Sequence[Result]]:
        said, asked = super().judge(document, **options)
        if isinstance(said, Refused) or said["score"] is None or said["score"] >= 0.125:
            return said, asked
        return {**said, "verdict": "preserve_first"}, asked


class AsksTwice(Reference):
    """CV-JUDGE-3."""

    def judge(self, document: bytes, **options: Any) -> tuple[Result | Refused, Sequence[Result]]:
        said, asked = super().judge(document, **options)
        return said, [*asked, *asked]


class ExpectsAnAnswer(Reference):
    """PG-ADMIT-4."""

    def admit(self, status: str, integrity: str, contract: str, changed: bool) -> Result | Refused:
        said = super().admit(status, integrity, contract, changed)
        assert not isinstance(said, Refused)
        return {**said, "reasons": said["reasons"][:1]}


class ReadsQuotes(Reference):
    """PG-REPORT-6."""

    def read_report(self, document: bytes, *, claim: str | None = None) -> Result | Refused:
        return super().read_report(re.sub(rb"(^|[\r\n])> ", rb"\1", document), claim=claim)


class LargestTimeWins(Reference):
    """PG-STATE-1."""

    def fold(self, document: bytes) -> Result | Refused:
        def clock(line: Any) -> str:
            try:
                return str(json.loads(line)["time"])
            except (ValueError, KeyError, TypeError):
                return ""

        return super().fold(b"\n".join(sorted(document.split(b"\n"), key=clock)))


class ForgetsAName(Reference):
    """CV-KEY-1."""

    def forbidden(self, document: bytes) -> Result | Refused:
        said = super().forbidden(document)
        return {} if isinstance(said, Refused) and said.path.endswith(".salience") else said


class ClaimsLittle(Reference):
    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"admit"})


class ClaimsNothing(Reference):
    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset()


BROKEN: dict[str, type[Reference]] = {
    one.__name__: one
    for one in (
        FieldUnknownFirst, BudgetInBytes, ClampsTheScore, ScoreIsAVote, AsksTwice, ExpectsAnAnswer,
        ReadsQuotes, LargestTimeWins, ForgetsAName, ClaimsLittle, ClaimsNothing,
    )
}  # fmt: skip


# --- processes that misbehave; each is given the right reply and writes what it likes


def say(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def crash(right: bytes) -> None:
    sys.stderr.write("something broke\n")
    sys.stderr.flush()
    os._exit(3)


def crash_in_a_line(right: bytes) -> None:
    say(right[:10])
    os._exit(0)


def killed(right: bytes) -> None:
    os.kill(os.getpid(), 9)


def hang(right: bytes) -> None:
    time.sleep(600)


def hang_in_a_line(right: bytes) -> None:
    say(right[:10])
    time.sleep(600)


def garbage(right: bytes) -> None:
    say(b"DEBUG: got a request\n")


def other_id(right: bytes) -> None:
    say(json.dumps({**json.loads(right), "id": 1}).encode() + b"\n")


def flood(right: bytes) -> None:
    while True:
        say(b"x" * 65536)


def two_replies(right: bytes) -> None:
    say(right + b"\n" + right + b"\n")


def one_more_later(right: bytes) -> None:
    say(right + b"\n")
    time.sleep(0.05)
    say(right + b"\n")


def slow(right: bytes) -> None:
    time.sleep(0.02)
    say(right + b"\n")


def talks_on_stderr(right: bytes) -> None:
    sys.stderr.write("x" * 200_000)
    say(right + b"\n")


def misshapen(right: bytes) -> None:
    said = json.loads(right)
    said["result"]["reasons"] = "none"
    say(json.dumps(said).encode() + b"\n")


def two_kinds(right: bytes) -> None:
    say(json.dumps({**json.loads(right), "error": "x"}).encode() + b"\n")


def error(right: bytes) -> None:
    say(json.dumps({"id": json.loads(right)["id"], "error": "not done yet"}).encode() + b"\n")


def unsupported(right: bytes) -> None:
    refused = {"id": json.loads(right)["id"], "unsupported": {"capability": "invalid"}}
    say(json.dumps(refused).encode() + b"\n")


def closes_its_output(right: bytes) -> None:
    os.close(1)
    time.sleep(600)


MISBEHAVES: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (
        crash, crash_in_a_line, killed, hang, hang_in_a_line, garbage, other_id, flood,
        two_replies, one_more_later, slow, talks_on_stderr, misshapen, two_kinds, error,
        unsupported, closes_its_output,
    )
}  # fmt: skip


def at_once(name: str) -> None:
    """What goes wrong before anything is asked."""
    if name == "banner":
        say(b"welcome\n")
    if name == "dead":
        sys.exit("no license")
    if name == "other_protocol":
        line = sys.stdin.buffer.readline()
        right = json.loads(reply(line, Reference()))
        right["result"]["protocol"] = 2
        say(json.dumps(right).encode() + b"\n")
    if name == "claims_what_there_is_not":
        line = sys.stdin.buffer.readline()
        right = json.loads(reply(line, Reference()))
        right["result"]["capabilities"] = ["select"]
        say(json.dumps(right).encode() + b"\n")


def main(name: str = "", *ignored: str) -> None:
    at_once(name)
    subject = BROKEN.get(name, Reference)()
    for line in sys.stdin.buffer:
        right = reply(line, subject)
        if name in MISBEHAVES and CELL in line:
            MISBEHAVES[name](right)
        else:
            say(right + b"\n")
    if name == "goes_on":
        time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
