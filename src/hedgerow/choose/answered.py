"""Promises about the answers given: few of those below the root, or at a rank or below it, are wrong.

Which answers these are depends on the threshold, and the share of them that are wrong may rise and fall with it.
If e of n answers are wrong at a threshold that was fixed in advance, ``P(Bin(n, α) <= e)`` is a valid p-value of
"more than a share α of them is wrong". So the thresholds of a fixed grid are tested in a fixed order until the
first failure (learn then test). Near the root there may be too few answers to show anything, so four walks start
at different thresholds, each with a quarter of δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose.betting import Walk, passing_index
from hedgerow.likelihood import from_probability

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from hedgerow.choose.steps import Changes
    from hedgerow.likelihood import Scale
    from hedgerow.measure import Clusters
    from hedgerow.tree import Indices

STARTS = (0.1, 0.5, 1, 2)
"""The walks start at the likelihoods 1 - s α for each s of these."""


def starting_thresholds(alpha: Fraction, scale: Scale) -> NDArray[np.float64]:
    """Return the thresholds at which the walks start, from the highest to the lowest."""
    return from_probability(np.maximum(1 - np.array(STARTS) * float(alpha), 0), scale)


@final
@dataclass(frozen=True, eq=False)
class Answered:
    """The answers that a promise covers, and those of them that are wrong, at each threshold of a grid."""

    grid: NDArray[np.float64]
    """Thresholds, from the highest to the lowest."""
    scale: Scale
    """The scale of the thresholds."""
    changes: Changes
    """The changes of two quantities, from the root on: [the promise covers the answer], and [it is wrong too]."""
    clusters: Clusters

    @cached_property
    def totals(self) -> list[NDArray[np.float64]]:
        """The number of answers, and of wrong ones, at each threshold; each counts as a share of its cluster."""
        divisor, length = self.clusters.divisor[self.changes.example], len(self.grid) + 1
        sums = (np.bincount(self._index, each / divisor, minlength=length) for each in self.changes.amounts)
        return [np.cumsum(each, dtype=np.float64)[:-1] for each in sums]

    def starts(self, alpha: Fraction) -> Indices:
        """Return the indices of the thresholds at which the walks start."""
        return np.searchsorted(-self.grid, -starting_thresholds(alpha, self.scale))

    def walk(self, alpha: Fraction) -> Walk:
        """Return the values to bet on: the mean of [answered] ([wrong] - α) over the examples of each cluster."""
        example, (answered, wrong) = self.changes.example, self.changes.amounts
        amount = (wrong - float(alpha) * answered) / self.clusters.divisor[example]
        start = np.zeros(self.clusters.number)
        return Walk.of(start, self._index, self.clusters.member[example], amount, len(self.grid))

    @cached_property
    def _index(self) -> Indices:
        """The index of the first threshold at which each change counts."""
        return passing_index(self.grid, self.changes.score, from_root=True)
