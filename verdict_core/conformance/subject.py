"""The door through which the property suite sees an implementation, and no other way.

In: documents as bytes, exactly as they would come from outside. Out: a plain JSON object, or the
code and path of a refusal. Law: nothing is asked that SPEC.md does not answer. (SPEC CF-PROTO)
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import frozen

Result = Mapping[str, Any]


@frozen
class Refused:
    """A refusal as it is compared: never its prose. An empty path, as an expectation alone can have
    it, stands for any."""

    code: str
    path: str


@frozen
class Script:
    """What the service does when it is asked: gives `answer` as it is, or fails with `detail`."""

    answer: bytes | None = None
    detail: str | None = None


class Subject(Protocol):
    """One implementation. What it does not claim in `capabilities`, by the name of the method, is
    not asked of it."""

    @property
    def capabilities(self) -> frozenset[str]: ...

    def build(self, summary: bytes, *, max_chars: Any = 16_000) -> Result | Refused:
        """The state of a summary document."""

    def judge(
        self,
        document: bytes,
        *,
        wait_min: Any = 3,
        safe_max: Any = None,
        script: Script | None = None,
    ) -> tuple[Result | Refused, Sequence[Result]]:
        """The judgement of a judge document, and the requests that the service got. Without a
        script there is no service; `safe_max` is configured where it is not None."""

    def request(self, document: bytes) -> Result | Refused:
        """A request that came from outside, checked."""

    def answer(self, document: bytes) -> Result | Refused:
        """An answer, read: `{"choice", "score"}`, or `{"detail"}` where it is not usable."""

    def forbidden(self, document: bytes) -> Result | Refused:
        """`{}` for a payload without a forbidden name."""

    def verify(
        self,
        document: bytes,
        *,
        wait_min: Any = 3,
        max_chars: Any = 16_000,
        scripts: Sequence[Script] | None = None,
    ) -> Result | Refused:
        """Both rates of a corpus of the name `corpus`. The nth asking gets the nth script, those
        after the last get the last."""

    def read_report(self, document: bytes, *, claim: str | None = None) -> Result | Refused:
        """What a verifier's report declares, bound to the claim of that digest."""

    def admit(self, status: str, integrity: str, contract: str, changed: bool) -> Result | Refused:
        """The ruling on a report."""

    def scope(
        self,
        scope: str | None,
        workspace: str,
        *,
        ignores: Sequence[str] = (),
        state_dir: str | None = None,
        harness_home: str | None = None,
    ) -> Result | Refused:
        """`{"root"}` of a guard scope in a workspace that is there; paths are absolute."""

    def fold(self, document: bytes) -> Result | Refused:
        """What the lines of a ledger add up to."""

    def chain(self, document: bytes, *, state: Mapping[str, Any] | None = None) -> Result | Refused:
        """The audit of a ledger, against the number and hash that its `state.json` covers."""


CAPABILITIES = frozenset(name for name in vars(Subject) if not name.startswith("_")) - {
    "capabilities"
}
"""Everything that can be asked. (SPEC CF-PROTO-4)"""
