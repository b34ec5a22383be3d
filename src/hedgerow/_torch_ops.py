"""The few array operations that the array API lacks, for tensors; loaded only when a tensor arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from numpy.typing import NDArray


def device_of(x: Tensor) -> torch.device:
    """Return where `x` lives."""
    return x.device


def constant(array: NDArray[Any], device: torch.device) -> Tensor:
    """Return an index array on a device."""
    return torch.tensor(array, device=device)


def prefix_sums(x: Tensor) -> Tensor:
    """Return float64 sums of the first 0, 1, 2, ... entries along the last axis."""
    return functional.pad(x.cumsum(-1, dtype=torch.float64), (1, 0))


def interval_shares(x: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Sum x >= 0 over the columns first[j] .. last[j] - 1 for every j, divided by the sum of the row.

    A parallel scan may round a later prefix sum below an earlier one: the running maximum restores the order.
    """
    sums = prefix_sums(x).cummax(-1).values
    shares = (sums.index_select(-1, last) - sums.index_select(-1, first)) / sums[..., -1:]
    return shares.to(x.dtype)


def extremes(x: Tensor) -> tuple[float, float]:
    """Return the smallest and the largest entry; both NaN if one is."""
    lowest, highest = torch.aminmax(x.detach())
    return float(lowest), float(highest)


def running_max(x: Tensor) -> Tensor:
    """Return the largest entry so far, along the last axis."""
    return x.cummax(-1).values


def segment_max(x: Tensor, start: Tensor, segment: Tensor) -> Tensor:
    """Return the largest entry of each segment of the last axis, without gradient; none is empty."""
    result = x.new_full((*x.shape[:-1], len(start)), -torch.inf)
    return result.scatter_reduce(-1, segment.expand(x.shape), x.detach(), "amax")


def segment_sum(x: Tensor, start: Tensor, segment: Tensor) -> Tensor:
    """Return the sum of each segment of the last axis; entry i belongs to `segment[i]`, none is empty."""
    return x.new_zeros((*x.shape[:-1], len(start))).scatter_add(-1, segment.expand(x.shape), x)


def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x))."""
    return torch.sigmoid(x)


def log_sigmoid(x: Tensor) -> Tensor:
    """Return log(1 / (1 + exp(-x)))."""
    return functional.logsigmoid(x)
