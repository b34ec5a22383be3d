"""The main experiment: every method on one data set (the paper's Table 1 and Figure 1).

With a recipe for a linear model it is the right side of the paper's Figure 2; with a recipe that trains from
scratch, the left side.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hedgerow.study.experiment import Experiment, Findings, by_method, method_table
from hedgerow.study.sentences import main_sentences
from hedgerow.study.work import train_and_test

if TYPE_CHECKING:
    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records

TASK = "main"


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every method and seed."""
    return plan.cells_of_methods(TASK)


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train and test, without and with a temperature: the calibration experiment shares these cells."""
    return train_and_test(cell, splits, temper=True)


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return the table, the curves and what they show."""
    from hedgerow.show.figures import RULE_STYLES
    from hedgerow.study.figures import curves
    from hedgerow.study.page import write_curves

    systems = by_method(plan, records, TASK)
    if not systems:
        return Findings()
    table = method_table(f"Methods on {plan.splits.name}", systems)
    panels: Any = {
        "Precision and recall": ("precision-recall", systems),
        "Correct and exact": ("correct-exact", systems),
    }
    figure = partial(curves, panels, rules=tuple(RULE_STYLES))
    page = partial(write_curves, systems, table.title)
    return Findings({"main": table}, {"main": figure}, main_sentences(table), {"main": page})


EXPERIMENT = Experiment("Every method: the trade-off curves and their figures", cells, work, findings)
