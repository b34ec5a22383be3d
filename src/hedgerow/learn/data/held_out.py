"""Splitting off examples at random, class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from hedgerow.learn.data import Examples


def hold_out(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """Split off a share of every class at random; return what remains and what was split off.

    Fractions are rounded up or down at random, so that small classes lose their share on average. No class loses
    its last example.
    """
    if not 0 < share < 1:
        raise ParameterError(f"The share to hold out must be between 0 and 1; got {share}.")
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(examples)), examples.labels))
    _, first, size = np.unique(examples.labels[order], return_index=True, return_counts=True)
    taken = np.minimum(np.floor(share * size + rng.random(len(size))), size - 1)
    position = np.arange(len(order)) - np.repeat(first, size)
    chosen = np.zeros(len(examples), dtype=bool)
    chosen[order] = position < np.repeat(taken, size)
    return examples.subset(~chosen), examples.subset(chosen)
