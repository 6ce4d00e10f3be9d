"""The words of `verdict-core progress`, without what they run: building them costs no import.

In: the commands of the command line. Out: four more, and the words that the MCP server shares with
them. (SPEC PG-CLI, MC-SET)
"""

import argparse
from collections.abc import Callable
from typing import Any

Command = Callable[..., argparse.ArgumentParser]


def add(commands: Any, command: Command) -> None:
    """Add `verify`, `ledger`, `state` and `audit`."""
    verify = command(commands, "verify", _run("run_verify"), "have a claimed step verified")
    verify.add_argument("--claim", metavar="TEXT", required=True, help="what was done, in words")
    verify.add_argument(
        "--scope", metavar="GLOB", required=True, help="what nobody may change meanwhile: src/**"
    )
    checks(verify, required=True)
    ledger = command(commands, "ledger", _run("run_ledger"), "every claim and ruling of this run")
    state = command(commands, "state", _run("run_state"), "what is verified, stale, open")
    audit = command(commands, "audit", _run("run_audit"), "0: unbroken chain, 1: broken")
    for parser in (verify, ledger, state, audit):
        run_of(parser)


def checks(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Who checks, and how."""
    parser.add_argument(
        "--ignore", metavar="GLOB", action="append", default=[],
        help="leave this out of the scope: NAME/ at any depth, or a glob from the workspace",
    )  # fmt: skip
    parser.add_argument("--timeout", metavar="S", default="600", help="seconds (default: 600)")
    parser.add_argument(
        "--sandbox", action="store_true", help="mount the workspace read-only (Linux, bubblewrap)"
    )
    parser.add_argument("--harness-home", metavar="DIR", help="default: $DSH_HOME where it is set")
    kind = parser.add_mutually_exclusive_group(required=required)
    kind.add_argument("--check", action="store_true", help="the exit status of COMMAND rules")
    kind.add_argument("--verifier", action="store_true", help="COMMAND writes a report")
    number = "+" if required else "*"
    parser.add_argument("command", metavar="COMMAND", nargs=number, help="after --, with arguments")


def run_of(parser: argparse.ArgumentParser) -> None:
    """Where the workspace is, and the run."""
    parser.add_argument("--workspace", metavar="DIR", default=".", help="default: here")
    parser.add_argument("--state-dir", metavar="DIR", help="where runs are kept")
    parser.add_argument("--session", metavar="ID", help="default: the run of the workspace")


def _run(name: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        from verdict_core.hosts import progress

        status: int = getattr(progress, name)(options)
        return status

    return run
