"""Draws `figures/report.png` and `report-examples.png`: parts of the page that `make demo` makes, in Chromium.

python docs/draw_report.py demo/report.html
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FIGURES = Path(__file__).parent / "figures"
WIDTH = 1120


def draw(page: Path) -> None:
    """Open a page, and write pictures of its top and of some examples."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": WIDTH, "height": 1000})
        opened.goto(page.resolve().as_uri())
        opened.wait_for_selector("html[data-ready]", state="attached")
        opened.wait_for_timeout(500)  # for the markers to arrive
        opened.screenshot(path=FIGURES / "report.png")
        top = opened.locator("#cards-title").evaluate("title => title.getBoundingClientRect().top + scrollY")
        clip = {"x": 0, "y": top - 20, "width": WIDTH, "height": 840}
        opened.screenshot(path=FIGURES / "report-examples.png", full_page=True, clip=clip)  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
