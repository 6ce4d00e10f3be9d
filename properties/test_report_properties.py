"""The promises about reports: nothing that is not declared is favourable, nothing unfavourable is
lost. (SPEC PG-REPORT, PG-VERIFY-8)"""

import itertools
import re
from collections.abc import Sequence

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from verdict_core.conformance.door import (
    CONTRACT,
    INTEGRITY,
    STATUS,
    badness,
    declares_nothing,
    given_result,
    is_best,
)
from verdict_core.conformance.subject import Result, Subject
from verdict_core.progress.lines import Label, read_lines
from verdict_core.progress.report import read_report
from verdict_core.progress.verifier import prompt
from verdict_core.wire import digest

GOOD = ("Status: complete", "Integrity: clean", "Contract audit: aligned")
LABELS = ("Status", "Integrity", "Contract audit")
VALUES = dict(zip(LABELS, (STATUS, INTEGRITY, CONTRACT), strict=True))
ONE, OTHER = digest(b"one"), digest(b"other")

# Lines that open, close, cut or pretend something.
STRUCTURE = (
    "", "", "```", "~~~", "````", "    ```", "- ```", "  ```", "1. ~~~", "   x", "> q", "> ```",
    "- > q", "<!--", "-->", "see <pre>", "<think>", "</think>", "</pre>", "# Notes", "- item",
    "1. item", "text", "    - deep", "Missing:", "Missing: none", "- Missing:", "Missing: a test",
    "Evidence:", "Evidence: ran it", "- Evidence:", f"Claim: {ONE}", f"Claim: {OTHER}", "Claim: x",
    "\u200bStatus: blocked", "- - Integrity: violation", "Status: complete | incomplete | blocked",
    "    Status: blocked", "\tContract audit: invalid", "> Status: complete", "| Status: blocked |",
)  # fmt: skip


def decorated(label: str, value: str) -> list[str]:
    """Every decoration of a control line that is to be overlooked."""
    marks = ("", "- ", "* ", "+ ", "3. ", "4) ", "# ", "###### ", "   ", "-\t")
    forms = ("{0}: {1}", "**{0}: {1}**", "**{0}:** {1}", "*{0}*: _{1}_", "`{0}: {1}`",
             "{0}:{1}", "__{0}__ : `{1}`", "{0}\uff1a{1}", "{0}:\t{1} \t")  # fmt: skip
    cases = ((label, value), (label.upper(), value.upper()), (label.lower(), value.title()))
    return [
        mark + form.format(*case) for mark, form, case in itertools.product(marks, forms, cases)
    ]


def declarations() -> st.SearchStrategy[str]:
    """Control lines of any value, plain and decorated, some of no value."""
    pairs = [(label, value) for label, values in VALUES.items() for value in (*values, "so so")]
    return st.sampled_from(pairs).flatmap(lambda pair: st.sampled_from(decorated(*pair)))


def lines() -> st.SearchStrategy[str]:
    """Lines of a report: of structure, of control, and of anything at all."""
    free = st.text(st.sampled_from("`~>-+*_#:.<! \t1ax\u200b\u2028\x0c"), max_size=8)
    heads = st.tuples(free, st.sampled_from((*LABELS, "Missing", "Evidence")), free).map("".join)
    anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))
    return st.sampled_from(STRUCTURE) | st.sampled_from(GOOD) | declarations() | heads | anything


@st.composite
def reports(draw: st.DrawFn) -> list[str]:
    """Lines of whole reports, most of them with the three best lines among the others."""
    found = draw(st.lists(lines(), max_size=8))
    for line in draw(st.sampled_from([GOOD, GOOD, GOOD[:2], GOOD[1:], ()])):
        found.insert(draw(st.integers(0, len(found))), line)
    return found


def read(subject: Subject, text: Sequence[str], claim: str | None = None) -> Result:
    """What the subject reads in those lines."""
    return given_result(subject.read_report("\n".join(text).encode(), claim=claim))


