"""The same sets and rules as in `pareto`, `rules` and `decisions`, for sparse likelihoods.

Everything works on the listed nodes of each row, concatenated, with the root before them: see `ListedCandidates`.
A node that is not listed has likelihood 0, so it is never an answer, and never keeps another node from being one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import map_row_blocks, running_max, with_ancestors
from hedgerow.likelihood import CERTAIN, SparseLikelihoods

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow.infer.pareto import Candidates
    from hedgerow.tree import Hierarchy, Indices

Floats = NDArray[np.float64]

_ENTRY_BYTES = 8  # of one array: large blocks, as threads wait for each other at each operation


@final
@dataclass(frozen=True, eq=False)
class ListedCandidates:
    """The listed candidates of each row, with the root first, so that no row is empty."""

    candidates: Candidates
    start: Indices
    """Where each row starts, and where the last one ends."""
    node: Indices
    """The nodes, ascending within each row, as nodes of the candidates' tree."""
    p: Floats
    """Their likelihoods."""
    call: Indices | None = None
    """The node of the whole tree from which each row climbs, if it is known: `SparseLikelihoods.call`."""
    compact: bool = False
    """Whether nodes below the listed ones were left out: `SparseLikelihoods.compact`."""

    @staticmethod
    def of(q: SparseLikelihoods, candidates: Candidates, *, probabilities: bool = False) -> ListedCandidates:
        """Take the candidates among the entries, with likelihoods on their own scale or as probabilities."""
        candidates.require_fit(q)
        kept = candidates.place[q.node] >= 0
        start = np.append(0, np.cumsum(kept))[q.start]
        p, at_root = (q.probabilities(), 1.0) if probabilities else (q.value, CERTAIN[q.scale])
        rooted = ListedCandidates._rooted(candidates, start, candidates.place[q.node[kept]], p[kept], at_root)
        return replace(rooted, call=q.call, compact=q.compact)

    @classmethod
    def _rooted(cls, candidates: Candidates, start: Indices, node: Indices, p: Floats, at_root: float) -> Self:
        count = np.diff(start)
        place = np.arange(len(node)) + np.repeat(np.arange(1, len(count) + 1), count)
        nodes = np.zeros(len(node) + len(count), dtype=np.int64)
        values = np.full(len(nodes), at_root)
        nodes[place], values[place] = node, p
        return cls(candidates, start + np.arange(len(start)), nodes, values)

    def with_ancestors(self) -> ListedCandidates:
        """Return rows in which every ancestor is listed, those that were not with likelihood 0."""
        below = self.node > 0
        start = np.append(0, np.cumsum(below))[self.start]
        paths = with_ancestors(self.tree, start, self.node[below])
        p = np.zeros(len(paths.node))
        p[paths.own] = self.p[below]
        return ListedCandidates._rooted(self.candidates, paths.start, paths.node, p, 1.0)

    @property
    def tree(self) -> Hierarchy:
        """The tree of the candidates."""
        return self.candidates.tree

    @cached_property
    def tier(self) -> Indices:
        """The tier of each node: the higher, the more specific."""
        return self.candidates.tier[self.candidates.ascending[self.node]]

    @cached_property
    def count(self) -> Indices:
        """Number of nodes of each row."""
        return np.diff(self.start)

    @cached_property
    def row(self) -> Indices:
        """The row of each node."""
        return np.repeat(np.arange(len(self.count)), self.count)

    @cached_property
    def end(self) -> Indices:
        """One past the last descendant of each node."""
        return self.tree.end[self.node]

    @cached_property
    def key(self) -> Indices:
        """A number for each node that ascends over all rows."""
        return self.row * (len(self.tree) + 1) + self.node

    @cached_property
    def parent(self) -> Indices:
        """The place of each node's parent; -1 if it is not listed, and for the root."""
        wanted = self.row * (len(self.tree) + 1) + self.tree.parent[self.node]
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        return np.where(self.key[place] == wanted, place, -1)

    def sum_children(self) -> Floats:
        """Return the sum of the likelihoods of each node's listed children."""
        listed = self.parent >= 0
        total = np.zeros(len(self.p))
        np.add.at(total, self.parent[listed], self.p[listed])
        return total

    @cached_property
    def _levels(self) -> list[Indices]:
        """The places of the nodes at depth 1, 2, ..."""
        depth = self.tree.depth[self.node]
        return [np.flatnonzero(depth == level) for level in range(1, int(depth.max(initial=0)) + 1)]

    def sum_leaves(self) -> Floats:
        """Return the sum of the likelihoods of the leaves at and below each node; all ancestors must be listed."""
        total = np.where(self.tree.is_leaf[self.node], self.p, 0.0)
        for level in reversed(self._levels):
            np.add.at(total, self.parent[level], total[level])
        return total

    def add_down(self, term: Floats) -> Floats:
        """Add along each path from the root, which counts 0; all ancestors must be listed."""
        total = np.zeros(len(term))
        for level in self._levels:
            total[level] = total[self.parent[level]] + term[level]
        return total

    def first(self, passing: NDArray[np.bool_], keys: Sequence[NDArray[Any]]) -> Indices:
        """Return the passing node of each row with the largest first key, then second key, ...; else the root."""
        return first(self.start, self.node, passing, keys)

    def max_unrelated(self) -> Floats:
        """Return the largest likelihood among the listed nodes that are neither above nor below each node."""
        # Some have ended when the node starts, the others start after it has ended: see `arrays.max_unrelated`.
        place = np.arange(len(self.node)) - np.repeat(self.start[:-1], self.count)
        from_end = np.repeat(self.count, self.count) - 1 - place
        end = self.key - self.node + self.end
        to_come = np.append(running_max(self.p[::-1], from_end[::-1])[::-1], -np.inf)
        after = np.searchsorted(self.key, end)
        later = np.where(after < self.start[self.row + 1], to_come[after], -np.inf)
        by_end = np.argsort(end, kind="stable")
        ended = running_max(self.p[by_end], place)
        number = np.searchsorted(end[by_end], self.key, "right")
        earlier = np.where(number > self.start[self.row], ended[number - 1], -np.inf)
        return np.maximum(earlier, later)


