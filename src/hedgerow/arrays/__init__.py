"""Operations over a tree, for NumPy arrays and torch tensors alike; private.

In come arrays whose last axis is the nodes (or leaves) of a tree in depth-first order; out go arrays of the same
kind. The tensor part is loaded only when a tensor arrives.
"""

from hedgerow.arrays import operations
from hedgerow.arrays.interface import (
    Array,
    Check,
    Indices,
    Tiers,
    as_numpy,
    as_rows,
    as_scores,
    namespace,
    ops_of,
    placed,
    rounded_down,
)
from hedgerow.arrays.numpy_ops import UNIT, sum_rounding
from hedgerow.arrays.operations import add_down, max_unrelated, pass_down, sum_ancestors, sum_children
from hedgerow.arrays.rows import row_sums, running_max, sum_below, take_rows, with_ancestors
from hedgerow.arrays.threads import at_most_threads, available_cores, map_on_threads, map_row_blocks, row_blocks
from hedgerow.arrays.tree_on_device import Derives, TreeOnDevice, ancestor_slots

__all__ = [
    "UNIT",
    "Array",
    "Check",
    "Derives",
    "Indices",
    "Tiers",
    "TreeOnDevice",
    "add_down",
    "ancestor_slots",
    "as_numpy",
    "as_rows",
    "as_scores",
    "at_most_threads",
    "available_cores",
    "map_on_threads",
    "map_row_blocks",
    "max_unrelated",
    "namespace",
    "operations",
    "ops_of",
    "pass_down",
    "placed",
    "rounded_down",
    "row_blocks",
    "row_sums",
    "running_max",
    "sum_ancestors",
    "sum_below",
    "sum_children",
    "sum_rounding",
    "take_rows",
    "with_ancestors",
]
