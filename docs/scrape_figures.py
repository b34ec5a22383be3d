"""Finds the figures of a script for sphinx-gallery, also those that pyplot does not know."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

DPI = 200


def scrape(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return pyplot's figures, or else the one that a block of code calls `figure`."""
    shown = str(matplotlib_scraper(block, variables, settings, dpi=DPI))
    figure = variables["example_globals"].pop("figure", None)
    if shown or figure is None:
        return shown
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=DPI)
    return str(figure_rst([path], settings["src_dir"]))
