"""Counts of answers, and of right ones, by node and by rank, at every position of the slider.

Everything is counted from the events of an evaluation: an event changes the answer to one example, so each count
is a running sum over the positions at which the events happen. Nothing here loops over examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.measure import Comparison, Evaluation, metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.show.page.slider import Positions
    from hedgerow.tree import Hierarchy, Indices

_MOST_DEPTHS = 14  # deeper answers are counted together
_PAIRS = 2_000  # of confused classes: their counts are compared at every position
_PAIRS_SHOWN = 10


@final
@dataclass(frozen=True, eq=False)
class Levels:
    """The ranks of a tree, or its depths if it has no ranks, coarsest first."""

    names: list[str]
    of_node: Indices
    """The level of each node."""

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Levels:
        """Return the levels of a tree; the root is a level of its own."""
        if hierarchy.rank is None:
            depth = np.minimum(hierarchy.depth, _MOST_DEPTHS)
            names = ["root", *(f"depth {d}" for d in range(1, int(depth.max()) + 1))]
            if hierarchy.depth.max() > _MOST_DEPTHS:
                names[-1] += " or more"
            return cls(names, depth)
        return cls(["root", *(rank or "no rank" for rank in hierarchy.rank_names)], hierarchy.rank_number + 1)


@final
@dataclass(frozen=True, eq=False)
class Track:
    """The events of an evaluation, with the positions of the slider at which they happen."""

    evaluation: Evaluation
    positions: Positions

    @cached_property
    def when(self) -> Indices:
        """The position of each event."""
        return self.positions.when(self.evaluation.events.score)

    @cached_property
    def _moves(self) -> tuple[_Answers, Indices, NDArray[np.int64]]:
        """The answers before all events, then those after them; their positions; -1 for before, 1 for after."""
        label, before, after = self.evaluation.events.moves.T
        answers = _Answers.of(self.evaluation, np.tile(label, 2), np.concatenate([before, after]))
        return answers, np.tile(self.when, 2), np.repeat([-1, 1], len(before))

    def answers_at(self, position: int) -> _Answers:
        """Return the answer to every example at a position."""
        events = self.evaluation.events
        nodes = events.answers_above(float(self.positions.threshold[position]))
        return _Answers.of(self.evaluation, events.label, nodes)

    def per_level(self, levels: Levels) -> NDArray[np.int64]:
        """Return the numbers of wrong and right answers at each level: [positions, levels, 2]."""
        answers, when, sign = self._moves
        shape = (len(self.positions), len(levels.names), 2)
        place = np.ravel_multi_index((when, levels.of_node[answers.node], answers.right * 1), shape)
        total = np.bincount(place, sign, minlength=math.prod(shape)).astype(np.int64).reshape(shape)
        total[0, 0, 1] += len(self.evaluation)  # every answer starts at the root, which is right
        return total.cumsum(axis=0)

    def right_below(self, kept: KeptNodes) -> Changes:
        """Return how the number of right answers to the examples of each kept node changes."""
        answers, *_ = self._moves
        before, after = answers.right.reshape(2, -1) * 1
        some = np.flatnonzero(after != before)
        node, position, by = kept.place[answers.label[some]], self.when[some], (after - before)[some]
        parts = []
        while True:  # a change counts for all ancestors, too
            found = Changes.of(node, position, by, len(self.positions))
            parts.append((found.node, found.position, found.by))
            below = found.node > 0
            if not below.any():
                break
            node, position, by = kept.parent[found.node[below]], found.position[below], found.by[below]
        node, position, by = map(np.concatenate, zip(*parts, strict=True))
        return Changes.of(node, position, by, len(self.positions))

    def stops_at(self, kept: KeptNodes) -> Changes:
        """Return how the number of examples of each kept node whose answer is this node changes."""
        answers, when, sign = self._moves
        place = kept.place[answers.counted]
        some = answers.right & (kept.nodes[place] == answers.counted)
        return Changes.of(place[some], when[some], sign[some], len(self.positions))

    def confusions(self) -> Confusions:
        """Return the pairs of siblings, or of groups, that are confused most at some position."""
        hierarchy, size = self.evaluation.hierarchy, len(self.evaluation.hierarchy)
        answers, when, sign = self._moves
        wrong = ~answers.right
        ends = answers.label[wrong], answers.counted[wrong]
        common = np.asarray(hierarchy.lca(*ends))
        truth, answer = (child_towards(hierarchy, common, end) for end in ends)
        pairs, place = np.unique(truth * size + answer, return_inverse=True)
        found = Changes.of(place, when[wrong], sign[wrong], len(self.positions))
        peak = found.peaks(len(pairs))
        both_leaves = hierarchy.is_leaf[pairs // size] & hierarchy.is_leaf[pairs % size]
        chosen = np.zeros(len(pairs), dtype=bool)
        for kind in (both_leaves, ~both_leaves):
            some = np.flatnonzero(kind)
            some = np.sort(some[np.argsort(-peak[some], kind="stable")[:_PAIRS]])
            if len(some):
                series = found.dense(some)
                top = np.argsort(-series, axis=0, kind="stable")[:_PAIRS_SHOWN]
                chosen[some[np.unique(top[np.take_along_axis(series, top, axis=0) > 0])]] = True
        shown = np.flatnonzero(chosen)
        return Confusions(pairs[shown] // size, pairs[shown] % size, both_leaves[shown], found.of_nodes(shown))


@final
@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers and their labels."""

    label: Indices
    node: Indices
    """The answers."""
    counted: Indices
    """The answers; those below their label are replaced by it (unless that counts as wrong)."""
    right: NDArray[np.bool_]

    @classmethod
    def of(cls, evaluation: Evaluation, label: NDArray[Any], node: NDArray[Any]) -> _Answers:
        pairs = Comparison.of(evaluation.hierarchy, label, node, evaluation.settings)
        return cls(pairs.label, pairs.answer, pairs.prediction, metrics.correct.of(pairs) > 0)


