"""Evaluations: everything that likelihoods and labels say about a model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood import BOTTOM, CERTAIN, from_probability, threshold_probability
from hedgerow.measure import metrics
from hedgerow.measure.bins import fixed
from hedgerow.measure.builder import STANDARD_METRICS, CurveBuilder
from hedgerow.measure.curve import CORRECT_LEVELS
from hedgerow.measure.metrics import Comparison
from hedgerow.measure.ranks import mistakes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from hedgerow.infer import SingleChild
    from hedgerow.likelihood import Scale
    from hedgerow.measure.bootstrap import Interval
    from hedgerow.measure.curve import OperatingCurve
    from hedgerow.measure.events import Events
    from hedgerow.measure.metrics import BelowLabel, Metric
    from hedgerow.tree import Hierarchy, Indices, InformationKind, Names

RULE_FIGURES = {
    "majority_F1": ("majority", metrics.f1),
    "majority_correct": ("majority", metrics.correct),
    "leaf_F1": ("leaf", metrics.f1),
    "leaf_exact": ("leaf", metrics.exact),
}
"""The summary figures that are means over the examples: of which rule, and of which metric."""
ABOUT = ("ids", "groups", "clusters", "texts", "images")
"""What may be known about an example, besides its label."""


@final
@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of each rule to every example, and what else is known about the examples."""

    predictions: Mapping[str, NDArray[np.int32]]
    """The node that each rule answers with."""
    confidence: Mapping[str, NDArray[np.float64]]
    """Its likelihood, a probability."""
    ids: Names | None = None
    groups: Names | None = None
    clusters: Names | None = None
    texts: Names | None = None
    images: Names | None = None

    def taken(self, rows: NDArray[Any] | slice) -> Answers:
        """Return the answers for some examples, given by a mask, by positions or as a slice."""
        about = {key: None if (values := getattr(self, key)) is None else values[rows] for key in ABOUT}
        return Answers(
            {rule: nodes[rows] for rule, nodes in self.predictions.items()},
            {rule: values[rows] for rule, values in self.confidence.items()},
            **about,
        )


