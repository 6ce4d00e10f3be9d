"""An OpenHands agent that does not forget its open work. The models are scripted: no network.

pip install 'verdict-core[openhands]' openhands-tools     # Python 3.12
python examples/openhands_agent.py
"""

import json
import os
import tempfile

# Before the import: it would ask the network for prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
os.environ["LOG_LEVEL"] = "WARNING"

from openhands.sdk import Agent, Conversation, Tool
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.event import Condensation
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.testing import TestLLM
from openhands.tools.task_tracker import TaskTrackerTool

from verdict_core.hosts.openhands import VerdictCondenser


def says(text: str) -> Message:
    return Message(role="assistant", content=[TextContent(text=text)])


def plans(number: int, status: str) -> Message:
    tasks = [{"title": "write the test", "notes": f"step {number}", "status": status}]
    call = MessageToolCall(
        id=f"call-{number}",
        name=TaskTrackerTool.name,
        arguments=json.dumps({"command": "plan", "task_list": tasks}),
        origin="completion",
    )
    return Message(role="assistant", content=[TextContent(text="")], tool_calls=[call])


def run(statuses: list[str], *, request: bool = False) -> None:
    summaries = TestLLM.from_messages([says("(what came before)")] * 9, usage_id="condenser")
    condenser = VerdictCondenser(
        inner=LLMSummarizingCondenser(llm=summaries, max_size=8, keep_first=2),
        # This agent has no repository, and asks, decides and queues nothing.
        absent=["uncommitted", "questions", "decisions", "next_steps"],
    )
    script = [plans(number, status) for number, status in enumerate(statuses)]
    agent = Agent(
        llm=TestLLM.from_messages([*script, says("Done.")]),
        tools=[Tool(name=TaskTrackerTool.name)],
        condenser=condenser,
    )
    with tempfile.TemporaryDirectory() as workspace:
        talk = Conversation(agent=agent, workspace=workspace, visualizer=None)
        talk.send_message("Test the parser.")
        talk.run()
        if request:
            talk.condense()
        for number, event in enumerate(talk.state.events):
            if isinstance(event, Condensation):
                print(f"  condensed after {number} events: {event.summary}")
        print(f"  events: {len(talk.state.events)}, in the view: {len(talk.state.view)}")
        talk.close()


if __name__ == "__main__":
    print("held while the task is open:")
    run(["todo", "in_progress", "in_progress", "in_progress"])
    print("condensed once it is done:")
    run(["todo", "in_progress", "in_progress", "done"])
    print("a request is not refused, and the open task stands in the summary:")
    run(["todo", "in_progress", "in_progress", "in_progress"], request=True)
