"""The command line: arguments in, one answer on stdout, a status out.

Laws: only 0 is permission; bad input gets one line that names the path and the code, and nothing
else happens; a command imports what it needs and no more. (SPEC CV-CLI)
"""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from verdict_core import wire
from verdict_core.context import DEFAULT_MAX_CHARS, DEFAULT_WAIT_MIN, Service, Verdict
from verdict_core.errors import BadConfig, Unreadable, Usage, VerdictCoreError
from verdict_core.hosts import hook_options, land_options, mcp_options, progress_options

EXIT_CRASH = 70
EXIT_INTERRUPTED = 130
EXIT_VERDICT = {Verdict.SAFE_TO_COMPACT: 0, Verdict.WAIT: 10, Verdict.PRESERVE_FIRST: 20}

_DESCRIPTION = """\
Would compacting this AI coding session now lose work? Answers safe_to_compact (exit status 0),
wait (10) or preserve_first (20). Only 0 is permission. Bad input: 3; a state over its budget: 2."""


class _Parser(argparse.ArgumentParser):
    """Usage errors are refusals like any other; argparse would end with 2."""

    def error(self, message: str) -> NoReturn:
        raise Usage(message, path=self.prog)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status. (SPEC CV-CLI-1)"""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options = _parser().parse_args(arguments)
        return int(options.run(options))
    except VerdictCoreError as error:
        return _refuse(error, as_json="--json" in arguments)
    except KeyboardInterrupt:
        print("verdict-core: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our answer went away: nobody has it, so it is no permission.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CRASH
    except Exception:  # a fault of ours, which may not pass for any verdict
        traceback.print_exc()
        print("verdict-core: this is a fault of verdict-core, not a verdict", file=sys.stderr)
        return EXIT_CRASH


def _refuse(error: VerdictCoreError, *, as_json: bool) -> int:
    if as_json:
        emit_json({"refused": refusal(error)})
    print(f"verdict-core: {error}", file=sys.stderr)
    return error.exit_status


def refusal(error: VerdictCoreError) -> dict[str, str]:
    """The object that says what was refused, where and why. (SPEC CV-CLI-5)"""
    refused = {"code": error.code, "path": error.path, "message": error.message}
    return {name: _sendable(text) for name, text in refused.items()}


def _sendable(text: str) -> str:
    """`text` without surrogates: the bytes of a file name that is not UTF-8 decode to them."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="verdict-core", description=_DESCRIPTION, allow_abbrev=False)
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    check = _command(commands, "check", _check, "read this repository and session, judge, say why")
    land_options.sources(check)
    _thresholds(check, wait_min=True, max_chars=True)
    _asks(check)

    build = _command(commands, "build", _build, "print a summary with the state it renders to")
    build.add_argument("--summary", metavar="FILE", required=True, help="JSON, or - for stdin")
    _thresholds(build, max_chars=True)

    judge = _command(commands, "judge", _judge, "judge what build --json printed")
    judge.add_argument("document", metavar="FILE", help="JSON, or - for stdin")
    _thresholds(judge, wait_min=True)
    _asks(judge)

    verify = _command(commands, "verify", _verify, "score the verdict on labelled cases")
    verify.add_argument("corpora", metavar="CORPUS", nargs="*", help="JSON Lines, or - for stdin")
    verify.add_argument("--shipped", action="store_true", help="the corpus of this package, too")
    verify.add_argument("--curve", action="store_true", help="what each wait_min would answer")
    verify.add_argument("--junit", metavar="FILE", help="write the outcome of every case here, too")
    verify.add_argument(
        "--jobs", metavar="N", default="1", help="processes; with --dask, askings at once"
    )
    verify.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler, as tcp://HOST:PORT")
    verify.epilog = "Exit status: 0 no lost case let through, 1 one was, 2 over budget, 3 input."
    _thresholds(verify, wait_min=True, max_chars=True)
    _asks(verify)

    progress = commands.add_parser("progress", help="have claimed steps verified, and keep it")
    progress_options.add(
        progress.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser), _command
    )
    hook = commands.add_parser("hook", help="serve a harness's hooks; install them, take them out")
    hook_options.add(hook.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser))
    land_options.add(commands, _command)
    _conformance_options(commands)

    mcp = mcp_options.add(commands)
    _thresholds(mcp, wait_min=True, max_chars=True)
    _asks(mcp)
    return parser


