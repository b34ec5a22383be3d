"""Parts of a tree: subtrees with their projections, and random shares of the leaves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.tree.layout import Indices, follow
from hedgerow.tree.names import Aliases

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    return _reduced(hierarchy, ~hierarchy.is_trivial)[0]


def _reduced(hierarchy: Hierarchy, kept: NDArray[np.bool_]) -> tuple[Hierarchy, Indices]:
    """Return the tree of the kept nodes and the root, each below its nearest kept ancestor; and the projection."""
    nearest = follow(np.where(kept, np.arange(len(hierarchy)), hierarchy.parent))
    projection = (np.cumsum(kept) - 1)[nearest]
    parent = np.concatenate([[-1], projection[hierarchy.parent[kept][1:]]])
    return _part(hierarchy, kept, parent), projection


def clade(hierarchy: Hierarchy, node: int) -> Hierarchy:
    """Return the tree of a node and its descendants; see `Hierarchy.clade`."""
    if hierarchy.is_leaf[node]:
        raise ParameterError(f"{hierarchy.display_name(node)!r} is a leaf: there is no tree below it.")
    kept = np.zeros(len(hierarchy), dtype=bool)
    kept[node : hierarchy.end[node]] = True
    return _part(hierarchy, kept, np.maximum(hierarchy.parent[kept] - node, -1))


def at_ranks(hierarchy: Hierarchy, ranks: Sequence[str]) -> Hierarchy:
    """Return the tree of the nodes of some ranks; see `Hierarchy.at_ranks`."""
    rank_of = np.full(len(hierarchy), "", dtype=object) if hierarchy.rank is None else hierarchy.rank
    known = Counter(rank_of.tolist())
    del known[""]
    for rank in ranks:
        if rank not in known:
            listed = ", ".join(f"{rank} ({count:,})" for rank, count in known.most_common(40))
            raise ParameterError(
                f"No node of the tree has the rank {rank!r}. "
                + (f"Its ranks, with the number of their nodes: {listed}." if known else "It has no ranks at all.")
            )
    kept = np.isin(rank_of, list(ranks))
    kept[0] = True
    if kept.sum() < 2:
        raise ParameterError("None of these nodes lies below the root: name more ranks.")
    return _reduced(hierarchy, kept)[0]


def _part(hierarchy: Hierarchy, kept: NDArray[np.bool_], parent: Indices) -> Hierarchy:
    """Return the tree of some nodes, with their ranks, titles and aliases."""
    return type(hierarchy)(
        hierarchy.names[kept],
        parent,
        None if hierarchy.rank is None else hierarchy.rank[kept],
        None if hierarchy.title is None else hierarchy.title[kept],
        Aliases.of(hierarchy.aliases).moved(np.cumsum(kept) - 1, kept),
    )


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
