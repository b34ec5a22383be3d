"""Triton kernels for tensors on a GPU; loaded only when such a tensor arrives."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import triton
import triton.language as tl

from hedgerow.arrays.numpy_ops import sum_rounding
from hedgerow.arrays.torch_ops import NODES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 1024
_WARPS = 8


class RecordKernel:
    """Finds the records of `interface.Tiers`, before they are concatenated.

    Scores are read in order, those below the highest tier a second time, and only the result is written. On a GPU,
    this is several times as fast as a gather and a maximum for each table of tiers, and it needs no memory for
    gathered scores.
    """

    def __init__(self, nodes: NDArray[Any], start: NDArray[Any], width: int, device: torch.device) -> None:
        size = np.diff(start)
        tier = np.repeat(np.arange(len(size)), size)
        order = np.argsort(-tier, kind="stable")[size[-1] :]  # from the second-highest tier down
        tier = tier[order]
        is_last = np.diff(tier, append=-1) != 0
        is_highest = np.zeros(width, dtype=np.int8)
        is_highest[nodes[start[-2] :]] = 1
        self._tiers = len(size)
        self._first = int(nodes[start[-2]])
        self._is_highest = torch.tensor(is_highest, device=device)
        self._lower, self._begin, self._ended = (
            torch.tensor(array, dtype=torch.int32, device=device)
            for array in (nodes[order], np.searchsorted(-tier, -tier), np.where(is_last, tier, -1))
        )
        self._limits: tuple[Any, torch.Tensor] | None = None  # of the last call, because they rarely change

    def __call__(
        self, q: torch.Tensor, minimum: float | None, root: bool, usual: tuple[float, float] | None
    ) -> tuple[torch.Tensor, ...]:
        """Return which tiers are kept, [B, tiers]; how many per row, [B]; and nodes with scores, [B, tiers, 2].

        Nodes are integers stored in the bytes of a score, so that both are fetched together. Entries that are not
        kept are meaningless. The second result is -1 for a row with a score outside the `usual` range.
        """
        q = q.contiguous()
        shape = (len(q), self._tiers)
        kept = torch.empty(shape, dtype=torch.bool, device=q.device)
        count = torch.empty(len(q), dtype=torch.int64, device=q.device)
        pairs = torch.empty((*shape, 2), dtype=q.dtype, device=q.device)
        key = (minimum, usual, q.dtype)
        limits = self._limits  # read once, because another thread may change it
        if limits is None or limits[0] != key:
            # A tensor keeps the precision of q, which numbers in the call would not; no score is <= NaN.
            values = [float("nan") if minimum is None else minimum, *(usual or ())]
            self._limits = limits = (key, torch.tensor(values, dtype=q.dtype, device=q.device))
        if len(q):
            with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]
                _records[(len(q),)](
                    q,
                    q.shape[1],
                    self._is_highest,
                    self._first,
                    self._lower,
                    self._begin,
                    self._ended,
                    len(self._lower),
                    kept,
                    count,
                    pairs.view(NODES[q.dtype]),
                    pairs,
                    self._tiers,
                    limits[1],
                    ROOT=root,
                    CHECK=usual is not None,
                    BLOCK=_BLOCK,
                    num_warps=_WARPS,
                )
        return kept, count, pairs


# Scores are visited from the highest tier down, and nodes within a tier in order. At the end of each tier, the
# largest score so far (the first of equals) is a record if it belongs to that tier. `lower` contains the nodes
# below the highest tier, in this order; `begin` is where the tier of each node starts; `ended` is the tier that
# ends with the node, or -1.
@triton.jit
def _records(
    q, width, is_highest, first, lower, begin, ended, total, kept, count, node, score, tiers, limits,
    ROOT: tl.constexpr, CHECK: tl.constexpr, BLOCK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    q += row * width
    kept += row * tiers
    node += row * tiers * 2
    score += row * tiers * 2 + 1
    lane = tl.arange(0, BLOCK)
    minimum = tl.load(limits)

    # The highest tier; on most trees, it consists of all leaves. Every score is visited, and so can be checked.
    # Every lane keeps the best score it visits.
    best = tl.full((BLOCK,), float("-inf"), q.dtype.element_ty)
    which = tl.zeros((BLOCK,), tl.int32) + first
    odd = tl.zeros((BLOCK,), tl.int1)
    for place_0 in range(0, width, BLOCK):
        place = place_0 + lane
        inside = place < width
        value = tl.load(q + place, mask=inside, other=float("-inf"))
        if CHECK:
            odd = odd | (inside & ~((value >= tl.load(limits + 1)) & (value <= tl.load(limits + 2))))
        better = (tl.load(is_highest + place, mask=inside, other=0) != 0) & (value > best)
        best = tl.where(better, value, best)
        which = tl.where(better, place, which)
    largest = tl.max(best, 0)
    largest_node = tl.min(tl.where(best == largest, which, 0x7FFFFFFF), 0)
    largest_place = tl.full((), -1, tl.int32)
    is_kept = ~(largest <= minimum)
    if not ROOT:
        is_kept = is_kept & (largest_node != 0)
    tl.store(kept + tiers - 1, is_kept)
    tl.store(node + (tiers - 1) * 2, largest_node)
    tl.store(score + (tiers - 1) * 2, largest)
    number = is_kept.to(tl.int32)

    # The other tiers: a running maximum over the remaining nodes.
    for place_0 in range(0, total, BLOCK):
        place = place_0 + lane
        inside = place < total
        value = tl.load(q + tl.load(lower + place, mask=inside, other=0), mask=inside, other=float("-inf"))
        most_so_far, place_so_far = tl.associative_scan((value, place), 0, _larger)
        stays = largest >= most_so_far
        most_so_far = tl.where(stays, largest, most_so_far)
        place_so_far = tl.where(stays, largest_place, place_so_far)
        at = tl.load(ended + place, mask=inside, other=-1)
        is_new = place_so_far >= tl.load(begin + place, mask=inside, other=0)
        are_kept = (at >= 0) & is_new & ~(most_so_far <= minimum)
        node_so_far = tl.load(lower + place_so_far, mask=are_kept, other=0)
        if not ROOT:
            are_kept = are_kept & (node_so_far != 0)
        tl.store(kept + at, are_kept, mask=at >= 0)
        tl.store(node + at * 2, node_so_far, mask=are_kept)
        tl.store(score + at * 2, most_so_far, mask=are_kept)
        number += tl.sum(are_kept.to(tl.int32), 0)
        last = lane == BLOCK - 1
        largest = tl.max(tl.where(last, most_so_far, float("-inf")), 0)
        largest_place = tl.max(tl.where(last, place_so_far, -1), 0)
    if CHECK:
        number = tl.where(tl.max(odd.to(tl.int32), 0) != 0, -1, number)
    tl.store(count + row, number.to(tl.int64))


@triton.jit
def _larger(value, place, next_value, next_place):
    stays = value >= next_value
    return tl.where(stays, value, next_value), tl.where(stays, place, next_place)


_PROGRAMS_PER_MULTIPROCESSOR, _SOFTMAX_WARPS = 8, 4  # what they write in between stays in the cache


def interval_softmax(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Softmax of rows, summed over intervals of columns: see `numpy_ops.interval_softmax`."""
    width = x.shape[-1]
    rows = x.reshape(-1, width).contiguous()
    out = torch.empty(len(rows), len(low), dtype=x.dtype, device=x.device)
    programs = min(len(rows), _PROGRAMS_PER_MULTIPROCESSOR * _multiprocessors(x.device))
    if programs:
        sums = torch.empty(programs, width + 1, dtype=torch.int64, device=x.device)
        rounding = sum_rounding(width, torch.finfo(x.dtype).eps)
        with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
            _interval_softmax[(programs,)](
                rows,
                len(rows),
                width,
                sums,
                low,
                high,
                len(low),
                out,
                rounding,
                BLOCK=_BLOCK,
                num_warps=_SOFTMAX_WARPS,
            )
    return out.reshape(*x.shape[:-1], len(low))


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


