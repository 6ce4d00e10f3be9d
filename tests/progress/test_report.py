"""What a report says, and what may be made of it. (SPEC PG-REPORT)"""

import time
from typing import Any

import pytest

from verdict_core.progress.lines import HIDING, Label
from verdict_core.progress.report import (
    CONTRACT,
    INTEGRITY,
    STATUS,
    Contract,
    Integrity,
    Reason,
    Report,
    Status,
    bind,
    decode,
    read_report,
)
from verdict_core.wire import digest

GOOD = "Status: complete\nIntegrity: clean\nContract audit: aligned\n"
BAD = "Status: blocked\nIntegrity: violation\nContract audit: invalid\n"
BEST = ("complete", "clean", "aligned")
WORST = ("blocked", "violation", "invalid")
NOTHING = ("incomplete", "suspect", "unknown")
UNDECLARED = ("no_status_line", "integrity_undeclared", "contract_undeclared")
IN_DOUBT = (
    "no_status_line", "line_in_doubt:Status",
    "integrity_undeclared", "line_in_doubt:Integrity",
    "contract_undeclared", "line_in_doubt:Contract",
)  # fmt: skip
DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


def values(report: Report) -> tuple[str, str, str]:
    return str(report.status), str(report.integrity), str(report.contract)


def read(text: str) -> tuple[tuple[str, str, str], tuple[str, ...]]:
    report = read_report(text)
    return values(report), tuple(map(str, report.reasons))


def status_of(line: str) -> str:
    return str(read_report(f"{line}\n").status)


class TestCases:
    """The reports of the public bug reports, by their ids."""

    def test_prog_01_bold_headings_and_ticks_are_decoration(self) -> None:
        text = (
            "Looks right.\n\n**Status: complete**\n**Integrity:** clean\n"
            "## Contract audit: `aligned`\n"
        )
        assert read(text) == (BEST, ())

    def test_prog_03_a_word_inside_another_is_not_found(self) -> None:
        found, reasons = read(
            "Status: incomplete\nIntegrity: unclean\nContract audit: misaligned\n"
        )
        assert found == NOTHING
        assert reasons == (
            "integrity_undeclared", "value_not_in_set:Integrity",
            "contract_undeclared", "value_not_in_set:Contract",
        )  # fmt: skip

    def test_prog_04_a_fenced_template_and_its_options_line_are_no_answer(self) -> None:
        report = read_report(
            f"You asked for:\n```\n{GOOD}```\nStatus: complete | incomplete | blocked\n"
            "I ran out of turns.\n"
        )
        assert values(report) == NOTHING
        assert report.reasons[:2] == (Reason.NO_STATUS_LINE, Reason.STATUS_NOT_IN_SET)
        assert report.said(Label.STATUS) == "complete | incomplete | blocked"

    def test_prog_05_two_lines_that_disagree_come_to_the_less_favourable(self) -> None:
        text = (
            f"{GOOD}> ```text\n> Status: complete\n> ```\nAfter re-running:\nStatus: incomplete\n"
        )
        assert read(text) == (
            ("incomplete", "clean", "aligned"),
            ("conflicting_control_lines:Status",),
        )

    def test_prog_06_complete_with_something_missing_is_incomplete(self) -> None:
        """PG-REPORT-11."""
        report = read_report(GOOD + "Missing:\n- two tests of the retry path fail\n")
        assert values(report) == ("incomplete", "clean", "aligned")
        assert report.reasons == (Reason.COMPLETE_WITH_MISSING,)
        assert report.missing == ("two tests of the retry path fail",)

    def test_prog_07_prose_about_failures_changes_nothing(self) -> None:
        text = "No failures found. An earlier run failed before the fix; it passes now.\n"
        assert read(GOOD + text) == (BEST, ())

    def test_prog_08_a_translated_report_is_unread_and_a_full_width_colon_is_a_colon(self) -> None:
        """PG-REPORT-3."""
        assert read("状态：完成\n完整性：干净\n合同审计：一致\n") == (NOTHING, UNDECLARED)
        assert read(GOOD.replace(": ", "：")) == (BEST, ())

    def test_prog_09_a_symbol_before_the_word_is_not_stripped_and_the_raw_value_stays(self) -> None:
        report = read_report(GOOD.replace("complete", "✅ **complete**"))
        assert report.status is Status.INCOMPLETE
        assert report.reasons == (Reason.NO_STATUS_LINE, Reason.STATUS_NOT_IN_SET)
        assert report.said(Label.STATUS) == "✅ **complete"

    def test_prog_10_a_contract_that_is_declared_invalid_is_read_as_such(self) -> None:
        text = GOOD.replace("aligned", "invalid") + "Note: the step under test wrote the file.\n"
        assert read(text) == (("complete", "clean", "invalid"), ())

    def test_prog_12_an_evidence_heading_with_nothing_under_it_does_not_support_complete(
        self,
    ) -> None:
        assert read(GOOD + "Evidence:\n") == (
            ("incomplete", "clean", "aligned"),
            ("complete_without_evidence",),
        )

    def test_prog_16_an_undeclared_integrity_is_suspect(self) -> None:
        """PG-REPORT-4."""
        assert read("Status: complete\nContract audit: aligned\n") == (
            ("complete", "suspect", "aligned"),
            ("integrity_undeclared",),
        )


