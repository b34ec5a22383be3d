"""Printing monitors: what was counted, how strong the evidence is, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.errors import counted
from hedgerow.show.printed_point import promises
from hedgerow.show.terminal import print_table, print_text

if TYPE_CHECKING:
    from rich.console import Console

    from hedgerow.choose import Monitor, Test


def print_monitor(monitor: Monitor, console: Console) -> None:
    """Print what was counted, the evidence, and what to do if there is an alarm."""
    for line in promises(monitor.point):
        print_text(console, line, "bold")
    goal = 1 / monitor.delta
    unit = "cluster" if monitor.point.clusters is not None else "event" if monitor.point.pool else "answer"
    rows = [
        [
            f"the promise{_of(test)}",
            f"{test.units:,}",
            f"{100 * test.loss / test.units:.3g}",
            f"{100 * test.level:.3g}",
            _written(test.evidence, goal),
        ]
        for test in monitor.promise
        if test.units
    ]
    if monitor.shift.units:
        evidence = _written(monitor.shift.evidence, goal)
        rows.append(["the model is as sure", f"{monitor.shift.units:,}", "", "", evidence])
    head = ["test", f"{unit}s", "% loss", "% tested", f"evidence (alarm at {goal:g})"]
    print_table(console, head, rows)
    if bounds := monitor.point.request.bounds:
        name = monitor.point.request.metric_name
        print_text(console, f"Losses are shares of the range of {name}, {bounds[0]:g} to {bounds[1]:g}.")
    if monitor.point.request.guarantee == "conformal" and any(test.units for test in monitor.promise):
        print_text(
            console,
            "A conformal promise is an average over calibration sets, so a larger loss is tested, which few of "
            "them exceed.",
        )
    console.print()
    for test in monitor.promise:
        if test.evidence >= goal:
            print_text(console, f"ALARM: the promise{_of(test)} is broken.", "bold red")
    if monitor.shift.evidence >= goal:
        print_text(
            console,
            "ALARM: the model is no longer as sure of its answers as it was in calibration. The examples have "
            "changed, and the promise may be broken.",
            "bold red",
        )
    if monitor.alarm:
        print_text(
            console,
            "Next: label a random sample of new examples and choose a new point with it: hedgerow select. Then "
            "watch that point with a new state.",
        )
        return
    with_labels = sum(test.units for test in monitor.promise)
    seen = [
        f"{counted(units, unit, f'{unit}s')} {how} labels"
        for units, how in ((with_labels, "with"), (monitor.shift.units, "without"))
        if units
    ]
    each = " for each of the two" if len(seen) > 1 else ""
    print_text(
        console,
        f"No alarm after {' and '.join(seen)}. Look as often as you like: the probability of a false alarm is at "
        f"most {100 * monitor.delta:g} %{each}.",
    )


def _of(test: Test) -> str:
    return f" for {test.name}" if test.name else ""


def _written(evidence: float, goal: float) -> str:
    return f"{evidence:.3g}" + (" !" if evidence >= goal else "")
