"""What the package lets anybody name, recorded: nothing that selects, and nothing unrecorded.

A parameter, option, tool argument or schema property that bears one of the 35 names would be a
place to ask for a selection. (SPEC CV-KEY-6)
"""

import argparse
import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

import verdict_core
from verdict_core.forbidden import FORBIDDEN_KEYS, is_forbidden
from verdict_core.hosts import cli

PACKAGE = Path(verdict_core.__file__).parent

# The public names. Whoever changes `__all__` changes this list, and says so in the changelog.
PUBLIC = {
    "FORBIDDEN_KEYS", "Answer", "BadConfig", "BadOptions", "BadValue", "Detail", "ForbiddenKey",
    "InvalidJson", "Judgement", "MissingField", "NoAnswer", "OverBudget", "Reason", "Request",
    "Service", "State", "Summary", "UnboundState", "UnknownField", "Verdict", "VerdictCoreError",
    "WrongType", "build", "judge", "refuse_forbidden",
}  # fmt: skip
# Names of the walk that refuses: they say what is refused, and select nothing.
OF_THE_WALK = {"FORBIDDEN_KEYS", "refuse_forbidden"}
CONTEXT_TOOLS = {"build", "judge", "verify"}
# What `import verdict_core` may load beside the standard library, by the name that is imported.
CORE = {"attr", "attrs", "jiter", "orjson", "verdict_core"}
ROOMS = {"context", "errors", "forbidden", "wire"}

# What stands on a framework that is not installed here is read, not imported.
ADAPTERS = {"verdict_core.hosts.langchain", "verdict_core.hosts.openhands"}


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages([str(PACKAGE)], "verdict_core."):
        if not found.name.endswith("__main__") and found.name not in ADAPTERS:
            yield importlib.import_module(found.name)


def public_names(module: Any) -> Iterator[str]:
    """Every name of a module that does not begin with `_`: of its functions, classes, methods,
    their parameters, and the fields of its values."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield from (name, *inspect.signature(value).parameters)
        elif inspect.isclass(value):
            yield from (name, *class_names(value))


def class_names(value: type) -> Iterator[str]:
    if attrs.has(value):
        yield from (field.name for field in attrs.fields(value))
    for name, member in vars(value).items():
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            yield from (name, *inspect.signature(function).parameters)


def forbidden(names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if is_forbidden(name)} - OF_THE_WALK)


def test_the_public_names_are_the_recorded_ones() -> None:
    assert set(verdict_core.__all__) == PUBLIC
    assert len(verdict_core.__all__) == len(PUBLIC)


def test_no_public_parameter_bears_a_forbidden_name() -> None:
    """CV-KEY-6: of any module, not of the public face alone; and the check itself can fail."""
    names = [name for module in modules() for name in public_names(module)]
    assert {"wait_min", "max_chars", "refuse_forbidden", "todos", "from_payload"} <= set(names)
    assert forbidden(names) == []


def written_names(source: str) -> set[str]:
    """Every name that is defined in a source: functions, classes, parameters, fields."""
    nodes = list(ast.walk(ast.parse(source)))
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {node.name for node in nodes if isinstance(node, defined)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return names | {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_no_adapter_of_a_framework_bears_a_forbidden_name(name: str) -> None:
    """CV-KEY-6."""
    file = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
    names = written_names(file.read_text(encoding="utf-8"))
    assert {"repo", "absent", "readings"} <= names
    assert forbidden(names) == []


def test_a_planted_name_of_an_adapter_is_found() -> None:
    source = "class A:\n    salience: int = 0\n    async def rank(self, *, perBlock): ..."
    assert forbidden(written_names(source)) == ["perBlock", "rank", "salience"]


class Planted:
    def rank(self, perBlock: int) -> int:  # noqa: N803  # the name that must be found
        return perBlock


@attrs.frozen
class PlantedValue:
    salience: int = 0


def test_a_planted_parameter_is_found() -> None:
    assert forbidden(public_names(sys.modules[__name__])) == ["perBlock", "rank", "salience"]
    assert forbidden(inspect.signature(lambda keep_: keep_).parameters) == ["keep_"]


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Everything that can be written on a command line to name something."""
    for action in parser._actions:
        yield from (*action.option_strings, action.dest, *_words(action.metavar))
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from (name, *options(below))
        elif action.choices:
            yield from map(str, action.choices)


