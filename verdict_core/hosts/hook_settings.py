"""A harness's settings, with our hook in them or without it. Pure.

In: the bytes of a settings file. Out: the settings, changed, and bytes again. Laws: nothing of
anybody else's is lost or moved; a part that has another shape than it should is refused and not
mended. (SPEC HK-INST-3, HK-INST-4, HK-INST-7)
"""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from verdict_core import wire
from verdict_core.errors import WrongType, child
from verdict_core.hosts.hook_payload import COMPACT, PRE_COMPACT, SESSION_START

Settings = dict[str, Any]

# What a matcher is matched with: PreCompact has a trigger, and all of them are ours.
MATCHERS = {PRE_COMPACT: None, SESSION_START: COMPACT}
_HOOKS = child("$", "hooks")
_INDENT = re.compile(r"\n([ \t]+)\"")


def parsed(data: bytes | None) -> Settings:
    """The settings in a file; none, or an empty one, are empty. Raises InvalidJson, WrongType.
    (SPEC HK-INST-4)"""
    if data is None or not data.strip():
        return {}
    settings = _object(wire.parse(data), "$")
    for event, groups in _object(settings.get("hooks", {}), _HOOKS).items():
        path = child(_HOOKS, event)
        for index, group in enumerate(_list(groups, path)):
            inner = child(child(path, index), "hooks")
            _list(_object(group, child(path, index)).get("hooks", []), inner)
    return settings


def added(settings: Settings, harness: str, command: str, limit_s: int) -> Settings:
    """The settings with the hook: in the place of an older one of ours, else after what is there.
    The same settings where it is there already. (SPEC HK-INST-3, HK-INST-5)"""
    handler = {"type": "command", "command": command, "timeout": limit_s}
    hooks = dict(settings.get("hooks", {}))
    for event, matcher in MATCHERS.items():
        group = (
            {"hooks": [handler]} if matcher is None else {"matcher": matcher, "hooks": [handler]}
        )
        groups = hooks.get(event, [])
        ours = [one for one in groups if any(_is_ours(h, harness) for h in one.get("hooks", []))]
        if ours == [group]:
            continue
        hooks[event] = [*_without(groups, harness), group]
    return {**settings, "hooks": hooks}


def taken_out(settings: Settings, harness: str) -> Settings:
    """The settings without the hook. A list or an object that is empty once ours is out goes too;
    one that held nothing of ours stays as it is. (SPEC HK-INST-7)"""
    hooks = {}
    for event, groups in settings.get("hooks", {}).items():
        left = list(_without(groups, harness))
        if left or left == groups:
            hooks[event] = left
    if hooks == settings.get("hooks", {}):
        return settings
    return {k: hooks if k == "hooks" else v for k, v in settings.items() if k != "hooks" or hooks}


def dumped(settings: Settings, *, like: bytes | None) -> bytes:
    """The settings as JSON, indented as the file was."""
    found = _INDENT.search((like or b"").decode())
    indent = found[1] if found else "  "
    return (json.dumps(settings, indent=indent, ensure_ascii=False) + "\n").encode()


def _without(groups: list[Any], harness: str) -> Iterator[Any]:
    for group in groups:
        handlers = group.get("hooks", [])
        left = [one for one in handlers if not _is_ours(one, harness)]
        if left == handlers:
            yield group
        elif left:
            yield {**group, "hooks": left}


def _is_ours(handler: Any, harness: str) -> bool:
    """Whether this is a hook that `install` put in, whatever interpreter and settings it names."""
    command = handler.get("command") if isinstance(handler, dict) else None
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return words[2:6] == ["-m", "verdict_core", "hook", harness]


def _object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongType(f"expected an object, got {wire.kind(value)}", path=path)
    return value


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise WrongType(f"expected a list, got {wire.kind(value)}", path=path)
    return value
