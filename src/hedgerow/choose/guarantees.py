"""Guarantees: what it takes to promise that the mean loss of new examples is at most α.

A guarantee turns α into a *budget*: the calibration examples (or clusters) may have losses that add up to this
much. The operating point is the boldest one within the budget.

- **conformal**: the mean loss is at most α on average over calibration sets and new examples. The new example
  counts as a calibration example with the largest possible loss: ``budget + 1 <= α (n + 1)``.
- **pac**: with probability 1 - δ over calibration sets, the mean loss of new examples is at most α. The budget is
  the largest sum whose probability would be at most δ if the mean loss were above α: by the binomial distribution
  for losses of 0 and 1 (Clopper and Pearson), by the inequalities of Hoeffding and Bentkus for losses between 0
  and 1. With clusters, thresholds are tested by betting instead, unless there are too few clusters to win a bet.
- **empirical**: the mean loss of the calibration examples is at most α; nothing is promised for new ones.

Levels are the decimals that the user wrote, and budgets are exact: see `hedgerow.choose.written`.
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
from hedgerow.choose.written import check_delta, exactly
from hedgerow.registry import Registry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.choose.answered import Answered
    from hedgerow.choose.steps import Steps
    from hedgerow.tree import Indices

_EXACT = 2_000  # up to this many examples, ties with δ are decided in exact arithmetic
_MARGIN = 16  # betting must be able to win without one cluster in so many
_ROUNDING = 1e-9  # of sums of shares of clusters
_MOST = 1 << 50  # the largest number of examples considered
_BISECTIONS = 60


class Guarantee(ABC):
    """How surely a level is reached: the budget, the search for a threshold, and what it means in words."""

    help: ClassVar[str]
    """A short description."""
    promises: ClassVar[bool] = True
    """Whether anything is promised for new examples."""
    uses_delta: ClassVar[bool] = False
    covers_answers: ClassVar[bool] = True
    """Whether it can bound the error among answered examples."""
    covers_other_data: ClassVar[bool] = False
    """Whether the promise can be for data that differ, by weights of examples or by shares of classes."""
    alarm_price: ClassVar[float] = 1.0
    """A monitor raises an alarm when the evidence reaches this number divided by δ."""

    @abstractmethod
    def budget(self, units: int, mass: Fraction, bound: Bound) -> Fraction:
        """Return the budget for `units` examples or clusters; below 0, nothing can be promised.

        `mass` is what their losses would add up to if all were 1: see `measure.Clusters`.
        """

    def needs_monotone_losses(self, binary: bool) -> bool:  # noqa: ARG002
        """Return whether each example must count with its largest loss so far."""
        return True

    def threshold(self, steps: Steps, bound: Bound) -> float:
        """Return the boldest threshold that keeps the bound."""
        budget = self.budget(steps.clusters.number, steps.clusters.mass, bound)
        if budget < 0:
            raise TooFew
        return self._boldest(steps, budget)

    def _boldest(self, steps: Steps, budget: Fraction) -> float:
        """Return the boldest threshold within the budget."""
        return steps.up_to(budget)

    def threshold_among(self, answers: Answered, bound: Bound) -> float:
        """Return the boldest threshold that keeps a bound on the error among answers; infinite if none does.

        The δ of the bound is that of each walk.
        """
        raise NotImplementedError

    def tested_loss(self, units: int, mass: Fraction, bound: Bound) -> float:  # noqa: ARG002
        """Return the mean loss for a monitor to test; the δ of the bound is its probability of a false alarm."""
        return float(bound.alpha)

    @abstractmethod
    def meaning(self, unit: str, sample: str, delta: float | None) -> str:
        """Say what is guaranteed for `unit` ("a new example"), given `sample` ("90 examples")."""


@final
class _Conformal(Guarantee):
    help = "the level holds on average"
    covers_answers = False
    covers_other_data = True
    alarm_price = 2.0  # half of δ is for calibration sets whose mean loss is above the tested one

    def budget(self, units: int, mass: Fraction, bound: Bound) -> Fraction:  # noqa: ARG002
        return bound.alpha * (mass + 1) - 1

    def tested_loss(self, units: int, mass: Fraction, bound: Bound) -> float:
        """Return a mean loss that only a share δ/2 of all calibration sets exceeds, while about half exceed α."""
        budget, delta = self.budget(units, mass, bound), bound.delta / 2
        if budget < 0:
            return float(bound.alpha)
        if bound.binary:
            from scipy import special  # takes a while, and few need it

            wrong = math.floor(budget)  # n - k of the k-th smallest of n
            return float(special.betaincinv(wrong + 1, units - wrong, 1 - float(delta)))
        low, high = float(bound.alpha), 1.0
        for _ in range(_BISECTIONS):
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
        limit = _most_errors if bound.binary else _largest_sum
        # A cluster smaller than the largest counts as if its missing examples had a loss of α.
        return Fraction(limit(units, bound.alpha, bound.delta)) - bound.alpha * (units - mass)

    def needs_monotone_losses(self, binary: bool) -> bool:
        return binary  # for other losses, thresholds are tested one after the other

    def threshold(self, steps: Steps, bound: Bound) -> float:
        number = steps.clusters.number
        bets = steps.clusters.unit == "cluster" and not bound.binary
        # The choice must not depend on losses. With hardly enough clusters to win, the inequalities are as good.
        if bets and can_refute(number - number // _MARGIN, bound.alpha, bound.delta):
            return steps.by_betting(bound.alpha, bound.delta)
        return super().threshold(steps, bound)

    def _boldest(self, steps: Steps, budget: Fraction) -> float:
        return steps.before_first_excess(budget)

    def threshold_among(self, answers: Answered, bound: Bound) -> float:
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

    def needs_monotone_losses(self, binary: bool) -> bool:  # noqa: ARG002
        return False

    def _boldest(self, steps: Steps, budget: Fraction) -> float:
        return steps.last_within(budget)

    def threshold_among(self, answers: Answered, bound: Bound) -> float:
        total, wrong = answers.totals
        kept = np.flatnonzero((total > _ROUNDING) & (wrong <= float(bound.alpha) * total + _ROUNDING))
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
    """The mean loss allowed, as a share of the largest possible loss."""
    delta: Fraction = Fraction(1, 20)
    """For "pac", the probability over calibration sets of breaking the promise."""
    binary: bool = True
    """Whether the loss of every unit is 0 or 1."""

    def __post_init__(self) -> None:
        GUARANTEES.find(self.guarantee)
        check_delta(self.delta)

    def budget(self, units: int) -> Fraction:
        """Return the budget for `units` examples or clusters; below 0, nothing can be promised."""
        return GUARANTEES[self.guarantee].budget(units, Fraction(units), self)

    @property
    def needed(self) -> int:
        """The smallest number of examples or clusters with which anything can be promised."""
        high = 1
        while self.budget(high) < 0 and high < _MOST:
            high *= 2
        low = high // 2  # too few, or 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.budget(middle) < 0 else (low, middle)
        return high


def _most_errors(n: int, alpha: Fraction, delta: Fraction) -> int:
    """Return the largest k for which at most k errors among n have probability δ or less; -1 if none has.

    Each of the n is an error with probability α.
    """
    low, high = -1, n
    while high - low > 1:
        middle = (low + high) // 2
        unlikely = _are_unlikely(np.array([n]), np.array([middle]), alpha, delta)[0]
        low, high = (middle, high) if unlikely else (low, middle)
    return low


def _are_unlikely(n: Indices, count: Indices, alpha: Fraction, delta: Fraction) -> NDArray[np.bool_]:
    """Return whether at most `count` errors among n have probability δ or less, for each pair of numbers."""
    from scipy import special  # takes a while, and few need it

    few = np.flatnonzero(count < n)
    probability = np.ones(len(n))
    probability[few] = special.betainc(n[few] - count[few], count[few] + 1, float(1 - alpha))
    unlikely = np.asarray(probability < float(delta))
    for i in np.flatnonzero(np.isclose(probability, float(delta), rtol=1e-9, atol=0)):
        unlikely[i] = n[i] <= _EXACT and _exact_tail(int(n[i]), int(count[i]), alpha) <= delta
    return unlikely


def _exact_tail(n: int, count: int, alpha: Fraction) -> Fraction:
    """Return the probability of at most `count` errors among n."""
    right, whole = alpha.denominator - alpha.numerator, alpha.denominator
    ways = sum(math.comb(n, k) * alpha.numerator**k * right ** (n - k) for k in range(count + 1))
    return Fraction(ways, whole**n)


def _largest_sum(n: int, exact_alpha: Fraction, exact_delta: Fraction) -> float:
    """Return the largest s for which n losses with a mean above α add up to at most s with probability δ or less.

    The losses are between 0 and 1. This probability is at most ``exp(-n KL(s/n, α))`` (Hoeffding) and at most e
    times the binomial probability of ``ceil(s)`` errors or fewer (Bentkus).
    """
    alpha, least = float(exact_alpha), -math.log(exact_delta) / n
    bentkus = _most_errors(n, exact_alpha, exact_delta / Fraction(math.e))
    if -math.log1p(-alpha) < least:  # too few, even without any loss
        return float(bentkus)
    low, high = 0.0, alpha  # the divergence falls from one to the other
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _divergence(middle, alpha) >= least else (low, middle)
    return max(n * low * (1 - 1e-12), float(bentkus))  # slightly less, because the divergence is rounded


def _divergence(mean: float, alpha: float) -> float:
    """Return the Kullback-Leibler divergence of two Bernoulli distributions."""
    first = mean * math.log(mean / alpha) if mean > 0 else 0.0
    return first + (1 - mean) * (math.log1p(-mean) - math.log1p(-alpha)) if mean < 1 else first
