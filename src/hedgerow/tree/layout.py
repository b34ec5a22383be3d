"""Trees as arrays of parents: `parent[i]` is the position of node i's parent, -1 for the root."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import map_row_blocks
from hedgerow.errors import TreeError

if TYPE_CHECKING:
    from collections.abc import Sequence

Indices = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)

# Trees with more levels than this are walked node by node: work on whole levels would then be mostly overhead.
_DEEP = 1_000
_ROW_BYTES = 64  # what a node takes while it is worked on
_LOWER_HALF = (1 << 32) - 1


@dataclass(frozen=True)
class DepthFirst:
    """The nodes of a tree in depth-first order, siblings in the order of the input.

    `order[i]` is the position in the input of the node that is now number i; the other arrays are in the new
    order. `order` is shorter than the input if some nodes cannot be reached from the root.
    """

    order: Indices
    parent: Indices
    depth: Indices
    end: Indices


def depth_first(names: Sequence[str] | NDArray[np.object_], parent: Indices) -> DepthFirst:
    """Put the nodes of a tree in depth-first order, or say why they are not a tree."""
    result = order_of(parent)
    if result is None or len(names) != len(parent):
        raise TreeError(
            f"Every parent must be the position of a node, and exactly one node, the root, has parent -1. "
            f"Got {len(names)} names, {len(parent)} parents and {np.count_nonzero(parent == -1)} roots."
        )
    if len(result.order) < len(parent):
        stranded = np.ones(len(parent), dtype=bool)
        stranded[result.order] = False
        name = names[int(np.argmax(stranded))]
        raise TreeError(f"{name!r} is on or below a cycle: it cannot be reached from the root.")
    return result


def order_of(parent: Indices) -> DepthFirst | None:
    """Return the nodes that hang on the root in depth-first order; None without exactly one root."""
    count = len(parent)
    if not count or parent.min() != -1 or parent.max() >= count:
        return None
    # Sorting one number that holds both is much quicker than a stable sort of positions by parent.
    keys = parent << 32
    keys |= np.arange(count)
    keys.sort()
    if count > 1 and keys[1] < 0:
        return None
    by_parent = keys.astype(np.int32)  # the lower half: positions, the root first, siblings side by side
    keys >>= 32
    eldest = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    return order_families(by_parent, keys[eldest], eldest)


def order_families(by_parent: NDArray[np.int32], parents: Indices, eldest: Indices) -> DepthFirst:
    """Return the nodes that hang on the root in depth-first order.

    Parameters
    ----------
    by_parent
        The root, then the children of one node, of another, and so on.
    parents
        Those nodes, in the same order.
    eldest
        Where in `by_parent` the children of each begin.
    """
    count = len(by_parent)
    # Where a node's children begin and, in the lower half, how many they are: both come at the price of one.
    families = np.zeros(count, dtype=np.int64)
    families[parents] = eldest << 32 | np.diff(eldest, append=count)
    levels = _breadth_first(by_parent, families)
    return _walked(by_parent, families) if levels is None else _from_levels(levels)


@dataclass(frozen=True)
class _Levels:
    """The nodes of a tree level by level, families (the children of one node) side by side."""

    nodes: NDArray[np.int32]
    """Positions in the input."""
    above: NDArray[np.int32]
    """The place of each one's parent among `nodes`; 0 for the root."""
    start: list[int]
    """Where the levels start, and where the last ends."""
    families: list[tuple[Indices, Indices]]
    """For each level but the root's, the places of the parents and, within the level, where their families end."""


