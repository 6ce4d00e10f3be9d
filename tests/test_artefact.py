"""The look into the archives can itself fail. (SPEC CV-KEY-1)"""

from pathlib import Path

import pytest

from artefact.__main__ import IN_SDIST, faults_of_sdist, faults_of_wheel

WHEEL = [
    "verdict_core/__init__.py",
    "verdict_core/py.typed",
    "verdict_core/context/rules.py",
    "verdict_core/progress/admission.py",
    "verdict_core/corpus/data/cases.jsonl",
    "verdict_core/properties/test_rule_properties.py",
    "verdict_core/vectors/rules.jsonl",
    "verdict_core/SPEC.md",
    "verdict_core-0.1.0.dist-info/licenses/LICENSE",
    "verdict_core-0.1.0.dist-info/entry_points.txt",
]


def test_a_whole_archive_has_no_fault() -> None:
    assert faults_of_wheel(WHEEL) == []
    assert faults_of_sdist([f"verdict_core-0.1.0/{name}" for name in IN_SDIST]) == []


@pytest.mark.parametrize("name", WHEEL)
def test_what_is_missing_is_a_fault(name: str) -> None:
    assert faults_of_wheel([other for other in WHEEL if other != name])


@pytest.mark.parametrize(
    "name",
    ["tests/test_wire.py", "verdict_core/__pycache__/a.pyc", ".ci/run", "verdict_core/x.pyc"],
)
def test_what_does_not_belong_there_is_a_fault(name: str) -> None:
    assert faults_of_wheel([*WHEEL, name]) != []


def test_the_probe_tries_each_name() -> None:
    probe = (Path(__file__).parent.parent / "artefact" / "probe.py").read_text(encoding="utf-8")
    words = probe.split('NAMES = """')[1].split('"""')[0].split()
    assert len(set(words)) == 35
