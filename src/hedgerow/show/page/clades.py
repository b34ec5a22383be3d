"""The tree and the examples on the page: counts along the slider, and a sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.likelihood import to_probability
from hedgerow.show.page.event_counts import Changes, Confusions, KeptNodes, Levels, Track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from hedgerow.measure import Evaluation
    from hedgerow.tree import Hierarchy, Indices

SHOWN = 240
"""Number of examples that a page shows of each data set."""
_SAMPLED_CLADES = 24  # parts of the tree from which examples are taken in turn
_NODES = (4_000, 2_000, 1_000, 500, 250)  # nodes of the tree to keep: the first number that fits
_CHANGES = 400_000  # of all counts of all nodes and models: about 2 MB
_SEARCHED = 30_000  # names that can be searched for beyond the kept nodes
_LONGEST_NAME, _LONGEST_TEXT = 300, 500  # characters


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

    def of_model(self, i: int) -> dict[str, Any]:
        """Return the data of one evaluation, ready for JSON."""
        track, pairs = self.tracks[i], self._confusions[i]
        kept, right, stops = self._counts
        return {
            "set": self.set_of[i],
            "settings": track.evaluation.settings.to_dict(),
            "levels": self._levels[1][i].reshape(len(track.positions), -1).tolist(),
            "right": right[i].lists(len(kept.nodes)),
            "stops": stops[i].lists(len(kept.nodes)),
            "pairs": {
                "truth": kept.place[pairs.truth].tolist(),
                "answer": kept.place[pairs.answer].tolist(),
                "leaves": (pairs.leaves * 1).tolist(),
                "count": pairs.count.lists(len(pairs.truth)),
            },
            "events": _events(track, self._rows[self.set_of[i]], kept),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what the evaluations share, ready for JSON: the tree, and the data sets with their examples."""
        return {
            "levels": self._levels[0],
            "nodes": self._nodes(),
            "others": self._others(),
            "sets": [self._data_set(number) for number in range(len(self._first))],
        }

    # Data sets and their examples ----------------------------------------------------------------------------

    @cached_property
    def _first(self) -> list[Track]:
        """The first evaluation of each data set."""
        return [self.tracks[self.set_of.index(number)] for number in range(max(self.set_of) + 1)]

    @cached_property
    def _rows(self) -> list[Indices]:
        """The examples that are shown of each data set."""
        return [chosen_examples(track, int(track.positions.at["correct"][self.start])) for track in self._first]

    @cached_property
    def _examples_below(self) -> list[NDArray[np.int64]]:
        """The number of examples at or below each node, for each data set."""
        return [_count_below(self.hierarchy, track.evaluation.labels) for track in self._first]

    def _data_set(self, number: int) -> dict[str, Any]:
        track, kept = self._first[number], self._counts[0]
        picture = self.pictures[self.set_of.index(number)]
        shown = []
        for row in self._rows[number].tolist():
            label = int(kept.place[track.evaluation.labels[row]])
            about = {"label": label, **_described(track.evaluation, row)}
            if (image := picture(row)) is not None:
                about["image"] = image
            shown.append(about)
        return {
            "examples": len(track.evaluation),
            "count": self._examples_below[number][kept.nodes].tolist(),
            "shown": shown,
        }

    # Counts --------------------------------------------------------------------------------------------------

    @cached_property
    def _confusions(self) -> list[Confusions]:
        return [track.confusions() for track in self.tracks]

    @cached_property
    def _mentioned(self) -> Indices:
        """The nodes in examples and confusions, and all of their ancestors."""
        nodes: list[NDArray[Any]] = [np.zeros(1, dtype=np.int64)]
        for track, number, pairs in zip(self.tracks, self.set_of, self._confusions, strict=True):
            events = track.evaluation.events.take(self._rows[number])
            nodes += [events.label, events.node, pairs.truth, pairs.answer]
        return np.flatnonzero(_count_below(self.hierarchy, np.concatenate(nodes)))

    def _most(self, number: int) -> Indices:
        """Return the nodes with the most examples and the mentioned ones, including all of their ancestors."""
        total = np.sum(self._examples_below, axis=0)
        # A parent has at least as many examples as its child, and comes first among equals.
        return np.union1d(_largest(total, number), self._mentioned)

    @cached_property
    def _counts(self) -> tuple[KeptNodes, list[Changes], list[Changes]]:
        """The kept nodes, and how the counts of right answers and of stops at them change, for each evaluation."""
        for number in _NODES:
            kept = KeptNodes.of(self.hierarchy, self._most(number))
            right = [track.right_below(kept) for track in self.tracks]
            stops = [track.stops_at(kept) for track in self.tracks]
            if sum(map(len, right + stops)) <= _CHANGES:
                break
        return kept, right, stops

    @cached_property
    def _levels(self) -> tuple[list[str], list[NDArray[np.int64]]]:
        """The levels at which an answer stops at some position, and the counts there for each evaluation."""
        levels = Levels.of(self.hierarchy)
        counts = [track.per_level(levels) for track in self.tracks]
        used = np.flatnonzero(np.any([each.any(axis=(0, 2)) for each in counts], axis=0))
        return [levels.names[i] for i in used], [each[:, used] for each in counts]

    # Names ---------------------------------------------------------------------------------------------------

    def _nodes(self) -> dict[str, Any]:
        hierarchy, kept = self.hierarchy, self._counts[0]
        return {
            "name": _shortened(hierarchy.names[kept.nodes]),
            "title": None if hierarchy.title is None else _shortened(hierarchy.title[kept.nodes]),
            "parent": kept.parent.tolist(),
            "leaf": (hierarchy.is_leaf[kept.nodes] * 1).tolist(),
        }

    def _others(self) -> dict[str, Any]:
        """Return nodes that are not kept, for the search: their names, and the nearest kept ancestors."""
        kept = self._counts[0]
        total = np.sum(self._examples_below, axis=0)
        total[kept.nodes] = 0
        most = np.sort(_largest(total, _SEARCHED))
        names = [self.hierarchy.display_name(node) for node in most.tolist()]
        return {"name": _shortened(names), "inside": kept.place[most].tolist()}


