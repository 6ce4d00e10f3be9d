"""The context half as Python users meet it. (SPEC CV-SUM, CV-STATE, CV-RULE, CV-ASK, CV-JUDGE)"""

import itertools
from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from verdict_core import (
    Answer,
    BadConfig,
    BadOptions,
    BadValue,
    Detail,
    ForbiddenKey,
    MissingField,
    NoAnswer,
    OverBudget,
    Reason,
    Request,
    State,
    Summary,
    UnboundState,
    UnknownField,
    Verdict,
    WrongType,
    build,
    judge,
)
from verdict_core.context.ask import OPTIONS, QUESTION, read_answer
from verdict_core.context.rules import RULES, Asking, Band, row_of
from verdict_core.context.state import judge_document
from verdict_core.context.thresholds import read_thresholds
from verdict_core.wire import compact

EMPTY: dict[str, Any] = {
    "session": "s",
    "todos": [],
    "uncommitted": [],
    "questions": [],
    "decisions": [],
    "next_steps": [],
    "unknown": [],
}


def summary(**fields: Any) -> Summary:
    return Summary(**{**EMPTY, **fields})


class Scripted:
    """A service that says what it was told to say."""

    def __init__(self, says: Any) -> None:
        self.says = says
        self.requests: list[Request] = []

    def ask(self, request: Request, /) -> bytes | str | Mapping[str, Any]:
        self.requests.append(request)
        if isinstance(self.says, Exception):
            raise self.says
        given: bytes | str | Mapping[str, Any] = self.says
        return given


# --- summary


def test_a_summary_keeps_its_strings_and_freezes_its_lists() -> None:
    items = [" a", "a", "b"]
    made = summary(todos=items, next_steps=("c",))
    items.append("later")
    assert made.todos == (" a", "a", "b")
    assert (made.count, made.next_steps) == (4, ("c",))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.todos = ()  # type: ignore[misc]  # the assignment that must not work


def test_all_seven_fields_are_required_in_python_too() -> None:
    """CV-SUM-1: a field left out would read as empty."""
    for name in EMPTY:
        with pytest.raises(TypeError, match=name):
            Summary(**{key: value for key, value in EMPTY.items() if key != name})


@pytest.mark.parametrize(
    ("fields", "error", "path"),
    [
        ({"session": ""}, BadValue, "$.session"),
        ({"session": 1}, WrongType, "$.session"),
        ({"todos": "ab"}, WrongType, "$.todos"),
        ({"uncommitted": ["a", ""]}, BadValue, "$.uncommitted[1]"),
        ({"unknown": ["todos", "todos"]}, BadValue, "$.unknown"),
        ({"questions": ["\udc88"]}, BadValue, "$.questions[0]"),
    ],
)
def test_a_summary_refuses_what_is_none(fields: Any, error: Any, path: str) -> None:
    """CV-WIRE-3."""
    with pytest.raises(error) as caught:
        summary(**fields)
    assert caught.value.path == path


def test_a_summary_survives_the_wire() -> None:
    made = summary(todos=["a"], unknown=["decisions"])
    assert Summary.from_payload(made.payload()) == made
    assert Summary.from_json(compact(EMPTY)) == summary()


def test_the_path_of_a_nested_summary_is_its_own() -> None:
    for payload, error, path in (
        ({**EMPTY, "todos": [1]}, WrongType, "$.summary.todos[0]"),
        ({**EMPTY, "odd": 1}, UnknownField, "$.summary.odd"),
        ({"session": "s"}, MissingField, "$.summary.todos"),
        ([], WrongType, "$.summary"),
    ):
        with pytest.raises(error) as caught:
            Summary.from_payload(payload, "$.summary")
        assert caught.value.path == path


def test_forbidden_names_are_refused_before_structure() -> None:
    with pytest.raises(ForbiddenKey):
        Summary.from_json('{"todos": 1, "keep": 1}')


# --- state


