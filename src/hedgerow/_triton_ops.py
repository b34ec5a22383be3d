"""One kernel for tensors on a GPU, in the language of Triton; loaded only when such a tensor arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 1024
_WARPS = 4


class Records:
    """Finds the records of `_numpy_ops.Rungs`, before they are laid end to end.

    Each score is read once, and nothing but the result is written: on a GPU that is several times as fast as a
    gather and a maximum for each table of rungs, and takes no memory for what is gathered.
    """

    def __init__(self, nodes: NDArray[Any], start: NDArray[Any], width: int, device: torch.device) -> None:
        size = np.diff(start)
        rung = np.repeat(np.arange(len(size)), size)
        lower = np.argsort(-rung, kind="stable")[size[-1] :]  # from the highest but one down
        is_highest = np.zeros(width, dtype=np.int8)
        is_highest[nodes[start[-2] :]] = 1
        self._rungs = len(size)
        self._first = int(nodes[start[-2]])
        self._is_highest = torch.tensor(is_highest, device=device)
        self._nodes, self._rung = (
            torch.tensor(array[lower], dtype=torch.int32, device=device) for array in (nodes, rung)
        )
        self._limits: tuple[Any, torch.Tensor] | None = None  # the last ones, for they are hardly ever others

    def __call__(
        self, q: torch.Tensor, minimum: float | None, root: bool, usual: tuple[float, float] | None
    ) -> tuple[torch.Tensor, ...]:
        """Return what is kept, how much of each row, all nodes and scores, and if there is an unusual score.

        [B, rungs], [B], [B, rungs], [B, rungs] and [1].
        """
        q = q.contiguous()
        shape = (len(q), self._rungs)
        kept = torch.empty(shape, dtype=torch.bool, device=q.device)
        count = torch.empty(len(q), dtype=torch.int64, device=q.device)
        node = torch.empty(shape, dtype=torch.int64, device=q.device)
        score = torch.empty(shape, dtype=q.dtype, device=q.device)
        unusual = torch.zeros(1, dtype=torch.int32, device=q.device)
        key = (minimum, usual, q.dtype)
        if self._limits is None or self._limits[0] != key:
            # In the precision of q, which numbers in the call would not have; nothing is at most NaN.
            values = [float("nan") if minimum is None else minimum, *(usual or ())]
            self._limits = (key, torch.tensor(values, dtype=q.dtype, device=q.device))
        if len(q):
            with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]
                _records[(len(q),)](
                    q,
                    q.shape[1],
                    self._is_highest,
                    self._first,
                    self._nodes,
                    self._rung,
                    len(self._nodes),
                    kept,
                    count,
                    node,
                    score,
                    self._rungs,
                    unusual,
                    self._limits[1],
                    ROOT=root,
                    CHECK=usual is not None,
                    BLOCK=_BLOCK,
                    num_warps=_WARPS,
                )
        return kept, count, node, score, unusual


# Scores are met from the highest rung down, nodes of a rung in their order. At the end of each rung the largest
# score so far, the first of equals, is a record if it was met on that rung.
@triton.jit
def _records(
    q, width, is_highest, first, nodes, rung, total, kept, count, node, score, rungs, unusual, limits,
    ROOT: tl.constexpr, CHECK: tl.constexpr, BLOCK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    q += row * width
    kept += row * rungs
    node += row * rungs
    score += row * rungs
    lane = tl.arange(0, BLOCK)
    minimum = tl.load(limits)

    # The highest rung, on most trees that of all leaves, so every score is passed and may be checked: every lane
    # keeps the best of what it meets.
    best = tl.full((BLOCK,), float("-inf"), q.dtype.element_ty)
    which = tl.zeros((BLOCK,), tl.int32) + first
    odd = tl.zeros((BLOCK,), tl.int1)
    for begin in range(0, width, BLOCK):
        place = begin + lane
        inside = place < width
        value = tl.load(q + place, mask=inside, other=float("-inf"))
        if CHECK:
            odd = odd | (inside & ~((value >= tl.load(limits + 1)) & (value <= tl.load(limits + 2))))
        better = (tl.load(is_highest + place, mask=inside, other=0) != 0) & (value > best)
        best = tl.where(better, value, best)
        which = tl.where(better, place, which)
    if CHECK:
        tl.store(unusual, 1, mask=tl.max(odd.to(tl.int32), 0) != 0)
    largest = tl.max(best, 0)
    largest_node = tl.min(tl.where(best == largest, which, 0x7FFFFFFF), 0)
    largest_rung = tl.full((), 0, tl.int32) + rungs - 1
    is_kept = ~(largest <= minimum)
    if not ROOT:
        is_kept = is_kept & (largest_node != 0)
    tl.store(kept + rungs - 1, is_kept)
    tl.store(node + rungs - 1, largest_node.to(tl.int64))
    tl.store(score + rungs - 1, largest)
    number = is_kept.to(tl.int64)

    # The others: a running maximum over all that is left.
    for begin in range(0, total, BLOCK):
        place = begin + lane
        inside = place < total
        here = tl.load(nodes + place, mask=inside, other=0)
        at = tl.load(rung + place, mask=inside, other=-1)
        value = tl.load(q + here, mask=inside, other=float("-inf"))
        best, which, best_rung = tl.associative_scan((value, here, at), 0, _larger)
        stays = largest >= best
        best = tl.where(stays, largest, best)
        which = tl.where(stays, largest_node, which)
        best_rung = tl.where(stays, largest_rung, best_rung)
        ends = inside & (tl.load(rung + place + 1, mask=place + 1 < total, other=-1) != at)
        are_kept = ends & (best_rung == at) & ~(best <= minimum)
        if not ROOT:
            are_kept = are_kept & (which != 0)
        tl.store(kept + at, are_kept, mask=ends)
        tl.store(node + at, which.to(tl.int64), mask=ends)
        tl.store(score + at, best, mask=ends)
        number += tl.sum(are_kept.to(tl.int64), 0)
        last = lane == BLOCK - 1
        largest = tl.max(tl.where(last, best, float("-inf")), 0)
        largest_node = tl.max(tl.where(last, which, 0), 0)
        largest_rung = tl.max(tl.where(last, best_rung, -1), 0)
    tl.store(count + row, number)


@triton.jit
def _larger(value, node, rung, next_value, next_node, next_rung):
    stays = value >= next_value
    return tl.where(stays, value, next_value), tl.where(stays, node, next_node), tl.where(stays, rung, next_rung)
