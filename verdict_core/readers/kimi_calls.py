"""What Kimi's tools do to what is open, in all forms of its records.

In: a call with its arguments, and later its result. Out: events. Law: a call that failed changes
nothing. (SPEC RD-KIMI)
"""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from verdict_core.readers import turns
from verdict_core.readers.turns import Event, json_of, mapping

_TODO_TOOLS = frozenset({"TodoList", "SetTodoList"})
_QUESTION_TOOL = "AskUserQuestion"
_PLAN_TOOL = "ExitPlanMode"
_SHELLS = frozenset({"Bash", "Shell"})
# How the result begins where the person did not approve the plan.
_NOT_APPROVED = (
    "Plan approval dismissed",
    "Plan rejected",
    "User rejected the plan",
    "User requested revisions",
)


@frozen
class Call:
    """A call: its `id`, the tool's `name`, its `args`, and the `plan` that it puts forward."""

    id: str
    name: str
    args: Mapping[str, Any]
    plan: str | None = None

    def made(self) -> Iterator[Event]:
        """The events of the call itself. Without a list, the todo tool only reads."""
        yield turns.Worked()
        if self.name == _QUESTION_TOOL:
            yield turns.Asked(turns.questions_of(self.args))
        elif self.name in _TODO_TOOLS and self.args.get("todos") is not None:
            yield turns.Listed(self.args["todos"], self.id)

    def gave(self, output: str, *, failed: bool) -> Iterator[Event]:
        """The events of its result. (SPEC RD-KIMI-3)"""
        yield turns.Worked()
        if failed:
            yield turns.Failed(self.id)
        elif self.name == _QUESTION_TOOL:
            answers = mapping(mapping(json_of(output)).get("answers"))
            yield turns.Answered({key: _answer(value) for key, value in answers.items()})
        elif self.name == _PLAN_TOOL:
            if not output.startswith(_NOT_APPROVED):
                yield turns.Decided(self.plan or output)
        elif self.name in _SHELLS:
            yield from turns.commit_of(self.args.get("command"), output, over=True)


def args_of(text: Any) -> Mapping[str, Any]:
    """The arguments that a JSON string holds. What cannot be read is taken for a list that cannot
    be read, so that a call of the todo tool with it is not one that only reads."""
    args = json_of(text)
    return args if isinstance(args, dict) else {"todos": text} if text else {}


def _answer(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
