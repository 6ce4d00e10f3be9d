"""`verdict-core hook install` and `uninstall`: the hook in a harness's settings.

In: a harness and where its settings are. Out: the file with the hook in it, or without it. Laws:
what else stands in the file stays, in its order; a file that is not understood stays as it is, byte
for byte; the file is replaced whole or not at all. (SPEC HK-INST)
"""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from verdict_core.errors import Unreadable, VerdictCoreError, visible
from verdict_core.hosts import cli, hook
from verdict_core.hosts.hook_options import SETTINGS
from verdict_core.hosts.hook_settings import Settings, added, dumped, parsed, taken_out
from verdict_core.hosts.settings_file import replaced

# The harness's own limit is there for a hook that cannot even start in time; ours ends before it.
LIMIT_S = 60


@frozen
class Harness:
    """Where a harness has its settings: below a project, or in a directory of the user's that a
    variable can name. `after`: what is left to do for the user."""

    folder: str
    file: str
    variable: str
    after: tuple[str, ...]


HARNESSES: Mapping[str, Harness] = {
    "claude-code": Harness(
        ".claude",
        "settings.json",
        "CLAUDE_CONFIG_DIR",
        (
            "Sessions that run now do not know it yet: start Claude Code anew, and look at /hooks.",
            "Settings of a project count in a folder that you have trusted.",
        ),
    ),
    "codex": Harness(
        ".codex",
        "hooks.json",
        "CODEX_HOME",
        (
            "Codex runs no hook that you have not trusted, and does not say so. Start `codex` in a"
            ' terminal: it says "Hooks need review"; review and trust both there.',
            "After every change to the hook, installing it anew too, it has to be trusted again.",
            "Where nobody can review, `codex exec --dangerously-bypass-hook-trust` runs it.",
            "Hooks of a project run only where the project is trusted.",
        ),
    ),
}

_OF_THIS_MACHINE = (
    "The file names the Python of this machine; --user puts it into none that is shared."
)


def install(options: argparse.Namespace) -> int:
    """Put the hook in, or bring it up to date. (SPEC HK-INST-1 to HK-INST-6)"""
    hook.setting_of(options)  # what the hook would refuse at every firing is refused here
    line = command(options)
    after = HARNESSES[options.harness].after
    return _changed(
        options,
        lambda settings: added(settings, options.harness, line, LIMIT_S),
        "installed",
        after if options.user else (*after, _OF_THIS_MACHINE),
    )


def uninstall(options: argparse.Namespace) -> int:
    """Take out what install put in, and nothing else. (SPEC HK-INST-7)"""
    return _changed(options, lambda settings: taken_out(settings, options.harness), "taken out", ())


def command(options: argparse.Namespace) -> str:
    """The command line of the hook, quoted for the shell that the harness hands it to: an absolute
    interpreter, that looks for no module in the working directory. (SPEC HK-INST-2)"""
    if not os.path.isabs(sys.executable or ""):
        raise Unreadable("the path of this Python is not known", path="python")
    words = [sys.executable, "-P", "-m", "verdict_core", "hook", options.harness]
    for name, _, default, _ in SETTINGS:
        given = getattr(options, name)
        if given != default:
            value = os.path.abspath(given) if name == "state_dir" else given
            words += [f"--{name.replace('_', '-')}", value]
    return shlex.join(words)


def settings_path(harness: str, *, user: bool) -> Path:
    """The file that the harness reads: of the working directory, or of the user. (HK-INST-1)"""
    about = HARNESSES[harness]
    if user:
        home = os.environ.get(about.variable) or Path.home() / about.folder
        return Path(home).absolute() / about.file
    return Path.cwd() / about.folder / about.file


def _changed(
    options: argparse.Namespace,
    change: Callable[[Settings], Settings],
    done: str,
    after: tuple[str, ...],
) -> int:
    path = settings_path(options.harness, user=options.user)
    before = _read(path)
    try:
        settings = parsed(before)
        result = change(settings)
    except VerdictCoreError as error:
        message = f"{error}; nothing was changed"
        raise Unreadable(message, path=str(path), code=error.code) from None
    if result == settings:
        cli.emit(f"{visible(str(path))}: nothing to change\n")
        return 0
    text = dumped(result, like=before)
    if options.dry_run:
        cli.emit(f"{visible(str(path))} would be:\n{text.decode()}")
        return 0
    inside = None if options.user else Path.cwd()
    replaced(path, before, text if result else None, inside=inside)
    cli.emit("\n".join([f"{visible(str(path))}: {done}", *after, ""]))
    return 0


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(str(error.strerror), path=str(path)) from None
