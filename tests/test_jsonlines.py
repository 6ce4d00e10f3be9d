"""A record's bytes as objects: what is read, what is damage, and where. (SPEC RD-LINE)"""

import io
import json
import math

import pytest

from verdict_core.readers.jsonlines import Damage, Lines, scalar

MARK = b"\xef\xbb\xbf"


def read(data: bytes) -> tuple[list[dict[str, object]], Lines]:
    lines = Lines()
    return list(lines.objects(io.BytesIO(data))), lines


def clean(data: bytes) -> list[dict[str, object]]:
    """The objects of a record without damage."""
    found, lines = read(data)
    assert lines.damaged == []
    return found


def damage(data: bytes) -> tuple[list[dict[str, object]], list[tuple[int, int]]]:
    found, lines = read(data)
    return found, [(one.line, one.offset) for one in lines.damaged]


def test_a_line_is_an_object() -> None:
    assert clean(b'{"a":1}\n{"b":[2]}\n') == [{"a": 1}, {"b": [2]}]


def test_the_last_line_needs_no_line_feed() -> None:
    assert clean(b'{"a":1}\n{"b":2}') == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x7f", "\u00a0"])
def test_only_the_byte_0a_ends_a_line(separator: str) -> None:
    text = f"one{separator}two"
    assert clean(json.dumps({"a": text}, ensure_ascii=False).encode() + b"\n") == [{"a": text}]


@pytest.mark.parametrize("control", [b"\x0b", b"\x0c", b"\x1e", b"\r"])
def test_another_control_byte_ends_no_line(control: bytes) -> None:
    """RD-LINE-1."""
    assert damage(b'{"a":1}' + control + b'{"b":2}x\n')[1] != []
    assert read(b'{"a":1}' + control + b'{"b":2}x\n')[1].count == 1


def test_marks_carriage_returns_and_nuls_are_taken_off() -> None:
    """RD-LINE-1."""
    assert clean(MARK + b'{"a":1}\r\n\0\0{"b":2}\0\0\n' + MARK + b'{"c":3}\n') == [
        {"a": 1},
        {"b": 2},
        {"c": 3},
    ]


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \t\n", b"\0\0\0\n", MARK, b""])
def test_a_line_of_nothing_is_nothing(blank: bytes) -> None:
    found, lines = read(b'{"a":1}\n' + blank + b'{"b":2}\n' if blank else b"")
    assert lines.damaged == []
    assert found == ([{"a": 1}, {"b": 2}] if blank else [])


@pytest.mark.parametrize("between", [b"", b" ", b"\r", b"\0\0\0", MARK, b" \0 \r"])
def test_objects_joined_on_one_line_are_all_read(between: bytes) -> None:
    """RD-LINE-2."""
    found, lines = read(b'{"x":0}\n{"a":1}' + between + b'{"b":2}' + between + b'{"c":3}\n')
    assert found == [{"x": 0}, {"a": 1}, {"b": 2}, {"c": 3}]
    assert lines.joined == [2]
    assert lines.damaged == []


def test_a_torn_last_line_is_counted_with_its_place() -> None:
    """RD-LINE-3."""
    assert damage(b'{"a":1}\n{"b":2}\n{"c":"thr') == ([{"a": 1}, {"b": 2}], [(3, 16)])


def test_damage_does_not_end_the_reading() -> None:
    assert damage(b'{"a":1}\n{"b":\n{"c":3}\n') == ([{"a": 1}, {"c": 3}], [(2, 8)])


def test_what_is_left_behind_whole_objects_is_damage() -> None:
    found, places = damage('{"a":"é"} {"b":2}{"c":'.encode() + b"\n")
    assert found == [{"a": "é"}, {"b": 2}]
    assert places == [(1, len('{"a":"é"} {"b":2}'.encode()))]


def test_nothing_behind_damage_is_guessed() -> None:
    assert damage(b'{"a":"torn{"b":2}\n') == ([], [(1, 0)])


@pytest.mark.parametrize("rest", [b"}", b"]}", b',"u":1}', b":1}", b" ]", b"\r}"])
def test_a_part_of_a_row_without_its_head_is_no_row(rest: bytes) -> None:
    """RD-LINE-3."""
    assert damage(b'{"type":"user"}' + rest + b"\n") == ([], [(1, 0)])


@pytest.mark.parametrize("value", [b"42", b'"text"', b"[1]", b"null", b"true", b"[{}]"])
def test_a_value_that_is_no_object_is_damage(value: bytes) -> None:
    """RD-LINE-3."""
    assert damage(b"{}\n" + value + b"\n{}\n") == ([{}, {}], [(2, 3)])
    assert damage(b"{}" + value + b"\n") == ([{}], [(1, 2)])


