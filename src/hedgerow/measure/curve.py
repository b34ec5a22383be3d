"""The operating curve: every trade-off between being right and being specific that a threshold can give.

Its summary figures (integrals and intercepts) are functions of plain arrays with one entry per operating point.
They use every point of the exact curve, in any order, and never resample it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from hedgerow.errors import ParameterError, ScoreError, a_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale


_POINTS_AT_ONCE = 10_000

CORRECT_LEVELS = (0.9, 0.95)
"""The shares of correct answers at which summaries report recall by default."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class OperatingCurve:
    """Metrics at every operating point, from conservative to specific.

    All arrays have the same length. At point 0, every answer is the root. `threshold[j]` is the smallest threshold
    that gives point j, so ``at(threshold[j])`` is point j; the last one is the bottom of the scale. The curve is
    exact, and constant between its points.
    """

    threshold: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]
    """Mean of each metric over the examples, by name."""
    examples: int
    """Number of examples."""
    scale: Scale = "probability"
    """The scale of the thresholds: likelihoods, their logarithms or their logits."""

    @property
    def correct(self) -> NDArray[np.float64]:
        """Share of answers that are the label or an ancestor of it."""
        return self.values["correct"]

    @property
    def exact(self) -> NDArray[np.float64]:
        """Share of answers that are the label."""
        return self.values["exact"]

    @property
    def precision(self) -> NDArray[np.float64]:
        """Mean share of the answers' information that is right."""
        return self.values["precision"]

    @property
    def recall(self) -> NDArray[np.float64]:
        """Mean share of the labels' information that is found."""
        return self.values["recall"]

    @property
    def f1(self) -> NDArray[np.float64]:
        """Mean over the examples of the harmonic mean of precision and recall."""
        return self.values["f1"]

    @property
    def coverage(self) -> NDArray[np.float64]:
        """Mean information of the answers, right or wrong, as a share of the largest possible."""
        return self.values["coverage"]

    def __len__(self) -> int:
        return len(self.threshold)

    def index(self, tau: float) -> int:
        """Return the number of the point that a threshold gives."""
        if not a_number(tau, "tau") >= self.threshold[-1]:
            raise ParameterError(
                f"The threshold must be at least {self.threshold[-1]:g} on this curve, whose scale is "
                f"{self.scale}; got {tau}."
            )
        return int(np.searchsorted(-self.threshold, -tau))

    def at(self, tau: float) -> dict[str, float]:
        """Return every metric at one threshold."""
        point = self.index(tau)
        return {name: float(value[point]) for name, value in self.values.items()}

    def down_to(self, tau: float) -> OperatingCurve:
        """Return the part of the curve with thresholds of at least `tau`."""
        last = self.index(tau)
        threshold = self.threshold[: last + 1].copy()
        threshold[-1] = tau
        values = {name: value[: last + 1] for name, value in self.values.items()}
        return OperatingCurve(threshold, values, self.examples, self.scale)

    def summary(
        self,
        *,
        correct: Sequence[float] = CORRECT_LEVELS,
        recall: Sequence[float] = (),
        tau_min: float | None = None,
    ) -> dict[str, float]:
        """Return integrals and intercepts: AP, AC, AC_exact, AURC, R@90C, R@95C, ...

        Parameters
        ----------
        correct
            Shares of correct answers at which to report the largest recall and exact.
        recall
            Recalls at which to report the largest precision.
        tau_min
            Only use thresholds of at least this, on the scale of the curve.
        """
        curve = self if tau_min is None else self.down_to(tau_min)
        return summarise(curve.values, correct=correct, recall=recall)

    def __repr__(self) -> str:
        return f"OperatingCurve({len(self):,} points, {self.examples:,} examples)"

    if TYPE_CHECKING:  # attached by `hedgerow.show`
        plot: ClassVar[Callable[..., Any]]
        _repr_html_: ClassVar[Callable[..., str]]


def integral(over: ArrayLike, of: ArrayLike) -> float:
    """Integrate one metric over another, as average precision does.

    `of` is replaced by its upper envelope, the best value at any point whose `over` is at least as large. The sum
    runs from ``over = 0`` to the largest `over`; nothing is added beyond it.

    >>> integral(over=[0.0, 0.5, 1.0], of=[1.0, 0.8, 0.6])
    0.7
    """
    over, of = np.asarray(over, dtype=np.float64), np.asarray(of, dtype=np.float64)
    if over.ndim != 1 or over.shape != of.shape or not len(over):
        raise ScoreError(
            f"Two metrics at the same points are needed, and at least one point; got shapes {over.shape} and "
            f"{of.shape}."
        )
    if np.any(over[1:] < over[:-1]):
        ascending = np.argsort(over)
        over, of = over[ascending], of[ascending]
    total, best = 0.0, -np.inf
    for end in range(len(over), 0, -_POINTS_AT_ONCE):  # backwards from the last point, in parts that fit the cache
        start = max(0, end - _POINTS_AT_ONCE)
        envelope = np.maximum.accumulate(of[start:end][::-1])
        np.maximum(envelope, best, out=envelope)
        best = envelope[-1]
        back = over[max(0, start - 1) : end][::-1]
        total += np.dot(envelope[: len(back) - 1], back[:-1] - back[1:])
    return float(total + best * over[0])


def intercept(of: ArrayLike, where: ArrayLike, at_least: float) -> float:
    """Return the largest value of one metric where another is at least `at_least`; 0 if there is no such point.

    >>> intercept(of=[0.0, 0.5, 0.8], where=[1.0, 0.96, 0.9], at_least=0.95)
    0.5
    """
    return float(np.max(np.asarray(of), initial=0.0, where=np.asarray(where) >= at_least))


def summarise(
    values: Mapping[str, NDArray[np.float64]],
    *,
    correct: Sequence[float] = CORRECT_LEVELS,
    recall: Sequence[float] = (),
) -> dict[str, float]:
    """Return the summary figures of a curve, all fractions.

    Parameters
    ----------
    values
        The metrics of a curve by name: correct, exact, precision, recall, coverage.
    correct
        Shares of correct answers at which to report the largest recall, "R@95C", and exact, "E@95C".
    recall
        Recalls at which to report the largest precision, "P@50R".

    Returns
    -------
    dict
        AP (precision over recall), AC (correct over recall), AC_exact (correct over exact), AURC (the share of
        wrong answers over coverage: lower is better), then the intercepts.
    """
    risk = float(np.max(values["coverage"])) - integral(over=values["coverage"], of=values["correct"])
    figures = {
        "AP": integral(over=values["recall"], of=values["precision"]),
        "AC": integral(over=values["recall"], of=values["correct"]),
        "AC_exact": integral(over=values["exact"], of=values["correct"]),
        "AURC": max(0.0, risk),  # rounding may make it negative
    }
    for level in correct:
        figures[f"R@{_percent(level)}C"] = intercept(values["recall"], values["correct"], level)
    for level in correct:
        figures[f"E@{_percent(level)}C"] = intercept(values["exact"], values["correct"], level)
    for level in recall:
        figures[f"P@{_percent(level)}R"] = intercept(values["precision"], values["recall"], level)
    return figures


def _percent(fraction: float) -> str:
    return f"{round(100 * fraction, 10):g}"
