"""Integer labels that look like numbers of classes, though they are taken as node indices."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy

_CHANCE = 0.01  # how likely a coincidence must be to be taken for one


def warn_of_class_numbers(hierarchy: Hierarchy, used: NDArray[np.bool_]) -> None:
    """Warn, where the caller's own code stands, if node indices look like numbers of classes.

    Numbers of classes lie below the number of leaves. Node indices rarely all do, the more of them there are;
    and if they all were leaves, there would be nothing to doubt.

    Parameters
    ----------
    hierarchy
        The tree.
    used
        [nodes] Which nodes are labels, according to integers whose meaning nobody stated.
    """
    leaves, count = len(hierarchy.leaves), np.count_nonzero(used)
    if not count or used[leaves:].any() or hierarchy.is_leaf[used].all():
        return
    drawn = np.arange(count)
    chance = float(np.prod((leaves - drawn) / (len(hierarchy) - drawn)))
    if chance < _CHANCE:
        warnings.warn(
            f"The labels are integers and were taken as node indices, but all {count:,} different ones lie below "
            f"{leaves:,}, the number of leaves, as numbers of classes would. If that is what they are, say which "
            f"classes they number: classes=names. If they are node indices, say classes=hierarchy.names.",
            stacklevel=_levels_to_caller(),
        )


def _levels_to_caller() -> int:
    """Count the frames up to the first that is not ours, as `warnings.warn` in the calling function counts."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "hedgerow":
        level, frame = level + 1, frame.f_back
    return level
