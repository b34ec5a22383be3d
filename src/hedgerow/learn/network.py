"""What `HedgedClassifier` trains: linear layers, with columns that outputs share or that are summed."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scipy import sparse

    from hedgerow.export import Layer
    from hedgerow.methods import Method
    from hedgerow.tree import Hierarchy, Indices

Floats = NDArray[np.float64]
_TRIED_LABELS = 256  # at least
_MOST_TRIED, _ENTRIES = 1 << 26, 1 << 20  # labels times outputs: in all, and at a time


@dataclass(frozen=True)
class SharedOutputs:
    """Outputs that share a column of weights because no label distinguishes them.

    Their weights start equal and would stay equal, so one column serves all. Otherwise rounding errors would grow
    until one of them, by chance, had all the likelihood.
    """

    kept: Indices
    """The output that represents each column."""
    place: Indices
    """The column of each output."""

    @staticmethod
    def of(method: Method, label: Indices) -> SharedOutputs | None:
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


def _undecided(hierarchy: Hierarchy, label: Indices) -> Indices:
    """Return a number per node, equal if no label distinguishes them: below a node, in subtrees without labels."""
    before = np.append(0, np.cumsum(np.isin(np.arange(len(hierarchy)), label)))
    inside, below = before[hierarchy.end] - before[:-1], before[hierarchy.end] - before[1:]
    bare = inside == 0
    tops = np.flatnonzero(bare & ~bare[hierarchy.parent])
    anchor = np.arange(len(hierarchy))
    anchor[bare] = hierarchy.parent[tops[np.searchsorted(tops, np.flatnonzero(bare), side="right") - 1]]
    # A labelled node is like its descendants if none of them is labelled.
    return np.where(bare | (below == 0), -1 - anchor, anchor)


def _siblings_without_examples(hierarchy: Hierarchy, label: Indices) -> Indices:
    """Return a number for each node, equal for sibling leaves without examples."""
    bare = hierarchy.is_leaf.copy()
    bare[label] = False
    return np.where(bare, -1 - hierarchy.parent, np.arange(len(hierarchy)))


class Network(nn.Module):
    """Linear layers with ReLU between them; takes sparse features as well.

    It has one score per output, per group of outputs that share their weights, or per sum of outputs.
    """

    kept: Tensor
    place: Tensor
    sums: Tensor | None

    def __init__(
        self,
        layers: Sequence[Layer],
        dtype: Any,
        shared: SharedOutputs | None = None,
        sums: sparse.csr_matrix | None = None,
    ) -> None:
        super().__init__()
        *layers, (weight, bias) = layers
        self.shared = shared is not None
        if shared is not None:
            weight, bias = weight[:, shared.kept], bias[shared.kept]
            self.register_buffer("kept", torch.from_numpy(shared.kept))
            self.register_buffer("place", torch.from_numpy(shared.place))
        layers.append((weight, bias))
        self.register_buffer("sums", None if sums is None else _to_torch(sums.astype(dtype)), persistent=False)
        # Selecting columns gives a column-major array, which would make every step several times slower.
        self.weights = nn.ParameterList(torch.from_numpy(w.astype(dtype, order="C")) for w, _ in layers)
        self.biases = nn.ParameterList(torch.from_numpy(b.astype(dtype)) for _, b in layers)

    @staticmethod
    def start(widths: Sequence[int], random: np.random.RandomState) -> list[Layer]:
        """Draw the initial weights: zero for the scores, He's for hidden layers."""
        *hidden, scores = pairwise(widths)
        layers = [(random.normal(0, math.sqrt(2 / a), (a, b)), np.zeros(b)) for a, b in hidden]
        return [*layers, (np.zeros(scores), np.zeros(scores[1]))]

    def forward(self, x: Tensor | sparse.csr_matrix) -> Tensor:
        """Return θ: the score of each output, or sums of them."""
        weights, biases = list(self.weights), list(self.biases)
        if self.sums is not None:
            weights[-1] = _Sums.apply(weights[-1], self.sums)  # type: ignore[no-untyped-call]
            biases[-1] = _Sums.apply(biases[-1][None], self.sums)[0]  # type: ignore[no-untyped-call]
        first, *others = weights
        product = x @ first if isinstance(x, Tensor) else _SparseProduct.apply(first, x)  # type: ignore[no-untyped-call]
        scores: Tensor = product + biases[0]
        for weight, bias in zip(others, biases[1:], strict=True):
            scores = functional.relu(scores) @ weight + bias
        return _Copies.apply(scores, self.kept, self.place) if self.shared else scores  # type: ignore[no-untyped-call]

    def layers(self) -> list[Layer]:
        """Return the weights as arrays, with a column for each output."""
        *layers, (weight, bias) = [(_array(w), _array(b)) for w, b in zip(self.weights, self.biases, strict=True)]
        if self.shared:
            place = self.place.cpu().numpy()
            weight, bias = weight[:, place], bias[place]
        return [*layers, (weight, bias)]


class _SparseProduct(torch.autograd.Function):
    """Sparse features times weights, by SciPy: its gradient is ten times as fast as torch's."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: sparse.csr_matrix) -> Tensor:
        ctx.x = x
        return torch.from_numpy(x @ weight.numpy())

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(ctx.x.T @ slope.numpy()), None


class _Copies(torch.autograd.Function):
    """Scores that outputs share; each follows the gradient of the output that represents it."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, kept: Tensor, place: Tensor) -> Tensor:
        ctx.kept = kept
        return scores[:, place]

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        return slope[:, ctx.kept], None, None


class _Sums(torch.autograd.Function):
    """Sums of columns, as a sparse matrix [sums, columns] says; torch's own gradient is several times slower."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, sums: Tensor) -> Tensor:
        ctx.sums = sums
        return (sums @ weight.T).T

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        return slope @ ctx.sums, None


def _to_torch(matrix: sparse.csr_matrix) -> Tensor:
    index = torch.from_numpy(matrix.indptr).long(), torch.from_numpy(matrix.indices).long()
    with quiet_about_sparsity():
        return torch.sparse_csr_tensor(*index, torch.from_numpy(matrix.data), matrix.shape, check_invariants=False)


def _array(tensor: Tensor) -> Floats:
    return tensor.detach().cpu().numpy().astype(np.float64)


@contextmanager
def quiet_about_sparsity() -> Iterator[None]:
    """Ignore warnings of torch: that sparse tensors are new, and, before 2.13, that their checks are off."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state", UserWarning)
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled", UserWarning)
        yield