def test_a_state_over_its_budget_is_an_error_never_a_cut() -> None:
    made = summary(todos=["x" * 100])
    length = len(build(made).text)
    assert build(made, max_chars=length) == build(made)
    with pytest.raises(OverBudget, match=f"{length} characters .* {length - 1}") as caught:
        build(made, max_chars=length - 1)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("value", [-1, True, 3.0, "3", None, float("nan"), 2**53])
def test_thresholds_are_integers_of_a_count(value: Any) -> None:
    """CV-RULE-6."""
    with pytest.raises(BadConfig, match="max_chars"):
        build(summary(), max_chars=value)
    with pytest.raises(BadConfig, match="wait_min"):
        judge(summary(), build(summary()), wait_min=value)


@pytest.mark.parametrize("part", ["text", "digest", "risk_hints", "count", "unknown"])
def test_a_state_with_a_part_of_its_own_is_refused(part: str) -> None:
    """CV-DIGEST-3; `True` is not 1 and a list is no tuple."""
    made = summary(todos=["a"])
    state = build(made)
    others: dict[str, list[Any]] = {
        "text": [state.text + "\n", "", None],
        "digest": [state.digest.upper(), ""],
        "risk_hints": ["count=0 open=- unknown=-"],
        "count": [0, True, 1.0, "1"],
        "unknown": [[], ("todos",)],
    }
    for value in others[part]:
        with pytest.raises(UnboundState) as caught:
            judge(made, attrs.evolve(state, **{part: value}))
        assert caught.value.path == f"$.state.{part}"


def test_judge_takes_a_summary_and_a_state_and_nothing_like_them() -> None:
    state: Any = build(summary())
    for given, path in ((EMPTY, "$.summary"), (None, "$.summary")):
        bad: Any = given
        with pytest.raises(WrongType) as caught:
            judge(bad, state)
        assert caught.value.path == path
    with pytest.raises(WrongType) as caught:
        judge(summary(), state.payload())
    assert caught.value.path == "$.state"
    with pytest.raises(WrongType):
        build(state)


def test_a_judge_document_is_what_build_prints() -> None:
    """CV-CLI-3."""
    made = summary(decisions=["d"])
    document = {"summary": made.payload(), "state": build(made).payload()}
    assert judge_document(compact(document)) == (made, build(made))


@pytest.mark.parametrize(
    ("document", "error", "path"),
    [
        ({"state": {"keep": 1}}, ForbiddenKey, "$.state.keep"),
        ({"summary": EMPTY, "state": [{"a": {"per_block": 1}}]}, ForbiddenKey,
         "$.state[0].a.per_block"),
        ({"verdict": "safe_to_compact"}, UnknownField, "$.verdict"),
        ({"summary": EMPTY}, MissingField, "$.state"),
        ({"summary": {**EMPTY, "todos": [1]}, "state": {}}, WrongType, "$.summary.todos[0]"),
        ({"summary": EMPTY, "state": {"text": 1}}, WrongType, "$.state.text"),
        ({"summary": EMPTY, "state": {"more": 1}}, UnknownField, "$.state.more"),
        ({"summary": EMPTY, "state": []}, WrongType, "$.state"),
        ([], WrongType, "$"),
    ],
)  # fmt: skip
def test_a_judge_document_names_its_first_fault(document: Any, error: Any, path: str) -> None:
    """CV-KEY-4, CV-ERR-3: a forbidden name before all else."""
    with pytest.raises(error) as caught:
        judge_document(compact(document))
    assert caught.value.path == path


# --- rules


def test_the_table_in_the_specification_is_the_table_in_the_code(spec: str) -> None:
    """CV-RULE-3, cell by cell."""
    section = spec.split("| band | service | verdict | reasons, in this order |")[1]
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in section.split("\n\n")[0].splitlines()[2:]
    ]
    assert rows == [
        (str(band), str(asking), str(verdict), ", ".join(reasons))
        for (band, asking), (verdict, reasons) in RULES.items()
    ]


def test_the_registry_in_the_specification_is_the_registry_in_the_code(spec: str) -> None:
    section = spec.split("## 9. Reason registry")[1].split("## 10.")[0]
    words = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
    assert words[1:] == list(Reason)


