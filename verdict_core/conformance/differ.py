"""Two implementations on the same random input, and the smallest on which they differ.

In: two children. Out: what came of each operation that both claim. Law: results, reasons, details,
codes and paths are compared, prose never; what the specification leaves free is no difference.
(SPEC CF-DIFF)
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
from attrs import asdict, frozen
from hypothesis import HealthCheck, Phase, given, settings

import verdict_core
from verdict_core.conformance import messages, parts, protocol
from verdict_core.conformance.checks import Fate
from verdict_core.conformance.child import Child, GaveUp, Gone, Misbehaved
from verdict_core.conformance.examples import EXAMPLES
from verdict_core.conformance.protocol import Reply
from verdict_core.conformance.remote import Exchange, Hello, Remote, Unsupported

FORMAT = "verdict-core/conformance-difference/1"

# Which of several faults of bytes and JSON is named is free. (SPEC CV-ERR-3)
_OF_JSON = frozenset(
    {
        "invalid_utf8",
        "byte_order_mark",
        "invalid_json",
        "duplicate_key",
        "lone_surrogate",
        "too_deep",
    }
)


@frozen
class Difference:
    """What came of one operation: a fate and why; where it failed, the line that was sent and what
    came from each, empty where none did. (SPEC CF-DIFF-2)"""

    op: str
    fate: Fate
    reason: str = ""
    send: str = ""
    one: str = ""
    other: str = ""


@frozen
class Differences:
    """Two commands, who they say that they are, and each operation in turn. (SPEC CF-DIFF-1)"""

    seed: int
    examples: int
    commands: tuple[tuple[str, ...], tuple[str, ...]]
    hellos: tuple[Hello, Hello]
    ops: tuple[Difference, ...]

    @property
    def exit_status(self) -> int:
        """0 no difference, 1 one, 4 incomplete, as for a run. (SPEC CF-RUN-2)"""
        fates = {one.fate for one in self.ops}
        if Fate.FAILED in fates:
            return 1
        is_whole = Fate.PASSED in fates and fates <= {Fate.PASSED, Fate.NOT_CLAIMED}
        return 0 if is_whole else 4

    def payload(self) -> dict[str, Any]:
        """The JSON object."""
        return {
            "format": FORMAT,
            "exit": self.exit_status,
            "suite": verdict_core.__version__,
            "spec": parts.spec_version(),
            "protocol": protocol.VERSION,
            "seed": self.seed,
            "examples": self.examples,
            "commands": self.commands,
            "subjects": [
                {**asdict(hello), "capabilities": sorted(hello.capabilities)}
                for hello in self.hellos
            ],
            "operations": [asdict(one) for one in self.ops],
        }


def compare(one: Child, other: Child, *, seed: int, examples: int) -> Differences:
    """Ask both the same. Raises Usage where one cannot be started, Misbehaved, GaveUp, Gone or
    Unsupported where one does not say hello. (SPEC CF-DIFF-1)"""
    try:
        pair = Remote(one), Remote(other)
        with _workspace() as workspace:
            found = [_compared(op, pair, workspace, seed, examples) for op in EXAMPLES]
        return Differences(
            seed=seed,
            examples=examples,
            commands=(one.command, other.command),
            hellos=(pair[0].hello, pair[1].hello),
            ops=tuple(found),
        )
    finally:
        one.stop()
        other.stop()


class _Differs(Exception):
    pass


def _compared(
    op: str, pair: tuple[Remote, Remote], workspace: str, seed: int, examples: int
) -> Difference:
    told: list[Exchange] = []
    silent = [remote.hello.name for remote in pair if op not in remote.capabilities]
    if silent:
        return Difference(op, Fate.NOT_CLAIMED, f"not claimed by {' and '.join(silent)}")

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        phases=[Phase.generate, Phase.shrink],
        # How slow another implementation is says nothing about it.
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        deadline=None,
        database=None,
    )
    @given(messages.requests(op, workspace))
    def both_say_the_same(members: Mapping[str, Any]) -> None:
        told.clear()
        replies = []
        for remote in pair:
            try:
                replies.append(remote.ask(op, **members))
            finally:
                told.append(remote.exchanges[-1])
        if not agree(*replies):
            raise _Differs("they differ")

    for remote in pair:
        remote.begin()
    try:
        both_say_the_same()
    except Unsupported as error:
        return Difference(op, Fate.SKIPPED, f"unsupported: {error}")
    except Gone as error:
        return Difference(op, Fate.NOT_RUN, str(error))
    except (_Differs, Misbehaved, GaveUp) as error:
        # The second was not asked where the first gave no reply.
        came = [one.came.decode(errors="replace") for one in told]
        send = told[-1].send.decode()
        return Difference(op, Fate.FAILED, str(error), send, came[0], "".join(came[1:]))
    return Difference(op, Fate.PASSED)


def agree(one: Reply, other: Reply) -> bool:
    """Whether two replies say the same, as far as the specification does. (SPEC CF-DIFF-2)"""
    if one.refused and other.refused:
        codes = {one.refused.code, other.refused.code}
        is_free = codes <= _OF_JSON or codes == {"bad_config"}
        if not is_free and one.refused != other.refused:
            return False
    elif not protocol.same(one.result, other.result) or one.refused != other.refused:
        return False
    asked = [[{**request, "question": ""} for request in reply.asked] for reply in (one, other)]
    return protocol.same(*asked)


@contextmanager
def _workspace() -> Iterator[str]:
    """A directory for guard scopes: files, metadata, an empty directory, a link that leads out."""
    with tempfile.TemporaryDirectory(prefix="verdict-core-") as place:
        top = Path(place).resolve() / "w"
        for name in ("src/a/f", "a/f", "f", ".git/HEAD"):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_bytes(b"x")
        (top / "nothing").mkdir()
        (top / "out").symlink_to("..")
        yield str(top)
