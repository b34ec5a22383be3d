"""Hierarchical cross-entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch

from hedgerow import likelihood
from hedgerow.errors import check_number
from hedgerow.methods.base import DISTRIBUTION, Law, Method
from hedgerow.methods.label_paths import Paths, constant, slice_log_sums

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.tree import Hierarchy


@final
class HXE(Method):
    """A flat softmax whose loss weights the steps along the path ω_0 .. ω_d to the label, deeper steps less.

    ``ℓ(y, θ) = Σ_{k=1..d} γ^(k-1) [LSE_{L(ω_(k-1))} θ - LSE_{L(ω_k)} θ]``, where γ = e^(-α).

    Parameters
    ----------
    hierarchy
        The tree of classes.
    alpha
        α >= 0. The paper found that 0 is best, which is a flat softmax.

    References
    ----------
    Bertinetto et al., "Making better mistakes", CVPR 2020.
    """

    link = staticmethod(likelihood.flat_softmax)
    laws: frozenset[Law] = DISTRIBUTION | {"ignores shifts"}
    first: Tensor
    last: Tensor

    def __init__(self, hierarchy: Hierarchy, *, alpha: float = 0.1) -> None:
        super().__init__(hierarchy)
        check_number("alpha", alpha, 0)
        self.alpha = alpha
        if alpha == 0:
            self.laws = self.laws | {"loss is -log q", "convex at leaves"}
        self.paths = Paths(hierarchy)
        constant(self, "first", hierarchy.leaves_before[:-1])
        constant(self, "last", hierarchy.leaves_before[hierarchy.end])

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        path = self.paths(labels)
        theta = theta - theta.detach().amax(-1, keepdim=True)
        log_mass = slice_log_sums(theta, self.first[path], self.last[path], inside=True)
        step = torch.arange(self.paths.length - 1, dtype=theta.dtype, device=theta.device)
        weight = torch.exp(-self.alpha * step) * self.paths.below_root(labels)
        return ((log_mass[:, :-1] - log_mass[:, 1:]) * weight).sum(1)
