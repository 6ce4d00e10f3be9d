"""Real Codex records, reduced to their skeletons, against what people settled on, and cut anywhere.

`expected.jsonl` was made before a running turn counted as a next step; all of its records end in a
final answer, so none has one. Where they come from: tests/data/codex/PROVENANCE.tsv. (SPEC RD-CX)
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codex_record import Rollout

from verdict_core.readers import codex_skim, streams
from verdict_core.readers.codex import FIELDS, read
from verdict_core.readers.flow_fold import RUNNING
from verdict_core.readers.reading import NO_TEXT, Reading, combine

DATA = Path(__file__).parent / "data" / "codex"
RECORDS = sorted(path for path in DATA.glob("*.jsonl") if path.name != "expected.jsonl")
EXPECTED: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in map(json.loads, (DATA / "expected.jsonl").read_text(encoding="utf-8").splitlines())
}
PLAN = ["Write parser", "Add tests"]
QUESTION = "Which database should it use?"
# Of the others: what was left open. A name that is left out has nothing open.
LEFT_OPEN: dict[str, dict[str, list[str]]] = {
    "cli-ask-open": {"todos": PLAN, "questions": [QUESTION]},
    "cli-ask-rpc": {"todos": PLAN, "decisions": [f"{QUESTION} = SQLite (Recommended)"]},
    "cli-codemode": {"todos": PLAN},
    "cli-fork": {"todos": PLAN},
    "cli-goal": {"todos": PLAN},
    "cli-m-manual-stop": {"todos": PLAN},
    "cli-m-mid-stop": {"todos": PLAN},
    "cli-subagent-fork": {"todos": PLAN},
    "cx_0.144_codemode_small": {"next_steps": [RUNNING + "text 3b6188c2b7?"]},
    "fx_2026-08_schema_small": {"next_steps": [RUNNING + "text 36af96561a"]},
    "fx_codemode_functions_exec": {"next_steps": [RUNNING + NO_TEXT]},
    "fx_malformed_line": {"next_steps": [RUNNING + "text 68b47662ea"]},
}
UNKNOWN = {
    "cli-fork-2": {"todos", "decisions"},
    "fx_2026-08_schema_small": {"todos"},
    "fx_malformed_line": set(FIELDS),
}


def items(reading: Reading) -> dict[str, list[str]]:
    return {name: list(reading.items[name]) for name in FIELDS}


def read_both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """The reading, which is the same however much is skipped, and however it comes in."""
    usual = read(path, named=True)
    for size in (1, 3000):
        monkeypatch.setattr(streams, "_CHUNK", size)
        assert read(path, named=True) == usual
    monkeypatch.undo()
    monkeypatch.setattr(codex_skim.Skimmer, "unread", lambda self, chunk: every_line(chunk))
    whole = read(path, named=True)
    monkeypatch.undo()
    assert whole == usual
    return usual


def every_line(chunk: bytes) -> Iterator[tuple[int, int, bytes]]:
    for line in chunk.splitlines(keepends=True):
        yield 0, 0, line


def test_the_records_are_there_and_each_has_its_provenance() -> None:
    lines = (DATA / "PROVENANCE.tsv").read_text(encoding="utf-8").splitlines()
    assert sorted(line.split("\t")[0] for line in lines[1:]) == [path.name for path in RECORDS]
    assert all(len(line.split("\t")) == 6 for line in lines)
    assert len(EXPECTED) == 9
    assert {*EXPECTED, *LEFT_OPEN, *UNKNOWN} <= {path.stem for path in RECORDS}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_record_reads_as_people_settled_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = read_both_ways(DATA / f"{name}.jsonl", monkeypatch)
    assert items(reading) == EXPECTED[name]["summary"]
    assert reading.unknown == frozenset()
    marks = {mark.partition(":")[0] for mark in EXPECTED[name]["notes"]}
    codes = {note.code for note in reading.notes}
    assert codes & {"subagent", "scratch_commit"} == marks & {"subagent", "scratch_commit"}


@pytest.mark.parametrize(
    "path", [path for path in RECORDS if path.stem not in EXPECTED], ids=lambda path: path.stem
)
def test_a_record_of_which_it_is_known_what_was_left_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = read_both_ways(path, monkeypatch)
    left = LEFT_OPEN.get(path.stem, {})
    assert items(reading) == {field: left.get(field, []) for field in FIELDS}
    assert reading.unknown == UNKNOWN.get(path.stem, frozenset())
    combine([reading])


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_spacing_of_a_record_changes_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = read(path)
    for space in ("", " "):
        other = tmp_path / path.name
        with path.open("rb") as lines, other.open("wb") as out:
            for line in lines:
                try:
                    text = json.dumps(json.loads(line), separators=("," + space, ":" + space))
                except ValueError:
                    out.write(line)
                else:
                    out.write(text.encode() + b"\n")
        reading = read_both_ways(other, monkeypatch)
        assert (items(reading), reading.unknown) == (items(usual), usual.unknown)


def said_in(data: bytes) -> str:
    """Everything that a record's rows say, and what is inside the texts in them."""
    return data.decode(errors="replace").replace('\\\\\\"', '"').replace('\\"', '"')


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_wherever_a_record_is_cut_nothing_is_invented(path: Path, tmp_path: Path) -> None:
    """At lines and at any byte: it is read, and each item stands in what is left."""
    data = path.read_bytes()
    chance = random.Random(path.stem)
    ends = [n for n, byte in enumerate(data) if byte == 0x0A]
    places = [end + 1 for end in chance.sample(ends, min(len(ends), 25))]
    places += chance.sample(range(len(data)), 25)
    cut = tmp_path / path.name
    for place in places:
        cut.write_bytes(data[:place])
        reading = read(cut, named=True)
        text = said_in(data[:place])
        for item in (item for found in reading.items.values() for item in found):
            words = item.removeprefix(RUNNING).partition(" = ")[0]
            assert words == NO_TEXT or words in text
        torn = not data[:place].endswith((b"\n", b"}"))
        assert not torn or reading.unknown