@pytest.mark.parametrize("control", [STATUS, INTEGRITY, CONTRACT], ids=lambda c: c.label)
def test_every_pair_of_values_of_a_label_comes_to_the_worse_one(control: Any) -> None:
    for one in control.values:
        for other in control.values:
            report = read_report(f"{control.label}: {one}\n{control.label}: {other}\n")
            attribute = str(control.label).split()[0].lower()
            worse = max(one, other, key=control.values.index)
            assert getattr(report, attribute) is worse
            conflict = control.reason("conflicting_control_lines")
            assert (conflict in report.reasons) is (one is not other)


@pytest.mark.parametrize("control", [STATUS, INTEGRITY, CONTRACT], ids=lambda c: c.label)
def test_a_value_that_is_not_of_the_set_is_the_conservative_one_and_never_hides_a_worse(
    control: Any,
) -> None:
    """PG-REPORT-5."""
    attribute = str(control.label).split()[0].lower()
    for value in control.values:
        report = read_report(f"{control.label}: {value}\n{control.label}: certainly\n")
        expected = max(value, control.conservative, key=control.values.index)
        assert getattr(report, attribute) is expected
        assert control.reason("value_not_in_set") in report.reasons
        assert control.undeclared not in report.reasons


def test_the_lists_grow_worse_to_the_right_and_the_second_value_is_the_conservative_one() -> None:
    assert [*STATUS.values] == ["complete", "incomplete", "blocked"]
    assert [*INTEGRITY.values] == ["clean", "suspect", "violation"]
    assert [*CONTRACT.values] == ["aligned", "unknown", "needs_revision", "invalid"]
    assert (STATUS.conservative, INTEGRITY.conservative, CONTRACT.conservative) == NOTHING
    assert list(Status) == [*STATUS.values]
    assert list(Integrity) == [*INTEGRITY.values]
    assert list(Contract) == [*CONTRACT.values]


@pytest.mark.parametrize(
    "line",
    [
        "Status: complete",
        "status: COMPLETE",
        "STATUS:complete",
        "Status : complete",
        "Status:\t complete \t",
        "   Status: complete",
        "**Status: complete**",
        "**Status:** complete",
        "**Status**: complete",
        "__Status__: __complete__",
        "*Status*: `complete`",
        "`Status: complete`",
        "***Status:*** ***complete***",
        "# Status: complete",
        "###### Status: complete",
        "##  **Status:** complete",
        "- Status: complete",
        "* Status: complete",
        "+ **Status**: complete",
        "1. Status: complete",
        "12) Status: complete",
        "-\tStatus: complete",
        "Status\uff1acomplete",
        "\ufeffStatus: complete",
    ],
)
def test_decoration_around_label_and_value_is_overlooked(line: str) -> None:
    assert status_of(line) == "complete"
    assert status_of(line.lower().replace("complete", "blocked")) == "blocked"


