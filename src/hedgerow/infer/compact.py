"""Compact likelihoods: of each example, the few nodes that thresholds can lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import as_numpy, map_row_blocks, with_ancestors
from hedgerow.infer.pareto import Candidates
from hedgerow.likelihood import BOTTOM, Likelihoods, SparseLikelihoods

if TYPE_CHECKING:
    from hedgerow.tree import Indices

BEST_LEAVES = 5


def compacted(q: Likelihoods) -> SparseLikelihoods:
    """Keep, of each example, the ordered Pareto set, the five best leaves, and the ancestors of the very best.

    These determine the answers of every threshold, the curve, and the rules `leaf`, `climbing`,
    `information_threshold` and `expected_information`, with the default settings. Whatever needs other nodes
    raises a `CompactError`.

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = compacted(Likelihoods.of(h, [[1, 0.7, 0.5, 0.2, 0.3]]))
    >>> infer.plurality(h, q)
    Traceback (most recent call last):
    hedgerow.likelihood.sparse_likelihoods.CompactError: The plurality of likelihoods needs the likelihoods of
    all nodes, and these scores are compact. ...
    """
    tree, values = q.hierarchy, as_numpy(q.values)
    sets = Candidates.of(tree).fetch_sets(q, BOTTOM[q.scale])

    def best(block: slice) -> Indices:
        p = values[block][:, tree.leaves]
        found = np.empty((len(p), min(BEST_LEAVES, p.shape[1])), dtype=np.int64)
        for column in found.T:  # faster than to partition them
            column[:] = np.argmax(p, axis=1)
            p[np.arange(len(p)), column] = -np.inf
        return tree.leaves[found]

    leaves = np.concatenate(map_row_blocks(best, len(q), values[:1].nbytes) or [best(slice(0))])
    rows, path = np.arange(len(q)), with_ancestors(tree, np.arange(len(q) + 1), leaves[:, 0])
    listed = (
        (np.repeat(rows, sets.count), sets.node),
        (np.repeat(rows, np.diff(path.start)), path.node),
        (np.repeat(rows, leaves.shape[1]), leaves.ravel()),
    )
    key = np.unique(np.concatenate([row * len(tree) + node for row, node in listed]))
    row, node = np.divmod(key[key % len(tree) > 0], len(tree))  # without the root
    start = np.searchsorted(row, np.arange(len(q) + 1))
    found = SparseLikelihoods(tree, start, node, values[row, node], q.scale)
    found.compact = True
    return found
