"""Where the slider can stop: thresholds and targets, and the point of a curve that each of them gives.

Every position is a point of the exact curve, so that the page never interpolates: what it shows at a position is
what `OperatingCurve.at` returns there.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from hedgerow.likelihood import from_probability, threshold_probability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.measure import OperatingCurve
    from hedgerow.tree import Indices

Mode = Literal["threshold", "correct", "recall"]
"""What the slider sets: a threshold, the least share of right answers, or the least recall."""

_STEPS = 200  # per unit
_NEAR_END = (0.0001, 0.0002, 0.0005, 0.001, 0.002)  # additional thresholds, as far from 0 and from 1


def slider_steps(curves: Sequence[OperatingCurve], tau: float | None = None) -> dict[Mode, list[float]]:
    """Return the values of the slider for each mode, ascending.

    Parameters
    ----------
    curves
        The curves on the page.
    tau
        A threshold, a probability, that must be among the steps.
    """
    ends = [*_NEAR_END, *(round(1 - distance, 4) for distance in _NEAR_END), *([] if tau is None else [tau])]
    lowest = min(float(curve.correct.min()) for curve in curves)
    highest = max(float(curve.recall.max()) for curve in curves)
    return {
        "threshold": sorted({*_round_steps(0, 1), *ends}),
        "correct": sorted({*_round_steps(lowest, 1), 0.999}),
        "recall": _round_steps(0, highest),
    }


def _round_steps(low: float, high: float) -> list[float]:
    """Return round values from the last at or below `low` to the first at or above `high`."""
    first, last = int(np.floor(low * _STEPS)), int(np.ceil(high * _STEPS - 1e-9))
    return [step / _STEPS for step in range(first, last + 1)]


@final
@dataclass(frozen=True, eq=False)
class Positions:
    """The points of one curve that the slider reaches, from conservative to specific."""

    threshold: NDArray[np.float64]
    """Threshold of each position, on the scale of the curve, descending."""
    tau: NDArray[np.float64]
    """The same as probabilities: the smallest that give these points."""
    values: Mapping[str, NDArray[np.float64]]
    """The metrics at each position."""
    at: Mapping[Mode, Indices]
    """The position of each step of the slider."""

    @classmethod
    def of(
        cls,
        curve: OperatingCurve,
        steps: Mapping[Mode, Sequence[float]],
        exactly: Mapping[float, float] = MappingProxyType({}),
    ) -> Positions:
        """Find the point of a curve for every step of every mode.

        Parameters
        ----------
        curve
            The curve.
        steps
            From `slider_steps`.
        exactly
            Thresholds on the scale of the curve for some steps, since a probability near 1 can stand for many.
        """
        thresholds = from_probability(np.array(steps["threshold"]), curve.scale).copy()
        for step, threshold in exactly.items():
            thresholds[steps["threshold"].index(step)] = threshold
        points: dict[Mode, Indices] = {
            "threshold": np.minimum(np.searchsorted(-curve.threshold, -thresholds), len(curve) - 1),
            "correct": np.array([_best(curve.recall, curve.correct, least) for least in steps["correct"]]),
            "recall": np.array([_best(curve.correct, curve.recall, least) for least in steps["recall"]]),
        }
        kept = np.unique(np.concatenate([[0, len(curve) - 1], *points.values()]))
        return cls(
            curve.threshold[kept],
            threshold_probability(curve.threshold[kept], curve.scale),
            {name: value[kept] for name, value in curve.values.items()},
            {mode: np.searchsorted(kept, found) for mode, found in points.items()},
        )

    def __len__(self) -> int:
        return len(self.threshold)

    def when(self, score: NDArray[np.float64]) -> Indices:
        """Return the first position at which events of these scores have happened."""
        return np.searchsorted(-self.threshold, -score, side="right")


def _best(of: NDArray[np.float64], where: NDArray[np.float64], least: float) -> int:
    """Return the point of the largest `of` where `where` is at least `least`, else of the largest `where`."""
    allowed = where >= least
    return int(np.argmax(np.where(allowed, of, -1.0) if allowed.any() else where))
