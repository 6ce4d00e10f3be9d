"""The words of `verdict-core mcp`: all that is fixed for as long as the server runs.

In: a command line. Out: settings that travel to each call as JSON, or a refusal before anything is
served. Law: whoever calls a tool chooses neither who checks nor by what thresholds. (SPEC MC-SET)
"""

import argparse
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verdict_core.errors import BadConfig, ScopeRefused, Usage
from verdict_core.hosts import progress_options

Settings = Mapping[str, Any]
NO_VERIFIER = (
    "verdict-core: no --check or --verifier was given: every claim will be kept as evidence"
)


def add(commands: Any) -> argparse.ArgumentParser:
    """Add `mcp`, without the words that other commands of the context half have too."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "mcp",
        help="serve both halves as six tools to an MCP host",
        description="Serve six tools over standard input and output, as the Model Context Protocol"
        " has it. What checks claims, and every threshold, is fixed here.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    progress_options.checks(parser, required=False)
    progress_options.run_of(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Serve until the client goes away. (SPEC MC-SET-2)"""
    settings = settings_of(options)
    # Only the second generation of the SDK has this package beside it.
    if importlib.util.find_spec("mcp_types") is None:
        raise BadConfig("needs the extra: pip install 'verdict-core[mcp]'", path="mcp")
    from verdict_core.hosts import mcp

    if not settings["command"]:
        print(NO_VERIFIER, file=sys.stderr)
    return mcp.run(settings)


def settings_of(options: argparse.Namespace) -> Settings:
    """What every call is answered with. Raises Usage, BadConfig, VerifierRefused. (MC-SET-2)"""
    from verdict_core.hosts import cli, progress

    if bool(options.command) != (options.check or options.verifier):
        raise Usage("--check or --verifier, and a COMMAND after --, go together", path="mcp")
    workspace = os.path.realpath(options.workspace)
    _refuse_place(Path(workspace), options.ignore)
    progress.verifier_of(options, Path(workspace))
    if options.service is not None:
        cli.service_of(options.service)
    return {
        **{name: value for name, value in vars(options).items() if name != "run"},
        # As they are now: who can move a directory must not move what is checked.
        "workspace": workspace,
        "state_dir": os.path.realpath(progress.state_directory(options.state_dir)),
        "wait_min": cli.number(options.wait_min, "--wait-min"),
        "max_chars": cli.number(options.max_chars, "--max-chars"),
    }


def _refuse_place(workspace: Path, ignores: list[str]) -> None:
    from verdict_core.progress.scope import resolve

    if not workspace.is_dir():
        raise BadConfig(f"not a directory: {workspace}", path="--workspace")
    try:
        resolve(".", workspace, ignores=ignores)
    except ScopeRefused as error:
        # A workspace in which nothing stands yet is one.
        if error.code != "scope_empty":
            raise BadConfig(error.message, path="--ignore") from None
