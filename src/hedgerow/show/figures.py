"""Figures of operating curves, drawn with matplotlib."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from hedgerow.errors import ParameterError
from hedgerow.files import atomic_write
from hedgerow.measure import operating_curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.typing import FillStyleType
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.measure import Evaluation, OperatingCurve
    from hedgerow.tree import Hierarchy

Kind = Literal["precision-recall", "correct-exact", "correct-recall"]

KINDS: dict[Kind, tuple[str, str]] = {
    "precision-recall": ("recall", "precision"),
    "correct-exact": ("exact", "correct"),
    "correct-recall": ("recall", "correct"),
}
"""The metrics on the two axes of each kind of plot: along, up."""

COLOURS = (
    *("#3f90da", "#bd1f01", "#ffa90e", "#832db6", "#000000"),
    *("#a96b59", "#e76300", "#717581", "#b9ac70", "#92dadd"),
)
"""Ten colours that stay apart for colour-blind readers (after Petroff, 2021)."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
"""One shape per system, so that colour is never the only difference."""

FILLS: dict[str, FillStyleType] = {
    "leaf": "full",
    "majority": "none",
    "plurality": "left",
    "expected_information": "bottom",
}
"""How the marker of each rule is filled."""

_HALF = {"probability": 0.5, "log": math.log(0.5), "logit": 0.0}
_GRID = 4096  # cells per unit of either axis: points of a line that share a cell are drawn as one
_DASHED_STEP = 0.01  # of the height or width: along a dashed line smaller steps are smoothed, or dashes are lost
_BAND_POINTS = 400
_DASHES = (1.2, (2.4, 1.3))  # out of phase, so that a whole dash shows beside a marker where the dashes begin
_TICK_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
_TICKS = 7
_AXIS_NAMES = {
    "recall": "Recall",
    "precision": "Precision",
    "correct": "Correct",
    "exact": "Exactly correct",
}


@final
@dataclass(frozen=True, eq=False)
class System:
    """One line of a figure: the curves of a system, one per seed, and the points of its rules."""

    name: str
    curves: tuple[OperatingCurve, ...]
    rules: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Rule -> metric -> mean over examples and seeds."""

    def __post_init__(self) -> None:
        if not self.curves:
            raise ParameterError(f"{self.name!r} has no curve to draw.")
        if len({curve.scale for curve in self.curves}) > 1:
            raise ParameterError(f"The curves of {self.name!r} must have thresholds on one scale.")

    @property
    def half(self) -> float:
        """The threshold 0.5, on the scale of the curves."""
        return _HALF[self.curves[0].scale]

    def line(self, along: str, up: str) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """Return the points to draw, and the number of the last one whose threshold is 0.5 or more.

        Of several curves, the mean at common thresholds.
        """
        if len(self.curves) > 1:
            (x, _), (y, _), tau = self._spread(along, up)
            return x, y, int(np.searchsorted(-tau, -self.half))
        curve = self.curves[0]
        last = curve.index(self.half)
        x, y = curve.values[along], curve.values[up]
        kept = _thinned(x, y, last)
        return x[kept], y[kept], int(np.searchsorted(kept, last))

    def band(self, along: str, up: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the outline of two standard deviations to either side, on both axes; None for one curve.

        A curve falls as it goes along, so the boxes of two standard deviations around its points fill the room
        between their lower left and their upper right corners.
        """
        if len(self.curves) == 1:
            return None
        (x, dx), (y, dy), _ = self._spread(along, up)
        outline = (
            np.concatenate([x - 2 * dx, (x + 2 * dx)[::-1]]),
            np.concatenate([y - 2 * dy, (y + 2 * dy)[::-1]]),
        )
        return np.clip(outline[0], 0, 1), np.clip(outline[1], 0, 1)

    def extent(self, along: str, up: str, rules: Sequence[str]) -> tuple[float, float]:
        """Return how far along, and how low, anything of this system is drawn."""
        outline = self.band(along, up) or tuple(self.curves[0].values[name] for name in (along, up))
        points = [self.rules[rule] for rule in rules if rule in self.rules]
        return (
            max([float(outline[0].max()), *(point[along] for point in points)]),
            min([float(outline[1].min()), *(point[up] for point in points)]),
        )

    def _spread(
        self, along: str, up: str
    ) -> tuple[tuple[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]], NDArray[Any]]:
        """Return mean and standard deviation of either metric at common thresholds, and these, descending."""
        every = np.unique(np.concatenate([curve.threshold for curve in self.curves]))
        place = np.unique(np.linspace(0, len(every) - 1, min(len(every), _BAND_POINTS)).round().astype(np.int64))
        tau = np.unique(np.append(every[place], self.half))[::-1]
        at = [np.searchsorted(-curve.threshold, -tau) for curve in self.curves]
        x, y = (
            np.stack([curve.values[name][index] for curve, index in zip(self.curves, at, strict=True)])
            for name in (along, up)
        )
        return (x.mean(axis=0), x.std(axis=0, ddof=1)), (y.mean(axis=0), y.std(axis=0, ddof=1)), tau


