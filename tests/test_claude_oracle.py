"""Real Claude Code records, reduced to their skeletons, against what people settled on.

`expected.jsonl` was made before a running turn counted as a next step, so none of its items begins
with "(running) ": such items are taken off ours before the next steps are compared, and it is
asserted apart that exactly the records whose live branch ends in mid-turn have one. Where it marks
an item as contestable either reading is right, and ours is the one that it has.
Where the records come from: tests/data/records/PROVENANCE.tsv. (SPEC RD-CC)
"""

import json
from pathlib import Path
from typing import Any

import pytest

from verdict_core.readers import claude_code
from verdict_core.readers.claude_code import FIELDS, read
from verdict_core.readers.claude_next import RUNNING
from verdict_core.readers.reading import NO_TEXT, Reading, combine

DATA = Path(__file__).parent / "data" / "records"
RECORDS = sorted(path for path in DATA.glob("*.jsonl") if path.name != "expected.jsonl")
EXPECTED: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in map(json.loads, (DATA / "expected.jsonl").read_text(encoding="utf-8").splitlines())
}
# What a mark of the expectation is called in our notes; a mark can end in ":" and a number.
MARKS = {
    "conversation_restarted",
    "parent_missing",
    "rows_off_branch",
    "scratch_commit",
    "commit_in_flight",
    "synthetic_answer",
    "starts_mid_session",
    "compactions",
    "joined_lines",
}
NO_PLAN = "(plan without text)"
MID_TURN = {
    "cc-78412207": "<command-message><text 2512e56e2f</command-message>",
    "cc-d7961578": "text cdb2100ff6",
    "cc_2.1.199_tasks_open": NO_TEXT,
    "fx_edge_cases": "text 7528f71646",
    "fx_schema_small": "text 36af96561a",
    "fx_todowrite_examples": "text ac4c7b2324?",
}
# Of the others: the harness was run by hand, and what was left open is known.
LEFT_OPEN: dict[str, dict[str, list[str]]] = {
    "cli-main-with-subagent": {},
    "cli-sdk-tasks-question-compact": {
        "todos": ["text 0357e53f1b"],
        "decisions": ["text 51008f2814? = text f9cb0954ba"],
    },
    "cli-tasks-auto-compact": {},
    "cli-tasks-manual-compact": {"todos": ["text 0357e53f1b"]},
    "cli-todowrite": {"todos": ["text 0357e53f1b"]},
    "cc_1.0.111_old_real": {
        "todos": ["text 2cdf9f9338", "text 4921c9a3d6", "text 7018ed40a6", "text 65656ad75e"]
    },
    "cc_2.1.199_tasks_open": {
        "todos": ["text 08b15ca3c7", "text 770fec3219", "text 2544c31a54"],
        "next_steps": [RUNNING + NO_TEXT],
    },
    "cc_no_work": {"questions": ["text 45349cc031?"]},
}


def items(reading: Reading) -> dict[str, list[str]]:
    return {name: list(reading.items[name]) for name in FIELDS}


def running(reading: Reading) -> list[str]:
    return [item for item in reading.items["next_steps"] if item.startswith(RUNNING)]


def read_both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """The reading, which is the same however many lines are skimmed."""
    usual = read(path, named=True)
    for short in (0, 1 << 40):
        monkeypatch.setattr(claude_code, "_SHORT", short)
        assert read(path, named=True) == usual
    monkeypatch.undo()
    return usual


