"""A pytest plugin for runs on mutated code: a test that never ends, or that eats the memory, fails.

In: VERDICT_CORE_TEST_SECONDS, of processor time, and VERDICT_CORE_EXAMPLES. Law: a slow machine
makes no test fail.
"""

import os
import resource
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import Phase, settings

_MEMORY_BYTES = 3 * 2**30


class Endless(AssertionError):
    """A test used more processor time than it may."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    settings.register_profile(
        "automatic",
        derandomize=True,
        deadline=None,
        database=None,
        max_examples=int(os.environ["VERDICT_CORE_EXAMPLES"]),
        phases=[Phase.explicit, Phase.generate],
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise Endless

    # Again each second: what is raised in a callback of the interpreter is lost.
    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, float(os.environ["VERDICT_CORE_TEST_SECONDS"]), 1.0)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
