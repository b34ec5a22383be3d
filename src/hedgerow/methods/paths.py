"""What the losses share: paths to the labels, and log-sum-exps over nested parts of a row of scores.

In depth-first order the nodes below u are the slice ``u .. end[u] - 1``, so the nodes on the path to a label own
nested slices of the row. Nothing here builds a node-by-node matrix or steps through levels, and all of it compiles
into one graph.
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

_MOST_LEVELS = 16  # that are gathered one by one


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
        """Return the paths; `below_root` tells the padding from the rest."""
        level = torch.arange(self.length, device=labels.device).minimum(self.depth[labels, None])
        place = torch.searchsorted(self.by_level, level * self.nodes + labels[:, None], right=True) - 1
        return self.by_level[place] - level * self.nodes

    def below_root(self, labels: Tensor) -> Tensor:
        """Tell for steps 1, 2, ... whether the path is that long: bool [B, depth of the tree]."""
        return torch.arange(1, self.length, device=labels.device) <= self.depth[labels, None]


@final
class Ancestry(nn.Module):
    """Sums over the ancestors of nodes, without a node-by-node matrix.

    One definition, two ways to run it: a gather for every level, if there are few, of which a compiler makes one
    kernel; or doubling the stride, in log2(depth) rounds. There, only internal nodes pass anything down: they
    stand in slots 1, 2, ..., and slot 0, the root, passes nothing.

    Parameters
    ----------
    h
        The tree.
    nodes
        Whose ancestors are summed, ascending; by default all.
    """

    nodes: Tensor
    level: Tensor
    first: Tensor
    last: Tensor
    inner: Tensor
    slot: Tensor
    above: Tensor
    end: Tensor

    def __init__(self, h: Hierarchy, nodes: NDArray[np.int64] | None = None) -> None:
        super().__init__()
        self.takes_all = nodes is None
        nodes = np.arange(len(h)) if nodes is None else nodes
        levels = [nodes]
        while levels[-1].any() and len(levels) <= _MOST_LEVELS:
            levels.append(np.maximum(h.parent[levels[-1]], 0))
        self.is_shallow = not levels[-1].any()
        constant(self, "nodes", nodes)
        if self.is_shallow:
            constant(self, "level", np.stack(levels[1:]))  # those of the parents, and so on; last, the root
            constant(self, "first", np.searchsorted(nodes, np.arange(1, len(h))))
            constant(self, "last", np.searchsorted(nodes, h.end[1:]))
        inner = 1 + np.flatnonzero(~h.is_leaf[1:])
        own_slot = np.zeros(len(h), dtype=np.int64)
        own_slot[inner] = np.arange(1, len(inner) + 1)
        slot = own_slot[np.maximum(h.parent, 0)]
        above = [np.append(0, slot[inner])]
        while above[-1].any():
            above.append(above[-1][above[-1]])
        constant(self, "inner", inner)
        constant(self, "slot", slot)  # that of the parent
        constant(self, "above", np.stack(above)[:-1])  # the last leads to the root from everywhere
        constant(self, "end", h.end[inner])

    def path_scores(self, theta: Tensor, cut: Tensor | None = None) -> Tensor:
        """Return β_v = Σ θ_u over v and its ancestors u: [B, nodes of h but the root] -> [B, nodes].

        Below the internal nodes in `cut`, bool [B, nodes of h], nothing is left: `NOTHING`, or less.
        """
        scores: Tensor
        if self.goes_by_level:
            beta = self._by_level(theta.detach(), cut)
            scores = _WithGradient.apply(theta, beta, self.first, self.last)  # type: ignore[no-untyped-call]
            return scores
        passed = None if cut is None else NOTHING * cut.index_select(1, self.inner)
        scores = _PathSum.apply(theta, passed, self.inner, self.slot, self.above, self.end)  # type: ignore[no-untyped-call]
        return scores if self.takes_all else scores.index_select(1, self.nodes)

    @property
    def goes_by_level(self) -> bool:
        """Whether to gather level by level."""
        return self.is_shallow and torch.compiler.is_compiling()

    def _by_level(self, theta: Tensor, cut: Tensor | None) -> Tensor:
        total = torch.where(self.nodes > 0, _at(theta, (self.nodes - 1).clamp(min=0)), 0.0)
        for u in self.level[:-1]:
            passed = _at(theta, (u - 1).clamp(min=0))
            if cut is not None:
                passed = torch.where(_at(cut, u), NOTHING, passed)
            total = total + torch.where(u > 0, passed, 0.0)
        return total

    def any_above(self, mask: Tensor) -> Tensor:
        """Tell which nodes of h have a proper ancestor in the mask: bool [B, inner] -> [B, nodes of h]."""
        passed = functional.pad(mask, (1, 0))
        for further in self.above:
            passed = passed | _at(passed, further)
        return _at(passed, self.slot)


class _WithGradient(torch.autograd.Function):
    """Path scores that are there already, and the gradient that goes with them."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, beta: Tensor, first: Tensor, last: Tensor) -> Tensor:
        ctx.save_for_backward(first, last)
        return beta.view_as(beta)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        # The transpose sums over descendants, a slice: a difference of prefix sums, the same on every run.
        first, last = ctx.saved_tensors
        (grad,) = grads
        sums = functional.pad(grad.cumsum(-1, dtype=torch.float64), (1, 0))
        return (_at(sums, last) - _at(sums, first)).to(grad.dtype), None, None, None


