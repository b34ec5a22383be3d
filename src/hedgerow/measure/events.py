"""Threshold events: what a data set's answers do as the threshold falls.

With the threshold at the top of its scale every answer is the root. As it falls, each example's answer moves
through its ordered Pareto set; every such move is one *event*, and happens when the threshold drops below the
score of the node moved to. Labels and events are all that curves, summaries and thresholds ever need of the
scores: a few integers and one number per event, instead of one number per example and node.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from hedgerow.arrays import as_numpy, as_rows, map_row_blocks
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood import BOTTOM, RangeCheck, Scale
from hedgerow.measure.metrics import Comparison, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.infer import Candidates
    from hedgerow.measure.metrics import BelowLabel
    from hedgerow.tree import Hierarchy, Indices, InformationKind

_BYTES_OF_PAIRS = 32  # decides how many pairs are compared at once: 65,536
_SORTED_AT_ONCE = 1 << 18  # about how many events are sorted at once
_SAMPLE = 32  # how many scores are looked at to choose where a range of scores ends


@final
@dataclass(frozen=True, eq=False)
class Events:
    """The labels of some examples and the moves of their answers, each example's from conservative to specific."""

    label: NDArray[np.int32]
    """Label of each example."""
    count: NDArray[np.int32]
    """Number of events of each example."""
    node: NDArray[np.int32]
    """The answer after each event."""
    score: NDArray[np.float64]
    """The threshold below which each event has happened."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, q: Any, labels: ArrayLike, candidates: Candidates, scale: Scale) -> Events:
        """Find the events of a batch of likelihoods, an array or a tensor [B, nodes]."""
        q = as_rows(q, hierarchy)
        label = hierarchy.nodes(as_numpy(labels))
        if label.shape != q.shape[:1]:
            raise ScoreError(
                f"Likelihoods must be [examples, nodes] with one label an example; got shapes {tuple(q.shape)} "
                f"and {label.shape}."
            )

        # Every answer begins at the root, so being at the root is no event.
        sets = candidates.fetch_sets(q, BOTTOM[scale], RangeCheck(hierarchy, scale))
        # No -0.0: which of two equal scores names a threshold must not show.
        return cls.of_arrays(label, sets.count, sets.node, np.add(sets.score, 0.0, dtype=np.float64))

    @classmethod
    def of_arrays(cls, label: ArrayLike, count: ArrayLike, node: ArrayLike, score: ArrayLike) -> Events:
        """Make events of arrays of other types."""
        label, count, node = (np.asarray(a, dtype=np.int32) for a in (label, count, node))
        return cls(label, count, node, np.asarray(score, dtype=np.float64))

    @classmethod
    def join(cls, parts: Iterable[Events]) -> Events:
        """Lay the examples of several batches end to end."""
        columns = zip(*((part.label, part.count, part.node, part.score) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    @classmethod
    def none(cls) -> Events:
        """Return the events of no examples."""
        return cls.of_arrays((), (), (), ())

    @cached_property
    def example(self) -> Indices:
        """The example of each event."""
        return np.repeat(np.arange(len(self.label)), self.count)

    @cached_property
    def moves(self) -> NDArray[np.int32]:
        """The label, the answer before and the answer after each event, [events, 3].

        The answer before is that of the event before, the root for the first of an example.
        """
        moves = np.empty((len(self.node), 3), dtype=np.int32)
        moves[:, 0] = np.repeat(self.label, self.count)
        moves[1:, 1] = self.node[:-1]
        moves[(np.cumsum(self.count) - self.count)[self.count > 0], 1] = 0
        moves[:, 2] = self.node
        return moves

    @cached_property
    def distinct_labels(self) -> tuple[Indices, Indices]:
        """The labels that occur, and how many examples have each."""
        number = np.bincount(self.label)
        labels = np.flatnonzero(number)
        return labels, number[labels]

    def descending(self, scale: Scale) -> tuple[Indices, Indices | slice, NDArray[np.float64]]:
        """Return the events from the highest score down, where each distinct score ends there, and the thresholds.

        Events of equal score are ordered by what they are (label, answer before, answer after), not by when they
        came, so that sums over them do not depend on how the data was split into batches. If no two are equal, a
        slice stands for all places. The thresholds are the distinct scores, then the bottom of the scale.
        """
        count = len(self.score)
        order = np.empty(count, dtype=_index_type(count))
        threshold = np.empty(count + 1)
        threshold[-1] = BOTTOM[scale]
        ranges, ends = _ranges(self.score)
        _ = self.moves  # made once, not by every thread

        def sort(block: slice) -> None:
            for pieces, end in zip(ranges[block], ends[block], strict=True):
                events = np.concatenate(pieces)
                place = slice(end - len(events), end)
                order[place], threshold[place] = self._sorted(events)

        map_row_blocks(sort, len(ranges), _SORTED_AT_ONCE * self.score.itemsize)
        differs = threshold[1:] != threshold[:-1]
        if differs.all():
            return order, slice(None), threshold
        last = np.flatnonzero(differs)
        return order, last, threshold[np.append(last, count)]

    def _sorted(self, events: Indices) -> tuple[Indices, NDArray[np.float64]]:
        """Return some events from the highest score down, and their scores."""
        score = self.score[events]
        order = np.argsort(-score)
        events, score = events[order], score[order]
        equal = score[1:] == score[:-1]
        if equal.any():
            tied = np.append(equal, False) | np.append(False, equal)
            which = events[tied]
            label, before, after = self.moves[which].T
            events[tied] = which[np.lexsort((after, before, label, -score[tied]))]
        return events, score


def _ranges(score: NDArray[np.float64]) -> tuple[list[tuple[Indices, ...]], Indices]:
    """Share out scores among ranges, from the highest down, each small enough to be sorted in the cache.

    A range is given by the numbers of its scores, in pieces, and by how many scores there are up to its end. Equal
    scores are in one. To sort all at once would mean to fetch scores from all over the memory, again and again.
    """
    count = len(score) // _SORTED_AT_ONCE
    if count == 0:
        return [(np.arange(len(score)),)], np.array([len(score)])
    sample = score[np.random.default_rng(0).integers(len(score), size=count * _SAMPLE)]
    limit = np.unique(np.sort(-sample)[_SAMPLE // 2 :: _SAMPLE])
    numbers = np.empty(len(score), dtype=_index_type(len(score)))

    def share_out(block: slice) -> tuple[list[Indices], Indices]:
        place = np.searchsorted(limit, -score[block])
        numbers[block] = np.argsort(place.astype(np.uint16), kind="stable")  # linear, for so short a type
        numbers[block] += block.start
        size = np.bincount(place, minlength=len(limit) + 1)
        return np.split(numbers[block], np.cumsum(size)[:-1]), size

    pieces, sizes = zip(*map_row_blocks(share_out, len(score), score.itemsize), strict=True)
    return list(zip(*pieces, strict=True)), np.cumsum(np.sum(sizes, axis=0))


def _index_type(count: int) -> type[np.signedinteger[Any]]:
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64


class CustomMetric(Protocol):
    """Any function of tree, labels and predictions, named by its `name` or `__name__`."""

    def __call__(self, hierarchy: Hierarchy, label: Any, prediction: Any, /) -> Any:
        """Return one value a pair."""


@final
@dataclass(frozen=True, eq=False)
class Measures:
    """The metrics of a curve, and how they are to be read."""

    hierarchy: Hierarchy
    metrics: Mapping[str, Metric | CustomMetric]
    information: NDArray[np.float64]
    below_label: BelowLabel

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        metrics: Iterable[Metric | CustomMetric],
        information: InformationKind | ArrayLike,
        below_label: BelowLabel,
    ) -> Measures:
        """Name the metrics and find the information of every node."""
        named: dict[str, Metric | CustomMetric] = {}
        for metric in metrics:
            name = str(getattr(metric, "name", None) or getattr(metric, "__name__", type(metric).__name__))
            if named.setdefault(name, metric) is not metric:
                raise ParameterError(f"Two metrics are called {name!r}; give one another `name`.")
        if below_label not in ("label", "wrong"):
            raise ParameterError(f"below_label is 'label' or 'wrong', not {below_label!r}.")
        return cls(hierarchy, named, hierarchy.information(information), below_label)

    def at_root(self, labels: NDArray[Any]) -> list[NDArray[np.float64]]:
        """Return the values of each metric for some labels, every answer being the root."""
        pairs = self._compare(labels, np.zeros_like(labels))
        return [self._evaluate(name, pairs) for name in self.metrics]

    def before_and_after(
        self, moves: NDArray[np.int32]
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield the values of each metric before and after some moves: see `Events.moves`."""
        label, before, after = np.ascontiguousarray(moves.T, dtype=np.int64)
        answers = (self._compare(label, before), self._compare(label, after))
        for name in self.metrics:
            old, new = (self._evaluate(name, pairs) for pairs in answers)
            yield old, new

    def changes(self, events: Events, order: Indices, result: NDArray[np.float64]) -> None:
        """Write down by how much each event, in some order, changes each metric: [metrics, events]."""
        # The answer before is compared anew instead of being looked up among the events: that is more arithmetic,
        # but in blocks that stay in the cache.
        moves = events.moves

        def work(block: slice) -> None:
            values = self.before_and_after(np.take(moves, order[block], axis=0))
            for row, (before, after) in zip(result, values, strict=True):
                np.subtract(after, before, out=row[block])

        map_row_blocks(work, len(order), _BYTES_OF_PAIRS)

    def means(self, sums: Iterable[NDArray[np.float64]], examples: float) -> dict[str, NDArray[np.float64]]:
        """Divide the sums of each metric, in place; rounding takes no fraction out of 0 .. 1."""
        values = dict(zip(self.metrics, sums, strict=True))
        for name, value in values.items():
            value /= examples
            if getattr(self.metrics[name], "is_fraction", False):
                np.clip(value, 0, 1, out=value)
        return values

    def same_as(self, other: Measures) -> bool:
        """Tell whether two curves measure the same."""
        return (
            self.hierarchy == other.hierarchy
            and self.metrics == other.metrics
            and self.below_label == other.below_label
            and np.array_equal(self.information, other.information)
        )

    def _compare(self, label: NDArray[Any], prediction: NDArray[Any]) -> Comparison:
        return Comparison.of(
            self.hierarchy, label, prediction, below_label=self.below_label, information=self.information
        )

    def _evaluate(self, name: str, pairs: Comparison) -> NDArray[np.float64]:
        metric = self.metrics[name]
        if isinstance(metric, Metric):
            return metric.of(pairs)
        value = np.asarray(metric(pairs.hierarchy, pairs.label, pairs.prediction), dtype=np.float64)
        if value.shape != pairs.label.shape:
            raise ParameterError(
                f"The metric {name!r} must return one value a pair, shape {pairs.label.shape}; got {value.shape}."
            )
        return value
