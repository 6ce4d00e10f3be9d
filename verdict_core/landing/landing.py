"""One run's landings: writing unlanded work down, and what is left of a summary then.

In: a summary, and the top level that its paths are of. Out: a ref, a handoff, what stayed unlanded;
or the summary without what is landed. Laws: nothing is called landed that was not looked at again
after it was written; what is unknown stays unknown. (SPEC LD)
"""

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from verdict_core import wire
from verdict_core.context import FIELDS, Summary
from verdict_core.errors import Unreadable, Unwritable, visible
from verdict_core.git import GitFailed, named_top, show_path
from verdict_core.landing import handoffs
from verdict_core.landing.handoffs import Handoff
from verdict_core.landing.held import held_items
from verdict_core.landing.names import name_of, run_of
from verdict_core.landing.repository import NAMESPACE, Change, Clock, Ref, Repository
from verdict_core.landing.restore import Restored, restore, stored
from verdict_core.landing.snapshot import Snapshot, store
from verdict_core.landing.worktree import Unfit

UNCOMMITTED = "uncommitted"
_NO_TOP = Unfit("no_repository", "no repository was named")
_LATE = Unfit("deadline", "the time was up")
_NOT_EQUAL = Unfit("not_verified", "it changed meanwhile, or what was stored cannot be read back")


@frozen
class Unlanded:
    """An item that is landed nowhere: `field` it stands in, `code` of SPEC section 19, and `text`,
    one line for people."""

    field: str
    item: str
    code: str
    text: str


@frozen
class Landed:
    """What one landing came to. `ref` and `handoff` are those that it made; where everything of
    their kind was landed before, the newest there are; None where there is none. (SPEC LD-LAND)"""

    ref: str | None
    handoff: Path | None
    unlanded: tuple[Unlanded, ...]


@frozen
class Kept:
    """What is kept of a run, the newest last. A handoff without a payload cannot be read."""

    refs: tuple[Ref, ...]
    handoffs: tuple[Handoff, ...]


@frozen
class Shown:
    """One landing: its ref, how each path of it differs from the commit it stands on, and the
    handoff that goes with it."""

    ref: Ref | None
    changes: tuple[Change, ...]
    handoff: Handoff | None


@frozen
class Forgotten:
    """What was deleted: names of refs, and how many handoffs."""

    refs: tuple[str, ...]
    handoffs: int


