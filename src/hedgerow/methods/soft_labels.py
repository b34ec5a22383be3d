"""Soft labels: near misses count as partly right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, final

import torch

from hedgerow import likelihood
from hedgerow.errors import ParameterError
from hedgerow.methods.base import DISTRIBUTION, Law, Method
from hedgerow.methods.paths import Paths, constant, innermost, negative_log_share

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.hierarchy import Hierarchy


@final
class SoftLabels(Method):
    """A flat softmax trained towards a distribution that falls off with distance in the tree.

    ``ℓ(y, θ) = -Σ_u s_u log q_u`` over the label y and the leaves u outside it, where
    ``s_u ∝ exp(-β height(lca(u, y)) / height(root))`` and s_y ∝ 1.

    The leaves below a label that is not a leaf count as the label itself. A large β is a flat softmax.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    beta
        β >= 0.

    References
    ----------
    Bertinetto et al., "Making better mistakes", CVPR 2020.
    """

    scores = "leaves"
    link = staticmethod(likelihood.flat_softmax)
    laws: frozenset[Law] = DISTRIBUTION | {"convex at leaves", "ignores shifts"}
    first: Tensor
    last: Tensor
    height: Tensor

    def __init__(self, hierarchy: Hierarchy, *, beta: float = 10.0) -> None:
        super().__init__(hierarchy)
        if not (beta >= 0 and math.isfinite(beta)):
            raise ParameterError(f"beta must be 0 or more, not {beta}.")
        self.beta = beta
        self.paths = Paths(hierarchy)
        constant(self, "first", hierarchy.leaves_before[:-1])
        constant(self, "last", hierarchy.leaves_before[hierarchy.end])
        constant(self, "height", hierarchy.height / hierarchy.height[0])

    def loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of every example: [B]."""
        theta, labels = self.checked(theta, labels)
        path = self.paths(labels)
        first, last = self.first[path], self.last[path]
        weight = torch.exp(-self.beta * self.height[path]).to(theta.dtype)
        weight = torch.where(path == labels[:, None], 0.0, weight)
        near = innermost(weight, first, last, self.width)
        elsewhere = -(near * theta.log_softmax(-1)).sum(1)
        return (negative_log_share(theta, first[:, -1], last[:, -1]) + elsewhere) / (1 + near.sum(1))
