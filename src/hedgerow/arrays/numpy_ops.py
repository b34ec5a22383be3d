"""The operations that the array API lacks, for NumPy arrays: see `interface.ArrayOps`.

`torch_ops` does the same for tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays.threads import map_row_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.arrays.interface import Check, Intervals

Array = NDArray[Any]

UNIT = 2.0**-62
"""Shares are summed as integer multiples of this; slightly more than 1 must fit into 63 bits."""
_WIDTHS = np.array([1, 8, 64, 512])  # smaller tiers are padded to these sizes, so that there are few tables


def device_of(x: Array) -> str:  # noqa: ARG001  (tensors can be on several devices)
    """Return the device of `x`."""
    return "numpy"


def constant(array: Array, device: str) -> Array:  # noqa: ARG001
    """Return an index array on a device."""
    return array


def to_numpy(*arrays: Array) -> list[Array]:
    """Return arrays as they are."""
    return list(arrays)


def prefix_sums(x: Array) -> Array:
    """Return float64 sums of the first 0, 1, 2, ... entries along the last axis."""
    sums = np.zeros((*x.shape[:-1], x.shape[-1] + 1))
    np.cumsum(x, axis=-1, dtype=np.float64, out=sums[..., 1:])
    return sums


def interval_shares(x: Array, intervals: Intervals) -> Array:
    """Sum x >= 0 over intervals of columns, as shares of the sum of the row.

    The sums are differences of prefix sums of whole multiples of `UNIT`, which no order of adding rounds: an
    interval within another never gets more than it, and what is equal stays equal. A row that sums to 1 within
    rounding is not divided by its sum, so that shares are the numbers given, to the unit. Rows go in blocks, since
    fresh memory for whole intermediate results would cost more than the sums.
    """
    return _interval_shares(x, intervals, lambda block: block)


def interval_softmax(x: Array, intervals: Intervals) -> Array:
    """Return the `interval_shares` of exp(x), safe from overflow."""

    def exp(block: Array) -> Array:
        block = block - block.max(axis=-1, keepdims=True)
        return np.exp(block, out=block)

    return _interval_shares(x, intervals, exp)


def _interval_shares(x: Array, intervals: Intervals, mass: Callable[[Array], Array]) -> Array:
    first, last, number = intervals.first, intervals.last, intervals.number
    width = x.shape[-1]
    rows_of_x = x.reshape(-1, width)
    result = np.empty((len(rows_of_x), len(number)), dtype=x.dtype)
    rounding = sum_rounding(width, float(np.finfo(x.dtype).eps))

    def work(rows: slice) -> None:
        entries = mass(rows_of_x[rows])
        whole = entries.sum(axis=-1, dtype=np.float64, keepdims=True)
        total = np.where(np.abs(whole - 1) <= rounding, 1.0, whole).astype(x.dtype)
        share = np.empty((len(entries), width + len(first)), dtype=x.dtype)
        single, wide = share[:, :width], share[:, width:]
        np.floor(np.divide(entries, total * x.dtype.type(UNIT), out=single), out=single)
        with np.errstate(invalid="ignore"):  # NaN cannot become an integer
            units = single.astype(np.int64)
        sums = np.zeros((len(entries), width + 1), dtype=np.int64)
        for row, result_row in zip(units, sums, strict=True):
            # NumPy releases the interpreter lock only when it accumulates a single row into another array.
            np.add.accumulate(row, out=result_row[1:])
        wide[:] = np.take(sums, last, axis=-1) - np.take(sums, first, axis=-1)
        np.minimum(share, 1 / UNIT, out=share)
        share *= x.dtype.type(UNIT)
        share[:, number[0]] = 1
        share[~((whole > 0) & (whole < np.inf))[:, 0]] = np.nan
        np.take(share, number, axis=-1, out=result[rows], mode="clip")

    map_row_blocks(work, len(result), result.itemsize * (width + len(number)))
    return result.reshape(*x.shape[:-1], len(number))


def sum_rounding(width: int, epsilon: float) -> float:
    """Return how far rounding, of the entries and of the sum, can move the sum of a row from 1."""
    return epsilon + width * float(np.finfo(np.float64).eps)


def extremes(x: Array) -> tuple[float, float]:
    """Return the smallest and the largest entry; both are NaN if any entry is."""
    if len(x) == 1:  # blocks would take longer than the work
        return float(x.min()), float(x.max())
    parts = map_row_blocks(lambda rows: (x[rows].min(), x[rows].max()), len(x), x[:1].nbytes)
    lowest, highest = np.array(parts).T
    return float(lowest.min()), float(highest.max())


def running_max(x: Array) -> Array:
    """Return the largest entry so far, along the last axis."""
    return np.maximum.accumulate(x, axis=-1)


def padded_tables(start: Array) -> tuple[list[Array], Array]:
    """Sort tiers by size into a few tables, so that each table can be processed at once.

    The first result is a list of tables [tiers of the table, size] of positions in the list of all nodes; shorter
    tiers repeat their last position. The second is the row of each tier in the concatenated tables.

    Parameters
    ----------
    start
        Where each tier starts in the list of all nodes, and where the last one ends.
    """
    size = np.diff(start)
    padded = np.append(_WIDTHS, 0)[np.searchsorted(_WIDTHS, size)]
    width = np.maximum(size, padded)
    tiers = [np.flatnonzero(width == w) for w in np.unique(width)]
    tables = [start[tier, None] + np.minimum(np.arange(width[tier[0]]), size[tier, None] - 1) for tier in tiers]
    return tables, np.argsort(np.concatenate(tiers))


class Tiers:
    """Nodes in tiers of equal information: see `interface.Tiers`.

    Parameters
    ----------
    nodes
        The nodes, tier by tier.
    start
        Where each tier starts among them, and where the last one ends.
    width
        Number of nodes of the tree.
    device
        The device of the scores.
    """

    def __init__(self, nodes: Array, start: Array, width: int, device: str) -> None:  # noqa: ARG002
        tables, self._order = padded_tables(start)
        self._tables = [nodes[table] for table in tables]

    def leaders(self, q: Array, check: Check) -> tuple[Array, Array]:
        """Return the node with the largest score in every tier (the first of equals), and that score."""
        if not len(q):
            return self._leaders(check(q, 0))
        parts = map_row_blocks(lambda rows: self._leaders(check(q[rows], rows.start)), len(q), q[:1].nbytes)
        nodes, scores = zip(*parts, strict=True)
        return np.concatenate(nodes), np.concatenate(scores)

    def _leaders(self, q: Array) -> tuple[Array, Array]:
        q = np.ascontiguousarray(q)  # gathering from columns would take many times as long
        found, largest = [], []
        for table in self._tables:
            tiers, width = table.shape
            values = np.take(q, table.reshape(-1), axis=-1)
            place = values.reshape(-1, width).argmax(axis=-1)
            largest.append(values.take(place + np.arange(0, values.size, width)).reshape(len(q), tiers))
            found.append(table.take(place.reshape(len(q), tiers) + np.arange(0, table.size, width)))
        return np.concatenate(found, axis=-1)[:, self._order], np.concatenate(largest, axis=-1)[:, self._order]

    def records(self, q: Array, minimum: float | None) -> None:
        """Return None: there is no faster way than through the leaders."""

    def fetch_records(self, q: Array, minimum: float, check: Check) -> None:
        """Return None: there is no faster way than through the leaders."""


def segment_max(x: Array, start: Array, segment: Array) -> Array:  # noqa: ARG001
    """Return the largest entry of each segment of the last axis; segments start at `start`, none is empty."""
    return np.maximum.reduceat(x, start, axis=-1)


def segment_sum(x: Array, start: Array, segment: Array) -> Array:  # noqa: ARG001
    """Return the sum of each segment of the last axis; segments start at `start`, none is empty."""
    return np.add.reduceat(x, start, axis=-1)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    from scipy import special  # takes a while, and few need it

    return np.asarray(special.expit(x))


def log(x: Array) -> Array:
    """Return the logarithm; -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


def log_sigmoid(x: Array) -> Array:
    """Return log(1 / (1 + exp(-x)))."""
    from scipy import special

    return np.asarray(special.log_expit(x))
