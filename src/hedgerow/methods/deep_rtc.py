"""Deep realistic taxonomic classifier (Deep RTC): stochastic tree sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch.nn import functional

from hedgerow import likelihood
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.methods.base import Law, Method
from hedgerow.methods.paths import NOTHING, PathScores, constant, negative_log_share

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hedgerow.hierarchy import Hierarchy


@final
class DeepRTC(Method):
    """Scores add up along the path; the loss is a softmax over the leaves of a tree cut off at random.

    ``ℓ(y, θ) = E_K [LSE_K β - LSE_{K ∩ (A(y) ∪ D(y))} β]``, where ``β_v = Σ_{u ∈ A(v)∖r} θ_u``, and
    ``q(θ) = σ(β)``, 1 at the root.

    Every internal node but the root is cut with probability p, independently, for each example; K are the nodes
    that are cut or leaves and have no cut node above them: exactly one on every path from the root to a leaf.
    Parents need not be more likely than their children.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    cut_probability
        p, from 0 to 1. The paper found 0 best; the loss is then that of the PS softmax.

    References
    ----------
    Wu et al., "Solving long-tailed recognition with deep realistic taxonomic classifier", ECCV 2020.
    """

    scores = "nodes but the root"
    link = staticmethod(likelihood.deep_rtc)
    laws: frozenset[Law] = frozenset({"convex at leaves"})
    end: Tensor
    is_leaf: Tensor
    inner: Tensor

    def __init__(self, hierarchy: Hierarchy, *, cut_probability: float = 0.1) -> None:
        super().__init__(hierarchy)
        if not 0 <= cut_probability <= 1:
            raise ParameterError(f"cut_probability must lie between 0 and 1, not {cut_probability}.")
        self.cut_probability = cut_probability
        self.path_scores = PathScores(hierarchy, np.arange(len(hierarchy)))
        constant(self, "end", hierarchy.end)
        constant(self, "is_leaf", hierarchy.is_leaf)
        constant(self, "inner", 1 + np.flatnonzero(~hierarchy.is_leaf[1:]))

    def sample_cut(self, batch: int, generator: Generator | None = None) -> Tensor:
        """Draw K for every example: bool [batch, nodes]."""
        device = self.end.device if generator is None else generator.device
        chance = torch.rand(batch, len(self.inner), generator=generator, device=device).to(self.end.device)
        cut = torch.zeros(batch, len(self.end), dtype=torch.bool, device=self.end.device)
        return self._frontier(cut.index_copy(1, self.inner, chance < self.cut_probability))

    def _frontier(self, cut: Tensor) -> Tensor:
        """Return the cut nodes and leaves without a cut node above them; of such a set, the set itself."""
        reach = torch.where(cut, self.end, 0).cummax(-1).values  # how far the subtrees cut so far extend
        reach = functional.pad(reach[:, :-1], (1, 0))
        return (cut | self.is_leaf) & (reach <= torch.arange(len(self.end), device=cut.device))

    def loss(self, theta: Tensor, labels: Tensor, cut: Tensor | None = None) -> Tensor:
        """Return the loss of every example, [B], for a given cut, bool [B, nodes], or for one drawn now."""
        theta, labels = self.checked(theta, labels)
        if cut is None:
            cut = self.sample_cut(len(labels))
        elif cut.shape != (len(labels), len(self.end)) or cut.dtype != torch.bool:
            raise ScoreError(
                f"A cut must be bool [{len(labels)}, {len(self.end)}]; it is {cut.dtype} {tuple(cut.shape)}."
            )
        else:
            cut = self._frontier(cut)
        beta = torch.where(cut, self.path_scores(theta), NOTHING)
        node = torch.arange(len(self.end), device=theta.device)
        related = (node < self.end[labels, None]) & (labels[:, None] < self.end)
        return negative_log_share(beta, related, labels == 0)
