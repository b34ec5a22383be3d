"""What sphinx-gallery calls for a script: find figures, also those unknown to pyplot, and raise warnings."""

from __future__ import annotations

import warnings
from typing import Any

from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

DPI = 200
_caught = warnings.catch_warnings()


def raise_warnings(_settings: dict[str, Any], _script: str, when: str) -> None:
    """Turn the warnings of a script, not those of Sphinx, into errors."""
    global _caught  # each can be entered once
    if when == "before":
        _caught = warnings.catch_warnings(action="error")
        _caught.__enter__()
    else:
        _caught.__exit__(None, None, None)


def scrape(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return pyplot's figures, or else the one that a block of code calls `figure`."""
    shown = str(matplotlib_scraper(block, variables, settings, dpi=DPI))
    figure = variables["example_globals"].pop("figure", None)
    if shown or figure is None:
        return shown
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=DPI)
    return str(figure_rst([path], settings["src_dir"]))
