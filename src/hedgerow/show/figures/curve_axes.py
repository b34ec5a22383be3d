"""One set of axes with operating curves: lines, marks, and the entries of the legend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from matplotlib.lines import Line2D

from hedgerow.errors import ParameterError, check_number
from hedgerow.show.curve_lines import (
    AXIS_NAMES,
    DEFAULT_RULES,
    KINDS,
    CurveKind,
    Line,
    System,
    height_ticks,
    hidden_levels,
)
from hedgerow.show.figures.style import COLOURS, MARKERS, literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.typing import FillStyleType
    from numpy.typing import NDArray


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
    "expected-information": RuleStyle("expected-information", "bottom"),
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


@final
@dataclass(frozen=True)
class _Look:
    """Colour and shape of one system."""

    colour: str
    symbol: str

    @staticmethod
    def of(number: int) -> _Look:
        """Return the look of a system; after twelve, shapes shift against colours, so looks stay distinct."""
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
class Style:
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
            check_number("A threshold, a probability,", tau, 0, 1, with_ends=False)
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


def draw(ax: Axes, kind: CurveKind, style: Style) -> None:
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


def _set_up(ax: Axes, along: str, up: str, style: Style) -> None:
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


def _mark_thresholds(ax: Axes, along: str, up: str, style: Style, lines: Sequence[Line]) -> None:
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


def _mark_outliers(ax: Axes, along: str, up: str, style: Style) -> None:
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
