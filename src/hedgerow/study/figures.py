"""Figures of a study: operating curves with bands over the seeds and the points of single rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from hedgerow.show.figures import COLOURS, FILLS, KINDS, MARKERS, OperatingCurveDisplay, System
from hedgerow.study.scoring import curve_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from hedgerow.show.figures import Kind

Results = list[dict[str, Any]]
"""Results of one system, one a seed."""

_CRM: dict[str, Any] = {"marker": "*", "markersize": 7, "markeredgewidth": 0.6, "markeredgecolor": "white"}


def system(name: str, results: Results) -> System:
    """Return a system to draw: a curve a seed, and the mean point of every rule."""
    rules = {
        rule: {metric: float(np.mean([r["rules"][rule][metric] for r in results])) for metric in point}
        for rule, point in results[0]["rules"].items()
    }
    return System(name, tuple(curve_of(result) for result in results), rules)


def curves(
    panels: Mapping[str, tuple[Kind, Mapping[str, Results]]], *, columns: int = 3, marked: bool = True
) -> Figure:
    """Draw panels: title -> (kind, system -> results); the legend is common if all hold the same systems."""
    across = min(columns, len(panels))
    down = math.ceil(len(panels) / across)
    figure = Figure(
        figsize=(0.4 + 3.8 * across, 3.3 * down + 0.9), layout=ConstrainedLayoutEngine(wspace=0.04, hspace=0.04)
    )
    axes: list[Axes] = list(np.ravel(figure.subplots(down, across)))
    common = len({tuple(systems) for _, systems in panels.values()}) == 1
    for ax, (title, (kind, systems)) in zip(axes, panels.items(), strict=False):
        _panel(ax, title, kind, systems, marked=marked, legend=not common)
    for ax in axes[len(panels) :]:
        ax.remove()
    names = list(next(iter(panels.values()))[1]) if common else []
    entries = [*(_name_entry(i, name, marked=marked) for i, name in enumerate(names)), *_key(marked=marked)]
    figure.legend(handles=entries, loc="outside lower center", ncols=2 + across, fontsize="small", frameon=False)
    return figure


def _panel(
    ax: Axes, title: str, kind: Kind, systems: Mapping[str, Results], *, marked: bool, legend: bool
) -> None:
    drawn = [system(name, results) for name, results in systems.items()]
    rules: Sequence[str] = tuple(FILLS) if marked else ()
    OperatingCurveDisplay(drawn).plot(kind, ax, rules=rules, legend=False)
    along, up = KINDS[kind]
    below = []
    for number, each in enumerate(drawn):
        if marked and "crm" in each.rules:
            point = each.rules["crm"]
            ax.plot(point[along], point[up], linestyle="", color=_look(number)[0], zorder=3, **_CRM)
            if point[up] < ax.get_ylim()[0]:
                below.append(f"{each.name}: {point[up]:.2f}")
    if below:  # room for them would squeeze all curves into the top
        ax.text(0.02, 0.02, "\n".join(["CRM below the axis", *below]), transform=ax.transAxes, fontsize="x-small")
    ax.set_title(title, fontsize="medium")
    if legend:
        entries = [_name_entry(i, each.name, marked=marked) for i, each in enumerate(drawn)]
        ax.legend(handles=entries, fontsize="x-small", framealpha=0.85, edgecolor="none", loc="best")


def _look(number: int) -> tuple[str, str]:
    """Return colour and shape of a system, as the display chooses them."""
    around, place = divmod(number, len(COLOURS))
    return COLOURS[place], MARKERS[(place + around) % len(MARKERS)]


def _name_entry(number: int, name: str, *, marked: bool) -> Line2D:
    colour, shape = _look(number)
    marker: dict[str, Any] = {"marker": shape, "markersize": 5} if marked else {}
    return Line2D([], [], color=colour, linewidth=1.6, label=name, **marker)


def _key(*, marked: bool) -> list[Line2D]:
    """Return the entries that explain fillings and dashes."""
    entries = [Line2D([], [], color="0.35", linestyle=(0, (2.4, 1.3)), linewidth=1.4, label="threshold < 0.5")]
    if not marked:
        return entries
    for rule, fill in FILLS.items():
        hollow = fill == "none"
        look: dict[str, Any] = {"markerfacecoloralt": "white", "markeredgecolor": "0.35", "markersize": 6}
        look |= {"color": "white"} if hollow else {"color": "0.35", "fillstyle": fill}
        entries.append(Line2D([], [], linestyle="", marker="o", label=rule.replace("_", " "), **look))
    entries.append(Line2D([], [], linestyle="", color="0.35", label="CRM over leaves", **_CRM))
    return entries
