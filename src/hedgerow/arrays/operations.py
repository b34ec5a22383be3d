"""Sums, log-sum-exps, softmaxes and products over a tree, for NumPy arrays and torch tensors alike.

All functions act on the last axis, in depth-first order of nodes, and broadcast over the axes before it. They are
written once, with the array API; the few operations outside it are in `numpy_ops` and `torch_ops`. In depth-first
order, a subtree is a slice, so a sum over it is a difference of two prefix sums. Results that need relative
precision (logarithms, products) are computed level by level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays.interface import Array, TreeArrays, namespace, ops_of
from hedgerow.arrays.tree_on_device import TreeOnDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Sums ------------------------------------------------------------------------------------------------------


def leaf_shares(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x >= 0 over the leaves below each node, as a share of the whole: [..., leaves] -> [..., nodes].

    1 at the root; a parent is never smaller than its child, exactly.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> leaf_shares(h, np.array([1, 1, 2.0])).tolist()
    [1.0, 0.5, 0.25, 0.25, 0.5]
    """
    return ops_of(x).interval_shares(x, TreeOnDevice.of(hierarchy, x).leaf_intervals)


def leaf_softmax(hierarchy: TreeArrays, x: Array) -> Array:
    """Softmax over the leaves, summed up the tree: [..., leaves] -> [..., nodes]."""
    return ops_of(x).interval_softmax(x, TreeOnDevice.of(hierarchy, x).leaf_intervals)


