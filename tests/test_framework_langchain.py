"""The middleware, in agents of the real LangChain with scripted models. (SPEC FW-LC)"""

import asyncio
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from gitrepo import Repo, isolate, new_repo

pytest.importorskip(
    "langchain", reason="langchain is not installed here; `make frameworks` runs it"
)

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware, TodoListMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from verdict_core import BadConfig
from verdict_core.context import FIELDS
from verdict_core.hosts.langchain import VerdictSummarizationMiddleware, read_state
from verdict_core.readers.reading import Reading

ROOT = Path(__file__).resolve().parent.parent
REST = [name for name in FIELDS if name != "todos"]
SUMMARY = "Here is a summary of the conversation to date:\n\nSUMMARY"


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> "Scripted":
        return self


def todo(status: str, number: int) -> AIMessage:
    todos = [{"content": "write the test", "status": status}]
    call = {"name": "write_todos", "args": {"todos": todos}, "id": f"call-{number}"}
    return AIMessage("", tool_calls=[call])


def guard(hard_limit: Any = ("messages", 100), **more: Any) -> VerdictSummarizationMiddleware:
    options: dict[str, Any] = {
        "trigger": ("messages", 6),
        "keep": ("messages", 2),
        "absent": REST,
        **more,
    }
    summaries = Scripted(messages=iter([AIMessage("SUMMARY")] * 9))
    return VerdictSummarizationMiddleware(summaries, hard_limit=hard_limit, **options)


def run(middleware: Any, statuses: Sequence[str], *, is_async: bool = False) -> list[AnyMessage]:
    script = [todo(status, number) for number, status in enumerate(statuses)]
    agent = create_agent(
        Scripted(messages=iter([*script, AIMessage("Done.")])),
        tools=[],
        middleware=[TodoListMiddleware(), middleware],
    )
    given: Any = {"messages": [HumanMessage("go")]}
    settings: Any = {"configurable": {"thread_id": "t-1"}}
    state = (
        asyncio.run(agent.ainvoke(given, settings)) if is_async else agent.invoke(given, settings)
    )
    messages: list[AnyMessage] = state["messages"]
    return messages


def was_summarised(messages: Sequence[AnyMessage]) -> bool:
    return bool(messages[0].text.startswith(SUMMARY))


