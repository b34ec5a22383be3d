"""Settings of the documentation, which Sphinx builds: `make docs`.

The build needs no network, and the pages load nothing from elsewhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from base64 import b64encode
from dataclasses import fields, is_dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import hedgerow
from hedgerow.files import descriptions

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
sys.path.insert(0, str(HERE))  # for scrape_figures and live_example

from live_example import live_example  # noqa: E402

LIVE_EXAMPLE = "<!-- the live example -->\n"

SMALL = """
html { font-size: 14px; }
.brand, .top h1, .facts { display: none; }
.top { padding-top: 14px; padding-bottom: 4px; }
.headline { margin: 0; font-size: 1.25rem; max-width: none; }
.curve { height: 320px; }
.card { padding: 14px; }
.figures tbody th { min-width: 5em; }
@media (min-width: 700px) { .pair { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 14px; } }
"""
"""What makes a report fit into a page of the site."""

WITHOUT_CONTENTS = ("index", "methods", "results-studies", "results-speed")
"""Pages that need the width for their tables."""

project = "hedgerow"
author = "The hedgerow developers"
version = release = hedgerow.__version__
copyright = author  # noqa: A001  (Sphinx's name)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["**/GALLERY_HEADER.rst", "tutorials/*.ipynb", "gallery/*.ipynb"]
default_role = "py:obj"  # `Hierarchy` in a docstring is a link if such an object is on these pages
suppress_warnings = ["ref.python"]  # two objects of the same name, such as two methods `update`: no link

html_theme = "pydata_sphinx_theme"
html_title = "hedgerow"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_use_index = html_domain_indices = False  # the search finds names
html_copy_source = False
html_sidebars = {"index": []}
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"]} | {page: [] for page in WITHOUT_CONTENTS},
    "footer_start": ["copyright"],
    "footer_end": [],
}
pygments_style = "default"

myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # types are in the code; signatures stay short
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False
toc_object_entries_show_parents = "hide"
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/gallery"],
    "gallery_dirs": ["tutorials", "gallery"],
    # Tutorial 0 needs the network, and holds what it prints; 3 needs transformers. Neither is run without.
    "filename_pattern": r"figure_\d|" + (r"tutorial_[1-9]" if find_spec("transformers") else r"tutorial_[124-9]"),
    "image_scrapers": ("scrape_figures.scrape",),
    "reset_modules": ("matplotlib", "scrape_figures.raise_warnings"),
    "reset_modules_order": "both",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_",),
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e6,
    "write_computation_times": False,
    "matplotlib_animations": False,
}


def with_headings(lines: list[str]) -> list[str]:
    """Return a docstring whose doctests all stand under a heading of their own.

    Without one, they would be part of the list of parameters above them.

    >>> with_headings(["Add.", "", "Parameters", "----------", "a", "", ">>> 1 + 1", "2"])[-4:]
    ['Examples', '--------', '>>> 1 + 1', '2']
    >>> with_headings(["Add.", "", ">>> 1 + 1", "2"])
    ['Add.', '', '>>> 1 + 1', '2']
    """
    found: list[str] = []
    section = ""
    for line in lines:
        if found and line and set(line) == {"-"}:
            section = found[-1]
        if line.startswith(">>>") and section not in ("", "Examples") and not found[-1].strip():
            section = "Examples"
            found += [section, "--------"]
        found.append(line)
    return found


def add_headings(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Give doctests a heading before napoleon reads the docstring."""
    lines[:] = with_headings(lines)


def add_fields(_app: Sphinx, what: str, _name: str, thing: Any, _options: Any, lines: list[str]) -> None:
    """Add to a dataclass the fields that its declaration describes; napoleon then shows them."""
    if what == "class" and is_dataclass(thing) and all("about" in each.metadata for each in fields(thing)):
        described = [line for name, text in descriptions(thing).items() for line in (name, f"    {text}")]
        lines += ["", "Attributes", "----------", *described, ""]


def list_other_pages(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Add to the reference every page of this folder that no list of pages names."""
    if docname != "reference":
        return
    pages = {page.stem: page.read_text(encoding="utf-8") for page in HERE.glob("*.md")}
    lists = "\n".join("".join(re.findall(r"```{toctree}.*?```", text, re.DOTALL)) for text in pages.values())
    others = sorted(
        name for name in pages if name != "index" and not re.search(rf"\b{name}>?$", lists, re.MULTILINE)
    )
    if others:
        source[0] += "\n".join(["```{toctree}", ":maxdepth: 1", ":caption: More", "", *others, "```"])


def link_examples(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """Turn links to examples, which a reader of the repository follows, into links to their pages.

    Files for developers have no page: their names take the place of the links.
    """
    linked = re.sub(r"\]\(((?:\.\./)*)\.\./examples/(\w+)/(\w+)\.py\)", r"](\1\2/\3.rst)", source[0])
    linked = re.sub(r"\]\(\.\./examples/(gallery|tutorials)\)", r"](\1/index.rst)", linked)
    developers = r"\[([^]]+)\]\((?:\.\./)+((?:benchmarks/README|CONTRIBUTING)\.md|tests/[\w/]+\.json)(?:#[^)]*)?\)"
    source[0] = re.sub(developers, r"\1 (`\2`)", linked)


def show_live_example(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """Put the live example into the page that has a place for it."""
    if LIVE_EXAMPLE in source[0]:
        source[0] = source[0].replace(LIVE_EXAMPLE, live_example())


def write_explorer(app: Sphinx, error: Exception | None) -> None:
    """Make the report that its page shows, as its readers would: with the command."""
    if error is not None or app.builder.format != "html":
        return
    with TemporaryDirectory() as folder:
        shutil.copy(EXAMPLES / "garden.csv", folder)
        tree = ["--tree", "garden.csv", "--tree-format", "lineages"]
        report = ["-m", "hedgerow", "report", "keen.csv", "careful.csv", *tree, "-o", "explorer.html"]
        for command in ([str(EXAMPLES / "two_models.py")], report):
            subprocess.run([sys.executable, *command], cwd=folder, check=True, capture_output=True)  # noqa: S603
        page = Path(folder, "explorer.html").read_text(encoding="utf-8")
    digest = b64encode(sha256(SMALL.encode()).digest()).decode()  # a report allows no other styles than it names
    small = page.replace("style-src ", f"style-src 'sha256-{digest}' ", 1)
    small = small.replace("</head>", f"<style>{SMALL}</style></head>", 1)
    Path(app.outdir, "explorer.html").write_text(small, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.connect("autodoc-process-docstring", add_headings, priority=400)
    app.connect("autodoc-process-docstring", add_fields, priority=400)
    app.connect("source-read", list_other_pages)
    app.connect("source-read", link_examples)
    app.connect("source-read", show_live_example)
    app.connect("build-finished", write_explorer)
