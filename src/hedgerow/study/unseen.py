"""Unseen classes (the paper's Figure 3): half of the leaves are removed from the training data and the tree.

The leaves are drawn per parent, with random rounding, separately for every seed: an only child is removed half of
the time, and parents left without children are removed too. Test examples of a removed class are labelled with its
nearest remaining ancestor; information is that of the smaller tree.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import sum_ancestors
from hedgerow.errors import ParameterError
from hedgerow.study.experiment import Experiment, Findings, by_method, column_table, curve_figure
from hedgerow.study.scoring import train_and_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records

TASK = "unseen"
SHARE = 0.5
PARTS = ("all", "seen", "unseen")


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every method and seed."""
    return plan.cells_of_methods(TASK, share=SHARE)


def without(splits: DataSplits, removed: NDArray[np.int64]) -> tuple[DataSplits, NDArray[np.bool_]]:
    """Remove nodes and everything below them from tree and training; return the data, and which nodes remain.

    All test examples are kept, with projected labels; training and validation examples of removed nodes are not.
    """
    hierarchy = splits.hierarchy
    chosen = np.zeros(len(hierarchy))
    chosen[removed] = 1
    gone = sum_ancestors(hierarchy, chosen)[hierarchy.leaves] > 0
    if gone.all():
        raise ParameterError("Nothing would be left to train on: every leaf of the tree would be removed.")
    tree, projection = hierarchy.subtree(hierarchy.leaves[~gone])
    left: NDArray[np.bool_] = tree.names[projection] == hierarchy.names
    train, val = (examples.subset(left[examples.labels]) for examples in (splits.train, splits.val))
    return replace(splits, train=train, val=val).projected(tree, projection), left


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train without some of the leaves, and test with all of them."""
    removed, _ = splits.hierarchy.split_leaves(float(cell.options["share"]), cell.recipe.run.seed)
    smaller, left = without(splits, removed)
    seen = left[splits.test.labels]
    return train_and_test(cell, smaller, {"seen": seen, "unseen": ~seen})


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return AP and AC over exact for all, seen and unseen classes, and the curves of the last two."""
    found = {part: by_method(plan, records, TASK, part=part, share=SHARE) for part in PARTS}
    if not found["all"]:
        return Findings()
    tables = {}
    for metric, title in (("AP", "AP, precision over recall"), ("AC_exact", "AC, correct over exact")):
        columns = {part.capitalize(): (found[part], metric) for part in PARTS}
        tables[f"unseen_{metric}"] = column_table(
            f"{title}, half of the classes of {plan.splits.name} unseen", columns
        )
    panels: Any = {
        f"{part.capitalize()} classes: {kind.replace('-', ' and ')}": (kind, found[part])
        for kind in ("precision-recall", "correct-exact")
        for part in PARTS[1:]
    }
    return Findings(tables, {"unseen": partial(curve_figure, panels, columns=2)})


EXPERIMENT = Experiment("Classes that are absent in training", cells, work, findings)