def child_towards(hierarchy: Hierarchy, node: Indices, below: Indices) -> Indices:
    """Return the child of each node that contains a node below it; the node itself where they are the same."""
    # Sorted by parent, then by index: the child that contains a node is the last that does not come after it.
    order = 1 + np.argsort(hierarchy.parent[1:], kind="stable")
    key = hierarchy.parent[order] * len(hierarchy) + order
    place = np.searchsorted(key, node * len(hierarchy) + below, side="right") - 1
    return np.where(node == below, node, order[place])


@final
@dataclass(frozen=True, eq=False)
class KeptNodes:
    """The nodes on the page, numbered from 0; the parent of a kept node is kept too."""

    nodes: Indices
    """Ascending."""
    parent: Indices
    """The number of the parent of each; -1 for the root."""
    place: Indices
    """For every node of the tree, the number of its lowest kept ancestor; its own if it is kept."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, nodes: Indices) -> KeptNodes:
        """Return these nodes, numbered."""
        place = np.zeros(len(hierarchy), dtype=np.int64)
        for number, node in enumerate(nodes.tolist()):
            place[node : hierarchy.end[node]] = number  # overwritten by kept nodes below it, which come later
        return cls(nodes, np.append(-1, place[hierarchy.parent[nodes[1:]]]), place)


@final
@dataclass(frozen=True, eq=False)
class Changes:
    """Numbers that change along the slider: where, and by how much; sorted by node, then by position."""

    node: Indices
    position: Indices
    by: NDArray[np.int64]
    positions: int

    @classmethod
    def of(cls, node: Indices, position: Indices, by: NDArray[Any], positions: int) -> Changes:
        """Sum the changes of the same node at the same position, and leave out sums of 0."""
        key, place = np.unique(node * positions + position, return_inverse=True)
        total = np.bincount(place, by, minlength=len(key)).astype(np.int64)
        key, total = key[total != 0], total[total != 0]
        return cls(key // positions, key % positions, total, positions)

    def __len__(self) -> int:
        return len(self.node)

    def peaks(self, nodes: int) -> NDArray[np.int64]:
        """Return the largest number that each node reaches, starting from 0."""
        running = np.cumsum(self.by)
        first = np.searchsorted(self.node, np.arange(nodes))
        earlier = np.concatenate([[0], running])[first]
        peak = np.zeros(nodes, dtype=np.int64)
        np.maximum.at(peak, self.node, running - earlier[self.node])
        return peak

    def of_nodes(self, nodes: Indices) -> Changes:
        """Return the changes of some nodes, given in ascending order, numbered from 0."""
        some = np.isin(self.node, nodes)
        return Changes(np.searchsorted(nodes, self.node[some]), self.position[some], self.by[some], self.positions)

    def dense(self, nodes: Indices) -> NDArray[np.int64]:
        """Return the numbers of some nodes, ascending, at every position: [nodes, positions]."""
        part = self.of_nodes(nodes)
        series = np.zeros((len(nodes), self.positions), dtype=np.int64)
        series[part.node, part.position] = part.by
        return series.cumsum(axis=1)

    def lists(self, nodes: int) -> list[list[int]]:
        """Return the changes of each node as a list: steps to the next position, change, and so on."""
        step = np.diff(self.position, prepend=0)
        first = np.searchsorted(self.node, np.arange(nodes + 1))
        begins = first[:-1][first[:-1] < first[1:]]
        step[begins] = self.position[begins]
        both = np.stack([step, self.by], axis=1).reshape(-1).tolist()
        return [both[2 * a : 2 * b] for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True)]


@final
@dataclass(frozen=True, eq=False)
class Confusions:
    """Pairs of classes or groups with the same parent, of which one is the truth and the other was answered."""

    truth: Indices
    answer: Indices
    leaves: NDArray[np.bool_]
    """Whether both are leaves."""
    count: Changes
