"""Operations on short lists of nodes, one per row, concatenated: the counterpart of `operations` for sparse data.

The nodes of a row ascend, which is depth-first order. Rows are given by where each starts among the entries, and
where the last one ends. Time and memory grow with the number of entries and the depth of the tree, never with the
size of the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.arrays.interface import Indices, TreeArrays


class Ancestors(NamedTuple):
    """Rows of nodes together with all their ancestors except the root; see `with_ancestors`."""

    start: Indices
    """Where each row starts, and where the last one ends."""
    node: Indices
    """The nodes, in depth-first order within each row."""
    own: Indices
    """The place of each entry among the nodes."""
    added: Indices
    """Number of nodes that each entry has added: itself and ancestors, which come just before it."""


def with_ancestors(tree: TreeArrays, start: Indices, node: Indices) -> Ancestors:
    """Add to each row the ancestors of its nodes, except the root.

    Each entry adds the nodes between itself and what the entry before it in the row shares with it. In depth-first
    order, these are the ancestors with a larger index than that entry: no common ancestors need to be found, and
    nothing needs to be sorted.
    """
    before = np.append(0, node[:-1])
    before[start[:-1][np.diff(start) > 0]] = 0
    which, ancestor, steps = np.arange(len(node)), node, []
    while len(which):
        steps.append((which, ancestor))
        ancestor = tree.parent.take(ancestor)
        new = np.flatnonzero(ancestor > before)
        which, ancestor, before = which.take(new), ancestor.take(new), before.take(new)
    added = np.zeros(len(node), dtype=np.int64)
    for step, (which, _) in enumerate(steps, start=1):
        added[which] = step
    own = np.cumsum(added) - 1
    nodes = np.empty(own[-1] + 1 if len(own) else 0, dtype=np.int64)
    for step, (which, ancestor) in enumerate(steps):
        nodes[own.take(which) - step] = ancestor
    return Ancestors(np.append(0, own + 1)[start], nodes, own, added)


def sum_below(tree: TreeArrays, node: Indices, x: NDArray[Any], rows: Ancestors) -> NDArray[Any]:
    """Sum x over the entries at and below each node: [entries] -> [nodes of `rows`].

    In integers, sums over many rows may overflow and wrap back.
    """
    result = np.repeat(x, rows.added)
    depth = tree.depth[node]
    highest = depth - rows.added + 1
    sums = np.append(np.zeros(1, dtype=x.dtype), np.cumsum(x))
    # At each depth, a run of entries that add no node there lies, with the entry before it, below one node.
    for level in range(1, int(highest.max(initial=1))):
        adds_none = np.zeros(len(node) + 1, dtype=bool)
        np.greater(highest, level, out=adds_none[:-1])
        change = np.flatnonzero(adds_none[1:] != adds_none[:-1])
        first, end = change[::2], change[1::2] + 1
        result[rows.own[first] - depth[first] + level] = sums[end] - sums[first]
    return result


def take_rows(start: Indices, rows: slice | NDArray[Any] | list[int]) -> tuple[Indices, Indices | slice]:
    """Return some of the rows: where each starts among their entries, and the places of these among all entries.

    The rows are given as a slice, as a mask or by their numbers.

    >>> [np.asarray(each).tolist() for each in take_rows(np.array([0, 2, 3, 5]), [2, 0])]
    [[0, 2, 4], [3, 4, 0, 1]]
    """
    if isinstance(rows, slice) and rows.step in (None, 1):
        first, last, _ = rows.indices(len(start) - 1)
        part = start[first : max(first, last) + 1]
        return part - part[0], slice(int(part[0]), int(part[-1]))
    count = np.diff(start)[rows]
    new = np.append(0, np.cumsum(count))
    return new, np.arange(new[-1]) + np.repeat(start[:-1][rows] - new[:-1], count)


def row_sums(x: NDArray[Any], start: Indices) -> NDArray[Any]:
    """Return the sum of each row; rows may be empty."""
    total = np.zeros(len(start) - 1, dtype=x.dtype)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        total[filled] = np.add.reduceat(x, start[filled])
    return total


def running_max(x: NDArray[Any], place: Indices) -> NDArray[Any]:
    """Return the largest entry of the row so far; `place` is the position of each entry in its row.

    The stride doubles in each round, and fewer entries remain: short rows are soon done.

    >>> running_max(np.array([2, 1, 3, 1, 5]), np.array([0, 1, 2, 0, 1])).tolist()
    [2, 2, 3, 1, 5]
    """
    largest, stride = x.copy(), 1
    while len(entries := np.flatnonzero(place >= stride)):
        largest[entries] = np.maximum(largest[entries], largest[entries - stride])
        stride *= 2
    return largest
