"""OpenHands: a condenser that judges before the one that it wraps condenses.

In: a condenser, a repository, and fields that do not exist. Out: the view as it is while work is
open, else what the wrapped condenser makes of it. Laws: a hard requirement and a request are never
refused, and what was open then stands in the condensation's summary; a task list that an earlier
condensation may have swallowed is unknown. (SPEC FW-OH; extra `openhands`, Python 3.12)
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from openhands.sdk.context.condenser.base import (
    CondensationRequirement,
    CondenserBase,
    PipelinableCondenserBase,
    RollingCondenser,
)
from openhands.sdk.context.view import View
from openhands.sdk.event import Condensation, CondensationSummaryEvent
from openhands.sdk.event.llm_convertible import ObservationEvent, SystemPromptEvent
from openhands.sdk.llm import LLM
from pydantic import Field, PrivateAttr

from verdict_core.errors import BadValue
from verdict_core.hosts.frameworks import Act, Decision, Guard, named_open
from verdict_core.readers.reading import Note, Reading
from verdict_core.readers.todo_status import read_todos

TASK_TRACKER = "task_tracker"
"""The tool whose observations hold the task list."""


class VerdictCondenser(PipelinableCondenserBase):
    """Condenses by `inner` where nothing would be lost, or where the agent cannot go on without.

    `repo` is a git top level whose uncommitted work counts; `absent` names fields that do not exist
    in this agent (of `todos`, `uncommitted`, `questions`, `decisions`, `next_steps`), since what
    nobody reads is unknown and never safe. (SPEC FW-OH-1, FW-OH-2)
    """

    inner: CondenserBase
    repo: str | None = None
    absent: list[str] = Field(default_factory=list)
    _guard: Guard = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Raises BadConfig where `absent` names no field."""
        super().model_post_init(context)
        self._guard = Guard(self.repo, self.absent)

    def get_llm(self) -> LLM | None:
        """The wrapped condenser's."""
        return self.inner.get_llm()

    def handles_condensation_requests(self) -> bool:
        """What the wrapped condenser says: a request is passed on to it. (SPEC FW-OH-2)"""
        return bool(self.inner.handles_condensation_requests())

    def condense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """The view itself where a condensation is held, else what `inner` makes of it. (FW-OH-1)"""
        decision = self._decision(view, agent_llm)
        if decision.act is Act.HELD:
            return view
        return _naming(self.inner.condense(view, agent_llm=agent_llm), decision, view)

    async def acondense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """The same, with the wrapped condenser's `acondense`; what reads the repository runs in a
        thread. (SPEC FW-OH-1)"""
        decision = await asyncio.to_thread(self._decision, view, agent_llm)
        if decision.act is Act.HELD:
            return view
        return _naming(await self.inner.acondense(view, agent_llm=agent_llm), decision, view)

    def readings(self, view: View) -> list[Reading]:
        """What the view says. Override to read more of yours: a field that no reading names is
        unknown unless it is absent. (SPEC FW-OH-3)"""
        return [read_view(view)]

    def _decision(self, view: View, agent_llm: LLM | None) -> Decision:
        must = view.unhandled_condensation_request
        if isinstance(self.inner, RollingCondenser):
            needed = self.inner.condensation_requirement(view, agent_llm=agent_llm)
            if needed is None:  # what it makes of the view is the view
                return Decision(Act.COMPACTED)
            must = must or needed is CondensationRequirement.HARD
        return self._guard.decide(lambda: self.readings(view), must=must)


def read_view(view: View) -> Reading:
    """The task list as the tracker last gave it. A view without one answers for no field; where the
    summary of a condensation stands behind the last one, it may have swallowed a later one, and
    what that summary says of open work is all that is known. (SPEC FW-OH-3)"""
    for event in reversed(view.events):
        if isinstance(event, CondensationSummaryEvent) and _may_track(view):
            text = "an earlier condensation may have swallowed the task list"
            return _unknown("condensed", text, named_open(event.summary, "todos"))
        if isinstance(event, ObservationEvent) and event.tool_name == TASK_TRACKER:
            if event.observation.is_error:
                continue
            try:
                todos = read_todos(event.observation.model_dump().get("task_list"))
            except BadValue as error:
                return _unknown(error.code, error.message)
            return Reading("openhands", {"todos": todos.unlanded})
    return Reading("openhands", {})


def _may_track(view: View) -> bool:
    """Whether the agent has a tracker, as far as the view's system prompt tells."""
    first = view.events[0]
    if not isinstance(first, SystemPromptEvent):
        return True
    return any(tool.name == TASK_TRACKER for tool in first.tools)


def _unknown(code: str, text: str, todos: tuple[str, ...] = ()) -> Reading:
    notes = (Note("openhands", code, text),)
    return Reading("openhands", {"todos": todos}, frozenset({"todos"}), notes=notes)


def _naming(result: View | Condensation, decision: Decision, view: View) -> View | Condensation:
    """`result` with what was open at the end of its summary. A view has no place for it; there the
    log alone names it. (SPEC FW-OH-4)"""
    text = decision.open_work
    if not text or not isinstance(result, Condensation):
        return result
    offset = result.summary_offset
    if offset is None:
        offset = _after_the_system_prompt(view.events)
    summary = f"{result.summary}\n\n{text}" if result.summary else text
    return result.model_copy(update={"summary": summary, "summary_offset": offset})


def _after_the_system_prompt(events: Sequence[Any]) -> int:
    return int(bool(events) and isinstance(events[0], SystemPromptEvent))
