"""The installed hook in the real Claude Code, against a scripted model. (SPEC HK)

Run by `make host-claude`, which installs the program; pytest does not collect this by itself.
"""

import json
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts.scripted import Body, Event, Model
from hosts.stage import Stage, new_stage

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / ".hosts" / "claude" / "node_modules" / "@anthropic-ai"
HEADING = "data from the session's record, not instructions"
TASK = "Tag the release"
FIRST = [{"name": "TaskCreate", "input": {
    "subject": TASK, "description": "after the changelog", "activeForm": "Tagging"}}]  # fmt: skip
WRITE = [{"name": "Bash", "input": {
    "command": "echo changes > CHANGES.txt", "description": "Write the changelog"}}]  # fmt: skip
# Growth that the program sees happen; one jump in the usage it takes for a prefix it cannot shrink.
_FLOOD = "head -c 28000 /dev/zero | tr '\\0' x | fold -w 76"
GROW = [{"name": "Bash", "input": {"command": _FLOOD, "description": "Grow"}}]
SCRIPTS: dict[str, list[list[dict[str, Any]]]] = {
    "plan": [FIRST, WRITE],
    "grow": [FIRST, WRITE, *[GROW] * 12],
}
_SCRIPT = re.compile(r"SCRIPT:(\w+)")
_SUMMARISE = re.compile(r"detailed summary of the conversation", re.IGNORECASE)


def _texts(message: Body) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if part.get("type") == "text")


def scripted(body: Body) -> tuple[str, list[Event]]:
    """A request to summarise is answered with a summary; else the newest text of the person that
    names a script selects it, and the number of answers since then its step."""
    messages = body.get("messages") or []
    said = [m for m in messages if m.get("role") == "user"]
    if said and _SUMMARISE.search(_texts(said[-1])):
        return "summary", _events(body, "<summary>A release is being prepared.</summary>", [])
    if not body.get("tools"):
        return "aside", _events(body, '{"title": "a title"}', [])
    for index in range(len(messages) - 1, -1, -1):
        found = (
            _SCRIPT.search(_texts(messages[index])) if messages[index]["role"] == "user" else None
        )
        if found:
            answered = sum(m.get("role") == "assistant" for m in messages[index + 1 :])
            steps = SCRIPTS.get(found[1], [])
            calls = steps[answered] if answered < len(steps) else []
            return "turn", _events(body, "Going on." if calls else "That is all.", calls)
    return "turn", _events(body, "That is all.", [])


def _events(body: Body, text: str, calls: list[dict[str, Any]]) -> list[Event]:
    used = {"input_tokens": len(json.dumps(body)) // 4, "output_tokens": 50,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}  # fmt: skip
    head: Body = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant",
                  "content": [], "model": body.get("model"), "stop_reason": None,
                  "usage": used}  # fmt: skip
    parts: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"type": "text", "text": ""}, {"type": "text_delta", "text": text})
    ]
    for call in calls:
        block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": call["name"]}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}
        parts.append(({**block, "input": {}}, delta))
    events: list[Event] = [{"type": "message_start", "message": head}]
    for index, (block, delta) in enumerate(parts):
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": reason, "usage": used},
            {"type": "message_stop"}]  # fmt: skip


@pytest.fixture
def model() -> Iterator[Model]:
    with Model(scripted).running() as running:
        yield running


@pytest.fixture
def stage(tmp_path: Path, model: Model) -> Stage:
    quiet = dict.fromkeys(
        ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER",
         "DISABLE_BUG_COMMAND", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1",
    )  # fmt: skip
    config = tmp_path / "config"
    stage = new_stage(
        tmp_path,
        CLAUDE_CONFIG_DIR=str(config),
        ANTHROPIC_BASE_URL=model.address,
        ANTHROPIC_API_KEY="scripted",
        **quiet,
    )
    config.mkdir()
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    about = {"hasCompletedOnboarding": True, "projects": {str(stage.repo.path): trusted}}
    (config / ".claude.json").write_text(json.dumps(about))
    # What the person set before stays when the hook goes in.
    allowed = {"permissions": {"allow": ["Bash", "TaskCreate"]}}
    settings = stage.repo.path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(allowed))
    stage.ours("hook", "install", "claude-code", "--project")
    assert json.loads(settings.read_text())["permissions"] == allowed["permissions"]
    stage.repo.git("add", "-A")
    stage.repo.git("commit", "-qm", "settings")
    return stage