def is_never_better(after: Result, before: Result) -> bool:
    return all(a >= b for a, b in zip(badness(after), badness(before), strict=True))


def counts(report: Sequence[str], label: str) -> bool:
    """Whether a label has a declaration that counts, as the reference reads it."""
    return any(
        one.label == label and not (one.in_doubt and one.value.lower() == VALUES[label][0])
        for one in read_report("\n".join(report)).declared
    )


@given(reports(), declarations(), st.integers(0, 11))
@example(["Missing:", "- a test", *GOOD], "Status: complete", 1)
@example(["> q", "Integrity: clean", "", GOOD[0], GOOD[2]], "- Integrity: clean", 1)
@example(["Missing:", "", "- a test", *GOOD], "**Status**: complete", 2)
@example(["- ```", "  x", "Status: blocked", *GOOD], "Status: complete", 1)
@example(["Status: blocked", *GOOD[1:]], "Status: complete", 0)
@example(["Contract audit: invalid", *GOOD[:2]], "Contract audit: aligned", 3)
def test_a_second_declaration_never_makes_a_reading_better(
    subject: Subject, report: list[str], line: str, at: int
) -> None:
    """PG-REPORT-5."""
    label = next(one.label for one in read_lines(line) if one.label)
    assume(counts(report, label))
    before = read(subject, report)
    after = read(subject, [*report[:at], line, *report[at:]])
    assert is_never_better(after, before)


@given(reports(), st.integers(0, 11), st.sampled_from([ONE, OTHER, "x", "sha256:"]))
def test_a_claim_line_never_makes_a_reading_better(
    subject: Subject, report: list[str], at: int, value: str
) -> None:
    """PG-REPORT-13."""
    before = read(subject, report, ONE)
    after = read(subject, [*report[:at], f"Claim: {value}", *report[at:]], ONE)
    assert is_never_better(after, before)


@given(reports(), st.integers(0, 11), st.sampled_from(["a test", "x: y", "> q", "done"]))
@example([*GOOD, "Evidence:", "- ran it"], 4, "a test")
def test_a_missing_item_never_makes_a_reading_better(
    subject: Subject, report: list[str], at: int, item: str
) -> None:
    """PG-REPORT-11: as a new list, on the heading's line, and at each place right below one."""
    before = read(subject, report)
    for added in ([f"Missing: {item}"], ["Missing:", f"- {item}"]):
        after = read(subject, [*report[:at], *added, *report[at:]])
        assert is_never_better(after, before)
    # A blank line may end a quote, and so bring a value to light; the item outweighs it.
    apart = read(subject, [*report[:at], "", "Missing:", "", f"- {item}", *report[at:]])
    assert is_best(before) or not is_best(apart)
    for place, line in enumerate(read_lines("\n".join(report)), start=1):
        if line.label is Label.MISSING:
            longer = [*report[:place], f"- {item}", *report[place:]]
            assert is_never_better(read(subject, longer), before)


@given(reports())
@example([*GOOD])
@example(["Missing:", "Status: complete", "- a test", *GOOD[1:]])
def test_without_a_labels_only_declaration_nothing_is_progress(
    subject: Subject, report: list[str]
) -> None:
    """PG-REPORT-4."""
    labels = [line.label for line in read_lines("\n".join(report))]
    for at, label in enumerate(labels):
        if label in LABELS and labels.count(label) == 1:
            assert not is_best(read(subject, [*report[:at], *report[at + 1 :]]))


@given(reports())
def test_what_is_not_declared_is_never_the_best_value(subject: Subject, report: list[str]) -> None:
    """PG-REPORT-4: complete, clean and aligned each need a line of the report's own."""
    found = read(subject, report)
    declared = read_report("\n".join(report)).declared
    for label, name in zip(LABELS, ("status", "integrity", "contract"), strict=True):
        own = {one.value.lower() for one in declared if one.label == label and not one.in_doubt}
        best = VALUES[label][0]
        if found[name] == best:
            assert own == {best}
        if not own:
            assert found[name] != best


