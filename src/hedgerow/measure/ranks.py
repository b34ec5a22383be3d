"""Ranks, and the mistakes that biologists count at each: over-, under- and misclassification.

At a rank, such as genus, an example whose label names one is

- **correct** if the answer names the same genus,
- **misclassified** if it names another,
- **underclassified** if it names none;

an example of an unknown genus, whose label has genera below it, is **overclassified** if the answer names any. A
label that is a leaf above that rank is not unknown: there is no genus to name. A tree without ranks has depths
instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import ParameterError, no_such
from hedgerow.tree import Hierarchy, Indices, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of a tree, coarsest first; or its depths, if it has no ranks.

    >>> from hedgerow import Hierarchy
    >>> rows = [("bird", "robin"), ("bird", "wren"), ("fish", "cod")]
    >>> h = Hierarchy.from_lineages(rows, ranks=["class", "species"])
    >>> Ranks.of(h).names
    ('class', 'species')
    >>> Ranks.of(h).at("class").tolist()  # the class of each node
    [-1, 1, 1, 1, 4, 4]
    """

    hierarchy: Hierarchy
    names: tuple[str, ...]
    of_node: Indices
    """The place of each node's rank in `names`; -1 where it has none."""

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Ranks:
        """Order the ranks by their mean depth."""
        return hierarchy.derived("ranks", lambda: cls._ordered(hierarchy))

    @classmethod
    def _ordered(cls, hierarchy: Hierarchy) -> Ranks:
        if hierarchy.rank is None:
            depths = tuple(str(depth) for depth in range(1, int(hierarchy.depth.max()) + 1))
            return cls(hierarchy, depths, hierarchy.depth - 1)
        names = tuple(filter(None, hierarchy.rank_names))
        place = np.array([names.index(name) if name else -1 for name in (*hierarchy.rank_names, "")])
        return cls(hierarchy, names, place[hierarchy.rank_number])  # at -1 stands the rank of the root: none

    @property
    def kind(self) -> str:
        """What the names are: "rank" or "depth"."""
        return "depth" if self.hierarchy.rank is None else "rank"

    @property
    def reached(self) -> Indices:
        """The place in `names` of the last rank that each node is at or below; -1 if there is none."""
        reached = self.of_node.copy()
        for level in self.hierarchy.levels[1:]:
            reached[level] = np.maximum(reached[level], reached[self.hierarchy.parent[level]])
        return reached

    def nodes(self, rank: str) -> Indices:
        """Return the nodes of a rank."""
        if rank not in self.names:
            raise ParameterError(no_such(self.kind, rank, self.names))
        return np.flatnonzero(self.of_node == self.names.index(rank))

    def at(self, rank: str) -> Indices:
        """Return the node of this rank that each node is or lies below; -1 if there is none."""
        above = np.full(len(self.hierarchy), -1, dtype=np.int64)
        own = self.nodes(rank)
        above[own] = own
        for level in self.hierarchy.levels[1:]:
            inherits = level[above[level] < 0]
            above[inherits] = above[self.hierarchy.parent[inherits]]
        return above

    def above(self, rank: str) -> NDArray[np.bool_]:
        """Return which nodes lie above nodes of this rank."""
        before = np.append(0, np.cumsum(np.bincount(self.nodes(rank), minlength=len(self.hierarchy))))
        here = np.arange(len(self.hierarchy))
        return np.asarray(before[self.hierarchy.end] > before[here + 1])


def mistakes(
    hierarchy: Hierarchy, labels: NDArray[Any], answers: NDArray[Any], settings: Settings | None = None
) -> dict[str, dict[str, float | int | None]]:
    """Return the figures of every rank: shares, and the numbers of examples they are shares of.

    Parameters
    ----------
    hierarchy
        The tree.
    labels, answers
        Node indices.
    settings
        Whether an answer below its label is wrong, because labels that are not leaves mean "none of those below";
        only then can there be overclassification.

    Returns
    -------
    dict
        rank -> ``known`` (examples whose label names the rank), ``correct``, ``misclassified``,
        ``underclassified`` (shares of these), ``unknown`` (examples of unknown taxa) and ``overclassified`` (a
        share of those); a share of nothing is None.

    >>> from hedgerow import Hierarchy
    >>> rows = [("bird", "robin"), ("bird", "wren"), ("fish", "cod")]
    >>> h = Hierarchy.from_lineages(rows, ranks=["class", "species"])
    >>> mistakes(h, h.indices(["robin", "robin", "wren"]), h.indices(["bird", "wren", "wren"]))["species"]
    {'known': 3, 'correct': 0.333..., 'misclassified': 0.333..., 'underclassified': 0.333..., 'unknown': 0,
    'overclassified': None}
    """
    ranks = Ranks.of(hierarchy)
    novel = not (settings or Settings()).below_is_right
    count = _by_depth if hierarchy.rank is None else _by_rank
    counts = count(ranks, np.asarray(labels, dtype=np.int64), np.asarray(answers, dtype=np.int64))
    figures: dict[str, dict[str, float | int | None]] = {}
    for rank, known, named, right, unknown, over in zip(ranks.names, *counts.T.tolist(), strict=True):
        figures[rank] = {
            "known": known,
            "correct": _share(right, known),
            "misclassified": _share(named - right, known),
            "underclassified": _share(known - named, known),
            "unknown": unknown if novel else 0,
            "overclassified": _share(over, unknown) if novel else None,
        }
    return figures


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _by_rank(ranks: Ranks, labels: Indices, answers: Indices) -> Indices:
    """Count the examples at each rank: [ranks, 5].

    These are the examples whose label names the rank, those of them whose answer does, and whose answer is right;
    the examples of unknown taxa, and those of them whose answer names the rank.
    """
    counts = []
    for rank in ranks.names:
        at = ranks.at(rank)
        wanted, named = at[labels], at[answers]
        known, unknown = wanted >= 0, (wanted < 0) & ranks.above(rank)[labels]
        found = (known, known & (named >= 0), known & (named == wanted), unknown, unknown & (named >= 0))
        counts.append([int(which.sum()) for which in found])
    return np.array(counts, dtype=np.int64).reshape(-1, 5)


def _by_depth(ranks: Ranks, labels: Indices, answers: Indices) -> Indices:
    """Count the same at each depth, in time linear in nodes and examples."""
    hierarchy = ranks.hierarchy
    label, answer = hierarchy.depth[labels], hierarchy.depth[answers]
    shared = hierarchy.depth[hierarchy.lca(labels, answers)]
    below = _deepest(hierarchy)[labels]

    def reaching(depth: Indices) -> Indices:
        """Count how many are at least as deep as each depth but 0."""
        return np.cumsum(np.bincount(depth, minlength=len(ranks.names) + 1)[::-1])[::-1][1:]

    known, named = reaching(label), reaching(np.minimum(label, answer))
    over = reaching(np.minimum(answer, below)) - named
    return np.column_stack([known, named, reaching(shared), reaching(below) - known, over])


def _deepest(hierarchy: Hierarchy) -> Indices:
    """Return the depth of the deepest node at or below each node."""
    deepest = hierarchy.depth.copy()
    for level in hierarchy.levels[:0:-1]:
        np.maximum.at(deepest, hierarchy.parent[level], deepest[level])
    return deepest
