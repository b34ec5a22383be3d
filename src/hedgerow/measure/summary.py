"""One number from a curve: integrals and intercepts.

These are functions of plain arrays, one entry per operating point. They see every point of the exact curve, in any
order, and never resample it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

_POINTS_AT_ONCE = 10_000

CORRECT_LEVELS = (0.9, 0.95)
"""The shares of correct answers at which summaries state recall, unless asked for others."""


def integral(over: ArrayLike, of: ArrayLike) -> float:
    """Integrate one metric over another, as average precision does.

    `of` is replaced by its upper envelope, the best value at any point whose `over` is at least as large; the sum
    goes from ``over = 0`` to the largest `over`, and nothing is added beyond.

    >>> integral(over=[0.0, 0.5, 1.0], of=[1.0, 0.8, 0.6])
    0.7
    """
    over, of = np.asarray(over, dtype=np.float64), np.asarray(of, dtype=np.float64)
    if over.ndim != 1 or over.shape != of.shape or not len(over):
        raise ScoreError(f"Two metrics of the same points are needed, one at least; got {over.shape}, {of.shape}.")
    if np.any(over[1:] < over[:-1]):
        ascending = np.argsort(over)
        over, of = over[ascending], of[ascending]
    total, best = 0.0, -np.inf
    for end in range(len(over), 0, -_POINTS_AT_ONCE):  # from the last point on, in parts that stay in the cache
        start = max(0, end - _POINTS_AT_ONCE)
        envelope = np.maximum.accumulate(of[start:end][::-1])
        np.maximum(envelope, best, out=envelope)
        best = envelope[-1]
        back = over[max(0, start - 1) : end][::-1]
        total += np.dot(envelope[: len(back) - 1], back[:-1] - back[1:])
    return float(total + best * over[0])


def intercept(of: ArrayLike, where: ArrayLike, at_least: float) -> float:
    """Return the largest value of one metric among the points where another is at least so large; 0 if none.

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
        Shares of correct answers X at which to state the largest recall, "R@95C", and exact, "E@95C".
    recall
        Recalls X at which to state the largest precision, "P@50R".

    Returns
    -------
    dict
        AP (precision over recall), AC (correct over recall), AC_exact (correct over exact), AURC (the share of
        wrong answers over coverage: lower is better), then the intercepts.
    """
    figures = {
        "AP": integral(over=values["recall"], of=values["precision"]),
        "AC": integral(over=values["recall"], of=values["correct"]),
        "AC_exact": integral(over=values["exact"], of=values["correct"]),
        "AURC": float(np.max(values["coverage"])) - integral(over=values["coverage"], of=values["correct"]),
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
