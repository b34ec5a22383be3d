"""Curves built batch by batch."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack, final

import numpy as np

from hedgerow.arrays import as_numpy, map_row_blocks
from hedgerow.errors import ParameterError, ScoreError, warn
from hedgerow.files import Document
from hedgerow.infer import Candidates
from hedgerow.likelihood import Likelihoods, Scale, check_scale
from hedgerow.measure import metrics as standard
from hedgerow.measure.curve import OperatingCurve
from hedgerow.measure.events import Events
from hedgerow.measure.metrics import Comparison, CustomMetric, Metric, as_metric, name_of_metric
from hedgerow.measure.saved import Measured, packed, unpacked
from hedgerow.tree import Hierarchy, Indices, SettingKeywords, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray


STANDARD_METRICS = (
    standard.correct,
    standard.exact,
    standard.precision,
    standard.recall,
    standard.f1,
    standard.coverage,
)
"""The metrics of every curve."""

_ADDED_AT_ONCE = 1 << 16
_CHANCE = 0.01  # what is less likely than this is not taken for a coincidence
_BYTES_OF_PAIRS = 32  # so that 65,536 pairs are compared at once


class _About(Measured):
    metrics: list[str]


_BUILDER = Document("hedgerow curve builder", 1, _About, "a curve builder", "Make it again.")


@final
class CurveBuilder:
    """Builds an operating curve batch by batch.

    Memory grows with the number of threshold events, a handful per example, never with examples x nodes. Builders
    for parts of the data can be merged: the curve is bit-identical, however the data was split.

    Parameters
    ----------
    hierarchy
        The tree.
    metrics
        Metrics in addition to the standard ones: from `hedgerow.metrics`, their names, or functions (tree, label,
        prediction) with a `name` or `__name__`.
    scale
        The scale of the scores: likelihoods ("probability"), their logarithms or their logits. Any increasing map
        of the likelihoods gives the same curve; choose one that does not saturate.
    **settings
        What counts as specific and as right: the fields of `hedgerow.tree.Settings`.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> b = hr.CurveBuilder(h)
    >>> b.update([[1, 0.7, 0.5, 0.2, 0.3]], ["cat"])
    >>> b.update([[1, 0.9, 0.2, 0.7, 0.1]], ["cat"])
    >>> curve = b.compute()
    >>> curve.threshold.tolist(), curve.correct.tolist()
    ([0.9, 0.7, 0.5, 0.0], [1.0, 1.0, 0.5, 0.5])
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        *,
        metrics: Sequence[Metric | CustomMetric] = (),
        scale: Scale = "probability",
        **settings: Unpack[SettingKeywords],
    ) -> None:
        check_scale(scale)
        self.hierarchy = hierarchy
        self.settings = Settings().updated(**settings)
        self.scale: Scale = scale
        self.measures = Measures.of(hierarchy, (*STANDARD_METRICS, *metrics), self.settings)
        self.candidates = Candidates.of(hierarchy, self.settings)
        self._parts: list[Events] = []
        self.numbered = np.zeros(len(hierarchy), dtype=bool)
        """[nodes] Which nodes were labels given as integers without `classes`."""

    @property
    def events(self) -> Events:
        """All threshold events so far."""
        if len(self._parts) > 1:
            self._parts = [Events.concatenate(self._parts)]
        return self._parts[0] if self._parts else Events.none()

    def update(self, q: Any, labels: ArrayLike, classes: ArrayLike | None = None) -> None:
        """Add a batch.

        Parameters
        ----------
        q
            [B, nodes] likelihoods on the builder's scale: `Likelihoods`, `SparseLikelihoods`, an array, a tensor,
            or a table whose column names are node names.
        labels
            B labels: names or integers, any nodes.
        classes
            Names of nodes in which integer labels are positions; without it, they are node indices.
        """
        self.add(self.events_of(q, labels, classes))

    def events_of(self, q: Any, labels: ArrayLike, classes: ArrayLike | None = None) -> Events:
        """Return the events of a batch without adding them; the parameters are those of `update`."""
        likelihoods = Likelihoods.of(self.hierarchy, q, self.scale, classes)
        given = as_numpy(labels)
        nodes = self.hierarchy.nodes(given, classes)
        events = Events.of(likelihoods, nodes, self.candidates)
        if classes is None and given.dtype.kind in "iu":
            self.numbered[nodes] = True
        return events

    def add(self, events: Events) -> None:
        """Add examples whose events are already known."""
        self._parts.append(events)

    def merge(self, other: CurveBuilder) -> None:
        """Add the examples of another builder with the same tree and settings."""
        require_same(self.identity, other.identity)
        self.numbered |= other.numbered
        self._parts.extend(other._parts)

    def compute(self) -> OperatingCurve:
        """Return the curve of all examples so far."""
        warn_of_class_numbers(self.hierarchy, self.numbered)
        threshold, sums, examples = self._sums()
        if not examples:
            raise ScoreError("A curve needs at least one example.")
        return OperatingCurve(threshold, self.measures.means(sums, examples), examples, self.scale)

    def holding(self, events: Events) -> CurveBuilder:
        """Return a builder with the same settings and the given examples."""
        other = copy.copy(self)
        other._parts = [events]
        return other

    @property
    def identity(self) -> dict[str, Any]:
        """What builders must have in common to be merged."""
        return {
            "tree": self.hierarchy,
            "metrics": list(self.measures.metrics.values()),
            "settings": self.settings,
            "scale": self.scale,
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tree, the settings and the state of the builder to a file, an `.npz` archive; see `load`."""
        about, arrays = packed(self.hierarchy, self.settings, self.scale, self.events)
        about["metrics"] = list(self.measures.metrics)
        _BUILDER.write_archive(path, about, arrays | {"numbered": self.numbered})

    @staticmethod
    def load(path: str | PathLike[str], *, metrics: Sequence[Metric | CustomMetric] = ()) -> CurveBuilder:
        """Read a builder written by `save`; it continues where that one stopped.

        Parameters
        ----------
        path
            The file.
        metrics
            Your own metrics, if it was made with any; those of `hedgerow.metrics` are found by name.
        """
        with _BUILDER.reading_archive(path) as (about, arrays):
            known: dict[str, Any] = standard.METRICS | {name_of_metric(metric): metric for metric in metrics}
            for name in about.metrics:
                if name not in known:
                    raise ParameterError(
                        f"{path} was made with the metric {name!r}, which is not one of hedgerow's. Pass it to "
                        f"load: metrics=[...]."
                    )
            hierarchy, settings, events = unpacked(about, arrays)
            its = [known[name] for name in about.metrics]
            builder = CurveBuilder(hierarchy, metrics=its, **vars(settings), scale=about.scale)
            if list(builder.measures.metrics) != about.metrics:
                raise ValueError("its metrics do not begin with those that every curve has")
            builder.numbered = arrays.take("numbered", np.bool_, len(hierarchy))
            builder.add(events)
            return builder

    def _sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        events = self.events
        order, last, threshold = events.descending(self.scale)
        labels, number = events.distinct_labels
        # One more column than there are events, for the point before the first; the rest is done in place.
        sums = np.empty((len(self.measures.metrics), len(order) + 1))
        sums[:, 0] = [np.sum(at_root * number) for at_root in self.measures.at_root(labels)]
        self.measures.changes(events, order, sums[:, 1:])
        map_row_blocks(lambda rows: _add_up(sums[rows]), len(sums), sums[:1].nbytes)
        if isinstance(last, np.ndarray):
            sums = sums[:, np.append(0, last + 1)]
        return threshold, sums, len(events.label)


def operating_curve(
    hierarchy: Hierarchy,
    q: Any,
    labels: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    metrics: Sequence[Metric | CustomMetric] = (),
    scale: Scale | None = None,
    **settings: Unpack[SettingKeywords],
) -> OperatingCurve:
    """Return the exact operating curve for likelihoods [examples, nodes] and labels.

    `CurveBuilder` builds the same curve batch by batch, and explains the parameters. `scale` is that of plain
    likelihoods, "probability" by default; `Likelihoods` carry their own. `classes` are the names in which integer
    labels are positions; without it, they are node indices.

    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> curve = hr.operating_curve(h, [[1, 0.7, 0.5, 0.2, 0.3]], ["cat"])
    >>> curve.at(0.6)["correct"], curve.at(0.6)["exact"]
    (1.0, 0.0)
    """
    likelihoods = Likelihoods.of(hierarchy, q, scale, classes)
    builder = CurveBuilder(hierarchy, metrics=metrics, scale=likelihoods.scale, **settings)
    builder.update(likelihoods, labels, classes)
    return builder.compute()


def require_same(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise an error that names what differs between the identities of two builders.

    >>> require_same({"rules": ["leaf"], "scale": "log"}, {"rules": ["leaf"], "scale": "probability"})
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: Only builders with the same rules and scale can be merged; these differ in
    scale ('log' and 'probability').
    """
    differ = []
    for name, value in ours.items():
        other = theirs[name]
        if value == other or (isinstance(value, Hierarchy) and value.to_dict() == other.to_dict()):
            continue  # a tree that was saved has no aliases
        if isinstance(value, Settings):
            differ.append(value.differences(other))
        elif not isinstance(value, Hierarchy):
            differ.append(f"{name} ({value!r} and {other!r})")
        elif value.fingerprint != other.fingerprint:
            starts = " and ".join(f"{tree.fingerprint[:12]}..." for tree in (value, other))
            differ.append(f"{name} ({len(value):,} and {len(other):,} nodes, fingerprints {starts})")
        else:
            differ.append(f"{name} (the same nodes, but in another order or with other ranks or titles)")
    if differ:
        same = " and ".join(", ".join(ours).rsplit(", ", 1))
        raise ParameterError(
            f"Only builders with the same {same} can be merged; these differ in {', '.join(differ)}."
        )


def warn_of_class_numbers(hierarchy: Hierarchy, used: NDArray[np.bool_]) -> None:
    """Warn, at the line of the caller's own code, if node indices look like class numbers.

    Class numbers lie below the number of leaves. The more node indices there are, the less likely it is that they
    all do; and if all of them are leaves, nothing is suspicious.

    Parameters
    ----------
    hierarchy
        The tree.
    used
        [nodes] Which nodes are labels given as integers without `classes`.
    """
    leaves, count = len(hierarchy.leaves), np.count_nonzero(used)
    if not count or used[leaves:].any() or hierarchy.is_leaf[used].all():
        return
    drawn = np.arange(count)
    chance = float(np.prod((leaves - drawn) / (len(hierarchy) - drawn)))
    if chance < _CHANCE:
        warn(
            f"The labels are integers and were taken as node indices, but all {count:,} different ones lie below "
            f"{leaves:,}, the number of leaves, as class numbers would. If they are class numbers, pass the names "
            f"of the classes: classes=names. If they are node indices, pass classes=hierarchy.names."
        )


def _add_up(rows: NDArray[np.float64]) -> None:
    """Replace each row by its running sums, in parts, without extra memory."""
    for row in rows:
        for start in range(0, len(row) - 1, _ADDED_AT_ONCE):
            part = row[start : start + _ADDED_AT_ONCE + 1]  # it starts with the last entry of the previous part
            part[:] = np.cumsum(part)


@final
@dataclass(frozen=True, eq=False)
class Measures:
    """The metrics of a curve, and how to evaluate them."""

    hierarchy: Hierarchy
    metrics: Mapping[str, Metric]
    settings: Settings
    """With the information of every node as an array."""

    @classmethod
    def of(
        cls, hierarchy: Hierarchy, metrics: Iterable[str | Metric | CustomMetric], settings: Settings
    ) -> Measures:
        """Name the metrics and compute the information of every node."""
        named: dict[str, Metric] = {}
        for metric in map(as_metric, metrics):
            if named.setdefault(metric.name, metric) != metric:
                raise ParameterError(f"Two metrics are called {metric.name!r}; give one of them another `name`.")
        return cls(hierarchy, named, replace(settings, information=hierarchy.information(settings.information)))

    def at_root(self, labels: NDArray[Any]) -> list[NDArray[np.float64]]:
        """Return the values of each metric for some labels if every answer is the root."""
        return self.values(labels, np.zeros_like(labels))

    def values(self, labels: NDArray[Any], answers: NDArray[Any]) -> list[NDArray[np.float64]]:
        """Return the values of each metric for some labels and answers."""
        pairs = self._compare(labels, answers)
        return [metric.of(pairs) for metric in self.metrics.values()]

    def changes(self, events: Events, order: Indices, result: NDArray[np.float64]) -> None:
        """Write to `result` how much each event, in the given order, changes each metric: [metrics, events]."""
        # The answer before each event is compared again instead of being looked up among the events: this is more
        # arithmetic, but in blocks that stay in the cache.
        _ = events.moves  # computed once, not by every thread

        def work(block: slice) -> None:
            label, before, after = events.moves_of(order[block])
            old, new = self._compare(label, before), self._compare(label, after)
            for metric, row in zip(self.metrics.values(), result, strict=True):
                np.subtract(metric.of(new), metric.of(old), out=row[block])

        map_row_blocks(work, len(order), _BYTES_OF_PAIRS)

    def means(self, sums: Iterable[NDArray[np.float64]], examples: float) -> dict[str, NDArray[np.float64]]:
        """Divide the sums of each metric, in place; fractions are clipped to 0 .. 1, in case of rounding."""
        values = dict(zip(self.metrics, sums, strict=True))
        fractions = [value for name, value in values.items() if self.metrics[name].is_fraction]

        def divide(points: slice) -> None:
            for value in values.values():
                value[points] /= examples
            for value in fractions:
                np.clip(value[points], 0, 1, out=value[points])

        map_row_blocks(divide, min(map(len, values.values())), 8 * len(values))
        return values

    def _compare(self, label: NDArray[Any], prediction: NDArray[Any]) -> Comparison:
        return Comparison.of(self.hierarchy, label, prediction, self.settings)