def test_the_records_are_there_and_each_has_its_provenance() -> None:
    lines = (DATA / "PROVENANCE.tsv").read_text(encoding="utf-8").splitlines()
    named = [line.split("\t")[0] for line in lines[1:]]
    assert sorted(named) == [path.name for path in RECORDS]
    assert all(len(line.split("\t")) == 6 for line in lines)
    assert len(EXPECTED) == 18
    assert {f"{name}.jsonl" for name in (*EXPECTED, *LEFT_OPEN)} <= set(named)
    assert sum(path.stat().st_size for path in DATA.iterdir()) <= 2_600_000


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_record_reads_as_people_settled_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = read_both_ways(DATA / f"{name}.jsonl", monkeypatch)
    expected = {
        field: [NO_TEXT if item == NO_PLAN else item for item in found]
        for field, found in EXPECTED[name]["summary"].items()
    }
    ours = items(reading)
    for item in running(reading):
        ours["next_steps"].remove(item)
    assert ours == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_record_is_noted_as_people_noted_it(name: str) -> None:
    wanted = dict(mark.partition(":")[::2] for mark in EXPECTED[name]["notes"])
    notes = {note.code: note.text for note in read(DATA / f"{name}.jsonl").notes}
    assert MARKS & notes.keys() == MARKS & wanted.keys()
    for code in ("rows_off_branch", "compactions"):
        assert notes.get(code, ": 0").rpartition(": ")[2] == wanted.get(code, "0")


def test_exactly_the_records_that_end_in_mid_turn_have_a_running_turn() -> None:
    found = {path.stem: running(read(path)) for path in RECORDS}
    assert {name: turn for name, turn in found.items() if turn} == {
        name: [RUNNING + message] for name, message in MID_TURN.items()
    }


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_a_session_that_was_run_by_hand_reads_as_it_ended(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = read_both_ways(DATA / f"{name}.jsonl", monkeypatch)
    assert reading.unknown == frozenset()
    assert items(reading) == {field: LEFT_OPEN[name].get(field, []) for field in FIELDS}


def test_a_sub_agents_own_record_speaks_for_no_session() -> None:
    reading = read(DATA / "cli-subagent-auto-compact.jsonl")
    assert reading.unknown == frozenset(FIELDS)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_spacing_of_a_record_changes_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact = tmp_path / path.name
    with path.open("rb") as lines, compact.open("wb") as out:
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                out.write(line)
            else:
                text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
                out.write(text.encode() + b"\n")
    other, usual = read_both_ways(compact, monkeypatch), read_both_ways(path, monkeypatch)
    assert items(other) == items(usual)
    assert (other.unknown, other.session) == (usual.unknown, usual.session)
    combine([usual])


def test_a_slice_leaves_unknown_what_it_cannot_show() -> None:
    assert read(DATA / "cc-dd06310a.jsonl").unknown == {"todos", "decisions"}
    assert read(DATA / "cc-4995b48a.jsonl").unknown == {"decisions"}


@pytest.mark.parametrize("name", ["cc-efd5f310", "cli-todowrite"])
def test_wherever_a_real_record_is_torn_everything_is_unknown(name: str, tmp_path: Path) -> None:
    data = (DATA / f"{name}.jsonl").read_bytes()
    torn = tmp_path / "torn.jsonl"
    start = data.index(b'"type": "assistant"')
    for cut in range(data.index(b"\n", start) + 2, len(data) - 2, 53):
        torn.write_bytes(data[:cut])
        reading = read(torn)
        whole = data[cut - 1 : cut + 1] in (b"}\n", b"\n{") or data[:cut].endswith(b"\n")
        assert reading.unknown == (frozenset() if whole else frozenset(FIELDS))


@pytest.mark.parametrize("name", ["cc-dc6c56bf", "cli-sdk-tasks-question-compact"])
def test_whichever_row_of_a_real_record_is_lost_nothing_is_falsely_known(
    name: str, tmp_path: Path
) -> None:
    lines = (DATA / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    usual = read(DATA / f"{name}.jsonl")
    path = tmp_path / "lost.jsonl"
    for number, line in enumerate(lines):
        path.write_bytes(b"".join((*lines[:number], line[:20] + b"\n", *lines[number + 1 :])))
        reading = read(path)
        assert "damaged_lines" in [note.code for note in reading.notes]
        for field in FIELDS:
            lost = [item for item in usual.items[field] if item not in reading.items[field]]
            assert not lost or field in reading.unknown
