"""Reliability diagrams: confidence against accuracy, at each depth of the tree."""

from __future__ import annotations

import math
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hedgerow.errors import ParameterError, check_number
from hedgerow.show.figures.style import COLOURS, MARKERS, literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from hedgerow.measure import Reliability

_PANEL = 1.65  # inches, width and height
_TICKS = (0, 0.5, 1)
_SMALLEST, _LARGEST = 3, 40  # square points: a bin with hardly any answer, and one with all of them


def reliability_figure(found: Mapping[str, Reliability], *, columns: int = 4) -> Figure:
    """Return a figure of confidence against accuracy, one panel per depth, for one or several versions of scores.

    A point is a bin of answers with similar confidence, and its area shows how many they are; on the diagonal,
    confidence is as high as accuracy. Two columns of panels are as wide as one column of a paper.

    Parameters
    ----------
    found
        What to draw: name -> `hedgerow.measure.Reliability`.
    columns
        The largest number of panels in a row.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.measure import Reliability
    >>> from hedgerow.show.figures import reliability_figure
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.9, 0.2, 0.7, 0.1]]
    >>> found = Reliability.of(h, q, ["cat", "cat"])
    >>> [ax.get_title() for ax in reliability_figure({"my model": found}).axes]
    ['depth 1', 'depth 2']
    """
    if not found:
        raise ParameterError("There is nothing to draw: give at least one reliability.")
    check_number("columns", columns, 1)
    depths, *others = {len(each.errors) for each in found.values()}
    if others:
        raise ParameterError("The trees of these models have different depths. Draw a figure for each tree.")
    across = min(columns, depths)
    down = math.ceil(depths / across)
    figure = Figure(figsize=(_PANEL * across + 0.2, _PANEL * down + 0.55), layout="constrained")
    panels: list[Axes] = list(np.ravel(figure.subplots(down, across, sharex=True, sharey=True)))
    for depth, ax in enumerate(panels[:depths]):
        _draw(ax, depth, found)
    for place, ax in enumerate(panels):
        if place >= depths:
            ax.remove()
        elif place + across >= depths:
            ax.tick_params(labelbottom=True)  # nothing is below it
    figure.supxlabel("Confidence", fontsize="small")
    figure.supylabel("Share that is right", fontsize="small")
    entries = [
        Line2D([], [], linewidth=1, color=colour, marker=marker, markersize=4, label=literal(name))
        for name, colour, marker in zip(found, cycle(COLOURS), cycle(MARKERS), strict=False)
    ]
    figure.legend(
        handles=entries,
        loc="outside upper center",
        ncols=min(len(found), 2 * across),
        fontsize="small",
        frameon=False,
    )
    return figure


def _draw(ax: Axes, depth: int, found: Mapping[str, Reliability]) -> None:
    """Draw the bins of one depth."""
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for each, colour, marker in zip(found.values(), cycle(COLOURS), cycle(MARKERS), strict=False):
        there = each.count[depth] > 0
        count = each.count[depth][there]
        x, y = each.confidence[depth][there] / count, each.right[depth][there] / count
        ax.plot(x, y, linewidth=0.8, color=colour)
        area = _SMALLEST + (_LARGEST - _SMALLEST) * count / count.sum()
        ax.scatter(x, y, s=area, marker=marker, color=colour, linewidths=0, zorder=3, clip_on=False)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=_TICKS, yticks=_TICKS)
    ax.set_title(f"depth {depth + 1}", fontsize="small")
    ax.tick_params(labelsize="x-small")
    ax.spines[["top", "right"]].set_visible(False)
