"""Trees as arrays of parents: `parent[i]` is the position of node i's parent, -1 for the root."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import TreeError

if TYPE_CHECKING:
    from collections.abc import Sequence

Indices = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)

# Trees with more levels than this are walked node by node: work on whole levels would then be mostly overhead.
_DEEP = 1_000


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
    keys = (parent << 32) | np.arange(count)
    keys.sort()
    if count > 1 and keys[1] < 0:
        return None
    by_parent = keys & 0xFFFFFFFF  # positions, the root first, siblings side by side
    child_count = np.bincount(parent + 1, minlength=count + 1)[1:]
    first_child = np.cumsum(child_count)
    first_child -= child_count - 1  # the root takes place 0
    levels = _breadth_first(by_parent, first_child, child_count)
    return _walked(by_parent, first_child, child_count) if levels is None else _from_levels(*levels)


def _breadth_first(
    by_parent: Indices, first_child: Indices, child_count: Indices
) -> tuple[Indices, Indices, list[int]] | None:
    """Return nodes level by level, the place of each one's parent among them, and where levels start."""
    nodes, above = np.empty_like(by_parent), np.empty_like(by_parent)
    nodes[0], above[0] = by_parent[0], -1
    start = [0, 1]
    while start[-2] < start[-1]:
        if len(start) > _DEEP:
            return None
        low, high = start[-2:]
        sizes = child_count[nodes[low:high]]
        inner = np.flatnonzero(sizes)
        sizes = sizes[inner]
        ends = np.cumsum(sizes)
        below = int(ends[-1]) if len(ends) else 0
        inner += low
        shift = first_child[nodes[inner]]
        shift -= ends - sizes
        place = np.repeat(shift, sizes)
        place += np.arange(below)
        by_parent.take(place, out=nodes[high : high + below], mode="clip")  # "raise" would take a copy
        above[high : high + below] = np.repeat(inner, sizes)
        start.append(high + below)
    reached = start[-1]
    return nodes[:reached], above[:reached], start[:-1]


def _from_levels(nodes: Indices, above: Indices, start: list[int]) -> DepthFirst:
    count = len(nodes)
    # Families, that is the children of one node, stand side by side; so do their parents, level by level.
    eldest = np.flatnonzero(above[1:] != above[:-1]) + 1
    parents = above[eldest]
    family_start = np.searchsorted(eldest, start)
    size = np.ones(count, dtype=np.int64)
    for level in range(len(start) - 2, 0, -1):
        low, high = start[level], start[level + 1]
        family = slice(family_start[level], family_start[level + 1])
        size[parents[family]] += np.add.reduceat(size[low:high], eldest[family] - low)
    # A node stands one place behind its parent, plus the sizes of the siblings before it.
    step = np.cumsum(size)
    step -= size
    step[1:] -= np.repeat(step[eldest] - 1, np.diff(eldest, append=count))
    position = np.zeros(count, dtype=np.int64)
    for low, high in pairwise(start[1:]):
        position[low:high] = position[above[low:high]]
        position[low:high] += step[low:high]
    inverse = np.empty(count, dtype=np.int64)
    inverse[position] = np.arange(count)
    new_parent = position[above]
    new_parent[0] = -1
    depth = np.repeat(np.arange(len(start) - 1), np.diff(start))
    end = size[inverse]
    end += np.arange(count)
    return DepthFirst(nodes[inverse], new_parent[inverse], depth[inverse], end)


def _walked(by_parent: Indices, first_child: Indices, child_count: Indices) -> DepthFirst:
    """Walk the tree node by node."""
    listed, first, counts = by_parent.tolist(), first_child.tolist(), child_count.tolist()
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
