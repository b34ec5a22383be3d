"""The documentation builds without a warning, its links lead somewhere, its pages load nothing from elsewhere.

The build runs every tutorial and every figure of the gallery, warnings as errors.
A browser opens every page, as wide as a phone and as a desk; on the page of the report, the explorer works.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("sphinx")

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTHS = {"phone": 400, "desk": 1280}


@dataclass
class Page(HTMLParser):
    """The ids, links and loaded files of a page, and its pictures without a text in their place."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)

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
        named = found.get("alt") or found.get("title") or found.get("src", "").endswith("_thumb.png")
        if tag in ("img", "iframe") and not named:  # the title of a figure stands beside its small picture
            self.silent.append(found["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the pages from a copy, which runs the tutorials; the Makefile keeps transformers apart."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("tutorials", "gallery"))
    shutil.copytree(ROOT / "examples", folder / "examples")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "docs", "html"]
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT / "build" / "transformers")]))
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" not in path.parts and path.name != "explorer.html":  # a report: other tests are about these
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


def test_links_to_examples_lead_to_their_pages(site: Path, pages: dict[Path, Page]) -> None:
    assert "tutorials/tutorial_4_16s.html" in pages[site / "tools-reads.html"].links
    assert not any("examples/" in link or link.endswith(".py") for link in pages[site / "index.html"].links)


def test_pages_load_only_what_is_there(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for source in page.loaded:
            parts = urlsplit(source)
            assert not parts.netloc, f"{path.name} loads {source}"
            assert parts.scheme == "data" or (path.parent / unquote(parts.path)).exists(), f"{path.name}: {source}"


def test_pictures_have_a_text_in_their_place(pages: dict[Path, Page]) -> None:
    assert {path.name: page.silent for path, page in pages.items() if page.silent} == {}


def test_without_vsearch_its_tutorial_reads_what_vsearch_wrote(site: Path, tmp_path: Path) -> None:
    if shutil.which("vsearch") is None:
        printed = (site / "tutorials" / "tutorial_4_16s.html").read_text(encoding="utf-8")
    else:  # the build has used it
        script = ROOT / "examples" / "tutorials" / "tutorial_4_16s.py"
        environment = {**os.environ, "MPLBACKEND": "agg", "PATH": ""}
        command = [sys.executable, "-W", "error", str(script)]
        printed = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout
    assert "There is no vsearch here" in printed
    right = re.search(r"known genus, with a promise: ([\d.]+)%", printed)
    assert right is not None
    assert float(right[1]) > 90  # unless the file is about other reads than those that the tutorial makes


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site: in a page from disk, the search could not show parts of what it found."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no browser")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser: Any, address: str) -> Iterator[Any]:
    """Open a tab in which nothing may go wrong, and from which nothing may be asked of another machine."""
    opened = browser.new_page(viewport={"width": WIDTHS["phone"], "height": 900}, color_scheme="null")
    errors: list[str] = []
    asked: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("request", lambda request: asked.append(request.url))
    yield opened
    opened.close()
    assert errors == []
    assert [url for url in asked if not url.startswith((f"{address}/", "data:", "blob:"))] == []


def test_pages_in_a_browser(site: Path, pages: dict[Path, Page], address: str, tab: Any) -> None:
    for path in pages:
        tab.goto(f"{address}/{path.relative_to(site).as_posix()}")
        for name, width in WIDTHS.items():
            tab.set_viewport_size({"width": width, "height": 900})
            wide = tab.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{path.name} is {wide} pixels wide on a {name}"


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_page_of_the_report_shows_the_explorer(address: str, tab: Any, width: int) -> None:
    from playwright.sync_api import expect

    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(f"{address}/report.html")
    tab.locator("iframe.explorer").scroll_into_view_if_needed()
    explorer = tab.frame_locator("iframe.explorer")
    share = explorer.locator("#figures td[data-figure=correct]").first
    expect(share).to_have_text("95.0")
    explorer.locator("#slider").press("Home")
    expect(share).not_to_have_text("95.0")
    for theme in ("dark", "light"):
        tab.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        follows = f"matchMedia('(prefers-color-scheme: {theme})').matches"
        explorer.locator("body").evaluate(f"() => new Promise(done => setInterval(() => {follows} && done(), 20))")


@pytest.mark.parametrize(
    "words",
    [
        "TreeDisplay",
        "excel",
        "onnx",
        "latex",
        "obo",
        "uncertain",
        "abstain",
        "back off",
        "rollup",
        "calibration",
        "coverage",
        "selective risk",
        "conservative taxonomic assignment",
        "least common ancestor",
        "hedging",
    ],
)
def test_the_search_finds_what_people_look_for(address: str, tab: Any, words: str) -> None:
    tab.goto(f"{address}/search.html?q={words.replace(' ', '+')}")
    tab.locator("#search-results li a").first.wait_for()