class Measured(ABC):
    """What every evaluation is, exact or binned: a curve, single rules, and summary figures."""

    hierarchy: Hierarchy
    curve: OperatingCurve
    name: str
    information: InformationKind | NDArray[np.float64]
    below_label: BelowLabel
    single_child: SingleChild
    warnings: tuple[str, ...]

    @property
    @abstractmethod
    def rules(self) -> Mapping[str, Mapping[str, float]]:
        """The single operating point of each rule: rule -> metric -> mean."""

    def __len__(self) -> int:
        return self.curve.examples

    @property
    def scale(self) -> Scale:
        """The scale of the thresholds."""
        return self.curve.scale

    @cached_property
    def summary(self) -> dict[str, float]:
        """The figures that summarise the evaluation, all fractions: AP, AC, R@95C, majority_F1, leaf_exact, ..."""
        means = {name: self.rules[rule][metric.name] for name, (rule, metric) in RULE_FIGURES.items()}
        return self.curve.summary() | means

    @cached_property
    def points(self) -> dict[str, dict[str, float] | None]:
        """The points of the curve behind R@90C and R@95C: threshold and metrics; None if no point qualifies."""
        return {f"R@{round(100 * level)}C": self._point(level) for level in CORRECT_LEVELS}

    def _point(self, level: float) -> dict[str, float] | None:
        recall = np.where(self.curve.correct >= level, self.curve.recall, -1.0)
        best = int(np.argmax(recall))
        if recall[best] < 0:
            return None
        tau = float(self.curve.threshold[best])
        return {"threshold": tau, **{name: float(value[best]) for name, value in self.curve.values.items()}}

    def at_probability(self, tau: float) -> dict[str, float]:
        """Return every metric of the curve at a threshold given as a probability, whatever the curve's scale."""
        return self.curve.at(float(from_probability(tau, self.scale)))

    def to_dict(self) -> dict[str, Any]:
        """Return the results, ready for JSON: `examples`, `summary`, intervals, rules and settings."""
        hierarchy = self.hierarchy
        return {
            "name": self.name,
            "examples": len(self),
            "summary": self.summary,
            **self._spread(),
            "points": {
                name: None if point is None else self._for_json(point) for name, point in self.points.items()
            },
            "rules": self.rules,
            **self._more(),
            "scale": self.scale,
            "information": self.information if isinstance(self.information, str) else "custom",
            "below_label": self.below_label,
            "single_child": self.single_child,
            "tree": {
                "root": str(hierarchy.names[0]),
                "nodes": len(hierarchy),
                "leaves": len(hierarchy.leaves),
                "depth": int(hierarchy.depth.max()),
                "fingerprint": hierarchy.fingerprint,
            },
            "warnings": list(self.warnings),
        }

    def save(self, folder: str | PathLike[str]) -> None:
        """Write `evaluation.json`, `curve.npz`, `tree.json` and, without bins, `examples.npz` into a folder.

        The folder is created if it does not exist. An evaluation in it is replaced, but other files with these
        names are not. `evaluation.json` is written last, so a folder that contains it is complete.
        """
        from hedgerow.measure.folder import save

        save(self, folder)

    @abstractmethod
    def _spread(self) -> dict[str, Any]:
        """Return what is known about the uncertainty of the figures, ready for JSON."""

    def _more(self) -> dict[str, Any]:
        """Return further figures that only some evaluations have, ready for JSON."""
        return {}

    def _for_json(self, point: Mapping[str, float]) -> dict[str, float | None]:
        """Return a point with `tau`, its threshold as a probability; null for infinity, or if none gives it."""
        threshold = point["threshold"]
        tau = float(threshold_probability(threshold, self.scale))
        return {
            **point,
            "threshold": threshold if math.isfinite(threshold) else None,
            "tau": tau if tau < 1 or threshold == CERTAIN[self.scale] else None,
        }


