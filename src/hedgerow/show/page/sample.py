"""The examples that the page shows: a few hundred, of every kind and from every part of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.likelihood import to_probability
from hedgerow.show.page.words import shortened

if TYPE_CHECKING:
    from hedgerow.measure import Evaluation
    from hedgerow.show.page.counts import Track
    from hedgerow.tree import Hierarchy, Indices

SHOWN = 240
"""How many examples a page shows of each data set."""
_CLADES = 24  # parts of the tree from which examples are taken in turn
_LONGEST_TEXT = 500


def chosen_examples(track: Track, position: int, count: int = SHOWN) -> Indices:
    """Choose examples in turn from every kind: by their answers at a position and at the end, and by clade.

    Parameters
    ----------
    track
        The answers of one model.
    position
        The position of the slider when the page is opened.
    count
        How many examples to choose, at most.
    """
    hierarchy, labels = track.evaluation.hierarchy, track.evaluation.labels.astype(np.int64)
    kinds = [clades(hierarchy, labels)]
    for place in (position, len(track.positions) - 1):
        answers = track.answers_at(place)
        kinds.append(answers.right * 1 + (answers.counted == labels))
    kind = np.unique(np.stack(kinds), axis=1, return_inverse=True)[1].reshape(-1)
    shuffled = np.random.default_rng(0).permutation(len(labels))
    order = shuffled[np.argsort(kind[shuffled], kind="stable")]
    first = np.searchsorted(kind[order], kind[order])
    turn = np.arange(len(order)) - first
    return order[np.argsort(turn, kind="stable")][:count]


def clades(hierarchy: Hierarchy, nodes: Indices) -> Indices:
    """Return the ancestors of nodes at the lowest depth at which they are few enough to be told apart."""
    found = np.zeros(len(nodes), dtype=np.int64)
    for level in hierarchy.levels[1:]:
        place = level[np.maximum(np.searchsorted(level, nodes, side="right") - 1, 0)]
        inside = (place <= nodes) & (nodes < hierarchy.end[place])
        finer = np.where(inside, place, found)
        if len(np.unique(finer)) > _CLADES:
            break
        found = finer
    return found


def described(evaluation: Evaluation, rows: Indices) -> list[dict[str, Any]]:
    """Return what is known about some examples: their ids and texts, shortened."""
    answers = evaluation.answers
    shown = []
    for row in rows.tolist():
        name = f"Example {row:,}" if answers.ids is None else str(answers.ids[row])
        about: dict[str, Any] = {"label": int(evaluation.labels[row]), "id": shortened(name, _LONGEST_TEXT)}
        if answers.texts is not None and answers.texts[row].strip():
            about["text"] = shortened(answers.texts[row], _LONGEST_TEXT)
        shown.append(about)
    return shown


def events_of(track: Track, rows: Indices) -> list[list[tuple[int, int, float]]]:
    """Return the events of some examples: node, position of the slider, and the likelihood as a probability."""
    events = track.evaluation.events
    end = np.cumsum(events.count)
    listed = []
    for row in rows.tolist():
        these = slice(end[row] - events.count[row], end[row])
        likelihood = np.round(to_probability(events.score[these], track.evaluation.scale), 6)
        columns = (events.node[these], track.when[these], likelihood)
        listed.append(list(zip(*(column.tolist() for column in columns), strict=True)))
    return listed