def first(start: Indices, node: Indices, passing: NDArray[np.bool_], keys: Sequence[NDArray[Any]]) -> Indices:
    """Return the passing node of each row with the largest first key, then second key, ...; else the root.

    No row may be empty. Ties go to the node that comes first.
    """
    if len(start) == 1:
        return np.zeros(0, dtype=np.int64)
    count = np.diff(start)
    for key in keys:
        shown = np.where(passing, key, -np.inf)
        passing = passing & (shown == np.repeat(np.maximum.reduceat(shown, start[:-1]), count))
    place = np.where(passing, np.arange(len(node)), len(node))
    return np.append(node, 0)[np.minimum.reduceat(place, start[:-1])]


# Pareto sets -----------------------------------------------------------------------------------------------


def records(q: SparseLikelihoods, tier: Indices) -> tuple[Indices, Indices, Floats]:
    """Return the ordered Pareto set of each row, of its listed nodes and the root: counts, nodes, likelihoods."""
    rows, top = len(q), int(tier.max())
    if not rows:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)

    def work(block: slice) -> tuple[Indices, Indices, Floats]:
        inside = slice(q.start[block.start], q.start[block.stop])
        start = q.start[block.start : block.stop + 1] - inside.start
        node = q.node[inside]
        return _records(start, node, q.value[inside], tier[node], top, CERTAIN[q.scale])

    parts = map_row_blocks(work, rows, _ENTRY_BYTES * (1 + len(q.node) // rows))
    count, node, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    return count, node, score


def _records(
    start: Indices, node: Indices, p: Floats, tier: Indices, top: int, at_root: float
) -> tuple[Indices, Indices, Floats]:
    """Return the sets of some rows; most nodes are ruled out before anything is sorted. `top` is the last tier."""
    rows = len(start) - 1
    left = np.flatnonzero((tier >= 0) & ~_beaten(start, p, tier, top))
    # The root comes first in its tier, the lowest.
    row = np.append(np.arange(rows), np.searchsorted(start, left, "right") - 1)
    node, tier = (np.append(np.zeros(rows, dtype=np.int64), each[left]) for each in (node, tier))
    p = np.append(np.full(rows, at_root), p[left])
    # From the last row to the first; in each, from the most specific tier to the root's; in each tier, from the
    # first node to the last. A node is in the set if it is more likely than all before it in this order, and the
    # last such node of its tier.
    entries = len(row)
    backwards = (row * (top + 1) + tier) * entries + np.arange(entries - 1, -1, -1)
    backwards.sort()
    order = entries - 1 - backwards[::-1] % entries
    row, tier, p = row[order], tier[order], p[order]
    first = np.flatnonzero(np.diff(row, prepend=-1))
    place = np.arange(entries) - np.repeat(first, np.diff(np.append(first, entries)))
    highest = np.append(-np.inf, running_max(p, place)[:-1])
    better = np.flatnonzero((place == 0) | (p > highest))
    row, tier = row[better], tier[better]
    last = np.append((row[1:] != row[:-1]) | (tier[1:] != tier[:-1]), True)
    found = better[last][::-1]
    return np.bincount(row[last], minlength=rows), node[order[found]], p[found]


def _beaten(start: Indices, p: Floats, tier: Indices, top: int) -> NDArray[np.bool_]:
    """Return some nodes that cannot be in the sets, which are most of them, as a rule.

    They come just before a node of their row that is more specific and not less likely, often a child; or they are
    less likely than a node of the highest tier, `top`.
    """
    beaten = np.zeros(len(p), dtype=bool)
    beaten[:-1] = (p[1:] >= p[:-1]) & (tier[1:] > tier[:-1])
    count = np.diff(start)
    filled = np.flatnonzero(count)
    if len(filled):
        beaten[start[filled + 1] - 1] = False  # the next node is in another row
        least = np.maximum.reduceat(np.where(tier == top, p, -np.inf), start[filled])
        beaten |= p < np.repeat(least, count[filled])
    return beaten


# Rules -----------------------------------------------------------------------------------------------------


def by_rows(
    q: SparseLikelihoods,
    candidates: Candidates,
    rule: Callable[[ListedCandidates, slice], Indices],
    *,
    probabilities: bool = False,
) -> Indices:
    """Apply a rule to blocks of rows, with likelihoods on their own scale or as probabilities.

    The rule is given the rows and their numbers, and returns nodes of the candidates' tree.
    """
    if not len(q):
        return np.zeros(0, dtype=np.int64)

    def work(block: slice) -> Indices:
        return rule(ListedCandidates.of(q[block], candidates, probabilities=probabilities), block)

    blocks = map_row_blocks(work, len(q), _ENTRY_BYTES * (1 + len(q.node) // len(q)))
    return candidates.ascending[np.concatenate(blocks)]


def leaf(rows: ListedCandidates, _: slice) -> Indices:
    """Answer with the most likely listed leaf."""
    return rows.first(rows.tree.is_leaf[rows.node], (rows.p,))


def plurality(rows: ListedCandidates, _: slice) -> Indices:
    """Answer with the most specific of the nodes that are more likely than every listed node unrelated to them."""
    return rows.first(rows.p > rows.max_unrelated(), (rows.tier, rows.p))


def most_likely_tip(rows: ListedCandidates, _: slice = slice(None)) -> Indices:
    """Answer with the most likely node without listed descendants."""
    if rows.compact:
        return leaf(rows, _)
    lowest = np.append(rows.key[1:], np.iinfo(np.int64).max) >= rows.key - rows.node + rows.end
    return rows.first(lowest, (rows.p,))


def climbing_path(rows: ListedCandidates) -> NDArray[np.bool_]:
    """Return which nodes lie on the path from the root to the call or, without one, to the most likely tip."""
    if rows.call is None:
        tip, node, end = most_likely_tip(rows), rows.node, rows.end
    else:  # it need not be a candidate
        tip, node = rows.call, rows.candidates.ascending[rows.node]
        end = rows.candidates.hierarchy.end[node]
    tip = np.repeat(tip, rows.count)
    return np.asarray((node <= tip) & (tip < end))


def climbing(rows: ListedCandidates, cut: Floats) -> Indices:
    """Go up from the end of the `climbing_path` to the first node that exceeds `cut` [rows]."""
    return rows.first(climbing_path(rows) & (rows.p > np.repeat(cut, rows.count)), (rows.node,))


def top_down(rows: ListedCandidates, cut: Floats) -> Indices:
    """From the root, go to the most likely child as long as it exceeds `cut` [rows]."""
    parent = rows.tree.parent[rows.node]
    high_enough = rows.p > np.repeat(cut, rows.count)
    here = np.zeros(len(cut), dtype=np.int64)
    while True:
        children = high_enough & (parent == np.repeat(here, rows.count))
        if not children.any():
            return here
        there = rows.first(children, (rows.p, rows.tier))
        here = np.where(there > 0, there, here)


def most_likely_exclusive(rows: ListedCandidates, _: slice) -> Indices:
    """Answer with the node most likely to be the label itself; likelihoods must be probabilities."""
    return rows.first(rows.p > 0, (rows.p - rows.sum_children(), rows.tier, rows.p))
