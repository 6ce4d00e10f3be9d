"""A verifier that can read the workspace and not write it, where Linux has bubblewrap.

In: a command and a workspace. Out: the same command inside `bwrap`, or `VerifierRefused`. Law: a
command that is handed out runs with the whole workspace mounted read-only, and that was seen to
work just before. Everything else stays as it is: this is no cage. (SPEC PG-SANDBOX)
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from verdict_core.errors import VerifierRefused

PROBE_TIMEOUT_S = 10.0


def sandboxed(argv: Sequence[str], workspace: Path) -> list[str]:
    """`argv` inside a mount namespace in which `workspace` is read-only, with it as working
    directory. Runs one probe. Raises VerifierRefused, sandbox_missing, where bwrap is not found, or
    cannot make the workspace read-only here. (SPEC PG-SANDBOX-1, PG-SANDBOX-2)"""
    top = os.path.realpath(workspace)
    program = shutil.which("bwrap")
    if program is None:
        raise _refused(top, "bubblewrap (bwrap) is not on the PATH: install it (Linux only)")
    # CAP_SYS_ADMIN is what root would need to mount the workspace again, writable.
    command = [program, "--die-with-parent", "--cap-drop", "CAP_SYS_ADMIN", "--dev-bind", "/", "/"]
    command += ["--ro-bind", top, top, "--chdir", top, "--"]
    _probe(command, top)
    # bwrap ends with 1 when it cannot start a command, which a check may end with too; nice ends
    # with 126 or 127. Not env, which takes a name with an equals sign for an assignment.
    return [*command, "nice", "-n", "0", "--", *argv]


def _probe(command: list[str], top: str) -> None:
    try:
        done = subprocess.run(
            [*command, "test", "!", "-w", top],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise _refused(top, f"bwrap cannot be run: {error}") from None
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip()
        raise _refused(top, f"bwrap cannot make it read-only here: {words or 'it stays writable'}")


def _refused(top: str, message: str) -> VerifierRefused:
    return VerifierRefused(message, path=top, code="sandbox_missing")
