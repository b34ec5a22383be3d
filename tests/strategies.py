"""Random likelihoods and measures of specificity, on the trees of `tree_strategies`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from tests.tree_strategies import trees

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from hedgerow import Hierarchy

__all__ = ["QUICK", "Floats", "information_kinds", "likelihoods", "trees", "trees_and_likelihoods"]

Floats = NDArray[Any]
QUICK = settings(max_examples=30, deadline=None)
"""Enough draws to meet every corner of a small tree, soon over."""


@st.composite
def likelihoods(
    draw: DrawFn,
    h: Hierarchy,
    *,
    lawful: bool | None = None,
    leaves_only: bool = False,
    max_rows: int = 3,
) -> Floats:
    """Likelihoods [rows, nodes], float64 but exact in float32: with ties, zeros and ones.

    Lawful ones are probabilities: a parent has at least the sum of its children, the root 1; with `leaves_only`
    no internal node has mass of its own. Others are anything in 0 .. 1. None draws either.
    """
    rows = draw(st.integers(1, max_rows))
    if lawful is None:
        lawful = draw(st.booleans())
    if not lawful:
        steps = draw(st.sampled_from([1, 4, 1 << 20]))
        q = draw(hnp.arrays(np.int64, (rows, len(h)), elements=st.integers(0, steps))) / steps
        if draw(st.booleans()):
            q[:, 0] = 1
        return np.asarray(q)
    total = draw(st.sampled_from([1, 2, 8, 1 << 20]))
    mass = np.zeros((rows, len(h)), dtype=np.int64)
    where = h.leaves if leaves_only else np.arange(len(h))
    for row in mass:
        cuts = draw(hnp.arrays(np.int64, len(where) - 1, elements=st.integers(0, total)))
        row[where] = np.diff(np.sort(cuts), prepend=0, append=total)
    before = np.concatenate([np.zeros((rows, 1), dtype=np.int64), np.cumsum(mass, axis=1)], axis=1)
    return np.asarray((before[:, h.end] - before[:, :-1]) / total)


@st.composite
def trees_and_likelihoods(
    draw: DrawFn, *, lawful: bool | None = None, leaves_only: bool = False
) -> tuple[Hierarchy, Floats]:
    """A small tree and likelihoods on it."""
    h = draw(trees(12))
    return h, draw(likelihoods(h, lawful=lawful, leaves_only=leaves_only))


@st.composite
def information_kinds(draw: DrawFn, h: Hierarchy, *, exact: bool = False) -> Any:
    """A measure of specificity: by name, or values of one's own with ties and with edges that add nothing.

    Exact ones are whole or half numbers.
    """
    kind = draw(st.sampled_from(["depth", "own"] if exact else ["leaves", "depth", "own"]))
    if kind != "own":
        return kind
    value = np.zeros(len(h))
    for node in range(1, len(h)):
        value[node] = value[h.parent[node]] + draw(st.sampled_from([0.0, 0.5, 1.0]))
    return value
