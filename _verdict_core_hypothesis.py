"""Tells Hypothesis what a `Summary` is, once both are imported; until then it costs nothing.

Hypothesis calls `register` when it is imported, in every project of an environment. So this module
stands alone: it imports nothing, and what it registers is made when somebody asks for one.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec

MODULE = "verdict_core.context.summary"


def register() -> None:
    """Register `Summary` now where it is imported already, else when it is."""
    if MODULE in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _WhenImported())


class _WhenImported(MetaPathFinder):
    """Finds nothing by itself, and knows when the module has been read."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]  # a type is an import
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        read = spec.loader.exec_module

        def read_and_register(module):  # type: ignore[no-untyped-def]  # a type is an import
            read(module)
            _register()

        spec.loader.exec_module = read_and_register
        return spec


def _register() -> None:
    from hypothesis import strategies as st

    def summaries(_):  # type: ignore[no-untyped-def]  # a type is an import
        from verdict_core.conformance.strategies import valid_summaries

        return valid_summaries()

    st.register_type_strategy(sys.modules[MODULE].Summary, summaries)
