"""What a todo list says is open, and what of it is in doubt. (SPEC RD-TODO)"""

from typing import Any

import pytest

from verdict_core.errors import BadValue
from verdict_core.readers.reading import NO_TEXT
from verdict_core.readers.todo_status import (
    KNOWN_OPEN,
    SETTLED,
    Todo,
    TodoList,
    doubt_of,
    first_text,
    is_settled,
    item,
    read_todo,
    read_todos,
)


def refusal(value: object, path: str = "$") -> tuple[str, str]:
    with pytest.raises(BadValue) as caught:
        read_todos(value, path)
    return caught.value.code, caught.value.path


def test_todo_01_blocked_counts_and_deleted_cancelled_and_completed_do_not() -> None:
    statuses = ["blocked", "deleted", "cancelled", "completed"]
    todos = [{"id": str(n), "status": status} for n, status in enumerate(statuses, 1)]
    found = read_todos(todos)
    assert [todo.id for todo in found.todos if todo.open] == ["1"]
    assert found.unlanded == (NO_TEXT,)
    assert found.doubts == ()


def test_todo_04_a_list_as_a_string_is_decoded_once() -> None:
    """RD-TODO-2."""
    found = read_todos('[{"id":"1","content":"a","status":"pending"}]')
    assert found == TodoList((Todo("a", "1", open=True),), encoded=True)
    assert found.unlanded == ("a",)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("not json", "$"),
        ([1, 2], "$[0]"),
        ("[1,2]", "$[0]"),
        ({"todos": []}, "$"),
        ('{"todos":[]}', "$"),
        ('"[]"', "$"),
        ("", "$"),
        ('[{"id":1,"id":2}]', "$"),
        ('["\\ud83d"]', "$"),
        ('["\ud83d"]', "$"),
        ("[NaN]", "$"),
        ("[" * 1000, "$"),
        (None, "$"),
        (3, "$"),
        ([{"content": "a"}, None], "$[1]"),
        ([["a"]], "$[0]"),
    ],
)
def test_todo_04_an_unreadable_list_is_refused_and_never_empty(value: object, path: str) -> None:
    """RD-TODO-2, RD-TODO-3."""
    assert refusal(value) == ("bad_todos", path)


def test_a_refusal_names_the_place_in_what_holds_the_list() -> None:
    assert refusal([7], "$.input.todos") == ("bad_todos", "$.input.todos[0]")


def test_todo_07_what_no_table_settles_is_open_and_named() -> None:
    """RD-TODO-1."""
    todos: list[dict[str, Any]] = [
        {"id": "1", "status": "Done"},
        {"id": "2", "status": "complete"},
        {"id": "3", "status": "won't do"},
        {"id": "4"},
        {"id": "5", "status": None},
        {"id": "6", "state": "completed"},
    ]
    found = read_todos(todos)
    assert [todo.id for todo in found.todos if todo.open] == ["3", "4", "5", "6"]
    assert [todo.id for todo in found.todos if not todo.open] == ["1", "2"]
    assert found.doubts == (
        "unknown_status:3",
        "missing_status:4",
        "null_status:5",
        "renamed_field:6",
    )
    assert len(found.unlanded) == 4


@pytest.mark.parametrize("word", sorted(SETTLED))
def test_a_settled_word_settles_in_any_case_and_spacing(word: str) -> None:
    """RD-TODO-1."""
    for spelling in (word, word.upper(), f" {word.title()} "):
        assert is_settled(spelling)
        assert doubt_of(spelling) is None
        assert not read_todo({"content": "x", "status": spelling}, 1).open


@pytest.mark.parametrize("word", sorted(KNOWN_OPEN))
def test_a_known_open_word_is_open_without_doubt(word: str) -> None:
    for spelling in (word, word.replace("_", "-"), word.replace("_", " ").upper()):
        assert read_todo({"content": "x", "status": spelling}, 1) == Todo("x", "1", open=True)


def test_the_two_tables_have_no_word_in_common() -> None:
    assert SETTLED.isdisjoint(KNOWN_OPEN)


@pytest.mark.parametrize(
    "status", ["", "won't do", "not done", "done?", "undone", "未完成", 1, True, ["done"], {}]
)
def test_any_other_status_is_open_and_unknown(status: object) -> None:
    found = read_todo({"content": "x", "status": status}, 1)
    assert found == Todo("x", "1", open=True, doubt="unknown_status")


def test_a_plain_string_is_an_open_todo() -> None:
    """RD-TODO-4."""
    assert read_todos(["a", " "]).todos == (
        Todo("a", "1", open=True),
        Todo(NO_TEXT, "2", open=True),
    )


def test_a_todo_without_an_id_is_named_by_its_place() -> None:
    todos = [{"content": "a"}, {"content": "b", "id": 7}, {"content": "c", "id": ""}]
    assert [todo.id for todo in read_todos(todos).todos] == ["1", "7", "3"]


@pytest.mark.parametrize("key", ["content", "subject", "step", "title", "description", "text"])
def test_the_words_stand_under_the_key_of_any_harness(key: str) -> None:
    assert read_todo({key: " keep  as is\n", "status": "pending"}, 1).text == " keep  as is\n"


def test_the_first_key_with_words_gives_them() -> None:
    value = {"content": " ", "subject": None, "title": "t", "description": "d"}
    assert read_todo(value, 1).text == "t"
    assert first_text(value, ("description", "title")) == "d"
    assert first_text(value, ("content", "missing")) == NO_TEXT


@pytest.mark.parametrize("value", [None, 3, [], "", " \n", "\u3000"])
def test_an_item_without_text_says_so(value: object) -> None:
    assert item(value) == NO_TEXT


def test_an_item_is_verbatim_but_for_lone_surrogates() -> None:
    assert item(" a\r\n\ud83d\U0001f600\u202e ") == " a\r\n\ufffd\U0001f600\u202e "


def test_an_empty_list_is_an_empty_list() -> None:
    assert read_todos([]) == TodoList(())
    assert read_todos("[]") == TodoList((), encoded=True)
