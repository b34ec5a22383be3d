"""How many answers stop where, and how many are right, at every position of the slider.

Everything is counted from the events of an evaluation: an event changes the answer to one example, so each count
is a running sum over the positions at which the events happen. Nothing here loops over examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.measure import Comparison, metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hedgerow.measure import Evaluation
    from hedgerow.show.page.positions import Positions
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
        ranks, place = np.unique(hierarchy.rank[1:].astype(str), return_inverse=True)
        mean_depth = np.bincount(place, hierarchy.depth[1:]) / np.bincount(place)
        order = np.argsort(mean_depth, kind="stable")
        of_rank = np.empty(len(ranks), dtype=np.int64)
        of_rank[order] = np.arange(1, len(ranks) + 1)
        return cls(["root", *(str(ranks[i]) or "no rank" for i in order)], np.concatenate([[0], of_rank[place]]))


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
    def before(self) -> _Answers:
        """The answers before each event."""
        label, before, _ = self.evaluation.events.moves.T
        return _Answers.of(self.evaluation, label, before)

    @cached_property
    def after(self) -> _Answers:
        """The answers after each event."""
        label, _, after = self.evaluation.events.moves.T
        return _Answers.of(self.evaluation, label, after)

    def answers_at(self, position: int) -> _Answers:
        """Return the answer to every example at a position."""
        events = self.evaluation.events
        nodes = events.answers_above(float(self.positions.threshold[position]))
        return _Answers.of(self.evaluation, events.label, nodes)

    def per_level(self, levels: Levels) -> NDArray[np.int64]:
        """Return the numbers of wrong and right answers at each level: [positions, levels, 2]."""
        shape = (len(self.positions), len(levels.names), 2)
        total = np.zeros(shape, dtype=np.int64)
        for answers, sign in ((self.before, -1), (self.after, 1)):
            place = np.ravel_multi_index((self.when, levels.of_node[answers.node], answers.right * 1), shape)
            total += sign * np.bincount(place, minlength=total.size).reshape(shape)
        total[0, 0, 1] += len(self.evaluation)  # every answer starts at the root, which is right
        return total.cumsum(axis=0)

    def right_below(self, kept: Indices) -> Changes:
        """Return how the number of right answers to the examples of each kept node changes.

        `kept` are nodes, ascending, that contain the parent of each of them.
        """
        changed = self.after.right * 1 - self.before.right * 1
        some = np.flatnonzero(changed)
        hierarchy = self.evaluation.hierarchy
        node = nearest_kept(hierarchy, kept, self.after.label[some])
        found = Changes.of(node, self.when[some], changed[some], len(self.positions))
        parent = np.searchsorted(kept, hierarchy.parent[kept])  # 0 for the root
        parts = [found]
        while len(found.node) and found.node.any():
            below = found.node > 0
            found = Changes.of(
                parent[found.node[below]], found.position[below], found.by[below], len(self.positions)
            )
            parts.append(found)
        return Changes.joined(parts)

    def stops_at(self, kept: Indices) -> Changes:
        """Return how the number of examples of each kept node whose answer is this node changes."""
        parts = []
        for answers, sign in ((self.before, -1), (self.after, 1)):
            place = np.searchsorted(kept, answers.counted)
            inside = kept[np.minimum(place, len(kept) - 1)] == answers.counted
            some = answers.right & inside
            parts.append((place[some], self.when[some], np.full(int(some.sum()), sign)))
        node, position, by = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Changes.of(node, position, by, len(self.positions))

    def confusions(self) -> Confusions:
        """Return the pairs of siblings, or of groups, that are confused most at some position."""
        size = len(self.evaluation.hierarchy)
        parts = []
        for answers, sign in ((self.before, -1), (self.after, 1)):
            wrong = ~answers.right
            mine, other = answers.parted(wrong)
            parts.append((mine * size + other, self.when[wrong], np.full(int(wrong.sum()), sign)))
        key, position, by = (np.concatenate(column) for column in zip(*parts, strict=True))
        pairs, place = np.unique(key, return_inverse=True)
        found = Changes.of(place, position, by, len(self.positions))
        peak = found.peaks(len(pairs))
        leaf = self.evaluation.hierarchy.is_leaf
        chosen = np.zeros(len(pairs), dtype=bool)
        both_leaves = leaf[pairs // size] & leaf[pairs % size]
        for kind in (both_leaves, ~both_leaves):
            some = np.flatnonzero(kind)
            some = np.sort(some[np.argsort(-peak[some], kind="stable")[:_PAIRS]])
            if len(some):
                series = found.dense(some)
                top = np.argsort(-series, axis=0, kind="stable")[:_PAIRS_SHOWN]
                chosen[some[np.unique(top[np.take_along_axis(series, top, axis=0) > 0])]] = True
        nodes = np.flatnonzero(chosen)
        return Confusions(pairs[nodes] // size, pairs[nodes] % size, both_leaves[nodes], found.of_nodes(nodes))


@final
@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers and their labels."""

    hierarchy: Hierarchy
    label: Indices
    node: Indices
    """The answers."""
    counted: Indices
    """The answers; those below their label are replaced by it (unless that counts as wrong)."""
    right: NDArray[np.bool_]

    @classmethod
    def of(cls, evaluation: Evaluation, label: NDArray[Any], node: NDArray[Any]) -> _Answers:
        pairs = Comparison.of(evaluation.hierarchy, label, node, evaluation.settings)
        return cls(
            evaluation.hierarchy, pairs.label, pairs.answer, pairs.prediction, metrics.correct.of(pairs) > 0
        )

    def parted(self, mask: NDArray[np.bool_]) -> tuple[Indices, Indices]:
        """Return the ancestors of label and answer just below their common ancestor, where they part."""
        label, answer = self.label[mask], self.counted[mask]
        common = np.asarray(self.hierarchy.lca(label, answer))
        return child_towards(self.hierarchy, common, label), child_towards(self.hierarchy, common, answer)


def child_towards(hierarchy: Hierarchy, node: Indices, below: Indices) -> Indices:
    """Return the child of each node that contains a node below it; the node itself where they are the same."""
    # Sorted by parent, then by index: the child that contains a node is the last that does not come after it.
    order = 1 + np.argsort(hierarchy.parent[1:], kind="stable")
    key = hierarchy.parent[order] * len(hierarchy) + order
    place = np.searchsorted(key, node * len(hierarchy) + below, side="right") - 1
    return np.where(node == below, node, order[place])


def nearest_kept(hierarchy: Hierarchy, kept: Indices, node: Indices) -> Indices:
    """Return the place in `kept` of the lowest kept ancestor of each node."""
    place = np.searchsorted(kept, node, side="right") - 1
    parent = np.searchsorted(kept, hierarchy.parent[kept])
    # The last kept node at or before a node is an ancestor of it, or has one that is kept.
    while True:
        outside = node >= hierarchy.end[kept[place]]
        if not outside.any():
            return place
        place = np.where(outside, parent[place], place)


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

    @classmethod
    def joined(cls, parts: Sequence[Changes]) -> Changes:
        """Sum the changes of several parts."""
        columns = zip(*((part.node, part.position, part.by) for part in parts), strict=True)
        node, position, by = (np.concatenate(column) for column in columns)
        return cls.of(node, position, by, parts[0].positions)

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
        place = np.minimum(np.searchsorted(nodes, self.node), max(0, len(nodes) - 1))
        some = nodes[place] == self.node if len(nodes) else np.zeros(len(self), dtype=bool)
        return Changes(place[some], self.position[some], self.by[some], self.positions)

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
