"""What is measured of a trained classifier: the figures, single rules and curve that go into a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from scipy import special

from hedgerow import infer, likelihood
from hedgerow.learn.training.batches import EVALUATION_BATCH, Order, batches
from hedgerow.likelihood import calibration_error
from hedgerow.measure import RULES, STANDARD_METRICS, Comparison, CurveBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from torch import Tensor

    from hedgerow.learn.data import Examples
    from hedgerow.learn.training.module import Classifier
    from hedgerow.likelihood import Judge
    from hedgerow.measure import BelowLabel
    from hedgerow.methods import Method
    from hedgerow.tree import Hierarchy

FROM_PS = "deep-rtc-from-ps"
"""Deep RTC as the paper shows it: the weights of the PS softmax, read with σ(β)."""

_STEPS = 600
_LOGITS = 33 * np.sinh(3 * np.linspace(1, -1, _STEPS + 1)) / np.sinh(3)  # dense around 0; beyond 33 σ is 0 or 1
TAU: NDArray[np.float64] = np.concatenate([[1.0], special.expit(_LOGITS), [0.0]])
"""The thresholds at which every record states its curve, as probabilities, from 1 down to 0."""
_LOG_TAU = np.concatenate([[0.0], special.log_expit(_LOGITS), [-np.inf]])

Link = Callable[[Any], Any]
"""From scores to log-likelihoods of all nodes."""


@final
@dataclass(frozen=True)
class Reading:
    """One way to read the scores of a trained classifier."""

    name: str
    link: Link
    judge: Judge
    """How a temperature is fitted to it: see `hedgerow.likelihood.temperature.fit_temperature`."""
    temperature: float = 1.0

    def log_likelihood(self, theta: Any) -> Any:
        """Return the log-likelihoods of scores, tempered."""
        return self.link(theta if self.temperature == 1 else theta / self.temperature)


def readings(method: Method, name: str) -> list[Reading]:
    """Return how the scores of a method are read: by its own likelihood; those of the PS softmax by σ(β) too."""
    judge: Judge = "label" if "parent covers children" in method.laws else "nodes"
    found = [Reading(name, method.log_likelihood, judge)]
    if name == "ps-softmax":
        by_path = partial(likelihood.deep_rtc, method.hierarchy, scale="log")
        found.append(Reading(FROM_PS, by_path, "nodes"))
    return found


@torch.inference_mode()
def scores(classifier: Classifier, examples: Examples, device: torch.device) -> Iterator[tuple[slice, Tensor]]:
    """Yield the scores θ of examples, block by block, in order, with the rows that they are of."""
    classifier = classifier.to(device).eval()
    start = 0
    rows = EVALUATION_BATCH if device.type == "cpu" else 8 * EVALUATION_BATCH  # few large steps keep a GPU busy
    for inputs, _, _ in batches(examples, Order(len(examples), rows), device):
        theta = classifier(inputs.to(device)).float()
        yield slice(start, start + len(theta)), theta
        start += len(theta)


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
        What is measured, on what, and where.
    ways
        Readings; those of one list differ in name, the key tells the lists apart.
    parts
        Masks that split the examples; "all" is added. By default there is only "all".
    below_label
        What an answer below its label counts as.
    """
    hierarchy = classifier.method.hierarchy
    masks = parts or {"all": np.ones(len(examples), dtype=bool)}
    tallies = {
        (way, reading, part): Tally(hierarchy, below_label)
        for way, listed in ways.items()
        for reading in listed
        for part in masks
    }
    for rows, theta in scores(classifier, examples, device):
        for way, listed in ways.items():
            for reading in listed:
                log_q = reading.log_likelihood(theta)
                q = log_q if log_q.is_cuda else log_q.numpy()
                for part, mask in masks.items():
                    chosen = np.flatnonzero(mask[rows])
                    if len(chosen):
                        place: Any = torch.from_numpy(chosen).to(q.device) if log_q.is_cuda else chosen
                        tallies[way, reading, part].add(q[place], examples.labels[rows][chosen])
    results = []
    for way, listed in ways.items():
        for reading in listed:
            mine = {part: tallies[way, reading, part] for part in masks}
            if parts is not None:
                mine = {"all": Tally.joined(list(mine.values())), **mine}
            results += [
                {"way": way, "reading": reading.name, "part": part, **tally.result()}
                for part, tally in mine.items()
                if tally.examples
            ]
    return results


