"""The page of a study: the curves of every method, from its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.show import write_report
from hedgerow.study.scoring import curve_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hedgerow.study.experiment import Results


def write_curves(systems: Mapping[str, Results], title: str, path: Path) -> None:
    """Write a page of systems: name -> results, one per seed.

    Of several seeds, the page shows the one with the median AP. A mean of curves at equal thresholds can be below
    all of them, and no other mean has thresholds for a slider.
    """
    from hedgerow.show.page import PageModel

    shown = {name: _median(results) for name, results in systems.items()}
    models = [PageModel(name, curve_of(result), result["summary"]) for name, result in shown.items()]
    seeds = max(map(len, systems.values()))
    write_report(path, models, title=f"{title} (of {seeds} seeds, that of median AP)" if seeds > 1 else title)


def _median(results: Results) -> Mapping[str, Any]:
    """Return the result of the seed with the median AP; of two in the middle, the lower."""
    return sorted(results, key=lambda result: float(result["summary"]["AP"]))[(len(results) - 1) // 2]
