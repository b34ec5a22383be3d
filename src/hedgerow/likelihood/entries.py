"""Sparse likelihoods from lists of entries: example, class, number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedgerow.arrays import UNIT, as_numpy, map_row_blocks, sum_rounding
from hedgerow.errors import ScoreError, UnknownNameError, argument, closest, counted, some
from hedgerow.likelihood.sparse import SparseLikelihoods

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood.scales import Scale
    from hedgerow.tree import Hierarchy, Indices

TOP_TOLERANCE = 1e-3
"""How far the scores of an example may sum above 1 because they were rounded; they are then divided by the sum."""

_ENTRY_BYTES = 128  # working memory for one entry, about


def from_top(
    hierarchy: Hierarchy,
    row: ArrayLike,
    classes: ArrayLike,
    scores: ArrayLike,
    *,
    rows: int,
    outside: Collection[str] = (),
    renormalise: bool = False,
) -> SparseLikelihoods:
    """Sum the scores of a few classes per example up the tree.

    A score is the probability of its class itself: at an inner node, that it is this class and nothing below it is
    known. It counts for the class and its ancestors. Whatever is missing to a sum of 1 stays at the root.

    Parameters
    ----------
    hierarchy
        The tree.
    row
        [entries] The example of each entry, 0 to rows - 1, in any order.
    classes
        [entries] Its class: a node, by name or index.
    scores
        [entries] Its probability. The scores of an example may sum to at most 1; a sum above 1 by no more than
        1e-3 is divided out.
    rows
        Number of examples, also those without entries.
    outside
        Names of classes that are not in the tree, such as "blank"; their scores stay at the root.
    renormalise
        Whether the scores of an example may have any positive sum, by which they are divided: for votes and
        percentages.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = likelihood.from_top(h, [0, 0, 1, 1], ["cat", "pet", "dog", "blank"], [0.5, 0.25, 0.25, 0.5], rows=2,
    ...                         outside=["blank"])
    >>> q.dense().values.tolist()
    [[1.0, 0.75, 0.5, 0.0, 0.0], [1.0, 0.25, 0.0, 0.25, 0.0]]
    """
    entries = _Entries.of(hierarchy, row, classes, scores, rows, outside)
    _check_scores(entries)
    count = np.diff(entries.start)
    total = _row_sums(entries.value, entries.start)
    exact = 1 + sum_rounding(len(hierarchy.leaves), float(np.finfo(np.float64).eps))
    if renormalise:
        whole = np.where(total > 0, total, 1.0)
    else:
        _check_sums(total)
        whole = np.where(total <= exact, 1.0, total)
    # As in `from_leaves`: whole multiples of the unit, which no order of adding rounds.
    unit = np.floor(entries.value / np.repeat(whole * UNIT, count)).astype(np.int64)
    below = (entries.node > 0) & (unit > 0)
    start = np.append(0, np.cumsum(below))[entries.start]
    node, unit = entries.node[below], unit[below]
    if not len(node):
        return SparseLikelihoods.checked(hierarchy, start, node, np.zeros(0), "probability")

    def work(block: slice) -> tuple[Indices, Indices, NDArray[np.float64]]:
        inside = slice(start[block.start], start[block.stop])
        return _sum_up(hierarchy, start[block.start : block.stop + 1] - inside.start, node[inside], unit[inside])

    parts = map_row_blocks(work, rows, _ENTRY_BYTES * -(-len(node) // rows))
    counts, nodes, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return SparseLikelihoods.checked(hierarchy, np.append(0, np.cumsum(counts)), nodes, values, "probability")


def from_lineages(
    hierarchy: Hierarchy,
    row: ArrayLike,
    classes: ArrayLike,
    likelihoods: ArrayLike,
    *,
    rows: int,
    scale: Scale = "probability",
) -> SparseLikelihoods:
    """Take the likelihoods of a few nodes per example as they are, such as the confidence of each rank.

    Unlike in `from_top`, the number at an inner node already includes what is below it. Likelihoods may grow
    towards the leaves, as bootstrap values can. A node that is not listed has likelihood 0; the root has 1.

    Parameters
    ----------
    hierarchy
        The tree.
    row
        [entries] The example of each entry, 0 to rows - 1, in any order.
    classes
        [entries] A node, by name or index.
    likelihoods
        [entries] Its likelihood.
    rows
        Number of examples, also those without entries.
    scale
        The scale of the likelihoods: "probability" (the default), "log" or "logit".

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = likelihood.from_lineages(h, [0, 0, 1], ["pet", "cat", "wolf"], [0.9, 0.4, 0.7], rows=2)
    >>> q.dense().values.tolist()
    [[1.0, 0.9, 0.4, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.7]]
    """
    entries = _Entries.of(hierarchy, row, classes, likelihoods, rows, ())
    below = entries.node > 0
    start = np.append(0, np.cumsum(below))[entries.start]
    return SparseLikelihoods(hierarchy, start, entries.node[below], entries.value[below], scale)


# Entries in order ------------------------------------------------------------------------------------------


class _Entries(NamedTuple):
    """Entries sorted by example, then by node."""

    start: Indices
    node: Indices
    """The node of each entry; below 0 for classes outside the tree."""
    value: NDArray[np.float64]
    names: NDArray[np.object_]
    """The names of the nodes, and after them those of the classes outside the tree, so that -1 is the last."""

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        row: ArrayLike,
        classes: ArrayLike,
        values: ArrayLike,
        rows: int,
        outside: Collection[str],
    ) -> _Entries:
        """Sort entries, and refuse those with unknown classes or examples, and classes listed twice."""
        number = _row_numbers(row, rows)
        value = as_numpy(values)
        if value.dtype.kind not in "fiub" and value.size:
            raise ScoreError(f"Scores must be numbers, not {value.dtype}.")
        given = as_numpy(classes)
        if not number.shape == given.shape == value.shape or number.ndim != 1:
            raise ScoreError(
                f"row, classes and scores need one value per entry; got shapes {number.shape}, {given.shape} and "
                f"{value.shape}."
            )
        elsewhere = [outside] if isinstance(outside, str) else sorted(set(outside))
        names = np.append(hierarchy.names, np.array(elsewhere, dtype=object)) if elsewhere else hierarchy.names
        node = _nodes(hierarchy, number, given, elsewhere)
        key = number * len(names) + node
        value = value.astype(np.float64, copy=False)
        if np.any(key[1:] < key[:-1]):
            order = np.argsort(key, kind="stable")
            key, number, node, value = key[order], number[order], node[order], value[order]
        again = np.flatnonzero(key[1:] == key[:-1])
        if len(again):
            raise ScoreError(
                f"Example {number[again[0]]} lists {names[node[again[0]]]!r} more than once "
                f"({counted(len(again), 'such entry', 'such entries')} in all). Each class may have one entry per "
                f"example: add up the scores, or keep the right one."
            )
        return cls(np.searchsorted(number, np.arange(rows + 1)), node, value, names)


def _row_numbers(row: ArrayLike, rows: int) -> Indices:
    """Return the examples of entries, checked."""
    number = as_numpy(row)
    if rows < 0:
        raise ScoreError(f"rows must be the number of examples, not {rows}.")
    if not number.size:
        return np.zeros(number.shape, dtype=np.int64)
    if number.dtype.kind not in "iu":
        raise ScoreError(f"row must hold the number of each entry's example, an integer; got {number.dtype}.")
    if number.min() < 0 or number.max() >= rows:
        offender = number[(number < 0) | (number >= rows)].ravel()[0]
        raise ScoreError(
            f"{offender} is not the number of an example: with rows={rows}, they are 0 to {rows - 1}."
        )
    return number.astype(np.int64, copy=False)


def _nodes(hierarchy: Hierarchy, row: Indices, classes: NDArray[Any], outside: list[str]) -> Indices:
    """Return the nodes of classes given by name or index; below 0 for those declared to be outside the tree."""
    inside = [name for name in outside if name in hierarchy]
    if inside:
        raise UnknownNameError(
            f"{some(inside)} {'is' if len(inside) == 1 else 'are'} in the tree, so cannot be declared outside it."
        )
    if classes.dtype.kind in "iu" or not classes.size:
        return hierarchy.nodes(classes.astype(np.int64))
    if classes.dtype.kind not in "OUT":
        raise ScoreError(f"Classes are given by name or by node index, not as {classes.dtype}.")
    names = classes.astype(object).tolist()
    index: dict[Any, int] = {name: hierarchy.index(name) for name in dict.fromkeys(names) if name in hierarchy}
    index |= {name: place - len(outside) for place, name in enumerate(outside)}
    unknown = list(dict.fromkeys(str(name) for name in names if name not in index))
    if unknown:
        missing = np.fromiter((name not in index for name in names), dtype=bool, count=len(names))
        where = counted(len(np.unique(row[missing])), "example", "examples")
        raise UnknownNameError(
            f"{counted(len(unknown), 'class is', 'classes are')} not in the tree: {some(unknown)}, listed by "
            f"{where}.{closest(unknown[:5], hierarchy)} If a class lies outside the tree, say so: "
            f"{argument('outside', (unknown[0],))}."
        )
    return np.fromiter(map(index.__getitem__, names), dtype=np.int64, count=len(names))


def _check_scores(entries: _Entries) -> None:
    """Raise an error for scores that are negative, infinite or NaN."""
    bad = ~((entries.value >= 0) & (entries.value < np.inf))
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(entries.start, entry, "right")) - 1
        raise ScoreError(
            f"Scores must be 0 or more, and finite; example {row} has {entries.value[entry]:.6g} for "
            f"{entries.names[entries.node[entry]]!r} ({counted(int(bad.sum()), 'such entry', 'such entries')})."
        )


def _check_sums(total: NDArray[np.float64]) -> None:
    """Raise an error for examples whose scores sum above 1."""
    above = np.flatnonzero(total > 1 + TOP_TOLERANCE)
    if len(above):
        raise ScoreError(
            f"The scores of an example must sum to at most 1, within {TOP_TOLERANCE:g}; those of example "
            f"{above[0]} sum to {total[above[0]]:.6g} ({counted(len(above), 'example', 'examples')} in all). If "
            f"they are votes or percentages, say renormalise=True."
        )


# Sums up the tree ------------------------------------------------------------------------------------------


def _row_sums(value: NDArray[np.float64], start: Indices) -> NDArray[np.float64]:
    """Return the sum of each row; rows may be empty."""
    total = np.zeros(len(start) - 1)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        total[filled] = np.add.reduceat(value, start[filled])
    return total


def _sum_up(
    hierarchy: Hierarchy, start: Indices, node: Indices, unit: Indices
) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Return all ancestors of the entries of each row, with the sums of what is listed below them.

    Returns the number of nodes of each row, the nodes in depth-first order, and their likelihoods. Each entry
    adds the nodes between itself and what the entry before it in the row shares with it. In depth-first order,
    these are the ancestors with a larger index than that entry, so no common ancestors need to be found, and
    nothing needs to be sorted.
    """
    before = np.append(0, node[:-1])
    before[start[:-1][np.diff(start) > 0]] = 0
    which, ancestor, steps = np.arange(len(node)), node, []
    while len(which):
        steps.append((which, ancestor))
        ancestor = hierarchy.parent[ancestor]
        new = ancestor > before[which]
        which, ancestor = which[new], ancestor[new]
    added = np.zeros(len(node), dtype=np.int64)
    for which, _ in steps:
        added[which] += 1
    stop = np.cumsum(added)
    nodes = np.empty(stop[-1] if len(stop) else 0, dtype=np.int64)
    for step, (which, ancestor) in enumerate(steps, start=1):
        nodes[stop[which] - step] = ancestor
    # What lies below a node at some depth ends where the next entry adds a node at this depth, or above it. Sums
    # may overflow and wrap back.
    depth = hierarchy.depth[node]
    highest = depth - added + 1
    sums = np.append(0, np.cumsum(unit))
    units = np.empty_like(nodes)
    for level in range(1, int(depth.max(initial=0)) + 1):
        first = np.flatnonzero(highest <= level)
        below = sums[np.append(first[1:], len(node))] - sums[first]
        there = depth[first] >= level
        first = first[there]
        units[stop[first] - 1 - depth[first] + level] = below[there]
    share = np.minimum(units.astype(np.float64), 1 / UNIT) * UNIT
    ends = np.append(0, stop)[start]
    return np.diff(ends), nodes, share
