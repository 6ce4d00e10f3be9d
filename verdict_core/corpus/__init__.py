"""How good the verdict is, in both directions: labelled cases in, two rates out.

    with sources_of(["corpus.jsonl"]) as sources:
        report = verify(sources)
    report.lost_let_through.count, report.keep_refused.rate, report.exit_status

A corpus is JSON Lines of `{"id", "label": "lost" or "keep", "summary"}`. It is read twice and never
held; an engine is any `concurrent.futures.Executor`. `SHIPPED` is the corpus that comes with the
package. (SPEC CP)
"""

from pathlib import Path

from verdict_core.corpus.cases import Case, Label, read_case
from verdict_core.corpus.engine import Engine, cluster, in_process, processes
from verdict_core.corpus.report import Rate, Report
from verdict_core.corpus.score import verify
from verdict_core.corpus.sources import Source, held, sources_of

_DATA = Path(__file__).parent / "data"
SHIPPED = (_DATA / "real.jsonl", _DATA / "by_hand.jsonl")

__all__ = [
    "SHIPPED",
    "Case",
    "Engine",
    "Label",
    "Rate",
    "Report",
    "Source",
    "cluster",
    "held",
    "in_process",
    "processes",
    "read_case",
    "sources_of",
    "verify",
]