def _words(metavar: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (metavar,) if isinstance(metavar, str) else metavar or ()


def test_no_option_bears_a_forbidden_name() -> None:
    """CV-KEY-6."""
    names = list(options(cli._parser()))
    assert {"check", "build", "judge", "--wait-min", "--summary", "FILE"} <= set(names)
    assert forbidden(names) == []


@pytest.mark.parametrize("name", FORBIDDEN_KEYS)
def test_a_planted_option_is_found(name: str) -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    commands.add_parser("check").add_argument(f"--{name}", metavar="X")
    assert forbidden(options(parser))[0] == f"--{name}"


def tools(values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The tool definitions in `values`, however deep: objects with a name and an input schema."""
    for value in values:
        if isinstance(value, dict):
            if "name" in value and {"inputSchema", "input_schema"} & value.keys():
                yield value
            yield from tools(value.values())
        elif isinstance(value, list | tuple):
            yield from tools(value)


def properties(schema: Any) -> Iterator[str]:
    """The property names of a JSON schema, at any depth."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield from schema["properties"]
        for value in schema.values():
            yield from properties(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from properties(value)


def context_tools(defined: Iterable[dict[str, Any]]) -> set[str]:
    names = {tool["name"] for tool in defined}
    return {name for name in names if not name.startswith("verified_progress_")}


def mentions_tools(source: str) -> bool:
    """Whether a module writes the key under which a tool has its schema."""
    words = {"inputSchema", "input_schema"}
    return any(
        (isinstance(node, ast.Constant) and node.value in words)
        or (isinstance(node, ast.keyword) and node.arg in words)
        for node in ast.walk(ast.parse(source))
    )


def defined_tools() -> list[dict[str, Any]]:
    return [tool for module in modules() for tool in tools(vars(module).values())]


def test_there_is_no_fourth_context_tool() -> None:
    """CV-KEY-6: and no tool that this test does not see."""
    found = defined_tools()
    assert context_tools(found) == {f"context_verdict_{verb}" for verb in CONTEXT_TOOLS}
    sources = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    assert found or not any(map(mentions_tools, sources))


def test_no_tool_argument_and_no_schema_property_bears_a_forbidden_name() -> None:
    """CV-KEY-6."""
    schemas = [value for module in modules() for value in vars(module).values()]
    assert forbidden(properties(list(schemas))) == []


def test_a_planted_tool_and_a_planted_property_are_found() -> None:
    schema = {"type": "object", "properties": {"a": {"properties": {"messageIds": {}}}}}
    planted = [{"name": f"context_{name}", "inputSchema": schema} for name in "abcd"]
    found = list(tools([{"x": planted}]))
    assert len(context_tools(found)) == 4
    assert forbidden(properties([planted])) == ["messageIds"]
    assert mentions_tools("Tool(name='x', inputSchema={})")
    assert mentions_tools("{'name': 'x', 'input_schema': {}}")
    assert not mentions_tools("'a tool'")


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_no_more_than_it_may() -> None:
    loaded = loaded_by("import verdict_core")
    tops = {name.partition(".")[0] for name in loaded}
    assert {name for name in tops if name not in sys.stdlib_module_names} <= CORE
    assert {name.split(".")[1] for name in loaded if name.startswith("verdict_core.")} == ROOMS
    # What would make a pure answer depend on a machine, or an import slow.
    assert tops.isdisjoint({"subprocess", "socket", "asyncio", "http", "urllib", "sqlite3"})
    assert {"verdict_core.context.rules", "verdict_core.wire"} <= loaded
    assert "verdict_core.hosts.cli" in loaded_by("import verdict_core.hosts.cli")
