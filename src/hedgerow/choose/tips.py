"""The most likely tip of each example: its clade, and its likelihood, counted in bins.

A tip is a node with nothing likely below it: where leaves have likelihoods, a leaf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.infer import Candidates, most_likely_tip
from hedgerow.likelihood import BOTTOM, AnyLikelihoods, Likelihoods, from_logit, numbered, to_probability

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree import Hierarchy, Indices

_EDGES = np.arange(-16, 16.01, 0.5)
"""The logits where one bin ends and the next begins; they depend on no example."""
BINS = len(_EDGES) + 1
_AT_ONCE = 1024


def tip_likelihoods(q: AnyLikelihoods, candidates: Candidates) -> NDArray[np.float64]:
    """Return the probability of the most likely tip of each example."""
    if isinstance(q, Likelihoods):
        leaves = as_numpy(q.values)[:, q.hierarchy.leaves]
        if len(leaves) and leaves.min() > BOTTOM[q.scale]:  # then no other node is a tip
            return np.asarray(to_probability(leaves.max(axis=1), q.scale), dtype=np.float64)
    return np.asarray(to_probability(q.at(most_likely_tip(q, candidates)), q.scale), dtype=np.float64)


def clades_of(q: AnyLikelihoods, depth: int, candidates: Candidates) -> NDArray[np.object_]:
    """Return the name of the clade of each example: the ancestor of its most likely tip at a depth, or the tip."""
    return q.hierarchy.names[clade_of_node(q.hierarchy, depth)[most_likely_tip(q, candidates)]]


def clade_of_node(hierarchy: Hierarchy, depth: int) -> Indices:
    """Return the ancestor of each node at a depth, or the node itself if it is not below that depth."""
    above = np.arange(len(hierarchy))
    for level in hierarchy.levels[depth + 1 :]:
        above[level] = above[hierarchy.parent[level]]
    return above


def bins_of(tips: NDArray[np.float64]) -> Indices:
    """Return the bin of each likelihood."""
    return np.searchsorted(from_logit(_EDGES, "probability"), tips, side="right")


def cluster_means(values: NDArray[np.float64], clusters: ArrayLike | None) -> NDArray[np.float64]:
    """Return the mean of each cluster, in order of first appearance; without clusters, the values."""
    if clusters is None:
        return values
    _, member = numbered(clusters)
    return np.asarray(np.bincount(member, values) / np.bincount(member), dtype=np.float64)


def p_values(bins: Indices, counts: Indices, random: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of larger values among all values up to each, ties broken at random.

    If all values are exchangeable, these conformal p-values are independent and uniform.

    Parameters
    ----------
    bins
        The bin of each new value, in the order of arrival.
    counts
        [bins] The number of earlier values in each bin.
    random
        A uniform random number for each new value.
    """
    result = np.empty(len(bins))
    total = counts.astype(np.int64)
    for start in range(0, len(bins), _AT_ONCE):
        here = bins[start : start + _AT_ONCE]
        hot = here[:, None] == np.arange(len(counts))
        before = total + np.cumsum(hot, axis=0) - hot
        row = np.arange(len(here))
        up_to = np.cumsum(before, axis=1)[row, here]
        number = before.sum(axis=1)
        same = before[row, here]
        result[start : start + len(here)] = (number - up_to + random[start : start + len(here)] * (same + 1)) / (
            number + 1
        )
        total = total + hot.sum(axis=0)
    return result
