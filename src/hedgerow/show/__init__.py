"""What people see: tables and progress on a terminal, figures, notebooks, HTML pages.

In come evaluations, comparisons and operating points; out go text on a console, HTML in a notebook and, from
`show.figures`, matplotlib figures; `show.page` writes reports. Importing this package gives evaluations and the
rest the methods `plot`, `to_html` and `_repr_html_`; matplotlib and Jinja2 are imported when these are called, and
rich when something is printed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow.choose import OperatingPoint
from hedgerow.measure import Evaluation, OperatingCurve, SystemComparison
from hedgerow.show.attached_methods import (
    comparison_html,
    curve_html,
    evaluation_html,
    plot_curve,
    plot_evaluation,
    point_html,
    preformatted,
    report_evaluation,
    require_report,
    write_report,
)
from hedgerow.show.curve_lines import DEFAULT_RULES, CurveKind, System
from hedgerow.show.paper_tables import write_comparison_tables, write_evaluation_tables
from hedgerow.show.tables import Column, Entry, Row, Table, check_tables, entries, not_in_per_cent

if TYPE_CHECKING:
    from hedgerow.show.printed_evaluation import (
        print_comparison,
        print_evaluation,
        print_reliability,
        print_written,
    )
    from hedgerow.show.printed_monitor import print_monitor
    from hedgerow.show.printed_point import meaning, print_point, promises
    from hedgerow.show.terminal import live_bar, print_table, print_text, wrapped
else:
    _PRINTING = {
        "printed_evaluation": ("print_comparison", "print_evaluation", "print_reliability", "print_written"),
        "printed_monitor": ("print_monitor",),
        "printed_point": ("meaning", "print_point", "promises"),
        "terminal": ("live_bar", "print_table", "print_text", "wrapped"),
    }

    def __getattr__(name: str) -> Any:
        """Import what prints on first use."""
        for module, names in _PRINTING.items():
            if name in names:
                return getattr(import_module(f"hedgerow.show.{module}"), name)
        raise AttributeError(f"module 'hedgerow.show' has no attribute {name!r}")


__all__ = [
    "DEFAULT_RULES",
    "Column",
    "CurveKind",
    "Entry",
    "Row",
    "System",
    "Table",
    "check_tables",
    "entries",
    "live_bar",
    "meaning",
    "not_in_per_cent",
    "preformatted",
    "print_comparison",
    "print_evaluation",
    "print_monitor",
    "print_point",
    "print_reliability",
    "print_table",
    "print_text",
    "print_written",
    "promises",
    "require_report",
    "wrapped",
    "write_report",
]

OperatingCurve.plot = plot_curve
OperatingCurve._repr_html_ = curve_html
Evaluation.plot = plot_evaluation
Evaluation.to_html = report_evaluation
Evaluation.to_table = write_evaluation_tables
Evaluation._repr_html_ = evaluation_html
SystemComparison._repr_html_ = comparison_html
SystemComparison.to_table = write_comparison_tables
OperatingPoint._repr_html_ = point_html
