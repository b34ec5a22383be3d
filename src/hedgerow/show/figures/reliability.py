"""Reliability diagrams: confidence against accuracy, at each depth of the tree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from hedgerow.errors import ParameterError
from hedgerow.show.figures.style import COLOURS, MARKERS, literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from hedgerow.measure import Reliability

_PANEL = 1.65  # inches, width and height
_TICKS = (0, 0.5, 1)


def reliability_figure(found: Mapping[str, Reliability], *, columns: int = 4) -> Figure:
    """Return a figure of confidence against accuracy, one panel per depth, for one or several versions of scores.

    A point is a bin of answers with similar confidence; on the diagonal, confidence is as high as accuracy. The
    figure is drawn for print at its own size: two columns of panels are as wide as one column of a paper.

    Parameters
    ----------
    found
        What to draw: name -> `hedgerow.measure.Reliability`.
    columns
        The largest number of panels in a row.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.measure import Reliability, example_blocks
    >>> from hedgerow.show.figures import reliability_figure
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.9, 0.2, 0.7, 0.1]]
    >>> found = Reliability.of(h, example_blocks(h, q, ["cat", "cat"]))
    >>> [ax.get_title() for ax in reliability_figure({"my model": found}).axes]
    ['depth 1', 'depth 2']
    """
    if not found:
        raise ParameterError("There is nothing to draw: give at least one reliability.")
    depths = len(next(iter(found.values())).errors)
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
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(found), fontsize="small", frameon=False)
    return figure


def _draw(ax: Axes, depth: int, found: Mapping[str, Reliability]) -> None:
    """Draw the bins of one depth."""
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for number, (name, each) in enumerate(found.items()):
        there = each.count[depth] > 0
        count = each.count[depth][there]
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        x, y = each.confidence[depth][there] / count, each.right[depth][there] / count
        ax.plot(
            x, y, marker=marker, markersize=3.5, linewidth=1.2, color=colour, label=literal(name), clip_on=False
        )
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=_TICKS, yticks=_TICKS)
    ax.set_title(f"depth {depth + 1}", fontsize="small")
    ax.tick_params(labelsize="x-small")
    ax.spines[["top", "right"]].set_visible(False)