@final
class OperatingCurveDisplay:
    """Operating curves of one or more systems, ready to be drawn.

    Lines are exact steps: between two points the height is that of the more specific one, as the integrals count
    it. They are dashed where the threshold is below 0.5. Markers show what single rules achieve: the shape tells
    the system, the filling the rule. Several curves of one system, such as seeds, are drawn as their mean with two
    standard deviations to either side.

    Parameters
    ----------
    systems
        What to draw.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.show.figures import OperatingCurveDisplay
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.9, 0.2, 0.7, 0.1]]
    >>> display = OperatingCurveDisplay.from_predictions(h, q, ["cat", "cat"], name="my model")
    >>> figure = display.figure(["precision-recall"])
    >>> [line.get_label() for line in figure.axes[0].lines][:1]
    ['my model']
    """

    def __init__(self, systems: Sequence[System]) -> None:
        if not systems:
            raise ParameterError("There is nothing to draw: give one system or more.")
        self.systems = tuple(systems)

    @classmethod
    def from_curves(
        cls,
        curves: Mapping[str, OperatingCurve | Sequence[OperatingCurve]] | OperatingCurve,
        *,
        rules: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
    ) -> OperatingCurveDisplay:
        """Draw curves: one, or name -> one, or name -> several (seeds).

        `rules` gives the points to mark: name -> rule -> metric -> value.
        """
        named = curves if not hasattr(curves, "threshold") else {"": curves}
        assert not hasattr(named, "threshold")  # noqa: S101  (narrows the type)
        given = rules or {}
        return cls(
            [
                System(name, (one,) if hasattr(one, "threshold") else tuple(one), given.get(name, {}))  # type: ignore[arg-type]
                for name, one in named.items()
            ]
        )

    @classmethod
    def from_predictions(
        cls, hierarchy: Hierarchy, q: Any, labels: ArrayLike, *, name: str = "", **options: Any
    ) -> OperatingCurveDisplay:
        """Draw the curve of likelihoods [examples, nodes] and labels; `options` are those of `CurveBuilder`."""
        return cls([System(name, (operating_curve(hierarchy, q, labels, **options),))])

    @classmethod
    def from_evaluations(
        cls, evaluations: Sequence[Evaluation] | Mapping[str, Evaluation | Sequence[Evaluation]]
    ) -> OperatingCurveDisplay:
        """Draw evaluations under their names, or name -> one, or name -> several (seeds)."""
        if not hasattr(evaluations, "items"):
            return cls([System(e.name, (e.curve,), e.rules) for e in evaluations])
        systems = []
        for name, given in evaluations.items():
            several = (given,) if hasattr(given, "curve") else tuple(given)
            rules = {
                rule: {metric: float(np.mean([e.rules[rule][metric] for e in several])) for metric in values}
                for rule, values in several[0].rules.items()
            }
            systems.append(System(name, tuple(e.curve for e in several), rules))
        return cls(systems)

    def plot(
        self,
        kind: Kind = "precision-recall",
        ax: Axes | None = None,
        *,
        rules: Sequence[str] = tuple(FILLS),
        legend: bool = True,
    ) -> Axes:
        """Draw into one set of axes.

        Parameters
        ----------
        kind
            "precision-recall", "correct-exact" or "correct-recall".
        ax
            Where to draw; by default in a new figure of pyplot.
        rules
            The rules to mark, of those that the systems know.
        legend
            Whether to explain colours, shapes and fillings.
        """
        if kind not in KINDS:
            raise ParameterError(f"kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}.")
        own = ax is None
        if ax is None:
            from matplotlib import pyplot as plt

            ax = plt.subplots(figsize=(6.6 if legend else 4.8, 4.2), layout="constrained")[1]
        along, up = KINDS[kind]
        self._dress(ax, along, up, rules)
        for number, system in enumerate(self.systems):
            self._draw(ax, system, _Look.of(number), along, up, rules)
        if legend:
            names, marks = self._legend_entries(rules)
            place: Any = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)} if own else {"loc": "best"}
            ax.legend(handles=[*names, *marks], fontsize="small", framealpha=0.85, edgecolor="none", **place)
        return ax

    def figure(
        self,
        kinds: Sequence[Kind] = tuple(KINDS),
        *,
        rules: Sequence[str] = tuple(FILLS),
        title: str | None = None,
    ) -> Figure:
        """Return a figure with one panel per kind and a common legend below."""
        names, marks = self._legend_entries(rules)
        entries = [*names, *marks]
        width = 0.4 + 3.6 * len(kinds)
        widths = [0.6 + 0.075 * len(str(entry.get_label())) for entry in entries]  # inches, roughly
        columns = len(entries) if sum(widths) <= width else max(1, int(width / max(widths)))
        rows = math.ceil(len(entries) / columns)
        figure = Figure(figsize=(width, 3.3 + 0.2 * rows), layout=ConstrainedLayoutEngine(wspace=0.04))
        for kind, ax in zip(kinds, np.ravel(figure.subplots(1, len(kinds))), strict=True):
            self.plot(kind, ax, rules=rules, legend=False)
        figure.legend(handles=entries, loc="outside lower center", ncols=columns, fontsize="small", frameon=False)
        if title is not None:
            figure.suptitle(title, fontsize="medium")
        return figure

    def save(self, path: str | PathLike[str], kinds: Sequence[Kind] = tuple(KINDS), **options: Any) -> None:
        """Write the figure as PNG, PDF or SVG, by extension, whole or not at all; `options` as for `figure`."""
        save_figure(self.figure(kinds, **options), path)

    @staticmethod
    def _draw(ax: Axes, system: System, look: _Look, along: str, up: str, rules: Sequence[str]) -> None:
        outline = system.band(along, up)
        if outline is not None:
            ax.fill(*outline, color=look.colour, alpha=0.18, linewidth=0, zorder=1.5)
        x, y, half = system.line(along, up)
        step: Any = {"drawstyle": "steps-pre"} if outline is None else {}
        style: Any = {"color": look.colour, "linewidth": 1.4, "zorder": 2}
        ax.plot(x[: half + 1], y[: half + 1], label=system.name, **style, **step)
        x, y = x[half:], y[half:]
        spaced = _spaced(x / np.ptp(ax.get_xlim()), y / np.ptp(ax.get_ylim()))
        if len(spaced) < len(x):
            x, y, step = x[spaced], y[spaced], {}
        ax.plot(x, y, linestyle=_DASHES, **style, **step)
        for rule in rules:
            if rule in system.rules:
                point = system.rules[rule]
                marker = look.marker(FILLS[rule])
                ax.plot(point[along], point[up], linestyle="", **marker, zorder=3, clip_on=False)

    def _dress(self, ax: Axes, along: str, up: str, rules: Sequence[str]) -> None:
        """Set up the axes: up from the round number below all that is drawn, which bears a tick of its own."""
        extents = [system.extent(along, up, rules) for system in self.systems]
        farthest, lowest = max(far for far, _ in extents), min(low for _, low in extents) - 0.02
        step = next((step for step in _TICK_STEPS if 1 - lowest <= _TICKS * step), _TICK_STEPS[-1])
        first = max(0, math.floor(lowest / step))
        ax.set_yticks(np.arange(first, round(1 / step) + 1) * step)
        ax.set_xlim(0, 1.0 if farthest > 0.7 else math.ceil((farthest + 0.02) * 10) / 10)
        ax.set_ylim(first * step, 1 + 0.02 * (1 - first * step))
        ax.set_xlabel(_AXIS_NAMES[along])
        ax.set_ylabel(_AXIS_NAMES[up])
        ax.grid(color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)

    def _legend_entries(self, rules: Sequence[str]) -> tuple[list[Line2D], list[Line2D]]:
        marked = [rule for rule in rules if any(rule in system.rules for system in self.systems)]
        systems = [
            Line2D([], [], color=look.colour, linewidth=1.6, label=system.name, **(look.shape() if marked else {}))
            for system, look in ((s, _Look.of(i)) for i, s in enumerate(self.systems))
            if system.name
        ]
        grey = _Look("0.35", "o")
        marks = [
            Line2D([], [], linestyle="", label=rule.replace("_", " "), **grey.marker(FILLS[rule]))
            for rule in marked
        ]
        marks.append(Line2D([], [], color="0.35", linestyle=_DASHES, linewidth=1.4, label="threshold < 0.5"))
        return systems, marks


