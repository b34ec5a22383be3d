"""Flat softmax: the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hedgerow import likelihood
from hedgerow.errors import check_number
from hedgerow.methods.base import DISTRIBUTION, Law, Method
from hedgerow.methods.label_paths import constant, negative_log_share

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.tree import Hierarchy


@final
class FlatSoftmax(Method):
    """One softmax over the leaves L; the likelihood of an internal node is the sum over its leaves.

    ``ℓ(y, θ) = -(1 - ε) log q_y - (ε / |L|) Σ_{u ∈ L} log q_u``, where ``q(θ) = A_L softmax_L(θ)``.

    For a leaf label and ε = 0 this is the usual cross-entropy.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    label_smoothing
        ε, from 0 to 1. The paper found that 0 is best.

    Examples
    --------
    >>> import torch
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> FlatSoftmax(h).loss(torch.zeros(3, 3), torch.tensor(h.indices(["root", "pet", "cat"]))).exp()
    tensor([1.0000, 1.5000, 3.0000])
    """

    link = staticmethod(likelihood.flat_softmax)
    laws: frozenset[Law] = DISTRIBUTION | {"loss is -log q", "convex at leaves", "ignores shifts"}
    first: Tensor
    last: Tensor

    def __init__(self, hierarchy: Hierarchy, *, label_smoothing: float = 0.0) -> None:
        super().__init__(hierarchy)
        check_number("label_smoothing", label_smoothing, 0, 1)
        self.label_smoothing = label_smoothing
        if label_smoothing > 0:
            self.laws = self.laws - {"loss is -log q"}
        constant(self, "first", hierarchy.leaves_before[:-1])
        constant(self, "last", hierarchy.leaves_before[hierarchy.end])

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        log_q = theta.log_softmax(1)
        loss = negative_log_share(log_q, self.first[labels], self.last[labels])
        if self.label_smoothing > 0:
            loss = (1 - self.label_smoothing) * loss - self.label_smoothing * log_q.mean(1)
        return loss