@pytest.mark.parametrize(
    "line",
    [
        "Status: complete.",
        "Status: complete | incomplete | blocked",
        "Status: complete (mostly)",
        "Status: not complete",
        "Status: complete incomplete",
        "Status: ~~complete~~",
        "Status: complete ##",
        "Status: com*plete",
        "Status: com\u200bplete",
        "Status: complete\u00a0",
        "Status: complete\u2028Integrity: clean",
        "Status: complete\x0bIntegrity: clean",
        "Status: complete\x85",
        "Status: c\u043emplete",
        "Status: bloc\u212aed",
        "Status:: complete",
        "Status: =complete",
        "Status:",
        "Status: **",
        "Status: complete |",
        "Status: complete <!-- so it seems -->",
    ],
)
def test_a_value_is_compared_whole_and_anything_else_is_not_of_the_set(line: str) -> None:
    """PG-REPORT-3."""
    found, reasons = read(line)
    assert found == NOTHING
    assert reasons[:2] == ("no_status_line", "value_not_in_set:Status")


@pytest.mark.parametrize(
    "line",
    [
        "The status: complete",
        "Final status: complete",
        "Status is: complete",
        "Status complete",
        "Status = complete",
        "Statuses: complete",
        "status_code: complete",
        "(Status: complete)",
        '"Status: complete"',
        "| Status: complete |",
        "| Status | complete |",
        "~~Status: complete~~",
        "[Status: complete](x)",
        "<b>Status: complete</b>",
        "<!-- Status: complete -->",
        "--> Status: complete",
        "\\Status: complete",
        "$ Status: complete",
        "Contract: aligned",
        "Audit: aligned",
        "状态: complete",
        "St\u0430tus: complete",
        "x\u2028Status: complete",
        "x\x0bStatus: complete",
        "x\x0cStatus: complete",
        "x\x85Status: complete",
        "> Status: complete",
        ">Status: complete",
        "   > Status: complete",
        "> > Status: complete",
        "- > Status: complete",
        "1. - > Status: complete",
        "    Status: complete",
        "\tStatus: complete",
        "  \tStatus: complete",
        "    - Status: complete",
        "     **Status: complete**",
    ],
)
def test_a_line_that_does_not_begin_with_a_label_declares_nothing(line: str) -> None:
    """PG-REPORT-3."""
    for value in ("complete", "blocked"):
        report = read_report(line.replace("complete", value))
        assert (values(report), report.declared) == (NOTHING, ())
        assert tuple(report.reasons) == UNDECLARED


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lf_crlf_and_cr_alone_end_a_line(end: str) -> None:
    assert read(GOOD.replace("\n", end)) == (BEST, ())
    assert read(f"{GOOD}Missing:\n- a\n- b\n".replace("\n", end))[0][0] == "incomplete"
    assert read_report(f"{GOOD}Missing:\n- a\n- b\n".replace("\n", end)).missing == ("a", "b")


