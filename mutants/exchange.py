"""One module of the package with another source, in this process and in those that it starts.

In: a module's path and its new source. Out: an import system that serves it. Law: the module keeps
its name and its path, and every other one is that of the checkout. Imports nothing of ours: child
processes run this file as their `sitecustomize`.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any

PACKAGE = "verdict_core"
_SAID = "VERDICT_CORE_EXCHANGED"


class _Loader(SourceFileLoader):
    """Gives the new source for the old path, and never the compiled form of the old one."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_data(self, path: str) -> bytes:
        return self._source if path == self.path else super().get_data(path)

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = compile(self._source, self.path, "exec", dont_inherit=True)
        return code


class _Finder(MetaPathFinder):
    def __init__(self, name: str, path: str, source: bytes) -> None:
        self._given = name, path, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name, file, _ = self._given
        if fullname != name:
            return None
        places = [os.path.dirname(file)] if file.endswith("__init__.py") else None
        loader: Any = _Loader(*self._given)
        return spec_from_file_location(name, file, loader=loader, submodule_search_locations=places)


def enter(root: str, place: str, target: str | None, source: str) -> None:
    """From now on, here and in every child process, `target` (a path from `root`) has this source.
    `place` is an empty directory that stays. Without a target only the checkout is made sure of."""
    for name in list(sys.modules):
        if name.partition(".")[0] == PACKAGE:
            del sys.modules[name]
    if target is not None:
        file = os.path.join(place, "source")
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(source)
        os.symlink(os.path.abspath(__file__), os.path.join(place, "sitecustomize.py"))
        os.environ[_SAID] = os.pathsep.join([_name(target), os.path.join(root, target), file])
        _serve()
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [place, root, before]))
    sys.path.insert(0, root)
    # At once: whatever comes to stand before it on the path finds the package imported.
    package = importlib.import_module(PACKAGE)
    assert package.__file__ == os.path.join(root, PACKAGE, "__init__.py"), package.__file__


def _name(target: str) -> str:
    parts = target.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _serve() -> None:
    name, path, file = os.environ[_SAID].split(os.pathsep)
    with open(file, "rb") as stream:
        sys.meta_path.insert(0, _Finder(name, path, stream.read()))


if __name__ == "sitecustomize" and _SAID in os.environ:
    _serve()
