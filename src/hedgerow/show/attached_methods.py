"""The methods `plot`, `to_html` and `_repr_html_` that `show` attaches, and reports.

Nothing here imports rich, matplotlib, Jinja2 or Pillow before it is called.
"""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError, counted
from hedgerow.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from hedgerow.choose import OperatingPoint
    from hedgerow.measure import Evaluation, OperatingCurve, SystemComparison
    from hedgerow.show.curve_lines import CurveKind
    from hedgerow.show.figures import OperatingCurveDisplay
    from hedgerow.show.page import PageModel

_REPORT_EXTRA = ("jinja2", "markupsafe", "PIL")


# Figures -------------------------------------------------------------------------------------------------


def plot_curve(
    self: OperatingCurve, kind: CurveKind = "precision-recall", ax: Any = None, *, name: str = "", **options: Any
) -> OperatingCurveDisplay:
    """Draw the curve with matplotlib.

    Parameters
    ----------
    kind, ax
        What to draw, and where: see `hedgerow.show.figures.OperatingCurveDisplay.plot`.
    name
        Its name in the legend.
    options
        `thresholds` and `legend`, also as in `OperatingCurveDisplay.plot`.
    """
    from hedgerow.show.figures import OperatingCurveDisplay

    return OperatingCurveDisplay.from_curves({name: self}).plot(kind, ax, **options)


def plot_evaluation(
    self: Evaluation, kind: CurveKind = "precision-recall", ax: Any = None, **options: Any
) -> OperatingCurveDisplay:
    """Draw the curve and the points of single rules with matplotlib.

    Parameters
    ----------
    kind, ax
        What to draw, and where: see `hedgerow.show.figures.OperatingCurveDisplay.plot`.
    options
        `rules`, `thresholds` and `legend`, also as in `OperatingCurveDisplay.plot`.
    """
    from hedgerow.show.figures import OperatingCurveDisplay

    return OperatingCurveDisplay.from_evaluations(self).plot(kind, ax, **options)


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


def write_report(path: str | PathLike[str], models: Sequence[Evaluation | PageModel], **options: Any) -> None:
    """Write one HTML page about one or more models, with a slider over all operating points.

    Parameters
    ----------
    path
        The file to write.
    models
        Evaluations with the same tree.
    options
        `title`, `point`, `images` and `command`: see `hedgerow.show.page.page_html`.
    """
    require_report()
    from hedgerow.show.page import page_html

    html = page_html(models, **options)
    with atomic_write(path) as file:
        file.write(html)


def report_evaluation(self: Evaluation, path: str | PathLike[str], **options: Any) -> None:
    """Write one HTML page with a slider over all operating points, the tree and examples.

    Parameters
    ----------
    path
        The file to write.
    options
        `title`, `point` and `images`: see `hedgerow.show.page.page_html`.
    """
    write_report(path, [self], **options)


# Notebooks -----------------------------------------------------------------------------------------------


def curve_html(self: OperatingCurve) -> str:
    """Return the summary figures of a curve as an HTML table."""
    from hedgerow.show.printed_evaluation import summary_table

    title = f"Operating curve: {counted(self.examples, 'example', 'examples')}, {len(self):,} points"
    return _titled_table(title, summary_table(self.summary()))


def evaluation_html(self: Evaluation) -> str:
    """Return the summary figures of an evaluation as an HTML table."""
    from hedgerow.show.printed_evaluation import summary_table

    nodes = counted(len(self.hierarchy), "node", "nodes")
    title = f"{self.name}: {counted(len(self), 'example', 'examples')}, a tree of {nodes}"
    return _titled_table(title, summary_table(self.summary(), self.intervals, self.level, self.figures))


def comparison_html(self: SystemComparison) -> str:
    """Return what `hedgerow compare` prints."""
    from rich.console import Console

    from hedgerow.show.printed_evaluation import print_comparison

    text = StringIO()
    print_comparison(self, Console(file=text, width=100, force_jupyter=False, color_system=None))
    return preformatted(text.getvalue())


def point_html(self: OperatingPoint) -> str:
    """Return what an operating point promises, and what that means."""
    from hedgerow.show.printed_point import meaning, promises

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
