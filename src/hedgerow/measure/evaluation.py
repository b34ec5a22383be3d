"""Evaluations: everything that likelihoods and labels say about a model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, final

import msgspec
import numpy as np

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.files import Count, Document, printable
from hedgerow.likelihood import (
    BOTTOM,
    CERTAIN,
    Pooling,
    Scale,
    Treatment,
    from_probability,
    threshold_probability,
)
from hedgerow.measure import metrics
from hedgerow.measure.bootstrap import Interval  # noqa: TC001  (msgspec reads annotations)
from hedgerow.measure.builder import STANDARD_METRICS, CurveBuilder
from hedgerow.measure.clusters import Clusters
from hedgerow.measure.curve import CORRECT_LEVELS, OperatingCurve
from hedgerow.measure.events import Part
from hedgerow.measure.metrics import Comparison, CustomMetric, Metric, as_metric
from hedgerow.measure.ranks import mistakes
from hedgerow.measure.saved import (
    AGAIN,
    Measured,
    examples_in,
    packed,
    packed_examples,
    unpacked,
    unpacked_examples,
    write_folder,
)
from hedgerow.score_files import Examples
from hedgerow.tree import Hierarchy, Indices, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from hedgerow.measure.events import Events

RULE_FIGURES = {
    "majority_F1": ("majority", metrics.f1),
    "majority_correct": ("majority", metrics.correct),
    "leaf_F1": ("leaf", metrics.f1),
    "leaf_exact": ("leaf", metrics.exact),
}
"""The summary figures that are means over the examples: of which rule, and of which metric."""

_SAVED = ("name", "sizes", "warnings", "intervals", "level", "replicates")


class _About(Measured):
    rules: list[str]
    name: str
    sizes: list[tuple[str, Count]]
    warnings: list[str]
    intervals: dict[str, Interval]
    level: Annotated[float, msgspec.Meta(ge=0, le=1)]
    replicates: Count
    temperature: Annotated[float, msgspec.Meta(gt=0)]
    prior: str | None
    pool: Pooling | None


_EVALUATION = Document("hedgerow evaluation", 3, _About, "an evaluation", AGAIN)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Everything about one model's scores on some examples; see `evaluate`."""

    hierarchy: Hierarchy
    events: Events
    """The labels, and every change of an answer as the threshold falls."""
    curve: OperatingCurve
    examples: Examples
    """What is known of the examples, and what each rule answers to them: see `predictions`, `confidence`."""
    name: str = "scores"
    settings: Settings = field(default_factory=Settings)
    """What counts as specific and as right."""
    metrics: tuple[Metric, ...] = ()
    """Those measured in addition to the standard ones: see `measuring`."""
    sizes: tuple[tuple[str, int], ...] = ()
    """The name and the number of examples of each part, in order."""
    warnings: tuple[str, ...] = ()
    """Signs of likely mistakes, as sentences."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """Bootstrap intervals of the summary figures, if requested."""
    level: float = 0.95
    """The share of replicates inside an interval."""
    replicates: int = 0
    treatment: Treatment = field(default_factory=Treatment)
    """What was done to the likelihoods: temperature, prior, pooling of events."""

    @classmethod
    def of_events(cls, builder: CurveBuilder) -> Evaluation:
        """Return the evaluation that follows from the events of a builder alone: the rules `leaf` and `majority`.

        An example's last event leads to the most likely leaf only if all leaves, and no other nodes, are the most
        specific; otherwise, this is an error.
        """
        candidates = builder.candidates
        if not np.array_equal(candidates.nodes[candidates.start[-2] :], builder.hierarchy.leaves):
            raise ParameterError(
                "Events determine the most likely leaf only if all leaves, and no other nodes, are the most "
                "specific, as they are by default."
            )
        events = builder.events
        most_specific = events.answers_above(BOTTOM[builder.scale])
        predictions = {
            "prediction:leaf": np.where(builder.hierarchy.is_leaf[most_specific], most_specific, 0),
            "prediction:majority": events.answers_above(float(from_probability(0.5, builder.scale))),
        }
        examples = Examples.holding(len(events.label), predictions)
        return cls(builder.hierarchy, events, builder.compute(), examples, settings=builder.settings)

    def __len__(self) -> int:
        return self.curve.examples

    @property
    def scale(self) -> Scale:
        """The scale of the thresholds."""
        return self.curve.scale

    @cached_property
    def predictions(self) -> dict[str, NDArray[np.int32]]:
        """The node that each rule answers every example with: rule -> [examples]."""
        return self.examples.grouped("prediction")

    @cached_property
    def confidence(self) -> dict[str, NDArray[np.float64]]:
        """The likelihood of these answers, as probabilities: rule -> [examples]."""
        return self.examples.grouped("confidence")

    def summary(self) -> dict[str, float]:
        """Return the figures that summarise the evaluation: AP, AC, R@95C, majority_F1, ...

        All are fractions, except those of additional metrics that are none. Without leaf scores, leaf_F1 and
        leaf_exact are NaN, and null in JSON.
        """
        means = {name: self._figure(rule, metric) for name, (rule, metric) in self._rule_figures.items()}
        return self.curve.summary() | means

    def _figure(self, rule: str, metric: Metric) -> float:
        return self.rules[rule][metric.name] if rule in self.rules else math.nan

    @property
    def has_leaf_scores(self) -> bool:
        """Whether some leaf has a likelihood for some example; if not, the rule `leaf` has no answers."""
        return bool(self.hierarchy.is_leaf[self.predictions["leaf"]].any())

    def measuring(self, metrics: Iterable[str | Metric | CustomMetric]) -> Evaluation:
        """Return the evaluation with more metrics, in its curve, its rules and its summary; without intervals.

        Parameters
        ----------
        metrics
            Names in `hedgerow.metrics.METRICS`, metrics, or functions (tree, label, prediction).

        Examples
        --------
        >>> import hedgerow as hr
        >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> found = hr.evaluate(h, [[1, 0.7, 0.5, 0.2, 0.3]], ["cat"]).measuring(["edge_distance"])
        >>> found.summary()["majority_edge_distance"], found.curve.at(0.8)["edge_distance"]
        (1.0, 2.0)
        """
        known = {*STANDARD_METRICS, *self.metrics}
        more = [metric for metric in dict.fromkeys(map(as_metric, metrics)) if metric not in known]
        if not more:
            return self
        measured = replace(self, metrics=(*self.metrics, *more), intervals={}, replicates=0)
        return replace(measured, curve=measured.builder.compute())

    @cached_property
    def figures(self) -> dict[str, tuple[str, Metric]]:
        """The summary figures of additional metrics: of which rule, and of which metric."""
        return {
            f"{rule}_{metric.name}": (rule, metric) for rule in ("majority", "leaf") for metric in self.metrics
        }

    @property
    def _rule_figures(self) -> dict[str, tuple[str, Metric]]:
        return RULE_FIGURES | self.figures

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

    def answered_at(self, thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of answers below the root at each threshold, on the scale of the curve."""
        moved = self.events.count > 0
        first = np.sort(self.events.score[(np.cumsum(self.events.count) - self.events.count)[moved]])
        at_root = np.searchsorted(first, thresholds, side="right") + (~moved).sum()
        return np.asarray(1 - at_root / len(self))

    @cached_property
    def answered(self) -> dict[str, dict[str, float | None]]:
        """The share of answers below the root, and of those the share that is right: each rule, R@90C, R@95C."""
        shares = {
            rule: (values["correct"], float((self.predictions[rule] != 0).mean()))
            for rule, values in self.rules.items()
        }
        for name, point in self.points.items():
            if point is not None:
                shares[name] = point["correct"], float(self.answered_at(np.array([point["threshold"]]))[0])
        return {
            name: {"share": share, "correct": metrics.right_of_answered(correct, share)}
            for name, (correct, share) in shares.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the results, ready for JSON: `examples`, `summary`, intervals, rules and settings."""
        hierarchy = self.hierarchy
        return {
            "name": self.name,
            "examples": len(self),
            "clusters": None if self.clusters.unit == "example" else self.clusters.number,
            "summary": {name: None if math.isnan(value) else value for name, value in self.summary().items()},
            "level": self.level,
            "replicates": self.replicates,
            "intervals": msgspec.to_builtins(self.intervals),
            "points": {
                name: None if point is None else self._for_json(point) for name, point in self.points.items()
            },
            "rules": self.rules,
            "answered": self.answered,
            "macro": self.macro,
            "ranks": self.ranks,
            "scale": self.scale,
            **vars(self.treatment),
            "settings": self.settings.to_dict(),
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
        """Write `examples.npz`, the whole evaluation, and `evaluation.json`, its figures to read, into a folder.

        The folder is created if it does not exist. An evaluation in it is replaced, but other files with these
        names are not.
        """
        about, arrays = packed(self.hierarchy, self.settings, self.scale, self.events)
        about |= {"rules": list(self.predictions), **{name: getattr(self, name) for name in _SAVED}}
        about |= vars(self.treatment)
        write_folder(folder, _EVALUATION, about, arrays | packed_examples(self.examples), self.to_dict())

    def _for_json(self, point: Mapping[str, float]) -> dict[str, float | None]:
        """Return a point with `tau`, its threshold as a probability; null for infinity, or if none gives it."""
        threshold = point["threshold"]
        tau = float(threshold_probability(threshold, self.scale))
        return {
            **point,
            "threshold": threshold if math.isfinite(threshold) else None,
            "tau": tau if tau < 1 or threshold == CERTAIN[self.scale] else None,
        }

    @property
    def labels(self) -> NDArray[np.int32]:
        """Label of each example."""
        return self.events.label

    @property
    def clusters(self) -> Clusters:
        """What the bootstrap draws: the clusters of the examples, or the examples."""
        return Clusters.resampled(self.examples.clusters, len(self))

    @property
    def builder(self) -> CurveBuilder:
        """A new curve builder that holds these examples."""
        builder = CurveBuilder(self.hierarchy, metrics=self.metrics, **vars(self.settings), scale=self.scale)
        builder.add(self.events)
        return builder

    @cached_property
    def rules(self) -> dict[str, dict[str, float]]:
        """The single operating point of each rule that has answers: rule -> metric -> mean."""
        return {
            rule: {metric.name: pairs.mean(metric) for metric in self._all_metrics}
            for rule, pairs in self._pairs.items()
        }

    @cached_property
    def classes(self) -> dict[str, dict[str, dict[str, float]]]:
        """The metrics of each rule for each label: rule -> name of the label -> `examples` and means."""
        names = self.hierarchy.names
        found = {}
        for rule, pairs in self._pairs.items():
            labels, examples = pairs.labels
            means = {metric.name: pairs.means_by_label(metric) for metric in self._all_metrics}
            found[rule] = {
                str(names[label]): {"examples": int(number)}
                | {name: float(values[i]) for name, values in means.items()}
                for i, (label, number) in enumerate(zip(labels, examples, strict=True))
            }
        return found

    @cached_property
    def macro(self) -> dict[str, dict[str, float]]:
        """The mean of `classes` for each rule, in which every label counts once: rule -> metric -> mean."""
        return {
            rule: {metric.name: float(pairs.means_by_label(metric).mean()) for metric in self._all_metrics}
            for rule, pairs in self._pairs.items()
        }

    @property
    def _all_metrics(self) -> tuple[Metric, ...]:
        return (*STANDARD_METRICS, *self.metrics)

    @cached_property
    def per_example(self) -> dict[str, NDArray[np.float64]]:
        """The summary figures that are means over the examples: one value per example."""
        return {
            name: self._pairs[rule].values(metric)
            for name, (rule, metric) in self._rule_figures.items()
            if rule in self._pairs
        }

    @cached_property
    def ranks(self) -> dict[str, dict[str, dict[str, float | int | None]]]:
        """The mistakes of each rule at each rank, or depth: see `measure.mistakes`."""
        return {
            rule: mistakes(self.hierarchy, self.labels, self.predictions[rule], self.settings)
            for rule in self._pairs
        }

    @cached_property
    def _pairs(self) -> dict[str, Pairs]:
        return {
            rule: Pairs.of(self.hierarchy, self.labels, nodes, self.settings)
            for rule, nodes in self.predictions.items()
            if rule != "leaf" or self.has_leaf_scores
        }

    def subset(self, mask: NDArray[np.bool_]) -> Evaluation:
        """Return the evaluation of some of the examples, without intervals."""
        if np.asarray(mask).dtype != bool or np.shape(mask) != (len(self),):
            raise ScoreError(f"A mask needs one True or False per example, {len(self):,} in all.")
        mask = np.asarray(mask)
        part = replace(self, events=self.events.take(mask), examples=self.examples.take(mask), sizes=())
        return replace(part, curve=part.builder.compute(), intervals={}, replicates=0, warnings=())

    @property
    def parts(self) -> list[Part]:
        """The examples, part by part, as they were merged."""
        end, parts = 0, []
        for name, count in self.sizes or ((self.name, len(self)),):
            rows = slice(end, end := end + count)
            parts.append(Part(name, self.events.take(rows), self.examples.take(rows)))
        return parts

    @staticmethod
    def load(folder: str | PathLike[str]) -> Evaluation:
        """Read a folder written by `save`."""
        with _EVALUATION.reading_archive(examples_in(folder)) as (about, arrays):
            hierarchy, settings, events = unpacked(about, arrays)
            examples = len(events.label)
            if not examples or sum(count for _, count in about.sizes) not in (0, examples):
                raise ValueError("the numbers of examples of its parts do not add up")
            builder = CurveBuilder(hierarchy, **vars(settings), scale=about.scale)
            return Evaluation(
                hierarchy,
                events,
                builder.holding(events).compute(),
                unpacked_examples(arrays, about.rules, examples, len(hierarchy)),
                name=printable(about.name),
                settings=settings,
                sizes=tuple((printable(name), count) for name, count in about.sizes),
                warnings=tuple(map(printable, about.warnings)),
                intervals=about.intervals,
                level=about.level,
                replicates=about.replicates,
                treatment=Treatment(about.temperature, about.prior, about.pool),
            )

    def __repr__(self) -> str:
        return f"Evaluation({self.name!r}, {len(self):,} examples, AP {self.summary()['AP']:.3f})"

    if TYPE_CHECKING:  # attached by `hedgerow.show`
        plot: ClassVar[Callable[..., Any]]
        to_html: ClassVar[Callable[..., None]]
        to_table: ClassVar[Callable[..., None]]
        _repr_html_: ClassVar[Callable[..., str]]


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """The distinct pairs of a label and an answer, in a fixed order, so that sums over them are reproducible."""

    comparison: Comparison
    count: Indices
    """Number of examples of each pair."""
    place: Indices
    """The pair of each example."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, labels: NDArray[Any], answers: NDArray[Any], settings: Settings) -> Pairs:
        """Count the pairs."""
        code = labels.astype(np.int64) * len(hierarchy) + answers
        distinct, place, count = np.unique(code, return_inverse=True, return_counts=True)
        label, answer = np.divmod(distinct, len(hierarchy))
        return cls(Comparison.of(hierarchy, label, answer, settings), count, place)

    def mean(self, metric: Metric) -> float:
        """Return the mean of a metric over the examples."""
        return float(np.sum(metric.of(self.comparison) * self.count) / self.count.sum())

    @cached_property
    def labels(self) -> tuple[Indices, Indices]:
        """The distinct labels, and the number of examples of each."""
        label, place = np.unique(self.comparison.label, return_inverse=True)
        return label, np.bincount(place, weights=self.count).astype(np.int64)

    def means_by_label(self, metric: Metric) -> NDArray[np.float64]:
        """Return the mean of a metric over the examples of each label."""
        label, number = self.labels
        place = np.searchsorted(label, self.comparison.label)
        return np.bincount(place, weights=metric.of(self.comparison) * self.count) / number

    def values(self, metric: Metric) -> NDArray[np.float64]:
        """Return the value of a metric for each example."""
        return np.asarray(metric.of(self.comparison)[self.place])