class Landing:
    """The landings of one run: refs in the repositories that it worked in, handoffs below
    `<state>/landings`. `run` is a run id (SPEC PG-RUN-1). Raises WrongType or BadValue."""

    def __init__(self, state_directory: Path, run: str) -> None:
        self.run = wire.text(run, "run")
        self.name = name_of(run)
        self.directory = state_directory.absolute() / "landings" / self.name

    def land(self, summary: Summary, top: Path | None, *, deadline: float | None = None) -> Landed:
        """Writes down what of `summary` is not landed yet: files of the repository whose top level
        is `top` below a new ref, all else into a new handoff. `deadline` is a value of
        `time.monotonic`. Raises nothing for what cannot be landed: that is `unlanded`.
        (SPEC LD-LAND-1 to LD-LAND-5)"""
        place = _Place.of(top, Clock(deadline))
        left = self._remaining(summary, place)
        if not left.count:
            return Landed(self._newest_ref(summary, place), self._newest(summary), ())
        if place.clock.passed:
            return Landed(None, None, _unlanded(left, {}, _LATE))
        handoff, failures = None, dict[tuple[str, str], Unfit]()
        if any(getattr(left, name) for name in handoffs.FIELDS):
            # Before the files: it costs least and holds what nothing else does.
            handoff, failures = self._hand_off(summary, place)
        taken = Snapshot(self._newest_ref(summary, place))
        if left.uncommitted:
            # All of them, also those that are landed: so the newest ref is whole in itself.
            taken = self._store(summary, place)
            failures |= {(UNCOMMITTED, item): why for item, why in taken.failures.items()}
        after = self._remaining(summary, place)
        unlanded = _unlanded(after, failures, _LATE if place.clock.passed else _NOT_EQUAL)
        payload = self._payload(summary, place, taken.ref, unlanded)
        with suppress(OSError):  # what was written before stands
            if handoff is not None:
                handoffs.replace(handoff, payload)
            elif taken.made:
                handoff = handoffs.write(self.directory, payload)
        return Landed(taken.ref, handoff or self._newest(summary), unlanded)

    def remaining(
        self, summary: Summary, top: Path | None, *, deadline: float | None = None
    ) -> Summary:
        """The summary without what is landed, looked at anew: a path leaves it while a ref of the
        run holds it as it is now, an item while a readable handoff of this session holds the same
        string. `deadline` is as for `land`. Raises nothing: what cannot be looked at stays.
        (SPEC LD-STAY)"""
        return self._remaining(summary, _Place.of(top, Clock(deadline)))

    def list(self, top: Path | None) -> Kept:
        """All that is kept of the run, in the repository of `top` and in the state directory.
        Raises `GitFailed`. (SPEC LD-CLI-2)"""
        refs = () if top is None else _repository(top).refs(self.name)
        return Kept(refs, handoffs.read_all(self.directory, self.run))

    def show(self, top: Path | None, number: int | None = None) -> Shown:
        """The newest landing, or the one whose ref has this number. Raises Unreadable where there
        is none, or `GitFailed`. (SPEC LD-CLI-3)"""
        kept = self.list(top)
        ref = self._chosen(kept.refs, number) if kept.refs or number is not None else None
        named = [one for one in kept.handoffs if one.payload is not None]
        if number is not None and ref is not None:
            named = [one for one in named if one.payload and one.payload["ref"] == ref.name]
        if ref is None and not named:
            raise self._nothing(number)
        changes = () if ref is None or top is None else stored(_repository(top), ref)
        return Shown(ref, changes, named[-1] if named else None)

    def restore_into(self, directory: Path, top: Path, number: int | None = None) -> Restored:
        """Writes the files of the newest ref, or of the one with this number, below `directory`,
        which is empty, or is made. Raises Unreadable where there is none, Unwritable, or
        `GitFailed`. (SPEC LD-BACK)"""
        repository = _repository(top)
        ref = self._chosen(repository.refs(self.name), number)
        return restore(repository, ref, directory)

    def forget(self, top: Path | None) -> Forgotten:
        """Deletes the refs of the run in the repository of `top`, and its handoffs. Raises
        `GitFailed` or Unwritable; what was deleted until then stays deleted. (SPEC LD-GONE)"""
        refs = () if top is None else _repository(top).refs(self.name)
        if refs and top is not None:
            _repository(top).delete(refs)
        try:
            count = handoffs.forget(self.directory)
        except OSError as error:
            raise Unwritable(str(error), path=str(self.directory)) from None
        return Forgotten(tuple(ref.name for ref in refs), count)

    # --- the two halves

    def _remaining(self, summary: Summary, place: "_Place") -> Summary:
        left: dict[str, tuple[str, ...]] = {}
        if summary.uncommitted and place.repository is not None:
            landed = held_items(place.repository, self.name, summary.uncommitted)
            left[UNCOMMITTED] = tuple(i for i in summary.uncommitted if i not in landed)
        most = handoffs.held(self.directory, self.run, summary.session)
        for name in handoffs.FIELDS:
            left[name] = _without(getattr(summary, name), most[name])
        return Summary(**{**summary.payload(), **left})

    def _store(self, summary: Summary, place: "_Place") -> Snapshot:
        if place.repository is not None:
            return store(place.repository, self.name, summary.uncommitted)
        return Snapshot(failures=dict.fromkeys(summary.uncommitted, place.trouble))

    def _hand_off(
        self, summary: Summary, place: "_Place"
    ) -> tuple[Path | None, dict[tuple[str, str], Unfit]]:
        try:
            payload = self._payload(summary, place, None, ())
            return handoffs.write(self.directory, payload), {}
        except OSError as error:
            why = Unfit("handoff_failed", str(error))
            items = ((name, item) for name in handoffs.FIELDS for item in getattr(summary, name))
            return None, dict.fromkeys(items, why)

    def _payload(
        self, summary: Summary, place: "_Place", ref: str | None, unlanded: tuple[Unlanded, ...]
    ) -> Mapping[str, Any]:
        return {
            **summary.payload(),
            "format": handoffs.FORMAT,
            "run": self.run,
            "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "top": None if place.top is None else show_path(os.fsencode(place.top)),
            "ref": ref,
            "unlanded": [
                {"field": u.field, "item": u.item, "code": u.code, "text": visible(u.text)}
                for u in unlanded
            ],
        }

    # --- what there is

    def _newest_ref(self, summary: Summary, place: "_Place") -> str | None:
        if not summary.uncommitted or place.repository is None:
            return None
        try:
            refs = place.repository.refs(self.name)
        except GitFailed:
            return None
        return refs[-1].name if refs else None

    def _newest(self, summary: Summary) -> Path | None:
        """The newest handoff of this session that can be read."""
        found = [
            one.path
            for one in handoffs.read_all(self.directory, self.run)
            if one.payload is not None and one.payload["session"] == summary.session
        ]
        return found[-1] if found else None

    def _chosen(self, refs: tuple[Ref, ...], number: int | None) -> Ref:
        found = [ref for ref in refs if number in (None, ref.number)]
        if not found:
            raise self._nothing(number)
        return found[-1]

    def _nothing(self, number: int | None) -> Unreadable:
        path = f"{NAMESPACE}/{self.name}/{'' if number is None else number}"
        text = "nothing is landed there; `land --list` names the runs that landed"
        return Unreadable(text, path=path)


