"""What the suite is made of, wherever it stands: in the package, or beside it in a checkout.

In: nothing. Out: paths of the properties, the vectors and SPEC.md; the clauses in it. Law: there is
one copy, and it is the one that stands beside the package that is imported.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import verdict_core
from verdict_core.errors import Unreadable

PACKAGE = Path(verdict_core.__file__).parent

CLAUSE_ID = re.compile(r"\b[A-Z]{2}-[A-Z]+-\d+\b")
_CLAUSE = re.compile(
    r"^- \*\*([A-Z]{2}-[A-Z]+-\d+)\*\* (.*?)(?=^- |^#|^\||^```|^<!--|^$)", re.M | re.S
)
_VERSION = re.compile(r"^Spec version: (\S+)", re.M)


def part(name: str) -> Path:
    """`properties`, `vectors` or `SPEC.md`. Raises Unreadable."""
    for folder in (PACKAGE, PACKAGE.parent):
        if (folder / name).exists():
            return folder / name
    raise Unreadable("not installed, and not in the checkout either", path=name)


@cache
def clauses() -> Mapping[str, str]:
    """The text of each clause by its id, on one line, without its *why*."""
    found = _CLAUSE.findall(_spec())
    return {name: " ".join(text.split("*Why:*")[0].split()) for name, text in found}


@cache
def spec_version() -> str:
    """The version of the specification."""
    return str(_VERSION.findall(_spec())[0])


def _spec() -> str:
    return part("SPEC.md").read_text(encoding="utf-8")
