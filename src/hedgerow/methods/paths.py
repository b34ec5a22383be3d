"""What the losses share: paths to the labels, and log-sum-exps over nested parts of a row of scores.

In depth-first order the nodes below u are the slice ``u .. end[u] - 1``, so the nodes on the path to a label own
nested slices of the row. Nothing here builds a node-by-node matrix, steps through levels, or depends on the
values of the labels for a shape; all of it compiles into one graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hedgerow.treeops import sum_ancestors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.hierarchy import Hierarchy

NOTHING = -1e30
"""Logarithm of an empty sum. Finite, so that no gradient is ever inf - inf; exp of it is 0."""

MOST_MASKS = 64
"""Longer paths than this are never reduced one mask a node."""


def constant(module: nn.Module, name: str, values: NDArray[Any]) -> None:
    """Register an array that follows from the tree: it moves with the module and is not saved with it."""
    module.register_buffer(name, torch.tensor(values), persistent=False)


@final
class Paths(nn.Module):
    """The path from the root to each label of a batch: [B] -> [B, depth of the tree + 1].

    Entry k is the ancestor at depth k: among the nodes of that depth the last one that does not come after the
    label. Shallower labels are repeated to the end.
    """

    by_level: Tensor
    depth: Tensor

    def __init__(self, h: Hierarchy) -> None:
        super().__init__()
        constant(self, "by_level", np.sort(h.depth * len(h) + np.arange(len(h))))
        constant(self, "depth", h.depth)
        self.nodes = len(h)
        self.length = int(h.depth.max()) + 1

    def forward(self, labels: Tensor) -> Tensor:
        """Return the paths; `on_path` tells the padding from the rest."""
        level = torch.arange(self.length, device=labels.device).minimum(self.depth[labels, None])
        place = torch.searchsorted(self.by_level, level * self.nodes + labels[:, None], right=True) - 1
        return self.by_level[place] - level * self.nodes

    def below_root(self, labels: Tensor) -> Tensor:
        """Tell for steps 1, 2, ... whether the path is that long: bool [B, depth of the tree]."""
        return torch.arange(1, self.length, device=labels.device) <= self.depth[labels, None]


@final
class PathScores(nn.Module):
    """β_v = Σ θ_u over the ancestors u of v, itself included and the root not: [B, nodes - 1] -> [B, targets].

    Walking in depth-first order, a score is added when its node is met and taken off where its subtree ends: two
    prefix sums. The transpose, for the gradient, is a sum over the targets below a node: a difference of two
    entries of one prefix sum. All of them in float64.
    """

    target: Tensor
    by_end: Tensor
    ended: Tensor
    first: Tensor
    last: Tensor

    def __init__(self, h: Hierarchy, targets: NDArray[np.int64]) -> None:
        super().__init__()
        before = np.searchsorted(targets, np.arange(len(h) + 1))
        constant(self, "target", targets)
        constant(self, "by_end", np.argsort(h.end[1:], kind="stable"))
        constant(self, "ended", np.searchsorted(np.sort(h.end[1:]), targets, "right"))
        constant(self, "first", before[1:-1])
        constant(self, "last", before[h.end[1:]])

    def forward(self, theta: Tensor) -> Tensor:
        """Return β at the targets."""
        scores: Tensor = _PathSum.apply(theta, self.target, self.by_end, self.ended, self.first, self.last)  # type: ignore[no-untyped-call]
        return scores


class _PathSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, theta: Tensor, target: Tensor, by_end: Tensor, ended: Tensor, first: Tensor, last: Tensor
    ) -> Tensor:
        ctx.save_for_backward(first, last)
        met = _at(_prefix_sums(theta), target)
        return (met - _at(_prefix_sums(_at(theta, by_end)), ended)).to(theta.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        first, last = ctx.saved_tensors
        sums = _prefix_sums(grad)
        return (_at(sums, last) - _at(sums, first)).to(grad.dtype), None, None, None, None, None


def _prefix_sums(x: Tensor) -> Tensor:
    return functional.pad(x.cumsum(-1, dtype=torch.float64), (1, 0))


def _at(x: Tensor, columns: Tensor) -> Tensor:
    return x.gather(-1, columns.expand(x.shape[0], -1))


@final
class PathChildren(nn.Module):
    """The children of every proper ancestor of each label, side by side in as few columns as serve every label."""

    before: Tensor
    by_parent: Tensor
    first_child: Tensor

    def __init__(self, h: Hierarchy) -> None:
        super().__init__()
        # How many children the proper ancestors of each node have, all together.
        before = sum_ancestors(h, np.append(0, h.child_count[h.parent[1:]])).astype(np.int64)
        self.width = int(before.max())
        constant(self, "before", before)
        constant(self, "by_parent", 1 + np.argsort(h.parent[1:], kind="stable"))
        constant(self, "first_child", np.cumsum(h.child_count) - h.child_count)

    def forward(self, path: Tensor) -> tuple[Tensor, Tensor]:
        """Return nodes [B, width], and the depth of their parent; past the last, the length of the path less 1."""
        before = self.before[path]
        slot = torch.arange(self.width, device=path.device).repeat(len(path), 1)
        step = torch.searchsorted(before, slot, right=True) - 1
        child = self.first_child[path].gather(1, step) + slot - before.gather(1, step)
        return self.by_parent[child.clamp(max=len(self.by_parent) - 1)], step


def in_slice(first: Tensor, last: Tensor, width: int) -> Tensor:
    """Tell which columns lie in ``first .. last - 1``: [...] -> bool [..., width]."""
    column = torch.arange(width, device=first.device)
    return (first[..., None] <= column) & (column < last[..., None])


def negative_log_share(x: Tensor, inside: Tensor, certain: Tensor) -> Tensor:
    """Return LSE(x) - LSE(x inside) of every row; exactly 0, with its gradient, where it is certain."""
    x = x - x.detach().amax(-1, keepdim=True)  # small shares of large scores keep their digits
    loss = x.logsumexp(-1) - torch.where(inside, x, NOTHING).logsumexp(-1)
    return torch.where(certain, 0.0, loss)


def slice_log_sums(x: Tensor, first: Tensor, last: Tensor, *, inside: bool) -> Tensor:
    """Return log-sum-exps of the rows of x inside, or outside, nested slices, outermost first: [B, K].

    One definition, two ways to run it: a mask a slice, which a GPU reduces in one kernel; or one segmented
    log-sum-exp over the rings between slices and a running one across them, which touches each score once.
    """
    if _masks_are_cheap(x, first.shape[1]):
        within = in_slice(first, last, x.shape[1])
        return torch.where(within if inside else ~within, x[:, None], NOTHING).logsumexp(-1)
    ring = segment_log_sums(x, rings(first, last, x.shape[1]), first.shape[1])
    if inside:
        return ring.flip(1).logcumsumexp(1).flip(1)
    return functional.pad(ring.logcumsumexp(1)[:, :-1], (1, 0), value=NOTHING)


def rings(first: Tensor, last: Tensor, width: int) -> Tensor:
    """Return for every column how many of the nested slices but the outermost, the whole row, hold it."""
    step = torch.ones_like(first[:, 1:])
    edges = step.new_zeros(len(first), width + 1)
    edges = edges.scatter_add(1, first[:, 1:], step).scatter_add(1, last[:, 1:], -step)
    return edges[:, :-1].cumsum(1)


def segment_log_sums(x: Tensor, segment: Tensor, count: int) -> Tensor:
    """Return log-sum-exps over the columns of each segment, `NOTHING` over none: [B, M], [B, M] -> [B, count]."""
    if _masks_are_cheap(x, count):
        mask = segment[:, None] == torch.arange(count, device=x.device)[:, None]
        return torch.where(mask, x[:, None], NOTHING).logsumexp(-1)
    nothing = x.new_full((len(x), count), NOTHING)
    largest = nothing.scatter_reduce(1, segment, x.detach(), "amax")
    mass = (nothing - largest).exp().scatter_add(1, segment, (x - largest.gather(1, segment)).exp())
    return mass.log() + largest


def _masks_are_cheap(x: Tensor, count: int) -> bool:
    return count <= MOST_MASKS and (x.is_cuda or torch.compiler.is_compiling())
