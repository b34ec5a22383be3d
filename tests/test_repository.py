"""The repository keeps what its pages promise."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hedgerow

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PRIVATE_ROOMS = {"arrays", "files", "cli"}
"""Rooms that only the other rooms use, and the command, which has a page of its own."""


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def public_rooms() -> list[str]:
    return [
        room.name
        for room in pkgutil.iter_modules(hedgerow.__path__)
        if room.name not in PRIVATE_ROOMS | {"__main__"}
    ]


def documented() -> dict[str, list[str]]:
    """Return the modules of the reference, and the names that are listed of each."""
    blocks = re.findall(
        r"^::: ([\w.]+)\n(?:    options:\n      members: \[(.*)\]\n)?", page("docs/api.md"), re.MULTILINE
    )
    return {module: names.split(", ") if names else [] for module, names in blocks}


def test_readme_names_the_two_commands() -> None:
    assert "make demo" in page("README.md")
    assert "make test" in page("README.md")


@pytest.mark.parametrize("target", ["setup", "demo", "test", "lint", "coverage", "bench", "docs", "clean", "help"])
def test_the_makefile_has_its_targets(target: str) -> None:
    assert re.search(rf"^{target}:", page("Makefile"), re.MULTILINE)


def test_every_public_room_is_in_the_reference() -> None:
    rooms = {module.split(".")[1] for module in documented()}
    assert rooms == set(public_rooms())


@pytest.mark.parametrize("module", documented())
def test_the_reference_lists_names_that_exist(module: str) -> None:
    found = importlib.import_module(module)
    public = getattr(found, "__all__", dir(found))
    assert set(documented()[module]) <= set(public)


def test_what_most_programs_need_is_in_the_reference() -> None:
    there = {name for names in documented().values() for name in names} | {
        module.rpartition(".")[2] for module in documented()
    }
    assert set(hedgerow.__all__) - {"__version__"} <= there


def test_the_changelog_has_an_unreleased_section() -> None:
    assert "## [Unreleased]" in page("CHANGELOG.md")


def test_there_is_one_version() -> None:
    version = PROJECT["project"]["version"]
    assert hedgerow.__version__ == version
    assert f"\nversion: {version}\n" in page("CITATION.cff")


def test_every_direct_dependency_is_pinned() -> None:
    def normal(requirement: str) -> str:
        name = re.split(r"[\[<>=~! ]", requirement, maxsplit=1)[0]
        return re.sub(r"[-_.]+", "-", name).lower()

    pinned = {normal(line) for line in page("constraints.txt").splitlines() if "==" in line}
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    for extra in ("plot", "report", "torch", "train"):  # what `make setup` installs
        wanted += extras[extra]
    assert {normal(requirement) for requirement in wanted} - pinned - {"hedgerow"} == set()


def test_local_links_of_the_pages_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda path: path.name)
def test_names_of_the_package_on_the_pages_exist(path: Path) -> None:
    for name in set(re.findall(r"(?<![\w/.])hedgerow(?:\.[A-Za-z_]\w*)+", path.read_text(encoding="utf-8"))):
        pkgutil.resolve_name(name)


def test_no_file_names_a_developers_machine() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)  # noqa: S607
    home = re.compile(rb"(?<![\w.])/(?:home|Users|root|work|mnt|opt)/\w")
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file() and path != Path(__file__):
            assert not home.search(path.read_bytes()), f"{name} holds an absolute path"


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.name)
def test_every_example_runs(script: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
