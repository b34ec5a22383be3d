"""The repository keeps what its pages promise."""

from __future__ import annotations

import doctest
import functools
import importlib
import io
import os
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

import hedgerow
from hedgerow.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PRIVATE_PACKAGES = {"arrays", "files", "cli"}
"""Packages that only the other packages use, and the command, which has a page of its own."""
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("docs/**/*.md")]
SCRIPTS = sorted(path for path in ROOT.glob("examples/*.py") if path.name != "long_tail.py")
"""Examples that are no part of the site, whose build runs the others; a test of its own runs the long tail."""


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def public_packages() -> list[str]:
    return [
        package.name
        for package in pkgutil.iter_modules(hedgerow.__path__)
        if package.name not in PRIVATE_PACKAGES | {"__main__"}
    ]


def documented() -> dict[str, list[str]]:
    """Return the modules of the reference, and the names that are listed of each."""
    found: dict[str, list[str]] = {}
    for path in sorted(ROOT.glob("docs/api/*.md")):
        module = ""
        for kind, name in re.findall(
            r"^\.\. auto(\w+):: ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            if kind == "module":
                module = name
                found[module] = []
            else:
                found[module].append(name)
    return found


def resolves(module: str, name: str) -> bool:
    """Return whether a name of the reference exists and is public: of its module, or with its own path."""
    if "." in name:
        module, _, name = name.rpartition(".")
    there = importlib.import_module(module)
    return hasattr(there, name) and name in getattr(there, "__all__", dir(there))


def test_every_public_package_is_in_the_reference() -> None:
    packages = {module.split(".")[1] for module in documented()}
    assert packages == set(public_packages())


@pytest.mark.parametrize("module", documented())
def test_the_reference_lists_names_that_exist(module: str) -> None:
    assert [name for name in documented()[module] if not resolves(module, name)] == []


def test_what_most_programs_need_is_in_the_reference() -> None:
    there = {name.rpartition(".")[2] for names in documented().values() for name in names}
    there |= {module.rpartition(".")[2] for module in documented()}
    assert set(hedgerow.__all__) - {"__version__"} <= there


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
    for path in PAGES:
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / link).exists(), f"{path.name} links to {link}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_names_of_the_package_on_the_pages_exist(path: Path) -> None:
    found = set(re.findall(r"(?<![\w/.])hedgerow(?:\.[A-Za-z_]\w*)+", path.read_text(encoding="utf-8")))
    for name in found - {"hedgerow.js"}:
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


def run_script(script: Path, folder: Path) -> str:
    """Run an example in a folder, warnings as errors; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_example_runs(script: Path, tmp_path: Path) -> None:
    assert run_script(script, tmp_path)


def test_the_page_on_long_tails_has_what_its_example_prints(tmp_path: Path) -> None:
    """Training may differ in the last digit from one machine to another."""

    def rows(text: str) -> dict[str, list[float]]:
        found = re.findall(r"^\| ([^|]+) \| ([\d.]+(?: \| [\d.]+){3}) \|$", text, re.MULTILINE)
        return {name: [float(number) for number in numbers.split(" | ")] for name, numbers in found}

    printed = rows(run_script(ROOT / "examples" / "long_tail.py", tmp_path))
    shown = rows(page("docs/how-to/long-tails.md"))
    assert printed.keys() == shown.keys()
    assert len(shown) == 4
    for name, numbers in printed.items():
        assert numbers == pytest.approx(shown[name], abs=0.021), name


GARDEN = "examples/garden_scores.csv --tree examples/garden.csv --tree-format lineages"
NOT_RUN = ("hedgerow tree taxdump", "hedgerow evaluate 'scores/")
"""Commands that are shown with their output, and need data that is not part of the repository."""


def shown_commands() -> list[Any]:
    """Return the commands that the pages show with what they print."""
    return [
        pytest.param(command, shown, id=f"{path.name}-{command.split()[1]}")
        for path in sorted(PAGES)
        for block in re.findall(
            r"^```console\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
        if command.startswith("hedgerow") and not command.startswith(NOT_RUN)
    ]


@pytest.fixture(scope="module")
def folder_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the commands of the pages work."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(ROOT / "tests" / "score_files" / "data", folder, dirs_exist_ok=True)
    (folder / "cycle.csv").write_text("a,b\nb,a\n", encoding="utf-8")
    edges = "animal,bird animal,fish bird,robin bird,wren fish,cod fish,pike"
    (folder / "tree.csv").write_text("\n".join(edges.split()), encoding="utf-8")
    (folder / "species.txt").write_text("robin\nwren\ncod\n", encoding="utf-8")
    run_script(ROOT / "examples" / "two_models.py", folder)
    return folder


@pytest.fixture(scope="module")
def prints(folder_of_examples: Path) -> Callable[[str], str]:
    """Return a function of a command that returns what it prints; each runs once."""

    @functools.cache
    def run(command: str) -> str:
        printed = io.StringIO()
        with (
            chdir(folder_of_examples),
            mock.patch.dict(os.environ, COLUMNS="80"),
            mock.patch.object(sys, "argv", command.split()),
            redirect_stdout(printed),
            redirect_stderr(printed),
            suppress(SystemExit),
        ):
            main()
        return printed.getvalue()

    run(f"hedgerow select {GARDEN} --target correct=0.9 -o point.json")
    return run


@pytest.mark.parametrize(("command", "shown"), shown_commands())
def test_commands_print_what_the_pages_show(command: str, shown: str, prints: Callable[[str], str]) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    printed = prints(command)
    assert doctest.OutputChecker().check_output(shown, printed, flags), printed


def test_the_readme_shows_the_beginning_of_its_files(
    folder_of_examples: Path, prints: Callable[[str], str]
) -> None:
    prints(f"hedgerow predict {GARDEN} --point point.json -o garden_answers.csv")  # others write answers.csv, too
    blocks = re.findall(r"^```text\n([^`]*)```", page("README.md"), re.MULTILINE)
    for name in ("examples/garden.csv", "examples/garden_scores.csv", "garden_answers.csv"):
        lines = (folder_of_examples / name).read_text(encoding="utf-8").splitlines()
        (shown,) = [block.splitlines() for block in blocks if block.startswith(lines[0][:20])]
        assert len(shown) >= 3
        for line, full in zip(shown, lines, strict=False):
            assert full == line if not line.endswith("...") else full.startswith(line.removesuffix("..."))


def test_the_readme_says_how_to_find_the_command_before_it_uses_it() -> None:
    readme = page("README.md")
    assert readme.index("## Install") < readme.index("bin/activate") < readme.index("$ hedgerow")


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(("rule", "needs"), [("setup", 0), ("tour", 0), ("demo", 0), ("unit", 1), ("docs", 1)])
def test_only_the_rules_that_run_its_tutorial_install_transformers(rule: str, needs: int) -> None:
    command = ["make", "--dry-run", "--always-make", rule]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert planned.count("--target build/transformers transformers") == needs


def test_the_badges_of_the_readme_are_true() -> None:
    badges = dict(re.findall(r"img\.shields\.io/badge/(\w+)-(.+?)-blue", page("README.md")))
    assert badges == {"python": "3.11%2B", "licence": "MIT", "typed": "mypy%20--strict"}
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert PROJECT["project"]["license"] == "MIT"
    assert PROJECT["tool"]["mypy"]["strict"]


def test_the_picture_of_the_readme_is_what_the_script_draws() -> None:
    drawing = runpy.run_path(str(ROOT / "docs" / "draw_answers.py"))
    assert drawing["PICTURE"].read_text(encoding="utf-8") == drawing["picture"]()