def descendant_shares(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x >= 0 over each node and its descendants, as a share of the whole: [..., nodes] -> same."""
    return ops_of(x).interval_shares(x, TreeOnDevice.of(hierarchy, x).descendant_intervals)


def descendant_softmax(hierarchy: TreeArrays, x: Array) -> Array:
    """Softmax over the nodes, summed up the tree: [..., nodes] -> same."""
    return ops_of(x).interval_softmax(x, TreeOnDevice.of(hierarchy, x).descendant_intervals)


def sum_ancestors(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x over each node and its ancestors: [..., nodes] -> same, float64.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> sum_ancestors(h, np.array([1, 10, 100, 200, 1000.0])).tolist()
    [1.0, 11.0, 111.0, 211.0, 1001.0]
    """
    xp, at = namespace(x), TreeOnDevice.of(hierarchy, x)
    x = xp.astype(x, xp.float64, copy=False)
    root = x[..., :1]
    down = xp.concat([xp.zeros_like(root), xp.take(x, at.inner, axis=-1)], axis=-1)
    sums = pass_down(down, at.slots_above, at.parent_slot, lambda x, columns: xp.take(x, columns, axis=-1))
    return xp.concat([root, x[..., 1:] + sums[..., 1:] + root], axis=-1)


def sum_above_leaves(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x over each leaf and the nodes above it, without the root: [..., nodes but the root] -> [..., leaves].

    In double precision.
    """
    xp, at = namespace(x), TreeOnDevice.of(hierarchy, x)
    x = xp.astype(x, xp.float64, copy=False)
    down = xp.concat([xp.zeros_like(x[..., :1]), xp.take(x, at.inner - 1, axis=-1)], axis=-1)
    slot = xp.take(at.parent_slot, at.leaves)
    sums = pass_down(down, at.slots_above, slot, lambda x, columns: xp.take(x, columns, axis=-1))
    return xp.take(x, at.leaves - 1, axis=-1) + sums


def pass_down(
    down: Array, slots_above: Sequence[Array] | Array, parent_slot: Array, take: Callable[[Array, Array], Array]
) -> Array:
    """Sum over the internal nodes above each node, without the root: [..., slots] -> [..., nodes].

    The internal nodes are in slots 1, 2, ...; slot 0, the root's, must contain 0. The stride doubles, so this
    takes log2(depth) rounds and needs no levels and no matrix. See `ancestor_slots`. `take` gathers columns of the
    last axis.
    """
    for slot in slots_above:
        down = down + take(down, slot)
    return take(down, parent_slot)


def sum_children(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x over the children of each node: [..., nodes] -> same, 0 at the leaves.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> sum_children(h, np.array([1, 10, 100, 200, 1000.0])).tolist()
    [1010.0, 300.0, 0.0, 0.0, 0.0]
    """
    xp, at = namespace(x), TreeOnDevice.of(hierarchy, x)
    grouped = xp.take(x[..., 1:], at.by_parent, axis=-1)
    total = ops_of(x).segment_sum(grouped, at.sibling_start, at.sibling_group)
    return xp.take(xp.concat([total, xp.zeros_like(x[..., :1])], axis=-1), at.children_group, axis=-1)


def max_unrelated(hierarchy: TreeArrays, x: Array) -> Array:
    """Return the largest x among the nodes that are neither ancestors nor descendants of each node.

    [..., nodes] -> same, -inf if there are none. In depth-first order, these are the nodes whose subtrees have
    ended when the node starts, and those that start after its own subtree has ended.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> max_unrelated(h, np.array([1, 0.7, 0.5, 0.2, 0.3])).tolist()
    [-inf, 0.3, 0.3, 0.5, 0.7]
    """
    xp, ops, at = namespace(x), ops_of(x), TreeOnDevice.of(hierarchy, x)
    nothing = xp.full_like(x[..., :1], -np.inf)
    ended = xp.concat([nothing, ops.running_max(xp.take(x, at.by_end, axis=-1))], axis=-1)
    to_come = xp.concat([xp.flip(ops.running_max(xp.flip(x, axis=-1)), axis=-1), nothing], axis=-1)
    return xp.maximum(xp.take(ended, at.ended, axis=-1), xp.take(to_come, at.end, axis=-1))


# Down the tree ---------------------------------------------------------------------------------------------


def multiply_down(hierarchy: TreeArrays, factor: Array) -> Array:
    """Multiply along each path: [..., nodes except the root] -> [..., nodes], 1 at the root.

    Computed level by level, so that a child is exactly its parent times a factor: with factors in [0, 1], no child
    exceeds its parent.
    """
    xp = namespace(factor)
    return _down(hierarchy, factor, xp.ones_like(factor[..., :1]), xp.multiply)


def add_down(hierarchy: TreeArrays, term: Array) -> Array:
    """Add along each path: [..., nodes except the root] -> [..., nodes], 0 at the root; level by level."""
    xp = namespace(term)
    return _down(hierarchy, term, xp.zeros_like(term[..., :1]), xp.add)


def _down(hierarchy: TreeArrays, x: Array, at_root: Array, combine: Callable[[Array, Array], Array]) -> Array:
    xp, at = namespace(x), TreeOnDevice.of(hierarchy, x)
    parts = [at_root]
    for nodes, parent in zip(at.levels[1:], at.parent_in_level, strict=True):
        parts.append(combine(xp.take(parts[-1], parent, axis=-1), xp.take(x, nodes - 1, axis=-1)))
    return xp.take(xp.concat(parts, axis=-1), at.from_levels, axis=-1)


# Among siblings, and up the tree ---------------------------------------------------------------------------


def sibling_log_softmax(hierarchy: TreeArrays, x: Array) -> Array:
    """Return the log-softmax of each node among its siblings: [..., nodes except the root] -> same.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> np.exp(sibling_log_softmax(h, np.log([1.0, 3, 1, 3]))).round(2).tolist()
    [0.25, 0.75, 0.25, 0.75]
    """
    xp, at = namespace(x), TreeOnDevice.of(hierarchy, x)
    grouped = xp.take(x, at.by_parent, axis=-1)
    shifted, _, log_mass = _segment_log_mass(grouped, at.sibling_start, at.sibling_group)
    return xp.take(shifted - xp.take(log_mass, at.sibling_group, axis=-1), at.from_by_parent, axis=-1)


def log_sum_leaves(hierarchy: TreeArrays, x: Array) -> Array:
    """Return log-sum-exp of x over the leaves below each node: [..., leaves] -> [..., nodes].

    Computed level by level, so that small masses keep their relative precision next to large ones.
    """
    xp, at = namespace(x), TreeOnDevice.of(hierarchy, x)
    parts = [xp.take(x, at.leaves_in_level[-1], axis=-1)]
    steps = zip(at.leaves_in_level[:-1], at.place_in_level, at.level_start, at.level_group, strict=True)
    for leaves, place, start, group in reversed(list(steps)):
        total = _segment_log_sum(parts[-1], start, group)
        if len(leaves):
            total = xp.take(xp.concat([total, xp.take(x, leaves, axis=-1)], axis=-1), place, axis=-1)
        parts.append(total)
    return xp.take(xp.concat(parts[::-1], axis=-1), at.from_levels, axis=-1)


def log_sum_descendants(hierarchy: TreeArrays, x: Array) -> Array:
    """Return log-sum-exp of x over each node and its descendants: [..., nodes] -> same; level by level."""
    xp, at = namespace(x), TreeOnDevice.of(hierarchy, x)
    total = xp.take(x, at.levels[-1], axis=-1)
    parts = [total]
    nothing = xp.full_like(x[..., :1], -np.inf)
    steps = zip(at.levels[:-1], at.level_start, at.level_group, at.group_of_node, strict=True)
    for nodes, start, group, group_of_node in reversed(list(steps)):
        below = xp.concat([_segment_log_sum(total, start, group), nothing], axis=-1)
        total = xp.logaddexp(xp.take(x, nodes, axis=-1), xp.take(below, group_of_node, axis=-1))
        parts.append(total)
    return xp.take(xp.concat(parts[::-1], axis=-1), at.from_levels, axis=-1)


def _segment_log_sum(x: Array, start: Array, segment: Array) -> Array:
    """Return log-sum-exp of each segment of the last axis; entry i belongs to `segment[i]`."""
    _, largest, log_mass = _segment_log_mass(x, start, segment)
    return log_mass + largest


def _segment_log_mass(x: Array, start: Array, segment: Array) -> tuple[Array, Array, Array]:
    """Return x minus the maximum of its segment, the maxima, and the log-sum-exp of the differences."""
    xp, ops = namespace(x), ops_of(x)
    largest = ops.segment_max(x, start, segment)
    largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
    shifted = x - xp.take(largest, segment, axis=-1)
    mass = ops.segment_sum(xp.exp(shifted), start, segment)
    return shifted, largest, ops.log(mass)
