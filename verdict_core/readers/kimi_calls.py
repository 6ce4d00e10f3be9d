"""What Kimi's tools do to what is open, in all forms of its records.

In: a call with its arguments, and later its result. Out: events in a log. Law: a call that failed
changes nothing. (SPEC RD-KIMI)
"""

from collections.abc import Mapping
from typing import Any

from attrs import define, field, frozen

from verdict_core.readers import turns
from verdict_core.readers.session import arguments, mapping
from verdict_core.readers.turns import Turns

_TODO_TOOLS = ("TodoList", "SetTodoList")
_QUESTION_TOOL = "AskUserQuestion"
_PLAN_TOOL = "ExitPlanMode"
_SHELLS = ("Bash", "Shell")
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


@define
class CallLog(Turns):
    """A log that knows Kimi's tools."""

    calls: dict[str, Call] = field(factory=dict)

    def made(self, call: Call) -> None:
        """A call was made. Without a list, the todo tool only reads. (SPEC RD-KIMI-2)"""
        self.calls[call.id] = call
        self.worked()
        if call.name == _QUESTION_TOOL:
            self.asked(turns.questions_of(call.args))
        elif call.name in _TODO_TOOLS and call.args.get("todos") is not None:
            self.listed(call.args["todos"], call.id)

    def gave(self, name: str, output: str, *, failed: bool) -> None:
        """The call of this id has a result. (SPEC RD-KIMI-3)"""
        self.worked()
        call = self.calls.get(name)
        if failed:
            self.failed.add(name)
        elif call is None:
            return
        elif call.name == _QUESTION_TOOL:
            answers = mapping((arguments(output) or {}).get("answers"))
            self.answered({key: turns.joined(value) for key, value in answers.items()})
        elif call.name == _PLAN_TOOL and not output.startswith(_NOT_APPROVED):
            self.decided(call.plan or output)
        elif call.name in _SHELLS:
            self.ran(call.args.get("command"), output, over=True)


def args_of(text: Any) -> Mapping[str, Any]:
    """The arguments that a JSON string holds. What cannot be read is taken for a list that cannot
    be read, so that a call of the todo tool with it is not one that only reads."""
    args = arguments(text)
    if args is not None:
        return args
    return {"todos": text} if text else {}
