"""Build sdist and wheel, look into them, install each in a clean environment, attack it there.

In: this checkout. Out: what was found, and status 0 only where all is as it has to be.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "artefact" / "probe.py"

IN_WHEEL = (
    r"verdict_core/__init__\.py", r"verdict_core/py\.typed", r"verdict_core/context/rules\.py",
    r"verdict_core/progress/admission\.py", r"verdict_core/corpus/data/.*\.jsonl",
    r"verdict_core/properties/test_rule_properties\.py",
    r"verdict_core/vectors/.*\.jsonl", r"verdict_core/SPEC\.md",
    r"verdict_core-.*\.dist-info/licenses/LICENSE", r"verdict_core-.*\.dist-info/entry_points\.txt",
)  # fmt: skip
IN_SDIST = ("SPEC.md", "README.md", "LICENSE", "pyproject.toml", "verdict_core/py.typed",
            "tests/test_spec.py", "properties/test_rule_properties.py")  # fmt: skip
# Nothing of a machine, of a cache, or of the checks themselves.
NOWHERE = (r"__pycache__", r"\.pyc$", r"\.venv", r"(^|/)\.ci/", r"(^|/)\.git/", r"\.hypothesis",
           r"\.coverage")  # fmt: skip
ONLY_IN_WHEEL = (r"^verdict_core/", r"^verdict_core-[^/]+\.dist-info/",
                 r"^_verdict_core_hypothesis\.py$")  # fmt: skip


def faults_of_wheel(names: list[str]) -> list[str]:
    """What a wheel holds and must not, or lacks."""
    missing = [p for p in IN_WHEEL if not any(re.fullmatch(p, name) for name in names)]
    strange = [n for n in names if not any(re.search(p, n) for p in ONLY_IN_WHEEL)]
    return [f"lacks {p}" for p in missing] + [f"holds {n}" for n in strange + _nowhere(names)]


def faults_of_sdist(names: list[str]) -> list[str]:
    """What an sdist holds and must not, or lacks."""
    inner = [name.partition("/")[2] for name in names]
    missing = [name for name in IN_SDIST if name not in inner]
    return [f"lacks {name}" for name in missing] + [f"holds {n}" for n in _nowhere(inner)]


def _nowhere(names: list[str]) -> list[str]:
    return [name for name in names if any(re.search(pattern, name) for pattern in NOWHERE)]


def attacked(archive: Path, place: Path) -> int:
    """The probe's status in a clean environment with this archive and nothing of the checkout."""
    environment = place / f"venv-{archive.suffix.strip('.')}"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    pip += ["--constraint", str(ROOT / "constraints.txt"), str(archive)]
    subprocess.run(pip, check=True, cwd=place)
    return subprocess.run([python, "-I", PROBE], check=False, cwd=place).returncode


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        build = [sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(ROOT)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = (place / "dist").glob("*.whl")
        (sdist,) = (place / "dist").glob("*.tar.gz")
        with zipfile.ZipFile(wheel) as zipped, tarfile.open(sdist) as packed:
            faults = {
                wheel: faults_of_wheel(zipped.namelist()),
                sdist: faults_of_sdist(packed.getnames()),
            }
        status = 0
        for archive, found in faults.items():
            print(f"== {archive.name}", flush=True)
            for fault in found:
                print(f"NOT AS IT HAS TO BE: {fault}")
            status |= bool(found) | attacked(archive, place)
    print("artefact: FAILED" if status else "artefact: both archives are as they have to be")
    return status


if __name__ == "__main__":
    sys.exit(main())
