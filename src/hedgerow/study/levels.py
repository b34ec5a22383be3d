"""Flat classifiers at different levels (the paper's Table 2): trained at level i, tested at every level j <= i.

Level j divides the leaves among the nodes at depth j; a leaf above depth j remains a separate class at every
deeper level. A classifier trained at level i gives each class of level j the sum of the probabilities below it;
its answer at level j is the largest of these. Test examples labelled above level j with a node that is not a leaf
are left out at level j.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learn.training.scores import likelihood_blocks
from hedgerow.likelihood import Likelihoods
from hedgerow.measure import evaluate
from hedgerow.show import Column, Entry, Row, Table
from hedgerow.study.experiment import Experiment, Findings
from hedgerow.study.scoring import train_and_measure

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from hedgerow.learn.data import DataSplits
    from hedgerow.learn.training.module import Classifier
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records
    from hedgerow.tree import Hierarchy

TASK = "levels"
METHOD = "flat-softmax"


def cells(plan: StudyPlan) -> list[Cell]:
    """Return a cell for every level and seed."""
    depth = int(plan.splits.hierarchy.depth.max())
    return [cell for level in range(1, depth + 1) for cell in plan.cells(TASK, METHOD, level=level)]


def at_level(splits: DataSplits, level: int) -> DataSplits:
    """Return the data with its tree cut at a level, and the labels projected onto it."""
    return splits.projected(*splits.hierarchy.cut_at_depth(level))


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train at one level, and test at this level and at those above."""
    cut = at_level(splits, int(cell.options["level"]))

    def measure(classifier: Classifier, device: torch.device) -> dict[str, Any]:
        blocks = likelihood_blocks(classifier, cut.test, device, cell.recipe.run.loaders)
        values = np.concatenate([block.q for block in blocks])
        q = Likelihoods.of(cut.hierarchy, values, classifier.method.scale)
        levels = range(1, int(cell.options["level"]) + 1)
        return {"results": [tested_at(cut.hierarchy, q, cut.test.labels, level) for level in levels]}

    return train_and_measure(cell, cut, measure)


def tested_at(hierarchy: Hierarchy, q: Likelihoods, labels: NDArray[np.int64], level: int) -> dict[str, Any]:
    """Return the accuracy of the most likely class of a level: the most likely leaf of the tree cut there."""
    tree, projection = hierarchy.cut_at_depth(level)
    target = projection[labels]
    known = tree.is_leaf[target]  # other labels say nothing about this level
    found = {"level": level, "classes": len(tree.leaves), "examples": int(known.sum())}
    if not known.any():
        return {**found, "accuracy": 0.0}
    # Cutting a tree changes neither the order of the nodes that remain nor their likelihoods.
    kept = Likelihoods.of(tree, q.values[known][:, hierarchy.depth <= level], q.scale)
    return {**found, "accuracy": evaluate(tree, kept, target[known], classes=tree.names).summary()["leaf_exact"]}


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return the table of accuracies, with the best per column in bold, and whether deeper training helps."""
    depth = int(plan.splits.hierarchy.depth.max())
    values: dict[int, dict[int, list[float]]] = {}
    classes: dict[int, int] = {}
    for level in range(1, depth + 1):
        for record in records.finished(plan.cells(TASK, METHOD, level=level)):
            for result in record["results"]:
                values.setdefault(level, {}).setdefault(result["level"], []).append(result["accuracy"])
                classes[result["level"]] = result["classes"]
    if not values:
        return Findings()
    columns = {j: f"j = {j} ({classes[j]:,} classes)" for j in sorted(classes)}
    rows = [
        Row(f"i = {level}", {columns[j]: Entry(tuple(found)) for j, found in by_level.items()})
        for level, by_level in values.items()
    ]
    table = Table(
        f"Accuracy at level j when trained at level i, on {plan.splits.name}",
        [Column(name) for name in columns.values()],
        rows,
    )
    return Findings({"levels": table}, {}, _sentence(values, depth))


def _sentence(values: dict[int, dict[int, list[float]]], depth: int) -> tuple[str, ...]:
    compared = [j for j in range(1, depth) if j in values and depth in values]
    if not compared:
        return ()
    gain = {j: float(np.mean(values[depth][j]) - np.mean(values[j][j])) for j in compared}
    better = [j for j in compared if gain[j] > 0]
    mean = 100 * float(np.mean(list(gain.values())))
    said = (
        f"At {len(better)} of {len(compared)} levels, the classifier trained at the deepest level is more "
        f"accurate than the one trained at that level; the mean difference is {mean:+.1f} points."
    )
    return (said,)


EXPERIMENT = Experiment(
    "Flat classifiers trained at one level of the tree, tested at those above", cells, work, findings
)
