"""Operations over a tree, for NumPy arrays and torch tensors alike; private.

In come arrays whose last axis is the nodes (or leaves) of a tree in depth-first order; out go arrays of the same
kind. The tensor half is loaded only when a tensor arrives. The next room is `tree`.
"""

from hedgerow.arrays.numpy_ops import Check
from hedgerow.arrays.operations import (
    Array,
    Layout,
    add_down,
    as_numpy,
    as_rows,
    as_scores,
    extra_ops,
    max_unrelated,
    namespace,
    rounded_down,
    sum_ancestors,
    sum_children,
)
from hedgerow.arrays.threads import available_cores, map_row_blocks, row_blocks

__all__ = [
    "Array",
    "Check",
    "Layout",
    "add_down",
    "as_numpy",
    "as_rows",
    "as_scores",
    "available_cores",
    "extra_ops",
    "map_row_blocks",
    "max_unrelated",
    "namespace",
    "rounded_down",
    "row_blocks",
    "sum_ancestors",
    "sum_children",
]
