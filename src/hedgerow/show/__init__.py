"""What people see: tables and progress on a terminal, figures, tables in notebooks.

In come evaluations, comparisons and operating points; out go text on a console, HTML in a notebook and, from
`show.figures`, matplotlib figures. Nothing is computed here. Importing this room gives curves and evaluations the
methods `plot` and `_repr_html_`; matplotlib is imported when `plot` is called. The next room is `doctor`.
"""

from hedgerow.measure import Evaluation, OperatingCurve
from hedgerow.show.evaluation import print_comparison, print_evaluation, print_reliability, print_written
from hedgerow.show.lines import DEFAULT_RULES, CurveKind, System
from hedgerow.show.notebook import curve_html, evaluation_html
from hedgerow.show.plot_methods import plot_curve, plot_evaluation
from hedgerow.show.point import print_point
from hedgerow.show.terminal import live_bar, print_table

__all__ = [
    "DEFAULT_RULES",
    "CurveKind",
    "System",
    "live_bar",
    "print_comparison",
    "print_evaluation",
    "print_point",
    "print_reliability",
    "print_table",
    "print_written",
]

OperatingCurve.plot = plot_curve
OperatingCurve._repr_html_ = curve_html
Evaluation.plot = plot_evaluation
Evaluation._repr_html_ = evaluation_html
