"""What notebooks show, as HTML.

Curves and evaluations are a table of figures next to a small drawing; the rest is the text of the command.
"""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console

from hedgerow.errors import counted
from hedgerow.show.evaluation import figure_ranges, print_comparison, summary_table
from hedgerow.show.lines import AXIS_NAMES, KINDS, System, height_ticks
from hedgerow.show.point import meaning, promises

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.choose import OperatingPoint
    from hedgerow.measure import Evaluation, OperatingCurve, SystemComparison

_WIDTH, _HEIGHT = 320, 240  # pixels
_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 12, 308, 196  # the edges of the axes
_GRID = 512  # cells per unit of either axis, about two per pixel
_COLUMNS = 100  # of text
_ALONG_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def curve_html(self: OperatingCurve) -> str:
    """Return the summary figures of a curve, and a drawing of it."""
    title = f"Operating curve: {counted(self.examples, 'example', 'examples')}, {len(self):,} points"
    return _page(title, summary_table(self.summary()), self)


def evaluation_html(self: Evaluation) -> str:
    """Return the summary figures of an evaluation with their intervals, and a drawing of its curve."""
    nodes = counted(len(self.hierarchy), "node", "nodes")
    title = f"{self.name}: {counted(len(self), 'example', 'examples')}, a tree of {nodes}"
    return _page(title, summary_table(self.summary, *figure_ranges(self)), self.curve)


def comparison_html(self: SystemComparison) -> str:
    """Return what `hedgerow compare` prints."""
    text = StringIO()
    console = Console(file=text, width=_COLUMNS, force_terminal=False, force_jupyter=False, color_system=None)
    print_comparison(self, console)
    return preformatted(text.getvalue())


def preformatted(text: str) -> str:
    """Return plain text as HTML; long lines scroll."""
    return f'<pre style="overflow-x:auto">{escape(text.rstrip())}</pre>'


def point_html(self: OperatingPoint) -> str:
    """Return what an operating point promises, and what that means."""
    said = "".join(f"<strong>{escape(line)}</strong><br/>" for line in promises(self))
    return f"<div><p>{escape(repr(self))}</p><p>{said}{escape(meaning(self))}</p></div>"


def _page(title: str, table: Sequence[Sequence[str]], curve: OperatingCurve) -> str:
    return (
        f"<div><strong>{escape(title)}</strong>"
        '<div style="display:flex;flex-wrap:wrap;align-items:flex-start;gap:1.5em;margin-top:0.5em">'
        f"{_table(*table)}{_drawing(curve)}</div></div>"
    )


def _table(head: Sequence[str], *rows: Sequence[str]) -> str:
    def cell(tag: str, place: int, text: str) -> str:
        side = "left" if place in (0, len(head) - 1) else "right"
        wrap = "normal" if place == len(head) - 1 else "nowrap"
        style = f"text-align:{side};vertical-align:top;white-space:{wrap};padding:0.15em 0.6em"
        return f'<{tag} style="{style}">{escape(text)}</{tag}>'

    lines = [("th", head), *(("td", row) for row in rows)]
    body = "".join(f"<tr>{''.join(cell(tag, i, text) for i, text in enumerate(row))}</tr>" for tag, row in lines)
    return f'<table style="margin:0;max-width:44em">{body}</table>'


def _drawing(curve: OperatingCurve) -> str:
    """Return precision over recall as SVG, dashed where the threshold is below 0.5."""
    along, up = KINDS["precision-recall"]
    system = System("", (curve,))
    line = system.line(along, up, grid=_GRID)
    heights = height_ticks(system.extent(along, up, ())[1] - 0.02)
    x = _LEFT + line.x * (_RIGHT - _LEFT)
    y = _BOTTOM - (line.y - heights[0]) / (1 - heights[0]) * (_BOTTOM - _TOP)
    parts = [_axes(heights, AXIS_NAMES[along], AXIS_NAMES[up])]
    for points, dashes in ((slice(line.half + 1), ""), (slice(line.half, None), ' stroke-dasharray="4 3"')):
        steps = _steps(x[points], y[points])
        parts.append(f'<path d="{steps}" fill="none" stroke="#3f90da" stroke-width="2"{dashes}/>')
    named = f"{AXIS_NAMES[up]} over {AXIS_NAMES[along].lower()}; dashed where the threshold is below 0.5"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="11">'
        f"<title>{escape(named)}</title>{''.join(parts)}</svg>"
    )


def _axes(heights: NDArray[np.float64], along: str, up: str) -> str:
    """Return grid, ticks and names of the axes, in the colour of the text around them."""
    parts = []
    for tick in heights:
        y = _BOTTOM - (tick - heights[0]) / (1 - heights[0]) * (_BOTTOM - _TOP)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" stroke="currentColor" stroke-opacity="0.15"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{tick:.2f}", "end"))
    for tick in _ALONG_TICKS:
        x = _LEFT + tick * (_RIGHT - _LEFT)
        parts.append(f'<path d="M{x:.1f} {_TOP}V{_BOTTOM}" stroke="currentColor" stroke-opacity="0.15"/>')
        parts.append(_text(x, _BOTTOM + 15, f"{tick:.1f}", "middle"))
    parts.append(f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}" fill="none" stroke="currentColor"/>')
    middle = (_TOP + _BOTTOM) / 2
    parts.append(_text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, along, "middle"))
    parts.append(f'<g transform="rotate(-90 12 {middle})">{_text(12, middle, up, "middle")}</g>')
    return "".join(parts)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{escape(text)}</text>'


def _steps(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Return a path whose height between two points is that of the second point."""
    steps = "".join(f"V{b:.1f}H{a:.1f}" for a, b in zip(x[1:], y[1:], strict=True))
    return f"M{x[0]:.1f} {y[0]:.1f}{steps}"
