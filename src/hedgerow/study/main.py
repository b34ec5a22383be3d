"""The main experiment: every method on one data set (the paper's Table 1 and Figure 1).

With a recipe for a linear model it is the right side of the paper's Figure 2; with a recipe that trains from
scratch, the left side.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hedgerow.errors import argument
from hedgerow.study.experiment import Experiment, Findings, by_method, curve_figure, method_table, write_page
from hedgerow.study.scoring import train_and_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.learn.data import DataSplits
    from hedgerow.show import Entry, Row, Table
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records

TASK = "main"
_FLAT, _TOP_DOWN = "Flat softmax", ("Cond softmax", "Cond sigmoid")


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every method and seed."""
    return plan.cells_of_methods(TASK)


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train and test, without and with a temperature: the calibration experiment shares these cells."""
    return train_and_test(cell, splits, temper=True)


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return the table, the curves and the conclusions."""
    from hedgerow.show.figures import RULE_STYLES

    systems = by_method(plan, records, TASK)
    if not systems:
        return Findings()
    table = method_table(plan, f"Methods on {plan.splits.name}", systems)
    panels: Any = {
        "Precision and recall": ("precision-recall", systems),
        "Correct and exact": ("correct-exact", systems),
    }
    figure = partial(curve_figure, panels, rules=tuple(RULE_STYLES))
    page = partial(write_page, systems, table.title, measured=plan.metrics)
    return Findings({"main": table}, {"main": figure}, sentences(table), {"main": page})


def sentences(table: Table) -> tuple[str, ...]:
    """Return which methods lead, and how those that know the tree compare with the flat softmax, which does not.

    A single method is not compared; without the flat softmax, only the best are named. With one seed there is no
    winner, since another seed, or another processor, would give another order.
    """
    rows = {row.name: row for row in table.rows}
    if len(rows) < 2:
        return ()
    if all(entry.spread is None for row in table.rows for entry in row.entries.values()):
        return (_one_seed(rows),)
    overall, careful = (_best(table.rows, column) for column in ("AP", "R@95C"))
    first = (
        f"{overall.name} has the best trade-off between being right and being specific "
        f"(AP {_percent(overall.entries['AP'])}), and "
        + ("also " if careful is overall else f"{careful.name} ")
        + f"has the highest recall when 95 % of the answers must be right ({_percent(careful.entries['R@95C'])})."
    )
    if _FLAT not in rows:
        return (first,)
    flat = rows[_FLAT].entries["AP"]
    others = [row for row in table.rows if row.name != _FLAT]
    better = [row for row in others if _beyond(row.entries["AP"], flat)]
    worse = [row for row in others if _beyond(flat, row.entries["AP"])]
    second = (
        f"The flat softmax, which does not know the tree, reaches AP {_percent(flat)}: "
        f"{_listed(better, 'beats', 'beat')} it by more than two standard deviations, "
        f"{_listed(worse, 'falls', 'fall')} behind{_top_down(rows, flat)}."
    )
    return first, second


def _one_seed(rows: dict[str, Row]) -> str:
    """Return how far apart the methods are, and that one seed does not show which is better."""
    entries = sorted((row.entries["AP"] for row in rows.values()), key=lambda entry: entry.mean)
    said = f"AP is between {_percent(entries[0])} and {_percent(entries[-1])}"
    if _FLAT in rows:
        said += f"; the flat softmax, which does not know the tree, has {_percent(rows[_FLAT].entries['AP'])}"
    more = argument("seeds", "3", python="seeds=3")
    return f"{said}. One seed does not tell which method is better: use {more} or more."


def _top_down(rows: dict[str, Row], flat: Entry) -> str:
    there = [rows[name].entries["AP"] for name in _TOP_DOWN if name in rows]
    if not there:
        return ""
    gap = flat.mean - max(entry.mean for entry in there)
    side = "below" if gap > 0 else "above"
    return f", and the better of the top-down methods is {abs(100 * gap):.1f} points {side} it"


def _best(rows: Sequence[Row], column: str) -> Row:
    return max(rows, key=lambda row: row.entries[column].mean)


def _beyond(entry: Entry, other: Entry) -> bool:
    """Return whether one value is larger than another by more than the spread of the seeds."""
    return entry.mean - other.mean > max(entry.spread or 0.0, other.spread or 0.0)


def _listed(rows: Sequence[Row], one: str, several: str) -> str:
    if not rows:
        return f"no method {one}"
    if len(rows) > 3:
        return f"{len(rows)} of the other rows {several}"
    names = [row.name for row in rows]
    if len(names) == 1:
        return f"{names[0]} {one}"
    return f"{', '.join(names[:-1])} and {names[-1]} {several}"


def _percent(entry: Entry) -> str:
    return f"{100 * entry.mean:.1f} %"


EXPERIMENT = Experiment("Every method: the trade-off curves and their figures", cells, work, findings)
