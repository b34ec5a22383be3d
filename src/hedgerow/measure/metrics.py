"""How good an answer is: metrics M(label, prediction) for any two nodes of the tree.

A metric is one callable object that knows its name and direction:

>>> from hedgerow import Hierarchy, metrics
>>> h = Hierarchy.from_edges([("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren")])
>>> metrics.correct(h, h.indices(["robin", "robin"]), h.indices(["bird", "wren"])).tolist()
[1.0, 0.0]
>>> metrics.edge_distance.name, metrics.edge_distance.higher_is_better
('edge_distance', False)

A label that is not a leaf means that nothing more specific is known, so an answer below it counts as the label
itself, in every metric except `strictly_exact` and the ancestor-set metrics. ``below_label="wrong"`` switches that
off. Precision is 1 if the answer has no information; recall is 1 if the label has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError
from hedgerow.registry import Registry
from hedgerow.tree import BelowLabel, Hierarchy, Indices, InformationKind, Settings

if TYPE_CHECKING:
    from collections.abc import Callable


Values = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Labels and predictions, with the values that several metrics need computed once."""

    hierarchy: Hierarchy
    label: Indices
    answer: Indices
    """The predictions as given."""
    prediction: Indices
    """The predictions; those below their label are replaced by it (unless that counts as wrong)."""
    information: Values
    """How specific each node of the tree is."""

    @classmethod
    def of(
        cls, hierarchy: Hierarchy, label: ArrayLike, prediction: ArrayLike, settings: Settings | None = None
    ) -> Comparison:
        """Check and broadcast labels and predictions, given as names or node indices."""
        settings = settings or Settings()
        known, answer = np.broadcast_arrays(hierarchy.nodes(label), hierarchy.nodes(prediction))
        below = hierarchy.is_ancestor(known, answer) if settings.below_is_right else np.False_
        counted = np.where(below, known, answer)
        return cls(hierarchy, known, answer, counted, hierarchy.information(settings.information))

    @cached_property
    def lca(self) -> Indices:
        """Lowest common ancestor of label and prediction."""
        return np.asarray(self.hierarchy.lca(self.label, self.prediction))

    @cached_property
    def precision(self) -> Values:
        """Share of the answer's information that is right."""
        return _precision(self, self.information)

    @cached_property
    def recall(self) -> Values:
        """Share of the label's information that is found."""
        return _recall(self, self.information)

    @property
    def depth(self) -> Values:
        """Depth of each node of the tree, as floats for division."""
        return self.hierarchy.information("depth")


@final
@dataclass(frozen=True)
class Metric:
    """A named function of labels and predictions.

    Parameters
    ----------
    name
        What tables and curves call it.
    higher_is_better
        Its direction.
    definition
        The function, of a `Comparison`.
    is_fraction
        Whether its values lie between 0 and 1.
    is_binary
        Whether they are 0 or 1.
    """

    name: str
    higher_is_better: bool
    definition: Callable[[Comparison], NDArray[Any]]
    is_fraction: bool = False
    is_binary: bool = False

    def __call__(
        self,
        hierarchy: Hierarchy,
        label: ArrayLike,
        prediction: ArrayLike,
        *,
        below_label: BelowLabel = "label",
        information: InformationKind | ArrayLike = "leaves",
    ) -> Values:
        """Evaluate the metric for every pair.

        Parameters
        ----------
        hierarchy
            The tree.
        label, prediction
            Nodes, by name or index, with broadcasting.
        below_label
            How to count an answer below its label: as the "label" itself or as "wrong".
        information
            The measure of specificity, for the metrics that use one: see `Hierarchy.information`.

        Returns
        -------
        float64 array
            In the broadcast shape.
        """
        settings = Settings(information, below_label=below_label)
        return self.of(Comparison.of(hierarchy, label, prediction, settings))

    def of(self, pairs: Comparison) -> Values:
        """Evaluate the metric on prepared pairs; refuse values that would make means of anything."""
        values = np.asarray(self.definition(pairs), dtype=np.float64)
        if values.shape != pairs.label.shape:
            raise ParameterError(
                f"The metric {self.name!r} must give one value for each answer, {pairs.label.shape}, "
                f"not {values.shape}."
            )
        low, high = (0.0, 1.0) if self.is_fraction else (-np.finfo(np.float64).max, np.finfo(np.float64).max)
        wrong = ~((values >= low) & (values <= high))
        if wrong.any():
            kind = "between 0 and 1 (is_fraction=True)" if self.is_fraction else "a finite number"
            raise ParameterError(f"The metric {self.name!r} must be {kind}, not {values[wrong][0]:g}.")
        return values

    def __reduce__(self) -> str | tuple[Any, ...]:
        # The metrics of this module are pickled by name; others by value, if their definitions can be pickled.
        by_value = (Metric, tuple(vars(self).values()))
        return self.name if globals().get(self.name) is self else by_value


