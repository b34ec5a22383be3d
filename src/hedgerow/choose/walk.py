"""Walking over a grid of thresholds, away from the safe end, until a test fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.betting import refuted

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from hedgerow.tree import Indices

_AT_ONCE = 32  # thresholds


def passed_from(grid: NDArray[np.float64], score: NDArray[np.float64], *, from_root: bool) -> Indices:
    """Return the place in a grid from which on each event has been passed; its length for never.

    An event has happened where the threshold is below its score. From the root, the grid descends, and an event is
    passed where it has happened; otherwise the grid ascends, and an event is passed where it has not.
    """
    return np.searchsorted(-grid, -score, side="right") if from_root else np.searchsorted(grid, score)


@final
@dataclass(frozen=True, eq=False)
class Walk:
    """A value for each cluster at each threshold of a grid, whose mean should not be above 0."""

    start: NDArray[np.float64]
    """The value of each cluster before the first threshold."""
    place: Indices
    """The place in the grid from which on each change counts, ascending."""
    member: Indices
    """The cluster that it changes."""
    amount: NDArray[np.float64]
    """By how much."""
    count: int
    """The length of the grid."""

    @classmethod
    def of(cls, start: NDArray[Any], place: Indices, member: Indices, amount: NDArray[Any], count: int) -> Walk:
        """Put changes in order."""
        order = np.argsort(place, kind="stable")
        return cls(start, place[order], member[order], amount[order], count)

    def columns(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the values at some thresholds: [clusters, thresholds]."""
        clusters, width = len(self.start), last - first
        begin, end = np.searchsorted(self.place, [first, last])
        before = np.bincount(self.member[:begin], self.amount[:begin], minlength=clusters)
        cell = self.member[begin:end] * width + self.place[begin:end] - first
        change = np.bincount(cell, self.amount[begin:end], minlength=clusters * width)
        values: NDArray[np.float64] = np.cumsum(change.reshape(clusters, width), axis=1)
        return values + (self.start + before)[:, None]

    def last_refuted(self, first: int, alpha: Fraction, delta: Fraction) -> int:
        """Return the last threshold before the first one at which "the mean is above 0" is not refuted.

        If that is so at the first threshold, the one before it is returned.
        """
        while first < self.count:
            last = min(first + _AT_ONCE, self.count)
            passed = refuted(self.columns(first, last), alpha, delta)
            if not passed.all():
                return first + int(np.argmin(passed)) - 1
            first = last
        return self.count - 1
