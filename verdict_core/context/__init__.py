"""The context half, pure: summary -> state -> verdict. `rules` alone decides. (SPEC part one)"""

from verdict_core.context.ask import Answer, Detail, NoAnswer, Request, Service, read_answer
from verdict_core.context.judgement import Judgement, judge
from verdict_core.context.rules import DEFAULT_WAIT_MIN, SAFE_MAX, Reason, Verdict
from verdict_core.context.state import DEFAULT_MAX_CHARS, State, build, judge_document
from verdict_core.context.summary import FIELDS, Summary

__all__ = [
    "DEFAULT_MAX_CHARS",
    "DEFAULT_WAIT_MIN",
    "FIELDS",
    "SAFE_MAX",
    "Answer",
    "Detail",
    "Judgement",
    "NoAnswer",
    "Reason",
    "Request",
    "Service",
    "State",
    "Summary",
    "Verdict",
    "build",
    "judge",
    "judge_document",
    "read_answer",
]