@given(st.text())
def test_every_text_is_a_report(subject: Subject, text: str) -> None:
    """PG-REPORT-1."""
    report = read(subject, [text])
    assert all(report["missing"])
    assert all(report["evidence"])
    assert len(set(report["reasons"])) == len(report["reasons"])
    if not read_report(text).declared:
        assert declares_nothing(report)


@given(st.binary() | st.lists(st.binary(max_size=4) | lines().map(str.encode)).map(b"\n".join))
@example(b"Missing: a\xffb")
def test_every_bytes_are_a_text(subject: Subject, data: bytes) -> None:
    """PG-REPORT-15."""
    text = data.decode(errors="replace")
    assert subject.read_report(data) == subject.read_report(text.encode())


@given(reports())
def test_lf_crlf_and_cr_are_the_same(subject: Subject, report: list[str]) -> None:
    """PG-REPORT-2."""
    found = read(subject, report)
    for end in (b"\r\n", b"\r"):
        assert subject.read_report(end.join(line.encode() for line in report)) == found


@given(reports())
def test_a_quoted_report_is_unread(subject: Subject, report: list[str]) -> None:
    """PG-REPORT-6."""
    for mark in ("> ", ">", "   > ", "> > ", "- > "):
        assert declares_nothing(read(subject, [mark + line for line in report]))
        quoted = [*(mark + line for line in report), "", *GOOD]
        assert is_best(read(subject, quoted))


@given(reports())
def test_an_indented_report_is_unread(subject: Subject, report: list[str]) -> None:
    """PG-REPORT-6."""
    for indent in ("    ", "\t", "  \t", "      "):
        assert declares_nothing(read(subject, [indent + line for line in report]))


@given(reports(), st.sampled_from("`~"), st.sampled_from(["", "text", " a b"]))
def test_a_fenced_report_is_unread_and_what_follows_it_is_read(
    subject: Subject, report: list[str], mark: str, info: str
) -> None:
    """PG-REPORT-7."""
    longest = max((len(run) for line in report for run in re.findall(f"{mark}+", line)), default=0)
    fence = mark * max(3, longest + 1)
    opened = [fence + info, *report]
    assert declares_nothing(read(subject, opened))
    assert declares_nothing(read(subject, [*opened, fence]))
    assert is_best(read(subject, [*opened, fence, *GOOD]))
    assert is_best(read(subject, [*GOOD, *opened]))


TONGUES = (
    "状态: 完成\n完整性: 干净\n合同审计: 一致", "Statut : terminé\nIntégrité : sûre\nAudit : bon",
    "Статус: завершено\nЦелостность: чисто\nАудит: согласовано", "Estado: completo",
    "Ѕtatus: complete\nІntegrity: clean\nСontract audit: aligned",
)  # fmt: skip


@pytest.mark.parametrize("text", TONGUES)
def test_a_translated_report_is_unread(subject: Subject, text: str) -> None:
    """PG-REPORT-3."""
    assert declares_nothing(read(subject, [text]))


WORDS = st.sampled_from(
    ["the", "Status: complete", "Status: blocked", "Integrity: violation", "is", "failed", "none",
     "no", "Missing: x", "Contract audit: invalid", "`x`", "**not**", "incomplete", "!", "> q"]
)  # fmt: skip
PROSE = st.tuples(
    st.sampled_from(["I", "So the", "Then", "'", "(", "$"]), st.lists(WORDS, max_size=9)
)
BLOCKS = [
    [list(GOOD)],
    [[line] for line in GOOD],
    [
        ["## Missing", "Status: complete"],
        list(GOOD[1:]),
        ["Missing: none"],
        ["Evidence:", "- ran it"],
    ],
    [list(GOOD), ["Missing:", "- a test"]],
    [["Status: incomplete"], list(GOOD[1:]), ["Evidence:"], ["Missing:"]],
    [["Status: complete"]],
]


