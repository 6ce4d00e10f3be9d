"""What texts in a Codex record mean.

In: a text of a row. Out: who wrote it, or what it did. Law: the host's words are told by how they
begin, from these tables alone. (SPEC RD-CX-9)
"""

import re
from typing import Any

from verdict_core.readers.session import arguments, mapping

NEWLY_SPAWNED = "You are the newly spawned agent"
# What a person sends to have the plan carried out, and how a fresh session begins with one.
IMPLEMENT = "Implement the plan."
HANDED_PLAN = "A previous agent produced the plan below"
# What stands in a user row and was not written by the person.
NOT_SAID = (
    "<environment_context>",
    "<user_instructions>",
    "<recommended_plugins>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_action>",
    "<user_shell_command>",
    "<skill>",
    "<goal_context>",
    "<hook_prompt",
    "# AGENTS.md",
)
_PROPOSED = re.compile(r"<proposed_plan>\s*(.*?)\s*</proposed_plan>", re.DOTALL)
_FAILED = re.compile(r"\s*(?:failed|unsupported|error|update_plan is)\b", re.IGNORECASE)
_SCRIPT_FAILED = re.compile(r"\s*script (?:failed|error|terminated|timed out)", re.IGNORECASE)
_EXIT = re.compile(r'Process exited with code (-?\d+)|^Exit code: (-?\d+)|"exit_code": ?(-?\d+)')
_RUNNING = re.compile(r"Process running with session ID (\d+)")
# The host's own lines stand before this one.
_OUTPUT = "\nOutput:"
_HEAD = 400


def is_hosts(text: str) -> bool:
    """Whether the host wrote this text of a user row."""
    return not text.strip() or text.lstrip().startswith(NOT_SAID)


def proposed(text: str) -> str | None:
    """The plan that a text of the assistant proposes."""
    found = _PROPOSED.search(text)
    return found[1] if found else None


def plan_failed(output: str) -> bool:
    """Whether the output of a plan or goal call says that it changed nothing."""
    return _FAILED.match(output) is not None


def script_failed(output: str) -> bool:
    """Whether a script did not come to its end."""
    return _SCRIPT_FAILED.match(output) is not None


def exit_code(output: str) -> int | None:
    """The exit code of a command, or None where its output does not say."""
    found = _EXIT.search(_head(output))
    return int(next(group for group in found.groups() if group)) if found else None


def running_session(output: str) -> str | None:
    """The id of the terminal in which a command is still running."""
    found = _RUNNING.search(_head(output))
    return found[1] if found else None


def command_of(given: Any) -> str:
    """The shell command that a call runs: a text, or a list of arguments."""
    given = mapping(given)
    command = given.get("cmd", given.get("command"))
    if not isinstance(command, list):
        return command if isinstance(command, str) else ""
    words = [word for word in command if isinstance(word, str)]
    # `bash -lc SCRIPT` has its command in one piece.
    return words[2] if len(words) == 3 and words[1].startswith("-") else " ".join(words)


def answers(output: str, questions: dict[str, str]) -> dict[str, str]:
    """The answers that are some, by question. `questions` has each question's text by its id."""
    found: dict[str, str] = {}
    for name, answer in mapping((arguments(output) or {}).get("answers")).items():
        value = answer.get("answers") if isinstance(answer, dict) else answer
        texts = value if isinstance(value, list) else [value]
        text = ", ".join(text for text in texts if isinstance(text, str) and text.strip())
        if text:
            found[questions.get(name, name)] = text
    return found


def _head(output: str) -> str:
    """Where the host's own words stand: a command prints what it likes."""
    return output.partition(_OUTPUT)[0][:_HEAD]
