"""Measurements of a trained classifier: the figures, single rules and curve that go into a record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from scipy import special

from hedgerow import infer, likelihood
from hedgerow.learn.training.run_folder import score_blocks
from hedgerow.likelihood import Likelihoods
from hedgerow.measure import EvaluationBuilder, OperatingCurve, calibration_error, metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from hedgerow.learn.data import Examples
    from hedgerow.learn.training.module import Classifier
    from hedgerow.likelihood import Judge, Scale
    from hedgerow.measure import Evaluation
    from hedgerow.methods import Method
    from hedgerow.tree import BelowLabel

FROM_PS = "deep-rtc-from-ps"
"""Deep RTC as in the paper: the weights of the PS softmax, read with σ(β)."""

LOGITS: NDArray[np.float64] = np.concatenate(
    [[np.inf], 2000 * np.sinh(8 * np.linspace(1, -1, 601)) / np.sinh(8), [-np.inf]]
)
"""The thresholds at which every record stores its curve, as logits, descending; dense around 0."""

_RULES: dict[str, infer.Rule] = {
    **infer.RULES,
    "crm": lambda hierarchy, q, _: infer.risk_minimising(hierarchy, q, "edge distance", over="leaves"),
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


@torch.inference_mode()
def score(
    classifier: Classifier,
    examples: Examples,
    device: torch.device,
    ways: Mapping[str, list[Reading]],
    parts: Mapping[str, NDArray[np.bool_]] | None = None,
    *,
    below_label: BelowLabel = "label",
) -> list[dict[str, Any]]:
    """Measure every part of the examples under every reading; return the results for a record.

    Parameters
    ----------
    classifier, examples, device
        What is measured, on which examples, and where.
    ways
        Lists of readings. Readings in one list differ in name; the keys distinguish the lists.
    parts
        Masks over the examples, measured in addition to "all" of them.
    below_label
        What an answer below its label counts as.
    """
    hierarchy = classifier.method.hierarchy
    builders = {
        (way, reading): EvaluationBuilder(hierarchy, rules=_RULES, below_label=below_label)
        for way, listed in ways.items()
        for reading in listed
    }
    start = 0
    for theta in score_blocks(classifier, examples, device):
        labels = examples.labels[start : start + len(theta)]
        start += len(theta)
        for (_, reading), builder in builders.items():
            values = reading.likelihood(theta)
            values = values if values.is_cuda else values.numpy()
            builder.update(Likelihoods.of(hierarchy, values, reading.scale), labels, classes=hierarchy.names)
    results = []
    for (way, reading), builder in builders.items():
        evaluation = builder.compute()
        found = {part: evaluation.subset(mask) for part, mask in (parts or {}).items() if mask.any()}
        results += [
            {"way": way, "reading": reading.name, "part": part, **result(each)}
            for part, each in {"all": evaluation, **found}.items()
        ]
    return results


def result(evaluation: Evaluation) -> dict[str, Any]:
    """Return the part of an evaluation that a record holds: figures, points of single rules, curve at `LOGITS`."""
    curve = evaluation.curve
    right = metrics.correct(
        evaluation.hierarchy,
        evaluation.labels,
        evaluation.answers.predictions["leaf"],
        below_label=evaluation.settings.below_label,
    )
    error = calibration_error(evaluation.answers.confidence["leaf"], right)
    at = np.searchsorted(-curve.threshold, -likelihood.from_logit(LOGITS, curve.scale))
    return {
        "examples": len(evaluation),
        "summary": {**evaluation.summary, "leaf_ECE": error},
        "rules": evaluation.rules,
        "curve": {
            "logit": [x if math.isfinite(x) else str(x) for x in LOGITS.tolist()],  # JSON has no infinity
            **{name: np.round(value[at], 5).tolist() for name, value in curve.values.items()},
        },
    }


def curve_of(result: Mapping[str, Any]) -> OperatingCurve:
    """Return the curve that a record holds, with logits as thresholds."""
    values = {name: np.array(column) for name, column in result["curve"].items() if name not in ("logit", "tau")}
    return OperatingCurve(logits_of(result), values, result["examples"], "logit")


def logits_of(result: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the thresholds of a recorded curve as logits; older records hold them as probabilities."""
    curve = result["curve"]
    if "logit" in curve:
        return np.array([float(threshold) for threshold in curve["logit"]])
    return np.asarray(special.logit(np.array(curve["tau"])))