# Every program processes one row after another. `sums` holds the prefix sums of its row, as integer multiples of
# 2^-62, which are exact in any order; the sum of an interval is then a difference of two of them.
@triton.jit
def _interval_softmax(
    x, rows, width, sums, low, high, nodes, out, rounding,
    BLOCK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    lane = tl.arange(0, BLOCK)
    number = x.dtype.element_ty
    sums += tl.program_id(0).to(tl.int64) * (width + 1)
    tl.store(sums, tl.zeros((), tl.int64))
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        scores = x + tl.cast(row, tl.int64) * width
        highest = tl.full((BLOCK,), float("-inf"), number)
        for start in range(0, width, BLOCK):
            value = tl.load(scores + start + lane, mask=start + lane < width, other=float("-inf"))
            highest = tl.maximum(highest, value, propagate_nan=tl.PropagateNan.ALL)
        largest = tl.max(highest, 0)
        masses = tl.zeros((BLOCK,), tl.float64)
        for start in range(0, width, BLOCK):
            value = tl.load(scores + start + lane, mask=start + lane < width, other=float("-inf"))
            masses += tl.where(start + lane < width, tl.exp(value - largest).to(tl.float64), 0.0)
        whole = tl.sum(masses, 0)
        good = (whole > 0) & (whole < float("inf"))
        total = tl.where(tl.abs(whole - 1) <= rounding, 1.0, whole).to(number)
        before = tl.zeros((), tl.int64)
        for start in range(0, width, BLOCK):
            inside = start + lane < width
            value = tl.load(scores + start + lane, mask=inside, other=float("-inf"))
            share = tl.where(inside & good, tl.exp(value - largest) / total, 0.0)
            units = tl.floor(share * 4611686018427387904.0).to(tl.int64)
            tl.store(sums + 1 + start + lane, before + tl.cumsum(units, 0), mask=inside)
            before += tl.sum(units, 0)
        tl.debug_barrier()  # all sums are there
        target = out + tl.cast(row, tl.int64) * nodes
        for start in range(0, nodes, BLOCK):
            inside = start + lane < nodes
            first = tl.load(low + start + lane, mask=inside, other=0)
            last = tl.load(high + start + lane, mask=inside, other=0)
            units = tl.load(sums + last, mask=inside, other=0) - tl.load(sums + first, mask=inside, other=0)
            share = tl.minimum(units.to(number) * 2.168404344971009e-19, 1.0)
            share = tl.where((first == 0) & (last == width), 1.0, share)
            tl.store(target + start + lane, tl.where(good, share, float("nan")), mask=inside)
        tl.debug_barrier()  # all sums have been read
