"""The report as people read it.

In: a report. Out: text. Laws: the dangerous direction comes first; what was not checked is said
before anything that could pass for a result; ids reach the terminal escaped. (SPEC CP-RATE-6)
"""

from collections.abc import Iterator, Mapping, Sequence

from verdict_core.corpus.curve import RATES_STAY, Row
from verdict_core.corpus.report import Rate, Report
from verdict_core.errors import visible

_COLUMNS = ("label", "safe_to_compact", "wait", "preserve_first", "skipped")


def text_of(report: Report, *, curve: bool = False) -> str:
    """The whole text, with a final newline; `curve` adds the curve."""
    return "\n".join([*_lines(report, curve), ""])


def _lines(report: Report, curve: bool) -> Iterator[str]:
    if report.all_skipped:
        yield f"SKIP: the service was there for none of the {report.asked} cases that asked it, so"
        yield "  this is no check of the verdict; only a lost case that was judged safe_to_compact"
        yield "  without asking counts all the same"
    yield f"lost let through: {_rate(report.lost_let_through)}"
    yield "  lost cases that were judged safe_to_compact: work compacted and gone"
    yield f"keep refused: {_rate(report.keep_refused)}"
    yield "  keep cases that were not judged safe_to_compact: nothing lost, and nothing gained"
    yield ""
    yield _scored_with(report)
    yield f"SKIP: {report.skipped} of {report.cases}{_details(report.skips)}, in neither rate"
    yield f"unusable answers: {report.unusable}{_details(report.unusable_details)}, judged wait"
    yield ""
    yield from _table([_COLUMNS, *([str(row[c]) for c in _COLUMNS] for row in report.verdicts)])
    yield from _ids("lost, let through", report.lost_let_through)
    yield from _ids("keep, refused", report.keep_refused)
    if curve:
        yield from _curve(report.curve)


def _rate(rate: Rate) -> str:
    if rate.rate is None or rate.interval is None:
        return "nothing was checked (0 of 0)"
    low, high = rate.interval
    return f"{rate.count} of {rate.of} ({rate.rate:.1%}; 95 % interval {low:.1%} to {high:.1%})"


def _scored_with(report: Report) -> str:
    settings = report.settings
    files = "1 file" if len(report.files) == 1 else f"{len(report.files)} files"
    service = f"a service that {report.asked} asked" if settings.service else "no service"
    return f"{report.cases} cases from {files}, with wait_min {settings.wait_min} and {service}"


def _details(details: Mapping[str, int]) -> str:
    said = ", ".join(f"{name} {number}" for name, number in details.items())
    return f" ({said})" if said else ""


def _ids(head: str, rate: Rate) -> Iterator[str]:
    if rate.ids:
        more = f", the first {len(rate.ids)}" if len(rate.ids) < rate.count else ""
        yield ""
        yield f"{head}: {rate.count}{more}"
        yield from (f"  - {visible(name)}" for name in rate.ids)


def _curve(rows: Sequence[Row]) -> Iterator[str]:
    yield ""
    yield "what the rule table answers at each wait_min while nobody is asked, as shares;"
    yield f"{RATES_STAY}:"
    head = ("wait_min", "lost: wait", "preserve_first", "keep: wait", "preserve_first", "would ask")
    yield from _table([head, *(_cells(row) for row in rows)])


def _cells(row: Row) -> list[str]:
    wait_min, *shares = row.payload().values()
    return [str(wait_min), *("-" if share is None else f"{share:.1%}" for share in shares)]


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells])
