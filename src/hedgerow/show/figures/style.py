"""Colours, shapes and names, the same in all figures."""

from __future__ import annotations

COLOURS = (
    *("#3f90da", "#bd1f01", "#ffa90e", "#832db6", "#000000"),
    *("#a96b59", "#e76300", "#717581", "#b9ac70", "#92dadd"),
)
"""Ten colours that colour-blind readers can distinguish (after Petroff, 2021)."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
"""One shape per system, so that colour is never the only difference."""


def literal(name: str) -> str:
    r"""Return a name as text that Matplotlib does not take for a formula.

    >>> print(literal("$5 bill"))
    \$5 bill
    """
    return name.replace("$", r"\$")
