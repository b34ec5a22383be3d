"""Guarantees: how much loss the calibration examples may add up to.

Every promise is "the loss of a new example is at most α on average". A guarantee turns that into a *budget*: the
calibration examples (or clusters) may have losses that add up to this much, and no more. The operating point is
then the boldest one within the budget.

- **conformal**: on average over calibration sets and new examples, the loss is at most α. The new example counts
  as a calibration example with the largest possible loss: ``budget + 1 <= α (n + 1)``.
- **pac**: with probability 1 - δ over calibration sets, the loss of new examples is at most α on average. The
  budget is the largest sum that is less likely than δ if the loss were larger than α: by the binomial
  distribution for losses of 0 and 1 (Clopper and Pearson), by the inequalities of Hoeffding and Bentkus for
  losses between 0 and 1. With clusters there is no budget: thresholds are tested one after the other by betting,
  unless there are too few clusters for any bet to be won.
- **empirical**: the loss of the calibration examples themselves is at most α; nothing is promised for new ones.

Levels are the decimals that the user wrote, and sums of ranks are exact: see `hedgerow.choose.written`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from hedgerow.choose.betting import can_refute
from hedgerow.choose.steps import TooFew
from hedgerow.choose.written import exactly
from hedgerow.errors import ParameterError, argument
from hedgerow.registry import Registry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.choose.answered import Answered
    from hedgerow.choose.steps import Steps
    from hedgerow.tree import Indices

_EXACT = 2_000  # up to this many examples, ties with δ are decided in whole numbers
_MARGIN = 16
_NONE = 1e-9  # sums of shares of clusters are rounded
_MOST = 1 << 50  # the largest number of examples considered
_STEPS = 60  # of a bisection


class Guarantee(ABC):
    """How surely a level is reached: the loss budget, the search for a threshold, and what it means in words."""

    help: ClassVar[str]
    """A short description."""
    promises: ClassVar[bool] = True
    """Whether something is promised for new examples; then no level can be promised with certainty."""
    uses_delta: ClassVar[bool] = False
    covers_answers: ClassVar[bool] = True
    """Whether it can bound the error among answered examples."""
    covers_other_data: ClassVar[bool] = False
    """Whether calibration examples may count by weights or by shares of classes."""
    alarm_price: ClassVar[float] = 1.0
    """A monitor gives an alarm at this much evidence, divided by δ."""

    @abstractmethod
    def budget(self, units: int, mass: Fraction, bound: Bound) -> Fraction:
        """Return the loss budget for `units` examples or clusters; below 0, nothing can be promised.

        `mass` is what their losses would add up to if all were 1: see `measure.Clusters`.
        """

    def needs_growing_losses(self, binary: bool) -> bool:  # noqa: ARG002
        """Whether losses must never fall along the family, so that each example counts with its worst so far."""
        return True

    def threshold(self, steps: Steps, bound: Bound) -> float:
        """Return the boldest threshold that keeps the bound."""
        return self._boldest(steps, self._budget(steps, bound))

    def _budget(self, steps: Steps, bound: Bound) -> Fraction:
        budget = self.budget(steps.clusters.number, steps.clusters.mass, bound)
        if budget < 0:
            raise TooFew
        return budget

    def _boldest(self, steps: Steps, budget: Fraction) -> float:
        """Return the boldest threshold within the budget."""
        return steps.within(budget)

    def among(self, answers: Answered, bound: Bound) -> float:
        """Return the boldest threshold that keeps the promise among the answers given; infinite if none does.

        The δ of the bound is that of each walk.
        """
        raise NotImplementedError

    def tested(self, units: int, mass: Fraction, bound: Bound) -> float:  # noqa: ARG002
        """Return the mean loss that a monitor tests with false alarms in at most δ: its δ."""
        return float(bound.alpha)

    @abstractmethod
    def meaning(self, unit: str, sample: str, delta: float | None) -> str:
        """Return what is guaranteed, in a sentence, for `unit` ("a new example") from `sample` ("90 examples")."""


@final
class _Conformal(Guarantee):
    help = "the level holds on average"
    covers_answers = False
    covers_other_data = True
    alarm_price = 2.0  # half of δ is for calibration sets whose points are too bold

    def budget(self, units: int, mass: Fraction, bound: Bound) -> Fraction:  # noqa: ARG002
        return bound.alpha * (mass + 1) - 1

    def tested(self, units: int, mass: Fraction, bound: Bound) -> float:
        """Return a mean loss that only a share δ/2 of all calibration sets exceeds: about half exceed α."""
        budget, delta = self.budget(units, mass, bound), bound.delta / 2
        if budget < 0:
            return float(bound.alpha)
        if bound.binary:
            from scipy import special  # takes a while, and few need it

            wrong = math.floor(budget)  # n - k of the k-th smallest of n
            return float(special.betaincinv(wrong + 1, units - wrong, 1 - float(delta)))
        low, high = float(bound.alpha), 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            other = Bound("pac", exactly(middle), delta, binary=False)
            within = middle == 1 or GUARANTEES["pac"].budget(units, mass, other) < budget
            low, high = (middle, high) if within else (low, middle)
        return high

    def meaning(self, unit: str, sample: str, delta: float | None) -> str:  # noqa: ARG002
        return (
            f"This holds for {unit} like these, on average over all sets of {sample} that could have been "
            f"collected (conformal)."
        )


@final
class _Pac(Guarantee):
    help = "with probability 1 - delta"
    uses_delta = True

    def budget(self, units: int, mass: Fraction, bound: Bound) -> Fraction:
        limit = _binomial if bound.binary else _bounded
        # A cluster that is smaller than the largest counts as if it had a loss of α for what it lacks.
        return Fraction(limit(units, bound.alpha, bound.delta)) - bound.alpha * (units - mass)

    def needs_growing_losses(self, binary: bool) -> bool:
        return binary  # the bounds for other losses are tested one after the other

    def threshold(self, steps: Steps, bound: Bound) -> float:
        number = steps.clusters.number
        bets = steps.clusters.unit == "cluster" and not bound.binary
        # Which bound is used must not depend on losses. Near the fewest clusters, the inequalities are as good.
        if bets and can_refute(number - number // _MARGIN, bound.alpha, bound.delta):
            return steps.walk(bound.alpha, bound.delta)
        return super().threshold(steps, bound)

    def _boldest(self, steps: Steps, budget: Fraction) -> float:
        return steps.first_above(budget)

    def among(self, answers: Answered, bound: Bound) -> float:
        alpha, delta = bound.alpha, bound.delta
        if bound.budget(answers.clusters.number) < 0:
            raise TooFew
        starts = answers.starts(alpha).tolist()
        if bound.binary:
            total, wrong = (np.rint(each).astype(np.int64) for each in answers.totals)
            passed = np.append(_are_unlikely(total, wrong, alpha, delta), False)
            last = [first + int(np.argmin(passed[first:])) - 1 for first in starts]
        else:
            walk = answers.walk(alpha)
            last = [walk.last_refuted(first, alpha, delta) for first in starts]
        best = max((end for first, end in zip(starts, last, strict=True) if end >= first), default=-1)
        return math.inf if best < 0 else float(answers.grid[best])

    def meaning(self, unit: str, sample: str, delta: float | None) -> str:
        broken = f"{round(100 * (delta or 0), 3):g} %"
        return (
            f"This is the average over many cases of {unit} like these, not a chance for each. It is kept in all "
            f"but {broken} of the sets of {sample} that could have been collected (pac)."
        )


@final
class _Empirical(Guarantee):
    help = "on these examples, nothing is promised for new ones"
    promises = False

    def budget(self, units: int, mass: Fraction, bound: Bound) -> Fraction:  # noqa: ARG002
        return bound.alpha * mass

    def needs_growing_losses(self, binary: bool) -> bool:  # noqa: ARG002
        return False

    def _boldest(self, steps: Steps, budget: Fraction) -> float:
        return steps.last_within(budget)

    def among(self, answers: Answered, bound: Bound) -> float:
        total, wrong = answers.totals
        kept = np.flatnonzero((total > _NONE) & (wrong <= float(bound.alpha) * total + _NONE))
        return float(answers.grid[kept[-1]]) if len(kept) else math.inf

    def meaning(self, unit: str, sample: str, delta: float | None) -> str:  # noqa: ARG002
        return f"This holds for these {sample}. Nothing is promised for new ones (empirical)."


GUARANTEES: Registry[Guarantee] = Registry(
    "guarantee", {"conformal": _Conformal(), "pac": _Pac(), "empirical": _Empirical()}
)


@final
@dataclass(frozen=True)
class Bound:
    """A bound on the mean loss: at most α, as surely as a guarantee says.

    >>> bound = Bound("conformal", exactly("0.05"))
    >>> bound.budget(99), bound.needed
    (Fraction(4, 1), 19)
    >>> Bound("pac", exactly("0.05"), exactly("0.05")).budget(100)
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
        return GUARANTEES[self.guarantee].budget(units, Fraction(units), self)

    @property
    def needed(self) -> int:
        """The smallest number of examples or clusters that can keep the bound."""
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
    return bool(_are_unlikely(np.array([n]), np.array([count]), alpha, delta)[0])


def _are_unlikely(n: Indices, count: Indices, alpha: Fraction, delta: Fraction) -> NDArray[np.bool_]:
    """Return the same for each of several numbers."""
    from scipy import special  # takes a while, and few need it

    few = np.flatnonzero(count < n)
    probability = np.ones(len(n))
    probability[few] = special.betainc(n[few] - count[few], count[few] + 1, float(1 - alpha))
    unlikely = np.asarray(probability < float(delta))
    for i in np.flatnonzero(np.isclose(probability, float(delta), rtol=1e-9, atol=0)):
        unlikely[i] = n[i] <= _EXACT and _binomial_exactly(int(n[i]), int(count[i]), alpha) <= delta
    return unlikely


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
