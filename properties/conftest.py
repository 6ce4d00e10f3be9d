"""The implementation that the properties are put to, and how hard they look.

Profiles: `ci` is the same every time, `nightly` goes looking, `mutants` is quick.
"""

import os

import pytest
from hypothesis import Phase, settings

from verdict_core.conformance.reference import Reference
from verdict_core.conformance.subject import Subject

settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
settings.register_profile(
    "mutants",
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile(os.environ.get("VERDICT_CORE_PROFILE", "ci"))


@pytest.fixture(scope="session")
def subject() -> Subject:
    return Reference()
