"""The Claude Agent SDK with the compaction hooks. The model is scripted: no network, no key.

pip install 'verdict-core[claude-agent]'
python examples/claude_agent.py
"""

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    SystemMessage,
    TextBlock,
)
from scripted_api import call, serving, text

from verdict_core.hosts.claude_agent import CompactionHooks

COMMIT = "git add -A && git -c user.name=A -c user.email=a@example.org commit -qm tested && git log"
SCRIPT = {
    "Plan it.": [
        call("TaskCreate", subject="write the test", description="for the parser"),
        call("Bash", command="echo 'assert True' > test_parser.py", description="begin it"),
        text("Planned."),
    ],
    "Finish it.": [
        call("TaskUpdate", taskId="1", status="completed"),
        call("Bash", command=COMMIT, description="commit it"),
        text("Finished."),
    ],
}


async def allow(tool: str, given: dict[str, Any], context: Any) -> PermissionResultAllow:
    return PermissionResultAllow()


async def main(home: Path, address: str) -> None:
    hooks = CompactionHooks(options=["--state-dir", str(home / "state")])
    options = ClaudeAgentOptions(
        cwd=home / "project",
        model="claude-sonnet-4-5",
        hooks=hooks.matchers(),
        can_use_tool=allow,
        setting_sources=[],
        env={
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / "config"),
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
        },
    )
    async with ClaudeSDKClient(options) as client:
        for prompt in ("Plan it.", "/compact", "Finish it.", "/compact", "Where are we?"):
            print(f"> {prompt}")
            await client.query(prompt)
            async for message in client.receive_response():
                show(message)


def show(message: Any) -> None:
    if isinstance(message, AssistantMessage):
        for block in message.content:
            if isinstance(block, TextBlock):
                print("  " + block.text.replace("\n", "\n  "))
    elif isinstance(message, SystemMessage) and message.subtype == "compact_boundary":
        print("  (compacted)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, serving(SCRIPT) as server:
        project = Path(folder, "project")
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        # What the program was started with is not handed on to it.
        for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE"))]:
            del os.environ[name]
        asyncio.run(asyncio.wait_for(main(Path(folder), server), 120))
