"""`python -m proofs`: every claim about the two tables, proved or with a witness against it."""

import sys

from proofs import admission, rule_table
from proofs.claims import Shown


def main() -> int:
    tables: dict[str, list[Shown]] = {
        "the rule table, for all whole numbers": rule_table.prove(),
        "the admission table": admission.prove(),
    }
    for name, shown in tables.items():
        print(f"== {name}", *shown, sep="\n")
    return 0 if all(s.witness is None for shown in tables.values() for s in shown) else 1


if __name__ == "__main__":
    sys.exit(main())