def _breadth_first(by_parent: NDArray[np.int32], of_node: Indices) -> _Levels | None:
    nodes, above = np.empty_like(by_parent), np.zeros_like(by_parent)
    nodes[0] = by_parent[0]
    start = [0, 1]
    families: list[tuple[Indices, Indices]] = []
    while True:
        if len(start) > _DEEP:
            return None
        low, high = start[-2:]
        # mode="clip" because "raise" would look at every index once more.
        here = of_node.take(nodes[low:high], mode="clip")
        parents = np.flatnonzero(here)
        if not len(parents):
            return _Levels(nodes[:high], above[:high], start, families)
        here = here[parents]
        sizes = here & _LOWER_HALF
        parents += low
        ends = np.cumsum(sizes)
        shift = (here >> 32) - (ends - sizes)
        family = np.repeat(np.arange(len(parents)), sizes)
        place = shift[family]
        place += np.arange(len(family))
        level = slice(high, high + len(family))
        by_parent.take(place, out=nodes[level], mode="clip")
        above[level] = parents[family]
        start.append(level.stop)
        families.append((parents, ends))


def _from_levels(levels: _Levels) -> DepthFirst:
    count = len(levels.nodes)
    spans = [slice(low, high) for low, high in pairwise(levels.start)][1:]
    size, before, skipped = np.ones((3, count), dtype=np.int32)
    for level, (parents, ends) in zip(reversed(spans), reversed(levels.families), strict=True):
        # `before` counts nodes below older nodes of the level, `skipped` those of them that are of older families.
        upto = np.cumsum(size[level], dtype=np.int32)
        np.subtract(upto, size[level], out=before[level])
        total = upto[ends - 1]
        skipped[parents] = np.concatenate([[0], total[:-1]])
        size[parents] += total - skipped[parents]
    # A node stands one place behind its parent, plus the sizes of the siblings before it.
    position = np.zeros(count, dtype=np.int32)
    for level, (parents, _) in zip(spans, levels.families, strict=True):
        mine = slice(parents[0], parents[-1] + 1)
        first = position[mine] - skipped[mine] + 1
        np.add(first.take(levels.above[level] - mine.start, mode="clip"), before[level], out=position[level])
    inverse = np.empty(count, dtype=np.int64)
    inverse[position.astype(np.int64)] = np.arange(count)  # NumPy is slow with indices of 32 bits
    parent = position.take(levels.above, mode="clip")
    parent[0] = -1
    depth = np.repeat(np.arange(len(spans) + 1, dtype=np.int32), np.diff(levels.start))
    end = position + size
    result = DepthFirst(*(np.empty(count, dtype=np.int64) for _ in range(4)))

    def fill(block: slice) -> None:
        place = inverse[block]
        result.order[block] = levels.nodes.take(place, mode="clip")
        result.parent[block] = parent.take(place, mode="clip")
        result.depth[block] = depth.take(place, mode="clip")
        result.end[block] = end.take(place, mode="clip")

    map_row_blocks(fill, count, _ROW_BYTES)
    return result


def _walked(by_parent: NDArray[np.int32], families: Indices) -> DepthFirst:
    """Walk the tree node by node."""
    listed, first, counts = by_parent.tolist(), (families >> 32).tolist(), (families & _LOWER_HALF).tolist()
    order: list[int] = []
    parent: list[int] = []
    depth: list[int] = []
    stack = [(listed[0], -1)]
    while stack:
        node, above = stack.pop()
        here = len(order)
        order.append(node)
        parent.append(above)
        depth.append(depth[above] + 1 if here else 0)
        stack.extend((child, here) for child in reversed(listed[first[node] : first[node] + counts[node]]))
    end = list(range(1, len(order) + 1))
    for node in range(len(order) - 1, 0, -1):
        end[parent[node]] = max(end[parent[node]], end[node])
    return DepthFirst(*(np.array(values, dtype=np.int64) for values in (order, parent, depth, end)))


def follow(pointer: Indices) -> Indices:
    """Follow pointers until they stay where they are, doubling the stride; cycles are given up on."""
    for _ in range(len(pointer).bit_length() + 1):
        further = pointer[pointer]
        if np.array_equal(further, pointer):
            break
        pointer = further
    return pointer


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
