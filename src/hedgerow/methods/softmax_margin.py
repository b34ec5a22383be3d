"""Soft-max-margin: a softmax over all nodes with a margin against the wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, final

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from hedgerow import likelihood
from hedgerow.errors import ParameterError, ScoreError, check_number
from hedgerow.methods.base import NESTED, Law, Method
from hedgerow.methods.label_paths import NOTHING, Paths, constant, in_slice, negative_log_share, nesting

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.tree import Hierarchy

Margin = Literal["correct", "depth", "information"] | Callable[[NDArray[np.int64]], ArrayLike]
"""1 - Correct, the edges between y and v, the bits that they do not share, or a function of their LCA."""


@final
class SoftmaxMargin(Method):
    """A softmax over all nodes in which wrong nodes get a head start of α C during training.

    ``ℓ(y, θ) = LSE_v(θ_v + α C(y, v)) - LSE_{D(y)} θ``; hard:
    ``max(0, max_{v ∉ D(y)} (θ_v + α C(y, v)) - max_{D(y)} θ)``. ``q(θ) = A softmax_Y(θ)``.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    alpha
        α >= 0.
    margin
        C, which is 0 for descendants of the label: "correct" (1 - Correct: 1 where v is neither above nor below
        y), "depth" (edges between y and v), "information" (bits that y and v do not share), or a function that
        takes an array of nodes and returns a value for each, applied to the lowest common ancestors of y and v.
    hard
        Use the maximum instead of the log-sum-exp: the structured hinge loss.
    """

    link = staticmethod(likelihood.softmax_over_nodes)
    laws: frozenset[Law] = NESTED | {"convex at leaves", "ignores shifts"}
    end: Tensor
    own: Tensor
    shared: Tensor

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        alpha: float = 5.0,
        margin: Margin = "correct",
        hard: bool = False,
    ) -> None:
        super().__init__(hierarchy)
        check_number("alpha", alpha, 0)
        self.alpha = alpha
        self.hard = hard
        self.unless_related = margin == "correct"
        constant(self, "end", hierarchy.end)
        if not self.unless_related:
            self.paths = Paths(hierarchy)
            own, shared = _margin_parts(hierarchy, margin)
            constant(self, "own", own)
            constant(self, "shared", shared)

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        raised = theta + self.alpha * self._margin(labels).to(theta.dtype)
        if not self.hard:
            return negative_log_share(raised.log_softmax(1), labels, self.end[labels])
        inside = in_slice(labels, self.end[labels], self.width)
        wrong = torch.where(inside, NOTHING, raised).amax(-1)
        return (wrong - torch.where(inside, theta, NOTHING).amax(-1)).relu()

    def _margin(self, labels: Tensor) -> Tensor:
        """Return C(y, v) for every node v: [B, nodes]."""
        if self.unless_related:
            node = torch.arange(self.width, device=labels.device)
            return (self.end <= labels[:, None]) | (self.end[labels, None] <= node)
        path = self.paths(labels)
        lca_depth = nesting(path, self.end[path], self.width)
        margin = self.own[labels, None] + self.own + self.shared[path].gather(1, lca_depth)
        return margin.masked_fill(in_slice(labels, self.end[labels], self.width), 0.0)


def _margin_parts(hierarchy: Hierarchy, margin: Margin) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split a margin other than "correct" into values of single nodes: C(y, v) = own(y) + own(v) + shared(lca)."""
    if callable(margin):
        shared = np.asarray(margin(np.arange(len(hierarchy))), dtype=np.float64)
        if shared.shape != (len(hierarchy),) or not np.isfinite(shared).all():
            raise ScoreError("A margin function must take an array of nodes and return one finite value for each.")
        return np.zeros(len(hierarchy)), shared
    if margin not in ("depth", "information"):
        raise ParameterError(
            f"margin must be 'correct', 'depth', 'information' or a function of the lca, not {margin!r}."
        )
    own = hierarchy.information("depth" if margin == "depth" else "leaves")
    return own, -2 * own
