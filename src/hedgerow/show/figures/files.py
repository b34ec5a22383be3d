"""Figures as files."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from hedgerow.errors import ParameterError
from hedgerow.files import atomic_write

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG, depending on the extension, whole or not at all; bytes reproducible."""
    suffix = PurePath(path).suffix.lower().removeprefix(".")
    undated: dict[str, Any] = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    if suffix not in undated:
        raise ParameterError(f"Figures are written as .png, .pdf or .svg, not as {'.' + suffix!r}.")
    with mpl.rc_context({"svg.hashsalt": "hedgerow"}), atomic_write(path, "wb") as file:
        figure.savefig(file, format=suffix, dpi=200, metadata=undated[suffix])
