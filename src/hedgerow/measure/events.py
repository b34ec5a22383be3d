"""Threshold events: how the answers to a data set change as the threshold falls.

With the threshold at the top of its scale, every answer is the root. As it falls, each example's answer moves
through its ordered Pareto set. Every move is one *event*, which happens when the threshold drops below the score
of the node moved to. Curves, summaries and thresholds need only labels and events, not the scores: a few integers
and one number per event, instead of one number per example and node.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import map_row_blocks, take_rows
from hedgerow.errors import ScoreError
from hedgerow.likelihood import BOTTOM, AnyLikelihoods, Scale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.infer import Candidates
    from hedgerow.tree import Indices

_SORTED_AT_ONCE = 1 << 18  # approximate number of events
_SAMPLE = 32  # scores sampled per range, to choose where it ends


@final
@dataclass(frozen=True, eq=False)
class Events:
    """The labels of some examples and the moves of their answers; for each example, conservative to specific."""

    label: NDArray[np.int32]
    """Label of each example."""
    count: NDArray[np.int32]
    """Number of events of each example."""
    node: NDArray[np.int32]
    """The answer after each event."""
    score: NDArray[np.float64]
    """The threshold below which each event has happened."""

    @classmethod
    def of(cls, q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> Events:
        """Find the events of a batch of likelihoods and labels, which are node indices."""
        if labels.shape != (len(q),):
            raise ScoreError(
                f"One label per example is needed; got {len(q):,} examples and labels of shape {labels.shape}."
            )
        # Every answer starts at the root, so being at the root is not an event.
        sets = candidates.fetch_sets(q, BOTTOM[q.scale])
        # Adding 0.0 turns -0.0 into 0.0: equal scores must give identical thresholds.
        return cls.of_arrays(labels, sets.count, sets.node, np.add(sets.score, 0.0, dtype=np.float64))

    @classmethod
    def of_arrays(cls, label: ArrayLike, count: ArrayLike, node: ArrayLike, score: ArrayLike) -> Events:
        """Make events from arrays of other types."""
        label, count, node = (np.asarray(a, dtype=np.int32) for a in (label, count, node))
        return cls(label, count, node, np.asarray(score, dtype=np.float64))

    @classmethod
    def join(cls, parts: Iterable[Events]) -> Events:
        """Concatenate the examples of several batches."""
        columns = zip(*((part.label, part.count, part.node, part.score) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    @classmethod
    def none(cls) -> Events:
        """Return the events of no examples."""
        return cls.of_arrays((), (), (), ())

    def taken(self, rows: NDArray[Any] | slice) -> Events:
        """Return the events of some examples, given by a mask, by positions or as a slice."""
        _, events = take_rows(np.append(0, np.cumsum(self.count, dtype=np.int64)), rows)
        return Events(self.label[rows], self.count[rows], self.node[events], self.score[events])

    def answers_above(self, threshold: float | NDArray[np.float64]) -> NDArray[np.int32]:
        """Return each example's answer at a threshold, or at its own, as `infer.threshold` does.

        Thresholds are on the scale of the scores.
        """
        lowest = threshold if np.ndim(threshold) == 0 else np.repeat(threshold, self.count)
        passed = np.append(0, np.cumsum(self.score > lowest))
        end = np.cumsum(self.count)
        moves = passed[end] - passed[end - self.count]  # an example's events have decreasing scores
        answers = np.zeros(len(self.label), dtype=np.int32)
        moved = moves > 0
        answers[moved] = self.node[(end - self.count + moves - 1)[moved]]
        return answers

    @cached_property
    def example(self) -> Indices:
        """The example of each event."""
        return np.repeat(np.arange(len(self.label)), self.count)

    @cached_property
    def moves(self) -> NDArray[np.int32]:
        """The label, the answer before and the answer after each event, [events, 3].

        The answer before an event is that after the previous event; for the first event of an example, the root.
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
        """Return the events from the highest score down, where each distinct score ends, and the thresholds.

        Events of equal score are ordered by their content (label, answer before, answer after), not by arrival, so
        that sums over them do not depend on how the data was split into batches. If all scores are distinct, the
        second result is a slice of all events. The thresholds are the distinct scores, then the bottom of the
        scale.
        """
        count = len(self.score)
        order = np.empty(count, dtype=_index_type(count))
        threshold = np.empty(count + 1)
        threshold[-1] = BOTTOM[scale]
        ranges, ends = _ranges(self.score)
        _ = self.moves  # computed once, not by every thread

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
            label, before, after = moves = self.moves[which].T.astype(np.int64)
            step = np.cumsum(np.append(0, score[tied][1:] != score[tied][:-1]))
            bits = int(moves.max()).bit_length()
            if 3 * bits + int(step[-1]).bit_length() < 64:  # one key is sorted in half the time of two
                events[tied] = which[np.argsort(((step << bits | label) << bits | before) << bits | after)]
            else:  # nodes are below 2**31
                events[tied] = which[np.lexsort(((before << 31) + after, (step << 31) + label))]
        return events, score


def _ranges(score: NDArray[np.float64]) -> tuple[list[tuple[Indices, ...]], Indices]:
    """Split scores into ranges, from the highest down, each small enough to be sorted in the cache.

    A range is given by the indices of its scores, in pieces, and by the number of scores up to its end. Equal
    scores are in the same range. Sorting all scores at once would repeatedly fetch them from all over memory.
    """
    count = len(score) // _SORTED_AT_ONCE
    if count == 0:
        return [(np.arange(len(score)),)], np.array([len(score)])
    sample = score[np.random.default_rng(0).integers(len(score), size=count * _SAMPLE)]
    limit = np.unique(np.sort(-sample)[_SAMPLE // 2 :: _SAMPLE])
    numbers = np.empty(len(score), dtype=_index_type(len(score)))

    def share_out(block: slice) -> tuple[list[Indices], Indices]:
        place = np.searchsorted(limit, -score[block])
        numbers[block] = np.argsort(place.astype(np.uint16), kind="stable")  # linear time for such a short type
        numbers[block] += block.start
        size = np.bincount(place, minlength=len(limit) + 1)
        return np.split(numbers[block], np.cumsum(size)[:-1]), size

    pieces, sizes = zip(*map_row_blocks(share_out, len(score), score.itemsize), strict=True)
    return list(zip(*pieces, strict=True)), np.cumsum(np.sum(sizes, axis=0))


def _index_type(count: int) -> type[np.signedinteger[Any]]:
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64
