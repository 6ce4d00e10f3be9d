"""A report as JUnit XML: a test case a clause.

Law: what was skipped is skipped, what could not run is an error, what is not claimed is not there.
(SPEC CF-RUN-8)
"""

from xml.sax.saxutils import escape, quoteattr

from verdict_core.conformance.checks import Fate
from verdict_core.conformance.report import Report, Row
from verdict_core.conformance.text import row_text
from verdict_core.errors import visible

_NAME = "verdict-core conformance"
# Of what `visible` lets pass, XML 1.0 has no place for these two.
_NO_XML = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})


def xml_of(report: Report) -> str:
    """The document."""
    rows = [row for row in report.rows if row.fate is not Fate.NOT_CLAIMED]
    fates = [row.fate for row in rows]
    failures = fates.count(Fate.FAILED) + len(report.troubles)
    skipped = fates.count(Fate.SKIPPED) + fates.count(Fate.KNOWN)
    totals = (
        f'name={quoteattr(_NAME)} tests="{len(rows) + len(report.troubles)}"'
        f' failures="{failures}" errors="{fates.count(Fate.NOT_RUN)}" skipped="{skipped}"'
    )
    run = report.settings
    properties = {
        "suite": run.suite,
        "spec": run.spec,
        "seed": str(run.seed),
        "examples": str(run.examples),
        "outcome": report.outcome,
    }
    return "\n".join(
        (
            '<?xml version="1.0" encoding="utf-8"?>',
            f"<testsuites {totals}>",
            f"<testsuite {totals}>",
            "<properties>",
            *(f"<property name={_value(k)} value={_value(v)}/>" for k, v in properties.items()),
            "</properties>",
            *map(_case, rows),
            *(_element("suite", "failure", trouble, "") for trouble in report.troubles),
            "</testsuite>",
            "</testsuites>",
            "",
        )
    )


def _case(row: Row) -> str:
    if row.fate is Fate.PASSED:
        return f"<testcase classname={quoteattr(_NAME)} name={_value(row.clause)}/>"
    if row.fate is Fate.FAILED:
        return _element(row.clause, "failure", row.text, row_text(row))
    said = f"known failure: {row.reason}" if row.fate is Fate.KNOWN else row.reason
    return _element(row.clause, "error" if row.fate is Fate.NOT_RUN else "skipped", said, "")


def _element(name: str, kind: str, message: str, text: str) -> str:
    lines = "\n".join(visible(line) for line in text.split("\n"))
    return (
        f"<testcase classname={quoteattr(_NAME)} name={_value(name)}>"
        f"<{kind} message={_value(message)}>{escape(lines.translate(_NO_XML))}</{kind}></testcase>"
    )


def _value(text: str) -> str:
    return quoteattr(visible(text).translate(_NO_XML))
