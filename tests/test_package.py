"""The public face. (SPEC CV-KEY-6)"""

import argparse
import ast
import inspect
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

import verdict_core
from verdict_core.forbidden import is_forbidden
from verdict_core.hosts import cli

PACKAGE = Path(verdict_core.__file__).parent


def test_the_public_names_are_few_sorted_and_real() -> None:
    assert len(verdict_core.__all__) <= 25
    assert sorted(verdict_core.__all__, key=lambda n: (not n.isupper(), n)) == verdict_core.__all__
    for name in verdict_core.__all__:
        assert getattr(verdict_core, name) is not None


def parameters() -> list[str]:
    names: list[str] = []
    for public in verdict_core.__all__:
        value = getattr(verdict_core, public)
        names.append(public)
        if callable(value):
            names += inspect.signature(value).parameters
        if inspect.isclass(value) and attrs.has(value):
            names += [field.name for field in attrs.fields(value)]
    return [name for name in names if name not in ("FORBIDDEN_KEYS", "refuse_forbidden")]


def options(parser: argparse.ArgumentParser) -> list[str]:
    names = []
    for action in parser._actions:
        names += [*action.option_strings, action.dest]
        if isinstance(action, argparse._SubParsersAction):
            names += action.choices
            names += [name for below in action.choices.values() for name in options(below)]
    return names


def test_no_parameter_or_option_bears_a_forbidden_name() -> None:
    """CV-KEY-6: and the check itself can fail."""
    surface = parameters() + options(cli._parser())
    assert {"wait_min", "service", "--wait-min", "check", "todos"} <= set(surface)
    assert [name for name in surface if is_forbidden(name)] == []
    assert is_forbidden("--per-block")


def test_importing_the_package_loads_the_core_and_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import verdict_core\n"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))\n"
        "print(*sorted(m for m in sys.modules if m.startswith('verdict_core.')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    tops, ours = (line.split() for line in out.stdout.splitlines())
    third = {name for name in tops if name not in sys.stdlib_module_names} - {"verdict_core"}
    assert third <= {"attr", "attrs", "jiter", "orjson"}
    rooms = {name.split(".")[1] for name in ours}
    assert rooms == {"context", "errors", "forbidden", "wire"}


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_house_is_small(module: Path) -> None:
    """No module over 400 lines, no function over 50, a docstring at the head of each."""
    source = module.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 400
    tree = ast.parse(source)
    assert ast.get_docstring(tree) or not source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 50, node.name


def test_what_decides_is_small() -> None:
    """What can change a verdict or admit progress, and all that it stands on."""
    names = ["errors.py", "wire.py", "forbidden.py"]
    names += [f"progress/{name}.py" for name in ("lines", "report", "admission")]
    core = [PACKAGE / name for name in names] + [*(PACKAGE / "context").glob("*.py")]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in core) <= 2_000
