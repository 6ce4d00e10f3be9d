"""The hook for Claude Code as callbacks of the Claude Agent SDK. (SPEC FW-SDK)

The callbacks need no SDK; what hands them to it, and the example in the real program, is run by
`make frameworks`.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from gitrepo import Repo, isolate, new_repo

pytest.importorskip("anyio", reason="anyio, which the Claude Agent SDK needs, is not installed")

import anyio

from verdict_core.hosts import claude_agent
from verdict_core.hosts.claude_agent import CompactionHooks

ROOT = Path(__file__).resolve().parent.parent
NO_SDK = importlib.util.find_spec("claude_agent_sdk") is None
WHY = "claude-agent-sdk is not installed here; `make frameworks` runs this"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    isolate(monkeypatch, tmp_path / "home")
    made = new_repo(tmp_path / "repo")
    made.commit(a="one\n")
    made.write("new.txt")
    return made


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def hooks_for(state: Path, deadline: float = 30.0) -> CompactionHooks:
    return CompactionHooks(deadline=deadline, options=["--state-dir", str(state)])


def payload(repo: Repo, **more: Any) -> dict[str, Any]:
    about = {"session_id": "s-1", "transcript_path": "", "cwd": str(repo.path)}
    return {**about, "hook_event_name": "PreCompact", "trigger": "manual", **more}


def ask(hooks: CompactionHooks, given: Any) -> dict[str, Any]:
    answer: dict[str, Any] = anyio.run(hooks.answer, given)
    return answer


def journal(state: Path) -> list[Any]:
    lines = (state / "hooks" / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_manual_compaction_is_stopped_in_the_form_that_is_shown(repo: Repo, state: Path) -> None:
    """FW-SDK-2, FW-SDK-1."""
    answer = ask(hooks_for(state), payload(repo))
    assert answer.keys() == {"decision", "reason", "systemMessage"}
    assert answer["decision"] == "block"
    assert answer["reason"] == answer["systemMessage"]
    assert '\n- uncommitted: "new.txt"\n' in answer["reason"]
    assert [entry["act"] for entry in journal(state)] == ["stopped"]


def test_any_other_compaction_is_landed_and_given_back(repo: Repo, state: Path) -> None:
    """FW-SDK-1, FW-SDK-3."""
    hooks = hooks_for(state)
    answer = ask(hooks, payload(repo, trigger="auto"))
    assert answer.keys() == {"systemMessage"}
    assert "refs/verdict-core/s-s-1/1" in answer["systemMessage"]
    assert b"new.txt" in repo.git("ls-tree", "--name-only", "-r", "refs/verdict-core/s-s-1/1")
    begun = {"hook_event_name": "SessionStart", "source": "compact", "trigger": None}
    after = ask(hooks, payload(repo, **begun))["hookSpecificOutput"]
    assert after["hookEventName"] == "SessionStart"
    assert '- uncommitted: "new.txt"' in after["additionalContext"]
    assert [entry["act"] for entry in journal(state)] == ["passed", "given_back"]


def test_what_the_hook_says_nothing_about_has_an_empty_answer(repo: Repo, state: Path) -> None:
    """FW-SDK-1."""
    assert ask(hooks_for(state), payload(repo, agent_id="a-1")) == {}
    assert ask(hooks_for(state), payload(repo, hook_event_name="SessionStart")) == {}


def test_the_options_reach_the_hook(repo: Repo, state: Path) -> None:
    """FW-SDK-1: a threshold of 0 makes one open item too much."""
    hooks = CompactionHooks(deadline=30, options=["--state-dir", str(state), "--wait-min", "0"])
    assert "preserve_first" in ask(hooks, payload(repo))["reason"]


def ends(monkeypatch: pytest.MonkeyPatch, code: str) -> CompactionHooks:
    """Hooks whose command is a program of ours."""
    monkeypatch.setattr(claude_agent, "COMMAND", (sys.executable, "-c", code))
    return CompactionHooks()


STOPS = "import sys; sys.stderr.write('stopped'); sys.exit(2)"
OTHERS: list[Any] = [
    {"trigger": "auto"},
    {"trigger": "MANUAL"},
    {"trigger": None},
    {"agent_id": "a-1"},
    {"hook_event_name": "SessionStart"},
    {"hook_event_name": None},
]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("code", [STOPS, "import sys; sys.exit(70)"])
def test_nothing_but_a_manual_compaction_is_blocked(
    other: Any, code: str, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FW-SDK-3, FW-SDK-4: whatever the hook answers, and also where it fails."""
    answer = ask(ends(monkeypatch, code), payload(repo, **other))
    assert answer.keys() == {"systemMessage"}
    assert answer["systemMessage"] != ""


