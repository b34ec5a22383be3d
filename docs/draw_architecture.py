"""Draws `figures/architecture.svg`: the packages of hedgerow, and who imports whom.

Nothing here is drawn by hand. The order of the packages, and the line below which torch is not imported, are those
of the import contracts in `pyproject.toml`; the imports are those of the code; what a package is for is the first
line of its docstring.
"""

from __future__ import annotations

import ast
import html
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "figures" / "architecture.svg"

EDGE = 24  # empty space around the picture
CARD, GAP = 44, 8  # height of a package, and the space below it
STEP = CARD + GAP
TEXT = 560  # width of a package
WIRE = 24  # space between two wires
TOP = 92  # where the first package begins
BORDER = 26  # height of the line between the two halves

STYLE = """
  svg { --page: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0;
        --learn: #8250df; --learn-card: #f6f1fe; --core: #1a7f4b; --core-card: #eef8f1; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #0d1117; --ink: #f0f6fc; --soft: #9aa4af; --line: #3d444d;
          --learn: #b48ef8; --learn-card: #1e1830; --core: #4cc38a; --core-card: #10231a; }
  }
  text { font-family: sans-serif; fill: var(--ink); }
  .page { fill: var(--page); stroke: var(--line); }
  .title { font-size: 19px; font-weight: bold; }
  .hint, .job { font-size: 12.5px; fill: var(--soft); }
  .name { font-size: 14.5px; font-weight: bold; }
  .border { stroke: var(--soft); stroke-dasharray: 5 5; }
  .side { font-size: 12.5px; fill: var(--half); text-anchor: end; }
  .row { stroke: var(--line); }
  .learn { --half: var(--learn); --card: var(--learn-card); }
  .core { --half: var(--core); --card: var(--core-card); }
  .card { fill: var(--card); stroke: var(--half); stroke-opacity: 0.45; }
  .wire { stroke: var(--half); stroke-width: 2; stroke-opacity: 0.45; }
  .start { fill: var(--page); stroke: var(--half); stroke-width: 2; }
  .import { fill: var(--half); }
"""


def contracts() -> list[dict[str, Any]]:
    """Return the import contracts of the project: the order of the packages, and what stays out of which."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = project["tool"]["importlinter"]["contracts"]
    return found


def packages() -> list[str]:
    """Return the packages, each before those that it may import."""
    return next(list(contract["layers"]) for contract in contracts() if contract["type"] == "layers")


def packages_without(library: str) -> set[str]:
    """Return the packages that may not import a library: at least some of each."""
    return {
        module.split(".")[1]
        for contract in contracts()
        if library in contract.get("forbidden_modules", [])
        for module in contract["source_modules"]
    }


def entrance(package: str) -> Path:
    """Return the file that says what a package is: of a folder its `__init__`."""
    folder = ROOT / "src" / "hedgerow" / package
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def job(package: str) -> str:
    """Return what a package is for: the first line of its docstring."""
    source = entrance(package).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0].replace("`", "")


def imports() -> set[tuple[str, str]]:
    """Return the pairs of packages of which the first imports the second, if only for types or in a function."""
    graph = grimp.build_graph("hedgerow", cache_dir=None)
    order = packages()
    return {
        (importer, imported)
        for importer in order
        for imported in order
        if importer != imported
        and graph.direct_import_exists(
            importer=f"hedgerow.{importer}", imported=f"hedgerow.{imported}", as_packages=True
        )
    }


@dataclass(frozen=True)
class Plan:
    """Where everything stands: the packages from top to bottom, their wires from left to right."""

    order: list[str]
    learning: frozenset[str]
    """The packages that may import torch, all above the others."""

    @property
    def width(self) -> int:
        """Width of the picture."""
        return self.x(self.order[-1]) + 2 * EDGE

    @property
    def height(self) -> int:
        """Height of the picture."""
        return self.y(self.order[-1]) + CARD // 2 + EDGE

    @property
    def border(self) -> int:
        """The line between the two halves."""
        return TOP + len(self.learning) * STEP + (BORDER - GAP) // 2

    def x(self, package: str) -> int:
        """Return where the wire of a package falls."""
        return EDGE + TEXT + (self.order.index(package) + 1) * WIRE

    def y(self, package: str) -> int:
        """Return the middle of a package."""
        return TOP + self.order.index(package) * STEP + (0 if package in self.learning else BORDER) + CARD // 2

    def half(self, package: str) -> str:
        """Return the class of the colours of a package."""
        return "learn" if package in self.learning else "core"


def picture() -> str:
    """Return the picture as SVG."""
    order = packages()
    plan = Plan(order, frozenset(order) - packages_without("torch"))
    pairs = sorted(imports(), key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    body = [*frame(plan), *wires(plan, pairs), *cards(plan), *dots(plan, pairs)]
    size = f'viewBox="0 0 {plan.width} {plan.height}" width="{plan.width}" height="{plan.height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">'
    return "\n".join([head, *body, "</svg>", ""])


def frame(plan: Plan) -> Iterator[str]:
    """Yield the background, the title and the line between the halves."""
    right = plan.width - EDGE
    yield '<title id="title">The packages of hedgerow, and who imports whom</title>'
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="page" x="0.5" y="0.5" width="{plan.width - 1}" height="{plan.height - 1}" rx="10"/>'
    yield text("title", EDGE, EDGE + 18, "The packages of hedgerow")
    yield text("hint", EDGE, EDGE + 42, "A line falls from each package; a dot on it is one that it imports.")
    yield f'<path class="border" d="M{EDGE} {plan.border}H{right}"/>'
    yield text("side learn", right, plan.border - 9, "torch may be imported above this line,")
    yield text("side core", right, plan.border + 19, "and is not needed below it")


def wires(plan: Plan, pairs: list[tuple[str, str]]) -> Iterator[str]:
    """Yield a thin line from each package to its wire, and the wire, down to the last package that it imports."""
    for package in plan.order:
        yield f'<path class="row" d="M{EDGE + TEXT} {plan.y(package)}H{plan.x(package)}"/>'
    ends = dict(pairs)  # the pairs are sorted: the last package that is imported stays
    for package, last in ends.items():
        yield f'<path class="wire {plan.half(package)}" d="M{plan.x(package)} {plan.y(package)}V{plan.y(last)}"/>'


def cards(plan: Plan) -> Iterator[str]:
    """Yield each package with its name, what it is for, and the start of its wire."""
    for package in plan.order:
        y = plan.y(package)
        yield f'<g class="{plan.half(package)}">'
        yield f'<rect class="card" x="{EDGE}" y="{y - CARD // 2}" width="{TEXT}" height="{CARD}" rx="8"/>'
        yield text("name", EDGE + 14, y - 4, package)
        yield text("job", EDGE + 14, y + 14, job(package))
        yield f'<circle class="start" cx="{plan.x(package)}" cy="{y}" r="5"/>'
        yield "</g>"


def dots(plan: Plan, pairs: list[tuple[str, str]]) -> Iterator[str]:
    """Yield a dot for every pair of packages of which the first imports the second."""
    for importer, imported in pairs:
        place = f'cx="{plan.x(importer)}" cy="{plan.y(imported)}" r="5"'
        said = f"<title>{importer} imports {imported}</title>"
        yield f'<circle class="import {plan.half(importer)}" {place}>{said}</circle>'


def text(kind: str, x: int, y: int, words: str) -> str:
    """Return one line of text."""
    return f'<text class="{kind}" x="{x}" y="{y}">{html.escape(words, quote=False)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