def _count_below(hierarchy: Hierarchy, nodes: NDArray[Any]) -> NDArray[np.int64]:
    """Count how many of the given nodes are at or below each node of the tree."""
    before = np.append(0, np.cumsum(np.bincount(nodes, minlength=len(hierarchy))))
    return np.asarray(before[hierarchy.end] - before[:-1])


def _largest(total: NDArray[np.int64], number: int) -> Indices:
    """Return the nodes with the largest totals, without zeros; of equal ones the first."""
    most = np.argsort(-total, kind="stable")[:number]
    return most[total[most] > 0]


def _shortened(texts: Iterable[str], longest: int = _LONGEST_NAME) -> list[str]:
    """Cut texts to `longest` characters; those that were cut end in an ellipsis."""
    return [text if len(text) <= longest else f"{text[: longest - 1]}…" for text in texts]


# The sample of examples ----------------------------------------------------------------------------------


def chosen_examples(track: Track, position: int) -> Indices:
    """Choose examples in turn from every kind: by their answers at a position and at the end, and by clade.

    Parameters
    ----------
    track
        The answers of one model.
    position
        The position of the slider when the page is opened.
    """
    hierarchy, labels = track.evaluation.hierarchy, track.evaluation.labels.astype(np.int64)
    kinds = [_clades(hierarchy, labels)]
    for place in (position, len(track.positions) - 1):
        answers = track.answers_at(place)
        kinds.append(answers.right * 1 + (answers.counted == labels))
    kind = np.unique(np.stack(kinds), axis=1, return_inverse=True)[1].reshape(-1)
    shuffled = np.random.default_rng(0).permutation(len(labels))
    order = shuffled[np.argsort(kind[shuffled], kind="stable")]
    first = np.searchsorted(kind[order], kind[order])
    turn = np.arange(len(order)) - first
    return order[np.argsort(turn, kind="stable")][:SHOWN]


def _clades(hierarchy: Hierarchy, nodes: Indices) -> Indices:
    """Return the ancestors of nodes at the deepest level where there are few enough of them."""
    found = np.zeros(len(nodes), dtype=np.int64)
    for level in hierarchy.levels[1:]:
        place = level[np.maximum(np.searchsorted(level, nodes, side="right") - 1, 0)]
        inside = (place <= nodes) & (nodes < hierarchy.end[place])
        finer = np.where(inside, place, found)
        if len(np.unique(finer)) > _SAMPLED_CLADES:
            break
        found = finer
    return found


def _described(evaluation: Evaluation, row: int) -> dict[str, str]:
    """Return the id and the text of an example, shortened."""
    ids, texts = evaluation.examples.ids, evaluation.examples.texts
    about = {"id": f"Example {row:,}" if ids is None else str(ids[row])}
    if texts is not None and texts[row].strip():
        about["text"] = texts[row]
    return dict(zip(about, _shortened(about.values(), _LONGEST_TEXT), strict=True))


def _events(track: Track, rows: Indices, kept: KeptNodes) -> list[list[tuple[int, int, float]]]:
    """Return the events of some examples: node, position of the slider, and the likelihood as a probability."""
    events = track.evaluation.events.take(rows)
    likelihood = np.round(to_probability(events.score, track.evaluation.scale), 6)
    columns = (kept.place[events.node], track.positions.when(events.score), likelihood)
    listed = zip(*(column.tolist() for column in columns), strict=True)
    return [list(islice(listed, count)) for count in events.count.tolist()]
