"""Sums, log-sum-exps, softmaxes and products over a tree, for NumPy arrays and torch tensors alike.

All functions act on the last axis, in depth-first order of nodes, and broadcast over the axes before it. They are
written once, with the array API; the few operations outside it are in `numpy_ops` and `torch_ops`. In depth-first
order, a subtree is a slice, so a sum over it is a difference of two prefix sums. Results that need relative
precision (logarithms, products) are computed level by level.
"""

from __future__ import annotations

import importlib
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, final

import array_api_compat
import numpy as np

from hedgerow.arrays import numpy_ops
from hedgerow.arrays.interface import Intervals
from hedgerow.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.arrays.interface import Array, ArrayOps, Indices, TreeArrays


def namespace(x: Array) -> Any:
    """Return the array API namespace of an array."""
    return array_api_compat.array_namespace(x)


def ops_of(x: Array) -> ArrayOps:
    """Return the module with the operations that the array API lacks, for this kind of array."""
    if array_api_compat.is_torch_array(x):
        # By name, so that nothing in the evaluation part imports torch. Compiled graphs cannot import modules.
        name = "hedgerow.arrays.torch_ops"
        return cast("ArrayOps", sys.modules.get(name) or importlib.import_module(name))
    return numpy_ops


def as_scores(x: Any, width: int, what: str) -> Array:
    """Return a float32 or float64 array or tensor with one column per `what`.

    Lists become arrays and half precision becomes single; any other width is an error.
    """
    if not array_api_compat.is_array_api_obj(x) or isinstance(x, np.ma.MaskedArray):
        x = as_numpy(x)
    xp = namespace(x)
    if x.dtype not in (xp.float32, xp.float64):
        half = "float16" in str(x.dtype)  # bfloat16 is one
        if not half and not xp.isdtype(x.dtype, ("real floating", "integral", "bool")):
            raise ScoreError(f"Scores must be numbers, not {x.dtype}.")
        x = xp.astype(x, xp.float32 if half else xp.float64)
    if x.ndim < 1 or x.shape[-1] != width:
        raise ScoreError(f"Scores need one column per {what}, {width} in all; their shape is {tuple(x.shape)}.")
    return x


def as_rows(x: Any, hierarchy: TreeArrays) -> Array:
    """Return a float32 or float64 array or tensor [examples, nodes]; any other shape is an error."""
    x = as_scores(x, len(hierarchy), "node")
    if x.ndim != 2:
        raise ScoreError(
            f"Likelihoods need one row per example and one column per node; got shape {tuple(x.shape)}."
        )
    return x


def as_numpy(x: Any) -> NDArray[Any]:
    """Return a tensor, an array or a sequence as an array."""
    if not array_api_compat.is_torch_array(x):
        if np.ma.is_masked(x):
            raise ScoreError("Some values are masked. Fill the gaps first: array.filled(value).")
        try:
            return np.asarray(x)
        except ValueError:
            raise ScoreError("Rows have different lengths: an array needs as many values in each.") from None
    # NumPy has no bfloat16.
    return np.asarray(x.detach().cpu().float() if "bfloat16" in str(x.dtype) else x.detach().cpu())


def rounded_down(threshold: ArrayLike, like: Array) -> NDArray[Any]:
    """Round thresholds down to the precision of `like`, so that the same values exceed them as before.

    >>> rounded_down(0.7, np.zeros(1, dtype=np.float32)).tolist() < 0.7
    True
    """
    given = np.asarray(threshold, dtype=np.float64)
    precision: Any = np.float32 if "float32" in str(like.dtype) else np.float64
    with np.errstate(over="ignore"):
        nearest = given.astype(precision)
    return np.where(nearest > given, np.nextafter(nearest, precision(-np.inf)), nearest)


