"""Deep realistic taxonomic classifier (Deep RTC): stochastic tree sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch

from hedgerow import likelihood
from hedgerow.errors import ScoreError, check_number
from hedgerow.methods.base import Law, Method
from hedgerow.methods.label_paths import Ancestry, Paths, constant, negative_log_share

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hedgerow.tree import Hierarchy


@final
class DeepRTC(Method):
    """Scores add up along the path; the loss is a softmax over the leaves of a randomly cut tree.

    ``ℓ(y, θ) = E_K [LSE_K β - LSE_{K ∩ (A(y) ∪ D(y))} β]``, where ``β_v = Σ_{u ∈ A(v)∖r} θ_u``, and
    ``q(θ) = σ(β)``, 1 at the root.

    For each example, every internal node except the root is cut independently with probability p. K are the nodes
    that are cut or are leaves, and have no cut node above them: exactly one on every path from the root to a leaf.
    Parents need not be more likely than their children.

    Parameters
    ----------
    hierarchy
        The tree of classes.
    cut_probability
        p, from 0 to 1. The paper found that 0 is best; the loss is then that of the PS softmax.

    References
    ----------
    Wu et al., "Solving long-tailed recognition with deep realistic taxonomic classifier", ECCV 2020.
    """

    link = staticmethod(likelihood.deep_rtc)
    scale = "logit"
    laws: frozenset[Law] = frozenset({"convex at leaves"})
    is_leaf: Tensor

    def __init__(self, hierarchy: Hierarchy, *, cut_probability: float = 0.1) -> None:
        super().__init__(hierarchy)
        check_number("cut_probability", cut_probability, 0, 1)
        self.cut_probability = cut_probability
        self.paths = Paths(hierarchy)
        self.ancestry = Ancestry(hierarchy)
        constant(self, "is_leaf", hierarchy.is_leaf)

    def sample_cut(self, batch: int, generator: Generator | None = None) -> Tensor:
        """Draw K for every example: bool [batch, nodes], one node on every path from the root to a leaf."""
        cut = self._draw(batch, generator)
        nodes = self.is_leaf.repeat(batch, 1).index_copy(1, self.ancestry.inner, cut)
        return nodes & ~self.ancestry.any_above(cut)

    def _draw(self, batch: int, generator: Generator | None = None) -> Tensor:
        """Cut internal nodes at random: bool [batch, inner]."""
        inner = self.ancestry.inner
        if generator is None:  # left out: a compiled graph with a dynamic batch size does not accept it
            chance = torch.rand(batch, len(inner), device=inner.device)
        else:
            chance = torch.rand(batch, len(inner), generator=generator, device=generator.device).to(inner.device)
        return chance < self.cut_probability

    def draw(self, batch: int) -> dict[str, Tensor]:
        """Draw the cuts of a batch for ``loss(theta, labels, cut=...)``, outside any compiled graph."""
        return {"cut": self.sample_cut(batch)}

    def _loss(self, theta: Tensor, labels: Tensor, cut: Tensor | None = None) -> Tensor:
        """Return the loss of every example, [B].

        `cut` is what `sample_cut` drew, or any bool [B, nodes] that marks cut nodes (the root and the leaves
        are ignored); without it, every call draws a new cut.
        """
        if cut is None:
            cut = self._draw(len(labels))
        elif cut.shape != (len(labels), len(self.is_leaf)) or cut.dtype != torch.bool:
            raise ScoreError(
                f"A cut must be bool [{len(labels)}, {len(self.is_leaf)}], not {cut.dtype} {tuple(cut.shape)}."
            )
        else:
            cut = cut.index_select(1, self.ancestry.inner)
        log_q = self.ancestry.path_scores(theta, cut).log_softmax(1)
        return negative_log_share(log_q, labels, self.paths.end[labels], self.paths)
