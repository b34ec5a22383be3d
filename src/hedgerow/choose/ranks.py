"""A threshold for each rank: "family at 99 %, species at 90 %".

A node may be the answer only if it and all nodes above it that have a threshold exceed it. An answer that reaches
a rank and is wrong there has a node of that rank with a likelihood above the threshold of the rank, and this node
is neither above nor below the label. So with r = the largest likelihood of such a node, ``r <= τ`` rules it out.
That holds for any choice among such nodes. Ranks without a threshold would let unlikely nodes through, so the
answer is always on the path to the most likely leaf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import sum_ancestors, sum_children
from hedgerow.choose.families import map_dense_rows
from hedgerow.likelihood import BOTTOM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.infer import Candidates
    from hedgerow.likelihood import AnyLikelihoods
    from hedgerow.tree import BelowLabel, Indices


def largest_wrong(
    q: AnyLikelihoods, labels: Indices, nodes: Indices, below_label: BelowLabel, candidates: Candidates
) -> NDArray[np.float64]:
    """Return, for each example, the largest likelihood of the given nodes that are wrong; -inf if none is.

    Parameters
    ----------
    q, labels
        The likelihoods and labels.
    nodes
        The nodes of one rank.
    below_label
        Whether nodes below the label are right ("label") or "wrong".
    candidates
        The nodes that can be answers.
    """
    hierarchy = q.hierarchy
    stands_for = _representatives(candidates, len(hierarchy))[nodes]
    end = hierarchy.end[nodes]

    def block(part: NDArray[Any], rows: slice) -> NDArray[np.float64]:
        label = labels[rows, None]
        right = (nodes <= label) & (label < end)
        if below_label == "label":
            right |= (label <= nodes) & (nodes < hierarchy.end[label])
        score = part[:, stands_for].astype(np.float64)
        score[right] = -np.inf
        largest: NDArray[np.float64] = score.max(axis=1, initial=-np.inf) + 0.0  # -0.0 becomes 0.0
        return largest

    return np.concatenate([np.zeros(0), *map_dense_rows(block, q)])


def answer(q: AnyLikelihoods, lowest: NDArray[np.float64], candidates: Candidates) -> Indices:
    """Return the most specific node above the most likely leaf that exceeds its threshold, as do all above it.

    Where no leaf has a likelihood, the path leads to the most likely of the nodes with nothing below them.

    Parameters
    ----------
    q
        The likelihoods.
    lowest
        The threshold of each node, on the scale of q.
    candidates
        The nodes that can be answers, from coarse to specific.
    """
    hierarchy = q.hierarchy
    stands_for = _representatives(candidates, len(hierarchy))
    nodes = np.arange(len(hierarchy))

    def block(part: NDArray[Any], _: slice) -> Indices:
        p = part[:, stands_for].astype(np.float64)
        fails = ~(p > lowest)
        fails[:, 0] = False
        possible = p > BOTTOM[q.scale]
        tips = possible & (sum_children(hierarchy, possible.astype(np.float64)) == 0)
        tip = np.argmax(np.where(tips, p, -np.inf), axis=1)[:, None]
        on_path = (nodes <= tip) & (tip < hierarchy.end)
        passing = (sum_ancestors(hierarchy, fails.astype(np.float64)) == 0) & possible & on_path
        value = np.where(passing, candidates.tier, -1)
        best = value.max(axis=1, keepdims=True)
        chosen = np.argmax(np.where(value == best, p, -np.inf), axis=1)
        return np.where(best[:, 0] < 0, 0, chosen)

    return np.concatenate([np.zeros(0, dtype=np.int64), *map_dense_rows(block, q)])


def _representatives(candidates: Candidates, count: int) -> Indices:
    """Return the node whose likelihood counts for each node: for one that is never an answer, its only child."""
    stands_for = np.arange(count)
    for node in np.setdiff1d(stands_for, candidates.nodes)[::-1].tolist():
        stands_for[node] = stands_for[node + 1]
    return stands_for
