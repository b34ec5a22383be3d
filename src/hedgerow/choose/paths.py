"""Answers with a threshold for each rank: "family at 99 %, species at 90 %".

A node may be the answer only if it and all nodes above it that have a threshold exceed it. An answer that reaches
a rank and is wrong there has a node of that rank with a likelihood above the threshold of the rank, and this node
is neither above nor below the label. So with r = the largest likelihood of such a node, ``r <= τ`` rules it out.
That holds for any choice among such nodes. Ranks without a threshold would let unlikely nodes through, so the
answer is always on the path to the most likely tip: the most likely of the nodes with nothing likely below them.
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
    """The nodes from the root to the most likely tip of each example, and how likely they are."""

    node: Indices
    """[examples, depths] The root first; the tip is repeated at the end."""
    score: NDArray[np.float64]
    """[examples, depths] The likelihood of each; of one that is no candidate, that of the node it stands for."""

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
        """Concatenate the examples of several batches."""
        longest = max(part.node.shape[1] for part in parts)
        more = [((0, 0), (0, longest - part.node.shape[1])) for part in parts]
        return cls(
            np.concatenate([np.pad(part.node, by, "edge") for part, by in zip(parts, more, strict=True)]),
            np.concatenate([np.pad(part.score, by, "edge") for part, by in zip(parts, more, strict=True)]),
        )

    def answers(self, lowest: NDArray[np.float64], candidates: Candidates, scale: Scale) -> Indices:
        """Return the most specific node of each path that exceeds its threshold, as do all nodes above it.

        Parameters
        ----------
        lowest
            The threshold of each node of the tree, on the scale of the likelihoods.
        candidates
            The nodes that can be answers.
        scale
            The scale of the likelihoods.
        """
        passes = self.score > lowest[self.node]
        passes[:, 0] = True
        is_open = np.logical_and.accumulate(passes, axis=1) & (self.score > BOTTOM[scale])
        tier = np.where(is_open, candidates.tier[self.node], -1)
        best = tier.max(axis=1, keepdims=True)
        place = np.argmax(np.where(tier == best, self.score, -np.inf), axis=1)
        return np.where(best[:, 0] < 0, 0, self.node[np.arange(len(self.node)), place])


def _scores_at(q: AnyLikelihoods, nodes: Indices) -> NDArray[np.float64]:
    """Return the likelihoods of several nodes for each example: [examples, depths] -> same."""
    if isinstance(q, Likelihoods):
        return np.take_along_axis(as_numpy(q.values), nodes, axis=1).astype(np.float64)
    return np.stack([q.at(column) for column in nodes.T], axis=1)
