"""The few array operations that the array API lacks, for tensors; loaded only when a tensor arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def device_of(x: Tensor) -> torch.device:
    """Return where `x` lives."""
    return x.device


def constant(array: NDArray[Any], device: torch.device) -> Tensor:
    """Return an index array on a device, fit for autograd even where it is made in inference mode."""
    with torch.inference_mode(False):
        return torch.tensor(array, device=device)


def prefix_sums(x: Tensor) -> Tensor:
    """Return float64 sums of the first 0, 1, 2, ... entries along the last axis."""
    return functional.pad(x.cumsum(-1, dtype=torch.float64), (1, 0))


def interval_shares(x: Tensor, first: Tensor, last: Tensor, column: Tensor) -> Tensor:
    """Sum x >= 0 over intervals of columns, as shares of the sum of the row.

    There is a share for each single column, followed by those of the columns first[k] .. last[k] - 1 for every k;
    entry j of the result is the share number column[j]. A parallel scan may round a later prefix sum below an
    earlier one: the running maximum restores the order.
    """
    sums = prefix_sums(x).cummax(-1).values
    wide = sums.index_select(-1, last) - sums.index_select(-1, first)
    share = torch.cat([sums.diff(dim=-1), wide], dim=-1) / sums[..., -1:]
    return share.to(x.dtype).index_select(-1, column)


def interval_softmax(x: Tensor, first: Tensor, last: Tensor, column: Tensor) -> Tensor:
    """Return the `interval_shares` of exp(x), safe from overflow."""
    return interval_shares((x - x.amax(-1, keepdim=True)).exp(), first, last, column)


def extremes(x: Tensor) -> tuple[float, float]:
    """Return the smallest and the largest entry; both NaN if one is."""
    lowest, highest = torch.aminmax(x.detach())
    return float(lowest), float(highest)


def running_max(x: Tensor) -> Tensor:
    """Return the largest entry so far, along the last axis."""
    return x.cummax(-1).values


def largest_of_rows(
    x: Tensor, members: Tensor, first: Tensor, shapes: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """Return, for every row of some tables of columns, which column of x is largest, and its value.

    x is [B, columns]; `members` are the columns in the tables, laid end to end, and `first` is where each row of
    the tables begins there. Of equal columns the one that stands first counts. All columns are gathered at once:
    on a GPU few kernels matter.
    """
    values = x.index_select(-1, members)
    tables = torch.split(values, [rows * width for rows, width in shapes], dim=-1)
    found = [table.reshape(len(x), *shape).max(dim=-1) for table, shape in zip(tables, shapes, strict=True)]
    place = torch.cat([indices for _, indices in found], dim=-1)
    return members[place + first], torch.cat([largest for largest, _ in found], dim=-1)


def records(node: Tensor, score: Tensor, minimum: float | None) -> tuple[Tensor, Tensor, Tensor]:
    """Keep the entries of each row that are larger than all to their right, and larger than `minimum`.

    Returns how many each row keeps, and the nodes and scores kept, row after row. Plain torch: on a GPU the calls
    themselves take longer than what they compute.
    """
    kept = torch.ones_like(score, dtype=torch.bool)
    kept[:, :-1] = score[:, :-1] > score.flip(-1).cummax(-1).values.flip(-1)[:, 1:]
    if minimum is not None:
        kept &= score > minimum
    at = kept.view(-1).nonzero()[:, 0]
    return kept.sum(-1), node.reshape(-1)[at], score.reshape(-1)[at]


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