@final
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Measured):
    """Everything about one model's scores on some examples; see `evaluate`."""

    hierarchy: Hierarchy
    events: Events
    """The labels, and every change of an answer as the threshold falls."""
    curve: OperatingCurve
    answers: Answers
    name: str = "scores"
    information: InformationKind | NDArray[np.float64] = "leaves"
    below_label: BelowLabel = "label"
    single_child: SingleChild = "skip"
    """Whether nodes with one child may be answers."""
    warnings: tuple[str, ...] = ()
    """What is allowed but often a mistake, as sentences."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """Bootstrap intervals of the summary figures, if asked for."""
    confidence: float = 0.95
    """The share of replicates inside an interval."""
    replicates: int = 0

    @classmethod
    def of_events(cls, builder: CurveBuilder) -> Evaluation:
        """Return the evaluation that follows from the events of a builder alone: the rules `leaf` and `majority`.

        An example's last event leads to the most likely leaf only if all leaves, and no other nodes, are the most
        specific. With any settings except information="leaves" and single_child="skip" that may not hold, so it is
        an error.
        """
        if not isinstance(builder.information, str) or builder.information != "leaves":
            raise ParameterError("Events determine the most likely leaf only with information='leaves'.")
        if builder.single_child != "skip":
            raise ParameterError("Events determine the most likely leaf only with single_child='skip'.")
        events = builder.events
        most_specific = events.answers_above(BOTTOM[builder.scale])
        predictions = {
            "leaf": np.where(builder.hierarchy.is_leaf[most_specific], most_specific, 0),
            "majority": events.answers_above(float(from_probability(0.5, builder.scale))),
        }
        return cls(
            builder.hierarchy, events, builder.compute(), Answers(predictions, {}), below_label=builder.below_label
        )

    @property
    def labels(self) -> NDArray[np.int32]:
        """Label of each example."""
        return self.events.label

    @property
    def builder(self) -> CurveBuilder:
        """A new curve builder that holds these examples."""
        builder = CurveBuilder(
            self.hierarchy,
            information=self.information,
            single_child=self.single_child,
            below_label=self.below_label,
            scale=self.scale,
        )
        builder.add(self.events)
        return builder

    @cached_property
    def rules(self) -> dict[str, dict[str, float]]:
        """The single operating point of each rule: rule -> metric -> mean."""
        return {
            rule: {metric.name: pairs.mean(metric) for metric in STANDARD_METRICS}
            for rule, pairs in self._pairs.items()
        }

    @cached_property
    def per_example(self) -> dict[str, NDArray[np.float64]]:
        """The summary figures that are means over the examples: one value per example."""
        return {name: self._pairs[rule].values(metric) for name, (rule, metric) in RULE_FIGURES.items()}

    @cached_property
    def ranks(self) -> dict[str, dict[str, dict[str, float | int | None]]]:
        """The mistakes of each rule at each rank, or depth: see `measure.mistakes`."""
        return {
            rule: mistakes(self.hierarchy, self.labels, nodes, below_label=self.below_label)
            for rule, nodes in self.answers.predictions.items()
        }

    def _more(self) -> dict[str, Any]:
        return {"ranks": self.ranks}

    @cached_property
    def _pairs(self) -> dict[str, Pairs]:
        settings: dict[str, Any] = {"below_label": self.below_label, "information": self.information}
        return {
            rule: Pairs.of(self.hierarchy, self.labels, nodes, **settings)
            for rule, nodes in self.answers.predictions.items()
        }

    def subset(self, mask: NDArray[np.bool_]) -> Evaluation:
        """Return the evaluation of some of the examples, without intervals."""
        if np.asarray(mask).dtype != bool or np.shape(mask) != (len(self),):
            raise ScoreError(f"A mask needs one True or False per example, {len(self):,} in all.")
        mask = np.asarray(mask)
        part = replace(self, events=self.events.taken(mask), answers=self.answers.taken(mask))
        return replace(part, curve=part.builder.compute(), intervals={}, replicates=0, warnings=())

    def _spread(self) -> dict[str, Any]:
        return {
            "confidence": self.confidence,
            "replicates": self.replicates,
            "intervals": {name: asdict(interval) for name, interval in self.intervals.items()},
        }

    @staticmethod
    def load(folder: str | PathLike[str]) -> Evaluation:
        """Read a folder written by `save`."""
        from hedgerow.measure.folder import load

        return load(folder)

    def __repr__(self) -> str:
        return f"Evaluation({self.name!r}, {len(self):,} examples, AP {self.summary['AP']:.3f})"

    if TYPE_CHECKING:  # attached by `hedgerow.show`
        plot: ClassVar[Callable[..., Any]]
        to_html: ClassVar[Callable[..., None]]
        _repr_html_: ClassVar[Callable[..., str]]


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """The distinct pairs of a label and an answer, in a fixed order, so that means have one too."""

    comparison: Comparison
    count: Indices
    """Number of examples of each pair."""
    place: Indices
    """The pair of each example."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, labels: NDArray[Any], answers: NDArray[Any], **settings: Any) -> Pairs:
        """Count the pairs; the settings are those of `Comparison.of`."""
        code = labels.astype(np.int64) * len(hierarchy) + answers
        distinct, place, count = np.unique(code, return_inverse=True, return_counts=True)
        label, answer = np.divmod(distinct, len(hierarchy))
        return cls(Comparison.of(hierarchy, label, answer, **settings), count, place)

    def mean(self, metric: Metric) -> float:
        """Return the mean of a metric over the examples."""
        return float(np.sum(metric.of(self.comparison) * self.count) / self.count.sum())

    def fixed_sum(self, metric: Metric) -> int:
        """Return the sum of a metric over the examples, in the units of `bins.UNIT`."""
        return int(np.sum(fixed(metric.of(self.comparison)) * self.count))

    def values(self, metric: Metric) -> NDArray[np.float64]:
        """Return the value of a metric for each example."""
        return np.asarray(metric.of(self.comparison)[self.place])
