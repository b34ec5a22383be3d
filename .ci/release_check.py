"""Builds sdist and wheel, checks their metadata and content, and tests the wheel with old and new dependencies.

python .ci/release_check.py

The wheel is installed in two fresh environments: with the lowest versions that pyproject.toml allows,
and with the highest that the registry has. Torch and scikit-learn are left out; `make test` covers them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "release"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a command that must succeed."""
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def build() -> Path:
    """Build both archives; return the wheel."""
    shutil.rmtree(BUILT, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", BUILT)
    (wheel,) = BUILT.glob("*.whl")
    return wheel


def check_archives(wheel: Path) -> None:
    """Check what the archives hold, and that their metadata is valid and says what pyproject.toml says."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (place,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = Metadata.from_email(archive.read(place), validate=True)
    assert str(metadata.version) == PROJECT["version"], metadata.version
    assert (metadata.description or "").startswith("# hedgerow"), "the README is missing"
    assert metadata.description_content_type == "text/markdown"
    assert "hedgerow/py.typed" in names, "py.typed is missing"
    assert all(name.startswith(("hedgerow/", "hedgerow-")) for name in names), "the wheel holds other packages"
    (sdist,) = BUILT.glob("*.tar.gz")
    with tarfile.open(sdist) as source:
        held = {name.partition("/")[2] for name in source.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/hedgerow/__init__.py"} <= held


def lowest(requirement: str) -> str:
    """Return the lowest version that a requirement allows, with any last part.

    >>> lowest("numpy>=2.0")
    'numpy==2.0.*'
    """
    name, version = re.split(">=", requirement)
    return f"{name}=={version}.*"


def test_wheel(wheel: Path, versions: list[str]) -> None:
    """Run the standalone tests against the wheel in a fresh environment, away from the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        away = Path(folder)
        run(sys.executable, "-m", "venv", away / "env")
        python = away / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, "pytest", *versions)
        shutil.copytree(ROOT / "tests" / "standalone", away / "standalone")
        run(python, "-m", "pytest", "-q", "-ra", "standalone", cwd=away)


if __name__ == "__main__":
    built = build()
    check_archives(built)
    test_wheel(built, [lowest(each) for each in PROJECT["dependencies"]])
    test_wheel(built, [])
    print("The archives are ready.")