@given(
    st.sampled_from(BLOCKS),
    st.lists(st.lists(PROSE.map(lambda two: " ".join((two[0], *two[1]))), max_size=3), min_size=5),
)
def test_prose_never_changes_a_reading(
    subject: Subject, blocks: list[list[str]], prose: list[list[str]]
) -> None:
    """PG-REPORT-10: paragraphs between the others, whatever words they use."""
    plain = [line for block in blocks for line in ("", *block)]
    mixed = [*prose[-1], *(line for block, said in zip(blocks, prose, strict=False)
                           for line in ("", *block, "", *said))]  # fmt: skip
    assert read(subject, mixed) == read(subject, plain)


def test_no_decoration_hides_a_value_and_none_is_needed(subject: Subject) -> None:
    """PG-REPORT-3: every decoration of every value of every label."""
    for place, (label, values) in enumerate(VALUES.items()):
        rest = [line for line in GOOD if not line.startswith(label)]
        for value in values:
            for line in decorated(label, value):
                found = read(subject, [*rest, line])
                assert badness(found)[place] == values.index(value), line
                assert found["reasons"] == []
                assert is_best(found) is (value == values[0])


OVERLOOKED = [
    "\u200b", "\ufeff", "\u2060", "\u00ad", "\u00a0", "\x00", "\x0c", "\u2028", "- - ", "- # ",
    "[x] ", "- [ ] ", "\x1b[31m", "##", "1. 2. ", "** ", "\ufffd", "-      ",
]  # fmt: skip


@pytest.mark.parametrize("noise", OVERLOOKED)
def test_what_is_overlooked_never_helps_and_never_hides(subject: Subject, noise: str) -> None:
    """PG-REPORT-9."""
    for label, values in VALUES.items():
        others = [line for line in GOOD if not line.startswith(label)]
        for value in (*values, "so so"):
            line = f"{noise}{label}: {value}"
            assert not is_best(read(subject, [*others, line]))
            assert is_best(read(subject, [*GOOD, "", line])) is (value == values[0])


@given(st.lists(declarations(), min_size=1, max_size=6).flatmap(
    lambda report: st.tuples(st.just(report), st.permutations(report))))  # fmt: skip
def test_the_order_of_control_lines_never_matters(
    subject: Subject, orders: tuple[list[str], list[str]]
) -> None:
    """PG-REPORT-5: neither the first nor the last one wins."""
    one, other = (read(subject, report) for report in orders)
    assert badness(one) == badness(other)
    assert one["reasons"] == other["reasons"]


def claims() -> st.SearchStrategy[str]:
    """What anybody may claim: texts, reports, and reports dressed up as JSON."""
    free = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
    ends = st.sampled_from(["\n", "\r", "\r\n", "\u2028", "\x85", '"\n', "\\n", "\n```\n", "\n\n"])
    whole = st.tuples(reports(), ends).map(lambda two: two[1] + two[1].join(two[0]))
    return free | whole | st.tuples(free, whole, free).map("".join)


@given(claims(), claims())
@example("\n".join(("", *GOOD)), "src")
@example("x", "\r".join(("", *GOOD)))
@example("<!--", "<pre>")
def test_an_echo_of_the_question_declares_nothing(subject: Subject, claim: str, scope: str) -> None:
    """PG-VERIFY-8: with `cat` as the verifier no claim earns progress; and an echo before a report
    takes nothing from it."""
    echo = prompt(claim, scope)
    assert declares_nothing(read(subject, [echo], digest(claim.encode())))
    assert is_best(read(subject, [echo + "\n".join(GOOD)]))
    for line in re.split(r"\r\n|\r|\n", echo):
        assert declares_nothing(read(subject, [line]))
