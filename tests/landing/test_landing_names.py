"""Names of runs in refs and paths. (SPEC LD-NAME)"""

import itertools
from pathlib import Path
from typing import Any

import pytest
from gitrepo import new_repo
from hypothesis import example, given
from hypothesis import strategies as st

from verdict_core import BadValue, WrongType
from verdict_core.landing import Landing
from verdict_core.landing.names import name_of, run_of

pytestmark = pytest.mark.usefixtures("own_home")

# Ids as run_id makes them, those that git refuses among them, and any other text.
plain_ids = st.from_regex(r"\A[sdx]-[a-z0-9][a-z0-9._-]{0,20}\Z")
dotted_ids = st.lists(st.sampled_from([".", "lock", "a", "%2e", "-", "A", "\xe9"]), min_size=1).map(
    "".join
)
ids = plain_ids | dotted_ids | st.text(min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("s-1", "s-1"),
        ("s-v1.2_a-b", "s-v1.2_a-b"),
        ("s-a..b", "s-a.%2eb"),
        ("s-a...", "s-a.%2e%2e"),
        ("s-a.", "s-a%2e"),
        ("s-a.lock", "s-a%2elock"),
        ("s-a.locks", "s-a.locks"),
        (".a", "%2ea"),
        ("s-A%/\n", "s-%41%25%2f%0a"),
        ("..", "%2e%2e"),
    ],
)
def test_a_run_has_the_name_of_its_id_where_git_takes_it(run: str, name: str) -> None:
    """LD-NAME-1."""
    assert name_of(run) == name
    assert run_of(name) == run


@given(ids)
@example("a..b")
@example("a.lock")
@example("%2e")
def test_every_name_is_one_component_and_leads_back_to_its_run(run: str) -> None:
    """LD-NAME-1: so no two runs have one name, in any case of letters."""
    name = name_of(run)
    assert run_of(name) == run
    assert name == name.lower()
    assert "/" not in name
    assert name not in (".", "..")


def test_git_accepts_every_name(tmp_path: Path) -> None:
    """LD-NAME-1: asked of git itself, for all short ids of the letters that matter."""
    repo = new_repo(tmp_path / "repo")
    repo.commit(a="a")
    head = repo.git("rev-parse", "HEAD").decode().strip()
    letters = [".", "a", "lock", "-", "%", "@{", "~", "\\"]
    some = {"".join(three) for three in itertools.product(letters, repeat=3)}
    refs = {f"refs/verdict-core/{name_of(run)}/1" for run in some}
    lines = "".join(f"create {ref} {head}\n" for ref in refs)
    repo.git("update-ref", "--stdin", input=lines.encode())
    listed = repo.git("for-each-ref", "--format=%(refname)", "refs/verdict-core/")
    assert set(listed.decode().splitlines()) == refs
    assert len(refs) == len(some) == 512


@pytest.mark.parametrize("name", ["%2", "%2E", "A", "a..b", "%61", "%ff", "", "a.lock"])
def test_what_is_the_name_of_no_run_is_told(name: str) -> None:
    assert run_of(name) is None


def test_a_run_without_a_name_is_refused(tmp_path: Path) -> None:
    bad: Any = 7
    for run, error in (("", BadValue), (bad, WrongType), ("\ud800", BadValue)):
        with pytest.raises(error) as caught:
            Landing(tmp_path, run)
        assert caught.value.path == "run"
