"""The few array operations that the array API lacks, for NumPy; `_torch_ops` has the same for tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hedgerow._threads import map_row_blocks

Array = NDArray[Any]


def device_of(x: Array) -> str:  # noqa: ARG001  (tensors live in several places)
    """Return where `x` lives."""
    return "numpy"


def constant(array: Array, device: str) -> Array:  # noqa: ARG001
    """Return an index array on a device."""
    return array


def prefix_sums(x: Array) -> Array:
    """Return float64 sums of the first 0, 1, 2, ... entries along the last axis."""
    sums = np.empty((*x.shape[:-1], x.shape[-1] + 1))
    sums[..., 0] = 0
    np.cumsum(x, axis=-1, dtype=np.float64, out=sums[..., 1:])
    return sums


def interval_shares(x: Array, first: Array, last: Array) -> Array:
    """Sum x >= 0 over the columns first[j] .. last[j] - 1 for every j, divided by the sum of the row.

    The sums are differences of float64 prefix sums. These are added up one by one and rounding keeps the order,
    so that an interval within another never gets more than it. Rows go in blocks, since fresh memory for whole
    intermediate results would cost more than the sums.
    """
    shape = (*x.shape[:-1], len(first))
    x = x.reshape(-1, x.shape[-1])
    shares = np.empty((len(x), len(first)), dtype=x.dtype)

    def work(rows: slice) -> None:
        sums = prefix_sums(x[rows])
        upper = np.take(sums, last, axis=-1, mode="clip")
        upper -= np.take(sums, first, axis=-1, mode="clip")
        np.divide(upper, sums[:, -1:], out=shares[rows], casting="same_kind")

    map_row_blocks(work, len(x), shares.itemsize * (x.shape[-1] + len(first)))
    return shares.reshape(shape)


def extremes(x: Array) -> tuple[float, float]:
    """Return the smallest and the largest entry; both NaN if one is."""
    parts = map_row_blocks(lambda rows: (x[rows].min(), x[rows].max()), len(x), x[:1].nbytes)
    lowest, highest = np.array(parts).T
    return float(lowest.min()), float(highest.max())


def running_max(x: Array) -> Array:
    """Return the largest entry so far, along the last axis."""
    return np.maximum.accumulate(x, axis=-1)


def segment_max(x: Array, start: Array, segment: Array) -> Array:  # noqa: ARG001
    """Return the largest entry of each segment of the last axis; segments begin at `start`, none is empty."""
    return np.maximum.reduceat(x, start, axis=-1)


def segment_sum(x: Array, start: Array, segment: Array) -> Array:  # noqa: ARG001
    """Return the sum of each segment of the last axis; segments begin at `start`, none is empty."""
    return np.add.reduceat(x, start, axis=-1)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(special.expit(x))


def log_sigmoid(x: Array) -> Array:
    """Return log(1 / (1 + exp(-x)))."""
    return np.asarray(special.log_expit(x))
