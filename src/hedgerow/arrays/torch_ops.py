"""The operations that the array API lacks, for tensors: see `interface.ArrayOps`.

Loaded only when a tensor arrives.
"""

from __future__ import annotations

import functools
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional

from hedgerow.arrays.numpy_ops import UNIT, padded_tables, sum_rounding

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.arrays.interface import Check, Intervals

NODES = {torch.float32: torch.int32, torch.float64: torch.int64}
"""Integer types as wide as the scores: a kernel writes nodes in these types, next to their scores."""


def device_of(x: Tensor) -> torch.device:
    """Return the device of `x`."""
    return x.device


def constant(array: NDArray[Any], device: torch.device) -> Tensor:
    """Return an index array on a device, usable with autograd even if it is created in inference mode."""
    with torch.inference_mode(False):
        return torch.tensor(array, device=device)


def to_numpy(*tensors: Tensor) -> list[NDArray[Any]]:
    """Return tensors as arrays; waits for a GPU once, not once per tensor."""
    if not tensors[0].is_cuda:
        return [tensor.detach().cpu().numpy() for tensor in tensors]
    fetched = [tensor.to("cpu", non_blocking=True) for tensor in tensors]
    torch.cuda.current_stream(tensors[0].device).synchronize()
    return [tensor.numpy() for tensor in fetched]


def prefix_sums(x: Tensor) -> Tensor:
    """Return float64 sums of the first 0, 1, 2, ... entries along the last axis."""
    return functional.pad(x.cumsum(-1, dtype=torch.float64), (1, 0))


def interval_shares(x: Tensor, intervals: Intervals) -> Tensor:
    """Sum x >= 0 over intervals of columns, as shares of the sum of the row: see `numpy_ops.interval_shares`.

    Gradients are those of plain sums.
    """
    whole = x.sum(-1, keepdim=True, dtype=torch.float64)
    rounding = sum_rounding(x.shape[-1], torch.finfo(x.dtype).eps)
    total = whole + torch.where((whole - 1).abs() <= rounding, 1 - whole, 0.0).detach()
    part = x / total.to(x.dtype)
    units = (part.detach() * (1 / UNIT)).floor()
    share = _with_intervals(units, intervals, torch.int64).mul(UNIT).clamp(max=1)
    if _may_need_gradient(part):
        smooth = _with_intervals(part, intervals, torch.float64)
        share = smooth + (share - smooth).detach()
    number = intervals.number
    share = torch.where(number == number[0], 1.0, share.index_select(-1, number))
    return torch.where((whole > 0) & (whole < torch.inf), share, torch.nan)


def _with_intervals(x: Tensor, intervals: Intervals, dtype: torch.dtype) -> Tensor:
    """Return x followed by the sums over its intervals, added up in another type."""
    first, last = intervals.first, intervals.last
    sums = x.to(dtype).cumsum(-1)
    before = sums.index_select(-1, first) - x.index_select(-1, first).to(dtype)
    return torch.cat([x, (sums.index_select(-1, last - 1) - before).to(x.dtype)], dim=-1)


def _may_need_gradient(x: Tensor) -> bool:
    if x.requires_grad or torch.compiler.is_compiling():
        return torch.is_grad_enabled()
    return forward_ad.unpack_dual(x).tangent is not None  # type: ignore[no-untyped-call]


def interval_softmax(x: Tensor, intervals: Intervals) -> Tensor:
    """Return the `interval_shares` of exp(x), safe from overflow; on a GPU, where Triton is there, in one kernel.

    The kernel's exponentials may differ in the last digit. Either way, equal scores get equal shares, and no
    interval gets less than an interval inside it.
    """
    kernel = _softmax_kernel() if x.is_cuda and not torch.compiler.is_compiling() else None
    if kernel is not None and not _may_need_gradient(x):
        try:
            return kernel(x.detach(), intervals.low, intervals.high)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # as for `Tiers`
            warnings.warn(f"Triton cannot be used, so likelihoods on a GPU are slower: {error!r}", stacklevel=2)
            _softmax_kernel.cache_clear()
            _broken.append(error)
    return interval_shares((x - x.amax(-1, keepdim=True)).exp(), intervals)


_broken: list[Exception] = []  # why Triton is not tried again


@functools.cache
def _softmax_kernel() -> Callable[..., Tensor] | None:
    if _broken:
        return None
    try:
        from hedgerow.arrays.triton_ops import interval_softmax as kernel
    except ImportError:
        return None
    return kernel


