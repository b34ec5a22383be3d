"""Tuning: the learning rate of each method, chosen on the validation data, because one rate does not suit all.

Three rates, the recipe's and those a step below and above, are tried with one seed. While the best is the lowest
or the highest, a further one is tried on that side. The rates chosen hold for all experiments and seeds.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hedgerow import methods
from hedgerow.errors import ScoreError
from hedgerow.learn.training.module import TrainingError
from hedgerow.learn.training.scores import likelihood_blocks
from hedgerow.measure import evaluate
from hedgerow.show import Column, Entry, Row, Table
from hedgerow.study.experiment import Experiment, Findings, names_of
from hedgerow.study.scoring import train_and_measure

if TYPE_CHECKING:
    import torch

    from hedgerow.learn.data import DataSplits
    from hedgerow.learn.training.module import Classifier
    from hedgerow.study.cells import Cell, StudyPlan
    from hedgerow.study.records import Records

TASK = "tuning"
_STEP = 3.0
_FURTHEST = 3  # steps from the recipe's rate
_EQUAL = 0.001  # scores this near to the best are as good: otherwise noise would lead far from the recipe
_SEED = 0  # whatever the seeds of the study, so that a folder has one choice for each method


def cells(plan: StudyPlan) -> list[Cell]:
    """Return the first cells to run: every method with three rates."""
    return [_cell(plan, method, step) for method in plan.methods for step in (-1, 0, 1)]


def rates(plan: StudyPlan, records: Records) -> dict[str, float]:
    """Return the best rate of each method that has been tried sufficiently, also by earlier studies."""
    recorded = {r["cell"]["method"]["name"] for r in records.all() if "validation" in r}
    found = {}
    for method in sorted(recorded):
        if method in plan.methods or method in methods.METHODS:  # others would have to be imported
            best = _best(plan, ladder(plan, records, method))
            if best is not None:
                found[method] = best.recipe.optimiser.lr
    return found


def _cell(plan: StudyPlan, method: str, step: int) -> Cell:
    rate = float(f"{plan.recipe.optimiser.lr * _STEP**step:.6g}")
    untuned = replace(plan, recipe=plan.recipe.with_run(seed=_SEED), seeds=1, metrics=(), rates={method: rate})
    (cell,) = untuned.cells(TASK, method, rate=rate)
    return cell


def ladder(plan: StudyPlan, records: Records, method: str) -> list[tuple[Cell, float | None]]:
    """Return the cells that a method needs, in ascending order of the rate, with their scores.

    The score is the metric by which `train` chooses, too; 0 if training diverged, None if there is no record.
    Until all have one, it is not known whether more cells are needed.
    """

    def tried(step: int) -> tuple[Cell, float | None]:
        cell = _cell(plan, method, step)
        record = records.read(cell)
        return cell, None if record is None else record["validation"].get(plan.recipe.run.monitor, 0.0)

    found = [tried(step) for step in (-1, 0, 1)]
    low = high = 1
    while (best := _best(plan, found)) is not None:
        if best is found[0][0] and low < _FURTHEST:
            low += 1
            found.insert(0, tried(-low))
        elif best is found[-1][0] and high < _FURTHEST:
            high += 1
            found.append(tried(high))
        else:
            break
    return found


def _best(plan: StudyPlan, found: list[tuple[Cell, float | None]]) -> Cell | None:
    """Return the best cell, of equally good ones that nearest to the recipe; None before all have a score."""
    scores = [score for _, score in found if score is not None]
    if len(scores) < len(found):
        return None
    good = [cell for cell, score in found if score is not None and score >= max(scores) - _EQUAL]
    return min(good, key=lambda cell: abs(math.log(cell.recipe.optimiser.lr / plan.recipe.optimiser.lr)))


def work(cell: Cell, splits: DataSplits) -> dict[str, Any]:
    """Train, and measure the validation data; the test data is not looked at."""

    def measure(classifier: Classifier, device: torch.device) -> dict[str, Any]:
        blocks = likelihood_blocks(classifier, splits.val, device, cell.recipe.run.loaders)
        return {"results": [], "validation": evaluate(splits.hierarchy, blocks).summary()}

    try:
        return train_and_measure(cell, splits, measure)
    except (TrainingError, ScoreError):  # it diverged, which says enough about the rate
        return {"results": [], "validation": {}}


def findings(plan: StudyPlan, records: Records) -> Findings:
    """Return the table of all rates that were tried."""
    tried = {method: ladder(plan, records, method) for method in plan.methods}
    named = names_of(plan)
    rows = {
        named[method]: {cell.recipe.optimiser.lr: score for cell, score in found if score is not None}
        for method, found in tried.items()
    }
    columns = sorted({rate for scores in rows.values() for rate in scores})
    if not columns:
        return Findings()
    table = Table(
        f"{plan.recipe.run.monitor} of the validation data of {plan.splits.name}, by learning rate",
        [Column(f"{rate:.3g}") for rate in columns],
        [Row(name, {f"{rate:.3g}": Entry((score,)) for rate, score in row.items()}) for name, row in rows.items()],
    )
    return Findings({TASK: table})


def note(plan: StudyPlan) -> str:
    """Return which learning rates a study has."""
    if plan.rates is None:
        return f"Every method has the recipe's learning rate, {plan.recipe.optimiser.lr:.3g}."
    if not plan.rates:
        return "No learning rate has been chosen yet."
    named = names_of(plan)
    by_rate = [
        f"{rate:.3g} for {', '.join(named[method] for method in plan.methods if plan.rates.get(method) == rate)}"
        for rate in sorted({rate for method, rate in plan.rates.items() if method in plan.methods})
    ]
    return f"Learning rates, chosen on the validation data: {'; '.join(by_rate)}."


EXPERIMENT = Experiment("The learning rate of each method, chosen on the validation data", cells, work, findings)
