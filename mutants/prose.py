"""Whether a change touches nothing but words for people.

In: a function before and after. Out: a flag. Law: a code, a key, a number or a name is never
prose. Prose is the message of an error, and a string with a blank in it, in a `raise` or in what is
assigned to `message`.
"""

import ast
import textwrap
from typing import Any, TypeGuard

from verdict_core import errors

# An error's message is its first argument; ForbiddenKey makes its own.
_ERRORS = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.VerdictCoreError)
}
_MESSAGE_FIRST = (_ERRORS | {"GitFailed"}) - {"ForbiddenKey"}
_NAMED = ("message", "text")


def only_words_differ(before: str, after: str) -> bool:
    """Whether the two differ, and only in words. No test compares those: codes are compared."""
    one, other = (ast.parse(textwrap.dedent(source)) for source in (before, after))
    return ast.dump(one) != ast.dump(other) and _alike(one, other, in_words=False)


def _alike(one: Any, other: Any, *, in_words: bool) -> bool:
    if in_words and _is_words(one) and isinstance(other, ast.Constant | ast.JoinedStr):
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_alike(a, b, in_words=in_words) for a, b in pairs)
    if not isinstance(one, ast.AST):
        return bool(one == other)
    if _is_error(one) and ast.unparse(one.func) == ast.unparse(getattr(other, "func", one)):
        rest = [[*call.args[1:], *call.keywords] for call in (one, other)]
        return len(one.args) == len(other.args) and _alike(*rest, in_words=in_words)
    in_words = in_words or _gives_words(one)
    return all(
        _alike(value, getattr(other, name, None), in_words=in_words)
        for name, value in ast.iter_fields(one)
    )


def _is_error(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in _MESSAGE_FIRST


def _gives_words(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in _NAMED
    return isinstance(node, ast.Raise)


def _is_words(node: Any) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(_is_words(value) for value in node.values)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
