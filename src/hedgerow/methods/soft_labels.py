"""Soft labels: near misses count as partly right."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
from torch.nn import functional

from hedgerow import likelihood
from hedgerow.errors import check_number
from hedgerow.methods.base import DISTRIBUTION, Law, Method
from hedgerow.methods.label_paths import Paths, constant, innermost, negative_log_share

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.tree import Hierarchy


@final
class SoftLabels(Method):
    """A flat softmax trained towards a distribution that falls off with distance in the tree.

    ``ℓ(y, θ) = -Σ_u s_u log q_u`` over the label y and the leaves u outside it, where
    ``s_u ∝ exp(-β height(lca(u, y)) / height(root))`` and s_y ∝ 1.

    The leaves below a label that is not a leaf count as the label itself. A large β approaches a flat softmax.

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

    link = staticmethod(likelihood.flat_softmax)
    laws: frozenset[Law] = DISTRIBUTION | {"convex at leaves", "ignores shifts"}
    first: Tensor
    last: Tensor
    nearness: Tensor

    def __init__(self, hierarchy: Hierarchy, *, beta: float = 10.0) -> None:
        super().__init__(hierarchy)
        check_number("beta", beta, 0)
        self.paths = Paths(hierarchy)
        constant(self, "first", hierarchy.leaves_before[:-1])
        constant(self, "last", hierarchy.leaves_before[hierarchy.end])
        constant(self, "nearness", np.exp(-beta * hierarchy.height / hierarchy.height[0]))

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        path = self.paths(labels)
        first, last = self.first[path], self.last[path]
        weight = functional.pad(self.nearness[path[:, :-1]].to(theta.dtype), (0, 1))  # the last is the label's own
        near = innermost(weight, first, last, self.width)
        log_q = theta.log_softmax(-1)
        at_label = negative_log_share(log_q, first[:, -1], last[:, -1])
        return (at_label - (near * log_q).sum(1)) / (1 + near.sum(1))
