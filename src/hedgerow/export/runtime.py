"""What a program needs to answer at a point, as flat arrays: the same for every format that is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose import RANKS, clade_of_node
from hedgerow.errors import ParameterError
from hedgerow.infer import Candidates
from hedgerow.likelihood import BOTTOM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.choose import OperatingPoint
    from hedgerow.tree import Hierarchy, Indices

_BEYOND_SCORES = {"prior": "a prior", "pool": "pooled events", "weight_steps": "weights"}
"""Fields of a point, if set, with which an answer depends on more than the scores of an example and its group."""


def check_portable(point: OperatingPoint) -> None:
    """Refuse points whose answers need more than the scores of the example."""
    needed = [what for name, what in _BEYOND_SCORES.items() if getattr(point, name)]
    if needed:
        raise ParameterError(
            f"The point has {' and '.join(needed)}, which only the Python library applies: answer with hedgerow "
            f"predict."
        )


@final
@dataclass(frozen=True, eq=False)
class Runtime:
    """The tree and the thresholds of a point as arrays."""

    point: OperatingPoint
    tree: Hierarchy
    """The tree of the scores: that of the point, perhaps with siblings in another order."""
    order: Indices
    """The candidates, the most specific first; equally specific ones ascending."""
    tier: Indices
    """For each of these, a number that is larger for more specific nodes."""
    information: NDArray[np.float64]
    """The information of each of these."""
    stands_for: Indices
    """For each node, the node whose likelihood counts: for one that is never an answer, its only child."""
    bottom: float
    """Nodes that do not exceed it are never answers."""
    by_tip: NDArray[np.float64] | None
    """The threshold of examples by their most likely tip, for points by clade; NaN where nothing is promised."""
    lowest: NDArray[np.float64] | None
    """The threshold of each node, for points by rank."""

    @staticmethod
    def of(point: OperatingPoint, tree: Hierarchy | None = None) -> Runtime:
        """Lay out a point for a tree, by default its own."""
        check_portable(point)
        tree = tree or point.hierarchy
        point.check_tree(tree)
        candidates = Candidates.of(tree, point.settings)
        order = candidates.nodes[np.lexsort((candidates.nodes, -candidates.tier[candidates.nodes]))]
        unknown = np.inf if point.root_is_safe else np.nan
        by_tip = lowest = None
        if point.by == "clade":
            clades = tree.names[clade_of_node(tree, point.clade_depth or 1)]
            by_tip = np.array([point.thresholds.get(name, unknown) for name in clades.tolist()])
        if point.rule == RANKS:
            lowest = point.lowest_by_node(tree)
        return Runtime(
            point,
            tree,
            order,
            candidates.tier[order],
            candidates.value[order],
            candidates.stands_for,
            BOTTOM[point.scale],
            by_tip,
            lowest,
        )
