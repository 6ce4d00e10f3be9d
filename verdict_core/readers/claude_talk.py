"""Questions and decisions of a Claude Code record, and what the person said last.

In: the live events in file order, the results of live calls, the roles of live rows. Out: the items
of both fields, and the rows from which on nothing older matters. Laws: only the person settles a
question; only a commit, or writing a plan down, settles a decision. (SPEC RD-CC)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from verdict_core.readers import claude_words as words
from verdict_core.readers.claude_events import (
    PLAN_TOOL,
    QUESTION_TOOL,
    Asked,
    Blocked,
    Call,
    Event,
    Result,
    Words,
)
from verdict_core.readers.claude_rows import Role, last_row
from verdict_core.readers.reading import NO_TEXT
from verdict_core.readers.todo_status import item

# After one of these a text is not the last thing that the assistant said to the person.
_SPEAKS = frozenset({Role.TEXT, Role.CALL, Role.MESSAGE})
ANSWERS = frozenset({Role.TEXT, Role.CALL, Role.THOUGHT})


@frozen
class Talk:
    """`spoke` is the row of the person's last message and `message` its words; `committed` is the
    row of the last call whose commit succeeded; -1 for none. `notes` has a text for each code."""

    questions: tuple[str, ...]
    decisions: tuple[str, ...]
    spoke: int
    message: str | None
    committed: int
    notes: Mapping[str, str]


@frozen
class _Decision:
    row: int
    text: str
    is_plan: bool = False


@define
class _Fold:
    results: Mapping[str, Result]
    open: list[str] = field(factory=list)
    decisions: list[_Decision] = field(factory=list)
    spoken: Words | None = None
    committed: int = -1
    notes: dict[str, str] = field(factory=dict)

    def take(self, event: Event) -> None:
        if isinstance(event, Words) and event.said:
            self._words(event)
        elif isinstance(event, Call):
            result = self.results.get(event.id)
            if event.name == QUESTION_TOOL:
                self._question(event, result)
            elif event.name == "Bash":
                self._commit(event, result)
            elif result is not None and event.name == PLAN_TOOL:
                self._plan(event, result)
            elif result is not None and event.name == "Write":
                self._written(event, result)

    def _words(self, said: Words) -> None:
        self.spoken = said
        self.open.clear()
        if said.plan is not None:
            self.decisions.append(_Decision(said.row, item(said.plan), is_plan=True))

    def _question(self, call: Call, result: Result | None) -> None:
        if result is not None and result.reason and words.settles(result.reason):
            return
        answers = _answers(result)
        for question, answer in answers.items():
            self._decide(call, result, f"{question} = {answer}")
        # The same question put again, and answered, was answered.
        asked = (*self.open, *_questions(call.input))
        self.open = [question for question in asked if question not in answers]

    def _plan(self, call: Call, result: Result) -> None:
        if not result.failed:
            value = result.value if isinstance(result.value, dict) else {}
            plan = value.get("plan") or call.input.get("plan")
            self._decide(call, result, item(plan), is_plan=True)
        elif result.rejected and result.reason is None:
            self.notes["plan_refused"] = (
                "a plan was rejected without words: refused, or approved for a fresh conversation"
            )

    def _decide(
        self, call: Call, result: Result | None, text: str, *, is_plan: bool = False
    ) -> None:
        row = call.row if result is None else max(call.row, result.row)
        self.decisions.append(_Decision(row, text, is_plan))

    def _written(self, call: Call, result: Result) -> None:
        """A plan that stands where people look for documents no longer needs the session."""
        if not result.failed:
            plan = call.input["plan"]
            self.decisions = [d for d in self.decisions if not (d.is_plan and plan in d.text)]

    def _commit(self, call: Call, result: Result | None) -> None:
        if call.input["scratch"]:
            self.notes["scratch_commit"] = (
                "a commit into a repository made by the same command settles nothing"
            )
        elif result is None:
            self.notes["commit_in_flight"] = "a commit has no result yet, so it settles nothing"
        elif _succeeded(result):
            self.committed = call.row
            self.decisions = [d for d in self.decisions if d.row > call.row]


def read_talk(events: Sequence[Event], results: Mapping[str, Result], roles: Sequence[int]) -> Talk:
    """What `events` leave open. `roles` has the role of each row, NOTHING for a dead one.
    (SPEC RD-CC-8)"""
    fold = _Fold(results)
    for event in events:
        fold.take(event)
    spoken = fold.spoken
    return Talk(
        questions=(*fold.open, *_asked_last(events, roles)),
        decisions=tuple(decision.text for decision in fold.decisions),
        spoke=spoken.row if spoken else -1,
        message=item(spoken.text) if spoken else None,
        committed=fold.committed,
        notes=fold.notes,
    )


def blocked_rows(events: Sequence[Event], roles: Sequence[int]) -> set[int]:
    """The rows of messages that a hook blocked: nothing was answered before it did.
    (SPEC RD-CC-14)"""
    rows: set[int] = set()
    said = -1
    for event in events:
        if isinstance(event, Words) and event.said:
            said = event.row
        elif isinstance(event, Blocked) and last_row(roles[: event.row], ANSWERS) < said:
            rows.add(said)
    return rows


def _asked_last(events: Sequence[Event], roles: Sequence[int]) -> tuple[str, ...]:
    last = last_row(roles, _SPEAKS)
    if last < 0 or roles[last] != Role.TEXT:
        return ()
    texts = [event.text for event in events if isinstance(event, Asked) and event.row == last]
    return tuple(item(text) for text in texts[-1:])


def _questions(given: Mapping[str, Any]) -> list[str]:
    questions = given.get("questions")
    if not isinstance(questions, list) or not questions:
        return [NO_TEXT]
    return [item(one.get("question") if isinstance(one, dict) else one) for one in questions]


def _answers(result: Result | None) -> dict[str, str]:
    """The answers that are some, by question."""
    if result is None or result.failed or not isinstance(result.value, dict):
        return {}
    answers = result.value.get("answers")
    if not isinstance(answers, dict):
        return {}
    texts = {
        item(question): item(", ".join(map(str, answer)) if isinstance(answer, list) else answer)
        for question, answer in answers.items()
    }
    return {question: answer for question, answer in texts.items() if answer != NO_TEXT}


def _succeeded(result: Result) -> bool:
    value = result.value if isinstance(result.value, dict) else {}
    output = "\n".join((result.text, str(value.get("stdout")), str(value.get("stderr"))))
    over = not result.failed and not value.get("interrupted") and not value.get("backgroundTaskId")
    return words.committed(output, over=over)
