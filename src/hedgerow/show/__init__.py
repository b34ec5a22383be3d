"""What people see: tables and progress on a terminal, figures, notebooks, HTML pages."""

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

OperatingCurve.plot = plot_curve
OperatingCurve._repr_html_ = curve_html
Evaluation.plot = plot_evaluation
Evaluation.to_html = report_evaluation
Evaluation.to_table = write_evaluation_tables
Evaluation._repr_html_ = evaluation_html
SystemComparison._repr_html_ = comparison_html
SystemComparison.to_table = write_comparison_tables
OperatingPoint._repr_html_ = point_html
