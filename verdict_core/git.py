"""The one place that calls git.

In: a directory and git's arguments. Out: the bytes of its standard output, or `GitFailed`.
Laws: no setting and no variable hides work, sends git to another repository, runs a hook, reaches
a network or takes a lock that git can do without; and a half answer is no answer. (SPEC GT-RUN)
"""

import contextlib
import errno
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from verdict_core.errors import VerdictCoreError

TIME_LIMIT_S = 60.0

# Every other GIT_ variable is dropped: one that is left over from a hook or an alias names another
# repository, index or object store. These say where the user's own git and configuration are.
_KEPT_VARIABLES = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    }
)
_SET_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone fetches what it lacks, in the middle of status
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# Given by -c and not by a command's own flag, because git hands them on to the git that it starts
# in a submodule. core.fileMode is the caller's: not every file system can keep the bit.
_SETTINGS = {
    "core.checkStat": "default",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.ignoreCase": "false",
    "core.symlinks": "true",
    "core.trustctime": "true",
    "core.untrackedCache": "false",
    "core.useReplaceRefs": "false",
    "diff.ignoreSubmodules": "none",
    "status.showUntrackedFiles": "normal",
}
_OPTIONS = tuple(part for item in _SETTINGS.items() for part in ("-c", "=".join(item)))

_CODES = (
    ("not a git repository", "no_repository"),
    ("dubious ownership", "unsafe_owner"),
    ("must be run in a work tree", "no_work_tree"),
)
_SYSTEM_ERRORS = tuple(f": {os.strerror(number)}" for number in errno.errorcode)
# Rules for what to ignore that cannot be read let more be seen, not less, and a symbolic link
# named .gitignore brings this line every time.
_HARMLESS = "warning: unable to access"
_UNOPENED = "warning: could not open directory"  # a long path cuts off the error after it
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_QUOTED = re.compile('[\\\\"\udc80-\udcff]')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)


class GitFailed(VerdictCoreError):
    """git gave no answer that can be believed. `path` is the directory that it was asked about;
    the codes are git_failed, git_missing, git_timeout, bad_git_output, no_repository,
    no_work_tree, not_a_top_level and unsafe_owner. `output` is what it said all the same, where
    it ended well and named something that the system kept from it. (SPEC GT-RUN-6)"""

    code = "git_failed"
    output = b""


def run(
    top: Path,
    *args: str,
    input: bytes | None = None,
    env: Mapping[str, str] | None = None,
    limit: float | None = None,
) -> bytes:
    """Standard output of `git args` in `top`. Standard input is `input` or closed; `env` is added
    last. Raises `GitFailed` when git is missing, ends badly, takes more than `limit` seconds (at
    most and by default `TIME_LIMIT_S`), or says in passing that the system kept something from it.
    (SPEC GT-RUN-1 to 6)"""
    command = ["git", "-C", os.fspath(top), *_OPTIONS, *args]
    variables = _environment() | dict(env or {})
    seconds = TIME_LIMIT_S if limit is None else min(limit, TIME_LIMIT_S)
    try:
        status, output, complaints = _ended(command, variables, input, seconds)
    except TimeoutExpired:
        message = f"git did not end within {seconds:g} s"
        raise GitFailed(message, path=str(top), code="git_timeout") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in a path
        missing = isinstance(error, FileNotFoundError)
        message = f"git cannot be started: {error}"
        raise GitFailed(message, path=str(top), code="git_missing" if missing else None) from None
    lines = complaints.decode(errors="backslashreplace").splitlines()
    if status != 0:
        message = _worst(lines) or f"git ended with status {status}"
        code = next((code for words, code in _CODES if words in message), None)
        raise GitFailed(message, path=str(top), code=code)
    kept_back = next(filter(_keeps_something_back, lines), None)
    if kept_back is not None:
        half = GitFailed(kept_back, path=str(top))
        half.output = output
        raise half
    return output


def find_top(start: Path, *, limit: float | None = None) -> Path:
    """The top level of the working tree that `start` stands in; `limit` is as for `run`. Raises
    `GitFailed` where there is none, where git answers for a tree elsewhere (core.worktree), and
    where it walked past a `.git` that it could not read, to a repository further up.
    (SPEC GT-TOP-1, GT-TOP-2)"""
    answer = run(start, "rev-parse", "--show-toplevel", limit=limit)
    top = Path(os.fsdecode(answer.removesuffix(b"\n")))
    if not top.is_absolute():
        message = f"{answer!r} is no top level"
        raise GitFailed(message, path=str(start), code="bad_git_output")
    here = Path(os.path.realpath(start))
    for folder in (here, *here.parents):
        if _same(folder, top):
            return top
        if os.path.lexists(folder / ".git"):
            break
    raise _answered_for(top, start)


def named_top(named: Path, *, limit: float | None = None) -> Path:
    """The top level that `named` is; `limit` is as for `run`. Raises `GitFailed` unless git
    answers for just that directory: one that lost its `.git` is never answered for by its parent.
    (SPEC GT-TOP-3)"""
    top = find_top(named, limit=limit)
    if not _same(named, top):
        raise _answered_for(top, named)
    return top


def show_path(raw: bytes) -> str:
    """A path as text, injectively: UTF-8 that does not begin with a double quote is itself; all
    else stands in double quotes with `\\"`, `\\\\` and three octal digits for each byte that is not
    UTF-8, much as git prints it. (SPEC GT-PATH-1)"""
    text = raw.decode(errors="surrogateescape")
    if not text.startswith('"') and not _NOT_UTF8.search(text):
        return text
    return '"' + _QUOTED.sub(lambda match: _escaped(match[0]), text) + '"'


def read_path(text: str) -> bytes:
    """The bytes whose `show_path` is `text`. (SPEC GT-PATH-2)"""
    if not text.startswith('"'):
        return text.encode()
    return _ESCAPE.sub(lambda match: _unescaped(match[1]), text[1:-1].encode())


def _environment() -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT_VARIABLES
    }
    return inherited | _SET_VARIABLES


def _ended(
    command: list[str], variables: dict[str, str], input: bytes | None, seconds: float
) -> tuple[int, bytes, bytes]:
    with Popen(
        command,
        stdin=DEVNULL if input is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=variables,
        start_new_session=True,
    ) as process:
        try:
            output, complaints = process.communicate(input, seconds)
        except BaseException:  # a deadline, Ctrl-C: whatever it is, git does not outlive it
            # Not process.kill: a filter, or the git of a submodule, would live on.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    return process.returncode, output, complaints


def _worst(lines: list[str]) -> str:
    for start in ("fatal:", "error:", ""):
        for line in lines:
            if line.strip() and line.startswith(start):
                return line
    return ""


def _keeps_something_back(line: str) -> bool:
    if line.startswith(_HARMLESS):
        return False
    return line.endswith(_SYSTEM_ERRORS) or line.startswith(_UNOPENED)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _answered_for(top: Path, asked: Path) -> GitFailed:
    message = f"git answers for {top} and not for this directory"
    return GitFailed(message, path=str(asked), code="not_a_top_level")


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return f"\\{ord(character) - 0xDC00:03o}"


def _unescaped(escape: bytes) -> bytes:
    return bytes([int(escape, 8)]) if len(escape) == 3 else escape
