"""The door through which the property suite sees an implementation, and no other way.

In: documents as bytes, exactly as they would come from outside. Out: a plain JSON object, or the
code and path of a refusal. (SPEC CV-ERR-1)
"""

from collections.abc import Mapping
from typing import Any, Protocol

from attrs import frozen

Result = Mapping[str, Any]


@frozen
class Refused:
    """A refusal as it is compared: never its prose."""

    code: str
    path: str


@frozen
class Script:
    """What the service does when it is asked: gives `answer` as it stands, or fails with `detail`."""

    answer: bytes | None = None
    detail: str | None = None


class Subject(Protocol):
    """One implementation of the context half."""

    def build(self, summary: bytes, *, max_chars: int = 16_000) -> Result | Refused:
        """The state of a summary document."""

    def judge(
        self, document: bytes, *, wait_min: int = 3, script: Script | None = None
    ) -> tuple[Result | Refused, int]:
        """The judgement of a judge document, and how often the service was asked."""

    def request(self, document: bytes) -> Result | Refused:
        """A request that came from outside, checked."""

    def answer(self, document: bytes) -> Result | Refused:
        """An answer, read: `{"choice", "score"}`, or `{"detail"}` where it is not usable."""

    def forbidden(self, document: bytes) -> Result | Refused:
        """`{}` for a payload without a forbidden name."""
