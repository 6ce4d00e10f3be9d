"""Whether a change touches nothing but words for people.

In: a function before and after. Out: a flag. Law: a code, a key, a number or a name is never
prose: prose is a string with a blank in it, in a `raise` or in what is assigned to `message`.
"""

import ast
import textwrap
from typing import Any

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
    in_words = in_words or _gives_words(one)
    return all(
        _alike(value, getattr(other, name, None), in_words=in_words)
        for name, value in ast.iter_fields(one)
    )


def _gives_words(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in _NAMED
    return isinstance(node, ast.Raise)


def _is_words(node: Any) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(_is_words(value) for value in node.values)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
