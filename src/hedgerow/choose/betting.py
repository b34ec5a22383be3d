"""Testing "the mean of these bounded values is above 0" by betting (Waudby-Smith and Ramdas).

A player starts with a wealth of 1 and bets that one value after the other is negative: a bet of λ on the value y
multiplies the wealth by ``1 - λ y``. If the mean is above 0, the wealth does not grow on average, whatever the
bets, so the probability that it ever reaches 1/δ is at most δ. Reaching 1/δ therefore refutes the hypothesis.

Each bet may depend on the values before it. With Gaussian values, the bets most likely to reach 1/δ are those that
replicate an option that pays 1/δ if the sum of all values is small enough. These bets are used here, with a
variance estimated from the values so far, and from a first guess that soon counts for little.
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

_LARGEST_STAKE = 0.999  # share of the wealth that one bet may lose
_GUESS_COUNT = 0.3  # divided by α: how many values the first guess of the variance counts for
_BLOCKS = 512  # updating the bets more often than this would be slow
_ROUNDING = 1e-9
_LEAST_WIDTH, _CELLS = 32, 1 << 14  # thresholds tested at once: at least so many, or as many as fit into the cells
_LOG_ROOT = 0.5 * math.log(2 * math.pi)


def refuted(values: NDArray[np.float64], alpha: Fraction, delta: Fraction) -> NDArray[np.bool_]:
    """Return for which columns "the mean is above 0" is refuted; the probability of being wrong is at most δ each.

    Parameters
    ----------
    values
        [clusters, columns] Values from -α to 1 - α, of independent clusters in an order that does not depend on
        their values.
    alpha
        The α of the range of the values.
    delta
        The probability of refuting a true hypothesis.

    >>> from fractions import Fraction
    >>> values = np.array([[-0.1, 0.1]] * 50)
    >>> refuted(values, Fraction(1, 10), Fraction(1, 20)).tolist()
    [True, False]
    """
    from scipy import special  # takes a while, and few need it

    a, goal = float(alpha), -math.log(delta)
    count, columns = values.shape
    guess_count, guess = _GUESS_COUNT / a, a * (1 - a)
    squares, wealth, best = (np.zeros(columns) for _ in range(3))
    width = -(-count // _BLOCKS)
    for start in range(0, count, width):
        block = values[start : start + width]
        variance = (guess_count * guess + squares) / (guess_count + start)
        log_price = np.minimum(wealth - goal, -_ROUNDING)
        quantile = special.ndtri_exp(log_price)
        hedge = np.exp(-0.5 * quantile**2 - _LOG_ROOT - log_price)
        bet = np.minimum(hedge / np.sqrt((count - start) * variance), _LARGEST_STAKE / (1 - a))
        path = wealth + np.cumsum(np.log1p(-bet * block), axis=0)
        best, wealth = np.maximum(best, path.max(axis=0)), path[-1]
        squares += np.sum(block**2, axis=0)
    return np.asarray(best >= goal + _ROUNDING)


@lru_cache(maxsize=1 << 12)
def can_refute(count: int, alpha: Fraction, delta: Fraction) -> bool:
    """Return whether `count` loss-free clusters refute a mean above α."""
    return bool(refuted(np.full((count, 1), -float(alpha)), alpha, delta)[0])


# Testing the thresholds of a grid one after the other, until the first failure ----------------------------------


def passing_index(grid: NDArray[np.float64], score: NDArray[np.float64], *, from_root: bool) -> Indices:
    """Return the index of the first threshold of a grid that has passed each event; the grid's length for none.

    From the root, the grid descends, and thresholds below the score of an event have passed it. Otherwise the grid
    ascends, and thresholds at or above the score have passed it.
    """
    return np.searchsorted(-grid, -score, side="right") if from_root else np.searchsorted(grid, score)


@final
@dataclass(frozen=True, eq=False)
class Walk:
    """The value of each cluster at each threshold of a grid, as changes from threshold to threshold."""

    start: NDArray[np.float64]
    """The value of each cluster before any change."""
    index: Indices
    """The index of the first threshold at which each change counts, ascending."""
    member: Indices
    """The cluster whose value changes."""
    amount: NDArray[np.float64]
    """By how much it changes."""
    length: int
    """The number of thresholds."""

    @classmethod
    def of(cls, start: NDArray[Any], index: Indices, member: Indices, amount: NDArray[Any], length: int) -> Walk:
        """Put changes in the order of the thresholds."""
        order = np.argsort(index, kind="stable")
        return cls(start, index[order], member[order], amount[order], length)

    def columns(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the values at the thresholds from `first` to before `last`: [clusters, thresholds]."""
        clusters, width = len(self.start), last - first
        begin, end = np.searchsorted(self.index, [first, last])
        before = np.bincount(self.member[:begin], self.amount[:begin], minlength=clusters)
        cell = self.member[begin:end] * width + self.index[begin:end] - first
        change = np.bincount(cell, self.amount[begin:end], minlength=clusters * width)
        values: NDArray[np.float64] = np.cumsum(change.reshape(clusters, width), axis=1)
        return values + (self.start + before)[:, None]

    def last_refuted(self, first: int, alpha: Fraction, delta: Fraction) -> int:
        """Return the index of the last threshold, from `first` on, before one where the mean may be above 0.

        That is ``first - 1`` if "the mean is above 0" is not even refuted at `first`.
        """
        width = max(_LEAST_WIDTH, _CELLS // len(self.start))
        while first < self.length:
            last = min(first + width, self.length)
            passed = refuted(self.columns(first, last), alpha, delta)
            if not passed.all():
                return first + int(np.argmin(passed)) - 1
            first = last
        return self.length - 1
