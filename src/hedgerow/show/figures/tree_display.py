"""A tree whose branches are coloured by how often answers are right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, final

import matplotlib as mpl
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath

from hedgerow.errors import ParameterError, ScoreError, check_number, counted
from hedgerow.likelihood import from_probability
from hedgerow.measure import Evaluation, metrics
from hedgerow.show.curve_lines import height_ticks
from hedgerow.show.figures.style import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree import BelowLabel, Hierarchy

_COLOURS = ListedColormap(mpl.colormaps["viridis"](np.linspace(0, 0.88, 256)))
"""From dark, often wrong, to light; its lightest end would not show on paper."""

_NO_EXAMPLES = "0.8"
_WIDTH, _ROW, _TALLEST = 3.4, 0.125, 9.0  # inches: one column of a paper, one leaf, one page
_LEAF_NAME, _INNER_NAME = 6.5, 5.5  # points
_LONGEST_NAME = 36  # characters, about half of the width
_LARGEST_DOT = 8.0  # points across


@final
class TreeDisplay:
    """A tree with the share of right answers at every node, ready to be drawn.

    The colour of a node and of the branch to it is the share of right answers among the examples whose label is at
    or below it; it is grey where there are none. The area of a dot shows how many answers stop at that node, right
    or wrong.

    The `from_` methods count; `plot` draws.

    Parameters
    ----------
    hierarchy
        The tree to draw.
    examples, right
        For each node, how many examples have their label at or below it, and how many of their answers are right.
    stops
        For each node, the number of answers that are this very node.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of the last call of `plot`.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.show.figures import TreeDisplay
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> display = TreeDisplay.from_answers(h, answers=["pet", "dog", "wolf"], labels=["cat", "cat", "wolf"])
    >>> dict(zip(h.names, display.right.tolist(), strict=True))
    {'root': 2, 'pet': 1, 'cat': 1, 'dog': 0, 'wolf': 1}
    >>> _ = display.plot()
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, hierarchy: Hierarchy, examples: ArrayLike, right: ArrayLike, stops: ArrayLike) -> None:
        counts = [np.asarray(each) for each in (examples, right, stops)]
        if any(each.shape != (len(hierarchy),) or each.dtype.kind not in "iuf" for each in counts):
            raise ScoreError(f"examples, right and stops need one number per node, {len(hierarchy):,} in all.")
        self.hierarchy = hierarchy
        self.examples, self.right, self.stops = (each.astype(np.int64) for each in counts)

    def __repr__(self) -> str:
        return f"TreeDisplay({counted(len(self.hierarchy), 'node', 'nodes')}, {self.examples[0]:,} examples)"

    @classmethod
    def from_answers(
        cls,
        hierarchy: Hierarchy,
        answers: ArrayLike,
        labels: ArrayLike,
        *,
        below_label: BelowLabel = "label",
        max_depth: int | None = None,
    ) -> TreeDisplay:
        """Count the answers of any rule or operating point.

        Parameters
        ----------
        hierarchy
            The tree.
        answers, labels
            Names or indices of nodes, one per example.
        below_label
            How to count an answer below its label: as the "label" itself or as "wrong".
        max_depth
            The depth at which to cut the tree. Labels and answers below it count for the node where it is cut;
            whether they are right is still judged on the whole tree.
        """
        given, true = hierarchy.nodes(answers), hierarchy.nodes(labels)
        if given.shape != true.shape or given.ndim != 1:
            raise ScoreError(f"There must be one answer per label; got shapes {given.shape} and {true.shape}.")
        right = metrics.correct(hierarchy, true, given, below_label=below_label)
        if max_depth is not None:
            hierarchy, cut = hierarchy.cut_at_depth(max_depth)
            given, true = cut[given], cut[true]
        return cls(
            hierarchy,
            _below(hierarchy, true, np.ones(len(true))),
            _below(hierarchy, true, right),
            np.bincount(given, minlength=len(hierarchy)),
        )

    @classmethod
    def from_evaluation(
        cls, evaluation: Evaluation, tau: float = 0.5, *, max_depth: int | None = None
    ) -> TreeDisplay:
        """Count the answers of an evaluation at a threshold, which is a probability; see `from_answers`."""
        if not isinstance(evaluation, Evaluation):
            raise ParameterError(f"evaluation must be an Evaluation with its examples, not {evaluation!r}.")
        check_number("tau, a probability,", tau, 0, 1)
        answers = evaluation.events.answers_above(float(from_probability(tau, evaluation.scale)))
        return cls.from_answers(
            evaluation.hierarchy,
            answers,
            evaluation.labels,
            below_label=evaluation.settings.below_label,
            max_depth=max_depth,
        )

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Self:
        """Draw into one set of axes, and return the display; see `ax_` and `figure_`.

        Names of leaves are shortened if they are very long, and left out if they would overlap; so is each
        inner name that is longer than its branch.

        Parameters
        ----------
        ax
            Where to draw; by default, in a new pyplot figure as wide as one column of a paper.
        legend
            Whether to explain colours and dots.
        """
        if ax is None:
            from matplotlib import pyplot as plt

            height = min(_TALLEST, _ROW * len(self.hierarchy.leaves) + (1.0 if legend else 0.2))
            ax = plt.subplots(figsize=(_WIDTH, max(2.0, height)), layout="constrained")[1]
        places = _places(self.hierarchy)
        there = self.examples > 0
        share = self.right / np.maximum(self.examples, 1)
        lowest = float(height_ticks(float(share[there].min(initial=0.99)))[0])
        colour = ScalarMappable(Normalize(lowest, 1), _COLOURS)
        colours = [colour.to_rgba(each) if some else _NO_EXAMPLES for each, some in zip(share, there, strict=True)]
        _set_up(ax, self.hierarchy)
        _draw_branches(ax, self.hierarchy, places, colours)
        self._draw_dots(ax, places, colours, legend=legend)
        if legend:
            bar = ax.figure.colorbar(colour, ax=ax, location="bottom", aspect=40, pad=0.01, fraction=0.03)
            bar.set_label("Share that is right", fontsize="small")
            bar.ax.tick_params(labelsize="x-small")
        _write_names(ax, self.hierarchy, places)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_dots(self, ax: Axes, places: NDArray[np.float64], colours: list[Any], *, legend: bool) -> None:
        """Draw a dot where answers stop, and the size of a round number of them into the legend."""
        there = np.flatnonzero(self.stops)
        area = _LARGEST_DOT**2 / max(1, int(self.stops.max()))
        ax.scatter(
            places[there, 0],
            places[there, 1],
            s=self.stops[there] * area,
            c=[colours[node] for node in there],
            edgecolors="white",
            linewidths=0.4,
            zorder=3,
            clip_on=False,
        )
        if legend and len(there):
            number = _round_number(int(self.stops.max()))
            size = float(np.sqrt(number * area))
            label = f"{counted(number, 'answer stops', 'answers stop')} here"
            dot = Line2D([], [], linestyle="", marker="o", color="0.35", markersize=size, label=label)
            place: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0}
            ax.legend(handles=[dot], fontsize="x-small", frameon=False, **place)


