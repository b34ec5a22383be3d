"""The evidence of a monitor over time."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from hedgerow.show.figures.style import COLOURS, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.choose import Monitor, Test

_SMALLEST = 1e-3
_HIGHEST = 1e4  # times what an alarm needs


def monitor_figure(monitor: Monitor) -> Figure:
    """Return a figure of the evidence against a promise: with labels on the left, without on the right.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.show.figures import monitor_figure
    >>> h = hr.Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    >>> point = hr.select(h, [[1, 0.9, 0.1]] * 40, ["cat"] * 39 + ["dog"], target=("correct", 0.9))
    >>> monitor = hr.Monitor(point)
    >>> monitor.update([[1, 0.9, 0.1]] * 20, ["cat"] * 20)
    >>> [ax.get_title() for ax in monitor_figure(monitor).axes]
    ['With labels']
    """
    panels = {
        "With labels": [test for test in monitor.promise if test.units],
        "Without labels": [monitor.shift] if monitor.shift.units else [],
    }
    shown = {title: tests for title, tests in panels.items() if tests}
    figure = Figure(figsize=(3.3 * max(1, len(shown)), 2.6), layout="constrained")
    for place, (title, tests) in enumerate(shown.items()):
        ax = figure.add_subplot(1, len(shown), place + 1)
        ax.set_title(title, fontsize="small")
        _draw(ax, monitor, tests)
    return figure


def _draw(ax: Axes, monitor: Monitor, tests: list[Test]) -> None:
    goal = 1 / monitor.delta
    for test, colour in zip(tests, cycle(COLOURS), strict=False):
        counts, evidence = zip((0, 1.0), *test.path, strict=True)
        name = literal(test.name) if test.name else None
        ax.plot(counts, [max(each, _SMALLEST) for each in evidence], color=colour, label=name)
    ax.axhline(goal, color="black", linewidth=1, linestyle="--")
    ax.annotate("alarm", (0, goal), (2, 2), textcoords="offset points", fontsize="x-small")
    ax.set_yscale("log")
    ax.set_ylim(top=min(ax.get_ylim()[1], _HIGHEST * goal))  # or nothing could be seen of what was before an alarm
    ax.set_xlabel("examples", fontsize="small")
    ax.set_ylabel("evidence", fontsize="small")
    ax.tick_params(labelsize="small")
    if any(test.name for test in tests):
        ax.legend(fontsize="x-small", frameon=False)
