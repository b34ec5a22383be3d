"""Builds sdist and wheel, checks them, and tests them with the oldest and newest dependencies that are allowed.

python .ci/release_check.py [--cuda]

1. The archives hold what they should, and their metadata is valid (twine).
2. Each archive is installed twice in a fresh environment, without the training half: with the lowest versions that
   pyproject.toml allows, and with the highest that the registry has. `tests/standalone` runs there, and a user's
   program is checked with `mypy --strict` against the installed package.
3. The wheel is installed twice with the extra `torch`, with the lowest and the highest versions of torch and
   scikit-learn, and the tests of the packages that read tables or use torch and scikit-learn run there.

A build of torch that brings the CUDA libraries, some gigabytes, is left out with a remark, and the version in
constraints.txt takes its place; `--cuda` installs it. PIP_EXTRA_INDEX_URL may name an index of CPU builds.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.metadata import Metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "release"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE: list[str] = PROJECT["dependencies"]
TORCH: list[str] = PROJECT["optional-dependencies"]["torch"]
PIP_INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
USERS_PROGRAM = ROOT / "tests" / "standalone" / "test_types.py"
TORCH_TESTS = ("tree", "likelihood", "score_files", "infer", "measure", "methods", "learn/test_classifier.py")
"""The tests that versions of torch, scikit-learn, NumPy or pandas are most likely to break."""


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a command that must succeed, and print how long it took."""
    print("$", *command, flush=True)
    begin = time.monotonic()
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)
    print(f"  {time.monotonic() - begin:.0f} s", flush=True)


@contextmanager
def environment() -> Iterator[tuple[Path, Path]]:
    """Make a fresh environment away from the checkout; give its Python, and an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        away = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", away / "env"], check=True)
        python = away / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        (away / "work").mkdir()
        yield python, away / "work"


def build() -> tuple[Path, Path]:
    """Build both archives; return the wheel and the sdist."""
    shutil.rmtree(BUILT, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", BUILT)
    (wheel,) = BUILT.glob("*.whl")
    (sdist,) = BUILT.glob("*.tar.gz")
    return wheel, sdist


def check_content(wheel: Path, sdist: Path) -> None:
    """Check what the archives hold, and that their metadata says what pyproject.toml says."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (place,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = Metadata.from_email(archive.read(place), validate=True)
    assert str(metadata.version) == PROJECT["version"], metadata.version
    assert (metadata.description or "").startswith("# hedgerow"), "the README is missing"
    assert metadata.description_content_type == "text/markdown"
    assert "hedgerow/py.typed" in names, "py.typed is missing"
    assert all(name.startswith(("hedgerow/", "hedgerow-")) for name in names), "the wheel holds other packages"
    with tarfile.open(sdist) as source:
        held = {name.partition("/")[2] for name in source.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/hedgerow/__init__.py"} <= held


def check_metadata(*archives: Path) -> None:
    """Ask twine whether a registry would take the archives."""
    with environment() as (python, _):
        run(python, *PIP_INSTALL, "twine")
        run(python, "-m", "twine", "check", "--strict", *archives)


def lowest(requirement: str) -> str:
    """Return the lowest version that a requirement allows, with any last part.

    >>> lowest("numpy>=2.2")
    'numpy==2.2.*'
    """
    name, version = requirement.split(">=")
    return f"{name}=={version}.*"


def check_alone(archive: Path, versions: list[str]) -> None:
    """Test an archive without the training half, and the types of a user's program."""
    with environment() as (python, away):
        run(python, *PIP_INSTALL, archive, "pytest", *versions)
        shutil.copytree(ROOT / "tests" / "standalone", away / "standalone")
        run(python, "-m", "pytest", "-q", "-ra", "standalone", cwd=away)
        program = shutil.copy(USERS_PROGRAM, away / "program.py")
        types = (
            "--strict",
            "--config-file",
            "",
            "--python-executable",
            python,
        )  # pyproject.toml is not the user's
        run(sys.executable, "-m", "mypy", *types, program, cwd=away)


def needs_cuda(requirement: str) -> bool:
    """Return whether the build of torch that pip would take brings the CUDA libraries."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        dry = ("--dry-run", "--ignore-installed", "--no-deps", "--report", report)
        subprocess.run([sys.executable, *PIP_INSTALL, *dry, requirement], check=True)
        (found,) = json.loads(report.read_text(encoding="utf-8"))["install"]
    return any(re.match("nvidia-|cuda-", needed) for needed in found["metadata"].get("requires_dist", []))


def torch_to_test(requirement: str, cuda: bool) -> str:
    """Return a requirement of torch that can be tested here: the one that is asked for, or the pinned one."""
    if cuda or not needs_cuda(requirement):
        return requirement
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = next(line for line in constraints.splitlines() if line.startswith("torch=="))
    print(f"REMARK: {requirement} needs the CUDA libraries here and is not tested; {pinned} takes its place.")
    return pinned


def check_with_torch(wheel: Path, versions: list[str]) -> None:
    """Test the wheel with torch and scikit-learn."""
    with environment() as (python, away):
        run(python, *PIP_INSTALL, *versions, f"{wheel}[torch]", "pytest", "hypothesis", "pandas", "tabulate")
        run(python, "-m", "pip", "list", "--disable-pip-version-check")
        for folder in ("tests", "examples"):
            shutil.copytree(ROOT / folder, away / folder)
        tests = (f"tests/{name}" for name in TORCH_TESTS)
        run(python, "-m", "pytest", "-q", "-ra", *tests, cwd=away)


def main() -> None:
    """Check everything; the first failure ends the program."""
    cuda = "--cuda" in sys.argv[1:]
    wheel, sdist = build()
    check_content(wheel, sdist)
    check_metadata(wheel, sdist)
    oldest = [lowest(each) for each in CORE]
    for archive in (wheel, sdist):
        for versions in (oldest, []):
            check_alone(archive, versions)
    torch, *others = TORCH
    check_with_torch(wheel, [torch_to_test(lowest(torch), cuda), *oldest, *(lowest(each) for each in others)])
    check_with_torch(wheel, [torch_to_test(torch, cuda)])
    print("The archives are ready.")


if __name__ == "__main__":
    main()
