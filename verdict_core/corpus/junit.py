"""The report as JUnit XML, for programs that read nothing else.

In: what came of every case, in order, then the report. Out: a file that is there whole or not at
all. Laws: only a lost case that was let through is a failure, as in the exit status; SKIP is
skipped, never passed; cases are written down as they come and never held. (SPEC CP-JUNIT)
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import IO
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

import orjson

from verdict_core.corpus.kinds import Kind, Outcome
from verdict_core.corpus.report import NOT_ASKED, Rate, Report
from verdict_core.corpus.sources import Source
from verdict_core.errors import Unwritable, visible

_NAME = "verdict-core verify"
# Of what `visible` lets pass, XML 1.0 has no place for these two.
_NO_XML = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})


class _Fate(StrEnum):
    LET_THROUGH = "let_through"
    REFUSED = "refused"
    RIGHT = "right"


class JUnit:
    """One JUnit file in the making."""

    def __init__(self, file: IO[bytes], spool: IO[bytes]) -> None:
        self._file = file
        self._spool = spool

    def add(self, source: Source, outcomes: Sequence[Outcome]) -> None:
        """What came of the next cases, all of one source."""
        name = visible(source.name)
        for outcome in outcomes:
            kind = outcome.kind
            detail = (kind.detail,) if kind.detail else ()
            said = f"{kind.verdict} ({', '.join((*outcome.reasons, *detail))})"
            skip = kind.detail if kind.absent else None
            self._spool.write(orjson.dumps([name, outcome.id, _fate(kind), skip, said]) + b"\n")

    def write(self, report: Report) -> None:
        """All of it, once the last case is known: only then it is known whether all are SKIP."""
        xml = XMLGenerator(self._file, "utf-8", short_empty_elements=True)
        totals = {
            "name": _NAME,
            "tests": str(report.cases),
            "failures": str(report.lost_let_through.count),
            "errors": "0",
            "skipped": str(report.skipped),
        }
        xml.startDocument()
        with _element(xml, "testsuites", **totals), _element(xml, "testsuite", **totals):
            with _element(xml, "properties"):
                for name, value in _properties(report):
                    with _element(xml, "property", name=name, value=value):
                        pass
            self._spool.seek(0)
            for line in self._spool:
                source, case, fate, skip, said = orjson.loads(line)
                with _element(xml, "testcase", classname=_safe(source), name=_safe(case)):
                    _result(xml, NOT_ASKED if report.all_skipped and not skip else skip, fate, said)
        xml.endDocument()


@contextmanager
def written(path: str) -> Iterator[JUnit]:
    """A JUnit file that takes the place of `path` when the block ends, and leaves it alone when
    the block fails. Raises Unwritable, before the block where that can be known."""
    target = os.path.realpath(path)
    part = f"{target}.{os.getpid()}.part"
    if os.path.exists(target) and not os.path.isfile(target):
        raise Unwritable("stands for something that is no regular file", path=path)
    try:
        with _open(part, path) as file, tempfile.TemporaryFile() as spool:
            yield JUnit(file, spool)
        os.replace(part, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)


def _open(part: str, path: str) -> IO[bytes]:
    try:
        return open(part, "xb")
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise Unwritable(said, path=path) from None


def _fate(kind: Kind) -> _Fate:
    if kind.let_through:
        return _Fate.LET_THROUGH
    return _Fate.REFUSED if kind.refused else _Fate.RIGHT


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    def rate(rate: Rate) -> str:
        return f"{rate.count} of {rate.of}"

    yield "lost_let_through", rate(report.lost_let_through)
    yield "keep_refused", rate(report.keep_refused)
    yield "all_skipped", str(report.all_skipped).lower()
    yield "unusable", str(report.unusable)


def _result(xml: XMLGenerator, skip: str | None, fate: str, said: str) -> None:
    if fate == _Fate.LET_THROUGH:
        message = "judged safe_to_compact, and compacting here loses work"
        with _element(xml, "failure", type="lost_let_through", message=message):
            xml.characters(said)
    elif skip:
        with _element(xml, "skipped", message=f"SKIP: {skip}"):
            pass
    else:
        with _element(xml, "system-out"):
            xml.characters(f"keep refused: {said}" if fate == _Fate.REFUSED else said)


@contextmanager
def _element(xml: XMLGenerator, tag: str, /, **attributes: str) -> Iterator[None]:
    xml.startElement(tag, AttributesImpl(attributes))
    yield
    xml.endElement(tag)


def _safe(text: str) -> str:
    return visible(text).translate(_NO_XML)
