"""The words of `verdict-core land`, without what it runs: building them costs no import.

In: the commands of the command line. Out: one more. (SPEC LD-CLI)
"""

import argparse
from collections.abc import Callable
from typing import Any

Command = Callable[..., argparse.ArgumentParser]


def add(commands: Any, command: Command) -> None:
    """Add `land`."""
    land = command(commands, "land", _run, "write unlanded work down, and bring it back")
    sources(land)
    what = land.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="what is landed of this repository")
    what.add_argument("--show", action="store_true", help="the newest landing of the session")
    what.add_argument(
        "--restore-into", metavar="DIR", help="write its files below a new or empty directory"
    )
    what.add_argument("--forget", action="store_true", help="delete refs and handoffs of the run")
    land.add_argument("--run", metavar="RUN", dest="of", help="not this session's, but this one")
    land.add_argument("--number", metavar="N", help="not the newest ref, but this one")
    land.epilog = "Exit status: 0 where nothing named is left and nothing is unknown, else 10."


def sources(parser: argparse.ArgumentParser) -> None:
    """Where to look: `check` and `land` are asked alike, so that what one finds the other lands."""
    parser.add_argument("--repo", metavar="DIR", help="a git top level (default: the one around)")
    parser.add_argument("--record", metavar="FILE", help="a session record of any harness")
    parser.add_argument("--format", metavar="NAME", help="the record's format, if not recognised")
    parser.add_argument("--summary", metavar="FILE", help="a summary as JSON, or - for stdin")
    parser.add_argument("--progress", metavar="RUN", help="a run's id, or its directory")
    parser.add_argument("--state-dir", metavar="DIR", help="where handoffs and runs are kept")


def _run(options: argparse.Namespace) -> int:
    from verdict_core.hosts import land

    return land.run(options)
