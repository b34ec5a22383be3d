"""Parameter-sharing softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
from scipy import sparse

from hedgerow import likelihood
from hedgerow.methods.base import DISTRIBUTION, Law, Method
from hedgerow.methods.flat_softmax import FlatSoftmax
from hedgerow.methods.label_paths import Ancestry, constant

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.tree import Hierarchy


_DEEP = 64  # leaves below an output, on average: from here on, path scores of a batch take less time


@final
class PSSoftmax(Method):
    """A flat softmax over the path scores of the leaves: related leaves share the scores of their ancestors.

    ``ℓ(y, θ) = -log q_y = LSE_L β - LSE_{L(y)} β``, where ``β_v = Σ_{u ∈ A(v)∖r} θ_u`` and
    ``q(θ) = A_L softmax_L(β_L)``.

    Parameters
    ----------
    hierarchy
        The tree of classes.

    References
    ----------
    Salakhutdinov et al., "Learning to share visual appearance for multiclass object detection", CVPR 2011.
    """

    link = staticmethod(likelihood.ps_softmax)
    laws: frozenset[Law] = DISTRIBUTION | {"loss is -log q", "convex at leaves"}
    leaves: Tensor

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__(hierarchy)
        self.ancestry = Ancestry(hierarchy)
        self.over_leaves = FlatSoftmax(hierarchy)
        constant(self, "leaves", hierarchy.leaves)

    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        return self.over_leaves._loss(self.ancestry.path_scores(theta).index_select(1, self.leaves), labels)

    def summed(self) -> tuple[FlatSoftmax, sparse.csr_matrix] | None:
        """Return the flat softmax, and for each leaf the scores on its path; None if the paths are very long."""
        h = self.hierarchy
        if h.leaf_count[1:].sum() > _DEEP * self.width:
            return None
        start = np.cumsum(h.leaf_count) - len(h.leaves)  # every node but the root covers a range of leaves
        leaf = np.arange(start[-1]) - np.repeat(start[:-1] - h.leaves_before[1:-1], h.leaf_count[1:])
        covers = sparse.csr_matrix((np.ones(len(leaf)), leaf, start), shape=(self.width, len(h.leaves)))
        return self.over_leaves, covers.T.tocsr()
