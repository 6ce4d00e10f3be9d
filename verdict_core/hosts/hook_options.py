"""The words of `verdict-core hook`, without what they run: building them costs no import.

In: the commands of the command line. Out: one for each harness, `install` and `uninstall`.
(SPEC HK-FORM, HK-INST)
"""

import argparse
from collections.abc import Callable
from typing import Any

from verdict_core.context import DEFAULT_MAX_CHARS, DEFAULT_WAIT_MIN

HARNESSES = ("claude-code", "codex")
DEFAULT_DEADLINE = "5"
# What `install` hands on to the command that it installs, where it is not the default.
SETTINGS = (
    ("deadline", "S", DEFAULT_DEADLINE, "seconds for the whole hook"),
    ("wait_min", "N", str(DEFAULT_WAIT_MIN), "more open items than this: preserve_first"),
    ("max_chars", "N", str(DEFAULT_MAX_CHARS), "budget of the state in characters"),
    ("service", "SPEC", None, "whom to ask where the count does not decide"),
    ("state_dir", "DIR", None, "where journal, handoffs and runs are kept"),
)


def add(commands: Any) -> None:
    """Add the commands of `hook`."""
    for harness in HARNESSES:
        about = f"serve PreCompact and SessionStart of {harness}: a payload on stdin"
        serve = _command(commands, harness, _run("hook", "run"), about)
        serve.set_defaults(harness=harness)
        _settings(serve)
    install = _command(
        commands, "install", _run("hook_install", "install"), "put the hook into the settings"
    )
    uninstall = _command(
        commands, "uninstall", _run("hook_install", "uninstall"), "take the hook out again"
    )
    for parser in (install, uninstall):
        parser.add_argument(
            "harness", metavar="HARNESS", choices=HARNESSES, help=" or ".join(HARNESSES)
        )
        place = parser.add_mutually_exclusive_group()
        place.add_argument(
            "--project", action="store_true", help="settings of this directory (the default)"
        )
        place.add_argument("--user", action="store_true", help="settings of every project of yours")
        parser.add_argument(
            "--dry-run", action="store_true", help="print the result, write nothing"
        )
    _settings(install)


def _settings(parser: argparse.ArgumentParser) -> None:
    for name, metavar, default, about in SETTINGS:
        said = f"{about} (default: {default})" if default else about
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, metavar=metavar, default=default, help=said)


def _command(commands: Any, name: str, run: Any, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + ".", allow_abbrev=False
    )
    parser.set_defaults(run=run)
    return parser


def _run(module: str, name: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        import importlib

        found = importlib.import_module(f"verdict_core.hosts.{module}")
        status: int = getattr(found, name)(options)
        return status

    return run
