"""Promises about the answers given: of those below the root, or at a rank or below it, few are wrong.

Which answers these are depends on the threshold, and the share of them that is wrong may rise and fall with it.
For a threshold that is fixed in advance, of n answers of which e are wrong, ``P(Bin(n, α) <= e)`` is a valid
p-value of "more than α of them are wrong". So thresholds are taken from a grid, in an order that is fixed in
advance, and tested one after the other until the first failure (learn then test). Near the root there may be too
few answers to show anything: four walks begin at different thresholds, each with a quarter of δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose.betting import Walk, passed_from
from hedgerow.likelihood import from_probability

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from hedgerow.choose.steps import Changes
    from hedgerow.likelihood import Scale
    from hedgerow.measure import Clusters
    from hedgerow.tree import Indices

STARTS = (0.1, 0.5, 1, 2)
"""The walks begin at the likelihoods 1 - these times α."""


def starting_thresholds(alpha: Fraction, scale: Scale) -> NDArray[np.float64]:
    """Return where the walks begin, from the highest down, on the scale of the likelihoods."""
    return from_probability(np.maximum(1 - np.array(STARTS) * float(alpha), 0), scale)


@final
@dataclass(frozen=True, eq=False)
class Answered:
    """The answers that a promise is about, and those of them that are wrong, at each threshold of a grid."""

    grid: NDArray[np.float64]
    """Thresholds, from the highest down."""
    scale: Scale
    changes: Changes
    """By how much the numbers of answers, and of wrong ones, change from the root to the most specific answers."""
    clusters: Clusters

    @cached_property
    def totals(self) -> list[NDArray[np.float64]]:
        """The number of answers, and of wrong ones, at each threshold; or of their shares of clusters."""
        divisor, length = self.clusters.divisor[self.changes.example], len(self.grid) + 1
        sums = (np.bincount(self._place, of / divisor, minlength=length) for of in self.changes.amounts)
        return [np.cumsum(each, dtype=np.float64)[:-1] for each in sums]

    def starts(self, alpha: Fraction) -> Indices:
        """Return the places where the walks begin."""
        return np.searchsorted(-self.grid, -starting_thresholds(alpha, self.scale))

    def walk(self, alpha: Fraction) -> Walk:
        """Return what betting is about: the mean over each cluster's examples of [answered] ([wrong] - α)."""
        example, (answered, wrong) = self.changes.example, self.changes.amounts
        amount = (wrong - float(alpha) * answered) / self.clusters.divisor[example]
        start = np.zeros(self.clusters.number)
        return Walk.of(start, self._place, self.clusters.member[example], amount, len(self.grid))

    @cached_property
    def _place(self) -> Indices:
        """The place in the grid from which on each change counts."""
        return passed_from(self.grid, self.changes.score, from_root=True)
