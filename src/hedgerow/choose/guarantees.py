"""Guarantees: how much loss the calibration examples may add up to.

Every promise is "the loss of a new example is at most α on average". A guarantee turns that into a *budget*: the
calibration examples (or clusters) may have losses that add up to this much, and no more. The operating point is
then the boldest one within the budget.

- **conformal**: on average over calibration sets and new examples, the loss is at most α. The new example counts
  as a calibration example with the largest possible loss: ``budget + 1 <= α (n + 1)``.
- **pac**: with confidence 1 - δ over calibration sets, the loss of new examples is at most α on average. The
  budget is the largest sum that is less likely than δ if the loss were larger than α: by the binomial
  distribution for losses of 0 and 1 (Clopper and Pearson), by the inequalities of Hoeffding and Bentkus for
  losses between 0 and 1.
- **empirical**: the loss of the calibration examples themselves is at most α; nothing is promised for new ones.

Levels are the decimals that the user wrote, and sums of ranks are exact: in floating-point numbers,
``ceil(100 * 0.55)`` is 56.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final, get_args

from scipy import optimize, stats

from hedgerow.errors import ParameterError, argument, no_such

Guarantee = Literal["conformal", "pac", "empirical"]
GUARANTEES: tuple[Guarantee, ...] = get_args(Guarantee)

_EXACT = 2_000  # up to so many examples, ties with δ are decided in whole numbers
_MOST = 1 << 50  # more examples than this are never asked for


def exactly(number: object) -> Fraction:
    """Return a number as the decimal that the user wrote.

    >>> exactly(0.1), Fraction(0.1) == exactly(0.1)
    (Fraction(1, 10), False)
    """
    return number if isinstance(number, Fraction) else Fraction(str(number))


@final
@dataclass(frozen=True)
class Promise:
    """A guarantee for a loss of at most α.

    >>> promise = Promise("conformal", exactly("0.05"))
    >>> promise.budget(99), promise.needed
    (Fraction(4, 1), 19)
    >>> Promise("pac", exactly("0.05"), exactly("0.05")).budget(100)
    Fraction(1, 1)
    """

    guarantee: Guarantee
    alpha: Fraction
    """The largest mean loss, as a share of the largest possible loss."""
    delta: Fraction = Fraction(1, 20)
    """The probability, over calibration sets, of breaking the promise; for "pac"."""
    binary: bool = True
    """Whether the loss of every unit is 0 or 1."""

    def __post_init__(self) -> None:
        if self.guarantee not in GUARANTEES:
            raise ParameterError(no_such("guarantee", str(self.guarantee), GUARANTEES))
        if not 0 < self.delta < 1:
            raise ParameterError(
                f"delta is the probability that the promise is broken: it must lie between 0 and 1, not "
                f"{float(self.delta):g}. Give {argument('delta', '0.05')}, for example."
            )

    def budget(self, units: int) -> Fraction:
        """Return what the losses of so many examples or clusters may add up to; below 0, nothing is possible."""
        if self.guarantee == "empirical":
            return self.alpha * units
        if self.guarantee == "conformal":
            return self.alpha * (units + 1) - 1
        if self.binary:
            return Fraction(_binomial(units, self.alpha, self.delta))
        return Fraction(_bounded(units, self.alpha, self.delta))

    @property
    def needed(self) -> int:
        """The smallest number of examples or clusters that can keep the promise."""
        high = 1
        while self.budget(high) < 0 and high < _MOST:
            high *= 2
        low = high // 2  # not enough, unless it is 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.budget(middle) < 0 else (low, middle)
        return high


def _binomial(n: int, alpha: Fraction, delta: Fraction) -> int:
    """Return the largest number of errors among n that is less likely than δ if errors were more likely than α."""
    a, d = float(alpha), float(delta)
    count = int(stats.binom.ppf(d, n, a)) + 1
    while count >= 0:
        probability = stats.binom.cdf(count, n, a)
        if math.isclose(probability, d, rel_tol=1e-9):  # too close for floating-point numbers
            if n <= _EXACT and _binomial_exactly(n, count, alpha) <= delta:
                return count
        elif probability < d:
            return count
        count -= 1
    return -1


def _binomial_exactly(n: int, count: int, alpha: Fraction) -> Fraction:
    """Return the probability of at most so many errors."""
    right, whole = alpha.denominator - alpha.numerator, alpha.denominator
    ways = sum(math.comb(n, k) * alpha.numerator**k * right ** (n - k) for k in range(count + 1))
    return Fraction(ways, whole**n)


def _bounded(n: int, exact_alpha: Fraction, exact_delta: Fraction) -> float:
    """Return the largest sum of n losses between 0 and 1 that is less likely than δ if their mean were above α.

    The probability of a sum s or less is at most ``exp(-n KL(s/n, α))`` (Hoeffding) and at most e times that of
    ``ceil(s)`` errors or fewer in the binomial case (Bentkus).
    """
    alpha, delta = float(exact_alpha), float(exact_delta)
    bentkus = _binomial(n, exact_alpha, exact_delta / Fraction(math.e))
    if -n * math.log1p(-alpha) < -math.log(delta):  # even without any loss
        return float(bentkus)

    def excess(mean: float) -> float:
        return n * _divergence(mean, alpha) + math.log(delta)

    # A little less than the solution, since that is rounded.
    hoeffding = float(optimize.brentq(excess, 0.0, alpha, xtol=1e-15)) * (1 - 1e-12)
    return max(n * hoeffding, float(bentkus))


def _divergence(mean: float, alpha: float) -> float:
    """Return the Kullback-Leibler divergence of two coins."""
    first = mean * math.log(mean / alpha) if mean > 0 else 0.0
    return first + (1 - mean) * (math.log1p(-mean) - math.log1p(-alpha)) if mean < 1 else first
