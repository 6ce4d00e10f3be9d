"""What the ledger writes, what it reads in a file of any condition, and what it refuses."""

import hashlib
import json
import os
import re
import stat
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
import rfc8785
from progress.strictfs import StrictDisk, claim_body, ruling_body

from verdict_core.errors import (
    BadValue,
    LedgerFault,
    MissingField,
    UnknownField,
    VerdictCoreError,
    WrongType,
)
from verdict_core.progress.ledger import Disk, Ledger
from verdict_core.progress.projection import State, rendered, restored
from verdict_core.progress.runs import (
    CLAIM_BYTES,
    LINE_BYTES,
    LIST_BYTES,
    REPORT_BYTES,
    ZEROS,
    cap_report,
    entry,
    run_directory,
    run_id,
    sealed,
    sealed_at,
)
from verdict_core.wire import canonical, digest

RUN = Path("/state/verified-progress/runs/s-a")
LEDGER = RUN / "ledger.jsonl"
STATE = RUN / "state.json"


def fault_of(call: Callable[[], object]) -> LedgerFault:
    with pytest.raises(LedgerFault) as caught:
        call()
    return caught.value


def written(*bodies: dict[str, Any]) -> bytes:
    disk = StrictDisk()
    ledger = Ledger(RUN, disk)
    for body in bodies:
        ledger.append(body)
    return disk.strict_image()[LEDGER]


def on(raw: bytes, state: bytes | None = None) -> Ledger:
    return Ledger(RUN, StrictDisk({LEDGER: raw} if state is None else {LEDGER: raw, STATE: state}))


def chained(*drafts: dict[str, Any]) -> bytes:
    """A ledger of sealed entries whose bodies `append` would refuse."""
    lines: list[bytes] = []
    for number, draft in enumerate(drafts, 1):
        prev = hashlib.sha256(lines[-1]).hexdigest() if lines else ZEROS
        lines.append(
            canonical(
                sealed(draft, number=number, time="2026-01-01T00:00:00Z", run="s-a", prev=prev)
            )
        )
    return b"".join(line + b"\n" for line in lines)


# --- what is written ---


def test_an_entry_is_one_line_of_canonical_json_chained_to_the_one_before(tmp_path: Path) -> None:
    """PG-LEDGER-3."""
    ledger = Ledger(run_directory(tmp_path, "s-a"))
    entries = [
        ledger.append(claim_body("\u2028 \U0001f600 \x00")),
        ledger.append(ruling_body(1, "\u2028 \U0001f600 \x00", changed=[])),
        ledger.append(claim_body()),
    ]
    raw = (tmp_path / "verified-progress/runs/s-a/ledger.jsonl").read_bytes()
    assert raw == b"".join(rfc8785.dumps(one) + b"\n" for one in entries)
    prev = "0" * 64
    for number, line in enumerate(raw.splitlines(), 1):
        value = json.loads(line)
        assert value["number"] == number
        assert value["prev"] == prev
        prev = hashlib.sha256(line).hexdigest()
        said = value.pop("hash")
        assert said == hashlib.sha256(rfc8785.dumps(value)).hexdigest()
        assert value["run"] == "s-a"
        assert value["claim_digest"] == (
            "sha256:" + hashlib.sha256(value["claim"].encode()).hexdigest()
        )
    assert ledger.read().entries == tuple(entries)


def test_the_time_of_an_entry_is_rfc_3339_in_utc(tmp_path: Path) -> None:
    """PG-ENTRY-3."""
    said = Ledger(tmp_path).append(claim_body())["time"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", said)
    assert abs(datetime.fromisoformat(said) - datetime.now(UTC)) < timedelta(minutes=1)


def test_directories_and_files_are_their_owners_alone(tmp_path: Path) -> None:
    """PG-LEDGER-1."""
    ledger = Ledger(run_directory(tmp_path / "state", "s-a"))
    ledger.append(claim_body())
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in sorted((tmp_path / "state").rglob("*"))
    }
    assert modes == {
        "state/verified-progress": 0o700,
        "state/verified-progress/runs": 0o700,
        "state/verified-progress/runs/s-a": 0o700,
        "state/verified-progress/runs/s-a/ledger.jsonl": 0o600,
        "state/verified-progress/runs/s-a/state.json": 0o600,
    }


def test_a_directory_that_another_process_makes_at_the_same_time_is_taken(tmp_path: Path) -> None:
    class Raced(Disk):
        def mkdir(self, path: Path) -> None:
            super().mkdir(path)
            super().mkdir(path)

    assert Ledger(tmp_path / "a" / "b", Raced()).append(claim_body())["number"] == 1


