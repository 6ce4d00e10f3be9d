"""One fault put into one module: find a fragment in its syntax tree, and replace it.

In: a module's source, a fragment, a replacement, and the name of what it stands in. Out: the source
with the fault. Law: the fragment stands there exactly once, or nothing is replaced; comments,
formatting and the order of definitions do not matter.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any

_Put = Callable[[list[Any]], None]


class Misfit(Exception):
    """A fragment that is not there exactly once, or a fault that is no Python."""


def mutated(source: str, fragment: str, replacement: str, within: str = "") -> str:
    """`source` with the one place where `fragment` stands replaced.

    Both are expressions, or both are statements; an empty replacement is `pass`. `within` narrows
    the search to a function, a class, a method (`Class.method`) or an assigned name. Raises Misfit.
    """
    return ast.unparse(fitted(source, fragment, replacement, within)) + "\n"


def fitted(source: str, fragment: str, replacement: str, within: str = "") -> ast.Module:
    """The same as a tree, which is had sooner. It compiles. Raises Misfit."""
    tree = ast.parse(source)
    wanted, fresh = _parsed(fragment, replacement)
    if list(map(ast.dump, wanted)) == list(map(ast.dump, fresh)):
        raise Misfit("the replacement is the fragment")
    places = list(_places(_scope(tree, within), wanted))
    if len(places) != 1:
        raise Misfit(f"the fragment stands there {len(places)} times, not once")
    places[0](fresh)
    try:
        compile(ast.fix_missing_locations(tree), "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise Misfit(f"the fault does not compile: {error}") from None
    return tree


def _parsed(fragment: str, replacement: str) -> tuple[list[ast.AST], list[Any]]:
    parts = [fragment.strip(), replacement.strip()]
    try:
        wanted, fresh = ([ast.parse(part, mode="eval").body] for part in parts)
    except SyntaxError:
        pass
    else:
        return [*wanted], [*fresh]
    try:
        before, after = (ast.parse(part).body for part in parts)
    except SyntaxError as error:
        raise Misfit(f"no Python: {error}") from None
    if not before:
        raise Misfit("the fragment is empty")
    return [*before], [*after] or [ast.Pass()]


def _scope(tree: ast.Module, within: str) -> ast.AST:
    scope: ast.AST = tree
    for name in filter(None, within.split(".")):
        found = [node for node in getattr(scope, "body", ()) if name in _names(node)]
        if len(found) != 1:
            raise Misfit(f"{within!r} names {len(found)} places, not one")
        scope = found[0]
    return scope


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _places(scope: ast.AST, wanted: list[ast.AST]) -> Iterator[_Put]:
    """How to replace each run of siblings in `scope` that is equal to `wanted`."""
    dumps = [ast.dump(node) for node in wanted]
    for node in ast.walk(scope):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                for start in range(len(value) - len(dumps) + 1):
                    run = value[start : start + len(dumps)]
                    if all(map(_same, run, dumps)):
                        yield _in_list(value, slice(start, start + len(dumps)))
            elif len(dumps) == 1 and _same(value, dumps[0]):
                yield _in_field(node, name)


def _same(node: Any, dump: str) -> bool:
    # Most are told apart by their kind; to write a node out takes long.
    return dump.startswith(f"{type(node).__name__}(") and ast.dump(node) == dump


def _in_list(siblings: list[Any], place: slice) -> _Put:
    return lambda fresh: siblings.__setitem__(place, fresh)


def _in_field(node: ast.AST, name: str) -> _Put:
    return lambda fresh: setattr(node, name, fresh[0])
