"""Conditional softmax: one softmax among the children of every node."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch

from hedgerow import likelihood
from hedgerow.methods.base import DISTRIBUTION, Law, Method
from hedgerow.methods.label_paths import PathChildren, Paths, segment_log_sums

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.tree import Hierarchy


@final
class ConditionalSoftmax(Method):
    """A softmax among siblings gives each node's likelihood given its parent; these multiply along the path.

    ``ℓ(y, θ) = -log q_y = Σ_{u ∈ A(y)∖r} [LSE_{C(π(u))} θ - θ_u]``, convex for every label.

    Parameters
    ----------
    hierarchy
        The tree of classes.

    References
    ----------
    Redmon and Farhadi, "YOLO9000: better, faster, stronger", CVPR 2017.
    """

    link = staticmethod(likelihood.conditional_softmax)
    laws: frozenset[Law] = DISTRIBUTION | {"loss is -log q", "convex", "ignores shifts"}

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__(hierarchy)
        self.paths = Paths(hierarchy)
        self.path_children = PathChildren(hierarchy)

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        return self.loss_among_siblings(theta, labels)

    def loss_among_siblings(self, theta: Tensor, labels: Tensor, added: Tensor | None = None) -> Tensor:
        """Return the loss after adding `added`, [nodes but the root], to the scores of every example."""
        path = self.paths(labels)
        child, step = self.path_children(path)
        right = torch.cat([path[:, 1:], path[:, -1:]], 1).gather(1, step)  # the sibling on the path
        child, right = child - 1, (right - 1).clamp(min=0)
        ahead = theta.gather(1, child) - theta.gather(1, right)
        if added is not None:
            ahead = ahead + (added[child] - added[right]).to(theta.dtype)
        log_mass = segment_log_sums(ahead, step, self.paths.length)[:, :-1]
        return torch.where(self.paths.below_root(labels), log_mass, 0.0).sum(1)
