"""What texts in a Claude Code record mean.

In: a text of a row. Out: who wrote it, or what it did. Law: the host's words are told by how they
begin, from these tables alone; any other text in a user row is the person's. (SPEC RD-CC-6)
"""

import re
from typing import Any

SYNTHETIC = "<synthetic>"
PLAN_MESSAGE = "Implement the following plan:"
INTERRUPTED = "[Request interrupted by user"
STOPPED_BY_HOOK = "Operation stopped by hook"
BLOCKED_BY_HOOK = "UserPromptSubmit operation blocked by hook"
# What asks the assistant to go on and is not the person.
NOTIFICATIONS = (
    "<task-notification>",
    "<bash-notification>",
    "<agent-notification>",
    "<teammate-message",
)
# What the person did not write, or what only ran a command of the host's. A command that is a
# prompt has its <command-message> first, and is a message.
NOT_SAID = (
    "<local-command-",
    "<command-name>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<user-memory-input>",
    "<system-reminder>",
    "<ide_",
    "Caveat: The messages below",
    "This session is being continued from a previous conversation",
    INTERRUPTED,
    STOPPED_BY_HOOK,
    *NOTIFICATIONS,
)
REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "User rejected tool use",
    INTERRUPTED,
)

_REASON = re.compile(r"the user said:\s*(\S.*)", re.DOTALL)
_CLARIFY = "wants to clarify"
_ASKS = re.compile(r"""[?\uff1f\u061f][\s"'`*_)\]}>\u2019\u201d\u00bb\u300d\u300f\u3011\uff09]*$""")
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*["]""", re.DOTALL)
_GIT = r"\bgit\b(?:\s+-\S+(?:\s+[^-\s&|;]\S*)?)*\s+"
_COMMIT = re.compile(_GIT + r"commit\b(?![-\w])(?![^&|;\n]*--dry-run)")
_NEW_REPOSITORY = re.compile(_GIT + r"(?:init|clone)\b")
_SHOWN_COMMIT = re.compile(r"^\[.+ [0-9a-f]{7,64}\]", re.MULTILINE)
_NO_COMMIT = re.compile(r"(?:nothing|no changes) (?:added )?to commit")


def asks(text: str) -> bool:
    """Whether a text ends in a question mark, closing marks allowed."""
    return _ASKS.search(text) is not None


def reason(rejection: str) -> str | None:
    """What the person said when rejecting a call; None for a rejection without words."""
    found = _REASON.search(rejection)
    return found[1] if found else None


def settles(words: str) -> bool:
    """Whether words with which a question was rejected settle it."""
    return _CLARIFY not in words


def commits(command: str) -> bool:
    """Whether a shell command commits."""
    return _COMMIT.search(_bare(command)) is not None


def makes_repository(command: str) -> bool:
    """Whether a shell command makes the repository that it works in."""
    return _NEW_REPOSITORY.search(_bare(command)) is not None


def committed(output: str, *, over: bool) -> bool:
    """Whether a commit succeeded: its output shows it, or it came to its end without an error
    (`over`) and does not say that there was nothing to commit."""
    # Looking at the beginning of each line takes long.
    shown = (output.startswith("[") or "\n[" in output) and _SHOWN_COMMIT.search(output)
    return bool(shown) or (over and not _NO_COMMIT.search(output))


def _bare(command: str) -> str:
    """The command without what it quotes: a message may speak of anything."""
    return _QUOTED.sub("''", command)


def text_of(value: Any) -> str | None:
    """`value` where it is a string."""
    return value if isinstance(value, str) else None