@pytest.mark.parametrize("name", ["cx-7099a0a2", "cli-ask-rpc"])
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


LONG = "x" * 600


@pytest.mark.parametrize("space", ["", " "])
def test_a_call_that_matters_is_never_skipped_among_others(
    space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """rd-line-4: every kind of row that can be skipped stands around one that cannot."""
    record = Rollout(space=space).started().said("Build " + LONG)
    for matters in (True, False):
        record.event("token_count", info=LONG).event("exec_command_end", stdout=LONG)
        record.event("item_completed", thread_id="t", turn_id="u", item={"type": "Sleep"})
        record.item("reasoning", encrypted_content=LONG).row("turn_context", {"cwd": LONG})
        record.row("compacted", {"message": LONG, "replacement_history": []})
        record.row("event_msg", {"type": "token_count", "info": LONG}, ordinal=7)
        record.call("exec_command", {"cmd": LONG}, LONG).call("write_stdin", {"chars": LONG}, LONG)
        if matters:
            record.plan(("a", "pending")).ask("Which?", '{"answers":{"q1":{"answers":["A"]}}}')
            record.script('await tools.update_plan({plan: [{step: "b", status: "x"}]})', LONG)
    path = tmp_path / "rollout.jsonl"
    record.read(tmp_path)
    reading = read_both_ways(path, monkeypatch)
    assert reading.items["todos"] == ("b",)
    assert reading.items["decisions"] == ("Which? = A",)
    assert ("compactions", "compactions in the record: 2") in [
        (note.code, note.text) for note in reading.notes
    ]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: line[:-2] + b"\n",
        lambda line: line[:300] + b"\0" * 40 + line[340:],
        lambda line: line[:300] + line,
        lambda line: line[10:],
    ],
)
def test_damage_in_a_row_that_could_be_skipped_is_seen(spoil: Any, tmp_path: Path) -> None:
    record = Rollout().said("Build").plan(("a", "pending"))
    record.event("exec_command_end", stdout=LONG)
    record.rows[-1] = spoil(record.rows[-1])
    reading = record.read(tmp_path)
    assert reading.unknown == frozenset(FIELDS)
    assert reading.items["todos"] == ("a",)
