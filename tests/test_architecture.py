"""The code is as docs/architecture.md says: its packages, who imports whom, and what each verb calls."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
import runpy
import subprocess
import sys
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.cli import app
from tests.make_scores import LEAVES, H, probabilities, save_table

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hedgerow"
PAGE = ROOT / "docs" / "architecture.md"
DRAWING: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))
PACKAGES: list[str] = DRAWING["packages"]()

OPEN_PACKAGES = {"learn", "study", "cli"}
"""Packages whose files are imported by name: their parts need different extras, or load slowly."""
OPEN_FILES = {"show.figures", "show.page"}
"""Parts of other packages that are imported by name: these need matplotlib, or Jinja2."""
LONGEST_JOB = 85
"""Characters that fit on a card of the picture."""
CYCLES = [
    {"arrays.interface", "arrays.numpy_ops"},
    {"arrays.torch_ops", "arrays.triton_ops"},
    {"likelihood.likelihoods", "likelihood.sparse"},
    {"infer.pareto", "infer.sparse"},
    {"tree.hierarchy", "tree.node", "tree.parts", "tree.settings"},
]
"""Modules that import each other: pairs of which one hands over to the other, and a tree with its parts."""


# The picture and the packages -----------------------------------------------------------------------------------


def test_the_picture_is_what_the_script_draws() -> None:
    drawn = DRAWING["picture"]()
    assert DRAWING["PICTURE"].read_text(encoding="utf-8") == drawn, "run python docs/draw_architecture.py"


def test_the_packages_are_those_of_the_import_contract() -> None:
    there = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    there |= {path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__")}
    assert there == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_comes_in_and_what_goes_out(package: str) -> None:
    text = ast.get_docstring(syntax(DRAWING["entrance"](package)))
    assert text is not None
    prose = text.partition(">>>")[0]
    assert len(re.findall(r"[.!?](?=\s|$)", prose)) >= 3
    assert re.search(r"\bIn comes?\b", prose)
    assert re.search(r"\bout (go|goes|come|comes)\b", prose)
    assert len(DRAWING["job"](package)) <= LONGEST_JOB


def test_tests_mirror_the_rooms() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if (path / "__init__.py").exists()}
    assert folders - {"fuzz"} <= set(PACKAGES)


# Who imports whom --------------------------------------------------------------------------------------------


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def exported(package: str) -> frozenset[str]:
    for statement in syntax(DRAWING["entrance"](package)).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(statement.value))
    return frozenset()


def imported(path: Path) -> Iterator[list[str]]:
    """Yield everything that a file imports from the package, as a dotted name without hedgerow."""
    for node in ast.walk(syntax(path)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}, has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, *rest = name.split(".")
            if package == "hedgerow":
                yield rest


def from_inside(name: list[str]) -> bool:
    """Tell whether a name is taken from a file of a package, or is not among what the package exports."""
    package, *rest = name
    if not rest or package not in PACKAGES or package in OPEN_PACKAGES or ".".join(name[:2]) in OPEN_FILES:
        return False
    return len(rest) > 1 or rest[0] not in exported(package)


def test_packages_are_imported_not_their_files() -> None:
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        for name in imported(path):
            if name and name[0] != place.parts[0] and from_inside(name):
                found.add(f"{place.as_posix()}: {'.'.join(name)}")
    assert not found


def imports() -> dict[str, set[str]]:
    """Return which modules each module imports, for types and inside functions too."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[module_of(name)] = {module_of(".".join(each)) for each in imported(path)}
    return found


def reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Return the modules that a module imports, that these import, and so on."""
    seen: set[str] = set()
    left = [start]
    while left:
        new = graph[left.pop()] - seen
        seen |= new
        left += new
    return seen


def test_no_other_modules_import_each_other() -> None:
    graph = imports()
    reach = {module: reached(module, graph) for module in graph}
    found = {frozenset(other for other in reach[module] if module in reach[other]) for module in graph}
    cycles = [{module.removeprefix("hedgerow.") for module in cycle} for cycle in found if cycle]
    assert sorted(map(sorted, cycles)) == sorted(map(sorted, CYCLES))


# What the verbs call ----------------------------------------------------------------------------------------


BUDGETS = {
    "doctor tree.csv": 22,
    "tree tree.csv -o tree.json": 17,
    "evaluate scores.csv --tree tree.csv -o saved": 55,
    "merge saved -o both": 33,
    "compare saved both": 36,
    "report saved -o page.html": 51,
    "select scores.csv --tree tree.csv --target correct=0.9 -o p.json": 61,
    "select scores.csv --tree tree.csv --target correct=0.5 --among answered -o a.json": 64,
    "predict scores.csv --point p.json -o answers.csv": 52,
    "monitor p.json answers.csv": 30,
    "export p.json -o app": 25,
    "train features-linear --set data.path=f.npz --set data.tree=tree.csv --set optimiser.epochs=1 -o run": 73,
}
"""Each verb, and the most modules in which it may call a function: who follows it reads them. (A study trains.)"""


WRITING = [command for command in BUDGETS if command.split()[-1] in ("saved", "p.json", "answers.csv")]
"""Those that write what others read."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the verbs read."""
    place = tmp_path_factory.mktemp("calls")
    H.to_edges(place / "tree.csv")
    save_table(place / "scores.csv", probabilities(400), label=LEAVES * 100)
    labels = np.array(LEAVES * 20)
    split = np.repeat(["train", "train", "val", "test"], 20)
    np.savez(place / "f.npz", features=np.random.default_rng(0).normal(size=(80, 3)), labels=labels, split=split)
    with chdir(place):
        for command in WRITING:
            assert CliRunner().invoke(app, command.split()).exit_code == 0
    return place


def modules_called(folder: Path, command: str) -> set[str]:
    """Return the modules in which a command calls a function."""
    tracer = Path(__file__).with_name("trace_calls.py")
    words = [sys.executable, str(tracer), *command.split()]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads((folder / "called.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("command", BUDGETS)
def test_a_verb_calls_few_modules(command: str, folder: Path) -> None:
    called = modules_called(folder, command)
    assert f"hedgerow.cli.{command.split()[0]}" in called
    assert len(called) <= BUDGETS[command], "\n".join(sorted(called))


def test_every_verb_has_a_budget() -> None:
    verbs = {str(each.callback and each.callback.__name__) for each in app.registered_commands}
    assert {command.split()[0] for command in BUDGETS} == verbs - {"study"}


# The page ----------------------------------------------------------------------------------------------------


def section(title: str) -> str:
    """Return the text under a heading of the page."""
    return PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def names_in(text: str) -> list[str]:
    """Return what stands between backticks and begins like a module of the package."""
    spans = re.findall(r"`([a-z_]+(?:\.\w+)+)`", text)
    return [span for span in spans if span.split(".")[0] in PACKAGES]


def module_of(name: str) -> str:
    """Return the module of a dotted name: its longest beginning that is a file or a folder with an `__init__`."""
    parts = name.split(".") if name else []
    while not (
        SOURCE.joinpath(*parts).with_suffix(".py").exists() or SOURCE.joinpath(*parts, "__init__.py").exists()
    ):
        parts.pop()
    return ".".join(["hedgerow", *parts])


@pytest.mark.parametrize("name", sorted(set(names_in(PAGE.read_text(encoding="utf-8")))))
def test_names_on_the_page_are_names_in_the_code(name: str) -> None:
    pkgutil.resolve_name(f"hedgerow.{name}")


def test_files_on_the_pages_exist() -> None:
    pages = PAGE.read_text(encoding="utf-8") + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:src|tests|docs)/[\w./]+)`", pages)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_call_path_on_the_page_is_the_one_that_is_called(folder: Path) -> None:
    called = modules_called(folder, "evaluate scores.csv --tree tree.csv")
    named = {module_of(name) for name in names_in(section("The call path of an evaluation"))}
    assert len(named) >= 15
    assert named <= called