def _share(part: Values, whole: Values) -> Values:
    """Divide, with 0/0 = 1: nothing was asked for, and nothing is missing."""
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.ones(shape), where=np.asarray(whole) != 0)


def _f1(precision: Values, recall: Values) -> Values:
    total = np.maximum(precision + recall, np.finfo(np.float64).tiny)  # faster than a masked division
    return np.asarray(2 * precision * recall / total)


def _precision(c: Comparison, value: Values) -> Values:
    return _share(value[c.lca], value[c.prediction])


def _recall(c: Comparison, value: Values) -> Values:
    return _share(value[c.lca], value[c.label])


def _distance(c: Comparison, value: Values) -> Values:
    return value[c.label] + value[c.prediction] - 2 * value[c.lca]


def _set_sizes(c: Comparison) -> tuple[Values, Values, Values]:
    """Sizes of the ancestor sets of label and answer and of their intersection, without the root."""
    shared = c.hierarchy.lca(c.label, c.answer)
    return c.depth[c.label], c.depth[c.answer], c.depth[shared]


def _set_precision(c: Comparison) -> Values:
    _, answer, shared = _set_sizes(c)
    return _share(shared, answer)


def _set_recall(c: Comparison) -> Values:
    label, _, shared = _set_sizes(c)
    return _share(shared, label)


def _ruled_out(c: Comparison) -> Values:
    share_left: Values = c.hierarchy.leaf_count[c.prediction] / len(c.hierarchy.leaves)
    return correct.of(c) * (1 - share_left)


class CustomMetric(Protocol):
    """Any function of tree, labels and predictions, named by its `name` or `__name__`."""

    def __call__(self, hierarchy: Hierarchy, label: Any, prediction: Any, /) -> Any:
        """Return one value per pair."""


def name_of_metric(metric: Metric | CustomMetric) -> str:
    """Return the name by which a metric is shown and saved."""
    return str(getattr(metric, "name", None) or getattr(metric, "__name__", type(metric).__name__))


@final
@dataclass(frozen=True)
class _OfNodes:
    """A plain function of tree, labels and predictions as the definition of a metric."""

    function: CustomMetric

    def __call__(self, pairs: Comparison) -> Values:
        name = name_of_metric(self.function)
        try:
            signature(self.function).bind(pairs.hierarchy, pairs.label, pairs.prediction)
        except TypeError as error:
            raise ParameterError(
                f"The metric {name!r} must be a function (tree, labels, predictions): {error}."
            ) from None
        value = np.asarray(self.function(pairs.hierarchy, pairs.label, pairs.prediction), dtype=np.float64)
        if value.shape != pairs.label.shape:
            raise ParameterError(
                f"The metric {name!r} must return one value per pair, in shape "
                f"{pairs.label.shape}; got shape {value.shape}."
            )
        return value


def as_metric(given: str | Metric | CustomMetric) -> Metric:
    """Return the metric with a name or a path "package.module:object", or that a plain function defines.

    >>> as_metric("edge_distance").higher_is_better
    False
    """
    found: Any = METRICS.find(given) if isinstance(given, str) else given
    if isinstance(found, Metric):
        return found
    if not callable(found):
        raise ParameterError(f"A metric is a name or a function, not {found!r}.")
    about = (bool(getattr(found, name, False)) for name in ("is_fraction", "is_binary"))
    return Metric(name_of_metric(found), bool(getattr(found, "higher_is_better", True)), _OfNodes(found), *about)


METRICS: Registry[Metric] = Registry(
    "metric", group="hedgerow.metrics", check=lambda _, found: as_metric(found), importable=True
)
"""Every metric by its name; `METRICS.register` adds your own."""


def _fraction(name: str, definition: Callable[[Comparison], NDArray[Any]], *, is_binary: bool = False) -> Metric:
    """Add a metric from 0 to 1, of which more is better."""
    METRICS[name] = Metric(name, True, definition, True, is_binary)
    return METRICS[name]


def _cost(name: str, definition: Callable[[Comparison], NDArray[Any]]) -> Metric:
    """Add a metric of which less is better, in units of its own."""
    METRICS[name] = Metric(name, False, definition)
    return METRICS[name]


correct = _fraction("correct", lambda c: c.hierarchy.is_ancestor(c.prediction, c.label), is_binary=True)
"""Is the answer the label or an ancestor of it?"""