def test_a_pair_that_the_table_lacks_is_an_error() -> None:
    """CV-RULE-3."""
    counts = {Band.CLEAR: 0, Band.OVER: 9, Band.BAND: 1}
    for band, asking in itertools.product(Band, Asking):
        row = row_of(counts[band], False, 3)
        if (band, asking) in RULES:
            assert row[asking] == RULES[band, asking]
        else:
            with pytest.raises(KeyError):
                row[asking]


@pytest.mark.parametrize(
    ("count", "unknown", "wait_min", "band"),
    [
        (0, False, 0, Band.CLEAR),
        (0, True, 0, Band.BAND),
        (1, False, 0, Band.OVER),
        (3, False, 3, Band.BAND),
        (4, False, 3, Band.OVER),
        (4, True, 3, Band.OVER),
        (1, False, 3, Band.BAND),
        (2**53, False, 2**53 - 1, Band.OVER),
    ],
)
def test_the_edges_of_the_bands(count: int, unknown: bool, wait_min: int, band: Band) -> None:
    """CV-RULE-2."""
    row = row_of(count, unknown, wait_min)
    assert {(band, asking) for asking in row} == {pair for pair in RULES if pair[0] is band}


@pytest.mark.parametrize(
    ("config", "wait_min"),
    [({}, 3), ({"wait_min": 0}, 0), ({"safe_max": 0, "wait_min": 7}, 7), ({"safe_max": 0}, 3)],
)
def test_a_configuration_gives_its_threshold(config: dict[str, Any], wait_min: int) -> None:
    assert read_thresholds(config) == wait_min


@pytest.mark.parametrize("safe_max", [1, 4, -1, True, False, 0.0, None, "0"])
def test_no_setting_widens_what_is_safe(safe_max: Any) -> None:
    """CV-RULE-5."""
    with pytest.raises(BadConfig, match=r"\$\.safe_max"):
        read_thresholds({"wait_min": 3, "safe_max": safe_max})


def test_a_configuration_is_closed() -> None:
    with pytest.raises(BadConfig, match=r"\$\.safeMax"):
        read_thresholds({"safeMax": 0})


# --- judging


@pytest.mark.parametrize("says", [None, {"choice": "safe_to_compact", "score": 1}])
@pytest.mark.parametrize(
    ("fields", "verdict", "reasons"),
    [
        ({}, "safe_to_compact", ["nothing_unlanded"]),
        ({"todos": list("abcd")}, "preserve_first", ["over_threshold"]),
        (
            {"todos": list("abcd"), "unknown": ["todos"]},
            "preserve_first",
            ["over_threshold", "field_unknown"],
        ),
    ],
)
def test_outside_the_band_nobody_is_asked(
    says: Any, fields: Any, verdict: str, reasons: list[str]
) -> None:
    """CV-JUDGE-3."""
    service = Scripted(says)
    made = summary(**fields)
    judgement = judge(made, build(made), service=service)
    assert (judgement.verdict, list(judgement.reasons)) == (verdict, reasons)
    assert (judgement.detail, judgement.score, service.requests) == (None, None, [])


@pytest.mark.parametrize(
    ("says", "verdict", "reason", "detail", "score"),
    [
        ({"choice": "wait", "score": 0.5}, "wait", "service_wait", None, 0.5),
        (b'{"choice":"preserve_first","score":1}', "preserve_first", "service_preserve", None, 1),
        ('{"choice":"safe_to_compact","score":1}', "wait", "service_safe_overruled", None, 1),
        (NoAnswer("timeout"), "wait", "service_absent", "timeout", None),
        (NoAnswer("declined", "no"), "wait", "service_absent", "declined", None),
        (NoAnswer("truncated"), "wait", "service_unusable", "truncated", None),
        (b"not json", "wait", "service_unusable", "unreadable", None),
        (None, "wait", "service_unusable", "unreadable", None),
        ({"choice": "x", "score": 1}, "wait", "service_unusable", "bad_choice", None),
        ({"choice": "wait", "score": "1"}, "wait", "service_unusable", "bad_score", None),
    ],
)
def test_in_the_band_the_service_is_asked_once(
    says: Any, verdict: str, reason: str, detail: str | None, score: Any
) -> None:
    """CV-JUDGE-3, CV-ASK-4."""
    service = Scripted(says)
    made = summary(questions=["q?"])
    state = build(made)
    judgement = judge(made, state, service=service)
    assert (judgement.verdict, judgement.reasons) == (verdict, ("in_band", reason))
    assert (judgement.detail, judgement.score) == (detail, score)
    assert service.requests == [Request(state.text)]
    assert judgement.digest == state.digest


