"""The target of a promise: a metric, and the level that its mean is to reach."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.guarantees import GUARANTEES, exact_number, exactly
from hedgerow.errors import ParameterError, argument, of_per_cent
from hedgerow.measure import Metric, metrics, name_of_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BINARY = (metrics.correct, metrics.exact, metrics.strictly_exact, metrics.non_root)
"""Metrics that are 0 or 1 for every example."""
_SIMPLE = 1 << 20  # the largest denominator of a simple fraction


@final
@dataclass(frozen=True)
class Target:
    """A metric, and the level that its mean is to reach."""

    name: str
    metric: Any
    bounds: tuple[float, float]
    """The smallest and the largest value of the metric."""
    level: Fraction

    @classmethod
    def of(cls, given: Any, bounds: tuple[float, float] | None, guarantee: str) -> Target:
        """Check the target of `select`."""
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError(
                f"target must be a metric and its level, such as ('correct', 0.95), not {given!r}."
            )
        metric = _metric(given[0])
        name = name_of_metric(metric)
        limits = _limits(metric, name, bounds)
        target = cls(name, metric, limits, exact_number("The level of the target", given[1]))
        certain = target.alpha == 0 and GUARANTEES.find(guarantee).promises
        if not 0 <= target.alpha < 1 or certain:
            remedy = of_per_cent(float(target.level)) if limits == (0.0, 1.0) else ""
            if certain:
                remedy = " No number of examples can promise certainty."
            raise ParameterError(
                f"The level of {name} must lie between {limits[0]:g} and {limits[1]:g}, not at "
                f"{float(target.level):g}.{remedy}"
            )
        return target

    @property
    def higher_is_better(self) -> bool:
        """The direction of the metric; that of a plain function is up."""
        return bool(getattr(self.metric, "higher_is_better", True))

    @property
    def is_binary(self) -> bool:
        """Whether the metric is 0 or 1 for every example."""
        return self.metric in _BINARY

    @property
    def alpha(self) -> Fraction:
        """The mean loss that the level allows, as a share of the largest possible loss."""
        low, high = map(exactly, self.bounds)
        share = (self.level - low) / (high - low)
        return 1 - share if self.higher_is_better else share

    def at_loss(self, loss: Fraction) -> Target:
        """Return the same target at the level that allows another mean loss."""
        low, high = map(exactly, self.bounds)
        level = high - loss * (high - low) if self.higher_is_better else low + loss * (high - low)
        return replace(self, level=level)

    def losses(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
        """Return the loss of each value of the metric, from 0 to 1, exactly: whole multiples of a part of 1.

        The second result is how many parts make 1. Values are taken for simple fractions or short decimals, where
        these are the same in floating-point numbers.
        """
        low, high = self.bounds
        outside = np.flatnonzero(~((values >= low - 1e-9) & (values <= high + 1e-9)))
        if len(outside):
            raise ParameterError(
                f"The metric {self.name!r} is {values[outside[0]]:g} for an example, outside its bounds {low:g} "
                f"to {high:g}. A promise needs true bounds: give "
                f"{argument('bounds', 'LOW,HIGH', python='bounds=')}."
            )
        distinct, place = np.unique(values, return_inverse=True)
        worst, best = map(exactly, (low, high) if self.higher_is_better else (high, low))
        shares = [(best - _meant(value)) / (best - worst) for value in distinct.tolist()]
        losses: list[Fraction] = [min(max(share, Fraction(0)), Fraction(1)) for share in shares]
        parts = math.lcm(*(loss.denominator for loss in losses))
        # All of them together must fit into 64 bits; integers of Python have no limit.
        whole = np.array([int(loss * parts) for loss in losses], dtype=object)
        return (whole.astype(np.int64) if parts * len(values) < 1 << 62 else whole)[place], parts

    def __str__(self) -> str:
        return f"{self.name} {'>=' if self.higher_is_better else '<='} {float(self.level):g}"


def _meant(value: float) -> Fraction:
    """Return the simple fraction that a number is nearest to, or its shortest decimal.

    >>> _meant(2 / 3), _meant(0.1), _meant(0.123456789)
    (Fraction(2, 3), Fraction(1, 10), Fraction(123456789, 1000000000))
    """
    simple = Fraction(value).limit_denominator(_SIMPLE)
    return simple if float(simple) == value else exactly(value)


def _metric(given: Any) -> Any:
    if isinstance(given, str):
        return metrics.METRICS.find(given)
    if not callable(given):
        raise ParameterError(f"A metric is a name or a function, not {given!r}.")
    return given


def _limits(metric: Any, name: str, bounds: tuple[float, float] | None) -> tuple[float, float]:
    if bounds is not None:
        low, high = (float(bound) for bound in bounds)
        if not (np.isfinite([low, high]).all() and low < high):
            raise ParameterError(f"bounds must be two finite numbers, the smaller one first, not {bounds!r}.")
        return low, high
    if isinstance(metric, Metric) and not metric.is_fraction:
        raise ParameterError(
            f"The values of {name!r} are not fractions. A promise about them needs their smallest and largest "
            f"possible value: give {argument('bounds', 'LOW,HIGH', python='bounds=(low, high)')}."
        )
    return 0.0, 1.0