def _crm(hierarchy: Hierarchy, log_q: Any) -> Any:
    q = log_q.exp() if hasattr(log_q, "exp") else np.exp(log_q)
    return infer.risk_minimising(hierarchy, q, "depth distance", over="leaves")


@final
class Tally:
    """Curve and single rules of some examples, batch by batch."""

    def __init__(self, hierarchy: Hierarchy, below_label: BelowLabel = "label") -> None:
        self._hierarchy, self._below = hierarchy, below_label
        self._builder = CurveBuilder(hierarchy, scale="log", below_label=below_label)
        self._information = hierarchy.information()
        self._sums = {rule: np.zeros(len(STANDARD_METRICS)) for rule in (*RULES, "crm")}
        self._sure: list[NDArray[np.float64]] = []
        self._right: list[NDArray[np.float64]] = []
        self.examples = 0

    def add(self, log_q: Any, labels: NDArray[np.int64]) -> None:
        """Take in a batch of log-likelihoods [B, nodes], an array or a tensor, and labels."""
        hierarchy = self._hierarchy
        self._builder.update(log_q, labels)
        for rule in self._sums:
            nodes = _crm(hierarchy, log_q) if rule == "crm" else RULES[rule](hierarchy, log_q, "leaves", "log")
            answer = nodes if isinstance(nodes, np.ndarray) else nodes.cpu().numpy()
            pairs = Comparison.of(
                hierarchy, labels, answer, below_label=self._below, information=self._information
            )
            values = [metric.of(pairs) for metric in STANDARD_METRICS]
            self._sums[rule] += [value.sum() for value in values]
            if rule == "leaf":
                self._sure.append(_at(log_q, nodes))
                self._right.append(values[0])
        self.examples += len(labels)

    @classmethod
    def joined(cls, parts: list[Tally]) -> Tally:
        """Return the tally of the examples of all parts."""
        whole = cls(parts[0]._hierarchy, parts[0]._below)
        for part in parts:
            whole._builder.merge(part._builder)
            whole._sums = {rule: total + part._sums[rule] for rule, total in whole._sums.items()}
            whole._sure += part._sure
            whole._right += part._right
            whole.examples += part.examples
        return whole

    def result(self) -> dict[str, Any]:
        """Return summary figures, the points of single rules, and the curve at the thresholds `TAU`."""
        curve = self._builder.compute()
        names = [metric.name for metric in STANDARD_METRICS]
        rules = {
            rule: {name: _rounded(value / self.examples) for name, value in zip(names, total, strict=True)}
            for rule, total in self._sums.items()
        }
        at = np.searchsorted(-curve.threshold, -_LOG_TAU)
        error = calibration_error(np.concatenate(self._sure), np.concatenate(self._right))
        figures = curve.summary() | {
            "majority_F1": rules["majority"]["f1"],
            "majority_correct": rules["majority"]["correct"],
            "leaf_F1": rules["leaf"]["f1"],
            "leaf_exact": rules["leaf"]["exact"],
            "leaf_ECE": error,
        }
        return {
            "examples": self.examples,
            "summary": {name: _rounded(value) for name, value in figures.items()},
            "rules": rules,
            "curve": {
                "tau": TAU.tolist(),
                **{name: np.round(value[at], 5).tolist() for name, value in curve.values.items()},
            },
        }


def _at(log_q: Any, nodes: Any) -> NDArray[np.float64]:
    """Return the likelihood of one node of each row."""
    if isinstance(log_q, np.ndarray):
        return np.exp(np.take_along_axis(log_q, nodes[:, None], axis=1)[:, 0].astype(np.float64))
    likelihoods: NDArray[np.float64] = log_q.gather(1, nodes[:, None])[:, 0].double().exp().cpu().numpy()
    return likelihoods


def _rounded(value: float) -> float:
    return round(float(value), 8)