def _places(hierarchy: Hierarchy) -> NDArray[np.float64]:
    """Return x and y of each node: the root on the left, leaves on the right in rows, parents between children."""
    x = np.where(hierarchy.is_leaf, hierarchy.depth.max(), hierarchy.depth)
    y = hierarchy.leaves_before[:-1].astype(np.float64)
    for node in np.flatnonzero(~hierarchy.is_leaf)[::-1]:  # children come after their parents
        children = hierarchy.children(node)
        y[node] = (y[children[0]] + y[children[-1]]) / 2
    return np.column_stack([x, y])


def _below(hierarchy: Hierarchy, nodes: NDArray[np.int64], weights: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sum of the weights at and below each node; descendants follow their node."""
    sums = np.append(0, np.cumsum(np.bincount(nodes, weights, minlength=len(hierarchy))))
    return np.asarray((sums[hierarchy.end] - sums[:-1]).round(), dtype=np.int64)


def _round_number(largest: int) -> int:
    """Return the largest of 1, 2, 5, 10, 20, ... that is not above a number.

    >>> [_round_number(number) for number in (1, 4, 73, 200)]
    [1, 2, 50, 200]
    """
    power = 10 ** (len(str(largest)) - 1)
    return int(max(step * power for step in (1, 2, 5) if step * power <= largest))


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"


def _set_up(ax: Axes, hierarchy: Hierarchy) -> None:
    ax.set_axis_off()
    ax.set_xlim(-0.15, float(hierarchy.depth.max()))
    ax.set_ylim(len(hierarchy.leaves) - 0.4, -0.6)  # the first leaf on top


def _draw_branches(ax: Axes, hierarchy: Hierarchy, places: NDArray[np.float64], colours: list[Any]) -> None:
    """Draw the branch to each node in its colour, and the line along which its children branch off."""
    x, y = places.T
    lines = []
    for node, parent in enumerate(hierarchy.parent):
        if parent >= 0:
            lines.append(([(x[parent], y[node]), (x[node], y[node])], colours[node]))
        if not hierarchy.is_leaf[node]:
            children = hierarchy.children(node)
            lines.append(([(x[node], y[children[0]]), (x[node], y[children[-1]])], colours[node]))
    drawn = LineCollection([line for line, _ in lines], colors=[colour for _, colour in lines], linewidths=1.6)
    drawn.set_capstyle("round")
    ax.add_collection(drawn, autolim=False)


def _write_names(ax: Axes, hierarchy: Hierarchy, places: NDArray[np.float64]) -> None:
    """Write names of leaves next to them, and other names above their branches, where they fit."""
    names = [literal(_shortened(hierarchy.display_name(node))) for node in range(len(hierarchy))]
    row = ax.get_window_extent().height / ax.figure.dpi * 72 / len(hierarchy.leaves)
    if row < _LEAF_NAME:
        return
    beside: Any = {"textcoords": "offset points", "fontsize": _LEAF_NAME, "va": "center"}
    for leaf in hierarchy.leaves:
        ax.annotate(names[leaf], places[leaf], (5, -0.5), annotation_clip=False, **beside)
    figure = ax.get_figure(root=True)
    if figure is not None:
        figure.draw_without_rendering()  # only now is it known how long the branches are
    column = ax.transData.transform([[1, 0], [0, 0]])[:, 0]
    width = (column[0] - column[1]) / ax.figure.dpi * 72 - _LARGEST_DOT
    above: Any = {"textcoords": "offset points", "fontsize": _INNER_NAME, "va": "bottom"}
    for node in np.flatnonzero(~hierarchy.is_leaf)[1:]:
        if TextPath((0, 0), names[node], size=_INNER_NAME).get_extents().width <= width:
            start = places[hierarchy.parent[node], 0], places[node, 1]
            ax.annotate(names[node], start, (_LARGEST_DOT / 2 + 1, 1), **above)  # beside the dot of its parent
