"""Independent sigmoids with the focal loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch.nn import functional

from hedgerow import likelihood
from hedgerow.errors import check_number
from hedgerow.methods.base import Law, Method
from hedgerow.methods.label_paths import Paths

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from hedgerow.tree import Hierarchy


@final
class MultilabelFocal(Method):
    """One binary problem per node, except the root r; the focal loss balances the rare positives.

    ``ℓ(y, θ) = Σ_{u ∈ A(y)∖r} FL(1, σ(θ_u)) + Σ_{u ∉ A(y) ∪ D(y)} FL(0, σ(θ_u))``, where
    ``FL(1, p) = -α (1 - p)^γ log p`` and ``FL(0, p) = -(1 - α) p^γ log(1 - p)``.

    Descendants of the label have no term. Parents need not be more likely than their children.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    alpha
        Weight of the positives, from 0 to 1; None gives positives and negatives weight 1.
    gamma
        γ >= 0; how strongly easy nodes are down-weighted. ``alpha=None, gamma=0`` is plain binary cross-entropy.

    References
    ----------
    Lin et al., "Focal loss for dense object detection", ICCV 2017.
    """

    link = staticmethod(likelihood.multilabel)
    scale = "logit"
    laws: frozenset[Law] = frozenset()

    def __init__(self, hierarchy: Hierarchy, *, alpha: float | None = 0.9, gamma: float = 1.0) -> None:
        super().__init__(hierarchy)
        if alpha is not None:
            check_number("alpha", alpha, 0, 1)
        check_number("gamma", gamma, 0)
        self.alpha = alpha
        self.gamma = gamma
        if gamma == 0:
            self.laws = self.laws | {"convex"}
        self.paths = Paths(hierarchy)

    @property
    def step_scale(self) -> NDArray[np.float64]:
        """1: sigmoids start at 1/2, far above the frequency of most nodes, so small steps take long."""
        return np.ones(self.width)

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        negative = self._hardness(theta).masked_fill(self.paths.related(labels)[:, 1:], 0.0).sum(1)
        path = self.paths(labels)[:, 1:]
        positive = self._hardness(-theta.gather(1, (path - 1).clamp(min=0)))
        positive = torch.where(self.paths.below_root(labels), positive, 0.0).sum(1)
        return positive + negative if self.alpha is None else self.alpha * positive + (1 - self.alpha) * negative

    def _hardness(self, z: Tensor) -> Tensor:
        """Return -p^γ log(1 - p) for p = σ(z), the likelihood of the wrong answer."""
        surprise = functional.softplus(z, threshold=50)
        # Working in logarithms keeps small p^γ and its gradient finite; the usual γ = 1 does not need it.
        return surprise * (z.sigmoid() if self.gamma == 1 else torch.exp(self.gamma * (z - surprise)))
