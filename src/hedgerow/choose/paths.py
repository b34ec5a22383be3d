"""Answers with a threshold for each rank: "family at 99 %, species at 90 %".

A node may be the answer only if it and all nodes above it exceed the thresholds of their ranks. An answer that is
wrong at a rank lies at or below a node of that rank that exceeds the threshold and is neither above nor below the
label. With r = the largest likelihood of such a node, ``r <= τ`` rules that out, however the answer is chosen
among the nodes that may be. Ranks without a threshold would let unlikely nodes through, so the answer is always on
the path to the most likely tip: see `hedgerow.choose.tips`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.infer import most_likely_tip
from hedgerow.likelihood import BOTTOM, AnyLikelihoods, Likelihoods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hedgerow.infer import Candidates
    from hedgerow.likelihood import Scale
    from hedgerow.tree import Indices

RANKS = "ranks"
"""The rule that has a threshold for each rank."""


@final
@dataclass(frozen=True, eq=False)
class Paths:
    """The nodes from the root to the most likely tip of each example, with their likelihoods."""

    node: Indices
    """[examples, depths] The root first; shorter paths repeat the tip."""
    score: NDArray[np.float64]
    """[examples, depths] The likelihood of each node; for a trivial one, of the node that it stands for."""

    @classmethod
    def of(cls, q: AnyLikelihoods, candidates: Candidates) -> Paths:
        """Find the path to the most likely tip of each example."""
        tree, node = q.hierarchy, most_likely_tip(q, candidates)
        nodes = np.empty((len(node), int(tree.depth[node].max(initial=0)) + 1), dtype=np.int64)
        for depth in range(nodes.shape[1] - 1, 0, -1):
            nodes[:, depth] = node
            node = np.where(tree.depth[node] == depth, tree.parent[node], node)
        nodes[:, 0] = node
        return cls(nodes, _scores_at(q, candidates.stands_for[nodes]))

    @classmethod
    def join(cls, parts: Sequence[Paths]) -> Paths:
        """Concatenate the paths of several batches."""
        longest = max(part.node.shape[1] for part in parts)
        more = [((0, 0), (0, longest - part.node.shape[1])) for part in parts]
        return cls(
            np.concatenate([np.pad(part.node, by, "edge") for part, by in zip(parts, more, strict=True)]),
            np.concatenate([np.pad(part.score, by, "edge") for part, by in zip(parts, more, strict=True)]),
        )

    def answers(self, thresholds: NDArray[np.float64], candidates: Candidates, scale: Scale) -> Indices:
        """Return the most specific node of each path that, with all nodes above it, exceeds its threshold.

        Parameters
        ----------
        thresholds
            [nodes] The threshold of each node, on the scale of the likelihoods.
        candidates
            The nodes that can be answers.
        scale
            The scale of the likelihoods.
        """
        passes = self.score > thresholds[self.node]
        passes[:, 0] = True
        is_open = np.logical_and.accumulate(passes, axis=1) & (self.score > BOTTOM[scale])
        tier = np.where(is_open, candidates.tier[self.node], -1)
        best = tier.max(axis=1, keepdims=True)
        place = np.argmax(np.where(tier == best, self.score, -np.inf), axis=1)
        return np.where(best[:, 0] < 0, 0, self.node[np.arange(len(self.node)), place])


def _scores_at(q: AnyLikelihoods, nodes: Indices) -> NDArray[np.float64]:
    """Return the likelihood of each of several nodes of each example: [examples, depths], as the nodes."""
    if isinstance(q, Likelihoods):
        return np.take_along_axis(as_numpy(q.values), nodes, axis=1).astype(np.float64)
    return np.stack([q.at(column) for column in nodes.T], axis=1)
