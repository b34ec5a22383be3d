"""A promise for each rank: "family at 99 %, species at 90 %".

A node may be the answer only if it and all nodes above it that have a threshold exceed it. An answer that reaches
a rank and is wrong there has a node of that rank with a likelihood above the threshold of the rank, and this node
is neither above nor below the label. So with r = the largest likelihood of such a node, ``r <= τ`` rules it out.
That holds for any choice among such nodes. Ranks without a threshold would let unlikely nodes through, so the
answer is always on the path to the most likely tip: the most likely of the nodes with nothing likely below them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import sum_ancestors
from hedgerow.infer import Candidates, map_dense_rows, most_likely_tip
from hedgerow.likelihood import BOTTOM, AnyLikelihoods
from hedgerow.measure import Ranks

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy, Indices, Settings

RANKS = "ranks"
"""The rule that has a threshold for each rank."""


@final
@dataclass(frozen=True)
class RankPromise:
    """At most a share of examples get an answer that reaches a rank and is wrong there."""

    rank: str
    alpha: Fraction
    """The share."""
    of_unknown: bool
    """Whether it is about the examples of unknown taxa alone, for which every name at that rank is wrong."""
    settings: Settings
    """What counts as right."""

    @property
    def name(self) -> str:
        """How points and monitors call it."""
        return f"unknown {self.rank}" if self.of_unknown else self.rank

    def rows(self, hierarchy: Hierarchy, labels: Indices) -> Indices | slice:
        """Return the examples that it is about."""
        if not self.of_unknown:
            return slice(None)
        ranks = Ranks.of(hierarchy)
        return np.flatnonzero((ranks.at(self.rank)[labels] < 0) & ranks.above(self.rank)[labels])

    def wrong(self, hierarchy: Hierarchy, labels: Indices, answers: Indices) -> NDArray[np.bool_]:
        """Return which answers reach the rank and are wrong there."""
        node = Ranks.of(hierarchy).at(self.rank)[answers]
        return (node >= 0) & ~self._right(hierarchy, np.maximum(node, 0), labels)

    def largest_wrong(self, q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> NDArray[np.float64]:
        """Return the largest likelihood of a wrong node of the rank, for each example; -inf if none is wrong."""
        nodes = Ranks.of(q.hierarchy).nodes(self.rank)
        stands_for = candidates.stands_for[nodes]

        def block(part: NDArray[Any], rows: slice) -> NDArray[np.float64]:
            score = part[:, stands_for].astype(np.float64)
            score[self._right(q.hierarchy, nodes, labels[rows, None])] = -np.inf
            largest: NDArray[np.float64] = score.max(axis=1, initial=-np.inf) + 0.0  # -0.0 becomes 0.0
            return largest

        return np.concatenate([np.zeros(0), *map_dense_rows(block, q)])

    def _right(self, hierarchy: Hierarchy, nodes: Indices, labels: Indices) -> NDArray[np.bool_]:
        right = hierarchy.is_ancestor(nodes, labels)
        if self.settings.below_is_right:
            right = right | hierarchy.is_ancestor(labels, nodes)
        return np.asarray(right)


def answers_by_rank(q: AnyLikelihoods, lowest: NDArray[np.float64], candidates: Candidates) -> Indices:
    """Return the most specific node above the most likely tip that exceeds its threshold, as do all above it.

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
    stands_for = candidates.stands_for
    nodes = np.arange(len(hierarchy))
    tips = most_likely_tip(q, candidates)

    def block(part: NDArray[Any], rows: slice) -> Indices:
        p = part[:, stands_for].astype(np.float64)
        fails = ~(p > lowest)
        fails[:, 0] = False
        possible = p > BOTTOM[q.scale]
        on_path = hierarchy.is_ancestor(nodes, tips[rows, None])
        passing = (sum_ancestors(hierarchy, fails.astype(np.float64)) == 0) & possible & on_path
        value = np.where(passing, candidates.tier, -1)
        best = value.max(axis=1, keepdims=True)
        chosen = np.argmax(np.where(value == best, p, -np.inf), axis=1)
        return np.where(best[:, 0] < 0, 0, chosen)

    return np.concatenate([np.zeros(0, dtype=np.int64), *map_dense_rows(block, q)])
