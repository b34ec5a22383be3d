"""The methods `plot`, `to_html` and `_repr_html_` that `show` attaches, and reports.

Nothing here imports matplotlib, Jinja2 or Plotly before it is called.
"""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.console import Console

from hedgerow.errors import ParameterError, counted
from hedgerow.files import atomic_write
from hedgerow.show.curve_lines import DEFAULT_RULES
from hedgerow.show.print_evaluation import print_comparison, summary_table
from hedgerow.show.print_point import meaning, promises

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from hedgerow.choose import OperatingPoint
    from hedgerow.measure import Evaluation, OperatingCurve, SystemComparison
    from hedgerow.show.curve_lines import CurveKind
    from hedgerow.show.figures import OperatingCurveDisplay
    from hedgerow.show.page import PageModel, PagePoint

_REPORT_EXTRA = ("jinja2", "markupsafe", "plotly", "PIL")


# Figures -------------------------------------------------------------------------------------------------


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


# Reports -------------------------------------------------------------------------------------------------


def require_report() -> None:
    """Raise an error if a library that reports need is not installed."""
    try:
        import hedgerow.show.page  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _REPORT_EXTRA:
            raise
        raise ParameterError(
            f"A report needs {error.name}, which is not installed: pip install 'hedgerow[report]'"
        ) from None


def write_report(
    path: str | PathLike[str],
    models: Sequence[Evaluation | PageModel],
    *,
    title: str | None = None,
    point: PagePoint | None = None,
    images: str | PathLike[str] | None = None,
    command: str = "",
) -> None:
    """Write one HTML page about one or more models, with a slider over all operating points.

    Parameters
    ----------
    path
        The file to write.
    models
        Evaluations with the same tree.
    title
        The heading; by default the names of the models.
    point
        An operating point to mark; `PagePoint.of` makes it from one that `select` chose.
    images
        The folder that holds the images of the examples. Images outside it are not shown.
    command
        The command that makes the page, to be shown on it.
    """
    require_report()
    from hedgerow.show.page import page_html

    html = page_html(models, title=title, point=point, images=images, command=command)
    with atomic_write(path) as file:
        file.write(html)


def report_evaluation(self: Evaluation, path: str | PathLike[str], **options: Any) -> None:
    """Write one HTML page with a slider over all operating points, the tree and examples.

    Parameters
    ----------
    path
        The file to write.
    options
        See `hedgerow.show.write_report`.
    """
    write_report(path, [self], **options)


# Notebooks -----------------------------------------------------------------------------------------------


def curve_html(self: OperatingCurve) -> str:
    """Return the summary figures of a curve as an HTML table."""
    title = f"Operating curve: {counted(self.examples, 'example', 'examples')}, {len(self):,} points"
    return _titled_table(title, summary_table(self.summary()))


def evaluation_html(self: Evaluation) -> str:
    """Return the summary figures of an evaluation as an HTML table."""
    nodes = counted(len(self.hierarchy), "node", "nodes")
    title = f"{self.name}: {counted(len(self), 'example', 'examples')}, a tree of {nodes}"
    return _titled_table(title, summary_table(self.summary, self.intervals, self.confidence))


def comparison_html(self: SystemComparison) -> str:
    """Return what `hedgerow compare` prints."""
    text = StringIO()
    print_comparison(self, Console(file=text, width=100, force_jupyter=False, color_system=None))
    return preformatted(text.getvalue())


def point_html(self: OperatingPoint) -> str:
    """Return what an operating point promises, and what that means."""
    said = "".join(f"<strong>{escape(line)}</strong><br/>" for line in promises(self))
    return f"<div><p>{escape(repr(self))}</p><p>{said}{escape(meaning(self))}</p></div>"


def preformatted(text: str) -> str:
    """Return plain text as HTML; long lines scroll."""
    return f'<pre style="overflow-x:auto">{escape(text.rstrip())}</pre>'


def _titled_table(title: str, rows: Sequence[Sequence[str]]) -> str:
    sides = ["left", *["right"] * (len(rows[0]) - 2), "left"]
    lines = []
    for i, row in enumerate(rows):
        tag = "td" if i else "th"
        cells = zip(sides, row, strict=True)
        shown = "".join(f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>' for side, cell in cells)
        lines.append(f"<tr>{shown}</tr>")
    return f"<div><strong>{escape(title)}</strong><table>{''.join(lines)}</table></div>"
