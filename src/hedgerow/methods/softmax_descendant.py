"""Soft-max-descendant: every ancestor of the label against all unrelated nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from torch.nn import functional

from hedgerow import likelihood
from hedgerow.methods.base import NESTED, Law, Method
from hedgerow.methods.label_paths import NOTHING, Paths, constant, slice_log_sums

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.tree import Hierarchy


@final
class SoftmaxDescendant(Method):
    """A softmax over all nodes, trained to rank each ancestor of the label above all nodes unrelated to it.

    ``ℓ(y, θ) = Σ_{u ∈ A(y)∖r} |L(u)|⁻¹ [LSE_{{u} ∪ N(u)} θ - θ_u]``, where N(u) are the nodes neither above nor
    below u, and ``q(θ) = A softmax_Y(θ)``: internal nodes have their own mass.

    The paper reports it as a negative result.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    """

    link = staticmethod(likelihood.softmax_over_nodes)
    laws: frozenset[Law] = NESTED | {"convex", "ignores shifts"}
    leaf_count: Tensor

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__(hierarchy)
        self.paths = Paths(hierarchy)
        constant(self, "leaf_count", hierarchy.leaf_count)

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        path = self.paths(labels)
        theta = theta - theta.detach().amax(-1, keepdim=True)
        others = theta.scatter(1, path, NOTHING)
        wrong = slice_log_sums(others, path, self.paths.end[path], inside=False)[:, 1:]
        path = path[:, 1:]
        weight = self.paths.below_root(labels) / self.leaf_count[path].to(theta.dtype)
        return -(functional.logsigmoid(theta.gather(1, path) - wrong) * weight).sum(1)
