"""Long tail: the number of training examples per class falls off as 1 / rank, as it does in the field.

Classes are ranked at random, separately for every seed. The first tenth keeps all its examples; from there the
number falls as 1 / rank, rounded at random, and is never below one. The test data is unchanged, and is measured in
thirds of the ranking: head, middle, tail.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.study.experiment import Experiment, Findings, by_method, column_table, curve_figure, method_table
from hedgerow.study.scoring import train_and_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records

TASK = "long_tail"
HEAD = 0.1
PARTS = ("head", "middle", "tail")


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every method and seed."""
    return plan.cells_of_methods(TASK, head=HEAD)


def thinned(labels: NDArray[np.int64], head: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the examples to keep, ascending, and the classes from the most to the least frequent."""
    rng = np.random.default_rng(seed)
    classes, which, number = np.unique(labels, return_inverse=True, return_counts=True)
    ranked = rng.permutation(len(classes))
    rank = np.empty(len(classes), dtype=np.int64)
    rank[ranked] = np.arange(1, len(classes) + 1)
    wanted = number * np.minimum(1.0, head * len(classes) / rank)
    kept = np.maximum(1, np.floor(wanted + rng.random(len(classes))).astype(np.int64))
    order = np.lexsort((rng.random(len(labels)), which))
    position = np.arange(len(labels)) - np.repeat(np.cumsum(number) - number, number)
    return np.sort(order[position < kept[which[order]]]), classes[ranked]


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train on a long tail, and test on head, middle and tail."""
    chosen, classes = thinned(splits.train.labels, float(cell.options["head"]), cell.recipe.run.seed)
    rarer = replace(splits, train=splits.train.subset(chosen))
    third = np.full(len(splits.hierarchy), len(PARTS) - 1)  # a class without any examples belongs to the tail
    third[classes] = np.arange(len(classes)) * len(PARTS) // len(classes)
    parts = {name: third[splits.test.labels] == i for i, name in enumerate(PARTS)}
    return train_and_test(cell, rarer, parts)


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return the main table, AP and accuracy by frequency, and the curves."""
    systems = by_method(plan, records, TASK, head=HEAD)
    if not systems:
        return Findings()
    found = {part: by_method(plan, records, TASK, part=part, head=HEAD) for part in PARTS}
    columns = {
        f"{part.capitalize()} {shown}": (found[part], metric)
        for shown, metric in (("AP", "AP"), ("R@95C", "R@95C"), ("accuracy", "leaf_exact"))
        for part in PARTS
    }
    panels: Any = {part.capitalize(): ("precision-recall", found[part]) for part in PARTS if found[part]}
    title = f"{plan.splits.name} with a long tail"
    tables = {
        "long_tail": method_table(plan, title, systems),
        "long_tail_by_frequency": column_table(f"{title}, by frequency", columns),
    }
    return Findings(tables, {"long_tail": partial(curve_figure, panels)})


EXPERIMENT = Experiment("Training examples per class that fall off as 1 / rank", cells, work, findings)
