"""Figures of a study, drawn from its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.show import System
from hedgerow.show.figures import OperatingCurveDisplay, Panel, panel_figure
from hedgerow.study.scoring import curve_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from hedgerow.show import CurveKind
    from hedgerow.study.experiment import Results


def curves(
    panels: Mapping[str, tuple[CurveKind, Mapping[str, Results]]], *, columns: int = 3, rules: Sequence[str] = ()
) -> Figure:
    """Draw panels: title -> (kind, system -> results, one per seed), and mark the points of rules."""
    drawn = [
        Panel(OperatingCurveDisplay([_system(*named) for named in systems.items()]), kind, title)
        for title, (kind, systems) in panels.items()
    ]
    return panel_figure(drawn, columns=columns, rules=rules)


def _system(name: str, results: Results) -> System:
    return System.of_seeds(name, [curve_of(r) for r in results], [r["rules"] for r in results])
