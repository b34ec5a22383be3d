"""Answers with a threshold for each rank: "family at 99 %, species at 90 %".

A node may be the answer only if it and all nodes above it exceed the thresholds of their ranks. An answer that is
wrong at a rank lies at or below a node of that rank that exceeds the threshold and is neither above nor below the
label. With r = the largest likelihood of such a node, ``r <= τ`` rules that out, however the answer is chosen
among the nodes that may be. Ranks without a threshold would let unlikely nodes through, so the answer is always on
the path to the most likely tip: see `hedgerow.choose.tips`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.infer import most_likely_tip
from hedgerow.likelihood import BOTTOM, AnyLikelihoods, Likelihoods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hedgerow.infer import Candidates
    from hedgerow.tree import Indices

    Floats = NDArray[np.float64]

RANKS = "ranks"
"""The rule that has a threshold for each rank."""


@final
@dataclass(frozen=True, eq=False)
class Paths:
    """The paths from the root to the most likely tips, in parts.

    A part begins at the root or at a *gate*, a node that may stop the path: it has a threshold, or is impossible.
    Thresholds decide how many parts of a path are entered; the best answer within so many parts is known before.
    """

    count: Indices
    """How many parts the path of each example has."""
    gate: Indices
    """The node at which each part begins; the root first."""
    score: Floats
    """The likelihood of that node; for a trivial one, of the node that it stands for."""
    answer: Indices
    """The answer if this is the last part that is entered."""

    @classmethod
    def of(cls, q: AnyLikelihoods, candidates: Candidates, is_gate: NDArray[np.bool_]) -> Paths:
        """Walk up from the most likely tip of each example; `is_gate` tells which nodes have a threshold."""
        node, row = most_likely_tip(q, candidates), np.arange(len(q))
        below = _Best(node, np.full(len(q), -1), np.full(len(q), -np.inf))
        parts: list[tuple[NDArray[Any], ...]] = [
            (row[:0], node[:0], *(each[:0] for each in (*below, below.score)))
        ]
        while len(row):
            score = _scores_at(q, row, candidates.stands_for[node])
            tier = np.where(score > BOTTOM[q.scale], candidates.tier[node], -1)
            best = _Best(node, tier, score).or_below(below)
            cut = is_gate[node] | (node == 0) | np.isneginf(score)
            parts.append(tuple(each[cut] for each in (row, node, *best, score)))
            going = node > 0
            below = best._replace(tier=np.where(cut, -1, best.tier)).take(going)
            row, node = row[going], q.hierarchy.parent[node[going]]
        row, gate, *columns, score = (np.concatenate(column) for column in zip(*parts[::-1], strict=True))
        order, count = np.argsort(row, kind="stable"), np.bincount(row, minlength=len(q))
        best, start = _Best(*columns).take(order), np.cumsum(count) - count
        for place in range(1, int(count.max(initial=0))):
            here = start[count > place] + place
            for each, new in zip(best, best.take(here - 1).or_below(best.take(here)), strict=True):
                each[here] = new
        return cls(count, gate[order], score[order], np.where(best.tier < 0, 0, best.node))

    @classmethod
    def concatenate(cls, parts: Sequence[Paths]) -> Paths:
        """Concatenate the paths of several batches."""
        return cls(
            *(np.concatenate(column) for column in zip(*(vars(part).values() for part in parts), strict=True))
        )

    def answers(self, lowest: Floats) -> Indices:
        """Return the most specific answer of each path whose gates are all exceeded; `lowest` is by node."""
        if not len(self.count):
            return self.answer
        end = np.cumsum(self.count)
        start = end - self.count
        is_shut = ~(self.score > lowest[self.gate])
        is_shut[start] = False  # the root is always open
        first_shut = np.minimum.reduceat(np.where(is_shut, np.arange(len(is_shut)), len(is_shut)), start)
        last: Indices = np.minimum(first_shut, end) - 1
        return np.asarray(self.answer[last])


class _Best(NamedTuple):
    """The best answer of some examples so far."""

    node: Indices
    tier: Indices
    """How specific it is; -1 for none."""
    score: Floats

    def or_below(self, below: _Best) -> _Best:
        """Return the better one of each answer and one further down: more specific, then more likely."""
        wins = (below.tier > self.tier) | ((below.tier == self.tier) & (below.score > self.score))
        return _Best(*(np.where(wins, lower, upper) for upper, lower in zip(self, below, strict=True)))

    def take(self, rows: NDArray[Any]) -> _Best:
        """Return those of some of the examples."""
        return _Best(*(each[rows] for each in self))


def _scores_at(q: AnyLikelihoods, row: Indices, node: Indices) -> Floats:
    """Return the likelihood of one node for each of some examples."""
    if isinstance(q, Likelihoods):
        return as_numpy(q.values)[row, node].astype(np.float64)
    every = np.zeros(len(q), dtype=np.int64)
    every[row] = node
    return q.at(every)[row]
