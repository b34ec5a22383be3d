"""The work on one cell: train, then measure the summary, single rules and curve for its record."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from hedgerow import infer, likelihood
from hedgerow.learn.training.run import accelerator, fit
from hedgerow.learn.training.scores import score_blocks
from hedgerow.likelihood import Judge, Likelihoods, Scale, fit_temperature
from hedgerow.measure import (
    Evaluation,
    EvaluationBuilder,
    OperatingCurve,
    calibration_error,
    metrics,
    replicated,
)
from hedgerow.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from hedgerow.learn.data import DataSplits, LabelledInputs
    from hedgerow.learn.training.module import Classifier
    from hedgerow.methods import Method
    from hedgerow.study.cells import Cell

FROM_PS = "deep-rtc-from-ps"
"""Deep RTC as in the paper: the weights of the PS softmax, read with σ(β)."""

LOGITS: NDArray[np.float64] = np.concatenate(
    [[np.inf], 2000 * np.sinh(8 * np.linspace(1, -1, 601)) / np.sinh(8), [-np.inf]]
)
"""The thresholds at which every record stores its curve, as logits, descending; dense around 0."""

COMPARED = ("AP", "R@95C")
"""The figures whose differences between methods findings judge."""

_USUAL = Settings()
_ENOUGH = 4096  # examples used to fit a temperature
_RULES: dict[str, infer.Rule] = {
    **infer.RULES,
    "crm": lambda hierarchy, q, **_: infer.risk_minimising(hierarchy, q, "edge distance", over="leaves"),
}


@final
@dataclass(frozen=True)
class Reading:
    """One way to read the scores of a trained classifier."""

    name: str
    link: Callable[..., Any]
    """From scores and a scale to likelihoods of all nodes."""
    scale: Scale
    """The scale on which they are ranked."""
    judge: Judge
    """How a temperature is fitted to it: see `hedgerow.likelihood.fit_temperature`."""
    temperature: float = 1.0

    def likelihood(self, theta: Any) -> Any:
        """Return the likelihoods of scores, divided by the temperature, on the scale of the reading."""
        return self.link(theta if self.temperature == 1 else theta / self.temperature, scale=self.scale)

    def log_likelihood(self, theta: Any) -> Any:
        """Return the log-likelihoods of the unscaled scores."""
        return self.link(theta, scale="log")


def readings(method: Method, name: str) -> list[Reading]:
    """Return the readings of a method's scores: its own likelihood and, for the PS softmax, σ(β) too."""
    judge: Judge = "label" if "parent covers children" in method.laws else "nodes"
    found = [Reading(name, method.likelihood, method.scale, judge)]
    if name == "ps-softmax":
        found.append(Reading(FROM_PS, partial(likelihood.deep_rtc, method.hierarchy), "logit", "nodes"))
    return found


def train_and_measure(
    cell: Cell, splits: DataSplits, measure: Callable[[Classifier, torch.device], dict[str, Any]]
) -> dict[str, Any]:
    """Train by a cell's recipe; return the content of the record: what `measure` returns, seconds and device."""
    begun = time.perf_counter()
    classifier = fit(cell.recipe, splits)
    device = torch.device("cuda" if accelerator(cell.recipe.run) == "gpu" else "cpu")
    trained = time.perf_counter()
    content = measure(classifier, device)
    seconds = {"train": round(trained - begun, 3), "measure": round(time.perf_counter() - trained, 3)}
    return {**content, "seconds": seconds, "device": device.type}