@pytest.fixture(params=[False, True], ids=["invoke", "ainvoke"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_nothing_is_summarised_while_a_todo_is_open(is_async: bool) -> None:
    """FW-LC-1."""
    messages = run(guard(), ["pending"] * 5, is_async=is_async)
    assert len(messages) == 12
    assert not was_summarised(messages)


def test_what_loses_nothing_is_summarised_as_it_would_be_without_us(is_async: bool) -> None:
    """FW-LC-1: the same messages, ids apart."""
    statuses = ["pending", "pending", "completed", "completed", "completed"]
    plain = SummarizationMiddleware(
        Scripted(messages=iter([AIMessage("SUMMARY")] * 9)),
        trigger=("messages", 6),
        keep=("messages", 2),
    )
    ours, theirs = (run(m, statuses, is_async=is_async) for m in (guard(), plain))
    assert was_summarised(ours)
    assert ours[0].text == SUMMARY
    assert [(m.type, m.text) for m in ours] == [(m.type, m.text) for m in theirs]


def test_nothing_is_judged_where_nothing_is_due(is_async: bool) -> None:
    """FW-LC-1."""
    asked = []

    class Asking(VerdictSummarizationMiddleware):
        def readings(self, state: Mapping[str, Any], runtime: Any) -> list[Reading]:
            asked.append(len(state["messages"]))
            return super().readings(state, runtime)

    middleware = Asking(
        Scripted(messages=iter([])),
        hard_limit=("messages", 100),
        trigger=("messages", 6),
        keep=("messages", 2),
    )
    run(middleware, ["pending"] * 3, is_async=is_async)
    assert asked == [7]


@pytest.mark.parametrize(
    "limit", [("messages", 7), [("messages", 7)], {"messages": 7, "tokens": 1}]
)
def test_at_the_hard_limit_the_open_work_stands_in_the_summary(
    limit: Any, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """FW-LC-2, FW-LC-3."""
    messages = run(guard(limit), ["in_progress"] * 3 + ["pending"], is_async=is_async)
    first = messages[0].text
    assert first.startswith(f"{SUMMARY}\n\nverdict-core: ")
    assert first.endswith('\n- todos: "write the test"')
    assert "not instructions" in first
    assert [m.type for m in messages] == ["human", "ai", "tool", "ai", "tool", "ai"][
        -len(messages) :
    ]
    said = [record.getMessage() for record in caplog.records if record.name.startswith("verdict")]
    assert any(text.startswith("compaction forced: wait") for text in said)


def test_the_number_of_messages_is_that_of_the_summary_alone() -> None:
    """FW-LC-3."""
    forced = run(guard(("messages", 7)), ["pending"] * 4)
    plain = run(guard(), ["completed"] * 4)
    assert len(forced) <= len(plain) + 2
    assert sum(message.type == "human" for message in forced) == 1


def test_the_hard_limit_is_required_and_checked() -> None:
    """FW-LC-2."""
    untyped: Any = VerdictSummarizationMiddleware
    with pytest.raises(TypeError, match="hard_limit"):
        untyped(Scripted(messages=iter([])))
    for wrong in (("messages", 0), ("pages", 3)):
        with pytest.raises(ValueError, match=r"."):
            guard(wrong)
    with pytest.raises(BadConfig):
        guard(absent=["todo"])


def test_without_todos_in_the_state_they_are_unread() -> None:
    """FW-LC-4."""
    assert read_state({"messages": []}, session="t-1") == Reading("langchain", {}, session="t-1")


def test_the_todos_are_those_of_the_state() -> None:
    """FW-LC-4."""
    todos = [{"content": "a", "status": "pending"}, {"content": "b", "status": "completed"}]
    assert read_state({"todos": todos}).items == {"todos": ("a",)}
    assert read_state({"todos": []}).items == {"todos": ()}
    assert read_state({"todos": []}).unknown == frozenset()


@pytest.mark.parametrize("todos", [None, {}, 3, "no list", [3]])
def test_a_list_that_cannot_be_read_is_unknown(todos: Any) -> None:
    """FW-LC-4."""
    reading = read_state({"todos": todos})
    assert reading.unknown == {"todos"}
    assert [note.code for note in reading.notes] == ["bad_todos"]


def test_an_agent_without_a_todo_list_says_so(is_async: bool) -> None:
    """FW-LC-4: else its todos are unknown, and it is held."""

    def agent(absent: Sequence[str]) -> list[AnyMessage]:
        made = create_agent(
            Scripted(messages=iter([AIMessage("Done.")])),
            tools=[],
            middleware=[guard(absent=absent)],
        )
        given: Any = {"messages": [HumanMessage(f"message {n}") for n in range(8)]}
        state = asyncio.run(made.ainvoke(given)) if is_async else made.invoke(given)
        messages: list[AnyMessage] = state["messages"]
        return messages

    assert not was_summarised(agent(REST))
    assert was_summarised(agent(FIELDS))


def test_uncommitted_work_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    """FW-LC-1, FW-FIELD-3."""
    isolate(monkeypatch, tmp_path / "home")
    repo: Repo = new_repo(tmp_path / "repo")
    repo.commit(a="one\n")
    repo.write("new.txt")
    absent = [name for name in REST if name != "uncommitted"]
    done = ["completed"] * 4
    held = run(guard(repo=repo.path, absent=absent), done, is_async=is_async)
    assert not was_summarised(held)
    forced = run(guard(("messages", 7), repo=repo.path, absent=absent), done, is_async=is_async)
    assert '\n- uncommitted: "new.txt"' in forced[0].text
    repo.commit()
    assert was_summarised(run(guard(repo=repo.path, absent=absent), done, is_async=is_async))


def test_the_thread_is_the_session() -> None:
    seen = []

    class Seeing(VerdictSummarizationMiddleware):
        def readings(self, state: Mapping[str, Any], runtime: Any) -> list[Reading]:
            seen.extend(super().readings(state, runtime))
            return [*seen[-1:], Reading("mine", {"decisions": ("use SQLite",)})]

    model = Scripted(messages=iter([]))
    middleware = Seeing(
        model,
        hard_limit=("messages", 99),
        trigger=("messages", 6),
        keep=("messages", 2),
        absent=REST,
    )
    assert not was_summarised(run(middleware, ["completed"] * 4))
    assert {reading.session for reading in seen} == {"t-1"}


def test_the_example_runs() -> None:
    """FW-LC-1, FW-LC-3."""
    command = [sys.executable, str(ROOT / "examples" / "langchain_agent.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    held, limit = done.stdout.split("at the hard limit")
    assert "(what came before)" in held
    assert "verdict-core:" not in held
    assert '- todos: "write the test"' in limit
    assert "compaction held: wait" in done.stderr
    assert "compaction forced: wait" in done.stderr
