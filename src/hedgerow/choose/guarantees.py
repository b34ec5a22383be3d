"""Guarantees: how much loss the calibration examples may add up to.

Every promise is "the loss of a new example is at most α on average". A guarantee turns that into a *budget*: the
calibration examples (or clusters) may have losses that add up to this much, and no more. The operating point is
then the boldest one within the budget.

- **conformal**: on average over calibration sets and new examples, the loss is at most α. The new example counts
  as a calibration example with the largest possible loss: ``budget + 1 <= α (n + 1)``.
- **pac**: with probability 1 - δ over calibration sets, the loss of new examples is at most α on average. The
  budget is the largest sum that is less likely than δ if the loss were larger than α: by the binomial
  distribution for losses of 0 and 1 (Clopper and Pearson), by the inequalities of Hoeffding and Bentkus for
  losses between 0 and 1.
- **empirical**: the loss of the calibration examples themselves is at most α; nothing is promised for new ones.

Levels are the decimals that the user wrote, and sums of ranks are exact: in floating-point numbers,
``ceil(100 * 0.55)`` is 56.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import scipy

from hedgerow.errors import ParameterError, argument
from hedgerow.registry import Registry

if TYPE_CHECKING:
    from hedgerow.choose.thresholds import Steps

_EXACT = 2_000  # up to this many examples, ties with δ are decided in whole numbers
_MOST = 1 << 50  # the largest number of examples considered


def exactly(number: object) -> Fraction:
    """Return a number as the decimal that the user wrote.

    >>> exactly(0.1), Fraction(0.1) == exactly(0.1)
    (Fraction(1, 10), False)
    """
    return number if isinstance(number, Fraction) else Fraction(str(number))


class Guarantee(ABC):
    """How surely a level is reached: the loss budget, the search for a threshold, and what it means in words."""

    help: ClassVar[str]
    """A short description."""
    promises: ClassVar[bool] = True
    """Whether something is promised for new examples; then no level can be promised with certainty."""
    uses_delta: ClassVar[bool] = False

    @abstractmethod
    def budget(self, units: int, promise: Promise) -> Fraction:
        """Return the loss budget for `units` examples or clusters; below 0, nothing can be promised."""

    def needs_growing_losses(self, binary: bool) -> bool:  # noqa: ARG002
        """Whether losses must never fall along the family, so that each example counts with its worst so far."""
        return True

    def threshold(self, steps: Steps, budget: Fraction, binary: bool) -> float:  # noqa: ARG002
        """Return the boldest threshold within the budget."""
        return steps.within(budget)

    @abstractmethod
    def meaning(self, unit: str, sample: str, delta: float | None) -> str:
        """Return what is guaranteed, in a sentence, for `unit` ("a new example") from `sample` ("90 examples")."""


@final
class _Conformal(Guarantee):
    help = "the level holds on average"

    def budget(self, units: int, promise: Promise) -> Fraction:
        return promise.alpha * (units + 1) - 1

    def meaning(self, unit: str, sample: str, delta: float | None) -> str:  # noqa: ARG002
        return (
            f"This holds for {unit} like these, on average over all sets of {sample} that could have been "
            f"collected (conformal)."
        )


@final
class _Pac(Guarantee):
    help = "with probability 1 - delta"
    uses_delta = True

    def budget(self, units: int, promise: Promise) -> Fraction:
        limit = _binomial if promise.binary else _bounded
        return Fraction(limit(units, promise.alpha, promise.delta))

    def needs_growing_losses(self, binary: bool) -> bool:
        return binary  # the bounds for other losses are tested one after the other

    def threshold(self, steps: Steps, budget: Fraction, binary: bool) -> float:
        return steps.within(budget) if binary else steps.first_above(budget)

    def meaning(self, unit: str, sample: str, delta: float | None) -> str:
        probability = f"{round(100 * (1 - (delta or 0)), 1):g} %"
        return (
            f"This is the average over many cases of {unit} like these, not a chance for each. Of all sets of "
            f"{sample} that could have been collected, at least {probability} give a point that keeps it (pac)."
        )


@final
class _Empirical(Guarantee):
    help = "on these examples, nothing is promised for new ones"
    promises = False

    def budget(self, units: int, promise: Promise) -> Fraction:
        return promise.alpha * units

    def needs_growing_losses(self, binary: bool) -> bool:  # noqa: ARG002
        return False

    def threshold(self, steps: Steps, budget: Fraction, binary: bool) -> float:  # noqa: ARG002
        return steps.last_within(budget)

    def meaning(self, unit: str, sample: str, delta: float | None) -> str:  # noqa: ARG002
        return f"This holds for these {sample}. Nothing is promised for new ones (empirical)."


GUARANTEES: Registry[Guarantee] = Registry(
    "guarantee", {"conformal": _Conformal(), "pac": _Pac(), "empirical": _Empirical()}
)


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

    guarantee: str
    alpha: Fraction
    """The largest mean loss, as a share of the largest possible loss."""
    delta: Fraction = Fraction(1, 20)
    """The probability, over calibration sets, of breaking the promise; for "pac"."""
    binary: bool = True
    """Whether the loss of every unit is 0 or 1."""

    def __post_init__(self) -> None:
        GUARANTEES.find(self.guarantee)
        if not 0 < self.delta < 1:
            raise ParameterError(
                f"delta is the probability that the promise is broken: it must lie between 0 and 1, not "
                f"{float(self.delta):g}. Give {argument('delta', '0.05')}, for example."
            )

    def budget(self, units: int) -> Fraction:
        """Return the loss budget for `units` examples or clusters; below 0, nothing can be promised."""
        return GUARANTEES[self.guarantee].budget(units, self)

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
    low, high = -1, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_unlikely(n, middle, alpha, delta) else (low, middle)
    return low


def _is_unlikely(n: int, count: int, alpha: Fraction, delta: Fraction) -> bool:
    """Return whether at most `count` errors among n are no more likely than δ."""
    probability = float(scipy.special.betainc(n - count, count + 1, float(1 - alpha)))
    if not math.isclose(probability, float(delta), rel_tol=1e-9):
        return probability < float(delta)
    return n <= _EXACT and _binomial_exactly(n, count, alpha) <= delta


def _binomial_exactly(n: int, count: int, alpha: Fraction) -> Fraction:
    """Return the probability of at most `count` errors."""
    right, whole = alpha.denominator - alpha.numerator, alpha.denominator
    ways = sum(math.comb(n, k) * alpha.numerator**k * right ** (n - k) for k in range(count + 1))
    return Fraction(ways, whole**n)


def _bounded(n: int, exact_alpha: Fraction, exact_delta: Fraction) -> float:
    """Return the largest sum of n losses between 0 and 1 that is less likely than δ if their mean were above α.

    The probability of a sum s or less is at most ``exp(-n KL(s/n, α))`` (Hoeffding) and at most e times that of
    ``ceil(s)`` errors or fewer in the binomial case (Bentkus).
    """
    alpha, least = float(exact_alpha), -math.log(exact_delta) / n
    bentkus = _binomial(n, exact_alpha, exact_delta / Fraction(math.e))
    if -math.log1p(-alpha) < least:  # even without any loss
        return float(bentkus)
    low, high = 0.0, alpha  # the divergence decreases in between
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _divergence(middle, alpha) >= least else (low, middle)
    return max(n * low * (1 - 1e-12), float(bentkus))  # slightly less, because the divergence is rounded


def _divergence(mean: float, alpha: float) -> float:
    """Return the Kullback-Leibler divergence of two coins."""
    first = mean * math.log(mean / alpha) if mean > 0 else 0.0
    return first + (1 - mean) * (math.log1p(-mean) - math.log1p(-alpha)) if mean < 1 else first