class _PathSum(torch.autograd.Function):
    """Path scores of all nodes; `passed` is added to what internal nodes pass down, but not to their own β."""

    @staticmethod
    def forward(
        ctx: Any,
        theta: Tensor,
        passed: Tensor | None,
        inner: Tensor,
        slot: Tensor,
        above: Tensor,
        end: Tensor,
    ) -> Tensor:
        ctx.save_for_backward(inner, end)
        down = _at(theta, inner - 1)
        down = functional.pad(down if passed is None else down + passed, (1, 0))
        for further in above:
            down = down + _at(down, further)
        return functional.pad(theta, (1, 0)) + _at(down, slot)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        # As above; a leaf has no descendants.
        inner, end = ctx.saved_tensors
        (grad,) = grads
        sums = grad.cumsum(-1, dtype=torch.float64)
        below = (_at(sums, end - 1) - _at(sums, inner)).to(grad.dtype)
        return grad[:, 1:].index_add(1, inner - 1, below), None, None, None, None, None


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
        if masks_are_cheap(path, path.shape[1]):  # inductor cannot compile a search in several rows
            step = (before[:, None] <= slot[..., None]).sum(-1) - 1
        else:
            step = torch.searchsorted(before, slot, right=True) - 1
        child = self.first_child[path].gather(1, step) + slot - before.gather(1, step)
        return self.by_parent[child.clamp(max=len(self.by_parent) - 1)], step


def in_slice(first: Tensor, last: Tensor, width: int) -> Tensor:
    """Tell which columns lie in ``first .. last - 1``: [...] -> bool [..., width]."""
    column = torch.arange(width, device=first.device)
    return (first[..., None] <= column) & (column < last[..., None])


