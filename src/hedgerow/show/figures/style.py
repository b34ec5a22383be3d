"""What all figures share: colours, shapes, names as text, and how they are saved."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from hedgerow.errors import ParameterError
from hedgerow.files import atomic_write

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

COLOURS = (
    *("#3f90da", "#bd1f01", "#ffa90e", "#832db6", "#000000"),
    *("#a96b59", "#e76300", "#717581", "#b9ac70", "#92dadd"),
    *("#601020", "#202050"),
)
"""Twelve colours that colour-blind readers can distinguish: ten of Petroff (2021), and two more."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d")
"""One shape per system, so that colour is never the only difference."""

_UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
"""The metadata of each file type, without what would differ from one run to the next."""


def literal(name: str) -> str:
    r"""Escape a name so that Matplotlib does not read it as a formula.

    >>> print(literal("$5 bill"))
    \$5 bill
    """
    return name.replace("$", r"\$")


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG, depending on the extension; atomically, with reproducible bytes."""
    suffix = PurePath(path).suffix.lower().removeprefix(".")
    if suffix not in _UNDATED:
        raise ParameterError(f"Figures are written as .png, .pdf or .svg, not as {'.' + suffix!r}.")
    with mpl.rc_context({"svg.hashsalt": "hedgerow"}), atomic_write(path, "wb") as file:
        figure.savefig(file, format=suffix, dpi=200, metadata=_UNDATED[suffix])