@pytest.mark.parametrize("number", [13, 22])
def test_a_directory_above_that_cannot_be_synced_holds_no_name_of_ours(number: int) -> None:
    class Foreign(StrictDisk):
        def open(self, path: Path, flags: int) -> int:
            if path == Path("/") and flags & os.O_DIRECTORY:
                raise OSError(number, os.strerror(number))
            return super().open(path, flags)

    assert Ledger(RUN, Foreign()).append(claim_body())["number"] == 1


def test_a_directory_above_that_fails_to_sync_fails_the_append() -> None:
    class Failing(StrictDisk):
        def open(self, path: Path, flags: int) -> int:
            if path == Path("/") and flags & os.O_DIRECTORY:
                raise OSError(5, "Input/output error")
            return super().open(path, flags)

    disk = Failing()
    assert fault_of(lambda: Ledger(RUN, disk).append(claim_body())).code == "append_failed"
    assert Ledger(RUN, disk).read().entries == ()


@pytest.mark.parametrize(
    ("body", "error", "path"),
    [
        ({**claim_body(), "hash": ZEROS}, UnknownField, "$.hash"),
        ({**claim_body(), "outcome": "progress"}, UnknownField, "$.outcome"),
        ({**claim_body(), "kind": "event"}, BadValue, "$.kind"),
        ({**claim_body(), "claim": ""}, BadValue, "$.claim"),
        ({**claim_body(), "claim": "\ud800"}, BadValue, "$.claim"),
        ({**claim_body(), "verifier": "make"}, WrongType, "$.verifier"),
        ({**claim_body(), "verifier": [1]}, WrongType, "$.verifier[0]"),
        ({**claim_body(), "before": {"count": 1.0, "digest": "d"}}, WrongType, "$.before.count"),
        ({**ruling_body(1), "outcome": "verified"}, BadValue, "$.outcome"),
        ({**ruling_body(1), "claim_number": True}, WrongType, "$.claim_number"),
        ({**ruling_body(1), "claim_number": 0}, BadValue, "$.claim_number"),
        ({**ruling_body(1), "missing": ["a", 1]}, WrongType, "$.missing[1]"),
        ({**ruling_body(1), "changed": ["a"]}, WrongType, "$.changed[0]"),
        ({key: value for key, value in ruling_body(1).items() if key != "missing"}, MissingField,
         "$.missing"),
        ([], WrongType, "$"),
    ],
)  # fmt: skip
def test_a_body_that_is_not_of_the_closed_form_is_refused_and_nothing_is_written(
    body: dict[str, Any], error: type[VerdictCoreError], path: str
) -> None:
    """PG-ENTRY-1."""
    disk = StrictDisk()
    with pytest.raises(error) as caught:
        Ledger(RUN, disk).append(body)
    assert caught.value.path == path
    assert disk.calls == []


def test_an_argument_of_a_verifier_can_be_empty() -> None:
    assert entry(written(claim_body(verifier=["grep", "", "x"]))[:-1])["verifier"][1] == ""


def test_a_round_without_a_second_fingerprint_or_a_report_is_written_down() -> None:
    raw = written(claim_body(before=None), ruling_body(1, after=None, before=None, report=None))
    ruling = on(raw).read().entries[1]
    assert (ruling["after"], ruling["before"], ruling["report"]) == (None, None, None)


# --- caps ---


def test_led_07_a_report_is_cut_to_the_cap_with_its_length_and_digest_kept() -> None:
    report = "Status: complete\n" + "x" * 23_000_000
    raw = written(claim_body("x"), ruling_body(1, "x", report=report))
    assert max(map(len, raw.split(b"\n"))) <= LINE_BYTES
    kept = on(raw).read().entries[1]["report"]
    assert report.startswith(kept["text"])
    assert len(kept["text"]) == REPORT_BYTES - len('""') - len("n")  # an LF is written as \n
    assert kept["length"] == len(report)
    assert kept["digest"] == "sha256:" + hashlib.sha256(report.encode()).hexdigest()


def test_led_07_an_old_oversize_line_is_counted_and_reading_goes_on() -> None:
    old = b'{"claim":"x","report":"' + b"y" * 23_000_000 + b'"}'
    ledger = on(old + b"\n")
    added = ledger.append(claim_body())
    assert added["number"] == 2
    assert added["prev"] == hashlib.sha256(old).hexdigest()
    reading = ledger.read()
    assert reading.entries == (added,)
    assert [(one.line, one.offset, one.length, one.why) for one in reading.damaged] == [
        (1, 0, len(old), "oversize")
    ]
    assert ledger.state().pending[0].round == 2
    assert ledger.audit().unbroken


