"""The page of a study: the curves of every method, from its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.measure import OperatingCurve
from hedgerow.show import write_report
from hedgerow.study.scoring import curve_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hedgerow.study.experiment import Results


def write_curves(systems: Mapping[str, Results], title: str, path: Path) -> None:
    """Write a page of systems: name -> results, one per seed. Curves and figures are means over the seeds."""
    from hedgerow.show.page import PageModel

    models = [PageModel(name, _mean_curve(results), _mean_summary(results)) for name, results in systems.items()]
    write_report(path, models, title=title)


def _mean_curve(results: Results) -> OperatingCurve:
    first, *others = (curve_of(result) for result in results)
    # Older records have other thresholds.
    curves = [first, *(curve for curve in others if np.array_equal(curve.threshold, first.threshold))]
    values = {name: np.mean([curve.values[name] for curve in curves], axis=0) for name in first.values}
    return OperatingCurve(first.threshold, values, first.examples, first.scale)


def _mean_summary(results: Results) -> dict[str, float]:
    names = set.intersection(*(set(result["summary"]) for result in results))
    return {name: float(np.mean([result["summary"][name] for result in results])) for name in names}
