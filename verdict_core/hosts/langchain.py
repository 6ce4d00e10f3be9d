"""LangChain: a `SummarizationMiddleware` that judges before it summarises.

In: what that middleware takes, a hard limit, a repository, and fields that do not exist. Out: no
compaction while work is open, until the hard limit; then one, with the open work named in it.
Laws: nothing is held once the limit is reached; the todos are those of the state, and a list that
is not there or cannot be read is unknown. (SPEC FW-LC; extra `langchain`)
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AnyMessage

from verdict_core.errors import BadValue
from verdict_core.hosts.frameworks import Act, Decision, Guard
from verdict_core.readers.reading import Note, Reading
from verdict_core.readers.todo_status import read_todos


class VerdictSummarizationMiddleware(SummarizationMiddleware):
    """Summarises where nothing would be lost, or where the context is at its hard limit.

    `hard_limit` has the forms of `trigger`: from there on nothing is held. `repo` is a git top
    level whose uncommitted work counts; `absent` names fields that do not exist in this agent (of
    `todos`, `uncommitted`, `questions`, `decisions`, `next_steps`), since what nobody reads is
    unknown and never safe. All other options are those of `SummarizationMiddleware`. Raises
    BadConfig, and what that raises. (SPEC FW-LC-1, FW-LC-2)
    """

    def __init__(
        self,
        model: Any,
        *,
        hard_limit: Any,
        repo: Path | str | None = None,
        absent: Iterable[str] = (),
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self._guard = Guard(repo, absent)
        # Whether a compaction is due is asked of the middleware itself, with a summariser that
        # writes nothing: its own test is private.
        ask = {**options, "summarizer": _write_nothing, "trim_tokens_to_summarize": None}
        self._due = SummarizationMiddleware(self.model, **ask)
        self._hard = SummarizationMiddleware(self.model, **{**ask, "trigger": hard_limit})

    def readings(self, state: Mapping[str, Any], runtime: Any) -> list[Reading]:
        """What the state says. Override to read more of yours: a field that no reading names is
        unknown unless it is absent. (SPEC FW-LC-4)"""
        about = getattr(runtime, "execution_info", None)
        return [read_state(state, session=getattr(about, "thread_id", None))]

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The compaction, or None where none is due or it is held. (SPEC FW-LC-1)"""
        decision = self._passing(state, runtime)
        if decision is None:
            return None
        return _naming(super().before_model(state, runtime), decision, state)

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """The same; what reads the repository runs in a thread. (SPEC FW-LC-1)"""
        decision = await asyncio.to_thread(self._passing, state, runtime)
        if decision is None:
            return None
        return _naming(await super().abefore_model(state, runtime), decision, state)

    def _passing(self, state: Any, runtime: Any) -> Decision | None:
        """The decision on a compaction that passes; None where none is due or it is held."""
        if self._due.before_model(state, runtime) is None:
            return None
        must = self._hard.before_model(state, runtime) is not None
        decision = self._guard.decide(lambda: self.readings(state, runtime), must=must)
        return None if decision.act is Act.HELD else decision


def read_state(state: Mapping[str, Any], *, session: str | None = None) -> Reading:
    """The todos of an agent's state (`TodoListMiddleware`); without the key it answers for no
    field, and a list that cannot be read is unknown. (SPEC FW-LC-4)"""
    if "todos" not in state:
        return Reading("langchain", {}, session=session)
    try:
        todos = read_todos(state["todos"])
    except BadValue as error:
        notes = (Note("langchain", error.code, error.message),)
        return Reading("langchain", {"todos": ()}, frozenset({"todos"}), session, notes)
    return Reading("langchain", {"todos": todos.unlanded}, session=session)


def _naming(
    update: dict[str, Any] | None, decision: Decision, state: Mapping[str, Any]
) -> dict[str, Any] | None:
    """`update` with the open work at the end of its summary. A message of its own would bring the
    next compaction nearer where messages are counted. (SPEC FW-LC-3)"""
    text = decision.open_work
    if update is None or not text:
        return update
    messages = list(update["messages"])
    known = {message.id for message in state["messages"]}
    # The order to remove everything and the summary are new; what stays of the conversation is not.
    place = max(i for i, message in enumerate(messages) if message.id not in known)
    summary = messages[place]
    messages[place] = summary.model_copy(update={"content": f"{summary.text}\n\n{text}"})
    return {**update, "messages": messages}


def _write_nothing(messages: list[AnyMessage]) -> str:
    return ""
