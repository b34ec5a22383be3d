"""How specific nodes are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.tree.layout import fold_up

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree.hierarchy import Hierarchy
    from hedgerow.tree.settings import InformationKind


def measure_information(
    hierarchy: Hierarchy, kind: InformationKind | ArrayLike, leaf_weights: ArrayLike | None
) -> NDArray[np.float64]:
    """Return how specific each node is; see `Hierarchy.information`."""
    if leaf_weights is not None:
        if not isinstance(kind, str) or kind != "leaves":
            raise ParameterError("leaf_weights can only be used with kind='leaves'.")
        return _bits(_subtree_weight(hierarchy, leaf_weights))
    if not isinstance(kind, str):
        return _checked(hierarchy, kind)
    if kind == "leaves":
        return _bits(hierarchy.leaf_count)
    if kind == "depth":
        return hierarchy.depth.astype(np.float64)
    raise ParameterError(f"Information must be 'leaves', 'depth' or one value per node, not {kind!r}.")


def _bits(amount: NDArray[Any]) -> NDArray[np.float64]:
    bits: NDArray[np.float64] = np.log2(amount[0]) - np.log2(amount)
    return bits


def _subtree_weight(hierarchy: Hierarchy, leaf_weights: ArrayLike) -> NDArray[np.float64]:
    weights = np.asarray(leaf_weights, dtype=np.float64)
    if weights.shape != hierarchy.leaves.shape:
        raise ScoreError(
            f"{len(hierarchy.leaves)} leaf weights are needed, one per leaf; got shape {weights.shape}."
        )
    bad = ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        leaf = int(np.flatnonzero(bad)[0])
        raise ScoreError(
            f"Leaf weights must be positive numbers; the weight of {hierarchy.names[hierarchy.leaves[leaf]]!r} is "
            f"{weights[leaf]}. Give rare classes a small positive weight."
        )
    weight = np.zeros(len(hierarchy))
    weight[hierarchy.leaves] = weights
    return fold_up(np.add, weight, hierarchy.parent, hierarchy.depth)


def _checked(hierarchy: Hierarchy, values: ArrayLike) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    if array.shape != (len(hierarchy),):
        raise ScoreError(
            f"Information needs one value per node, {len(hierarchy)} in all; got shape {array.shape}."
        )
    if not np.isfinite(array).all() or array[0] != 0 or np.any(array[1:] < array[hierarchy.parent[1:]]):
        raise ScoreError(
            "Information must be finite, 0 at the root, and never smaller at a child than at its parent."
        )
    return array