@pytest.mark.parametrize(
    "other", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_nothing_else_ends_a_line(other: str) -> None:
    """PG-REPORT-2."""
    assert read(f"So.{other}{GOOD.splitlines()[0]}")[1] == UNDECLARED
    assert read(GOOD.rstrip().replace("\n", other))[0] == NOTHING


FENCED = [
    "```\n{}```\n",
    "~~~\n{}~~~\n",
    "```text\n{}```\n",
    "~~~ `text` ~~~\n{}~~~\n",
    "   ```\n{}   ```\n",
    "`````\n{}```\n`````\n",
    "```\n{}`````\n",
    "```\n{}```  \t\n",
    "```\n{}~~~\n```\n",
    "~~~\n{}```\n~~~\n",
    "```\n{}``` text\n```\n",
    "```\n    ```\n{}```\n",
    "```\n> ```\n{}```\n",
    "```\n- ```\n{}```\n",
    "- ```\n  x\n  ```\n",
    "```\n\n{}\n```\n",
    "```\n<!--\n{}```\n",
    "text\n```\n{}```\n",
    "> quoted\n```\n{}```\n",
    "see <pre> in\n```\n{}```\n",
]


@pytest.mark.parametrize("fence", FENCED)
def test_fenced_text_is_unread_and_what_follows_the_fence_is_read(fence: str) -> None:
    """PG-REPORT-7."""
    for inside in (GOOD, BAD):
        assert read(fence.format(inside))[1] == UNDECLARED
        assert read(fence.format(inside) + GOOD) == (BEST, ())
        assert read(fence.format(inside) + BAD) == (WORST, ())


@pytest.mark.parametrize(
    "opener",
    ["```", "~~~", "```text", "  ````", "text:\n```", "``` \n```x\n", "```\n```\xa0", "```\n```X"],
)
def test_a_fence_that_is_not_closed_runs_to_the_end(opener: str) -> None:
    assert read(f"{opener}\n{GOOD}") == (NOTHING, UNDECLARED)
    assert read(f"{GOOD}{opener}\n{BAD}") == (BEST, ())


@pytest.mark.parametrize(
    "line", ["``", "~~", "``` a`b", "```x```", "x ```", "`` `", "#```", "-```", "\\```"]
)
def test_what_is_no_fence_opens_none(line: str) -> None:
    assert read(f"{line}\n{GOOD}") == (BEST, ())


def test_a_fence_behind_a_list_mark_is_a_fence() -> None:
    for item in ("- ```\n  {}  ```\n", "1. ```sh\n   {}   ```\n", "- 1. ~~~\n     {}     ~~~\n"):
        indented = BAD.replace("\n", "\n" + " " * item.index("`" if "`" in item else "~"), 2)
        assert read(item.format(indented) + GOOD) == (BEST, ())


@pytest.mark.parametrize(
    "before",
    [
        "- ```\nran it\n",  # the item ended, and its fence with it; or it did not
        "- ```\n  x\n```\n",
        "1. ```\n   x\n\ntext\n```\n",
        "10. Ran:\n    ```\noutput\n    ```\n",
        "-     ```\n  x\n",
    ],
)
def test_after_a_line_left_of_its_fence_everything_is_in_doubt(before: str) -> None:
    """PG-REPORT-7."""
    assert read(before + GOOD) == (NOTHING, IN_DOUBT)
    assert read(before + BAD) == (WORST, ())
    assert read(before + "```\n" + BAD)[0] == WORST
    assert read(GOOD + before + "Status: incomplete\n")[0][0] == "incomplete"


def test_an_indented_fence_that_is_closed_leaves_no_doubt() -> None:
    assert read(f"10. Ran:\n    ```\n    12 passed\n\n    ```\n\n{GOOD}") == (BEST, ())


def test_a_line_right_below_a_quote_may_belong_to_it() -> None:
    """PG-REPORT-6."""
    assert read("> it works\n" + GOOD) == (NOTHING, IN_DOUBT)
    assert read("> it works\nsome more\n" + GOOD) == (NOTHING, IN_DOUBT)
    assert read("- > it works\n" + GOOD) == (NOTHING, IN_DOUBT)
    assert read("> it works\n" + BAD) == (WORST, ())
    assert read(GOOD + "> it works\nStatus: incomplete\n")[0][0] == "incomplete"


@pytest.mark.parametrize("between", ["\n", " \t\n", "```\nx\n```\n"])
def test_a_blank_line_or_a_fence_ends_a_quote(between: str) -> None:
    assert read(f"> it works\n{between}{GOOD}") == (BEST, ())


def test_a_nested_quote_is_a_quote() -> None:
    assert read(f"> > {GOOD}".replace("\n", "\n> > ", 2)) == (NOTHING, UNDECLARED)


HIDDEN = [("<!--", "-->"), *((f"<{name}>", f"</{name}>") for name in HIDING)]


@pytest.mark.parametrize(("opener", "closer"), HIDDEN)
def test_a_line_in_hidden_html_is_in_doubt(opener: str, closer: str) -> None:
    """PG-REPORT-8."""
    for before in (opener, opener.upper(), f"- {opener}", f"x {opener} x"):
        assert read(f"{before}\n{GOOD}{closer}\n") == (NOTHING, IN_DOUBT)
        assert read(f"{before}\n{GOOD}") == (NOTHING, IN_DOUBT)
        assert read(f"{GOOD}{before}\nStatus: blocked\n{closer}\n")[0][0] == "blocked"
        assert read(f"{before}\n{GOOD}{closer.upper()}\n{GOOD}") == (BEST, ())
    assert read(f"{opener}\n\n{GOOD}{closer}\n") == (NOTHING, IN_DOUBT)
    assert read(f"{opener}\n```\n{closer}\n{BAD}") == (WORST, ())
    assert read(f"{opener} x {closer}\n{GOOD}") == (BEST, ())
    assert read(f"{opener} x {closer} {opener}\n{GOOD}") == (NOTHING, IN_DOUBT)
    assert read(f"{opener}\n> {closer}\n\n{GOOD}") == (BEST, ())


def test_html_that_opens_within_a_paragraph_ends_with_it() -> None:
    assert read(f"the `<!--` of <pre> is kept\n\n{GOOD}") == (BEST, ())


@pytest.mark.parametrize("text", ["<preface>", "<codex", "<details>", "<br>", "a < b", "    <!--"])
def test_other_html_hides_nothing(text: str) -> None:
    assert read(f"{text}\n{GOOD}") == (BEST, ())


@pytest.mark.parametrize(
    "line",
    [
        "\u200bStatus: {}",
        "\u2060**Status**: {}",
        "\u00a0Status: {}",
        "\u2028Status: {}",
        "\x0cStatus: {}",
        "\x00Status: {}",
        "\ufffdStatus: {}",
        "Sta\u00adtus: {}",
        "Status\u200b: {}",
        "S\u0336tatus: {}",
        "Ｓｔａｔｕｓ：{}",
        "Status\ufe55 {}",
        "Status: \u200b{}\u200b",
        "\x1b[1mStatus:\x1b[0m {}",
        "\x1b[1;32m- Status: {}\x1b[0m",
        "- - Status: {}",
        "- ## Status: {}",
        "##Status: {}",
        "- [x] Status: {}",
        "- [ ] **Status: {}**",
        "1. 2. Status: {}",
        "** Status: {} **",
        "-     Status: {}",
        "- \tStatus: {}",
        "**Status** **:** {}",
    ],
)
def test_a_label_that_is_one_only_when_something_is_overlooked_can_only_make_it_worse(
    line: str,
) -> None:
    report = read_report(line.format("complete"))
    assert values(report) == NOTHING
    assert report.reasons[0] is Reason.NO_STATUS_LINE
    assert status_of(line.format("blocked")) in ("blocked", "incomplete")
    assert read(GOOD + line.format("incomplete"))[0] == ("incomplete", "clean", "aligned")


def test_a_contract_audit_whose_words_are_parted_otherwise_is_in_doubt() -> None:
    for label in ("Contract_audit", "Contract *audit*", "Contract\u00a0audit"):
        assert read(f"{GOOD}{label}: invalid")[0][2] == "invalid"
        assert read(f"Status: complete\n{label}: aligned")[0][2] == "unknown"
    assert read(f"{GOOD}CONTRACT \t AUDIT: invalid")[0][2] == "invalid"


def test_doubt_about_the_best_value_does_not_spoil_one_that_is_surely_declared() -> None:
    assert read(f"<!--\n{GOOD}-->\n{GOOD}") == (BEST, ())
    report = read_report(f"{GOOD}\n> before\n{GOOD}")
    assert values(report) == BEST
    assert [one.in_doubt for one in report.declared] == [False] * 3 + [True] * 3


def test_a_value_in_doubt_that_is_not_of_the_set_counts_as_the_conservative_one() -> None:
    assert read(f"{GOOD}\n> before\nStatus: incomplete (two tests)\n") == (
        ("incomplete", "clean", "aligned"),
        ("value_not_in_set:Status", "conflicting_control_lines:Status"),
    )


def test_what_was_declared_is_kept_in_order_and_as_it_was_said() -> None:
    """PG-REPORT-14."""
    report = read_report(
        "- **Integrity:** Clean\nNote: x\nSTATUS: Done!\nMissing: none\nEvidence:\n"
    )
    assert [(one.label, one.value, one.in_doubt) for one in report.declared] == [
        (Label.INTEGRITY, "Clean", False),
        (Label.STATUS, "Done!", False),
        (Label.MISSING, "none", False),
        (Label.EVIDENCE, "", False),
    ]


def test_what_was_said_is_joined_and_cut_for_people() -> None:
    """PG-REPORT-14."""
    report = read_report("Status: complete\nStatus:\nStatus: blocked\nIntegrity:\n")
    assert report.said(Label.STATUS) == "complete / blocked"
    assert report.said(Label.INTEGRITY) is None
    assert report.said(Label.CONTRACT) is None
    assert read_report("Status: " + "x" * 900).said(Label.STATUS) == "x" * 200


MISSING: list[tuple[str, tuple[str, ...]]] = [
    ("Missing:\n", ()),
    ("Missing: none\n", ()),
    ("**Missing:** None\n", ()),
    ("Missing: N/A\n", ()),
    ("Missing: -\n", ()),
    ("Missing:\n- none\n", ()),
    ("Missing:\n- `none`\n- **N/A**\n-\n- -\n*\n", ()),
    ("Missing: two tests\n", ("two tests",)),
    ("Missing: - two tests\n", ("two tests",)),
    ("Missing: None.\n", ("None.",)),
    ("Missing:\n- a\n* b\n+ c\n1. d\n2) e\nf\n", ("a", "b", "c", "d", "e", "f")),
    ("Missing: a\n- b\n", ("a", "b")),
    ("Missing: none\n- b\n", ("b",)),
    ("Missing:\n  - a\n", ("a",)),
    ("- Missing:\n    - a\n\t- b\n", ("a", "b")),
    ("Missing:\n> a\n", ("> a",)),
    ("Missing:\n```\nFAILED x\n```\n", ("FAILED x",)),
    ("Missing:\n```\n# of x\n```\n", ("# of x",)),
    ("## Missing:\n\n- a\n", ("a",)),
    ("Missing:\n\n- a\nb\n", ("a", "b")),
    ("Missing:\n\n \n1. a\n2. b\n", ("a", "b")),
    ("Missing:\n\nAll is well.\n- of that\n", ()),
    ("Missing:\n- a\n\n- b\n", ("a",)),
    ("Missing: none\n\n- b\n", ()),
    ("Missing:\n# Notes\n- b\n", ()),
    ("Missing:\n- a\n## Notes\n- b\n", ("a",)),
    ("Missing:\nEvidence:\n- b\n", ()),
    ("- Missing:\n- Evidence:\n  - b\n", ()),
    ("Missing:\n- Evidence: of the retry path\n", ("Evidence: of the retry path",)),
    ("Missing:\n- Status: of the retry path\n", ("Status: of the retry path",)),
    ("Missing:\n- Missing: a\n", ("Missing: a", "a")),
    ("Missing:\nStatus: complete\n- a\n", ("a",)),
    ("Missing:\n\nStatus: complete\n- a\n", ("a",)),
    ("Missing:\nMissing: none\n\n- a\n", ("a",)),
    ("Missing:\n- a\nMissing:\n- b\n", ("a", "b")),
    ("<!--\nMissing:\n- a\n\n-->\n", ("a",)),
    ("Missing:\n- __init__ is untested\n", ("__init__ is untested",)),
    ("- - Missing: a\n", ("a",)),
    ("Missing:\n- a\n> q\nEvidence: b\n", ("a", "> q", "Evidence: b")),
]


@pytest.mark.parametrize(("text", "items"), MISSING)
def test_the_items_under_missing(text: str, items: tuple[str, ...]) -> None:
    """PG-REPORT-11."""
    report = read_report(GOOD + text)
    assert report.missing == items
    assert (report.status is Status.COMPLETE) is (not items)
    assert bool(report.reasons) is bool(items)


EVIDENCE: list[tuple[str, tuple[str, ...], bool]] = [
    ("Evidence: ran the tests\n", ("ran the tests",), True),
    ("Evidence:\n- ran the tests\n12 passed\n", ("ran the tests", "12 passed"), True),
    ("Evidence: a\n- b\n\n- c\n", ("a", "b"), True),
    ("Evidence:\n- a\n# Notes\n- b\n", ("a",), True),
    ("Evidence:\n```\nx\n```\n- a\n", ("a",), True),
    ("Evidence:\n```\n# x\n```\n- a\n", ("a",), True),
    ("Evidence:\n- a\nMissing: none\n- Note\n", ("a",), False),
    ("Evidence:", (), False),
    ("Evidence: none\n", (), False),
    ("Evidence:\n- n/a\n-\n", (), False),
    ("Evidence:\n\n- a\n", ("a",), True),
    ("## Evidence:\n\n\n- a\n- b\n\n- c\n", ("a", "b"), True),
    ("Evidence:\n\na\n", (), False),
    ("Evidence:\n\n> - a\n- b\n", (), False),
    ("Evidence: none\n\n- a\n", (), False),
    ("Evidence:\n\n# Notes\n- a\n", (), False),
    ("Evidence:\n\n- none\n\n- a\n", (), False),
    ("Evidence:\n```\n12 passed\n```\n", (), False),
    ("Evidence:\n> 12 passed\n12 passed\n", (), False),
    ("Evidence:\n    12 passed\n", (), False),
    ("Evidence:\nMissing: none\n", (), False),
    ("Evidence:\nContract audit: aligned\n", (), False),
    ("Evidence: a\nEvidence:\n", ("a",), False),
    ("Evidence:\n\nEvidence: a\n", ("a",), False),
    ("<!--\nEvidence:\n- a\n-->\n", (), False),
]


@pytest.mark.parametrize(("text", "items", "holds"), EVIDENCE)
def test_the_items_under_evidence(text: str, items: tuple[str, ...], holds: bool) -> None:
    """PG-REPORT-12."""
    report = read_report(GOOD + text)
    assert report.evidence == items
    assert report.status is (Status.COMPLETE if holds else Status.INCOMPLETE)


def test_both_lists_can_speak_against_complete_and_neither_against_anything_else() -> None:
    assert read(f"{GOOD}Missing: x\nEvidence:\n")[1] == (
        "complete_with_missing",
        "complete_without_evidence",
    )
    for status in ("incomplete", "blocked"):
        text = GOOD.replace("complete", status, 1) + "Missing: x\nEvidence:\n"
        assert read(text) == ((status, "clean", "aligned"), ())


def test_a_report_that_names_its_claim_is_bound_to_it() -> None:
    """PG-REPORT-13."""
    for value in (DIGEST, DIGEST.upper(), f"`{DIGEST}`"):
        report = read_report(f"{GOOD}**Claim:** {value}\n")
        assert (report.claim, values(report), report.reasons) == (DIGEST, BEST, ())
        assert bind(report, DIGEST) == report
        bound = bind(report, OTHER)
        assert values(bound) == ("blocked", "clean", "aligned")
        assert bound.reasons == (Reason.CLAIM_MISMATCH,)
        assert bound.declared == report.declared


@pytest.mark.parametrize("value", ["sha256:", "sha256:abc", "a" * 64, "0123456789abcdef" * 2])
def test_what_looks_like_a_digest_and_is_not_the_claims_is_another_one(value: str) -> None:
    assert bind(read_report(f"{GOOD}Claim: {value}\n"), DIGEST).status is Status.BLOCKED


@pytest.mark.parametrize("value", ["the parser handles CRLF", "done", "", "cafe", '"sha256:"'])
def test_a_claim_told_again_in_words_binds_nothing(value: str) -> None:
    report = read_report(f"{GOOD}Claim: {value}\n")
    assert report.claim is None
    assert bind(report, DIGEST) == report
    assert values(report) == BEST


def test_a_report_of_two_claims_is_blocked_for_either() -> None:
    """PG-REPORT-13."""
    report = read_report(f"{GOOD}Claim: {DIGEST}\nClaim: {OTHER}\n")
    assert (values(report), report.reasons) == (
        ("blocked", "clean", "aligned"),
        (Reason.CLAIM_CONFLICT,),
    )
    assert read_report(f"{GOOD}Claim: {DIGEST}\nClaim: {DIGEST.upper()}\n").reasons == ()


def test_bytes_that_are_no_utf_8_become_replacement_characters_and_are_told_of() -> None:
    """PG-REPORT-15."""
    assert decode(GOOD.encode()) == (GOOD, False)
    assert decode(b"a\xffb\xe2\x82") == ("a\ufffdb\ufffd", True)
    assert decode("a\ufffdb".encode()) == ("a\ufffdb", False)
    text, _ = decode(b"Status: complete\xff")
    assert status_of(text) == "incomplete"


def test_an_empty_report_declares_nothing() -> None:
    for text in ("", "\n", "\r\n\r\n", "\ufeff", " \t"):
        assert read(text) == (NOTHING, UNDECLARED)


def test_the_reason_registry_is_what_it_was() -> None:
    assert [str(reason) for reason in Reason] == [
        "no_status_line", "integrity_undeclared", "contract_undeclared",
        "value_not_in_set:Status", "value_not_in_set:Integrity", "value_not_in_set:Contract",
        "conflicting_control_lines:Status", "conflicting_control_lines:Integrity",
        "conflicting_control_lines:Contract", "conflicting_control_lines:Claim",
        "line_in_doubt:Status", "line_in_doubt:Integrity", "line_in_doubt:Contract",
        "complete_with_missing", "complete_without_evidence", "claim_mismatch",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["\n" * 2**17, "*" * 2**18 + ":", "- " * 2**17, "`" * 2**18 + "x`", "<pre" * 2**16,
     ":" + "\x1b[0000" * 2**15, "1. " * 2**16 + ":", "<pre>" + "</pre " * 2**15, " " * 2**18 + ":"],
    ids=lambda text: repr(text[:8]),
)  # fmt: skip
def test_no_text_takes_more_than_its_length_to_read(text: str) -> None:
    begun = time.process_time()
    assert values(read_report(text)) == NOTHING
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "item",
    ["linux - x", "see 3. of it", "0-", "<!-- x -->", "none -", "n/a -", "none 1.", "a * b", "x +"],
)
@pytest.mark.parametrize("head", ["Missing: ", "Missing:\n", "Missing:\n- "])
def test_only_a_mark_at_the_beginning_is_taken_off_an_item(head: str, item: str) -> None:
    """PG-REPORT-11, PG-REPORT-14: cut out of the middle, it made `none -` an empty list."""
    good = "Status: complete\nIntegrity: clean\nContract audit: aligned\n"
    report = read_report(good + head + item)
    assert report.missing == (item,)
    assert report.status == "incomplete"