def train_and_test(
    cell: Cell,
    splits: DataSplits,
    parts: dict[str, NDArray[np.bool_]] | None = None,
    *,
    settings: Settings = _USUAL,
    temper: bool = False,
    replicates: int = 0,
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
    settings
        What counts as specific and as right.
    temper
        Also measure with scores divided by a temperature fitted to the validation data, if there is any.
    replicates
        Number of replicates of the test data in which to measure the figures that findings compare.
    """

    def measure(classifier: Classifier, device: torch.device) -> dict[str, Any]:
        ways = {"plain": readings(classifier.method, cell.recipe.method.name)}
        content: dict[str, Any] = {}
        if temper and len(splits.val):
            fitted = {
                each.name: _temperature(classifier, splits.val, device, each, cell) for each in ways["plain"]
            }
            ways["tempered"] = [replace(each, temperature=fitted[each.name]["value"]) for each in ways["plain"]]
            content["temperature"] = fitted
        content["results"] = score(
            classifier,
            splits.test,
            device,
            ways,
            parts,
            settings,
            cell.options.get("metrics", ()),
            cell.recipe.run.loaders,
            replicates,
        )
        for result in content["results"]:
            if result["way"] == "tempered":
                del result["curve"]  # it is never drawn
        return content

    return train_and_measure(cell, splits, measure)


@torch.inference_mode()
def _temperature(
    classifier: Classifier, held_out: LabelledInputs, device: torch.device, reading: Reading, cell: Cell
) -> dict[str, float]:
    """Fit the temperature of a reading on held-out examples, at most a few thousand."""
    if len(held_out) > _ENOUGH:
        chosen = np.random.default_rng(cell.recipe.run.seed).choice(len(held_out), _ENOUGH, replace=False)
        held_out = held_out.subset(np.sort(chosen))
    theta = torch.cat(list(score_blocks(classifier, held_out, device, cell.recipe.run.loaders)))
    tree = classifier.method.hierarchy
    return asdict(fit_temperature(tree, theta, held_out.labels, reading.log_likelihood, judge=reading.judge))


@torch.inference_mode()
def score(
    classifier: Classifier,
    examples: LabelledInputs,
    device: torch.device,
    ways: Mapping[str, list[Reading]],
    parts: Mapping[str, NDArray[np.bool_]] | None = None,
    settings: Settings = _USUAL,
    measured: Iterable[str] = (),
    workers: int = 0,
    replicates: int = 0,
) -> list[dict[str, Any]]:
    """Measure every part of the examples under every reading; return the results for a record.

    Parameters
    ----------
    classifier, examples, device
        The classifier, the examples to measure it on, and the device.
    ways
        Lists of readings. Readings in one list differ in name; the keys distinguish the lists.
    parts
        Masks over the examples, measured in addition to "all" of them.
    settings
        What counts as specific and as right.
    measured
        Metrics in addition to the standard ones.
    workers
        Number of processes that load image files.
    replicates
        Number of replicates in which to measure the figures in `COMPARED`.
    """
    hierarchy = classifier.method.hierarchy
    builders = {
        (way, reading): EvaluationBuilder(hierarchy, rules=_RULES, **settings.to_dict())
        for way, listed in ways.items()
        for reading in listed
    }
    start = 0
    for theta in score_blocks(classifier, examples, device, workers):
        labels = examples.labels[start : start + len(theta)]
        start += len(theta)
        for (_, reading), builder in builders.items():
            values = reading.likelihood(theta)
            values = values if values.is_cuda else values.numpy()
            builder.update(Likelihoods.of(hierarchy, values, reading.scale), labels, classes=hierarchy.names)
    results = []
    for (way, reading), builder in builders.items():
        evaluation = builder.compute().measuring(measured)
        found = {part: evaluation.subset(mask) for part, mask in (parts or {}).items() if mask.any()}
        measurements = [
            {"way": way, "reading": reading.name, "part": part, **result(each)}
            for part, each in {"all": evaluation, **found}.items()
        ]
        if replicates and way == "plain":
            drawn = replicated(evaluation.builder, replicates=replicates)
            measurements[0]["replicates"] = {name: np.round(drawn[name], 6).tolist() for name in COMPARED}
        results += measurements
    return results


def result(evaluation: Evaluation) -> dict[str, Any]:
    """Return the part of an evaluation that a record holds: summary, points of single rules, curve at `LOGITS`."""
    curve = evaluation.curve
    right = metrics.correct(
        evaluation.hierarchy,
        evaluation.labels,
        evaluation.predictions["leaf"],
        below_label=evaluation.settings.below_label,
    )
    error = calibration_error(evaluation.confidence["leaf"], right)
    at = np.searchsorted(-curve.threshold, -likelihood.from_logit(LOGITS, curve.scale))
    return {
        "examples": len(evaluation),
        "summary": {**evaluation.summary(), "leaf_ECE": error},
        "rules": evaluation.rules,
        "curve": {
            "logit": [x if math.isfinite(x) else str(x) for x in LOGITS.tolist()],  # JSON has no infinity
            **{name: np.round(value[at], 5).tolist() for name, value in curve.values.items()},
        },
    }


def curve_of(result: Mapping[str, Any]) -> OperatingCurve:
    """Return the curve that a record holds, with logits as thresholds."""
    values = {name: np.array(column) for name, column in result["curve"].items() if name != "logit"}
    return OperatingCurve(logits_of(result), values, result["examples"], "logit")


def logits_of(result: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the thresholds of a recorded curve."""
    return np.array([float(threshold) for threshold in result["curve"]["logit"]])
