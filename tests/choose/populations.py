"""Populations to draw calibration sets from, and slow definitions of what a point promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import hedgerow as hr
from hedgerow.choose import Request, gather
from hedgerow.choose.calibration import CalibrationSet
from hedgerow.choose.thresholds import thresholds_of
from hedgerow.score_files import Examples

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tree(leaves: int, width: int = 3) -> hr.Hierarchy:
    """A tree with so many leaves, `width` to a parent."""
    level = [f"leaf{i}" for i in range(leaves)]
    edges: list[tuple[str, str]] = []
    depth = 0
    while len(level) > 1:
        depth += 1
        above = [f"n{depth}.{i}" for i in range(-(-len(level) // width))]
        edges += [(above[i // width], name) for i, name in enumerate(level)]
        level = above
    return hr.Hierarchy.from_edges(edges[::-1])


@dataclass(frozen=True)
class Population:
    hierarchy: hr.Hierarchy
    q: NDArray[np.float64]
    labels: NDArray[np.int64]
    clusters: NDArray[np.int64]


def population(
    leaves: int = 12,
    size: int = 20_000,
    *,
    seed: int = 0,
    hierarchical: bool = True,
    ties: bool = False,
    cluster: int = 1,
) -> Population:
    """CalibrationSet of a model that confuses neighbours; all of a cluster are easy, or all are hard.

    With `cluster` > 1, clusters have that many examples on average, and whether an answer is right has an
    intra-cluster correlation of about a half.
    """
    random = np.random.default_rng(seed)
    hierarchy = tree(leaves)
    number = size // cluster
    member = np.repeat(np.arange(number), random.integers(1, 2 * cluster, size=number) if cluster > 1 else 1)[
        :size
    ]
    size = len(member)
    place = random.integers(leaves, size=size)
    hard = (random.random(number) < 0.25)[member]
    noise = np.where(hard, 3.0, 0.5) if cluster > 1 else random.gamma(2.0, 0.7, size=size)
    logits = random.normal(size=(size, leaves)) * noise[:, None]
    near = np.abs(np.arange(leaves)[None] - place[:, None])
    logits += 3.0 * np.exp(-near / 1.5)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    q = np.asarray(hr.likelihood.from_leaves(hierarchy, p))
    if not hierarchical:
        q[:, 1:] = np.clip(q[:, 1:] * random.uniform(0.5, 1.5, size=(size, len(hierarchy) - 1)), 0, 1)
    if ties:
        q = np.round(q, 1)
    return Population(hierarchy, q, hierarchy.leaves[place], member)


class Draws:
    """Calibration sets drawn from a population, and the truth about the points chosen with them."""

    def __init__(self, people: Population, **asked: Any) -> None:
        self.request = Request.of(**asked, clusters="largest_cluster" in asked)
        self.people = people
        self.pool: CalibrationSet = gather(
            self.request, people.hierarchy, people.q, people.hierarchy.names[people.labels]
        )
        self.by_cluster = np.split(
            np.argsort(people.clusters, kind="stable"), np.cumsum(np.bincount(people.clusters))[:-1]
        )

    def sample(
        self, random: np.random.Generator, number: int, by_cluster: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Draw so many examples, or clusters, each independent of the others; return rows, and their clusters."""
        if not by_cluster:
            return random.integers(len(self.pool), size=number), None
        drawn = [self.by_cluster[i] for i in random.integers(len(self.by_cluster), size=number)]
        return np.concatenate(drawn), np.repeat(np.arange(number), [len(rows) for rows in drawn])

    def threshold(self, rows: NDArray[np.int64], clusters: NDArray[np.int64] | None) -> float:
        """Return the threshold that is chosen with some examples."""
        names = None if clusters is None else clusters.astype(str).astype(object)
        events = self.pool.events.take(rows)
        known = Examples.of(len(rows), labels=self.pool.labels[rows], clusters=names)
        part = CalibrationSet(self.pool.hierarchy, self.pool.scale, known, events=events)
        return thresholds_of(self.request, self.request.promises(part.hierarchy), part).thresholds[""]

    def truth(self, tau: float) -> NDArray[np.float64]:
        """The value of the metric for every example of the population at a threshold."""
        answers = self.pool.events.answers_above(tau).astype(np.int64)
        return 1 - self.losses(self.pool.labels, answers)

    def losses(self, labels: Any, answers: Any) -> NDArray[np.float64]:
        """The loss of each answer."""
        (promise,) = self.request.promises(self.people.hierarchy)
        losses, parts = promise.loss.of(labels, answers)
        return np.asarray(losses / parts, dtype=np.float64)


__all__ = ["Draws", "Population", "population", "tree"]
