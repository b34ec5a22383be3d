"""The main experiment: every method on one data set (the paper's Table 1 and Figure 1).

With a recipe for a linear model it is the right side of the paper's Figure 2; with a recipe that trains from
scratch, the left side.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import argument
from hedgerow.measure import difference_of_runs
from hedgerow.study.experiment import Experiment, Findings, by_method, curve_figure, method_table, write_page
from hedgerow.study.scoring import train_and_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hedgerow.learn.data import DataSplits
    from hedgerow.measure import Difference
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.experiment import Results
    from hedgerow.study.records import Records

TASK = "main"
_REPLICATES = 200
_HOW = (
    "A difference counts if its 95 % interval, for other seeds and other test examples together, excludes 0 "
    f"(paired by seed and example; examples resampled {_REPLICATES} times); each is judged by itself."
)
_FLAT, _TOP_DOWN = "Flat softmax", ("Cond softmax", "Cond sigmoid")


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every method and seed."""
    return plan.cells_of_methods(TASK)


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train and test, without and with a temperature: the calibration experiment shares these cells."""
    return train_and_test(cell, splits, temper=True, replicates=_REPLICATES)


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
    return Findings({"main": table}, {"main": figure}, sentences(systems), {"main": page})


def sentences(systems: Mapping[str, Results]) -> tuple[str, ...]:
    """Return which methods lead, and how those that know the tree compare with the flat softmax, which does not.

    Differences count if they are larger than other seeds and other test examples explain. With one seed, that is
    not known. A single method is not compared; without the flat softmax, only the best are named.
    """
    if len(systems) < 2:
        return ()
    if all(len(results) == 1 for results in systems.values()):
        return (_one_seed(systems),)
    said = [
        _leader(systems, "AP", "the best trade-off between being right and being specific"),
        _leader(systems, "R@95C", "the highest recall when 95 % of the answers must be right"),
    ]
    if _FLAT in systems:
        better, worse, unclear = _apart(systems, _FLAT, "AP")
        said.append(
            f"The flat softmax, which does not know the tree, reaches AP {_percent(systems[_FLAT], 'AP')}: "
            f"{_listed(better, 'beats', 'beat')} it, {_listed(worse, 'falls', 'fall')} behind"
            f"{_as_chance(unclear, 'for')}{_top_down(systems)}."
        )
    return (*said, _HOW)


def _leader(systems: Mapping[str, Results], figure: str, what: str) -> str:
    best = max(systems, key=lambda name: _mean(systems[name], figure))
    _, _, unclear = _apart(systems, best, figure)
    return f"{best} has {what} ({figure} {_percent(systems[best], figure)}){_as_chance(unclear, 'from')}."


def _apart(systems: Mapping[str, Results], base: str, figure: str) -> tuple[list[str], list[str], list[str]]:
    """Return which systems are better than one of them, which are worse, and of which that cannot be said."""
    better, worse, unclear = list[str](), list[str](), list[str]()
    for name, results in systems.items():
        if name != base:
            found = difference(results, systems[base], figure)
            certain = found is not None and (found.low > 0 or found.high < 0)
            (unclear if found is None or not certain else better if found.value > 0 else worse).append(name)
    return better, worse, unclear


def difference(results: Results, others: Results, figure: str) -> Difference | None:
    """Return the difference between two methods over the seeds of both; None if there are not two of these."""
    ours, theirs = (
        {r["seed"]: r for r in side if figure in r.get("replicates", {})} for side in (results, others)
    )
    seeds = sorted(ours.keys() & theirs.keys())
    sides = [[side[seed] for seed in seeds] for side in (ours, theirs)]
    lengths = {len(result["replicates"][figure]) for side in sides for result in side}
    if len(seeds) < 2 or len(lengths) > 1 or min(lengths) < 2:
        return None
    values = (np.array([result["summary"][figure] for result in side]) for side in sides)
    drawn = (np.array([result["replicates"][figure] for result in side]) for side in sides)
    return difference_of_runs(*values, *drawn)


def _one_seed(systems: Mapping[str, Results]) -> str:
    """Return how far apart the methods are, and that one seed does not show which is better."""
    ordered = sorted(systems.values(), key=lambda results: _mean(results, "AP"))
    said = f"AP is between {_percent(ordered[0], 'AP')} and {_percent(ordered[-1], 'AP')}"
    if _FLAT in systems:
        said += f"; the flat softmax, which does not know the tree, has {_percent(systems[_FLAT], 'AP')}"
    more = argument("seeds", "3", python="seeds=3")
    return f"{said}. One seed does not tell which method is better: use {more} or more."


def _top_down(systems: Mapping[str, Results]) -> str:
    there = [_mean(systems[name], "AP") for name in _TOP_DOWN if name in systems]
    if not there:
        return ""
    gap = _mean(systems[_FLAT], "AP") - max(there)
    side = "below" if gap > 0 else "above"
    return f"; the better of the top-down methods is {abs(100 * gap):.1f} points {side} it"


def _as_chance(names: Sequence[str], word: str) -> str:
    if not names:
        return ""
    shown = f"{len(names)} of the other rows" if len(names) > 3 else _joined(names)
    return f", and the difference {word} {shown} may be chance"


def _listed(names: Sequence[str], one: str, several: str) -> str:
    if not names:
        return f"no method {one}"
    if len(names) > 3:
        return f"{len(names)} of the other rows {several}"
    return f"{_joined(names)} {one if len(names) == 1 else several}"


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _mean(results: Results, figure: str) -> float:
    return float(np.mean([result["summary"][figure] for result in results]))


def _percent(results: Results, figure: str) -> str:
    return f"{100 * _mean(results, figure):.1f} %"


EXPERIMENT = Experiment("Every method: the trade-off curves and their figures", cells, work, findings)
