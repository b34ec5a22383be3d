"""Between which two numbers the summary figures of the exact curve lie, as far as its bins can tell.

Between two neighbouring thresholds, the order of the events is unknown, but not how much they can raise a metric.
Every point of the exact curve there lies below and to the left of the corner where all metrics have risen as far
as they can, and the points at the thresholds themselves are points of the exact curve. Integrals and intercepts
only grow if points are added, or moved up or to the right: the known points give their lower limits, the corners
their upper limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.measure.bins import UNIT
from hedgerow.measure.curve import summarise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hedgerow.measure.bins import Bins
    from hedgerow.measure.builder import Measures
    from hedgerow.measure.curve import OperatingCurve

Bracket = tuple[float, float]
"""The lowest and the highest value that a figure can have."""


def rounding(bins: Bins) -> float:
    """Return how far the mean of a fraction in the bins can be from that of the exact curve.

    A value in the bins is rounded to `UNIT`; an exact mean has rounded once for every event and example added.
    """
    added = int(bins.sums["moves"].sum()) + int(bins.sums["examples"])
    return UNIT + added * 2.0**-51


def curve_brackets(bins: Bins, measures: Measures, binned: OperatingCurve) -> dict[str, Bracket]:
    """Return the bracket of each summary figure of a curve."""
    slack = rounding(bins)
    low = summarise(_moved(binned.values, -slack))
    highest = bins.highest(measures)
    corners = {name: np.append(values, highest[name]) for name, values in binned.values.items()}
    high = summarise(_moved(corners, slack))
    # AURC = the largest coverage - an integral: it takes its lower limit from the upper limit of the integral.
    covered = _moved({"low": binned.values["coverage"]}, -slack)["low"].max()
    coverable = _moved({"high": corners["coverage"]}, slack)["high"].max()
    integral_low, integral_high = covered - low["AURC"], coverable - high["AURC"]
    low["AURC"], high["AURC"] = covered - integral_high, coverable - integral_low
    return {name: _widened(low[name], high[name], slack) for name in low}


def mean_bracket(value: float, bins: Bins) -> Bracket:
    """Return the bracket of the mean of a fraction over the examples."""
    return _widened(value, value, rounding(bins))


def _moved(values: Mapping[str, NDArray[np.float64]], by: float) -> dict[str, NDArray[np.float64]]:
    return {name: np.clip(value + by, 0, 1) for name, value in values.items()}


def _widened(low: float, high: float, by: float) -> Bracket:
    return max(0.0, float(low) - by), min(1.0, float(high) + by)
