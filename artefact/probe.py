"""Each forbidden thing, injected into the package that is installed; run by its Python, alone.

In: nothing. Out: a line for each thing that was refused, and status 0; or what was let through, and
status 1. A gate that has been removed looks like a gate that found nothing, so each is tried.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

import verdict_core as vc

NAMES = """
block blocks blockId blockIds blockIndex blockIndices perBlock perMessage messageIds perTurn turnIds
perChunk chunkIds segments select selected selection pick picks filter screen drop dropped droppable
discard prune evict remove keep retain rank ranking importance relevance salience
"""
EMPTY: dict[str, Any] = {
    "session": "s", "todos": [], "uncommitted": [], "questions": [], "decisions": [],
    "next_steps": [], "unknown": [],
}  # fmt: skip


def command(*arguments: str, stdin: Any = None, cwd: str | None = None) -> tuple[int, Any]:
    done = subprocess.run(
        [sys.executable, "-I", "-m", "verdict_core", *arguments, "--json"]
        if "--" not in arguments
        else [sys.executable, "-I", "-m", "verdict_core", *arguments],
        input=json.dumps(stdin).encode(), capture_output=True, check=False, cwd=cwd,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout)


def raised(error: type[Exception], run: Callable[[], object]) -> bool:
    try:
        run()
    except error:
        return True
    return False


def forbidden_names() -> Iterator[tuple[str, bool]]:
    for name in NAMES.split():
        deep: Any = {"outer": {"inner": [{name: 1}]}}
        path = ""
        try:
            vc.refuse_forbidden(deep)
        except vc.ForbiddenKey as error:
            path = error.path
        yield f"the name {name}, three levels down", path == f"$.outer.inner[0].{name}"
    status, answer = command("build", "--summary", "-", stdin={**EMPTY, "per_block": []})
    yield (
        "a name in a summary, on the command line",
        status == 3 and (answer["refused"]["code"] == "forbidden_key"),
    )
    yield "there are 35 names", len(set(vc.FORBIDDEN_KEYS)) == len(NAMES.split()) == 35


def states() -> Iterator[tuple[str, bool]]:
    summary = vc.Summary(**{**EMPTY, "todos": ["a"]})
    state = vc.build(summary)
    other = vc.build(vc.Summary(**EMPTY))
    yield "a state of another summary", raised(vc.UnboundState, lambda: vc.judge(summary, other))
    by_hand = attrs.evolve(state, count=0)
    yield "a hand-assembled state", raised(vc.UnboundState, lambda: vc.judge(summary, by_hand))
    document = {"summary": summary.payload(), "state": {**state.payload(), "text": "all landed"}}
    status, answer = command("judge", "-", stdin=document)
    yield (
        "a hand-assembled state, on the command line",
        status == 3 and (answer["refused"]["code"] == "unbound_state"),
    )
    status, answer = command("judge", "-", stdin={**document, "state": state.payload()})
    yield "the rendered state passes, and is no permission", status == 10


def requests() -> Iterator[tuple[str, bool]]:
    three = tuple(vc.Verdict)
    four = (*three, "drop_block_3")
    yield "a request with four options", raised(vc.BadOptions, lambda: vc.Request("t", four))
    turned = three[::-1]
    yield "the options in another order", raised(vc.BadOptions, lambda: vc.Request("t", turned))
    yield "the three pass", vc.Request("t", three).options == three


def corpora(place: Path) -> Iterator[tuple[str, bool]]:
    one = place / "one_label.jsonl"
    one.write_text(json.dumps({"id": "1", "label": "keep", "summary": EMPTY}) + "\n")
    status, answer = command("verify", str(one))
    yield (
        "a corpus with one label",
        status == 3 and (answer["refused"]["code"] == "single_labelled_corpus"),
    )
    empty = place / "empty.jsonl"
    empty.write_text("")
    yield "an empty corpus", command("verify", str(empty))[0] == 3
    status, answer = command("verify", "--shipped")
    yield "the shipped corpus is scored", status in (0, 1) and answer["cases"] > 100


def workspaces(place: Path) -> Iterator[tuple[str, bool]]:
    (place / "src").mkdir()
    (place / "src" / "a.py").write_text("x = 1\n")
    report = "Status: complete\\nIntegrity: clean\\nContract audit: aligned"
    for name, code, status in (
        ("a changed workspace with a clean report", f"open('src/b', 'w'); print('{report}')", 10),
        ("an echo of the prompt", "import sys; print(sys.stdin.read())", 10),
        ("a clean report on an unchanged workspace", f"print('{report}')", 0),
    ):
        got, _ = command(
            "progress", "verify", "--json", "--claim", "c", "--scope", "src", "--state-dir",
            str(place / "state"), "--verifier", "--", sys.executable, "-c", code, cwd=str(place),
        )  # fmt: skip
        yield name, got == status


def main() -> int:
    if not Path(vc.__file__).is_relative_to(sys.prefix):
        print(f"not the installed package: {vc.__file__}")
        return 1
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        results = [
            *forbidden_names(), *states(), *requests(), *corpora(place), *workspaces(place),
        ]  # fmt: skip
    bad = [what for what, good in results if not good]
    for what in bad:
        print(f"NOT AS IT HAS TO BE: {what}")
    print(f"{len(results) - len(bad)} of {len(results)} things were as they have to be")
    return 1 if bad or len(results) < 35 + 10 else 0


if __name__ == "__main__":
    sys.exit(main())
