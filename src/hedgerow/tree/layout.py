"""Trees as arrays of parents: depth-first order, depths and lowest common ancestors.

`parent[i]` is the position of node i's parent, -1 for the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import TreeError

if TYPE_CHECKING:
    from collections.abc import Iterator


Indices = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)

_NONE = -1


def as_positions(parent: ArrayLike, count: int) -> Indices:
    """Return the positions of the parents of `count` nodes as a new array, checked.

    >>> as_positions([-1, 0.9], 2)
    Traceback (most recent call last):
    hedgerow.errors.TreeError: Parents must be positions of nodes, one integer per node, not float64.
    """
    try:
        array = np.asarray(parent)
    except ValueError:  # lists of different lengths
        array = np.asarray(parent, dtype=object)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        what = array.dtype if array.ndim == 1 else f"an array of shape {array.shape}"
        raise TreeError(f"Parents must be positions of nodes, one integer per node, not {what}.")
    if len(array) != count or (count and not (array.min() >= -1 and array.max() < count)):
        raise TreeError(
            f"Every parent must be the position of a node, or -1 for the root. Got {count} names, {len(array)} "
            f"parents and {np.count_nonzero(array == -1)} roots."
        )
    return array.astype(np.int64)


@dataclass(frozen=True)
class DepthFirst:
    """The nodes of a tree in depth-first order, with siblings in the order of the input.

    `order[i]` is the position in the input of the node that is now number i, and `place` the inverse; the other
    arrays are in the new order.
    """

    order: Indices
    place: Indices
    parent: Indices
    depth: Indices
    end: Indices


def depth_first(parent: Indices) -> DepthFirst:
    """Put the nodes of a tree in depth-first order; the parents must be those of a tree.

    >>> layout = depth_first(np.array([2, 0, -1, 0]))
    >>> layout.order.tolist(), layout.parent.tolist(), layout.end.tolist()
    ([2, 0, 1, 3], [-1, 0, 1, 1], [4, 4, 3, 4])
    """
    count = len(parent)
    root = int(parent.argmin())
    first_child, next_sibling = _relatives(parent)
    # The descendants of a node are followed by the next sibling of its nearest ancestor that has one.
    up = np.where(parent == _NONE, root, parent)
    following = next_sibling[follow(np.where(next_sibling == _NONE, up, np.arange(count)))]
    successor = np.where(first_child == _NONE, following, first_child)
    order = np.fromiter(_linked(root, successor), dtype=np.int64, count=count)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    above = place[up[order]]
    above[0] = -1
    after = following[order]
    return DepthFirst(order, place, above, depths(above), np.where(after == _NONE, count, place[after]))


def _relatives(parent: Indices) -> tuple[Indices, Indices]:
    """Return each node's first child and next sibling, in the order of the input."""
    first_child, next_sibling = np.full((2, len(parent)), _NONE)
    by_parent = np.argsort(parent, kind="stable")  # the root, then the children of each node in turn
    before, here = by_parent[:-1], by_parent[1:]
    same = parent[before] == parent[here]
    next_sibling[before[same]] = here[same]
    first_child[parent[here[~same]]] = here[~same]
    return first_child, next_sibling


def _linked(start: int, successor: Indices) -> Iterator[int]:
    """Yield the nodes of a linked list in order."""
    after = successor.data  # contiguous numbers; those of a list would be scattered over memory
    node = start
    while node != _NONE:
        yield node
        node = after[node]


def depths(parent: Indices) -> Indices:
    """Return the number of edges above each node, doubling the stride: 1, 2, 4, ... edges at a time."""
    depth = (parent >= 0).astype(np.int64)
    pointer = np.maximum(parent, 0)
    while pointer.any():
        depth += depth[pointer]
        pointer = pointer[pointer]
    return depth


def follow(pointer: Indices) -> Indices:
    """Follow pointers until they point to themselves, doubling the stride; on a cycle, they end anywhere on it.

    >>> follow(np.array([0, 0, 1, 3, 3])).tolist()
    [0, 0, 0, 3, 3]
    """
    for _ in range(len(pointer).bit_length() + 1):
        further = pointer[pointer]
        if np.array_equal(further, pointer):
            break
        pointer = further
    return pointer


def rings(parent: Indices) -> Iterator[list[int]]:
    """Yield the nodes of each cycle: the first in the input, its parent, and so on.

    >>> list(rings(np.array([2, -1, 0, 1])))
    [[0, 2]]
    """
    end = follow(np.where(parent < 0, np.arange(len(parent)), parent))
    finished: set[int] = set()
    for start in np.unique(end[parent[end] >= 0]).tolist():
        if start in finished:
            continue
        ring = [start]
        while (above := int(parent[ring[-1]])) != start:
            ring.append(above)
        finished.update(ring)
        first = ring.index(min(ring))
        yield ring[first:] + ring[:first]


def by_depth(depth: Indices) -> list[Indices]:
    """Return the nodes at depth 0, 1, 2, ..., each ascending."""
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.cumsum(np.bincount(depth))[:-1])


def fold_up(fold: np.ufunc, value: NDArray[Scalar], parent: Indices, depth: Indices) -> NDArray[Scalar]:
    """Fold each node's value into its parent's, deepest level first."""
    total = value.copy()
    for level in reversed(by_depth(depth)[1:]):
        fold.at(total, parent[level], total[level])
    return total


@final
class CommonAncestors:
    """A table of lowest common ancestors: two look-ups for any pair of nodes in depth-first order.

    The lowest common ancestor of a < b is the smallest parent among the nodes a+1 .. b: all of these lie below it,
    and one of them is its child. The table holds the minima of `parent` over all runs of 1, 2, 4, ... nodes, so
    two runs cover a+1 .. b, whatever its length: one that starts at a+1, and one that ends at b.
    """

    def __init__(self, parent: Indices) -> None:
        n = len(parent)
        node: Any = np.uint16 if n <= 1 << 16 else np.int32  # a smaller type keeps more of the table in the cache
        runs = [np.append(parent[1:], 0).astype(node)]
        while (1 << len(runs)) < n:
            half = 1 << (len(runs) - 1)
            below = runs[-1]
            runs.append(np.concatenate([np.minimum(below[:-half], below[half:]), below[-half:]]))
        # The nodes themselves come before the runs, for pairs that are 0 apart.
        self._minima = np.concatenate([np.arange(n, dtype=node), *runs])
        apart = np.arange(n)
        level = np.frexp(apart)[1].astype(np.int64)  # 0 for 0, else 1 + floor(log2), exactly
        from_low = level * n
        from_high = np.where(apart == 0, 0, from_low - (1 << np.maximum(level - 1, 0)))
        dtype: Any = np.int32 if len(self._minima) < np.iinfo(np.int32).max else np.int64
        self._from_low: Indices = from_low.astype(dtype)
        self._from_high: Indices = from_high.astype(dtype)

    def write(self, low: Indices, high: Indices, out: Indices) -> None:
        """Write the lowest common ancestors of nodes low <= high, known to be in range; both are overwritten."""
        apart = high - low
        # mode="clip", because "raise" would check every index again.
        low += self._from_low.take(apart, mode="clip")
        high += self._from_high.take(apart, mode="clip")
        np.minimum(self._minima.take(low, mode="clip"), self._minima.take(high, mode="clip"), out=out)
