"""Conditional sigmoid: a binary problem for every child of a true node."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch.nn import functional

from hedgerow import likelihood
from hedgerow.methods.base import Law, Method
from hedgerow.methods.label_paths import PathChildren, Paths

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from hedgerow.tree import Hierarchy


@final
class ConditionalSigmoid(Method):
    """A sigmoid gives each node's likelihood given its parent; these multiply along the path.

    ``ℓ(y, θ) = Σ_{u ∈ A(y)∖y} Σ_{v ∈ C(u)} BCE([v ⊇ y], σ(θ_v))``

    Only children of proper ancestors of the label have a term. The likelihoods of a node's children may sum to
    more than its own.

    Parameters
    ----------
    hierarchy
        The tree of classes.

    References
    ----------
    Brust and Denzler, "Integrating domain knowledge", ACPR 2019.
    """

    link = staticmethod(likelihood.conditional_sigmoid)
    laws: frozenset[Law] = frozenset({"parent covers child", "convex"})

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__(hierarchy)
        self.paths = Paths(hierarchy)
        self.path_children = PathChildren(hierarchy)

    @property
    def step_scale(self) -> NDArray[np.float64]:
        """1: sigmoids start at 1/2, far above the frequency of most nodes, so small steps take long."""
        return np.ones(self.width)

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        child, step = self.path_children(self.paths(labels))
        true = (child <= labels[:, None]) & (labels[:, None] < self.paths.end[child])
        z = theta.gather(1, child - 1)
        terms = -functional.logsigmoid(torch.where(true, z, -z))
        return torch.where(step < self.paths.length - 1, terms, 0.0).sum(1)
