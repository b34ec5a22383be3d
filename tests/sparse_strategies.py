"""Random sparse likelihoods, and dense ones made sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from hedgerow.likelihood import BOTTOM, SparseLikelihoods
from tests.strategies import likelihoods, trees

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from hedgerow import Hierarchy

SCALES: Any = ["probability", "log", "logit"]


def sparse_of(h: Hierarchy, q: Any, scale: Any = "probability") -> SparseLikelihoods:
    """List the nodes of dense likelihoods that are not at the bottom of the scale, except the root."""
    listed = q > BOTTOM[scale]
    listed[:, 0] = False
    start = np.append(0, np.cumsum(listed.sum(axis=1)))
    return SparseLikelihoods(h, start, np.nonzero(listed)[1], q[listed], scale)


@st.composite
def sparse_likelihoods(
    draw: DrawFn, *, lawful: bool | None = None, leaves_only: bool = False, max_rows: int = 4
) -> tuple[Hierarchy, SparseLikelihoods]:
    """A tree and likelihoods of some of its nodes: rows may be empty, have gaps, and grow towards the leaves."""
    h = draw(trees(12))
    q = draw(likelihoods(h, lawful=lawful, leaves_only=leaves_only, max_rows=max_rows))
    if not lawful and draw(st.booleans()):
        q *= draw(st.lists(st.sampled_from([0, 0, 1]), min_size=q.size, max_size=q.size).map(np.array)).reshape(
            q.shape
        )
    q = np.round(q * 64) / 64  # so that logarithms and logits keep the order, and sums are exact
    scale = draw(st.sampled_from(SCALES))
    with np.errstate(divide="ignore"):
        values = {"probability": q, "log": np.log(q), "logit": np.log(q) - np.log1p(-q)}[scale]
    return h, sparse_of(h, values, scale)
