"""Operating curves of one or more systems, drawn with matplotlib."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.measure import Evaluation, OperatingCurve, evaluate
from hedgerow.show.figures.files import save_figure
from hedgerow.show.figures.style import COLOURS, MARKERS, literal
from hedgerow.show.lines import AXIS_NAMES, DEFAULT_RULES, KINDS, CurveKind, System, height_ticks, hidden_levels

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from matplotlib.typing import FillStyleType
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.measure import BelowLabel
    from hedgerow.show.lines import Line
    from hedgerow.tree import Hierarchy, InformationKind

THRESHOLDS = (0.5, 0.9, 0.99)
"""The thresholds marked on one or two lines; on more lines, the marks would hide each other."""


@final
@dataclass(frozen=True)
class RuleStyle:
    """How the points of a rule are marked."""

    label: str
    fill: FillStyleType = "full"
    symbol: str | None = None
    """The shape of the marker; None for the shape of the system."""
    in_view: bool = True
    """Whether the axes reach down to its points; if not, those below the axes are listed in the corner."""


RULE_STYLES = {
    "leaf": RuleStyle("leaf"),
    "majority": RuleStyle("majority", "none"),
    "plurality": RuleStyle("plurality", "left"),
    "expected_information": RuleStyle("expected information", "bottom"),
    # Far below all curves if a method's likelihoods do not sum to 1.
    "crm": RuleStyle("CRM over leaves", symbol="*", in_view=False),
}
"""The rules that can be marked. The shape shows the system, the fill shows the rule."""

_GREY = "0.35"
_WIDTH = 1.4  # of a line
_WIDER, _WIDEST = 1.8, 7.0  # how much wider a hidden line is than the one on top of it, and the limit for many
_DASH_START, _DASHES = 1.2, (2.4, 1.3)  # out of phase, so that a whole dash shows next to a marker at the start
_DASHED_STEP = 0.01  # of the height or width: smaller steps of a dashed line are smoothed, or dashes would be lost
_LABEL_ROOM = (0.1, 0.05)  # of the width and height: labels that are closer would overlap
_PANEL_WIDTH, _PANEL_HEIGHT = 3.7, 3.1  # inches


@final
class OperatingCurveDisplay:
    """Operating curves of one or more systems, ready to be drawn.

    Lines are exact steps: between two points, the height is that of the more specific one, as in the integrals.
    They are dashed where the threshold is below 0.5. A line hidden by others is drawn wider, so that it shows on
    both sides. Markers show what single rules achieve: the shape shows the system, the fill shows the rule.
    Several curves of one system, such as seeds, are drawn as their mean with two standard deviations to either
    side.

    The `from_` methods only collect what to draw; `plot`, `figure` and `save` draw it.

    Parameters
    ----------
    systems
        What to draw.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of the last call of `plot`.

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

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, systems: Sequence[System]) -> None:
        if not systems:
            raise ParameterError("There is nothing to draw: give at least one system.")
        self.systems = tuple(systems)

    def __repr__(self) -> str:
        return f"OperatingCurveDisplay({', '.join(repr(system.name) for system in self.systems)})"

    @classmethod
    def from_curves(
        cls,
        curves: Mapping[str, OperatingCurve | Sequence[OperatingCurve]] | OperatingCurve,
        *,
        rules: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
    ) -> OperatingCurveDisplay:
        """Show curves: one, or name -> one, or name -> several (seeds).

        `rules` gives the points to mark: name -> rule -> metric -> value.
        """
        named = {"": curves} if isinstance(curves, OperatingCurve) else curves
        points = rules or {}
        return cls(
            [
                System(name, (one,) if isinstance(one, OperatingCurve) else tuple(one), points.get(name, {}))
                for name, one in named.items()
            ]
        )

    @classmethod
    def from_evaluations(
        cls, evaluations: Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation | Sequence[Evaluation]]
    ) -> OperatingCurveDisplay:
        """Show evaluations: one or several, with their own names, or name -> one, or name -> several (seeds)."""
        if isinstance(evaluations, Evaluation):
            evaluations = [evaluations]
        if not isinstance(evaluations, Mapping):
            return cls([System(e.name, (e.curve,), e.rules) for e in evaluations])
        several = {
            name: [given] if isinstance(given, Evaluation) else list(given) for name, given in evaluations.items()
        }
        return cls(
            [System.of_seeds(name, [e.curve for e in es], [e.rules for e in es]) for name, es in several.items()]
        )

    @classmethod
    def from_predictions(
        cls,
        hierarchy: Hierarchy,
        q: Any,
        labels: ArrayLike,
        *,
        name: str = "",
        information: InformationKind | ArrayLike = "leaves",
        below_label: BelowLabel = "label",
        scale: Scale = "probability",
    ) -> OperatingCurveDisplay:
        """Show likelihoods: their curve, and the points of single rules.

        Parameters
        ----------
        hierarchy
            The tree.
        q
            [examples, nodes] likelihoods, an array or a tensor.
        labels
            Names or indices of nodes, one per example.
        name
            The name of the system in the legend.
        information, below_label, scale
            See `hedgerow.measure.evaluate`.
        """
        options: Any = {"information": information, "below_label": below_label, "scale": scale}
        return cls.from_evaluations(evaluate(hierarchy, q, labels, name=name, **options))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803  (scikit-learn's name)
        y: ArrayLike,
        *,
        name: str | None = None,
        information: InformationKind | ArrayLike = "leaves",
        below_label: BelowLabel = "label",
    ) -> OperatingCurveDisplay:
        """Show a fitted classifier: its curve on examples, and the points of single rules.

        Parameters
        ----------
        estimator
            A fitted `HedgedClassifier`, or anything with its `hierarchy_`, `classes_` and `predict_likelihood`.
        X
            Features, as the estimator takes them.
        y
            The labels: classes of the estimator, or names of nodes at any depth.
        name
            Its name in the legend; by default, the name of its class.
        information, below_label
            See `hedgerow.measure.evaluate`.
        """
        missing = [a for a in ("hierarchy_", "classes_", "predict_likelihood") if not hasattr(estimator, a)]
        if missing:
            raise ParameterError(
                f"{type(estimator).__name__} has no {missing[0]}. Give a fitted HedgedClassifier (for a Pipeline, "
                "its last step, with features transformed by the other steps), or pass likelihoods to "
                "from_predictions."
            )
        scale = _ranking_scale(estimator)
        q = estimator.predict_likelihood(X) if scale is None else estimator.predict_likelihood(X, scale=scale)
        return cls.from_predictions(
            estimator.hierarchy_,
            q,
            _nodes(estimator, y),
            name=type(estimator).__name__ if name is None else name,
            information=information,
            below_label=below_label,
            scale=scale or "probability",
        )

    def plot(
        self,
        kind: CurveKind = "precision-recall",
        ax: Axes | None = None,
        *,
        rules: Sequence[str] = DEFAULT_RULES,
        thresholds: Sequence[float] | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw into one set of axes, and return the display; see `ax_` and `figure_`.

        Parameters
        ----------
        kind
            "precision-recall", "correct-exact" or "correct-recall".
        ax
            Where to draw; by default, in a new pyplot figure.
        rules
            The rules to mark, if the systems have them: see `RULE_STYLES`.
        thresholds
            The thresholds to mark on every line, as probabilities; those without room for a label are left out.
            By default, 0.5, 0.9 and 0.99 if there are at most two systems.
        legend
            Whether to explain colours, shapes and fills.
        """
        style = _Style(self.systems, rules, thresholds)
        own = ax is None
        if ax is None:
            from matplotlib import pyplot as plt

            ax = plt.subplots(figsize=(6.6 if legend else 4.8, 4.2), layout="constrained")[1]
        _draw(ax, kind, style)
        if legend:
            place: Any = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)} if own else {"loc": "best"}
            entries = [*style.name_entries(), *style.key_entries()]
            ax.legend(handles=entries, fontsize="small", framealpha=0.85, edgecolor="none", **place)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def figure(
        self,
        kinds: Sequence[CurveKind] = tuple(KINDS),
        *,
        rules: Sequence[str] = DEFAULT_RULES,
        thresholds: Sequence[float] | None = None,
        title: str | None = None,
    ) -> Figure:
        """Return a figure with one panel per kind and a common legend below; see `plot` for the other options."""
        panels = [Panel(self, kind) for kind in kinds]
        return panel_figure(panels, columns=len(panels), rules=rules, thresholds=thresholds, title=title)

    def save(
        self,
        path: str | PathLike[str],
        kinds: Sequence[CurveKind] = tuple(KINDS),
        *,
        rules: Sequence[str] = DEFAULT_RULES,
        thresholds: Sequence[float] | None = None,
        title: str | None = None,
    ) -> None:
        """Write the figure as PNG, PDF or SVG, depending on the extension, whole or not at all; see `figure`."""
        save_figure(self.figure(kinds, rules=rules, thresholds=thresholds, title=title), path)


@final
@dataclass(frozen=True)
class Panel:
    """One set of axes of a figure."""

    display: OperatingCurveDisplay
    kind: CurveKind
    title: str = ""


def panel_figure(
    panels: Sequence[Panel],
    *,
    columns: int = 3,
    rules: Sequence[str] = DEFAULT_RULES,
    thresholds: Sequence[float] | None = None,
    title: str | None = None,
) -> Figure:
    """Return a figure of several panels with a legend below; if names differ by panel, each panel lists its own.

    Parameters
    ----------
    panels
        What to draw, row by row.
    columns
        The largest number of panels in a row.
    rules, thresholds
        What to mark: see `OperatingCurveDisplay.plot`.
    title
        What to write above all panels.
    """
    if not panels:
        raise ParameterError("There is nothing to draw: give at least one kind or panel.")
    styles = [_Style(panel.display.systems, rules, thresholds) for panel in panels]
    common = len({style.names for style in styles}) == 1
    across = min(columns, len(panels))
    down = math.ceil(len(panels) / across)
    width = 0.4 + _PANEL_WIDTH * across
    # The legend explains every mark, even if it appears in only one panel.
    key = {str(entry.get_label()): entry for style in styles for entry in style.key_entries()}
    entries = [*(styles[0].name_entries() if common else []), *key.values()]
    widths = [0.55 + 0.068 * len(str(entry.get_label())) for entry in entries]  # inches, roughly
    in_row = len(entries) if sum(widths) <= width else max(1, int(width / max(widths)))
    height = _PANEL_HEIGHT * down + 0.2 * math.ceil(len(entries) / in_row) + 0.2
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(wspace=0.04, hspace=0.04))
    axes: list[Axes] = list(np.ravel(figure.subplots(down, across)))
    for ax, panel, style in zip(axes, panels, styles, strict=False):
        _draw(ax, panel.kind, style)
        ax.set_title(literal(panel.title), fontsize="medium")
        if not common:
            names = style.name_entries()
            ax.legend(handles=names, fontsize="x-small", framealpha=0.85, edgecolor="none", loc="best")
    for ax in axes[len(panels) :]:
        ax.remove()
    figure.legend(handles=entries, loc="outside lower center", ncols=in_row, fontsize="small", frameon=False)
    if title is not None:
        figure.suptitle(title, fontsize="medium")
    return figure


@final
@dataclass(frozen=True)
class _Look:
    """Colour and shape of one system."""

    colour: str
    symbol: str

    @staticmethod
    def of(number: int) -> _Look:
        """Return the look of a system; after ten systems, shapes shift against colours, so looks stay distinct."""
        around, place = divmod(number, len(COLOURS))
        return _Look(COLOURS[place], MARKERS[(place + around) % len(MARKERS)])

    def marker(self, rule: RuleStyle, size: float) -> dict[str, Any]:
        """Return the matplotlib keywords for the marker of a rule."""
        if rule.symbol is not None:
            star = {"marker": rule.symbol, "markersize": size + 2}
            return {"color": self.colour, "markeredgecolor": "white", "markeredgewidth": 0.6, **star}
        hollow = rule.fill == "none"
        return {
            "marker": self.symbol,
            "color": "white" if hollow else self.colour,
            "fillstyle": "full" if hollow else rule.fill,
            "markerfacecoloralt": "white",
            "markeredgecolor": self.colour,
            "markersize": size,
            "markeredgewidth": 1,
        }


@final
class _Style:
    """What is marked in a panel, and its legend."""

    def __init__(
        self, systems: Sequence[System], rules: Sequence[str], thresholds: Sequence[float] | None
    ) -> None:
        for rule in rules:
            if rule not in RULE_STYLES:
                known = ", ".join(map(repr, RULE_STYLES))
                raise ParameterError(f"The rule {rule!r} cannot be marked; choose from {known}.")
        if thresholds is None:
            thresholds = THRESHOLDS if len(systems) <= 2 else ()
        for tau in thresholds:
            if not 0 < tau < 1:
                raise ParameterError(f"thresholds must lie between 0 and 1, as probabilities; got {tau!r}.")
        self.systems = systems
        self.thresholds = tuple(thresholds)
        self.rules = [rule for rule in rules if any(rule in system.rules for system in systems)]
        self.looks = [_Look.of(number) for number in range(len(systems))]
        self.marker_size = 6.0 if len(self.rules) <= len(DEFAULT_RULES) else 4.8

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(system.name for system in self.systems)

    @property
    def rules_in_view(self) -> list[str]:
        """The rules whose points the axes must include."""
        return [rule for rule in self.rules if RULE_STYLES[rule].in_view]

    def name_entries(self) -> list[Line2D]:
        """Return the legend entries of the systems that have names."""
        return [
            Line2D(
                [],
                [],
                color=look.colour,
                linewidth=1.6,
                label=literal(name),
                marker=look.symbol if self.rules else None,
                markersize=5,
                markeredgewidth=1,
            )
            for name, look in zip(self.names, self.looks, strict=True)
            if name
        ]

    def key_entries(self) -> list[Line2D]:
        """Return the legend entries for markers and dashes."""
        grey = _Look(_GREY, "o")
        entries = [
            Line2D([], [], linestyle="", label=RULE_STYLES[rule].label, **grey.marker(RULE_STYLES[rule], 6))
            for rule in self.rules
        ]
        entries.append(
            Line2D([], [], color=_GREY, linestyle=_dashes(_WIDTH), linewidth=_WIDTH, label="threshold < 0.5")
        )
        if self.thresholds:
            entries.append(Line2D([], [], linestyle="", color=_GREY, marker="+", markersize=6, label="threshold"))
        return entries


def _draw(ax: Axes, kind: CurveKind, style: _Style) -> None:
    """Draw all systems into one set of axes."""
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}.")
    along, up = KINDS[kind]
    _set_up(ax, along, up, style)
    size = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    lines = [system.line(along, up) for system in style.systems]
    paths = [line.path() for line in lines]
    levels = hidden_levels([path.real / size[0] + 1j * path.imag / size[1] for path in paths])
    wider = min(_WIDER, (_WIDEST - _WIDTH) / max(1, *levels))
    for system, look, line, level in zip(style.systems, style.looks, lines, levels, strict=True):
        outline = system.band(along, up)
        if outline is not None:
            ax.fill(*outline, color=look.colour, alpha=0.18, linewidth=0, zorder=1.5)
        _draw_line(ax, line, system.name, look.colour, _WIDTH + wider * level, size)
        for rule in style.rules_in_view:
            if rule in system.rules:
                point = system.rules[rule]
                marker = look.marker(RULE_STYLES[rule], style.marker_size + wider * level)
                ax.plot(point[along], point[up], linestyle="", **marker, zorder=3, clip_on=False)
    _mark_thresholds(ax, along, up, style, lines)
    _mark_outliers(ax, along, up, style)


def _set_up(ax: Axes, along: str, up: str, style: _Style) -> None:
    """Set up the axes: the vertical axis starts at a tick, a round number below everything drawn."""
    extents = [system.extent(along, up, style.rules_in_view) for system in style.systems]
    farthest, lowest = max(far for far, _ in extents), min(low for _, low in extents) - 0.02
    ticks = height_ticks(lowest)
    ax.set_yticks(ticks)
    ax.set_xlim(0, 1.0 if farthest > 0.7 else math.ceil((farthest + 0.02) * 10) / 10)
    ax.set_ylim(ticks[0], 1 + 0.02 * (1 - ticks[0]))
    ax.set_xlabel(AXIS_NAMES[along])
    ax.set_ylabel(AXIS_NAMES[up])
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_line(ax: Axes, line: Line, name: str, colour: str, width: float, size: tuple[float, float]) -> None:
    """Draw a line, dashed where the threshold is below 0.5."""
    style: Any = {"color": colour, "linewidth": width, "zorder": 2}
    step: Any = {"drawstyle": "steps-pre"} if line.stepped else {}
    ax.plot(line.x[: line.half + 1], line.y[: line.half + 1], label=literal(name), **style, **step)
    x, y = line.x[line.half :], line.y[line.half :]
    spaced = _spaced(x / size[0], y / size[1])
    if len(spaced) < len(x):
        x, y, step = x[spaced], y[spaced], {}
    ax.plot(x, y, linestyle=_dashes(width), dash_capstyle="butt", **style, **step)


def _mark_thresholds(ax: Axes, along: str, up: str, style: _Style, lines: Sequence[Line]) -> None:
    """Mark thresholds on every line, with labels above the highest of several lines and below the others."""
    highest = max(range(len(lines)), key=lambda i: _mean_height(lines[i])) if len(lines) > 1 else None
    for number, (system, look) in enumerate(zip(style.systems, style.looks, strict=True)):
        points = {tau: point for tau in style.thresholds if (point := system.at(tau, along, up)) is not None}
        side = 1 if number == highest else -1
        align: Any = {"ha": "left", "va": "bottom"} if side > 0 else {"ha": "right", "va": "top"}
        for tau in _with_room(ax, points, side):
            mark: Any = {"marker": "+", "markersize": 7, "markeredgewidth": 1.2, "zorder": 2.5}
            text: Any = {"textcoords": "offset points", "fontsize": "x-small", **align}
            ax.plot(*points[tau], linestyle="", color=look.colour, **mark)
            ax.annotate(f"{tau:g}", points[tau], (4 * side, 4 * side), color=look.colour, **text)


def _with_room(ax: Axes, points: Mapping[float, tuple[float, float]], side: int) -> list[float]:
    """Return the thresholds whose labels, left (-1) or right (1), overlap neither each other nor the axes."""
    width, height = _LABEL_ROOM
    placed: dict[float, NDArray[np.float64]] = {}
    for tau, point in points.items():
        x, y = ax.transAxes.inverted().transform(ax.transData.transform(point))
        crowded = any(abs(x - a) < width and abs(y - b) < height for a, b in placed.values())
        if not crowded and x > 0 and 0 <= x + side * width <= 1:
            placed[tau] = np.array([x, y])
    return list(placed)


def _mean_height(line: Line) -> float:
    """Return the mean height of a line along the horizontal axis."""
    return float(np.trapezoid(line.y, line.x) / max(float(line.x[-1]), 1e-9))


def _mark_outliers(ax: Axes, along: str, up: str, style: _Style) -> None:
    """Mark the rules that the axes need not include; list the points that lie below the axes."""
    bottom = ax.get_ylim()[0]
    for rule in style.rules:
        mark = RULE_STYLES[rule]
        if mark.in_view:
            continue
        below = []
        for system, look in zip(style.systems, style.looks, strict=True):
            point = system.rules.get(rule)
            if point is not None and point[up] >= bottom:
                ax.plot(point[along], point[up], linestyle="", zorder=3, **look.marker(mark, style.marker_size))
            elif point is not None:
                below.append(f"{literal(system.name)}: {point[up]:.2f}")
        if below:
            text = "\n".join([f"{mark.label}, below:", *below])
            clear: Any = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1}
            ax.text(0.02, 0.02, text, transform=ax.transAxes, fontsize="x-small", bbox=clear, zorder=2.8)


def _dashes(width: float) -> tuple[float, tuple[float, ...]]:
    """Return dashes of the same length for every line width; matplotlib measures them in line widths."""
    return _DASH_START * _WIDTH / width, tuple(length * _WIDTH / width for length in _DASHES)


def _spaced(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[int]:
    """Return the indices of points at least one visible step apart, including the first and the last."""
    kept = [0]
    for i in range(1, len(x)):
        last = kept[-1]
        if max(abs(x[i] - x[last]), abs(y[i] - y[last])) >= _DASHED_STEP or i == len(x) - 1:
            kept.append(i)
    return kept


def _ranking_scale(estimator: Any) -> Scale | None:
    """Return the scale on which an estimator's method ranks best; None if it has only one scale."""
    if "scale" not in inspect.signature(estimator.predict_likelihood).parameters:
        return None
    return getattr(getattr(estimator, "method_", None), "scale", None)


def _nodes(estimator: Any, y: ArrayLike) -> NDArray[np.int64]:
    """Return the nodes of labels, which are classes of an estimator or names of nodes."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ScoreError(f"y must have one label per example, not shape {labels.shape}. Give names of nodes.")
    hierarchy = estimator.hierarchy_
    leaf = dict(zip(np.asarray(estimator.classes_).tolist(), hierarchy.leaves.tolist(), strict=True))
    return np.array([leaf[y] if y in leaf else hierarchy.index(y) for y in labels.tolist()], dtype=np.int64)
