"""A report as text for people: a row a clause, then each failure, then the sum.

Law: the line to send is shown as it is, the shortest first; one too long for a screen is cut, and
said to be.
"""

from collections.abc import Iterable, Iterator

import verdict_core
from verdict_core.conformance.checks import Failure, Fate
from verdict_core.conformance.differ import Differences
from verdict_core.conformance.report import Report, Row
from verdict_core.errors import visible

_LONGEST = 2_000
_SHOWN = 3
_WORDS = {
    Fate.PASSED: "passed",
    Fate.FAILED: "FAILED",
    Fate.KNOWN: "known failure",
    Fate.SKIPPED: "skipped",
    Fate.NOT_RUN: "could not run",
    Fate.NOT_CLAIMED: "not claimed",
}


def text_of(report: Report) -> str:
    """All of it, with an LF at the end."""
    return "\n".join(
        (*_head(report), "", *_rows(report), *_failures(report), "", *_sum(report), "")
    )


def _head(report: Report) -> Iterator[str]:
    run = report.settings
    yield (
        f"verdict-core conformance: suite {run.suite}, spec {run.spec}, protocol {run.protocol},"
        f" seed {run.seed}, {run.examples} examples"
    )
    yield f"subject: {visible(' '.join(run.command))}"
    if report.hello is not None:
        hello = report.hello
        claims = " ".join(sorted(hello.capabilities)) or "nothing"
        yield visible(f"says: {hello.name} {hello.version}, spec {hello.spec}; claims {claims}")


def _rows(report: Report) -> Iterator[str]:
    for row in report.rows:
        reason = f"  {row.reason}" if row.reason else ""
        checks = f"{len(row.checks)} checks"
        yield visible(f"{_WORDS[row.fate]:13}  {row.clause:13}  {reason.strip() or checks}")


def _failures(report: Report) -> Iterator[str]:
    for row in report.rows:
        if row.fate is Fate.FAILED:
            yield from ("", f"{row.clause} says: {row.text}")
            smallest = sorted(row.failures, key=lambda one: len(one[2].send))
            for check, finds, failure in smallest[:_SHOWN]:
                yield from _failure(check, finds, failure)
            if len(smallest) > _SHOWN:
                yield f"  and {len(smallest) - _SHOWN} failures more, in the report of --json"


def _failure(check: str, finds: str, failure: Failure) -> Iterator[str]:
    fault = f": {failure.fault}" if failure.fault else ""
    yield f"  {check}{fault}" + (f", to find {visible(finds)}" if finds else "")
    yield f"    send      {_cut(failure.send)}"
    yield f"    expected  {_cut(visible(failure.expected))}"
    yield f"    came      {_cut(visible(failure.came)) or '(no reply)'}"
    yield from (f"    {'because' if n == 0 else '':8}  {line}" for n, line in _lines(failure))


def _lines(failure: Failure) -> Iterable[tuple[int, str]]:
    return enumerate(visible(line) for line in _cut(failure.because).splitlines())


def _cut(line: str) -> str:
    more = f"… ({len(line)} characters; whole in the report of --json)"
    return line if len(line) <= _LONGEST else line[:_LONGEST] + more


def _sum(report: Report) -> Iterator[str]:
    yield from (visible(trouble) for trouble in report.troubles)
    counts = [
        f"{count} {_WORDS[Fate(fate)].lower()}" for fate, count in report.counts.items() if count
    ]
    yield f"{', '.join(counts) or 'nothing ran'}; {len(report.beyond)} clauses are not of this door"
    yield f"{report.outcome} (exit status {report.exit_status})"


def text_of_differences(found: Differences) -> str:
    """What came of each operation, then the smallest input on which the two differ."""
    lines = [
        f"verdict-core conformance: suite {verdict_core.__version__}, seed {found.seed},"
        f" {found.examples} examples of each operation"
    ]
    for name, command, hello in zip(("one", "other"), found.commands, found.hellos, strict=True):
        lines.append(visible(f"{name}: {hello.name} {hello.version}: {' '.join(command)}"))
    lines.append("")
    for op in found.ops:
        said = "they agree" if op.fate is Fate.PASSED else op.reason
        lines.append(visible(f"{_WORDS[op.fate]:13}  {op.op:13}  {said}"))
        if op.fate is Fate.FAILED:
            lines.append(f"    send      {_cut(op.send)}")
            lines.append(f"    one       {_cut(visible(op.one)) or '(no reply)'}")
            lines.append(f"    other     {_cut(visible(op.other)) or '(no reply)'}")
    outcome = {0: "they agree", 1: "they differ"}.get(found.exit_status, "incomplete")
    return "\n".join([*lines, "", f"{outcome} (exit status {found.exit_status})", ""])


def row_text(row: Row) -> str:
    """The failures of one row, for reports that hold them in a piece."""
    return "\n".join(
        line for check, finds, failure in row.failures for line in _failure(check, finds, failure)
    )
