"""What the page tells about the tree and about single examples: counts along the slider, and a sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.show.page.counts import Levels, nearest_kept
from hedgerow.show.page.sample import chosen_examples, described, events_of
from hedgerow.show.page.words import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hedgerow.show.page.counts import Changes, Confusions, Track
    from hedgerow.tree import Hierarchy, Indices

_NODES = (4_000, 2_000, 1_000, 500, 250)  # nodes of the tree to keep: the first number that fits
_CHANGES = 400_000  # of all counts of all nodes and models: about 2 MB
_SEARCHED = 30_000  # names that can be searched for beyond the kept nodes
_LONGEST_NAME = 300


@final
@dataclass(frozen=True, eq=False)
class Clades:
    """The tree of some evaluations, cut to the nodes that the page keeps, and examples of each data set."""

    tracks: Sequence[Track]
    """The events of each evaluation."""
    set_of: Sequence[int]
    """The data set of each evaluation."""
    start: int
    """The step of the mode "correct" at which the page is opened."""
    pictures: Sequence[Callable[[int], str | None]]
    """For each evaluation, a function from the number of an example to its image, as a data URL."""

    @property
    def hierarchy(self) -> Hierarchy:
        """The tree."""
        return self.tracks[0].evaluation.hierarchy

    @property
    def kept(self) -> Indices:
        """The nodes that the page knows, ascending; it numbers them from 0."""
        return self._counts[0]

    def of_model(self, i: int) -> dict[str, Any]:
        """Return what is told about one evaluation, ready for JSON."""
        track, pairs = self.tracks[i], self._confusions[i]
        _, right, stops = self._counts
        return {
            "set": self.set_of[i],
            "belowLabel": track.evaluation.settings.below_label,
            "levels": self._per_level[i][:, self._used_levels].reshape(len(track.positions), -1).tolist(),
            "right": right[i].lists(len(self.kept)),
            "stops": stops[i].lists(len(self.kept)),
            "pairs": {
                "truth": self._local[pairs.truth].tolist(),
                "answer": self._local[pairs.answer].tolist(),
                "leaves": (pairs.leaves * 1).tolist(),
                "count": pairs.count.lists(len(pairs.truth)),
            },
            "events": [
                [(int(self._local[node]), when, confidence) for node, when, confidence in events]
                for events in events_of(track, self._rows[self.set_of[i]])
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what the evaluations share, ready for JSON: the tree, and the data sets with their examples."""
        return {
            "levels": [self._levels.names[i] for i in self._used_levels],
            "nodes": self._nodes(),
            "others": self._others(),
            "sets": [self._data_set(number) for number in range(len(self._sets))],
        }

    # Data sets and their examples ----------------------------------------------------------------------------

    @cached_property
    def _sets(self) -> list[list[Track]]:
        """The tracks of each data set."""
        number = self.set_of
        return [
            [track for track, of in zip(self.tracks, number, strict=True) if of == i]
            for i in range(max(number) + 1)
        ]

    @cached_property
    def _rows(self) -> list[Indices]:
        """The examples that are shown of each data set."""
        return [
            chosen_examples(tracks[0], int(tracks[0].positions.at["correct"][self.start])) for tracks in self._sets
        ]

    @cached_property
    def _examples_below(self) -> list[NDArray[np.int64]]:
        """The number of examples of each node, for each data set."""
        found = []
        for tracks in self._sets:
            own = np.bincount(tracks[0].evaluation.labels, minlength=len(self.hierarchy))
            before = np.concatenate([[0], np.cumsum(own)])
            found.append(before[self.hierarchy.end] - before[:-1])
        return found

    def _data_set(self, number: int) -> dict[str, Any]:
        track, rows = self._sets[number][0], self._rows[number]
        picture = self.pictures[self.tracks.index(track)]
        shown = described(track.evaluation, rows)
        for about, row in zip(shown, rows.tolist(), strict=True):
            about["label"] = int(self._local[about["label"]])
            if (image := picture(row)) is not None:
                about["image"] = image
        return {
            "examples": len(track.evaluation),
            "count": self._examples_below[number][self.kept].tolist(),
            "shown": shown,
        }

    # Counts --------------------------------------------------------------------------------------------------

    @cached_property
    def _confusions(self) -> list[Confusions]:
        return [track.confusions() for track in self.tracks]

    @cached_property
    def _mentioned(self) -> Indices:
        """The nodes in examples and confusions, and all of their ancestors."""
        nodes = [np.zeros(1, dtype=np.int64)]
        for tracks, rows in zip(self._sets, self._rows, strict=True):
            for track in tracks:
                events = track.evaluation.events.taken(rows)
                nodes += [events.label.astype(np.int64), events.node.astype(np.int64)]
        for pairs in self._confusions:
            nodes += [pairs.truth, pairs.answer]
        found = np.unique(np.concatenate(nodes))
        every = [found]
        while len(found := np.unique(self.hierarchy.parent[found[found > 0]])):
            every.append(found)
        return np.unique(np.concatenate(every))

    def _most(self, number: int) -> Indices:
        """Return the nodes with the most examples, and the mentioned ones; with every node its parent."""
        total = np.sum(self._examples_below, axis=0)
        # A parent has at least as many examples as its child, and comes first among equals.
        most = np.argsort(-total, kind="stable")[:number]
        return np.union1d(most[total[most] > 0], self._mentioned)

    @cached_property
    def _counts(self) -> tuple[Indices, list[Changes], list[Changes]]:
        """The kept nodes, and how the counts of right answers and of stops at them change, for each evaluation."""
        for number in _NODES:
            kept = self._most(number)
            right = [track.right_below(kept) for track in self.tracks]
            stops = [track.stops_at(kept) for track in self.tracks]
            if sum(map(len, right + stops)) <= _CHANGES:
                break
        return kept, right, stops

    @cached_property
    def _local(self) -> Indices:
        """The number of each kept node on the page; -1 for the others."""
        local = np.full(len(self.hierarchy), -1)
        local[self.kept] = np.arange(len(self.kept))
        return local

    @cached_property
    def _levels(self) -> Levels:
        return Levels.of(self.hierarchy)

    @cached_property
    def _per_level(self) -> list[NDArray[np.int64]]:
        return [track.per_level(self._levels) for track in self.tracks]

    @cached_property
    def _used_levels(self) -> Indices:
        """The levels at which an answer stops at some position."""
        return np.flatnonzero(np.any([counts.any(axis=(0, 2)) for counts in self._per_level], axis=0))

    # Names ---------------------------------------------------------------------------------------------------

    def _nodes(self) -> dict[str, Any]:
        hierarchy, kept = self.hierarchy, self.kept
        titles = None if hierarchy.title is None else hierarchy.title[kept].tolist()
        return {
            "name": [shortened(name, _LONGEST_NAME) for name in hierarchy.names[kept].tolist()],
            "title": None if titles is None else [shortened(title, _LONGEST_NAME) for title in titles],
            "parent": np.where(kept > 0, self._local[hierarchy.parent[kept]], -1).tolist(),
            "leaf": (hierarchy.is_leaf[kept] * 1).tolist(),
        }

    def _others(self) -> dict[str, Any]:
        """Return nodes that are not kept, for the search: their names, and the nearest kept ancestors."""
        total = np.sum(self._examples_below, axis=0)
        total[self.kept] = 0
        most = np.argsort(-total, kind="stable")[:_SEARCHED]
        most = np.sort(most[total[most] > 0])
        names = [shortened(self.hierarchy.display_name(node), _LONGEST_NAME) for node in most.tolist()]
        return {"name": names, "inside": nearest_kept(self.hierarchy, self.kept, most).tolist()}
