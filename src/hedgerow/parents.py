"""Trees as arrays of parents: whole-array algorithms, no step per node.

`parent[i]` is the position of node i's parent, -1 for the root. Paths are walked by doubling the stride, so
that a chain of a million nodes takes twenty rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import TreeError

if TYPE_CHECKING:
    from collections.abc import Sequence

Indices = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


def depth_first_order(names: Sequence[str], parent: Indices) -> Indices:
    """Return the nodes in depth-first order, siblings in the order of the input."""
    count = len(parent)
    roots = np.flatnonzero(parent < 0)
    if len(roots) != 1 or len(names) != count or parent.max(initial=-1) >= count:
        raise TreeError(
            f"Every parent must be the position of a node, and exactly one node, the root, has parent -1. "
            f"Got {len(names)} names, {count} parents and {len(roots)} roots."
        )
    rooted = parent.copy()
    rooted[roots] = roots
    stranded = np.flatnonzero(follow(rooted) != roots[0])
    if len(stranded):
        raise TreeError(f"{names[stranded[0]]!r} is on or below a cycle: it cannot be reached from the root.")
    depth = path_sums(np.ones(count, dtype=np.int64), parent) - 1
    size = fold_up(np.add, np.ones(count, dtype=np.int64), parent, depth)
    # A node stands one place behind its parent, plus the sizes of the siblings before it.
    by_parent = np.argsort(parent, kind="stable")
    size_before = np.cumsum(size[by_parent]) - size[by_parent]
    first = np.flatnonzero(np.diff(parent[by_parent], prepend=-2))
    size_before -= np.repeat(size_before[first], np.diff(np.append(first, count)))
    step = np.empty(count, dtype=np.int64)
    step[by_parent] = size_before + 1
    position = path_sums(step, parent) - 1
    order = np.empty(count, dtype=np.int64)
    order[position] = np.arange(count)
    return order


def follow(pointer: Indices) -> Indices:
    """Follow pointers until they stay where they are, doubling the stride; cycles are given up on."""
    for _ in range(len(pointer).bit_length() + 1):
        further = pointer[pointer]
        if np.array_equal(further, pointer):
            break
        pointer = further
    return pointer


def path_sums(value: Indices, parent: Indices) -> Indices:
    """Sum `value` over each node and its ancestors, doubling the stride: log2(depth) rounds."""
    none = len(parent)  # a sentinel above the root, worth 0
    total = np.append(value, 0)
    pointer = np.append(np.where(parent < 0, none, parent), none)
    while not np.all(pointer == none):
        total += total[pointer]
        pointer = pointer[pointer]
    return total[:-1]


def subtree_ends(parent: Indices) -> Indices:
    """Return one past the last descendant of each node, siblings being in depth-first order.

    That is the next sibling: the node's own, or that of its nearest ancestor that has one.
    """
    count = len(parent)
    by_parent = np.argsort(parent, kind="stable")
    has_next = np.diff(parent[by_parent]) == 0
    next_sibling = np.full(count, count)
    next_sibling[by_parent[:-1][has_next]] = by_parent[1:][has_next]
    own = (next_sibling < count) | (parent < 0)
    return next_sibling[follow(np.where(own, np.arange(count), parent))]


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
