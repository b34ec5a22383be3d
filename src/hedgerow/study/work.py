"""The work on one cell: train, then measure."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hedgerow.learn.training.run_folder import score_blocks
from hedgerow.likelihood import fit_temperature
from hedgerow.study.scoring import Reading, readings, score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learn.data import DataSplits, Examples
    from hedgerow.learn.training.module import Classifier
    from hedgerow.study.cells import Cell
    from hedgerow.tree import BelowLabel

_ENOUGH = 4096  # held-out examples used to fit one number


def trained(cell: Cell, splits: DataSplits) -> tuple[Classifier, torch.device, float]:
    """Train by a cell's recipe; return the classifier, the device it runs on and the seconds training took."""
    from hedgerow.learn.training.run import accelerator, fit

    begun = time.perf_counter()
    classifier = fit(cell.recipe, splits)
    device = torch.device("cuda" if accelerator(cell.recipe.run) == "gpu" else "cpu")
    return classifier, device, time.perf_counter() - begun


def train_and_test(
    cell: Cell,
    splits: DataSplits,
    parts: dict[str, NDArray[np.bool_]] | None = None,
    *,
    below_label: BelowLabel = "label",
    temper: bool = False,
) -> dict[str, Any]:
    """Train on a data set and measure its test data; return the content of the record.

    Parameters
    ----------
    cell
        What to train.
    splits
        The data.
    parts
        Masks over the test data.
    below_label
        What an answer below its label counts as.
    temper
        Also measure with the scores divided by a temperature that is fitted to the validation data, if there is
        any.
    """
    classifier, device, training = trained(cell, splits)
    begun = time.perf_counter()
    ways = {"plain": readings(classifier.method, cell.recipe.method.name)}
    temperatures = {}
    if temper and len(splits.val):
        fitted = {each.name: _temperature(classifier, splits.val, device, each, cell) for each in ways["plain"]}
        ways["tempered"] = [
            dataclasses.replace(each, temperature=fitted[each.name]["value"]) for each in ways["plain"]
        ]
        temperatures = {"temperature": fitted}
    results = score(classifier, splits.test, device, ways, parts, below_label=below_label)
    for result in results:
        if result["way"] == "tempered":
            del result["curve"]  # it is never drawn
    seconds = {"train": round(training, 3), "measure": round(time.perf_counter() - begun, 3)}
    return {"results": results, "seconds": seconds, "device": device.type, **temperatures}


@torch.inference_mode()
def _temperature(
    classifier: Classifier, held_out: Examples, device: torch.device, reading: Reading, cell: Cell
) -> dict[str, float]:
    """Fit the temperature of a reading on held-out examples, at most a few thousand."""
    if len(held_out) > _ENOUGH:
        chosen = np.random.default_rng(cell.recipe.run.seed).choice(len(held_out), _ENOUGH, replace=False)
        held_out = held_out.subset(np.sort(chosen))
    theta = torch.cat(list(score_blocks(classifier, held_out, device)))
    tree = classifier.method.hierarchy
    return dataclasses.asdict(
        fit_temperature(tree, theta, held_out.labels, reading.log_likelihood, judge=reading.judge)
    )
