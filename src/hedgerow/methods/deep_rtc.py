"""Deep realistic taxonomic classifier (Deep RTC): stochastic tree sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
import torch

from hedgerow import likelihood
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.methods.base import Law, Method
from hedgerow.methods.paths import NOTHING, Ancestry, Paths, constant, negative_log_share

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
        self.paths = Paths(hierarchy)
        self.ancestry = Ancestry(hierarchy)
        constant(self, "end", hierarchy.end)
        constant(self, "is_leaf", hierarchy.is_leaf)
        constant(self, "inner", 1 + np.flatnonzero(~hierarchy.is_leaf[1:]))

    def sample_cut(self, batch: int, generator: Generator | None = None) -> Tensor:
        """Draw K for every example: bool [batch, nodes], one node on every path from the root to a leaf."""
        cut = self._draw(batch, generator)
        return (cut | self.is_leaf) & ~self.ancestry.any_above(cut)

    def _draw(self, batch: int, generator: Generator | None = None) -> Tensor:
        device = self.inner.device if generator is None else generator.device
        chance = torch.rand(batch, len(self.inner), generator=generator, device=device).to(self.inner.device)
        cut = torch.zeros_like(self.is_leaf).repeat(batch, 1)
        return cut.index_copy(1, self.inner, chance < self.cut_probability)

    def loss(self, theta: Tensor, labels: Tensor, cut: Tensor | None = None) -> Tensor:
        """Return the loss of every example: [B].

        `cut` is what `sample_cut` drew, or any bool [B, nodes] that marks cut nodes; without it every call draws
        anew.
        """
        theta, labels = self.checked(theta, labels)
        if cut is None:
            cut = self._draw(len(labels))
        elif cut.shape != (len(labels), len(self.is_leaf)) or cut.dtype != torch.bool:
            raise ScoreError(
                f"A cut must be bool [{len(labels)}, {len(self.is_leaf)}], not {cut.dtype} {tuple(cut.shape)}."
            )
        # Carried down the path, a score of nothing takes out all that lies below a cut node.
        below_cut = cut.gather(1, self.ancestry.parent[1:].expand(len(cut), -1))
        beta = self.ancestry.path_scores(torch.add(theta, below_cut, alpha=NOTHING))
        beta = torch.add(beta, ~(cut | self.is_leaf), alpha=NOTHING)
        return negative_log_share(beta, labels, self.end[labels], self.paths(labels))