def runs(state_directory: Path, top: Path | None) -> tuple[str, ...]:
    """The ids of the runs that have a ref in the repository of `top`, or a handoff that says that
    it is of `top`. Raises `GitFailed`. (SPEC LD-CLI-2)"""
    found = set() if top is None else _repository(top).names()
    shown = None if top is None else show_path(os.fsencode(os.path.realpath(top)))
    folder = state_directory / "landings"
    for name in handoffs.names(folder):
        run = run_of(name)
        kept = handoffs.read_all(folder / name, run) if run else ()
        if any(one.payload is not None and one.payload["top"] == shown for one in kept):
            found.add(name)
    return tuple(sorted(run for name in found if (run := run_of(name))))


@frozen
class _Place:
    """Where the paths of a summary are: its repository, or why there is none."""

    top: Path | None
    clock: Clock
    repository: Repository | None
    trouble: Unfit

    @classmethod
    def of(cls, top: Path | None, clock: Clock) -> "_Place":
        if top is None:
            return cls(None, clock, None, _NO_TOP)
        real = Path(os.path.realpath(top))
        if clock.passed:
            return cls(real, clock, None, _LATE)
        try:
            return cls(real, clock, Repository(named_top(top, limit=clock.left()), clock), _NO_TOP)
        except GitFailed as failure:
            return cls(real, clock, None, Unfit(failure.code, failure.message))


def _repository(top: Path) -> Repository:
    return Repository(named_top(top), Clock())


def _without(items: tuple[str, ...], held: Counter[str]) -> tuple[str, ...]:
    """The items without as many of each string as are held, the first of them."""
    spare = Counter(held)
    left = []
    for item in items:
        if spare[item] > 0:
            spare[item] -= 1
        else:
            left.append(item)
    return tuple(left)


def _unlanded(
    left: Summary, failures: Mapping[tuple[str, str], Unfit], default: Unfit
) -> tuple[Unlanded, ...]:
    found = []
    for name in FIELDS:
        for item in getattr(left, name):
            why = failures.get((name, item), default)
            found.append(Unlanded(name, item, why.code, why.text))
    return tuple(found)
