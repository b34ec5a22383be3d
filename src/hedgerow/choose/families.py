"""Families of operating points: how answers change along one number, from the root to the most specific.

Each family has one number, the *threshold*: high for conservative answers, low for specific ones. For each
example, the answers change at certain values of it, its *events*. Everything else in this room works on events
alone, so it is the same for all families, and for dense and sparse likelihoods.

- "threshold": the most specific node with a likelihood above τ;
- "climbing": from the most likely leaf up to the first node with a likelihood above τ (Goren et al.);
- "expected_information": the node with the largest (I + λ) q (Deng et al.); the number is λ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np

from hedgerow.arrays import as_numpy, map_row_blocks
from hedgerow.errors import ParameterError, no_such
from hedgerow.likelihood import BOTTOM, SparseLikelihoods, to_probability
from hedgerow.measure import Events

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.infer import Candidates
    from hedgerow.likelihood import AnyLikelihoods, Scale
    from hedgerow.tree import Hierarchy, Indices

T = TypeVar("T")
Family = Literal["threshold", "climbing", "expected_information"]
FAMILIES: tuple[Family, ...] = get_args(Family)


def check_family(family: str) -> None:
    """Raise an error for anything that is not the name of a family."""
    if family not in FAMILIES:
        raise ParameterError(no_such("rule", family, FAMILIES))


def bottom_of(family: Family, scale: Scale) -> float:
    """Return the lowest threshold of a family."""
    return 0.0 if family == "expected_information" else BOTTOM[scale]


def events_of(family: Family, q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> Events:
    """Return the events of each example in a family; thresholds are on the scale of q, or are values of λ."""
    if family == "threshold":
        return Events.of(q, labels, candidates)
    if family == "climbing":
        return _climbing(q, labels, candidates)
    return _expected_information(q, labels, candidates)


def map_dense_rows(work: Callable[[NDArray[Any], slice], T], q: AnyLikelihoods) -> list[T]:
    """Call a function on the likelihoods [rows, nodes] of some examples at a time, and on which these are."""
    if isinstance(q, SparseLikelihoods):
        row_bytes = 8 * len(q.hierarchy)
        return map_row_blocks(lambda rows: work(as_numpy(q[rows].dense()), rows), len(q), row_bytes)
    values = as_numpy(q)
    return map_row_blocks(lambda rows: work(values[rows], rows), len(values), values[:1].nbytes)


# Climbing --------------------------------------------------------------------------------------------------


def _climbing(q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> Events:
    """Return the nodes above the most likely leaf, coarsest first, that are more likely than all below them."""
    if isinstance(q, SparseLikelihoods):
        return _climbing_listed(q, labels, candidates)
    hierarchy, bottom = q.hierarchy, BOTTOM[q.scale]
    paths = _paths(hierarchy, candidates)

    def block(part: NDArray[Any], _: slice) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        path = paths[np.argmax(part[:, hierarchy.leaves], axis=1)]
        score = np.take_along_axis(part, np.maximum(path, 0), axis=1).astype(np.float64)
        score[path < 0] = -np.inf
        from_here = np.maximum.accumulate(score[:, ::-1], axis=1)[:, ::-1]
        below = np.concatenate([from_here[:, 1:], np.full_like(score[:, :1], -np.inf)], axis=1)
        kept = (score > below) & (score > bottom) & (path > 0)
        return kept.sum(axis=1), path[kept], score[kept] + 0.0  # -0.0 becomes 0.0

    if not len(q):
        return Events.none()
    count, node, score = (np.concatenate(arrays) for arrays in zip(*map_dense_rows(block, q), strict=True))
    return Events.of_arrays(labels, count, node, score)


def _climbing_listed(q: SparseLikelihoods, labels: Indices, candidates: Candidates) -> Events:
    """Return the same for listed nodes; those without listed descendants take the place of the leaves."""
    possible = candidates.tier[q.node] >= 0
    start = np.append(0, np.cumsum(possible))[q.start]
    listed = SparseLikelihoods.checked(q.hierarchy, start, q.node[possible], q.value[possible], q.scale)
    value, above, filled = listed.value, listed.above, np.flatnonzero(listed.count)
    if not len(value):
        return Events.of_arrays(labels, listed.count, (), ())
    lowest = np.ones(len(value), dtype=bool)
    lowest[above[above >= 0]] = False
    largest = np.maximum.reduceat(np.where(lowest, value, -np.inf), start[filled])
    likeliest = np.flatnonzero(lowest & (value == np.repeat(largest, listed.count[filled])))
    here = likeliest[np.diff(listed.row[likeliest], prepend=-1) > 0]  # the first of equals
    best, found = np.full(len(here), -np.inf), []
    while len(here):
        found.append(here[value[here] > best])
        best, here = np.maximum(best, value[here]), above[here]
        best, here = best[here >= 0], here[here >= 0]
    chosen = np.sort(np.concatenate(found))  # the entries of an example are in depth-first order
    count = np.bincount(listed.row[chosen], minlength=len(q))
    return Events.of_arrays(labels, count, listed.node[chosen], value[chosen] + 0.0)  # -0.0 becomes 0.0


def _paths(hierarchy: Hierarchy, candidates: Candidates) -> Indices:
    """Return the possible answers on the path to each leaf, by depth: [leaves, depths]; -1 where there is none."""
    possible = np.zeros(len(hierarchy), dtype=bool)
    possible[candidates.nodes] = True
    paths = np.full((len(hierarchy.leaves), int(hierarchy.depth.max()) + 1), -1, dtype=np.int64)
    row, node = np.arange(len(hierarchy.leaves)), hierarchy.leaves
    while len(node):
        kept = possible[node]
        paths[row[kept], hierarchy.depth[node[kept]]] = node[kept]
        inner = node > 0
        row, node = row[inner], hierarchy.parent[node[inner]]
    return paths


# The largest (I + λ) q -------------------------------------------------------------------------------------


def _expected_information(q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> Events:
    """Return the upper envelope of the lines ``(I + λ) q`` over λ, from large λ to small.

    All answers are in the ordered Pareto set. The next answer after `y` is the node below whose line meets that of
    `y` at the largest λ; if several meet there, the most specific of them.
    """
    sets = candidates.sets(q, BOTTOM[q.scale])
    count, node, score = (as_numpy(each) for each in (sets.count, sets.node, sets.score))
    p = to_probability(score.astype(np.float64), q.scale)
    gain = candidates.value[node] * p
    end = np.cumsum(count)
    start = end - count
    # The answer for the largest λ is the first of the set. If that is not the root, the root is never the answer.
    example = np.flatnonzero(count > 0)
    named = example[node[start[example]] > 0]
    found = [(named, node[start[named]], np.full(len(named), np.inf))]
    current, last, previous = start[example], end[example], np.full(len(example), np.inf)
    while True:
        more = current + 1 < last
        example, current, last, previous = example[more], current[more], last[more], previous[more]
        if not len(example):
            break
        rivals, at, first = _rivals(current, last)
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = (gain[rivals] - gain[at]) / (p[at] - p[rivals])
        meets[np.isnan(meets)] = -np.inf  # both likelihoods round to the probability 0
        highest = np.maximum.reduceat(meets, first)
        winner = np.where(meets == np.repeat(highest, last - current - 1), rivals, -1)
        current = np.maximum.reduceat(winner, first)
        going = highest > 0
        example, current, last = example[going], current[going], last[going]
        previous = np.minimum(highest, previous)[going]  # equal, but for rounding, if three lines meet
        found.append((example, node[current], previous))
    who, nodes, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    order = np.argsort(who, kind="stable")  # an example's events were found in their order
    return Events.of_arrays(labels, np.bincount(who, minlength=len(count)), nodes[order], scores[order])


def _rivals(current: Indices, last: Indices) -> tuple[Indices, Indices, Indices]:
    """Return all places after each current one, the current place of each, and where those of each begin."""
    width = last - current - 1
    first = np.cumsum(width) - width
    return np.arange(width.sum()) + np.repeat(current + 1 - first, width), np.repeat(current, width), first
