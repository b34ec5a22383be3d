"""Parts of a tree: subtrees with their projections, and random shares of the leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.tree.layout import Indices, follow

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree.hierarchy import Hierarchy


def subtree(hierarchy: Hierarchy, keep: ArrayLike) -> tuple[Hierarchy, Indices]:
    """Return the rooted tree spanned by some nodes, and the projection; see `Hierarchy.subtree`."""
    asked = np.zeros(len(hierarchy), dtype=bool)
    array = np.asarray(keep)
    if array.dtype == bool and array.shape != asked.shape:
        raise ScoreError(f"A mask needs one value per node, {len(hierarchy)} in all; got shape {array.shape}.")
    asked[array if array.dtype == bool else hierarchy.nodes(array)] = True
    asked_before = np.concatenate([[0], np.cumsum(asked)])
    kept = asked_before[hierarchy.end] > asked_before[:-1]
    kept[0] = True
    return _reduced(hierarchy, kept)


def without_trivial(hierarchy: Hierarchy) -> Hierarchy:
    """Return the tree without its trivial nodes; see `Hierarchy.without_trivial`."""
    kept = ~hierarchy.is_trivial
    return hierarchy if kept.all() else _reduced(hierarchy, kept)[0]


def _reduced(hierarchy: Hierarchy, kept: NDArray[np.bool_]) -> tuple[Hierarchy, Indices]:
    """Return the tree of the kept nodes and the root, each below its nearest kept ancestor; and the projection."""
    nearest = follow(np.where(kept, np.arange(len(hierarchy)), hierarchy.parent))
    projection = (np.cumsum(kept) - 1)[nearest]
    smaller = type(hierarchy)(
        hierarchy.names[kept],
        np.concatenate([[-1], projection[hierarchy.parent[kept][1:]]]),
        None if hierarchy.rank is None else hierarchy.rank[kept],
        None if hierarchy.title is None else hierarchy.title[kept],
    )
    return smaller, projection


def split_leaves(hierarchy: Hierarchy, fraction: float, seed: int, per_parent: bool) -> tuple[Indices, Indices]:
    """Draw a random share of the leaves; see `Hierarchy.split_leaves`."""
    if not 0 <= fraction <= 1:
        raise ParameterError(f"fraction must lie between 0 and 1, not {fraction}.")
    random = np.random.default_rng(seed)
    group = hierarchy.parent[hierarchy.leaves] if per_parent else np.zeros_like(hierarchy.leaves)
    shuffled = np.lexsort((random.random(len(group)), group))
    first, size = np.unique(group[shuffled], return_index=True, return_counts=True)[1:]
    share = np.floor(size * fraction + random.random(len(size)))
    place = np.arange(len(group)) - np.repeat(first, size)
    chosen = np.zeros(len(group), dtype=bool)
    chosen[shuffled] = place < np.repeat(share, size)
    return hierarchy.leaves[chosen], hierarchy.leaves[~chosen]
