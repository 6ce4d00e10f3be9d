"""A Subject at the other side of a door: what is asked goes through the protocol.

In: a Door. Out: what the other side says, checked for its shape and nothing else. Law: what its
`hello` does not claim is not asked. (SPEC CF-PROTO, CF-RUN)
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from verdict_core.conformance import protocol
from verdict_core.conformance.child import Door, Fault, Misbehaved
from verdict_core.conformance.subject import Refused, Result, Script
from verdict_core.errors import InvalidJson, VerdictCoreError

REMEMBERED = 4


class NotClaimed(BaseException):
    """What would be asked is not among the capabilities. No failure, and no Exception either: to
    look for a smaller input would be in vain."""


class Unsupported(BaseException):
    """The other side claims the operation, and does not support what was asked with it."""


@frozen
class Hello:
    """Who is there. (SPEC CF-PROTO-4)"""

    protocol: int
    spec: str
    name: str
    version: str
    capabilities: frozenset[str]


@frozen
class Exchange:
    """A line that was sent, and the line that came: empty where none did."""

    send: bytes
    came: bytes


class Remote:
    """An implementation behind a door. `exchanges` are the last ones, `asked` is how many there
    were. Making one says hello.

    Raises Misbehaved, GaveUp or Gone for whatever is no reply, NotClaimed, Unsupported.
    """

    def __init__(self, door: Door) -> None:
        self.door = door
        self.exchanges: deque[Exchange] = deque(maxlen=REMEMBERED)
        self.asked = 0
        self._number = 0
        self.hello = self.greet()

    def __repr__(self) -> str:
        # Stands in what a failure says, which is to be the same every time.
        return "<subject>"

    @property
    def capabilities(self) -> frozenset[str]:
        return self.hello.capabilities

    def begin(self) -> None:
        """Forget the exchanges: what comes belongs to another check."""
        self.exchanges.clear()
        self.door.restarts = 0

    def greet(self) -> Hello:
        """What the other side says to hello; and whether it has said anything unasked before."""
        result = dict(self.ask("hello", protocol=protocol.VERSION).result or {})
        result["capabilities"] = frozenset(result["capabilities"])
        return Hello(**result)

    def ask(self, op: str, **members: Any) -> protocol.Reply:
        """One request, and its reply. (SPEC CF-PROTO-1 to CF-PROTO-3)"""
        if op != "hello" and op not in self.capabilities:
            raise NotClaimed(op)
        self._number += 1
        reply = self._read(self.send(protocol.request(self._number, op, members)), op)
        if reply.error is not None:
            raise Misbehaved(Fault.ERROR, reply.error)
        if reply.unsupported is not None:
            raise Unsupported(reply.unsupported)
        return reply

    def send(self, line: bytes) -> bytes:
        """The line that comes back for a line, whatever either says."""
        self.asked += 1
        self.exchanges.append(Exchange(line, b""))
        came = self.door.ask(line)
        self.exchanges[-1] = Exchange(line, came)
        return came

    def _read(self, line: bytes, op: str) -> protocol.Reply:
        try:
            return protocol.read_reply(line, self._number, op)
        except InvalidJson as error:
            raise self.door.fail(Fault.GARBAGE, str(error)) from None
        except VerdictCoreError as error:
            if error.code == "other_id":
                raise self.door.fail(Fault.OTHER_ID, str(error)) from None
            raise Misbehaved(Fault.MISSHAPEN, str(error)) from None

    def _said(self, op: str, **members: Any) -> Result | Refused:
        reply = self.ask(op, **members)
        return reply.refused or reply.result or {}

    def build(self, summary: bytes, *, max_chars: Any = 16_000) -> Result | Refused:
        document = protocol.document(summary)
        return self._said("build", document=document, max_chars=protocol.number(max_chars))

    def judge(
        self,
        document: bytes,
        *,
        wait_min: Any = 3,
        safe_max: Any = None,
        script: Script | None = None,
    ) -> tuple[Result | Refused, Sequence[Result]]:
        reply = self.ask(
            "judge",
            document=protocol.document(document),
            wait_min=protocol.number(wait_min),
            safe_max=None if safe_max is None else protocol.number(safe_max),
            service=protocol.service(None if script is None else [script]),
        )
        return reply.refused or reply.result or {}, reply.asked

    def request(self, document: bytes) -> Result | Refused:
        return self._said("request", document=protocol.document(document))

    def answer(self, document: bytes) -> Result | Refused:
        return self._said("answer", document=protocol.document(document))

    def forbidden(self, document: bytes) -> Result | Refused:
        return self._said("forbidden", document=protocol.document(document))

    def verify(
        self,
        document: bytes,
        *,
        wait_min: Any = 3,
        max_chars: Any = 16_000,
        scripts: Sequence[Script] | None = None,
    ) -> Result | Refused:
        return self._said(
            "verify",
            document=protocol.document(document),
            wait_min=protocol.number(wait_min),
            max_chars=protocol.number(max_chars),
            service=protocol.service(scripts),
        )

    def read_report(self, document: bytes, *, claim: str | None = None) -> Result | Refused:
        return self._said("read_report", document=protocol.document(document), claim=claim)

    def admit(self, status: str, integrity: str, contract: str, changed: bool) -> Result | Refused:
        return self._said(
            "admit", status=status, integrity=integrity, contract=contract, changed=changed
        )

    def scope(
        self,
        scope: str | None,
        workspace: str,
        *,
        ignores: Sequence[str] = (),
        state_dir: str | None = None,
        harness_home: str | None = None,
    ) -> Result | Refused:
        return self._said(
            "scope",
            scope=scope,
            workspace=workspace,
            ignores=list(ignores),
            state_dir=state_dir,
            harness_home=harness_home,
        )

    def fold(self, document: bytes) -> Result | Refused:
        return self._said("fold", document=protocol.document(document))

    def chain(self, document: bytes, *, state: Mapping[str, Any] | None = None) -> Result | Refused:
        return self._said("chain", document=protocol.document(document), state=state)