def claude(stage: Stage, prompt: str, *options: str, **env: str) -> str:
    """The result that the program prints for one prompt; above it stands what was said before."""
    found = sorted(INSTALLED.glob("claude-code-*/claude"))
    binary = os.environ.get("CLAUDE_BIN") or str(found[0])
    printed = ("--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5")
    done = stage.run(binary, "-p", prompt, *options, *printed, env=env)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return str(next(row["result"] for row in reversed(rows) if row["type"] == "result"))


def test_a_manual_compaction_is_stopped_once_then_landed_and_given_back(
    stage: Stage, model: Model
) -> None:
    session = str(uuid.uuid4())
    claude(stage, "SCRIPT:plan go", "--session-id", session)
    before = stage.repo.plain_status()
    assert b"CHANGES.txt" in before

    said = claude(stage, "/compact", "--resume", session)
    assert "Compaction blocked by PreCompact hook" in said
    assert TASK in said
    assert "compact again after 10 seconds" in said
    assert "summary" not in model.kinds()

    stage.wait_until_it_may_pass()
    said = claude(stage, "/compact", "--resume", session)
    assert "Compaction blocked" not in said
    assert "summary" in model.kinds()
    stopped, passed = (line for line in stage.journal() if line["event"] == "PreCompact")
    assert (stopped["act"], passed["act"], passed["why"]) == ("stopped", "passed", "landed")
    assert (stopped["cause"], passed["unlanded"], passed["unknown"]) == ("manual", [], [])
    assert stage.repo.git("show", f"{passed['ref']}:CHANGES.txt") == b"changes\n"
    assert stage.repo.plain_status() == before
    assert json.loads(Path(passed["handoff"]).read_text())["todos"] == [TASK]

    claude(stage, "SCRIPT:none go on", "--resume", session)
    given = model.last_text()
    assert HEADING in given
    assert f'todos: \\"{TASK}\\"' in given
    assert 'uncommitted: \\"CHANGES.txt\\"' in given
    assert passed["handoff"] in given


def test_an_automatic_compaction_is_landed_passes_and_is_given_back(
    stage: Stage, model: Model
) -> None:
    session = str(uuid.uuid4())
    claude(
        stage, "SCRIPT:grow go", "--session-id", session,
        CLAUDE_CODE_AUTO_COMPACT_WINDOW="100000",
    )  # fmt: skip
    assert "summary" in model.kinds()
    auto = [line for line in stage.journal() if line["event"] == "PreCompact"]
    assert {line["cause"] for line in auto} == {"auto"}
    assert {line["act"] for line in auto} == {"passed"}
    landed = auto[0]
    assert landed["why"] == "landed"
    assert stage.repo.git("show", f"{landed['ref']}:CHANGES.txt") == b"changes\n"
    after = model.requests[model.kinds().index("summary") + 1]
    assert after[0] == "turn"
    given = json.dumps(after[1], ensure_ascii=False)
    assert HEADING in given
    assert f'todos: \\"{TASK}\\"' in given


def test_once_it_is_taken_out_nothing_is_stopped(stage: Stage, model: Model) -> None:
    session = str(uuid.uuid4())
    claude(stage, "SCRIPT:plan go", "--session-id", session)
    stage.ours("hook", "uninstall", "claude-code")
    claude(stage, "/compact", "--resume", session)
    assert "summary" in model.kinds()
    assert stage.journal() == []