def test_nuls_in_an_object_damage_it_and_not_its_neighbours() -> None:
    found, places = damage(b'{"a":1}\n{"b":"x\0\0\0{"c":3}\n{"d":4}\n')
    assert found == [{"a": 1}, {"c": 3}, {"d": 4}]
    assert places == [(2, 8)]


def test_a_line_is_damaged_once_however_many_pieces_are() -> None:
    found, places = damage(b'{"b":"x\0{"c":3}\0"y"\0oops\n')
    assert found == [{"c": 3}]
    assert places == [(1, 0)]


def test_bytes_that_are_no_utf8_are_damage_behind_what_is_whole() -> None:
    assert damage(b'{"a":1}{"b":2}\xff\n') == ([{"a": 1}, {"b": 2}], [(1, 14)])
    assert damage(b'{"a":1}{"b":"\xff"}\n') == ([{"a": 1}], [(1, 7)])
    assert damage(b'{"a":"\xed\xa0\x80"}\n') == ([], [(1, 0)])


def test_numbers_and_keys_that_a_payload_may_not_have_lose_no_row() -> None:
    found = clean(b'{"n":NaN,"i":-Infinity,"e":1e999,"a":1,"a":2}\n')
    assert repr(found[0].pop("n")) == "nan"
    assert found == [{"i": -math.inf, "e": math.inf, "a": 2}]


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (rb"\ud83d", "\ufffd"),
        (rb"\ude00x", "\ufffdx"),
        (rb"\uD83D\uD83D", "\ufffd\ufffd"),
        (rb"\ud83d\ude00\ud83d", "\U0001f600\ufffd"),
    ],
)
def test_a_lone_surrogate_is_replaced_and_the_row_is_kept(escaped: bytes, text: str) -> None:
    """RD-LINE-5."""
    found, lines = read(b'{}\n{"a":["' + escaped + b'"],"' + escaped + b'":1}\n')
    assert found == [{}, {"a": [text], text: 1}]
    assert lines.mended == [2]
    assert lines.damaged == []


@pytest.mark.parametrize("same", [rb"\ud83d\ude00", rb"\\ud83d"])
def test_what_is_no_lone_surrogate_is_left_alone(same: bytes) -> None:
    # Joined, so that the lenient parser reads it.
    found, lines = read(b'{"a":"' + same + b'"}{"b":1}\n')
    assert found == [json.loads(b'{"a":"' + same + b'"}'), {"b": 1}]
    assert lines.mended == []


def test_scalar_replaces_surrogates_alone() -> None:
    assert scalar("a\ud800b\udfffc\U0001f600\ue000") == "a\ufffdb\ufffdc\U0001f600\ue000"


@pytest.mark.parametrize("bomb", [b"[" * 200_000, b'{"a":' * 200_000])
def test_a_depth_bomb_is_damage_and_no_crash(bomb: bytes) -> None:
    assert damage(b"{}\n" + bomb + b"\n{}\n") == ([{}, {}], [(2, 3)])


def test_a_row_deeper_than_a_payload_may_be_is_read() -> None:
    data = b'{"a":' * 300 + b"1" + b"}" * 300 + b"\n"
    assert clean(data) == [json.loads(data)]


def test_a_number_too_long_to_convert_is_damage() -> None:
    assert damage(b'{"a":' + b"9" * 5000 + b"}\n{}\n") == ([{}], [(1, 0)])


def test_skipped_lines_are_counted() -> None:
    lines = Lines()
    lines.skip(1, len(b'{"long":1}\n'))
    assert lines.read(b"oops\n") == []
    assert lines.damaged == [Damage(line=2, offset=11)]
    assert (lines.count, lines.offset) == (2, 16)


def test_however_a_record_is_cut_whole_rows_stay_and_no_row_is_made_up() -> None:
    rows = [{"a": "é\n\\"}, {"b": [1, {"c": None}]}, {"d": "}{"}]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    ends = [i for i in range(len(data) + 1) if data[:i].endswith(b"}\n")]
    for cut in range(len(data) + 1):
        found, lines = read(data[:cut])
        whole = sum(1 for end in ends if end <= cut + 1)
        assert found == rows[:whole]
        assert len(lines.damaged) == (cut not in ends and cut + 1 not in ends and cut > 0)


def test_however_a_row_is_torn_before_the_next_one_nothing_is_made_up() -> None:
    row = json.dumps({"type": "a", "message": {"b": [{"c": "x"}]}, "u": 1}).encode()
    later = b'{"later":1}'
    for cut in range(1, len(row)):
        found, lines = read(row[:cut] + later + b"\n" + later + b"\n")
        assert found == [{"later": 1}]
        assert lines.damaged == [Damage(1, 0)]