@pytest.mark.parametrize("given", [None, "manual", [], 1, {"trigger": "manual"}])
def test_what_is_no_payload_is_not_blocked(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """FW-SDK-3."""
    assert ask(ends(monkeypatch, STOPS), given).keys() == {"systemMessage"}


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(70)",
        "import sys; sys.exit(1)",
        "import os; os.kill(os.getpid(), 9)",
        "print('compact if you like')",
        "print('[]')",
        'print(\'{"decision": "block"} {}\')',
    ],
)
def test_a_hook_that_gives_no_answer_stops_once_a_session(
    code: str, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FW-SDK-4."""
    hooks = ends(monkeypatch, code)
    for session in ("s-1", "s-2"):
        first = ask(hooks, payload(repo, session_id=session))
        assert first["decision"] == "block"
        assert "could not be judged" in first["systemMessage"]
        second = ask(hooks, payload(repo, session_id=session))
        assert second.keys() == {"systemMessage"}
        assert "Nothing says that it loses no work" in second["systemMessage"]


def test_what_cannot_be_started_or_asked_stops_once(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FW-SDK-4."""
    monkeypatch.setattr(claude_agent, "COMMAND", ("/nowhere/python",))
    assert ask(CompactionHooks(), payload(repo))["decision"] == "block"
    monkeypatch.undo()
    assert ask(CompactionHooks(), payload(repo, prompt_id={1}))["decision"] == "block"


def test_a_hook_that_hangs_is_ended(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """FW-SDK-4."""
    told = tmp_path / "process"
    code = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    monkeypatch.setattr(claude_agent, "COMMAND", (sys.executable, "-c", code))
    monkeypatch.setattr(claude_agent, "_SLACK_S", 3.0)
    began = time.monotonic()
    answer = ask(CompactionHooks(deadline=0.1), payload(repo))
    assert answer["decision"] == "block"
    assert 3.0 < time.monotonic() - began < 60
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_a_half_of_a_pair_reaches_the_hook(repo: Repo, state: Path) -> None:
    """FW-SDK-1: what a person types is handed on as it is."""
    answer = ask(hooks_for(state), payload(repo, custom_instructions="\ud83d"))
    assert '\n- uncommitted: "new.txt"\n' in answer["reason"]


@pytest.mark.skipif(NO_SDK, reason=WHY)
def test_the_matchers_are_what_the_sdk_takes() -> None:
    """FW-SDK-1."""
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

    hooks = CompactionHooks(deadline=7)
    options = ClaudeAgentOptions(hooks=hooks.matchers())
    assert options.hooks is not None
    for event in ("PreCompact", "SessionStart"):
        (matcher,) = options.hooks[event]
        assert isinstance(matcher, HookMatcher)
        assert matcher.hooks == [hooks.answer]
        assert matcher.timeout is not None
        assert matcher.timeout > 7
    assert options.hooks.keys() == {"PreCompact", "SessionStart"}


@pytest.mark.skipif(NO_SDK, reason=WHY)
def test_the_example_is_stopped_and_shown_in_the_real_program() -> None:
    """FW-SDK-2, FW-SDK-1."""
    command = [sys.executable, str(ROOT / "examples" / "claude_agent.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    blocked, finished = done.stdout.split("> Finish it.")
    assert (
        "Compaction blocked by PreCompact hook: [callback]: verdict-core: wait: 2 open" in blocked
    )
    assert '- todos: "write the test"\n  - uncommitted: "test_parser.py"' in blocked
    assert "(compacted)" not in blocked
    assert "(compacted)" in finished
