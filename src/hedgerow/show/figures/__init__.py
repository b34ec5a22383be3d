"""Figures for papers and notebooks, drawn with matplotlib: operating curves, reliability, trees."""

try:
    import matplotlib
except ModuleNotFoundError as error:
    if error.name != "matplotlib":
        raise
    raise ModuleNotFoundError(
        "Figures need matplotlib, which is not installed: pip install 'hedgerow[plot]'", name="matplotlib"
    ) from error

from hedgerow.show.figures.curve_axes import RULE_STYLES, RuleStyle
from hedgerow.show.figures.curve_display import OperatingCurveDisplay, Panel, panel_figure
from hedgerow.show.figures.monitor_figure import monitor_figure
from hedgerow.show.figures.reliability_panels import reliability_figure
from hedgerow.show.figures.style import COLOURS, MARKERS, save_figure
from hedgerow.show.figures.tree_display import TreeDisplay

__all__ = [
    "COLOURS",
    "MARKERS",
    "RULE_STYLES",
    "OperatingCurveDisplay",
    "Panel",
    "RuleStyle",
    "TreeDisplay",
    "monitor_figure",
    "panel_figure",
    "reliability_figure",
    "save_figure",
]
