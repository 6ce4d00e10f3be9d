"""The implementation that the properties are put to, and how hard they look.

Profiles: `ci` is the same every time, `nightly` goes looking, `mutants` is quick. A property that
takes `subject` or `door` is asked of everybody; any other is about this package's own disk.
"""

import os

import pytest
from hypothesis import Phase, settings

from verdict_core.conformance import plugin
from verdict_core.conformance.remote import Remote
from verdict_core.conformance.subject import Subject

settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
settings.register_profile(
    "mutants",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=40,
    phases=[Phase.explicit, Phase.generate],
)


settings.load_profile(os.environ.get("VERDICT_CORE_PROFILE", "ci"))


@pytest.fixture(scope="session")
def subject(pytestconfig: pytest.Config) -> Subject:
    return plugin.subject_of(pytestconfig)


@pytest.fixture(scope="session")
def door(pytestconfig: pytest.Config) -> Remote:
    return plugin.door_of(pytestconfig)