exact = _fraction("exact", lambda c: c.prediction == c.label, is_binary=True)
"""Is the answer the label?"""

strictly_exact = _fraction("strictly_exact", lambda c: c.answer == c.label, is_binary=True)
"""Is the answer the label? An answer below the label counts as wrong."""

precision = _fraction("precision", lambda c: c.precision)
"""Share of the answer's information that is right: ``I(lca) / I(prediction)``."""

recall = _fraction("recall", lambda c: c.recall)
"""Share of the label's information that is found: ``I(lca) / I(label)``."""

f1 = _fraction("f1", lambda c: _f1(c.precision, c.recall))
"""Harmonic mean of `precision` and `recall`, per example; 0 where both are 0."""

depth_precision = _fraction("depth_precision", lambda c: _precision(c, c.depth))
"""`precision` with depth in place of information (Wu and Palmer)."""

depth_recall = _fraction("depth_recall", lambda c: _recall(c, c.depth))
"""`recall` with depth in place of information (Wu and Palmer)."""

depth_f1 = _fraction("depth_f1", lambda c: _f1(_precision(c, c.depth), _recall(c, c.depth)))
"""Harmonic mean of `depth_precision` and `depth_recall`."""

lca_depth = Metric("lca_depth", True, lambda c: c.depth[c.lca])
"""Depth of the lowest common ancestor."""
METRICS[lca_depth.name] = lca_depth

edge_distance = _cost("edge_distance", lambda c: _distance(c, c.depth))
"""Number of edges between label and answer."""

information_distance = _cost("information_distance", lambda c: _distance(c, c.information))
"""Information of the label and the answer that they do not share, in bits."""

excess = _cost("excess", lambda c: c.information[c.prediction] - c.information[c.lca])
"""Information claimed and wrong, in bits: ``I(prediction) - I(lca)``."""

deficient = _cost("deficient", lambda c: c.information[c.label] - c.information[c.lca])
"""Information missed, in bits: ``I(label) - I(lca)``."""

depth_excess = _cost("depth_excess", lambda c: c.depth[c.prediction] - c.depth[c.lca])
"""Levels claimed and wrong."""

depth_deficient = _cost("depth_deficient", lambda c: c.depth[c.label] - c.depth[c.lca])
"""Levels missed."""

hierarchical_precision = _fraction("hierarchical_precision", _set_precision)
"""Share of the answer's ancestors (root excluded) that are ancestors of the label; its mean is the macro
average, see `micro_hierarchical` for the micro average."""

hierarchical_recall = _fraction("hierarchical_recall", _set_recall)
"""Share of the label's ancestors (root excluded) that are ancestors of the answer."""

hierarchical_f1 = _fraction("hierarchical_f1", lambda c: _f1(_set_precision(c), _set_recall(c)))
"""Harmonic mean of `hierarchical_precision` and `hierarchical_recall`, per example."""

coverage = _fraction("coverage", lambda c: _share(c.information[c.prediction], c.information.max()))
"""How specific the answer is, right or wrong: its share of the largest information (Goren et al.)."""

non_root = _fraction("non_root", lambda c: c.prediction != 0, is_binary=True)
"""Is the answer below the root? (Davis et al.)"""

true_negative_leaves = _fraction("true_negative_leaves", _ruled_out)
"""Share of the leaves that a correct answer rules out; 0 for a wrong one (Wu et al.)."""


def right_of_answered(correct: float, answered: float) -> float | None:
    """Return the share of the answers below the root that are right, from the shares of all; None without answers.

    The root is right for every label.

    >>> right_of_answered(correct=0.95, answered=0.1)
    0.5
    """
    return min(max(round((correct - 1 + answered) / answered, 12), 0.0), 1.0) if answered > 0 else None


def micro_hierarchical(hierarchy: Hierarchy, label: ArrayLike, prediction: ArrayLike) -> dict[str, float]:
    """Return hierarchical precision, recall and F1, micro-averaged: set sizes are summed before dividing.

    >>> from hedgerow import Hierarchy
    >>> edges = [("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren")]
    >>> h = Hierarchy.from_edges(edges)
    >>> micro_hierarchical(h, h.indices(["robin", "robin"]), h.indices(["bird", "wren"]))
    {'precision': 0.666..., 'recall': 0.5, 'f1': 0.571...}
    """
    sizes = _set_sizes(Comparison.of(hierarchy, label, prediction))
    label, answer, shared = (np.asarray(size.sum()) for size in sizes)
    precision, recall = _share(shared, answer), _share(shared, label)
    return {"precision": float(precision), "recall": float(recall), "f1": float(_f1(precision, recall))}
