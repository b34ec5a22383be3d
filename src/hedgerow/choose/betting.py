"""Betting that the mean of bounded values is not above 0 (Waudby-Smith and Ramdas).

A player starts with 1 and bets on one value after the other that it will be negative: a bet of λ multiplies the
wealth by ``1 - λ y``. If the mean of the values is above 0, wealth does not grow on average, whatever the bets,
and so it ever reaches 1/δ with a probability of at most δ. Wealth of 1/δ refutes "the mean is above 0".

Each bet may depend on the values before it. With Gaussian values, the bets that most often end at 1/δ are those
that follow the price of an option that pays 1/δ if the sum of all values is small enough: that is what is done
here, with the variance estimated from the values so far, and an estimate to begin with that becomes unimportant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from hedgerow.tree import Indices

_BOLDEST = 0.999  # share of the wealth that may be lost at once
_BEFOREHAND = 0.3  # how many values the first variance counts for, times α
_BLOCKS = 512  # the bets change this often at most
_ROUNDING = 1e-9
_AT_ONCE, _CELLS = 32, 1 << 14  # thresholds; or as many as have so many values
_LOG_ROOT = 0.5 * math.log(2 * math.pi)


def refuted(values: NDArray[np.float64], alpha: Fraction, delta: Fraction) -> NDArray[np.bool_]:
    """Return for which columns "the mean is above 0" is refuted, wrongly with a probability of at most δ.

    Parameters
    ----------
    values
        [clusters, columns] values from -α to 1 - α; the clusters are independent, in an order that does not depend
        on their values.
    alpha, delta
        See above.

    >>> from fractions import Fraction
    >>> values = np.array([[-0.1, 0.1]] * 50)
    >>> refuted(values, Fraction(1, 10), Fraction(1, 20)).tolist()
    [True, False]
    """
    from scipy import special  # takes a while, and few need it

    a, goal = float(alpha), -math.log(delta)
    count, columns = values.shape
    beforehand, variance = _BEFOREHAND / a, a * (1 - a)
    squares, wealth, best = (np.zeros(columns) for _ in range(3))
    width = -(-count // _BLOCKS)
    for start in range(0, count, width):
        block = values[start : start + width]
        estimate = (beforehand * variance + squares) / (beforehand + start)
        price = np.minimum(wealth - goal, -_ROUNDING)  # the logarithm of a probability
        place = special.ndtri_exp(price)
        hedge = np.exp(-0.5 * place**2 - _LOG_ROOT - price)
        bet = np.minimum(hedge / np.sqrt((count - start) * estimate), _BOLDEST / (1 - a))
        path = wealth + np.cumsum(np.log1p(-bet * block), axis=0)
        best, wealth = np.maximum(best, path.max(axis=0)), path[-1]
        squares += np.sum(block**2, axis=0)
    return np.asarray(best >= goal + _ROUNDING)


@lru_cache(maxsize=1 << 12)
def can_refute(count: int, alpha: Fraction, delta: Fraction) -> bool:
    """Return whether `count` loss-free clusters refute a mean above α."""
    return bool(refuted(np.full((count, 1), -float(alpha)), alpha, delta)[0])


# Walking over a grid of thresholds, away from the safe end, until a bet is not won -------------------------------


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
        width = max(_AT_ONCE, _CELLS // len(self.start))
        while first < self.count:
            last = min(first + width, self.count)
            passed = refuted(self.columns(first, last), alpha, delta)
            if not passed.all():
                return first + int(np.argmin(passed)) - 1
            first = last
        return self.count - 1