def test_an_item_is_a_line_without_its_mark_and_the_blanks_at_its_ends() -> None:
    """PG-REPORT-16."""
    text = (
        "Missing: \t3.  a\tb \t\n-  - c  d \n  e\n* **N/A**\n1. `None`\n-\n+ X f \xa0X\n\xa0g\x0c"
    )
    assert read_report(text).missing == ("a\tb", "- c  d", "e", "X f \xa0X", "\xa0g\x0c")


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            "Contract audit: maybe\nContract audit: ?\nStatus: done\nStatus: blocked\n",
            ["value_not_in_set:Status", "conflicting_control_lines:Status", "integrity_undeclared",
             "contract_undeclared", "value_not_in_set:Contract",
             "conflicting_control_lines:Contract", "claim_mismatch"],
        ),
        (
            "Integrity: clean\n<!--\nContract audit: aligned\n-->\nEvidence:\nMissing: a\n"
            f"Claim: {digest(b'b')}\nIntegrity: suspect\nStatus: complete\n",
            ["conflicting_control_lines:Integrity", "contract_undeclared",
             "line_in_doubt:Contract", "complete_with_missing", "complete_without_evidence",
             "conflicting_control_lines:Claim", "claim_mismatch"],
        ),
    ],
    ids=["labels", "lists and claims"],
)  # fmt: skip
def test_reasons_stand_in_one_order_whatever_that_of_the_lines(
    text: str, reasons: list[str]
) -> None:
    """PG-REPORT-17."""
    report = read_report(f"{text}Claim: {digest(b'a')}\n")
    assert list(bind(report, digest(b"of the claim")).reasons) == reasons
