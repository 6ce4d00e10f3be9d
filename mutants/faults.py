"""What a fault is, and the faults that were written by hand.

In: `records/*.toml`. Out: `Fault`s. Law: one file a fault, named after it; no key more or less.
"""

import tomllib
from pathlib import Path

from attrs import fields, frozen

ROOT = Path(__file__).resolve().parent.parent
RECORDS = Path(__file__).resolve().parent / "records"


class BadRecord(Exception):
    """A record that cannot be read."""


@frozen(kw_only=True)
class Fault:
    """`id` names what is broken; `clause` of SPEC.md no longer holds in `target` once `fragment`,
    which stands there once (inside `within`, where that is given), is `replacement`; the test
    `killed_by` has to fail then."""

    id: str
    clause: str
    target: str
    within: str = ""
    fragment: str
    replacement: str
    killed_by: str

    @property
    def record(self) -> str:
        """Where it is written down, if it is written by hand."""
        return f"mutants/records/{self.id}.toml"


def made(
    id: str, clause: str, target: str, within: str, fragment: str, replacement: str, test: str
) -> Fault:
    """A fault of a table, whose name stands before the first dot of `id`. `target` is a path from
    the package."""
    return Fault(
        id=id,
        clause=clause,
        target=f"verdict_core/{target}",
        within=within,
        fragment=fragment,
        replacement=replacement,
        killed_by=test,
    )


def by_hand(folder: Path = RECORDS) -> list[Fault]:
    """The records of a folder, by name. Raises BadRecord."""
    return [_read(file) for file in sorted(folder.glob("*.toml"))]


def _read(file: Path) -> Fault:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadRecord(f"{file.name}: {error}") from None
    required = {slot.name for slot in fields(Fault)} - {"within"}
    if not required <= values.keys() <= required | {"within"}:
        raise BadRecord(f"{file.name}: the keys are {', '.join(sorted(required))}, and within")
    if not all(isinstance(value, str) for value in values.values()):
        raise BadRecord(f"{file.name}: every value is a string")
    if values["id"] != file.stem:
        raise BadRecord(f"{file.name}: its id is {values['id']}")
    return Fault(**values)
