"""Margins C(y, v) between a label y and a node v outside its subtree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError, ScoreError

if TYPE_CHECKING:
    from hedgerow.tree import Hierarchy

Margin = Literal["correct", "depth", "information"] | Callable[[NDArray[np.int64]], ArrayLike]
"""1 - Correct, the edges between y and v, the bits that they do not share, or a function of their LCA."""


def margin_parts(hierarchy: Hierarchy, margin: Margin) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split a margin other than "correct" into values of single nodes: C(y, v) = own(y) + own(v) + shared(lca)."""
    if callable(margin):
        shared = np.asarray(margin(np.arange(len(hierarchy))), dtype=np.float64)
        if shared.shape != (len(hierarchy),) or not np.isfinite(shared).all():
            raise ScoreError("A margin function must take an array of nodes and return one finite value for each.")
        return np.zeros(len(hierarchy)), shared
    if margin not in ("depth", "information"):
        raise ParameterError(
            f"margin must be 'correct', 'depth', 'information' or a function of the lca, not {margin!r}."
        )
    own = hierarchy.information("depth" if margin == "depth" else "leaves")
    return own, -2 * own