def extremes(x: Tensor) -> tuple[float, float]:
    """Return the smallest and the largest entry; both are NaN if any entry is."""
    lowest, highest = torch.stack(torch.aminmax(x.detach())).tolist()  # one wait for the device instead of two
    return lowest, highest


def running_max(x: Tensor) -> Tensor:
    """Return the largest entry so far, along the last axis."""
    return x.cummax(-1).values


class Tiers:
    """Nodes in tiers of equal information, for tensors: see `interface.Tiers`."""

    def __init__(self, nodes: NDArray[Any], start: NDArray[Any], width: int, device: torch.device) -> None:
        self._nodes = nodes
        self._start = start
        self._width = width
        self._device = device

    def leaders(self, q: Tensor, check: Check) -> tuple[Tensor, Tensor]:
        """Return the node with the largest score in every tier (the first of equals), and that score.

        All scores are gathered at once: on a GPU, it matters to launch few kernels.
        """
        q = check(q.detach(), 0)
        shapes, nodes, first, order = self._tables
        tables = torch.split(q.index_select(-1, nodes), [tiers * width for tiers, width in shapes], dim=-1)
        found = [table.reshape(len(q), *shape).max(dim=-1) for table, shape in zip(tables, shapes, strict=True)]
        place = torch.cat([indices for _, indices in found], dim=-1)
        score = torch.cat([largest for largest, _ in found], dim=-1)
        return nodes[place + first][:, order], score[:, order]

    @cached_property
    def _tables(self) -> tuple[list[Any], Tensor, Tensor, Tensor]:
        """The shapes of the padded tables, their concatenated nodes, where tiers start there, and their order."""
        tables, order = padded_tables(self._start)
        nodes = np.concatenate([self._nodes[table].reshape(-1) for table in tables])
        width = np.concatenate([np.full(len(table), table.shape[1]) for table in tables])
        places = (constant(array, self._device) for array in (nodes, np.cumsum(width) - width, order))
        return [table.shape for table in tables], *places  # type: ignore[return-value]

    def records(self, q: Tensor, minimum: float | None) -> tuple[Tensor, Tensor, Tensor] | None:
        """Return the records of every row, found in one pass; None if there is no kernel."""
        found = self._by_kernel(q, minimum, True, None)
        if found is None:
            return None
        count, pairs = found
        return count, pairs.view(NODES[pairs.dtype])[:, 0].long(), pairs[:, 1]

    def fetch_records(
        self, q: Tensor, minimum: float, check: Check
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None:
        """Return the same as arrays, without node 0; scores must pass the check."""
        found = self._by_kernel(q, minimum, False, check.usual)
        if found is None:
            return None
        number, pairs = to_numpy(*found)
        if (number < 0).any():  # some scores are unusual: the check raises an error or changes them
            number, pairs = to_numpy(*self._by_kernel(check(q, 0), minimum, False, None))  # type: ignore[misc]
        return number, pairs.view(f"i{pairs.itemsize}")[:, 0], pairs[:, 1]

    def _by_kernel(
        self, q: Tensor, minimum: float | None, root: bool, usual: tuple[float, float] | None
    ) -> tuple[Tensor, Tensor] | None:
        """Return how many records each row keeps, and nodes next to their scores; None if there is no kernel."""
        if self._kernel is None:
            return None
        try:
            kept, count, pairs = self._kernel(q.detach(), minimum, root, usual)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # such as no C compiler, or an unsupported GPU: there is another way
            warnings.warn(f"Triton cannot be used, so curves on a GPU are slower: {error!r}", stacklevel=2)
            self._kernel = None
            return None
        return count, pairs.view(-1, 2).index_select(0, kept.view(-1).nonzero()[:, 0])

    @cached_property
    def _kernel(self) -> Callable[..., tuple[Tensor, ...]] | None:
        if self._device.type != "cuda":
            return None
        try:
            from hedgerow.arrays.triton_ops import RecordKernel
        except ImportError:
            return None
        return RecordKernel(self._nodes, self._start, self._width, self._device)


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


def log(x: Tensor) -> Tensor:
    """Return the logarithm; -inf for 0."""
    return x.log()


def log_sigmoid(x: Tensor) -> Tensor:
    """Return log(1 / (1 + exp(-x)))."""
    return functional.logsigmoid(x)
