"""Building blocks of the losses: paths to the labels, and log-sum-exps over nested parts of a row of scores.

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

from hedgerow.arrays import ancestor_slots, pass_down, sum_ancestors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy

NOTHING = -1e30
"""Logarithm of an empty sum. Finite, so that no gradient is ever inf - inf; exp of it is 0."""

MOST_MASKS = 64
"""Paths longer than this are never reduced with one mask per node."""


def constant(module: nn.Module, name: str, values: NDArray[Any]) -> None:
    """Register an array that is derived from the tree: it moves with the module but is not saved with it."""
    with torch.inference_mode(False):  # so that autograd can use it even if it is made in inference mode
        module.register_buffer(name, torch.tensor(values), persistent=False)


@final
class Paths(nn.Module):
    """The path from the root to each label of a batch: [B] -> [B, depth of the tree + 1].

    Entry k is the ancestor at depth k: the last node of that depth that does not come after the label. Shallower
    labels are repeated to the end.
    """

    key: Tensor
    node: Tensor
    level: Tensor
    own_level: Tensor
    end: Tensor

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__()
        self.nodes = len(hierarchy)
        self.length = int(hierarchy.depth.max()) + 1
        by_level = np.argsort(hierarchy.depth, kind="stable")
        constant(
            self, "key", hierarchy.depth[by_level] * len(hierarchy) + by_level
        )  # ascending: by level, then by node
        constant(self, "node", np.append(0, by_level))  # the node before each position in `key`
        constant(self, "level", np.arange(self.length) * len(hierarchy))
        constant(self, "own_level", hierarchy.depth * len(hierarchy))
        constant(self, "end", hierarchy.end)

    def forward(self, labels: Tensor) -> Tensor:
        """Return the paths; `below_root` says which entries are not padding."""
        key = torch.minimum(self.level, self.own_level[labels, None]) + labels[:, None]
        return self.node[torch.searchsorted(self.key, key, right=True)]

    def related(self, labels: Tensor) -> Tensor:
        """Return which nodes are ancestors or descendants: their slices overlap. [B] -> bool [B, nodes]."""
        node = torch.arange(self.nodes, device=labels.device)
        return (node < self.end[labels, None]) & (labels[:, None] < self.end)

    def below_root(self, labels: Tensor) -> Tensor:
        """Return whether the path has steps 1, 2, ...: bool [B, depth of the tree]."""
        return self.level[1:] <= self.own_level[labels, None]


@final
class Ancestry(nn.Module):
    """Sums over the ancestors of every node, with a custom gradient: see `arrays.pass_down`."""

    inner: Tensor
    column: Tensor
    slot: Tensor
    above: Tensor
    last: Tensor

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__()
        inner, above, slot = ancestor_slots(hierarchy)
        constant(self, "inner", inner)
        constant(self, "column", inner - 1)  # of θ
        constant(self, "above", above)
        constant(self, "slot", slot)
        constant(self, "last", hierarchy.end[inner] - 1)  # the last node below each

    def path_scores(self, theta: Tensor, cut: Tensor | None = None) -> Tensor:
        """Return β_v = Σ θ_u over the ancestors u of v, including v: [B, nodes but the root] -> [B, nodes].

        With `cut`, bool [B, inner], only nodes that are cut or leaves, and have no cut node above them, keep their
        β; all others, including the root, get `NOTHING` or less.
        """
        scores: Tensor = _PathSum.apply(theta, cut, self)  # type: ignore[no-untyped-call]
        return scores

    def any_above(self, mask: Tensor) -> Tensor:
        """Return which nodes have a proper ancestor in the mask: bool [B, inner] -> [B, nodes]."""
        passed = functional.pad(mask, (1, 0))
        for further in self.above:
            passed = passed | _at(passed, further)
        return _at(passed, self.slot)


class _PathSum(torch.autograd.Function):
    @staticmethod
    def forward(theta: Tensor, cut: Tensor | None, tree: Ancestry) -> Tensor:
        down = _at(theta, tree.column)
        down = _with_root(down if cut is None else torch.where(cut, NOTHING, down), 0.0)
        scores: Tensor = pass_down(down, tree.above, tree.slot, _at)
        uncut = None if cut is None else (NOTHING * ~cut).to(theta.dtype)
        if torch.compiler.is_compiling():  # torch 2.11 loses the gradient of tensors changed in place
            scores = scores + _with_root(theta, 0.0 if cut is None else NOTHING)
            return scores if uncut is None else scores.index_add(1, tree.inner, uncut)
        scores[:, 1:] += theta
        if uncut is None:
            return scores
        scores[:, 0] = NOTHING
        return scores.index_add_(1, tree.inner, uncut)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        ctx.tree = inputs[-1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        # The transpose sums over descendants, a slice: take a difference of prefix sums, the same on every run.
        tree, (grad,) = ctx.tree, grads
        sums = grad.cumsum(-1, dtype=torch.float64)
        below = (_at(sums, tree.last) - _at(sums, tree.inner)).to(grad.dtype)
        return grad[:, 1:].index_add(1, tree.column, below), None, None


def _with_root(x: Tensor, value: float) -> Tensor:
    """Return x with a constant column in front."""
    if torch.compiler.is_compiling():
        return functional.pad(x, (1, 0), value=value)
    return torch.cat([x.new_full((len(x), 1), value), x], 1)  # padding would write all columns twice


def _at(x: Tensor, columns: Tensor) -> Tensor:
    return x.gather(-1, columns.expand(len(x), -1))  # on several threads, unlike `index_select`


@final
class PathChildren(nn.Module):
    """The children of every proper ancestor of each label, side by side, in as few columns as all labels need."""

    before: Tensor
    child: Tensor
    shift: Tensor
    slot: Tensor

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__()
        # The number of children that the proper ancestors of each node have in total.
        before = sum_ancestors(hierarchy, np.append(0, hierarchy.child_count[hierarchy.parent[1:]])).astype(
            np.int64
        )
        width = int(before.max())
        constant(self, "before", before)
        # Siblings are side by side. Labels with fewer than `width` children on their path read the padding too.
        constant(
            self, "child", np.append(1 + np.argsort(hierarchy.parent[1:], kind="stable"), np.ones(width, np.int64))
        )
        constant(self, "shift", np.cumsum(hierarchy.child_count) - hierarchy.child_count - before)
        constant(self, "slot", np.arange(width))

    def forward(self, path: Tensor) -> tuple[Tensor, Tensor]:
        """Return nodes [B, width] and the depth of their parents; for padding, the length of the path minus 1."""
        before = self.before[path]
        if _masks_are_cheap(path, path.shape[1]):  # inductor cannot compile a search over several rows
            step = (before[:, None] <= self.slot[:, None]).sum(-1) - 1
        else:
            step = torch.searchsorted(before, self.slot.repeat(len(path), 1), right=True) - 1
        return self.child[self.shift[path].gather(1, step) + self.slot], step


def in_slice(first: Tensor, last: Tensor, width: int) -> Tensor:
    """Return which columns lie in ``first .. last - 1``: [...] -> bool [..., width]."""
    column = torch.arange(width, device=first.device)
    return (first[..., None] <= column) & (column < last[..., None])


def negative_log_share(log_q: Tensor, first: Tensor, last: Tensor, paths: Paths | None = None) -> Tensor:
    """Return -log of the sum of q over the columns ``first .. last - 1``, for every row of a log-softmax.

    With `paths`, the columns are all nodes, the slice is that of node `first`, and its ancestors count too. Where
    the slice is the whole row, the value and its gradient are exactly 0. There are two implementations of one
    definition: a mask, and a gather of the columns of all slices, laid end to end.
    """
    width = log_q.shape[1]
    is_whole = last - first == width
    if _masks_are_cheap(log_q, 1):
        inside = in_slice(first, last, width) if paths is None else paths.related(first)
        log_share = torch.where(inside, log_q, NOTHING).logsumexp(1)
    else:
        size = torch.where(is_whole, 1, last - first)
        row = torch.repeat_interleave(size)
        column = torch.arange(len(row), device=row.device) + (first + size - size.cumsum(0))[row]
        if paths is not None:
            above = paths(first)
            on_path, depth = (above < first[:, None]).nonzero(as_tuple=True)
            row, column = torch.cat([row, on_path]), torch.cat([column, above[on_path, depth]])
        part = log_q.reshape(-1).gather(0, row * width + column)
        largest = part.new_full((len(log_q),), -torch.inf).scatter_reduce(0, row, part.detach(), "amax")
        log_share = part.new_zeros(len(log_q)).scatter_add(0, row, (part - largest[row]).exp()).log() + largest
    return torch.where(is_whole, 0.0, -log_share)


def slice_log_sums(x: Tensor, first: Tensor, last: Tensor, *, inside: bool) -> Tensor:
    """Return log-sum-exps of the rows of x inside, or outside, nested slices, outermost first: [B, K].

    The outermost slice is the whole row. There are two implementations of one definition: one mask per slice,
    which a GPU reduces in one kernel; and one segmented log-sum-exp over what lies between slices, followed by a
    running one across them, which touches each score once.
    """
    if _masks_are_cheap(x, first.shape[1]):
        within = in_slice(first[:, 1:], last[:, 1:], x.shape[1])
        parts = torch.where(within if inside else ~within, x[:, None], NOTHING).logsumexp(-1)
        whole = x.logsumexp(-1, keepdim=True) if inside else x.new_full((len(x), 1), NOTHING)
        return torch.cat([whole, parts], 1)
    between = segment_log_sums(x, nesting(first, last, x.shape[1]), first.shape[1])
    if inside:
        return _running_log_sums(between.flip(1)).flip(1)
    return functional.pad(_running_log_sums(between)[:, :-1], (1, 0), value=NOTHING)


def _running_log_sums(x: Tensor) -> Tensor:
    """Return the log-sum-exps of the first 1, 2, ... columns: [B, K] -> [B, K]."""
    if x.shape[1] > MOST_MASKS:
        return x.logcumsumexp(1)
    # The second derivative of logcumsumexp is NaN where the first is 0.
    upto = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
    return torch.where(upto, x[:, None], NOTHING).logsumexp(-1)


def innermost(values: Tensor, first: Tensor, last: Tensor, width: int) -> Tensor:
    """Give every column the value of the innermost nested slice that contains it: [B, K] -> [B, width].

    The outermost slice is the whole row. There are two implementations of one definition: a gather, and nested
    `where`s, which a compiler fuses into one kernel.
    """
    if not (torch.compiler.is_compiling() and _masks_are_cheap(values, values.shape[1])):
        return values.gather(1, nesting(first, last, width))
    given = values[:, :1].expand(-1, width)
    for k in range(1, values.shape[1]):
        given = torch.where(in_slice(first[:, k], last[:, k], width), values[:, k : k + 1], given)
    return given


def nesting(first: Tensor, last: Tensor, width: int) -> Tensor:
    """Return how many nested slices contain each column, not counting the outermost, which is the whole row."""
    step = torch.ones_like(first[:, 1:])
    edges = step.new_zeros(len(first), width + 1)
    edges.scatter_add_(1, first[:, 1:], step).scatter_add_(1, last[:, 1:], -step)
    return edges[:, :-1].cumsum(1)


def segment_log_sums(x: Tensor, segment: Tensor, count: int) -> Tensor:
    """Return log-sum-exps over the columns of each segment, `NOTHING` if it is empty: 2 x [B, M] -> [B, count]."""
    if _masks_are_cheap(x, count):
        mask = segment[:, None] == torch.arange(count, device=x.device)[:, None]
        return torch.where(mask, x[:, None], NOTHING).logsumexp(-1)
    nothing = x.new_full((len(x), count), NOTHING)
    largest = nothing.scatter_reduce(1, segment, x.detach(), "amax")
    mass = (nothing - largest).exp().scatter_add(1, segment, (x - largest.gather(1, segment)).exp())
    return mass.log() + largest


def _masks_are_cheap(x: Tensor, count: int) -> bool:
    return count <= MOST_MASKS and (x.device.type != "cpu" or torch.compiler.is_compiling())