@final
class Layout:
    """The index arrays of a tree that the operations use, on one device."""

    def __init__(self, hierarchy: TreeArrays, place: Callable[[NDArray[Any]], Array]) -> None:
        self._hierarchy = hierarchy
        self._place = place

    @staticmethod
    def of(hierarchy: TreeArrays, like: Array) -> Layout:
        """Return the layout of a tree on the device of `like`; made once."""
        ops = ops_of(like)
        device = ops.device_of(like)
        return hierarchy.derived(
            ("layout", device), lambda: Layout(hierarchy, lambda array: ops.constant(array, device))
        )

    def _place_all(self, arrays: Sequence[NDArray[Any]]) -> tuple[Array, ...]:
        return tuple(self._place(array) for array in arrays)

    @cached_property
    def nodes(self) -> Array:
        """All nodes."""
        return self._place(np.arange(len(self._hierarchy)))

    @cached_property
    def end(self) -> Array:
        """One past the last descendant of each node."""
        return self._place(self._hierarchy.end)

    @cached_property
    def leaves(self) -> Array:
        """The leaves."""
        return self._place(self._hierarchy.leaves)

    @cached_property
    def first_leaf(self) -> Array:
        """Position, among the leaves, of the first leaf below each node."""
        return self._place(self._hierarchy.leaves_before[:-1])

    @cached_property
    def last_leaf(self) -> Array:
        """One past the position, among the leaves, of the last leaf below each node."""
        return self._place(self._hierarchy.leaves_before[self._hierarchy.end])

    @cached_property
    def leaf_intervals(self) -> Intervals:
        """The leaves below each node."""
        before = self._hierarchy.leaves_before
        return self._intervals(before[:-1], before[self._hierarchy.end], len(self._hierarchy.leaves))

    @cached_property
    def descendant_intervals(self) -> Intervals:
        """Each node and its descendants."""
        return self._intervals(np.arange(len(self._hierarchy)), self._hierarchy.end, len(self._hierarchy))

    def _intervals(self, low: Indices, high: Indices, width: int) -> Intervals:
        """Place intervals, and the distinct ones of several columns: trivial nodes have that of their child."""
        wide = np.flatnonzero(high - low > 1)
        key, number = np.unique(low[wide] * (width + 1) + high[wide], return_inverse=True)
        numbers = low.copy()
        numbers[wide] = width + number
        distinct = (key // (width + 1), key % (width + 1), numbers)
        return Intervals(*self._place_all([low.astype(np.int32), high.astype(np.int32), *distinct]))

    @cached_property
    def by_end(self) -> Array:
        """Nodes in the order in which their subtrees end."""
        return self._place(np.argsort(self._hierarchy.end, kind="stable"))

    @cached_property
    def ended(self) -> Array:
        """How many subtrees have ended when each node starts."""
        return self._place(np.searchsorted(np.sort(self._hierarchy.end), np.arange(len(self._hierarchy)), "right"))

    @cached_property
    def inner(self) -> Array:
        """The internal nodes except the root; see `ancestor_slots`."""
        return self._place(self._slots[0])

    @cached_property
    def slots_above(self) -> tuple[Array, ...]:
        """For strides of 1, 2, 4, ..., the slot of the ancestor that far above each slot; see `ancestor_slots`."""
        return self._place_all(list(self._slots[1]))

    @cached_property
    def parent_slot(self) -> Array:
        """The slot of each node's parent; see `ancestor_slots`."""
        return self._place(self._slots[2])

    @cached_property
    def _slots(self) -> tuple[Indices, Indices, Indices]:
        return ancestor_slots(self._hierarchy)

    @cached_property
    def by_parent(self) -> Array:
        """The nodes except the root, minus 1, sorted by parent."""
        return self._place(np.argsort(self._hierarchy.parent[1:], kind="stable"))

    @cached_property
    def from_by_parent(self) -> Array:
        """The inverse of `by_parent`."""
        return self._place(np.argsort(np.argsort(self._hierarchy.parent[1:], kind="stable")))

    @cached_property
    def sibling_start(self) -> Array:
        """Where each group of siblings starts in `by_parent`."""
        return self._place(np.flatnonzero(np.diff(np.sort(self._hierarchy.parent[1:]), prepend=-1)))

    @cached_property
    def sibling_group(self) -> Array:
        """Which group of siblings each entry of `by_parent` belongs to."""
        return self._place(np.unique(np.sort(self._hierarchy.parent[1:]), return_inverse=True)[1])

    @cached_property
    def children_group(self) -> Array:
        """The group of siblings formed by each node's children; for leaves, the number of groups."""
        has_children = self._hierarchy.child_count > 0
        return self._place(np.where(has_children, np.cumsum(has_children) - 1, has_children.sum()))

    @cached_property
    def nontrivial(self) -> Array:
        """The nodes that can be answers."""
        return self._place(np.flatnonzero(~self._hierarchy.is_trivial))

    @cached_property
    def levels(self) -> tuple[Array, ...]:
        """The nodes at each depth."""
        return self._place_all(self._hierarchy.levels)

    @cached_property
    def from_levels(self) -> Array:
        """The position of each node in the concatenated levels."""
        return self._place(np.argsort(np.concatenate(self._hierarchy.levels)))

    @cached_property
    def parent_in_level(self) -> tuple[Array, ...]:
        """For each level except the first, the position of each node's parent in the level above."""
        pairs = zip(self._hierarchy.levels, self._hierarchy.levels[1:], strict=False)
        return self._place_all([np.searchsorted(above, self._hierarchy.parent[level]) for above, level in pairs])

    @cached_property
    def level_start(self) -> tuple[Array, ...]:
        """For each level except the first, where each group of siblings starts."""
        starts = [
            np.flatnonzero(np.diff(self._hierarchy.parent[level], prepend=-1))
            for level in self._hierarchy.levels[1:]
        ]
        return self._place_all(starts)

    @cached_property
    def level_group(self) -> tuple[Array, ...]:
        """For each level except the first, which group of siblings each node belongs to."""
        groups = [
            np.unique(self._hierarchy.parent[level], return_inverse=True)[1]
            for level in self._hierarchy.levels[1:]
        ]
        return self._place_all(groups)

    @cached_property
    def group_of_node(self) -> tuple[Array, ...]:
        """For each level except the last, the group formed by each node's children; see `children_group`."""
        has_children = [self._hierarchy.child_count[level] > 0 for level in self._hierarchy.levels[:-1]]
        return self._place_all([np.where(has, np.cumsum(has) - 1, has.sum()) for has in has_children])


# Sums ------------------------------------------------------------------------------------------------------


def leaf_shares(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x >= 0 over the leaves below each node, as a share of the whole: [..., leaves] -> [..., nodes].

    1 at the root; a parent is never smaller than its child, exactly.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> leaf_shares(h, np.array([1, 1, 2.0])).tolist()
    [1.0, 0.5, 0.25, 0.25, 0.5]
    """
    return ops_of(x).interval_shares(x, Layout.of(hierarchy, x).leaf_intervals)


def leaf_softmax(hierarchy: TreeArrays, x: Array) -> Array:
    """Softmax over the leaves, summed up the tree: [..., leaves] -> [..., nodes]."""
    return ops_of(x).interval_softmax(x, Layout.of(hierarchy, x).leaf_intervals)


def descendant_shares(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x >= 0 over each node and its descendants, as a share of the whole: [..., nodes] -> same."""
    return ops_of(x).interval_shares(x, Layout.of(hierarchy, x).descendant_intervals)


def descendant_softmax(hierarchy: TreeArrays, x: Array) -> Array:
    """Softmax over the nodes, summed up the tree: [..., nodes] -> same."""
    return ops_of(x).interval_softmax(x, Layout.of(hierarchy, x).descendant_intervals)


def sum_ancestors(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x over each node and its ancestors: [..., nodes] -> same, float64.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> sum_ancestors(h, np.array([1, 10, 100, 200, 1000.0])).tolist()
    [1.0, 11.0, 111.0, 211.0, 1001.0]
    """
    xp, at = namespace(x), Layout.of(hierarchy, x)
    x = xp.astype(x, xp.float64, copy=False)
    root = x[..., :1]
    down = xp.concat([xp.zeros_like(root), xp.take(x, at.inner, axis=-1)], axis=-1)
    sums = pass_down(down, at.slots_above, at.parent_slot, lambda x, columns: xp.take(x, columns, axis=-1))
    return xp.concat([root, x[..., 1:] + sums[..., 1:] + root], axis=-1)


def pass_down(
    down: Array,
    slots_above: Sequence[Array] | Array,
    parent_slot: Array,
    take: Callable[[Array, Array], Array],
) -> Array:
    """Sum over the internal nodes above each node, without the root: [..., slots] -> [..., nodes].

    The internal nodes are in slots 1, 2, ...; slot 0, the root's, must contain 0. The stride doubles, so this
    takes log2(depth) rounds and needs no levels and no matrix. See `ancestor_slots`. `take` gathers columns of the
    last axis.
    """
    for slot in slots_above:
        down = down + take(down, slot)
    return take(down, parent_slot)


def ancestor_slots(hierarchy: TreeArrays) -> tuple[Indices, Indices, Indices]:
    """Return the index arrays for `pass_down`.

    First, the internal nodes except the root, which are in slots 1, 2, ...; second, for strides of 1, 2, 4, ...,
    the slot of the ancestor that far above each slot, [strides, slots]; third, the slot of each node's parent,
    [nodes].
    """
    inner = 1 + np.flatnonzero(hierarchy.child_count[1:] > 0)
    own_slot = np.zeros(len(hierarchy), dtype=np.int64)
    own_slot[inner] = np.arange(1, len(inner) + 1)
    parent_slot = own_slot[np.maximum(hierarchy.parent, 0)]
    above = [np.append(0, parent_slot[inner])]
    while above[-1].any():
        above.append(above[-1][above[-1]])
    return inner, np.stack(above)[:-1], parent_slot  # the last stride leads to the root from everywhere


def sum_children(hierarchy: TreeArrays, x: Array) -> Array:
    """Sum x over the children of each node: [..., nodes] -> same, 0 at the leaves.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> sum_children(h, np.array([1, 10, 100, 200, 1000.0])).tolist()
    [1010.0, 300.0, 0.0, 0.0, 0.0]
    """
    xp, at = namespace(x), Layout.of(hierarchy, x)
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
    xp, ops, at = namespace(x), ops_of(x), Layout.of(hierarchy, x)
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
    xp, at = namespace(x), Layout.of(hierarchy, x)
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
    xp, at = namespace(x), Layout.of(hierarchy, x)
    grouped = xp.take(x, at.by_parent, axis=-1)
    shifted, _, log_mass = _segment_log_mass(grouped, at.sibling_start, at.sibling_group)
    return xp.take(shifted - xp.take(log_mass, at.sibling_group, axis=-1), at.from_by_parent, axis=-1)


def log_sum_leaves(hierarchy: TreeArrays, x: Array) -> Array:
    """Return log-sum-exp of x over the leaves below each node: [..., leaves] -> [..., nodes].

    Computed level by level, so that small masses keep their relative precision next to large ones.
    """
    xp = namespace(x)
    at = Layout.of(hierarchy, x)
    nothing = xp.full_like(x[..., :1], -np.inf)
    column = xp.where(at.end - at.nodes == 1, at.first_leaf, x.shape[-1])
    return log_sum_descendants(hierarchy, xp.take(xp.concat([x, nothing], axis=-1), column, axis=-1))


def log_sum_descendants(hierarchy: TreeArrays, x: Array) -> Array:
    """Return log-sum-exp of x over each node and its descendants: [..., nodes] -> same; level by level."""
    xp, at = namespace(x), Layout.of(hierarchy, x)
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
