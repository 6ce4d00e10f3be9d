"""The name of a run, as one component of a ref and of a path.

In: a run's id. Out: a name that git accepts, from which the id can be read back. Law: no two ids
have the same name, also where a file system does not tell cases apart. (SPEC LD-NAME)
"""

import re

# A dot that git accepts stays: after no other dot, not first or last, and not that of a last
# `.lock`. `%` stands in no id that this library makes, and is written as `%25` in any other.
_UNFIT = re.compile(rb"\A\.|(?<=\.)\.|\.\Z|\.(?=lock\Z)|[^a-z0-9._-]", re.DOTALL)
_ESCAPE = re.compile(rb"%([0-9a-f]{2})")


def name_of(run: str) -> str:
    """The name of a run. (SPEC LD-NAME-1)"""
    return _UNFIT.sub(lambda match: b"%%%02x" % match[0][0], run.encode()).decode()


def run_of(name: str) -> str | None:
    """The run that has this name; None where none has it."""
    try:
        run = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]), name.encode()).decode()
    except UnicodeError:
        return None
    return run if run and name_of(run) == name else None
