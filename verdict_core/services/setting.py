"""The service that a setting names.

In: `command:PROGRAM ARGUMENTS` or `openai:MODEL@BASE_URL`. Out: a service that was not asked yet,
or BadConfig. Law: a refusal never repeats the setting, which may hold a secret. (SPEC SV-SET)
"""

import importlib.util
import shlex
from collections.abc import Callable, Mapping

from verdict_core.context.ask import Service
from verdict_core.errors import BadConfig
from verdict_core.services.reply import DEADLINE_S


def service_of(setting: str, *, path: str = "--service", deadline_s: float = DEADLINE_S) -> Service:
    """The service that `setting` names. `deadline_s` is the seconds that one asking may take.

    `command:` is followed by a command line, split as a shell splits words and run without one;
    `openai:` by a model's name, `@`, and the base address of an OpenAI-compatible endpoint.
    Raises BadConfig with `path`. (SPEC SV-SET-1)
    """
    kind, _, rest = setting.partition(":")
    if kind not in _KINDS:
        raise BadConfig("expected command:PROGRAM ARGUMENTS or openai:MODEL@BASE_URL", path=path)
    try:
        return _KINDS[kind](rest, deadline_s)
    except BadConfig as error:
        raise BadConfig(error.message, path=path) from None


def _command(rest: str, deadline_s: float) -> Service:
    from verdict_core.services.command import Command

    try:
        argv = shlex.split(rest)
    except ValueError as error:
        raise BadConfig(f"the command line cannot be split: {error}") from None
    return Command(argv, deadline_s)


def _openai(rest: str, deadline_s: float) -> Service:
    from verdict_core.services.openai_chat import Chat

    # Looked for and not imported: importing it takes longer than all the rest of a command that
    # does not come to ask.
    if importlib.util.find_spec("openai") is None:
        raise BadConfig("needs the package openai: pip install 'verdict-core[services]'")
    # The last one: a model's name may hold an @, an address with one holds a password.
    model, at, base_url = rest.rpartition("@")
    if not at:
        raise BadConfig("expected openai:MODEL@BASE_URL")
    return Chat(model, base_url, deadline_s)


_KINDS: Mapping[str, Callable[[str, float], Service]] = {"command": _command, "openai": _openai}
