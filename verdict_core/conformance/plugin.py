"""The suite for those who live in pytest, with any implementation as its subject:

    pytest -p verdict_core.conformance.plugin --pyargs verdict_core.properties \\
        --subject "node implementation.js"

What the implementation does not claim is skipped with that reason. Without `--subject` the suite
is put to this package. (SPEC CF-BASE-4)
"""

import shlex
from collections.abc import Iterator

import pytest

from verdict_core.conformance import serve
from verdict_core.conformance.child import TIME_LIMIT_S, Child, InProcess
from verdict_core.conformance.reference import Reference
from verdict_core.conformance.remote import NotClaimed, Remote, Unsupported
from verdict_core.conformance.subject import Subject
from verdict_core.errors import Usage

REMOTE = pytest.StashKey[Remote]()
"""Where a session has the implementation that it asks, if it is not this package."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("verdict-core")
    group.addoption("--subject", metavar="COMMAND", help="the implementation to put the suite to")
    group.addoption(
        "--subject-time-limit",
        metavar="SECONDS",
        type=float,
        default=TIME_LIMIT_S,
        help="how long it may take to reply (default: %(default)s)",
    )


def pytest_configure(config: pytest.Config) -> None:
    command = config.getoption("--subject")
    if command:
        limit = config.getoption("--subject-time-limit")
        try:
            config.stash[REMOTE] = Remote(Child(shlex.split(command), time_limit_s=limit))
        except Usage as error:
            raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    remote = config.stash.get(REMOTE, None)
    if remote is not None:
        remote.door.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What asks nobody is about this package, and is no question to another."""
    if REMOTE in config.stash:
        items[:] = [item for item in items if asks(item)]


ASKS = frozenset({"subject", "door"})
"""What a test takes that asks an implementation."""


def asks(item: pytest.Item) -> bool:
    """Whether a test asks an implementation."""
    return not ASKS.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    remote = item.config.stash.get(REMOTE, None)
    if remote is None:
        return (yield)
    remote.begin()
    try:
        result = yield
        asked = list(remote.exchanges)
        # Whatever it said unasked comes before its reply to this.
        remote.greet()
        remote.exchanges.clear()
        remote.exchanges.extend(asked)
        return result
    except NotClaimed as error:
        raise pytest.skip.Exception(f"not claimed: {error}") from error
    except Unsupported as error:
        raise pytest.skip.Exception(f"unsupported: {error}") from error


def subject_of(config: pytest.Config) -> Subject:
    """Whom the session asks."""
    return config.stash.get(REMOTE, None) or Reference()


def door_of(config: pytest.Config) -> Remote:
    """The same, to be talked to in lines."""
    return config.stash.get(REMOTE, None) or behind(Reference())


def behind(subject: Subject) -> Remote:
    """A subject behind a door, without a process."""
    return Remote(InProcess(lambda line: serve.reply(line, subject)))
