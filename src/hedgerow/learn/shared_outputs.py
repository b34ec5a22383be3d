"""Outputs that share their weights because no label distinguishes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.methods import Method
    from hedgerow.tree import Hierarchy

_TRIED_LABELS = 256  # at least
_MOST_TRIED, _ENTRIES = 1 << 26, 1 << 20  # labels times outputs: in all, and at a time


@dataclass(frozen=True)
class SharedOutputs:
    """Outputs that share a column of weights because no label distinguishes them.

    Their weights start equal and would stay equal, so one column serves all. Otherwise rounding errors would grow
    until one of them, by chance, had all the likelihood.
    """

    kept: NDArray[np.int64]
    """The output that represents each column."""
    place: NDArray[np.int64]
    """The column of each output."""

    @staticmethod
    def of(method: Method, label: NDArray[np.int64]) -> SharedOutputs | None:
        """Find the columns for these labels; None if nothing can be shared."""
        label = np.unique(label)
        wide = len(label) * method.width <= _MOST_TRIED  # any label may distinguish nodes of different depth
        keys = [_siblings_without_examples(method.hierarchy, label)]
        if wide:
            keys.insert(0, _undecided(method.hierarchy, label))
        for key in keys:
            _, kept, place = np.unique(key[method.outputs], return_index=True, return_inverse=True)
            shared = SharedOutputs(kept, place)
            tried = torch.from_numpy(label if wide else label[:_TRIED_LABELS])
            if len(kept) < len(place) and shared._hold(method, tried):
                return shared
        return None

    def _hold(self, method: Method, label: Tensor) -> bool:
        """Return whether the loss, which need not be one of ours, treats these outputs alike."""
        label = label.repeat(-(-_TRIED_LABELS // len(label)))  # some losses are random
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            parts = label.tensor_split(-(-len(label) * method.width // _ENTRIES))
            return all(self._alike(method, part) for part in parts)

    def _alike(self, method: Method, label: Tensor) -> bool:
        theta = torch.randn(len(label), len(self.kept))[:, self.place].requires_grad_()
        (slope,) = torch.autograd.grad(method.loss(theta, label).sum(), theta)
        return torch.allclose(slope, slope[:, self.kept][:, self.place], rtol=1e-4, atol=1e-7)


def _undecided(hierarchy: Hierarchy, label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number per node, equal if no label distinguishes them: below a node, in subtrees without labels."""
    before = np.append(0, np.cumsum(np.isin(np.arange(len(hierarchy)), label)))
    inside, below = before[hierarchy.end] - before[:-1], before[hierarchy.end] - before[1:]
    bare = inside == 0
    tops = np.flatnonzero(bare & ~bare[hierarchy.parent])
    anchor = np.arange(len(hierarchy))
    anchor[bare] = hierarchy.parent[tops[np.searchsorted(tops, np.flatnonzero(bare), side="right") - 1]]
    # A labelled node is like its descendants if none of them is labelled.
    return np.where(bare | (below == 0), -1 - anchor, anchor)


def _siblings_without_examples(hierarchy: Hierarchy, label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each node, equal for sibling leaves without examples."""
    bare = hierarchy.is_leaf.copy()
    bare[label] = False
    return np.where(bare, -1 - hierarchy.parent, np.arange(len(hierarchy)))
