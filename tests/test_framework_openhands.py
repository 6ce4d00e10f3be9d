"""The condenser, in conversations of the real OpenHands SDK with scripted models. (SPEC FW-OH)"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from gitrepo import isolate, new_repo

if sys.version_info < (3, 12):
    pytest.skip("the OpenHands SDK needs Python 3.12", allow_module_level=True)
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
pytest.importorskip(
    "openhands.sdk", reason="openhands-sdk is not installed here; see `make frameworks`"
)
pytest.importorskip("openhands.tools", reason="openhands-tools is not installed here")

from openhands.sdk import Agent, Conversation, Tool
from openhands.sdk.agent.base import AgentBase
from openhands.sdk.context.condenser import LLMSummarizingCondenser, NoOpCondenser
from openhands.sdk.context.condenser.base import CondenserBase
from openhands.sdk.context.view import View
from openhands.sdk.event import Condensation, CondensationSummaryEvent
from openhands.sdk.event.llm_convertible import SystemPromptEvent
from openhands.sdk.llm import LLM, Message, MessageToolCall, TextContent
from openhands.sdk.llm.exceptions import LLMContextWindowExceedError
from openhands.sdk.testing import TestLLM
from openhands.tools.task_tracker import TaskTrackerTool

from verdict_core import BadConfig, Summary
from verdict_core.context import FIELDS
from verdict_core.hosts.hook_words import given_back
from verdict_core.hosts.openhands import VerdictCondenser, read_view
from verdict_core.readers.reading import Reading

# What the SDK and its dependencies warn of is theirs.
pytestmark = pytest.mark.filterwarnings("default")

ROOT = Path(__file__).resolve().parent.parent
REST = [name for name in FIELDS if name != "todos"]


def says(text: str) -> Message:
    return Message(role="assistant", content=[TextContent(text=text)])


def plans(number: int, status: str, command: str = "plan") -> Message:
    tasks: list[Any] = [{"title": "write the test", "notes": f"step {number}", "status": status}]
    call = MessageToolCall(
        id=f"call-{number}",
        name=TaskTrackerTool.name,
        arguments=json.dumps({"command": command, "task_list": tasks}),
        origin="completion",
    )
    return Message(role="assistant", content=[TextContent(text="")], tool_calls=[call])


def summarising(**more: Any) -> LLMSummarizingCondenser:
    summaries = TestLLM.from_messages([says("SUMMARY")] * 9, usage_id="condenser")
    return LLMSummarizingCondenser(**{"llm": summaries, "max_size": 8, "keep_first": 2, **more})


def guard(inner: CondenserBase | None = None, **more: Any) -> VerdictCondenser:
    return VerdictCondenser(**{"inner": inner or summarising(), "absent": REST, **more})


class Talk:
    """A conversation, and what came of it."""

    def __init__(
        self,
        script: Sequence[Message | Exception],
        condenser: CondenserBase,
        tools: Sequence[str] = (TaskTrackerTool.name,),
    ) -> None:
        self.agent = Agent(
            llm=TestLLM.from_messages([*script, says("Done.")]),
            tools=[Tool(name=name) for name in tools],
            condenser=condenser,
        )
        self.talk = Conversation(agent=self.agent, workspace="workspace", visualizer=None)
        self.talk.send_message("go")
        self.talk.run()

    @property
    def condensations(self) -> list[Condensation]:
        return [event for event in self.talk.state.events if isinstance(event, Condensation)]

    @property
    def view(self) -> View:
        return self.talk.state.view


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def steps(*statuses: str) -> list[Message]:
    return [plans(number, status) for number, status in enumerate(statuses)]


def condense(condenser: CondenserBase, view: View, is_async: bool) -> View | Condensation:
    if is_async:
        return asyncio.run(condenser.acondense(view))
    return condenser.condense(view)


@pytest.fixture(params=[False, True], ids=["condense", "acondense"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_nothing_is_condensed_while_a_task_is_open(is_async: bool) -> None:
    """FW-OH-1: and the view is the one that was given."""
    talk = Talk(steps("todo", "in_progress", "todo", "in_progress"), guard())
    assert talk.condensations == []
    assert len(talk.view) > 8
    assert condense(guard(), talk.view, is_async) is talk.view


def test_what_loses_nothing_is_condensed(is_async: bool) -> None:
    """FW-OH-1."""
    talk = Talk(steps("todo", "in_progress", "todo", "done"), guard())
    (condensation,) = talk.condensations
    assert condensation.summary == "SUMMARY"
    full = Talk(steps("todo", "in_progress", "todo", "done"), NoOpCondenser())
    ours = condense(guard(), full.view, is_async)
    plain = condense(summarising(), full.view, is_async)
    assert isinstance(ours, Condensation)
    assert isinstance(plain, Condensation)
    assert ours.summary == plain.summary
    assert ours.forgotten_event_ids == plain.forgotten_event_ids


def test_nothing_is_judged_where_nothing_is_due(caplog: pytest.LogCaptureFixture) -> None:
    """FW-OH-1."""
    Talk(steps("todo"), guard(absent=[]))
    assert [record for record in caplog.records if record.name.startswith("verdict_core")] == []


@pytest.mark.parametrize("number", [1, 2])
def test_a_request_is_passed_on_with_the_open_work(number: int) -> None:
    """FW-OH-2, FW-OH-4, FW-OH-3: the second one swallows what the first one named, and names it."""
    talk = Talk(steps("todo", "in_progress", "todo", "in_progress"), guard())
    for _ in range(number):
        talk.talk.condense()
    assert len(talk.condensations) == number
    for condensation in talk.condensations:
        assert condensation.summary is not None
        assert condensation.summary.startswith("SUMMARY\n\nverdict-core: ")
        assert condensation.summary.count('\n- todos: "write the test"') == 1
    assert any(
        isinstance(event, CondensationSummaryEvent) and "write the test" in event.summary
        for event in talk.view.events
    )


def test_a_full_context_is_no_dead_end() -> None:
    """FW-OH-2: what the model refuses becomes a request."""
    script = [*steps("todo", "in_progress", "todo"), LLMContextWindowExceedError(), *steps("todo")]
    talk = Talk(script, guard())
    (condensation,) = talk.condensations
    assert condensation.summary is not None
    assert '- todos: "write the test"' in condensation.summary


def test_a_hard_requirement_is_passed_on(is_async: bool) -> None:
    """FW-OH-2: more tokens than the condenser may let pass."""
    talk = Talk(steps("todo", "in_progress", "todo", "in_progress"), guard())
    llm = TestLLM.from_messages([])
    tight = guard(summarising(max_size=100, max_tokens=10))
    if is_async:
        result = asyncio.run(tight.acondense(talk.view, agent_llm=llm))
    else:
        result = tight.condense(talk.view, agent_llm=llm)
    assert isinstance(result, Condensation)
    assert result.summary is not None
    assert '- todos: "write the test"' in result.summary


def test_requests_and_model_are_those_of_the_wrapped_condenser() -> None:
    """FW-OH-2."""
    inner = summarising()
    assert guard(inner).get_llm() is inner.get_llm()
    assert guard(inner).handles_condensation_requests() is True
    assert guard(NoOpCondenser()).handles_condensation_requests() is False
    assert guard(NoOpCondenser()).get_llm() is None


class Halving(CondenserBase):
    """Condenses whatever it is given: into a view, or without a summary."""

    into_view: bool = False
    seen: int = 0

    def condense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        self.seen += 1
        half = view.events[2 : len(view) // 2]
        if self.into_view:
            return View(events=[*view.events[:2], *view.events[len(view) // 2 :]])
        return Condensation(
            forgotten_event_ids={event.id for event in half}, llm_response_id="response"
        )


def test_a_condenser_that_tells_nothing_of_its_needs_is_asked_before_each_step() -> None:
    """FW-OH-1, FW-OH-2."""
    talk = Talk(steps("todo", "in_progress"), NoOpCondenser())
    inner = Halving(into_view=True)
    assert guard(inner).condense(talk.view) is talk.view
    assert inner.seen == 0
    request = talk.view.model_copy(update={"unhandled_condensation_request": True})
    result = guard(inner).condense(request)
    assert inner.seen == 1
    assert isinstance(result, View)
    assert len(result) < len(talk.view)


def test_a_condensation_without_a_summary_gets_one_after_the_system_prompt() -> None:
    """FW-OH-4."""
    talk = Talk(steps("todo", "in_progress", "todo"), NoOpCondenser())
    request = talk.view.model_copy(update={"unhandled_condensation_request": True})
    result = guard(Halving()).condense(request)
    assert isinstance(result, Condensation)
    events = result.apply(talk.view.events)
    assert isinstance(events[0], SystemPromptEvent)
    assert isinstance(events[1], CondensationSummaryEvent)
    assert events[1].summary.startswith("verdict-core: ")
    headless = View(events=talk.view.events[1:], unhandled_condensation_request=True)
    result = guard(Halving()).condense(headless)
    assert isinstance(result, Condensation)
    assert result.summary_offset == 0


def test_without_a_task_list_the_todos_are_unread() -> None:
    """FW-OH-3: unless the tracker spoke; an error of it says nothing."""
    talk = Talk([], NoOpCondenser())
    assert read_view(talk.view) == Reading("openhands", {})
    assert read_view(View()) == Reading("openhands", {})


def test_the_todos_are_those_of_the_last_observation() -> None:
    """FW-OH-3."""
    talk = Talk(steps("todo", "done", "in_progress"), NoOpCondenser())
    assert read_view(talk.view).items == {"todos": ("write the test",)}
    talk = Talk(steps("todo", "in_progress", "done"), NoOpCondenser())
    assert read_view(talk.view) == Reading("openhands", {"todos": ()})
    viewed = [*steps("todo"), plans(8, "done", command="view")]
    assert read_view(Talk(viewed, NoOpCondenser()).view).items == {"todos": ("write the test",)}


def _with_last(talk: Talk, **changes: Any) -> View:
    """The view, with the last observation of the tracker changed."""
    events = list(talk.view.events)
    place = max(i for i, e in enumerate(events) if getattr(e, "observation", None) is not None)
    event: Any = events[place]
    observation = event.observation.model_copy(update=changes)
    events[place] = event.model_copy(update={"observation": observation})
    return View(events=events)


def test_an_observation_that_is_an_error_is_passed_over() -> None:
    """FW-OH-3."""
    talk = Talk(steps("todo", "done"), NoOpCondenser())
    assert read_view(_with_last(talk, is_error=True)).items == {"todos": ("write the test",)}


def test_a_list_that_cannot_be_read_is_unknown() -> None:
    """FW-OH-3."""
    talk = Talk(steps("done"), NoOpCondenser())
    reading = read_view(_with_last(talk, task_list=None))
    assert reading.unknown == {"todos"}
    assert [note.code for note in reading.notes] == ["bad_todos"]


def swallowed(summary: str, *, behind: bool = True, view: View) -> View:
    event = CondensationSummaryEvent(summary=summary, source="environment")
    events = view.events
    return View(events=[*events, event] if behind else [events[0], event, *events[1:]])


def test_what_a_condensation_may_have_swallowed_is_unknown() -> None:
    """FW-OH-3."""
    view = Talk(steps("done", "done"), NoOpCondenser()).view
    assert read_view(swallowed("SUMMARY", view=view)).unknown == {"todos"}
    assert read_view(swallowed("SUMMARY", view=View(events=view.events[:2]))).unknown == {"todos"}
    assert read_view(swallowed("SUMMARY", view=View())).unknown == {"todos"}
    before = swallowed("SUMMARY", view=view, behind=False)
    assert read_view(before) == Reading("openhands", {"todos": ()})


def test_what_a_summary_names_as_open_is_known() -> None:
    """FW-OH-3: in the form of HK-BACK-1 alone, each once."""
    view = Talk(steps("done"), NoOpCondenser()).view
    items = ('write the "late" test\n- todos: "no"', "\u202ea", "b")
    summary = Summary(session="s", todos=[*items, "b"], unknown=(), **dict.fromkeys(REST, ()))
    text = f'SUMMARY\n- todos: none\n- todos: "\\x"\n\n{given_back(summary, None)}\n'
    reading = read_view(swallowed(text, view=view))
    assert reading.items == {"todos": items}
    assert reading.unknown == {"todos"}


def test_an_agent_without_a_tracker_has_nothing_that_was_swallowed() -> None:
    """FW-OH-3."""
    view = Talk([], NoOpCondenser(), tools=[]).view
    assert read_view(swallowed("SUMMARY", view=view)) == Reading("openhands", {})


def test_uncommitted_work_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FW-OH-1, FW-FIELD-3."""
    isolate(monkeypatch, tmp_path / "home")
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="one\n")
    repo.write("new.txt")
    absent = [name for name in REST if name != "uncommitted"]
    done = steps("done", "done", "done", "done")
    assert Talk(done, guard(repo=str(repo.path), absent=absent)).condensations == []
    repo.commit()
    assert len(Talk(done, guard(repo=str(repo.path), absent=absent)).condensations) == 1


def test_a_saved_agent_has_the_condenser_still() -> None:
    condenser = guard(repo="/somewhere")
    agent = Talk(steps("todo"), condenser).agent
    again = AgentBase.model_validate_json(agent.model_dump_json()).condenser
    assert isinstance(again, VerdictCondenser)
    assert (again.repo, again.absent) == (condenser.repo, condenser.absent)
    view = Talk(steps(*["todo"] * 3, "in_progress"), NoOpCondenser()).view
    assert again.condense(view) is view


def test_a_name_that_is_no_field_is_refused() -> None:
    """FW-FIELD-2."""
    with pytest.raises(BadConfig):
        guard(absent=["todo"])


def test_the_example_runs() -> None:
    """FW-OH-1, FW-OH-2, FW-OH-4."""
    command = [sys.executable, str(ROOT / "examples" / "openhands_agent.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    held, then = done.stdout.split("condensed once it is done:")
    finished, request = then.split("a request is not refused")
    assert "(what came before)" not in held
    assert "(what came before)" in finished
    assert "verdict-core:" not in finished
    assert '- todos: "write the test"' in request