@final
@dataclass(frozen=True)
class _Look:
    """Colour and shape of one system."""

    colour: str
    symbol: str

    @staticmethod
    def of(number: int) -> _Look:
        """Return the look of a system; after ten, shapes shift against colours, so that looks stay distinct."""
        around, place = divmod(number, len(COLOURS))
        return _Look(COLOURS[place], MARKERS[(place + around) % len(MARKERS)])

    def shape(self) -> dict[str, Any]:
        """Return the keywords of the marker in a legend."""
        return {"marker": self.symbol, "markersize": 5, "markeredgewidth": 1}

    def marker(self, fill: FillStyleType) -> dict[str, Any]:
        """Return the keywords of the marker of a rule."""
        hollow = fill == "none"
        return {
            "marker": self.symbol,
            "color": "white" if hollow else self.colour,
            "fillstyle": "full" if hollow else fill,
            "markerfacecoloralt": "white",
            "markeredgecolor": self.colour,
            "markersize": 6,
            "markeredgewidth": 1,
        }


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG, by extension, whole or not at all; always the same bytes."""
    suffix = PurePath(path).suffix.lower().removeprefix(".")
    undated: dict[str, Any] = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    if suffix not in undated:
        raise ParameterError(f"Figures are written as .png, .pdf or .svg, not as {'.' + suffix!r}.")
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "hedgerow"}), atomic_write(path, "wb") as file:
        figure.savefig(file, format=suffix, dpi=200, metadata=undated[suffix])


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64], keep: int) -> NDArray[np.int64]:
    """Return the points to draw: of consecutive points that nobody could tell apart, the last."""
    cell_x, cell_y = (np.floor(values * _GRID).astype(np.int64) for values in (x, y))
    moves = (np.diff(cell_x) != 0) | (np.diff(cell_y) != 0)
    kept = np.append(moves, True)
    kept[[0, keep]] = True
    return np.flatnonzero(kept)


def _spaced(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[int]:
    """Return points at least one visible step apart, with the first and the last."""
    kept = [0]
    for i in range(1, len(x)):
        last = kept[-1]
        if max(abs(x[i] - x[last]), abs(y[i] - y[last])) >= _DASHED_STEP or i == len(x) - 1:
            kept.append(i)
    return kept
