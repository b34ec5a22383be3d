"""Operations over a tree, for NumPy arrays and torch tensors alike; private."""

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
