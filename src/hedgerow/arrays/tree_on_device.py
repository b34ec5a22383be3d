"""Index arrays of a tree, derived once and kept on the device where they are used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

import numpy as np

from hedgerow.arrays.interface import Array, Indices, Intervals, TreeArrays, ops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray


T = TypeVar("T")


class Derives:
    """An object that caches what other modules derive from it: trees, likelihoods."""

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, called once per key."""
        if key not in self._derived:
            self._derived[key] = make()
        return cast("T", self._derived[key])

    @cached_property
    def _derived(self) -> dict[Hashable, Any]:
        return {}


@final
class TreeOnDevice:
    """The index arrays of a tree that the operations use, on one device."""

    def __init__(self, hierarchy: TreeArrays, place: Callable[[NDArray[Any]], Array]) -> None:
        self._hierarchy = hierarchy
        self._place = place

    @staticmethod
    def of(hierarchy: TreeArrays, like: Array) -> TreeOnDevice:
        """Return the index arrays of a tree on the device of `like`, made once."""
        ops = ops_of(like)
        device = ops.device_of(like)
        return hierarchy.derived(
            ("tree on device", device), lambda: TreeOnDevice(hierarchy, lambda array: ops.constant(array, device))
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
        pairs = zip(self._hierarchy.levels[:-1], self._parents, strict=True)
        return self._place_all([np.searchsorted(above, parent) for above, parent in pairs])

    @property
    def _parents(self) -> list[Indices]:
        """For each level except the first, the parent of each node."""
        return [self._hierarchy.parent[level] for level in self._hierarchy.levels[1:]]

    @cached_property
    def level_start(self) -> tuple[Array, ...]:
        """For each level except the first, where each group of siblings starts."""
        return self._place_all([np.flatnonzero(np.diff(parent, prepend=-1)) for parent in self._parents])

    @cached_property
    def level_group(self) -> tuple[Array, ...]:
        """For each level except the first, which group of siblings each node belongs to."""
        return self._place_all([np.unique(parent, return_inverse=True)[1] for parent in self._parents])

    @cached_property
    def leaves_in_level(self) -> tuple[Array, ...]:
        """For each level, the positions of its leaves among all leaves."""
        tree = self._hierarchy
        levels = [level[tree.child_count[level] == 0] for level in tree.levels]
        return self._place_all([tree.leaves_before[level] for level in levels])

    @cached_property
    def place_in_level(self) -> tuple[Array, ...]:
        """For each level except the last, the place of each node if those with children come first."""
        is_leaf = [self._hierarchy.child_count[level] == 0 for level in self._hierarchy.levels[:-1]]
        return self._place_all([np.argsort(np.argsort(leaf, kind="stable")) for leaf in is_leaf])

    @cached_property
    def group_of_node(self) -> tuple[Array, ...]:
        """For each level except the last, the group formed by each node's children; see `children_group`."""
        has_children = [self._hierarchy.child_count[level] > 0 for level in self._hierarchy.levels[:-1]]
        return self._place_all([np.where(has, np.cumsum(has) - 1, has.sum()) for has in has_children])


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
