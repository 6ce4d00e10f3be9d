"""A LangChain agent that does not forget its open work. The models are scripted: no network.

pip install 'verdict-core[langchain]'
python examples/langchain_agent.py
"""

import logging
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from verdict_core.hosts.langchain import VerdictSummarizationMiddleware


class Scripted(GenericFakeChatModel):
    """Says what it was given, whatever tools it gets."""

    def bind_tools(self, tools: Any, **options: Any) -> "Scripted":
        return self


def todo(status: str, number: int) -> AIMessage:
    todos = [{"content": "write the test", "status": status}]
    call = {"name": "write_todos", "args": {"todos": todos}, "id": f"call-{number}"}
    return AIMessage("", tool_calls=[call])


def run(hard_limit: int, statuses: list[str]) -> None:
    script = [todo(status, number) for number, status in enumerate(statuses)]
    guard = VerdictSummarizationMiddleware(
        Scripted(messages=iter([AIMessage("(what came before)")] * 9)),
        trigger=("messages", 6),
        keep=("messages", 2),
        hard_limit=("messages", hard_limit),
        # This agent has no repository, and asks, decides and queues nothing.
        absent=["uncommitted", "questions", "decisions", "next_steps"],
    )
    agent = create_agent(
        Scripted(messages=iter([*script, AIMessage("Done.")])),
        tools=[],
        middleware=[TodoListMiddleware(), guard],
    )
    for message in agent.invoke({"messages": [("user", "Test the parser.")]})["messages"]:
        print(f"  {message.type}: {message.text.strip() or message.tool_calls}")


if __name__ == "__main__":
    logging.basicConfig(format="  %(message)s")
    print("held while the todo is open, summarised once it is done:", flush=True)
    run(100, ["pending", "in_progress", "in_progress", "completed"])
    print(
        "at the hard limit it is summarised, and the open todo stands in the summary:", flush=True
    )
    run(8, ["pending", "in_progress", "in_progress", "in_progress"])
