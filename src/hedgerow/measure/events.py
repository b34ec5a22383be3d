"""Threshold events: how the answers to a data set change as the threshold falls.

With the threshold at the top of its scale, every answer is the root. As it falls, each example's answer moves
through its ordered Pareto set. Every move is one *event*, which happens when the threshold drops below the score
of the node moved to. Curves, summaries and thresholds need only labels and events, not the scores: a few integers
and one number per event, instead of one number per example and node.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import map_on_threads, map_row_blocks, take_rows
from hedgerow.errors import ScoreError
from hedgerow.likelihood import BOTTOM, AnyLikelihoods, Scale
from hedgerow.score_files import Examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.infer import Candidates
    from hedgerow.tree import Indices

_BYTES_OF_EVENT = 64  # so that a block has 32,768 events, which stay in the cache


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
    def concatenate(cls, parts: Iterable[Events]) -> Events:
        """Concatenate the examples of several batches."""
        columns = zip(*((part.label, part.count, part.node, part.score) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    @classmethod
    def none(cls) -> Events:
        """Return the events of no examples."""
        return cls.of_arrays((), (), (), ())

    def take(self, rows: NDArray[Any] | slice) -> Events:
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

    @property
    def moves(self) -> NDArray[Any]:
        """The label, the answer before and the answer after each event, [events, 3].

        The answer before an event is that after the previous event; for the first event of an example, the root.
        """
        return self._rows[:, :3]

    def moves_of(self, events: Indices) -> Indices:
        """Return labels, answers before and answers after some events, [3, events]."""
        return np.ascontiguousarray(np.take(self._rows, events, axis=0)[:, :3].T, dtype=np.int64)

    @cached_property
    def _rows(self) -> NDArray[Any]:
        # The fourth column is empty: NumPy takes rows of 8 or 16 bytes several times as fast as others.
        largest = max(self.label.max(initial=0), self.node.max(initial=0))
        rows = np.zeros((len(self.node), 4), dtype=np.uint16 if largest < 1 << 16 else np.int32)
        rows[:, 0] = np.repeat(self.label, self.count)
        rows[1:, 1] = self.node[:-1]
        rows[(np.cumsum(self.count) - self.count)[self.count > 0], 1] = 0
        rows[:, 2] = self.node
        return rows

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
        order, threshold = np.empty(count, dtype=_index_type(count)), np.empty(count + 1)
        threshold[-1] = BOTTOM[scale]
        keys, places = _keys(self.score)
        _sort(keys)
        alike = np.zeros(count + 1, dtype=bool)  # whether a key differs from the one before only by its place

        def unpack(block: slice) -> None:
            order[block] = keys[block] & places
            np.take(self.score, order[block], out=threshold[block])
            first = max(block.start, 1)
            alike[first : block.stop] = keys[first : block.stop] ^ keys[first - 1 : block.stop - 1] <= places

        map_row_blocks(unpack, count, _BYTES_OF_EVENT)
        self._settle(order, threshold, alike)
        differs = threshold[1:] != threshold[:-1]
        if differs.all():
            return order, slice(None), threshold
        last = np.flatnonzero(differs)
        return order, last, threshold[np.append(last, count)]

    def _settle(self, order: Indices, threshold: NDArray[np.float64], alike: NDArray[np.bool_]) -> None:
        """Sort the events of each group of like keys, in place: from the highest score down, then by content."""
        tied = np.flatnonzero(alike[:-1] | alike[1:])
        if not len(tied):
            return
        group = np.append(np.flatnonzero(~alike[tied]), len(tied))  # where groups start among these
        _ = self._rows  # computed once, not by every thread

        def sort(block: slice) -> None:
            first, last = np.searchsorted(group, (block.start, block.stop))
            where = tied[group[first] : group[last]]
            if not len(where):
                return
            events, score = order[where], threshold[where]
            if (score[1:] > score[:-1]).any():
                by_score = np.argsort(-score)
                events, score = events[by_score], score[by_score]
            label, before, after = nodes = self.moves_of(events)
            step = np.cumsum(np.append(0, score[1:] != score[:-1]))
            bits = int(nodes.max()).bit_length()
            if 3 * bits + int(step[-1]).bit_length() < 64:  # one key is sorted in half the time of two
                by_content = np.argsort(((step << bits | label) << bits | before) << bits | after)
            else:  # nodes are below 2**31
                by_content = np.lexsort(((before << 31) + after, (step << 31) + label))
            order[where], threshold[where] = events[by_content], score

        map_row_blocks(sort, len(tied), _BYTES_OF_EVENT)


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Some examples under a name; the parts of an evaluation are sorted by it."""

    name: str
    events: Events
    examples: Examples
    """What is known of the examples, with the columns `prediction:RULE` and `confidence:RULE` of every rule."""

    @classmethod
    def concatenate(cls, parts: Sequence[Part]) -> Part:
        """Return all parts as one; what is known about the examples is kept if all parts have it."""
        filled = [part for part in parts if len(part)] or list(parts[:1])
        if len(filled) == 1:
            return filled[0]
        events = Events.concatenate(part.events for part in filled)
        return cls(filled[0].name, events, Examples.concatenate([part.examples for part in filled]))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of everything except the name."""
        digest = hashlib.sha256()
        columns = self.examples.columns
        for name, column in [*vars(self.events).items(), *sorted(columns.items())]:
            digest.update(name.encode())
            if column.dtype == object:
                digest.update(repr(column.tolist()).encode("utf-8", "surrogatepass"))
            else:
                digest.update(np.ascontiguousarray(column).data)
        return digest.digest()

    def __len__(self) -> int:
        return len(self.events.label)


def _keys(score: NDArray[np.float64]) -> tuple[NDArray[np.uint64], np.uint64]:
    """Return a whole number for each score, the smaller, the higher the score; and a mask of its last bits.

    These hold the place of the score, and the others its own bits, as far as there is room: the mantissa may lose
    its end, though never if the scores were in single precision. To sort such numbers takes a fraction of the time
    that it takes to find the order of floats.
    """
    place_bits = len(score).bit_length()
    lowest, highest = _ascending(np.array([score.min(initial=np.inf), score.max(initial=-np.inf)])).tolist()
    lost = max(0, (highest - lowest).bit_length() + place_bits - 64)
    keys = np.empty(len(score), dtype=np.uint64)

    def pack(block: slice) -> None:
        below_highest = (highest - _ascending(score[block])).view(np.uint64) >> np.uint64(lost)
        place = np.arange(block.start, block.stop, dtype=np.uint64)
        np.bitwise_or(below_highest << np.uint64(place_bits), place, out=keys[block])

    map_row_blocks(pack, len(score), _BYTES_OF_EVENT)
    return keys, np.uint64((1 << place_bits) - 1)


def _ascending(x: NDArray[np.float64]) -> Indices:
    """Return whole numbers in the same order as some floats: their bits, all but the sign flipped if it is set."""
    bits = x.view(np.int64)
    return bits ^ (bits >> 63 & np.iinfo(np.int64).max)


def _sort(keys: NDArray[np.uint64]) -> None:
    """Sort keys in place, the halves on two threads."""
    middle = len(keys) // 2
    if middle:
        keys.partition(middle)
    map_on_threads(np.ndarray.sort, [keys[:middle], keys[middle:]])


def _index_type(count: int) -> type[np.signedinteger[Any]]:
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64