def negative_log_share(x: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Return LSE(x) less LSE of x over the columns ``first .. last - 1``, for every row.

    Exactly 0, with its gradient, where the slice is the whole row. One definition, two ways to run it: a mask, or
    a gather of as many columns as the longest slice has.
    """
    width = x.shape[1]
    if masks_are_cheap(x, 1):
        share = _share_of_mask(x, in_slice(first, last, width))
    else:
        share = _share_of_columns(x, *_slice_columns(first, last))
    return torch.where(last - first == width, 0.0, share)


def negative_log_share_of_kin(x: Tensor, labels: Tensor, end: Tensor, paths: Paths) -> Tensor:
    """Return LSE(x) less LSE of x over the ancestors and descendants of a label, for every row of all nodes.

    Exactly 0, with its gradient, where the label is the root. Two ways to run it, as above.
    """
    if masks_are_cheap(x, 1):
        node, label = torch.arange(len(end), device=x.device), labels[:, None]
        is_above = (node <= label) & (label < end)
        share = _share_of_mask(x, is_above | in_slice(labels, end[labels], len(end)))
    else:
        path = paths(labels)
        columns, inside = _slice_columns(labels, end[labels])
        kin = torch.cat([path < labels[:, None], inside], 1)
        share = _share_of_columns(x, torch.cat([path, columns], 1), kin)
    return torch.where(labels == 0, 0.0, share)


def _share_of_mask(x: Tensor, inside: Tensor) -> Tensor:
    """Return LSE(x) less LSE of x where `inside`, for every row.

    As two cross-entropies of the largest score inside, so that small differences of large scores keep their
    digits; nor does eager torch have a faster log-sum-exp.
    """
    part = torch.where(inside, x, NOTHING)
    best = part.argmax(1)
    return _loss_of(x, best) - _loss_of(part, best)


def _share_of_columns(x: Tensor, columns: Tensor, inside: Tensor) -> Tensor:
    """Return LSE(x) less LSE of x over some columns, those that are `inside`: [B, M], [B, K], [B, K] -> [B]."""
    part = torch.where(inside, x.gather(1, columns.clamp(max=x.shape[1] - 1)), NOTHING)
    best = part.argmax(1)
    return _loss_of(x, columns.gather(1, best[:, None])[:, 0]) - _loss_of(part, best)


def _slice_columns(first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """Return the columns of slices, as many as the longest has, and which of them are inside: two [B, K]."""
    columns = first[:, None] + torch.arange(max((last - first).tolist(), default=1), device=first.device)
    return columns, columns < last[:, None]


def _loss_of(x: Tensor, column: Tensor) -> Tensor:
    return functional.cross_entropy(x, column, reduction="none")


def slice_log_sums(x: Tensor, first: Tensor, last: Tensor, *, inside: bool) -> Tensor:
    """Return log-sum-exps of the rows of x inside, or outside, nested slices, outermost first: [B, K].

    The outermost slice is the whole row. One definition, two ways to run it: a mask a slice, which a GPU reduces
    in one kernel; or one segmented log-sum-exp over the rings between slices and a running one across them, which
    touches each score once.
    """
    if masks_are_cheap(x, first.shape[1]):
        within = in_slice(first[:, 1:], last[:, 1:], x.shape[1])
        parts = torch.where(within if inside else ~within, x[:, None], NOTHING).logsumexp(-1)
        whole = x.logsumexp(-1, keepdim=True) if inside else x.new_full((len(x), 1), NOTHING)
        return torch.cat([whole, parts], 1)
    ring = segment_log_sums(x, rings(first, last, x.shape[1]), first.shape[1])
    if inside:
        return ring.flip(1).logcumsumexp(1).flip(1)
    return functional.pad(ring.logcumsumexp(1)[:, :-1], (1, 0), value=NOTHING)


def innermost(values: Tensor, first: Tensor, last: Tensor, width: int) -> Tensor:
    """Give every column the value of the innermost of the nested slices that hold it: [B, K] -> [B, width].

    The outermost slice is the whole row. One definition, two ways to run it, as above.
    """
    if not masks_are_cheap(values, values.shape[1]):
        return values.gather(1, rings(first, last, width))
    given = values[:, :1].expand(-1, width)
    for k in range(1, values.shape[1]):
        given = torch.where(in_slice(first[:, k], last[:, k], width), values[:, k : k + 1], given)
    return given


def rings(first: Tensor, last: Tensor, width: int) -> Tensor:
    """Return for every column how many of the nested slices but the outermost, the whole row, hold it."""
    step = torch.ones_like(first[:, 1:])
    edges = step.new_zeros(len(first), width + 1)
    edges = edges.scatter_add(1, first[:, 1:], step).scatter_add(1, last[:, 1:], -step)
    return edges[:, :-1].cumsum(1)


def segment_log_sums(x: Tensor, segment: Tensor, count: int) -> Tensor:
    """Return log-sum-exps over the columns of each segment, `NOTHING` over none: [B, M], [B, M] -> [B, count]."""
    nothing = x.new_full((len(x), count), NOTHING)
    if masks_are_cheap(x, count):
        mask = segment[:, None] == torch.arange(count, device=x.device)[:, None]
        largest = torch.where(mask, x.detach()[:, None], NOTHING).amax(-1)
        share = (x - largest.gather(1, segment)).exp()
        mass = (nothing - largest).exp() + torch.where(mask, share[:, None], 0.0).sum(-1)
    else:
        largest = nothing.scatter_reduce(1, segment, x.detach(), "amax")
        mass = (nothing - largest).exp().scatter_add(1, segment, (x - largest.gather(1, segment)).exp())
    return mass.log() + largest


def masks_are_cheap(x: Tensor, count: int) -> bool:
    """Tell whether so many masks over whole rows cost little: where they become part of one kernel."""
    return count <= MOST_MASKS and (x.is_cuda or torch.compiler.is_compiling())
