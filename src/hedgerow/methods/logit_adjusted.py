"""Conditional softmax with logit adjustment, for long tails."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow import likelihood
from hedgerow.errors import ScoreError, check_number
from hedgerow.methods.base import DISTRIBUTION, Law, Method
from hedgerow.methods.conditional_softmax import ConditionalSoftmax
from hedgerow.methods.label_paths import constant

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch import Tensor

    from hedgerow.tree import Hierarchy


@final
class LogitAdjustedConditionalSoftmax(Method):
    """A conditional softmax that adds the log frequency of each child to its score during training.

    ``ℓ(y, θ) = Σ_{u ∈ A(y)∖r} [LSE_{C(π(u))} θ' - θ'_u]``, where ``θ'_v = θ_v + τ log P(v | π(v))``.

    The scores then need not learn how common a class is, so rare classes are not drowned out. q is that of θ.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    counts
        Number of training examples labelled with each node, in node order:
        ``numpy.bincount(labels, minlength=len(hierarchy))``. One is added for each leaf, so that nothing is
        impossible; without counts, all leaves are taken to be equally common.
    tau
        τ >= 0; 0 is a conditional softmax.

    References
    ----------
    Menon et al., "Long-tail learning via logit adjustment", ICLR 2021, applied among siblings.
    """

    link = staticmethod(likelihood.conditional_softmax)
    laws: frozenset[Law] = DISTRIBUTION | {"convex", "ignores shifts"}
    adjustment: Tensor

    def __init__(self, hierarchy: Hierarchy, *, counts: ArrayLike | None = None, tau: float = 1.0) -> None:
        super().__init__(hierarchy)
        check_number("tau", tau, 0)
        count = np.zeros(len(hierarchy)) if counts is None else np.asarray(counts, dtype=np.float64)
        if count.shape != (len(hierarchy),) or not (np.isfinite(count) & (count >= 0)).all():
            raise ScoreError(f"counts must hold a number, 0 or more, for each of the {len(hierarchy)} nodes.")
        self.tau = tau
        self.conditional = ConditionalSoftmax(hierarchy)
        before = np.append(0, np.cumsum(count + hierarchy.is_leaf))
        below = before[hierarchy.end] - before[:-1]
        # A softmax among siblings needs log P(v | parent) only up to a constant.
        constant(self, "adjustment", tau * np.log(below[1:] / below[hierarchy.parent[1:]]))

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        return self.conditional.loss_among_siblings(theta, labels, self.adjustment)
