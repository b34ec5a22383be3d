"""What a report weighs, and how long a browser takes to show its curves and follow the slider.

Run with `python -m benchmarks.bench_report [PAGE ...]`: without pages, on the garden and on 100,000 simulated
examples of two models with the tree of iNat21, or one like it. Several pages are opened in turns; each is compared
with the first. Opening needs Playwright and Chromium.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import hedgerow as hr
from benchmarks.bench_hierarchy import inat21_sized
from benchmarks.simulate import Simulated
from hedgerow.measure import EvaluationBuilder
from hedgerow.show import write_report

EXAMPLES, ROUNDS = 100_000, 9
GOALS = {"garden": 600_000, "iNat21": 4_000_000}  # bytes
GARDEN = Path(__file__).parents[1] / "examples" / "garden.csv"
SCORES = Path(__file__).parents[1] / "examples" / "garden_scores.csv"
WATCH = """new MutationObserver((_, observer) => {
    if (!document.documentElement?.dataset.ready) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.opened = performance.now(); }));
}).observe(document, { subtree: true, childList: true, attributes: true });"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pages = [Path(page).resolve() for page in sys.argv[1:]] or write_pages(Path(folder))
        print("| page | size (kB) | goal | met |\n|---|---|---|---|")
        for page in pages:
            size, goal = page.stat().st_size, GOALS.get(page.stem)
            told = "| | |" if goal is None else f"| < {goal / 1000:,.0f} | {'yes' if size < goal else 'NO'} |"
            print(f"| {page.stem} | {size / 1000:,.0f} {told}")
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        if chromium is None or find_spec("playwright") is None:
            print("\nPlaywright or Chromium is not installed: the pages were not opened.")
            return
        print(f"\n| page | opening (ms, median of {ROUNDS}) | as a share of the first |\n|---|---|---|")
        taken = opening_times(pages, chromium)
        for page, milliseconds in zip(pages, taken, strict=True):
            print(f"| {page.stem} | {milliseconds:,.0f} | {milliseconds / taken[0]:.2f} |")


def write_pages(folder: Path) -> list[Path]:
    """Write both pages."""
    pages = [folder / f"{name}.html" for name in GOALS]
    garden = hr.Hierarchy.from_lineages(GARDEN)
    write_report(pages[0], [hr.evaluate(garden, hr.open_scores(SCORES, garden))])
    h, models = inat21_sized(), []
    for seed in (0, 1):
        builder = EvaluationBuilder(h)
        for block in Simulated(0, EXAMPLES, seed=seed)(h):
            assert block.labels is not None
            builder.update(block.likelihoods, block.labels)
        models.append(builder.compute())
    write_report(pages[1], models)
    return pages


def opening_times(pages: list[Path], chromium: str) -> list[float]:
    """Return, for each page, the median time from its request to the first frame that can be used."""
    from playwright.sync_api import sync_playwright

    taken: list[list[float]] = [[] for _ in pages]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(ROUNDS):
            for page, times in zip(pages, taken, strict=True):
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                opened = context.new_page()
                opened.add_init_script(WATCH)
                opened.goto(page.as_uri())
                opened.wait_for_function("window.opened")
                times.append(opened.evaluate("window.opened"))
                context.close()
        browser.close()
    return [statistics.median(times) for times in taken]


if __name__ == "__main__":
    main()
