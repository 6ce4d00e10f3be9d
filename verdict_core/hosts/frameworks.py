"""Whether a compaction that a framework is about to make is held back, for every adapter.

In: readings, fields that the caller says do not exist, and whether the framework can go on without
this compaction. Out: a decision. Laws: only `safe_to_compact` compacts without a word; what the
framework cannot go on without is never refused; a fault is no permission. (SPEC FW-HELD, FW-FIELD)
"""

import json
import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from attrs import define, field, frozen

from verdict_core.context import FIELDS, Judgement, Summary, Verdict, build, judge
from verdict_core.errors import BadConfig, VerdictCoreError, visible
from verdict_core.hosts.hook_words import counts, given_back
from verdict_core.readers import git_status
from verdict_core.readers.reading import Reading, combine
from verdict_core.readers.todo_status import item

LOGGER = logging.getLogger("verdict_core.frameworks")
_NAMED = re.compile(r'^- ([a-z_]+): (".*")$', re.MULTILINE)


class Act(StrEnum):
    """What is done about a compaction. (SPEC FW-HELD-1, FW-HELD-2)"""

    COMPACTED = "compacted"
    HELD = "held"
    FORCED = "forced"


@frozen
class Decision:
    """`summary` is None where nothing could be read, `judgement` where nothing could be judged;
    `fault` says in one line why, and is empty otherwise."""

    act: Act
    summary: Summary | None = None
    judgement: Judgement | None = None
    fault: str = ""

    def __str__(self) -> str:
        if self.judgement is None or self.summary is None:
            return f"{self.act}: not judged: {self.fault}"
        reasons = ", ".join(self.judgement.reasons)
        return f"{self.act}: {self.judgement.verdict} ({reasons}): {counts(self.summary)}"

    @property
    def open_work(self) -> str:
        """What was open, for the model that goes on after a forced compaction, as the hooks give it
        back. Empty where nothing is known to be open. (SPEC FW-OPEN-1)"""
        if self.act is not Act.FORCED or self.summary is None:
            return ""
        return given_back(self.summary, None)


def named_open(text: str, field: str) -> tuple[str, ...]:
    """The items of `field` that `text` names in the form of `open_work`, each once, whoever wrote
    them there. (SPEC FW-OH-3)"""
    found: dict[str, None] = {}
    for name, string in _NAMED.findall(text):
        with suppress(ValueError):
            found |= {item(json.loads(string)): None} if name == field else {}
    return tuple(found)


def _path(path: Path | str | None) -> Path | None:
    return None if path is None else Path(path)


def _fields(names: Iterable[str]) -> frozenset[str]:
    given = frozenset(names)
    for name in given.difference(FIELDS):
        raise BadConfig(f"{name!r} is none of {', '.join(FIELDS)}", path="absent")
    return given


@define
class Guard:
    """What an adapter asks. `repo`: a git top level whose uncommitted work counts. `absent`: fields
    that do not exist where this runs, so that nobody has to read them. (SPEC FW-FIELD-1)"""

    repo: Path | None = field(converter=_path)
    absent: frozenset[str] = field(converter=_fields)
    _told: str = field(init=False, default="")

    def decide(self, read: Callable[[], Iterable[Reading]], *, must: bool) -> Decision:
        """What is done about a compaction that is due. `must`: the framework cannot go on without
        it. Raises nothing that `read` raises. What is no plain compaction is logged as a warning,
        the same held one once. (SPEC FW-HELD)"""
        decision = self._decided(read, Act.FORCED if must else Act.HELD)
        told = f"{decision}" if decision.judgement is None else decision.judgement.digest
        if decision.act is Act.FORCED or (decision.act is Act.HELD and told != self._told):
            LOGGER.warning("compaction %s", visible(str(decision)))
        self._told = told if decision.act is Act.HELD else ""
        return decision

    def _decided(self, read: Callable[[], Iterable[Reading]], unsafe: Act) -> Decision:
        summary = None
        try:
            git = () if self.repo is None else (git_status.read(self.repo),)
            summary = combine([*git, *read(), Reading("caller", dict.fromkeys(self.absent, ()))])
            judgement = judge(summary, build(summary))
        except VerdictCoreError as error:
            return Decision(unsafe, summary, fault=str(error))
        except Exception as error:  # whoever calls a framework back must not take it down
            return Decision(unsafe, summary, fault=f"{type(error).__name__}: {error}")
        is_safe = judgement.verdict is Verdict.SAFE_TO_COMPACT
        return Decision(Act.COMPACTED if is_safe else unsafe, summary, judgement)