@pytest.mark.parametrize("character", ["a", "\x00", "\u00e9", "\U0001f600", '"'])
def test_what_is_left_of_a_report_is_its_longest_head_that_fits(character: str) -> None:
    size = len(canonical(character)) - 2
    for over in (-1, 0, 1):
        count = (REPORT_BYTES - 2) // size + over
        text, length, _ = cap_report(character * count)
        assert text == character * min(count, (REPORT_BYTES - 2) // size)
        assert length == len((character * count).encode())


def test_an_empty_report_is_a_report() -> None:
    assert cap_report("") == ("", 0, "sha256:" + hashlib.sha256(b"").hexdigest())


def test_lists_are_cut_to_whole_items_and_their_counts_tell() -> None:
    """PG-ENTRY-4."""
    changed = [{"change": "content", "path": f"src/{number:06}"} for number in range(20_000)]
    missing = ["m" * LIST_BYTES]
    raw = written(claim_body(), ruling_body(1, changed=changed, missing=missing, evidence=["e"]))
    ruling = on(raw).read().entries[1]
    kept = len(ruling["changed"])
    assert ruling["changed"] == changed[:kept]
    assert len(canonical(changed[:kept])) <= LIST_BYTES < len(canonical(changed[: kept + 1]))
    assert ruling["missing"] == []
    assert ruling["counts"] == {"changed": 20_000, "evidence": 1, "evidence_gaps": 0, "missing": 1}


def test_a_list_that_just_fits_is_not_cut() -> None:
    item = "m" * (LIST_BYTES - len('[""]'))
    raw = written(claim_body(), ruling_body(1, missing=[item], evidence=[item + "m"]))
    ruling = on(raw).read().entries[1]
    assert (ruling["missing"], ruling["evidence"]) == ([item], [])


def test_a_claim_that_leaves_its_ruling_no_room_is_refused_before_anything_is_verified() -> None:
    """PG-ENTRY-4, PG-CLI-5: and leaves no file behind."""
    longest = CLAIM_BYTES - len(written(claim_body("x"))) + 2
    for length in (longest + 1, CLAIM_BYTES):
        disk = StrictDisk()
        with pytest.raises(BadValue, match="fit into its line"):
            Ledger(RUN, disk).append(claim_body("x" * length))
        assert disk.strict_image() == {}


def test_the_ruling_on_the_longest_claim_with_all_at_its_cap_fits() -> None:
    longest = CLAIM_BYTES - len(written(claim_body("x"))) + 2
    long = ["e" * (LIST_BYTES // 2 - 10)] * 3
    gaps = [{"path": "p" * 1000, "why": "w" * 1000}] * 60
    raw = written(
        claim_body("x" * longest),
        ruling_body(
            10**15,
            "x" * longest,
            report="r" * LINE_BYTES,
            evidence=long,
            missing=long,
            evidence_gaps=gaps,
            changed=[{"change": "c" * 1000, "path": one["path"]} for one in gaps],
        ),
    )
    lengths = [len(line) for line in raw.splitlines()]
    assert lengths[0] == CLAIM_BYTES
    assert CLAIM_BYTES + REPORT_BYTES + 3 * LIST_BYTES < lengths[1] <= LINE_BYTES
    with pytest.raises(BadValue):
        written(claim_body("x" * (longest + 1)))


# --- what is read ---


def test_led_02_a_torn_line_is_closed_off_and_the_next_entry_stands_on_its_own() -> None:
    """PG-LEDGER-6."""
    raw = written(claim_body("one"), claim_body("two"))
    first = raw.index(b"\n") + 1
    ledger = on(raw[: first + 30])
    reading = ledger.read()
    assert reading.torn
    assert [(one.line, one.offset, one.length, one.why, one.ended) for one in reading.damaged] == [
        (2, first, 30, "not_json", False)
    ]
    added = ledger.append(claim_body("three"))
    assert added["number"] == 3
    assert added["prev"] == hashlib.sha256(raw[first : first + 30]).hexdigest()
    after = ledger.read()
    assert [one["claim"] for one in after.entries] == ["one", "three"]
    assert [(one.line, one.ended) for one in after.damaged] == [(2, True)]
    assert not after.torn
    assert ledger.audit().unbroken


def test_a_line_that_lacks_its_lf_alone_is_an_entry_before_and_after_it_is_closed_off() -> None:
    raw = written(claim_body("one"))
    ledger = on(raw[:-1])
    assert (len(ledger.read().entries), ledger.read().torn) == (1, True)
    assert ledger.append(claim_body("two"))["number"] == 2
    assert [one["claim"] for one in ledger.read().entries] == ["one", "two"]


def test_led_05_line_separators_inside_strings_end_no_line() -> None:
    separators = "line sep \u2028 \u2029 \u0085 \x0b \x0c \x1c"
    raw = written(*[claim_body(separators)] * 7)
    assert "\u2028".encode() in raw
    ledger = on(raw)
    assert [one["number"] for one in ledger.read().entries] == [1, 2, 3, 4, 5, 6, 7]
    assert ledger.read().damaged == ()
    assert ledger.append(claim_body())["number"] == 8
    assert ledger.state().pending[6].claim == separators


def test_a_mark_at_offset_0_and_crlf_are_read_and_never_written() -> None:
    """PG-READ-4."""
    raw = written(claim_body("one"), ruling_body(1, "one"))
    other = b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n")
    ledger = on(other)
    assert ledger.read().entries == on(raw).read().entries
    assert ledger.state() == on(raw).state()
    added = ledger.append(claim_body("two"))
    assert added["number"] == 3
    assert ledger.read().entries[2] == added
    after = Ledger.read(ledger)
    assert after.damaged == ()
    # The physical lines are others, and the chain says so.
    assert [(one.line, one.flaw) for one in ledger.audit().breaks] == [(2, "prev")]


def test_a_mark_counts_as_one_at_offset_0_alone() -> None:
    """PG-READ-4."""
    raw = written(claim_body("one"))
    ledger = on(raw + b"\xef\xbb\xbf" + raw)
    assert [(one.line, one.why) for one in ledger.read().damaged] == [(2, "not_json")]
    assert ledger.append(claim_body())["number"] == 3
    assert on(b"\xef\xbb\xbf" + raw).append(claim_body())["number"] == 2


OF_ANOTHER_FORM = [
    {"time": "2026-01-02T24:04:05Z"},
    {"time": "2026-13-02T03:04:05Z"},
    {"number": 0},
    {"claim_digest": "a" * 64},
    {"claim_digest": digest(b"another claim")},
    {"before": {"count": 1, "digest": "sha256:A"}},
    {"claim_number": 0},
    {"report": {"text": "", "length": 0, "digest": "-"}},
]


@pytest.mark.parametrize("changes", OF_ANOTHER_FORM)
def test_a_line_of_another_form_is_no_entry_though_its_hash_holds(changes: dict[str, Any]) -> None:
    """PG-READ-2, PG-ENTRY-1."""
    line = written(claim_body("a"), ruling_body(1, "a")).splitlines()[-1]
    bare = canonical({**json.loads(line), **changes, "hash": ""})
    right = hashlib.sha256(bare.replace(b',"hash":""', b"")).hexdigest()
    resealed = bare.replace(b'"hash":""', b'"hash":"%b"' % right.encode())
    assert sealed_at(resealed)
    (damage,) = on(resealed + b"\n").read().damaged
    assert damage.why == "not_an_entry"


def test_a_right_hash_makes_no_entry_of_what_none_is() -> None:
    """PG-READ-2, PG-READ-3."""

    def line(head: bytes, tail: bytes, end: bytes = b'"') -> bytes:
        right = hashlib.sha256(head[: -len(',"hash":"')] + tail).hexdigest()
        return head + right.encode() + end + tail

    mark = b',"format":"verdict-core/ledger/1","hash":"'
    head, tail = b'{"a":1' + mark, b',"z":1}'
    assert sealed_at(line(head, tail)) == len(head)
    assert sealed_at(line(head, tail, end=b"#")) == 0
    assert sealed_at(line(head, tail.ljust(2**20))) == 0
    # Nowhere does it say that a hash follows, where one would be looked for.
    assert sealed_at(line(b"y" * (len(mark) - 1), tail)) == 0


def test_each_kind_of_damage_is_located_and_breaks_nothing_else() -> None:
    """PG-READ-3."""
    raw = written(claim_body("one"))
    line = raw[:-1]
    others = [
        (b"", "blank"),
        (b'{"type": "round", "r', "not_json"),
        (b"\xff\xfe", "not_json"),
        (b'{"round": 1, "status": "complete"}', "not_an_entry"),
        (b"[1]", "not_an_entry"),
        (line.replace(b"ledger/1", b"ledger/2"), "not_an_entry"),
        (line.replace(b'"claim":', b'"claim": '), "not_an_entry"),
        (line.replace(b"one", b"two"), "hash"),
        (b" " * (LINE_BYTES + 1), "oversize"),
    ]
    torn = b"\n".join(damage for damage, _ in others)
    reading = on(raw + torn + b"\n" + raw).read()
    assert [one["claim"] for one in reading.entries] == ["one", "one"]
    assert [(one.line, one.why) for one in reading.damaged] == [
        (number, why) for number, (_, why) in enumerate(others, 2)
    ]
    assert all(
        torn[one.offset - len(raw) :].startswith(others[one.line - 2][0])
        and one.length == len(others[one.line - 2][0])
        for one in reading.damaged
    )


def test_a_missing_ledger_says_nothing() -> None:
    ledger = Ledger(RUN, StrictDisk({Path("/state/x"): b""}))
    assert (ledger.read().entries, ledger.read().damaged, ledger.read().torn) == ((), (), False)
    assert ledger.state() == State()
    assert ledger.audit().unbroken
    assert ledger.audit().lines == 0


@pytest.mark.parametrize("call", [Ledger.read, Ledger.audit, Ledger.state])
def test_a_ledger_that_cannot_be_read_is_a_fault_and_not_an_empty_one(
    call: Callable[[Ledger], object], tmp_path: Path
) -> None:
    """PG-READ-1."""
    ledger = Ledger(tmp_path)
    ledger.path.mkdir()
    fault = fault_of(lambda: call(ledger))
    assert (fault.code, fault.path) == ("ledger_unreadable", str(ledger.path))


def test_a_state_json_that_cannot_be_read_is_never_written_over(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.state_path.mkdir()
    assert fault_of(lambda: ledger.append(claim_body())).code == "append_failed"
    assert fault_of(ledger.audit).code == "ledger_unreadable"
    assert ledger.read().entries == ()


# --- numbers ---


def test_the_number_is_the_physical_line_whatever_lies_before_it() -> None:
    """PG-LEDGER-9."""
    raw = written(claim_body("one"))
    torn = [b"", b"\0" * 5000, b'{"a', b"x" * 100_000, raw[:-2]]
    assert on(raw + b"\n".join(torn)).append(claim_body())["number"] == 7
    assert on(b"\n".join(torn)).append(claim_body())["number"] == 6
    assert on(b"\n").append(claim_body())["number"] == 2
    assert on(b"x").append(claim_body())["number"] == 2
    assert on(b"").append(claim_body())["number"] == 1


def test_a_number_is_not_given_again_where_lines_were_taken_out_of_the_middle() -> None:
    lines = written(*[claim_body()] * 4).splitlines(keepends=True)
    assert on(b"".join([lines[0], *lines[2:]])).append(claim_body())["number"] == 5


def test_the_last_line_is_found_without_reading_the_ledger() -> None:
    class Counting(StrictDisk):
        read = 0

        def pread(self, fd: int, count: int, offset: int) -> bytes:
            self.read += count
            return super().pread(fd, count, offset)

    raw = written(*[claim_body()] * 200)
    disk = Counting({LEDGER: raw})
    ledger = Ledger(RUN, disk)
    ledger.append(claim_body())
    assert disk.read == 4096 < len(raw) // 10


# --- nothing is removed ---


def test_led_10_a_request_to_shrink_is_refused_and_every_rejected_round_stays() -> None:
    """PG-LEDGER-10."""
    ledger = Ledger(RUN, StrictDisk())
    for number in range(1, 11, 2):
        ledger.append(claim_body("c"))
        ledger.append(ruling_body(number, "c", outcome="evidence"))
    before = ledger.read()
    fault = fault_of(ledger.shrink)
    assert (fault.code, fault.path) == ("append_only", str(LEDGER))
    assert "no operation removes an entry" in fault.message
    assert ledger.read() == before
    assert len(ledger.state().rejected_rounds) == 5


def test_a_ledger_can_do_no_more_than_this() -> None:
    """PG-LEDGER-10: no other name is offered."""
    names = [name for name in dir(Ledger) if not name.startswith("_")]
    assert names == ["append", "audit", "read", "shrink", "state"]


def test_what_was_written_stays_byte_for_byte(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    before = b""
    for number in range(1, 5):
        ledger.append(claim_body(str(number)))
        after = ledger.path.read_bytes()
        assert after.startswith(before)
        before = after


# --- faults ---


def test_an_append_that_the_disk_refuses_names_the_file_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    ledger = Ledger(tmp_path / "file" / "run")
    fault = fault_of(lambda: ledger.append(claim_body()))
    assert (fault.code, fault.path, fault.exit_status) == ("append_failed", str(ledger.path), 3)
    assert "Not a directory" in fault.message


def test_a_fault_before_anything_was_written_does_not_poison() -> None:
    class Busy(StrictDisk):
        busy = True

        def lock(self, fd: int) -> None:
            if self.busy:
                raise OSError(37, "No locks available")

    disk = Busy()
    ledger = Ledger(RUN, disk)
    assert fault_of(lambda: ledger.append(claim_body())).code == "append_failed"
    disk.busy = False
    assert ledger.append(claim_body())["number"] == 1


def test_a_poisoned_handle_still_reads() -> None:
    disk = StrictDisk(fail_sync_at=1)
    ledger = Ledger(RUN, disk)
    first = ledger.append(claim_body())
    assert fault_of(lambda: ledger.append(claim_body())).code == "append_failed"
    assert fault_of(lambda: ledger.append(claim_body())).code == "ledger_poisoned"
    assert ledger.read().entries[0] == first


def test_a_short_write_is_told_with_how_much_of_it_there_is() -> None:
    """PG-LEDGER-7."""

    class Short(StrictDisk):
        def write(self, fd: int, data: bytes) -> int:
            return super().write(fd, data[:10])

    fault = fault_of(lambda: Ledger(RUN, Short()).append(claim_body()))
    assert fault.code == "append_failed"
    assert re.fullmatch(r"\[Errno 5\] 10 of \d{3} bytes were written", fault.message)


def test_an_append_is_acknowledged_where_state_json_cannot_be_written() -> None:
    class NoRoom(StrictDisk):
        def write(self, fd: int, data: bytes) -> int:
            return super().write(fd, data[:10] if data.startswith(b'{"digest"') else data)

    disk = NoRoom()
    ledger = Ledger(RUN, disk)
    assert [ledger.append(claim_body())["number"] for _ in range(3)] == [1, 2, 3]
    assert not disk.calls.count("replace")
    assert [one.round for one in ledger.state().pending] == [1, 2, 3]


def test_threads_share_one_handle(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    threads = [
        threading.Thread(target=lambda: [ledger.append(claim_body()) for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one["number"] for one in ledger.read().entries] == list(range(1, 81))
    assert ledger.audit().unbroken


@pytest.mark.parametrize("first", [b"x\n", b"\n", b"xy\n", b"x", b"\n\n"])
def test_what_stands_first_is_a_line_however_short(first: bytes) -> None:
    """PG-LEDGER-3."""
    entry = on(first).append(claim_body())
    line = first.removesuffix(b"\n").rpartition(b"\n")[2]
    assert entry["number"] == 1 + len(first.splitlines())
    assert entry["prev"] == hashlib.sha256(line).hexdigest()


def test_the_only_line_is_an_entry_behind_a_mark_too() -> None:
    """PG-READ-4, PG-STATE-1: what comes next adds to what it says."""
    ledger = on(b"\xef\xbb\xbf" + written(claim_body("first")))
    ledger.append(claim_body("second"))
    assert [one.claim for one in ledger.state().pending] == ["first", "second"]


# --- state.json ---


def test_led_08_a_state_json_of_zeros_is_rebuilt_from_the_ledger() -> None:
    disk = StrictDisk()
    ledger = Ledger(RUN, disk)
    for number in (1, 3):
        ledger.append(claim_body())
        ledger.append(ruling_body(number))
    whole = disk.moments[-1].now[STATE][1]
    raw = disk.strict_image()[LEDGER]
    for torn in (bytes(len(whole)), b"", whole[:-1], whole.replace(b"1", b"3", 1), b"{}"):
        disk = StrictDisk({LEDGER: raw, STATE: torn})
        state = Ledger(RUN, disk).state()
        assert state.verified_rounds == (1, 3)
        assert disk.moments[-1].now[STATE][1] == whole
        assert disk.calls[-3:] == ["open", "write", "replace"]


def test_state_json_names_the_last_line_that_it_covers(tmp_path: Path) -> None:
    """PG-STATE-3."""
    ledger = Ledger(tmp_path)
    ledger.append(claim_body())
    last = ledger.append(ruling_body(1))
    said = json.loads(ledger.state_path.read_bytes())
    assert (said["number"], said["hash"]) == (2, last["hash"])
    assert ledger.state_path.read_bytes() == rfc8785.dumps(said)
    assert restored(ledger.state_path.read_bytes()) == ledger.state()


def test_a_missing_state_json_and_one_that_is_behind_are_caught_up_with(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    behind = []
    for number in (1, 3, 5):
        ledger.append(claim_body(str(number)))
        ledger.append(ruling_body(number, str(number), outcome="evidence", missing=["tests"]))
        behind.append(ledger.state_path.read_bytes())
    state = ledger.state()
    assert state.rejected_rounds == (1, 3, 5)
    for old in behind:
        ledger.state_path.write_bytes(old)
        assert Ledger(tmp_path).state() == state
        assert ledger.state_path.read_bytes() == behind[-1]
    ledger.state_path.unlink()
    added = Ledger(tmp_path).append(claim_body("7"))
    assert restored(ledger.state_path.read_bytes()) == Ledger(tmp_path).state()
    assert Ledger(tmp_path).state().number == added["number"] == 7


def test_a_current_state_json_is_read_and_the_ledger_is_not() -> None:
    class Counting(StrictDisk):
        opened: list[str]

        def reader(self, path: Path) -> Any:
            self.opened.append(path.name)
            return super().reader(path)

    disk = StrictDisk()
    ledger = Ledger(RUN, disk)
    ledger.append(claim_body())
    counting = Counting({path: data for path, (_, data) in disk.moments[-1].now.items()})
    counting.opened = []
    assert Ledger(RUN, counting).state() == ledger.state()
    assert counting.opened == ["state.json"]


def test_a_state_json_that_covers_no_entry_is_no_sign_of_a_cut() -> None:
    disk = StrictDisk({LEDGER: b"damage\n"})
    assert Ledger(RUN, disk).state() == State()
    files = {path: data for path, (_, data) in disk.moments[-1].now.items()}
    assert STATE in files
    raw = b"damage\n" + written(claim_body())
    assert [one.round for one in on(raw, files[STATE]).state().pending] == [1]


@pytest.mark.parametrize("left", [None, 0, 1, 2])
def test_a_ledger_that_was_cut_is_told_and_nothing_is_written_over_the_evidence(
    left: int | None, tmp_path: Path
) -> None:
    """PG-STATE-7."""
    ledger = Ledger(tmp_path)
    for number in (1, 3):
        ledger.append(claim_body("c"))
        ledger.append(ruling_body(number, "c", outcome="evidence"))
    evidence = ledger.state_path.read_bytes()
    if left is None:
        ledger.path.unlink()
    else:
        lines = ledger.path.read_bytes().splitlines(keepends=True)
        ledger.path.write_bytes(b"".join(lines[:left]))
    after = Ledger(tmp_path)
    assert fault_of(after.state).code == "ledger_cut"
    fault = fault_of(lambda: after.append(claim_body()))
    assert fault.code == "ledger_cut"
    assert "moved state.json away" in fault.message
    assert [(one.line, one.flaw) for one in after.audit().breaks] == [(4, "cut")]
    assert ledger.state_path.read_bytes() == evidence
    assert len(after.read().entries) == (left or 0)
    ledger.state_path.rename(tmp_path / "evidence.json")
    assert after.append(claim_body())["number"] == (left or 0) + 1


def test_another_entry_in_the_place_of_the_covered_one_is_a_cut() -> None:
    disk = StrictDisk()
    Ledger(RUN, disk).append(claim_body("one"))
    saved = disk.moments[-1].now[STATE][1]
    ledger = on(written(claim_body("other"), claim_body("more")), saved)
    assert fault_of(ledger.state).code == "ledger_cut"
    assert fault_of(lambda: ledger.append(claim_body())).code == "ledger_cut"
    assert [(one.line, one.flaw) for one in ledger.audit().breaks] == [(1, "cut")]


def test_a_covered_line_that_names_the_hash_and_was_altered_is_a_cut() -> None:
    disk = StrictDisk()
    Ledger(RUN, disk).append(claim_body("one"))
    saved = disk.moments[-1].now[STATE][1]
    raw = disk.strict_image()[LEDGER].replace(b'"one"', b'"two"')
    assert fault_of(on(raw, saved).state).code == "ledger_cut"


def test_a_state_that_another_process_wrote_meanwhile_is_taken(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path), Ledger(tmp_path)
    one.append(claim_body("a"))
    other.append(claim_body("b"))
    one.append(ruling_body(2, "b"))
    assert other.state() == one.state()
    assert [one.round for one in other.state().pending] == [1]
    assert other.state().verified_rounds == (2,)


# --- audit ---


def breaks(ledger: Ledger) -> list[tuple[int, str]]:
    return [(one.line, one.flaw) for one in ledger.audit().breaks]


def test_an_audit_counts_what_it_read() -> None:
    raw = written(*[claim_body()] * 3)
    audit = on(raw[:-5]).audit()
    assert (audit.lines, audit.entries, audit.torn, audit.unbroken) == (3, 2, True, True)
    assert [one.line for one in audit.damaged] == [3]


def test_lines_that_were_removed_swapped_or_doubled_break_the_chain() -> None:
    one, two, three, four = written(*map(claim_body, "abcd")).splitlines(keepends=True)
    assert breaks(on(two + three + four)) == [(1, "prev"), (1, "number")]
    assert breaks(on(one + three + four)) == [(2, "prev"), (2, "number")]
    assert breaks(on(one + two + two + three)) == [(3, "prev"), (3, "number")]
    assert breaks(on(one + three + two + four)) == [
        (2, "prev"),
        (2, "number"),
        (3, "prev"),
        (3, "number"),
        (4, "prev"),
        (4, "number"),
    ]


def test_an_altered_line_is_named_and_not_the_one_after_it() -> None:
    one, two, three = written(*map(claim_body, "abc")).splitlines(keepends=True)
    altered = two.replace(b'"b"', b'"B"')
    assert breaks(on(one + altered + three)) == [(2, "altered")]
    assert breaks(on(one + altered)) == [(2, "altered")]
    assert breaks(on(one + two[:-9] + b"\n" + three)) == [(2, "altered")]


def test_an_altered_last_line_stays_altered_when_an_entry_is_chained_to_it() -> None:
    """PG-AUDIT-4."""
    raw = written(claim_body("a")).replace(b'"a"', b'"A"')
    ledger = on(raw)
    ledger.append(claim_body("b"))
    assert breaks(ledger) == [(1, "altered")]


def test_a_damaged_last_line_that_has_its_lf_was_no_torn_append() -> None:
    """PG-AUDIT-4."""
    raw = written(claim_body("a"), claim_body("b"))
    assert breaks(on(raw[:-20] + b"\n")) == [(2, "altered")]
    assert breaks(on(raw[:-20])) == []
    assert breaks(on(raw[:-1] + b"\x0b")) == [(2, "altered")]
    assert breaks(on(raw[:-1] + b"\0")) == []


def test_what_is_left_of_a_torn_line_vouches_for_the_one_before_it() -> None:
    raw = written(claim_body("a"), claim_body("b"))
    ledger = on(raw[: raw.index(b"\n") + 30])
    disk = ledger._disk
    assert isinstance(disk, StrictDisk)
    ledger.append(claim_body("c"))
    data = disk.strict_image()[LEDGER]
    whole = data.index(b'"run"', data.rindex(b"\n", 0, -1))
    again = on(data[:whole])
    again.append(claim_body("d"))
    assert again.audit().unbroken
    assert [one.line for one in again.audit().damaged] == [2, 3]
    # Where that much is not left, nothing can tell a torn line from one that was altered later.
    again = on(data[: whole - 10])
    again.append(claim_body("d"))
    assert breaks(again) == [(2, "altered")]


def test_an_entry_by_another_hand_with_a_right_hash_is_no_entry() -> None:
    good = written(claim_body())
    draft = {"kind": "claim", "claim": "x", "before": None}
    raw = chained({**draft, "fingerprinted": "src"})
    assert sealed_at(raw[:-1])
    assert [one.why for one in on(raw + good).read().damaged] == ["not_an_entry"]
    ledger = on(raw)
    ledger.append(claim_body())
    assert breaks(ledger) == [(1, "altered")]
    assert [one.round for one in ledger.state().pending] == [2]


def test_a_time_that_is_not_rfc_3339_in_utc_makes_no_entry() -> None:
    good = entry(written(claim_body())[:-1])
    draft = {key: good[key] for key in good if key not in ("hash", "format")}
    for time in ("yesterday", "2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00Z\n"):
        other = sealed(
            draft,
            number=1,
            time=time,
            run="s-a",
            prev=ZEROS,
        )
        assert [one.why for one in on(canonical(other)).read().damaged] == ["not_an_entry"]


# --- runs ---


@pytest.mark.parametrize(
    ("session", "run"),
    [
        ("a", "s-a"),
        ("0190f-3e.x_y", "s-0190f-3e.x_y"),
        ("a" * 64, "s-" + "a" * 64),
        ("a" * 65, "x-635361c48bb9eab14198e76ea8ab7f1a"),
        ("A", "x-559aead08264d5795d3909718cdd05ab"),
        ("a\n", "x-87428fc522803d31065e7bce3cf03fe4"),
        ("../etc", "x-" + hashlib.sha256(b"../etc").hexdigest()[:32]),
        (".a", "x-" + hashlib.sha256(b".a").hexdigest()[:32]),
        ("\u0661", "x-" + hashlib.sha256("\u0661".encode()).hexdigest()[:32]),
        ("\udcff", "x-" + hashlib.sha256(b"\xed\xb3\xbf").hexdigest()[:32]),
    ],
)
def test_a_session_names_its_run(session: str, run: str) -> None:
    """PG-RUN-1."""
    assert run_id(session, Path("/")) == run


@pytest.mark.parametrize("session", [None, ""])
def test_without_a_session_the_real_working_directory_names_the_run(
    session: str | None, tmp_path: Path
) -> None:
    """PG-RUN-1."""
    real = tmp_path / "caf\u00e9"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    expected = "d-" + hashlib.sha256(os.fsencode(real.resolve())).hexdigest()[:32]
    assert run_id(session, tmp_path / "link") == expected == run_id(session, real)


def test_a_run_lies_below_the_state_directory() -> None:
    """PG-RUN-2."""
    assert run_directory(Path("/state"), "s-a") == RUN


@pytest.mark.parametrize("number", [1, 3])
def test_a_state_that_names_another_number_for_a_hash_tells_of_a_cut(
    tmp_path: Path, number: int
) -> None:
    """PG-STATE-7: number and hash are one name; either of them alone proves nothing."""
    ledger = Ledger(tmp_path / "run")
    ledger.append(claim_body())
    second = ledger.append(claim_body())
    saved = attrs.evolve(ledger.state(), number=number)
    assert saved.hash == second["hash"]
    ledger.state_path.write_bytes(rendered(saved))
    assert [one.flaw for one in ledger.audit().breaks] == ["cut"]
