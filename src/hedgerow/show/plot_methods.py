"""The `plot` methods of curves and evaluations; matplotlib is imported when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.show.lines import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.measure import Evaluation, OperatingCurve
    from hedgerow.show.figures import OperatingCurveDisplay
    from hedgerow.show.lines import CurveKind


def plot_curve(
    self: OperatingCurve,
    kind: CurveKind = "precision-recall",
    ax: Any = None,
    *,
    name: str = "",
    thresholds: Sequence[float] | None = None,
    legend: bool = True,
) -> OperatingCurveDisplay:
    """Draw the curve with matplotlib.

    Parameters
    ----------
    kind, ax, thresholds, legend
        See `hedgerow.show.figures.OperatingCurveDisplay.plot`.
    name
        Its name in the legend.
    """
    from hedgerow.show.figures import OperatingCurveDisplay

    display = OperatingCurveDisplay.from_curves({name: self})
    return display.plot(kind, ax, thresholds=thresholds, legend=legend)


def plot_evaluation(
    self: Evaluation,
    kind: CurveKind = "precision-recall",
    ax: Any = None,
    *,
    rules: Sequence[str] = DEFAULT_RULES,
    thresholds: Sequence[float] | None = None,
    legend: bool = True,
) -> OperatingCurveDisplay:
    """Draw the curve and the points of single rules with matplotlib.

    Parameters
    ----------
    kind, ax, rules, thresholds, legend
        See `hedgerow.show.figures.OperatingCurveDisplay.plot`.
    """
    from hedgerow.show.figures import OperatingCurveDisplay

    display = OperatingCurveDisplay.from_evaluations(self)
    return display.plot(kind, ax, rules=rules, thresholds=thresholds, legend=legend)
