"""The documentation builds without a warning, its links lead somewhere, its pages load nothing from elsewhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("sphinx")

ROOT = Path(__file__).parents[1]
WIDTHS = {"phone": 400, "desk": 1280}


@dataclass
class Page(HTMLParser):
    """The ids, links and loaded files of a page."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and "stylesheet" in found.get("rel", ""):
            self.loaded.append(found["href"])
        if "src" in found:
            self.loaded.append(found["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the pages from a copy; the tutorials, which other tests run, are shown without their output."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("tutorials"))
    shutil.copytree(ROOT / "examples", folder / "examples")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "-D", "plot_gallery=0"]
    done = subprocess.run([*command, "docs", "html"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" not in path.parts:
            found[path] = Page()
            found[path].feed(path.read_text(encoding="utf-8"))
    assert len(found) > 30
    return found


def test_links_lead_somewhere(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or link in ("", "#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name} links to {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].ids, f"{path.name} links to {link}"


def test_pages_load_nothing_from_elsewhere(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for source in page.loaded:
            assert not urlsplit(source).netloc, f"{path.name} loads {source}"


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_pages_in_a_browser(pages: dict[Path, Page], width: int) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no browser")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 900})
        errors: list[str] = []
        asked: list[str] = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        tab.on("request", lambda request: asked.append(request.url))
        for path in pages:
            tab.goto(path.as_uri())
            wide = tab.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{path.name} is {wide} pixels wide"
        browser.close()
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
