"""Studies small enough to run in a second or two."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

import hedgerow as hr
from hedgerow.study.processes import Watcher
from hedgerow.study.run import Report, study
from tests.learn.training import toy

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.learn.data import DataSplits
    from hedgerow.learn.training.recipe import Recipe
    from hedgerow.study.cells import Cell


class EndedCells(Watcher):
    """Lists the cells that have ended."""

    def __init__(self, ended: list[Cell]) -> None:
        self.ended = ended

    def done(self, cell: Cell) -> None:
        self.ended.append(cell)


TWO = ("flat-softmax", "ps-softmax")


@functools.cache
def splits() -> DataSplits:
    return toy.splits()


def recipe(*changes: str) -> Recipe:
    return toy.recipe("optimiser.epochs=1", "optimiser.batch_size=100", *changes)


def run(folder: Path, *experiments: str, **options: Any) -> Report:
    chosen = {
        "chosen": TWO,
        "splits": splits(),
        "jobs": 1,
        "draw": False,
        "tune": False,
        "recipe": recipe(),
        **options,
    }
    return study(experiments or ("main",), chosen.pop("recipe"), folder, **chosen)


def result(strength: float, seed: int) -> dict[str, Any]:
    """What a record holds of a model on random examples, at every threshold of its curve."""
    leaves = toy.TREE.leaves
    labels = np.random.default_rng(9).choice(leaves, size=300)
    theta = np.random.default_rng(seed).normal(size=(len(labels), len(leaves)))
    theta[np.arange(len(labels)), np.searchsorted(leaves, labels)] += strength
    q = hr.likelihood.flat_softmax(toy.TREE, theta)
    evaluation = hr.evaluate(toy.TREE, np.asarray(q), labels)
    curve = {"logit": special.logit(evaluation.curve.threshold), **evaluation.curve.values}
    return {
        "examples": len(evaluation),
        "summary": evaluation.summary(),
        "rules": {**evaluation.rules, "crm": evaluation.rules["leaf"]},
        "curve": {name: values.tolist() for name, values in curve.items()},
    }
