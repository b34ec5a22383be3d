"""Mixed granularity: a share of the training labels is replaced by an ancestor, as if experts were scarce.

Each label that is replaced becomes one of its ancestors strictly between the root and itself, all equally likely;
labels directly below the root stay. Within a seed, the same labels are replaced for every method.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.study import main
from hedgerow.study.experiment import Experiment, Findings, Results, by_method, column_table, curve_figure
from hedgerow.study.scoring import train_and_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records
    from hedgerow.tree import Hierarchy

TASK = "mixed_granularity"
SHARES = (0.25, 0.5, 0.75)


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every method, share and seed; those with no label replaced are the main experiment's."""
    coarser = [c for method in plan.methods for s in SHARES for c in plan.cells(TASK, method, share=s)]
    return [*main.cells(plan), *coarser]


def coarsened(hierarchy: Hierarchy, labels: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """Return the labels with a share of them replaced by a proper ancestor other than the root."""
    rng = np.random.default_rng(seed)
    depth = hierarchy.depth[labels]
    target = 1 + np.floor(rng.random(len(labels)) * np.maximum(0, depth - 1)).astype(np.int64)
    chosen = (rng.random(len(labels)) < share) & (depth > 1)
    result = labels.copy()
    while (deeper := chosen & (hierarchy.depth[result] > target)).any():
        result[deeper] = hierarchy.parent[result[deeper]]
    return result


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train on labels of mixed granularity, and test on the original ones."""
    labels = coarsened(splits.hierarchy, splits.train.labels, float(cell.options["share"]), cell.recipe.run.seed)
    return train_and_test(cell, replace(splits, train=splits.train.with_labels(labels)))


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return AP and recall at 95 % correct at every share, and the curves at the largest."""
    found: dict[float, dict[str, Results]] = {0.0: by_method(plan, records, main.TASK)}
    for share in SHARES:
        found[share] = by_method(plan, records, TASK, share=share)
    if not any(found[share] for share in SHARES):
        return Findings()
    columns = {
        f"{metric}, {100 * share:g} %": (found[share], metric)
        for metric in ("AP", "R@95C")
        for share in (0.0, *SHARES)
    }
    title = f"A share of the training labels of {plan.splits.name} replaced by an ancestor"
    table = column_table(title, columns)
    panels: Any = {
        f"{100 * share:g} % of the labels replaced": ("precision-recall", found[share])
        for share in (SHARES[0], SHARES[-1])
        if found[share]
    }
    return Findings({TASK: table}, {TASK: partial(curve_figure, panels)})


EXPERIMENT = Experiment("Training labels at any depth of the tree", cells, work, findings)