def _conformance_options(commands: Any) -> None:
    parser = commands.add_parser(
        "conformance",
        help="check another implementation, a clause a row",
        description="Put the suite to another implementation. `conformance serve` is this one"
        " behind the same door. Exit status: 0 all passed, 1 something failed, 4 incomplete.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=_conformance)
    parser.add_argument("--json", metavar="FILE", help="write the whole report here, too")
    parser.add_argument("--baseline", metavar="FILE", help="known failures, as NAME: REASON")
    parser.add_argument("--examples", metavar="N", help="a property (100), or an operation (500)")
    parser.add_argument("--seed", metavar="N", default="0", help="of what is random (default: 0)")
    parser.add_argument("--only", metavar="CLAUSE", help="of this id; * stands for anything")
    parser.add_argument("--time-limit", metavar="S", default="5", help="seconds for a reply")
    parser.add_argument("--against", metavar="COMMAND", help="compare with another one instead")
    parser.add_argument("--junit", metavar="FILE", help="write a report as JUnit XML, too")
    parser.add_argument("command", metavar="COMMAND", nargs="+", help="after --, with arguments")


def _command(commands: Any, name: str, run: Any, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + ".", allow_abbrev=False
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)
    return parser


def _thresholds(
    parser: argparse.ArgumentParser, *, wait_min: bool = False, max_chars: bool = False
) -> None:
    if wait_min:
        parser.add_argument(
            "--wait-min",
            metavar="N",
            default=str(DEFAULT_WAIT_MIN),
            help="more open items than this are preserve_first (default: %(default)s)",
        )
    if max_chars:
        parser.add_argument(
            "--max-chars",
            metavar="N",
            default=str(DEFAULT_MAX_CHARS),
            help="budget of the state in characters (default: %(default)s)",
        )


def _asks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--service",
        metavar="SPEC",
        help="whom to ask where the count does not decide: command:PROGRAM ARGUMENTS, or"
        " openai:MODEL@BASE_URL",
    )


def service_of(spec: str) -> Service:
    """The service that `--service SPEC` names. Raises BadConfig."""
    from verdict_core.services import setting

    return setting.service_of(spec)


def _check(options: argparse.Namespace) -> int:
    from verdict_core.hosts import check

    return check.run(
        repo=options.repo,
        record=options.record,
        record_format=options.format,
        summary=options.summary,
        progress=options.progress,
        state_dir=options.state_dir,
        wait_min=number(options.wait_min, "--wait-min"),
        max_chars=number(options.max_chars, "--max-chars"),
        service=None if options.service is None else service_of(options.service),
        as_json=options.json,
    )


def _build(options: argparse.Namespace) -> int:
    from verdict_core.context import Summary, build

    max_chars = number(options.max_chars, "--max-chars")
    summary = Summary.from_json(read_input(options.summary))
    state = build(summary, max_chars=max_chars)
    if options.json:
        emit_json({"summary": summary.payload(), "state": state.payload()})
    else:
        emit(f"{state.text}\n{state.digest}\n")
    return 0


def _judge(options: argparse.Namespace) -> int:
    from verdict_core.context import judge, judge_document

    wait_min = number(options.wait_min, "--wait-min")
    service = None if options.service is None else service_of(options.service)
    summary, state = judge_document(read_input(options.document))
    judgement = judge(summary, state, wait_min=wait_min, service=service)
    if options.json:
        emit_json(judgement.payload())
    else:
        from verdict_core.hosts import people

        emit(people.judgement(summary, judgement, wait_min, colour=sys.stdout.isatty()))
    return EXIT_VERDICT[judgement.verdict]


def _verify(options: argparse.Namespace) -> int:
    from verdict_core.hosts import verify

    return verify.run(
        corpora=options.corpora,
        shipped=options.shipped,
        service=options.service,
        jobs=number(options.jobs, "--jobs"),
        dask=options.dask,
        junit=options.junit,
        curve=options.curve,
        wait_min=number(options.wait_min, "--wait-min"),
        max_chars=number(options.max_chars, "--max-chars"),
        as_json=options.json,
    )


def _conformance(options: argparse.Namespace) -> int:
    from verdict_core.hosts import conformance

    return conformance.run(
        command=options.command,
        baseline=options.baseline,
        only=options.only,
        seed=options.seed,
        examples=options.examples,
        time_limit=options.time_limit,
        against=options.against,
        json=options.json,
        junit=options.junit,
    )


def number(text: str, option: str) -> int:
    """A threshold from the command line: ASCII digits and nothing else. Raises BadConfig."""
    from verdict_core.context.thresholds import threshold

    if not (text.isascii() and text.isdigit()):
        raise BadConfig(f"expected an integer of 0 or more, got {text!r}", path=option)
    return threshold(int(text[:32]), option)


def read_input(name: str) -> bytes:
    """The bytes of a file, or of stdin for `-`. Raises Unreadable."""
    try:
        if name == "-":
            return sys.stdin.buffer.read()
        with open(name, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise Unreadable(str(getattr(error, "strerror", None) or error), path=name) from None


def emit_json(value: Any) -> None:
    """One JSON object on stdout, and nothing else."""
    _write(wire.compact(value) + b"\n")


def emit(text: str) -> None:
    """Text for people on stdout."""
    _write(text.encode(errors="backslashreplace"))


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
