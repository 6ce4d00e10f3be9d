"""Which rows of a Claude Code record are alive.

In: for each row its id, its parent's and what it says, in file order. Out: the branch that ends in
the leaf. Laws: a row whose parent is missing is joined to the row before it, so a lost row never
kills what stands before it; a row without any parent begins a conversation, and nothing before it
counts; a sidechain row never counts. (SPEC RD-CC-3)
"""

from array import array
from collections.abc import Sequence
from enum import IntEnum

from attrs import define, field, frozen

_ROOT = -1
_MISSING = -2

# A row's flags: its role, and these.
TALKS = 16  # a user or assistant row
SIDE = 32  # a sidechain row
BOUNDARY = 64  # a compact boundary, or its summary
_ROLE = 15
_ENDS = TALKS | BOUNDARY


class Role(IntEnum):
    """What a row says about where the turn stands."""

    NOTHING = 0
    TEXT = 1  # the assistant's words
    THOUGHT = 2
    CALL = 3
    RESULT = 4
    MESSAGE = 5  # the person's words
    NUDGE = 6  # what asks the assistant to go on, and is not the person
    STOP = 7  # an interruption, a wordless rejection, a hook that ended the turn


@frozen
class Branch:
    """The rows that count. `alive` has a byte a row, `roles` the role of each live row and NOTHING
    for the others; `root` is the first of them. `sliced`: root's parent is not in the record, which
    begins in mid-session. `joined` counts the other rows whose parent no row has, `left_out` the
    user and assistant rows that are no sidechain and still do not count; `restarted`: some of those
    stand before root, in a conversation that is over."""

    alive: bytearray
    roles: bytes
    root: int
    sliced: bool
    joined: int
    left_out: int
    restarted: bool


@define
class Rows:
    """The graph, built row by row. A row's number is its place among the rows, from 0. Ids are
    bytes, as they stand in the record: a long one has a hundred thousand of them."""

    _flags: bytearray = field(factory=bytearray)
    _parents: "array[int]" = field(factory=lambda: array("q"))
    _numbers: dict[bytes, int] = field(factory=dict)
    _pending: dict[int, bytes] = field(factory=dict)
    # For each row that is part of an answer: its number, and the answer's.
    _answer_rows: "array[int]" = field(factory=lambda: array("q"))
    _answers: "array[int]" = field(factory=lambda: array("q"))
    _answer_numbers: dict[bytes, int] = field(factory=dict)
    # The row of each call, and for each result: its row, and its call's.
    call_rows: dict[bytes, int] = field(factory=dict)
    _result_rows: "array[int]" = field(factory=lambda: array("q"))
    _called_rows: "array[int]" = field(factory=lambda: array("q"))
    _early_results: list[tuple[int, bytes]] = field(factory=list)

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, uuid: bytes, parent: bytes | None, flags: int) -> int:
        """Adds a row and returns its number. An empty `uuid` is none."""
        if parent is not None:
            return self.link(uuid, parent, flags)
        number = len(self._parents)
        # A compaction begins no conversation, even where it names no parent.
        self._parents.append(_MISSING if flags & BOUNDARY else _ROOT)
        self._flags.append(flags)
        self._numbers[uuid] = number
        return number

    def link(self, uuid: bytes, parent: bytes, flags: int) -> int:
        """Adds a row that names its parent."""
        number = len(self._parents)
        place = self._numbers.get(parent, _MISSING)
        if place == _MISSING:
            self._pending[number] = parent
        self._parents.append(place)
        self._flags.append(flags)
        self._numbers[uuid] = number
        return number

    def add_answer(self, number: int, answer: bytes) -> None:
        """Row `number` is part of the assistant's message with this id."""
        known = self._answer_numbers
        self._answer_rows.append(number)
        self._answers.append(known.setdefault(answer, len(known)))

    def set_role(self, number: int, role: Role) -> None:
        """What row `number` says, once it has been read."""
        self._flags[number] |= role

    def add_result(self, number: int, call: bytes) -> None:
        """Row `number` holds the result of this call, whose row can come later."""
        called = self.call_rows.get(call)
        if called is None:
            self._early_results.append((number, call))
        else:
            self._result_rows.append(number)
            self._called_rows.append(called)

    @property
    def sidechain(self) -> int:
        """How many rows are sidechain rows."""
        return sum(1 for flags in self._flags if flags & SIDE)

    @property
    def leaf(self) -> int:
        """The last row that can end a branch, or -1."""
        numbers = range(len(self) - 1, -1, -1)
        return next(
            (n for n in numbers if self._flags[n] & _ENDS and not self._flags[n] & SIDE), -1
        )

    def branch(self) -> Branch:
        """The rows that count, once all are added. There must be a leaf. (SPEC RD-CC-3)"""
        for number, uuid in self._pending.items():
            # A result can be written before the call that is its parent.
            self._parents[number] = self._numbers.get(uuid, _MISSING)
        self._pending.clear()
        early, self._early_results = self._early_results, []
        for number, call in early:
            if call in self.call_rows:
                self.add_result(number, call)
        leaf = self.leaf
        alive, root, sliced, joined = self._walk(leaf)
        self._revive(alive, root, leaf)
        before = self._left_out(alive, range(root))
        return Branch(
            alive=alive,
            roles=bytes(
                flags & _ROLE if lives else 0
                for flags, lives in zip(self._flags, alive, strict=True)
            ),
            root=root,
            sliced=sliced,
            joined=joined,
            left_out=before + self._left_out(alive, range(root, len(self))),
            restarted=before > 0 and not sliced,
        )

    def _walk(self, number: int) -> tuple[bytearray, int, bool, int]:
        """From the leaf to the root: the chain, its last row, whether that row has a parent which
        the record lacks, and how many others have."""
        alive = bytearray(len(self))
        joined = 0
        while True:
            alive[number] = 1
            parent = self._parents[number]
            if parent == _ROOT:
                return alive, number, False, joined
            # A parent that is its own descendant is as good as none.
            if parent == _MISSING or alive[parent]:
                parent = self._before(number, alive)
                if parent < 0:
                    return alive, number, True, joined
                joined += 1
            number = parent

    def _before(self, number: int, alive: bytearray) -> int:
        number -= 1
        while number >= 0 and (self._flags[number] & SIDE or alive[number]):
            number -= 1
        return number

    def _revive(self, alive: bytearray, root: int, leaf: int) -> None:
        """Rows beside the chain that count: blocks of a live answer, results of live calls, and
        what hangs behind the leaf."""
        pairs = tuple(zip(self._answer_rows, self._answers, strict=True))
        answers = {answer for number, answer in pairs if alive[number]}
        for number, answer in pairs:
            if number >= root and answer in answers:
                alive[number] = 1
        for number, called in zip(self._result_rows, self._called_rows, strict=True):
            if number >= root and alive[called]:
                alive[number] = 1
        for number in range(leaf + 1, len(self)):
            parent = self._parents[number]
            if parent >= 0 and alive[parent]:
                alive[number] = 1

    def _left_out(self, alive: bytearray, numbers: range) -> int:
        flags = self._flags
        return sum(1 for n in numbers if flags[n] & (TALKS | SIDE) == TALKS and not alive[n])


def last_row(roles: Sequence[int], among: frozenset[Role]) -> int:
    """The last row that has one of these roles, or -1."""
    return next((n for n in range(len(roles) - 1, -1, -1) if roles[n] in among), -1)