def test_an_answer_with_a_forbidden_name_is_refused() -> None:
    """CV-KEY-4."""
    made = summary(questions=["q?"])
    service = Scripted({"choice": "wait", "score": 0, "ranking": []})
    with pytest.raises(ForbiddenKey, match=r"\$\.ranking"):
        judge(made, build(made), service=service)


def test_a_fault_of_the_service_is_not_taken_for_an_answer() -> None:
    made = summary(questions=["q?"])
    with pytest.raises(ZeroDivisionError):
        judge(made, build(made), service=Scripted(ZeroDivisionError()))


def test_a_judgement_survives_the_wire() -> None:
    """CV-JUDGE-1."""
    judgement = judge(summary(), build(summary()))
    assert list(judgement.payload()) == [
        "verdict", "reasons", "detail", "count", "unknown", "score", "digest",
    ]  # fmt: skip


# --- request and answer


def test_a_request_has_three_options_and_one_scale() -> None:
    """CV-ASK-1."""
    request = Request.of(build(summary()))
    assert request.payload() == {
        "question": QUESTION,
        "options": ("safe_to_compact", "wait", "preserve_first"),
        "scale": {"min": 0, "max": 1},
        "state": build(summary()).text,
    }
    assert "data" in QUESTION
    assert tuple(Verdict) == OPTIONS


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((*OPTIONS, "drop_block_3"), "four_options"),
        (OPTIONS[::-1], "options_order"),
        (OPTIONS[:2], "bad_options"),
        ((), "bad_options"),
        (("safe_to_compact", "wait", "wait"), "bad_options"),
    ],
)
def test_a_request_with_other_options_cannot_be_made(options: Any, code: str) -> None:
    """CV-ASK-2."""
    with pytest.raises(BadOptions) as caught:
        Request("text", options)
    assert (caught.value.code, caught.value.path) == (code, "$.options")
    assert "are safe_to_compact, wait, preserve_first, in this order" in caught.value.message


def test_a_request_from_outside_is_read_whole() -> None:
    good = (
        b'{"question":"q","options":["safe_to_compact","wait","preserve_first"],'
        b'"scale":{"min":0,"max":1},"state":"t"}'
    )
    assert Request.from_json(good) == Request("t", question="q")
    with pytest.raises(BadValue, match=r"\$\.scale"):
        Request.from_json(good.replace(b'"max":1', b'"max":10'))
    with pytest.raises(ForbiddenKey):
        Request.from_json(good.replace(b'"state"', b'"segments"'))


def test_an_answer_is_a_choice_and_a_score() -> None:
    assert read_answer({"choice": "wait", "score": 1}) == Answer(Verdict.WAIT, 1)
    assert read_answer('{"score": 0.25, "choice": "wait"}') == Answer(Verdict.WAIT, 0.25)
    with pytest.raises(NoAnswer) as caught:
        read_answer(b'{"choice": "wait", "score": NaN}')
    assert caught.value.detail is Detail.BAD_SCORE


def test_a_service_fails_with_one_of_nine_details() -> None:
    """CV-ASK-4."""
    with pytest.raises(ValueError, match="tired"):
        NoAnswer("tired")
    assert [NoAnswer(detail).detail for detail in Detail] == list(Detail)
    assert len(Detail) == 9


def test_a_state_from_outside_is_closed() -> None:
    payload = build(summary()).payload()
    assert State.from_payload({**payload, "unknown": []}) == build(summary())
    with pytest.raises(UnknownField) as caught:
        State.from_payload({**payload, "blocked": 1}, "$.state")
    assert caught.value.path == "$.state.blocked"
