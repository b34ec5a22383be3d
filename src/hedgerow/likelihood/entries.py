"""Sparse likelihoods from lists of entries: example, class, number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedgerow.arrays import UNIT, as_numpy, map_row_blocks, row_sums, sum_below, sum_rounding, with_ancestors
from hedgerow.errors import ScoreError, UnknownNameError, a_number, argument, closest, counted, some
from hedgerow.likelihood.scales import POSITIVE, RowSource
from hedgerow.likelihood.sparse_likelihoods import SparseLikelihoods

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood.scales import Scale
    from hedgerow.tree import Hierarchy, Indices

_ENTRY_BYTES = 32  # of one array of nodes: blocks are large, as threads wait for each other at each operation


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
    known. It counts for the class and its ancestors. The rest, up to a sum of 1, stays at the root.

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
        Number of examples, including those without entries.
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
    source = RowSource(where="example {}".format)
    source.check_range(
        entries.value,
        POSITIVE,
        lambda entry: entries.names[entries.node[entry]],
        row=lambda entry: int(np.searchsorted(entries.start, entry, "right")) - 1,
    )
    # As in `from_leaves`: whole multiples of the unit, which no order of adding rounds.
    unit = np.floor(_shares(hierarchy, entries, source, renormalise=renormalise) / UNIT).astype(np.int64)
    start, node = entries.start, entries.node
    below = np.flatnonzero((node > 0) & (unit > 0))
    if len(below) < len(node):
        start, node, unit = np.searchsorted(below, start), node[below], unit[below]
    if not len(node):
        return SparseLikelihoods.checked(hierarchy, start, node, np.zeros(0), "probability")

    def work(block: slice) -> tuple[Indices, Indices, NDArray[np.float64]]:
        inside = slice(start[block.start], start[block.stop])
        return _summed(hierarchy, start[block.start : block.stop + 1] - inside.start, node[inside], unit[inside])

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
    """Take the likelihoods of a few nodes per example unchanged, such as the confidence of each rank.

    Unlike in `from_top`, the number at an inner node already includes its descendants. Likelihoods may grow
    towards the leaves, as bootstrap values can. A node that is not listed has likelihood 0; the root has 1.

    Parameters
    ----------
    hierarchy
        The tree.
    row, classes, likelihoods, rows
        As in `from_top`, with the likelihood of each node.
    scale
        The scale of the likelihoods: "probability" (the default), "log" or "logit".

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = likelihood.from_lineages(h, [0, 0, 1], ["pet", "cat", "wolf"], [0.9, 0.4, 0.7], rows=2)
    >>> h.names[infer.threshold(h, q, 0.5)].tolist()
    ['pet', 'wolf']
    """
    entries = _Entries.of(hierarchy, row, classes, likelihoods, rows, ())
    below = entries.node > 0
    start = np.append(0, np.cumsum(below))[entries.start]
    return SparseLikelihoods(hierarchy, start, entries.node[below], entries.value[below], scale)


def from_independent(
    hierarchy: Hierarchy, row: ArrayLike, classes: ArrayLike, scores: ArrayLike, *, rows: int
) -> SparseLikelihoods:
    """Take the probabilities of a few classes per example that were estimated one by one, as by sigmoids.

    They need not sum to 1. An ancestor is as likely as the most likely class at or below it. A node that is not
    listed, and is above none, has likelihood 0; the root has 1.

    Parameters
    ----------
    hierarchy
        The tree.
    row, classes, scores, rows
        As in `from_top`, with the probability of each class.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = likelihood.from_independent(h, [0, 0, 0], ["cat", "dog", "wolf"], [0.9, 0.8, 0.1], rows=1)
    >>> q.dense().values.tolist()
    [[1.0, 0.9, 0.9, 0.8, 0.1]]
    """
    entries = _Entries.of(hierarchy, row, classes, scores, rows, ())
    below = entries.node > 0
    paths = with_ancestors(hierarchy, np.append(0, np.cumsum(below))[entries.start], entries.node[below])
    value = np.zeros(len(paths.node))
    value[paths.own] = entries.value[below]
    q = SparseLikelihoods.checked(hierarchy, paths.start, paths.node, value, "probability")
    depth = hierarchy.depth[paths.node]
    for level in range(int(depth.max(initial=1)), 1, -1):
        there = np.flatnonzero(depth == level)
        np.maximum.at(value, q.above[there], value[there])
    return SparseLikelihoods(hierarchy, paths.start, paths.node, value)


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
        return cls(np.append(0, np.cumsum(np.bincount(number, minlength=rows))), node, value, names)


def _row_numbers(row: ArrayLike, rows: int) -> Indices:
    """Return the examples of entries, checked."""
    number = as_numpy(row)
    if a_number(rows, "rows") < 0:
        raise ScoreError(f"rows must be the number of examples, not {rows}.")
    if not number.size:
        return np.zeros(number.shape, dtype=np.int64)
    if number.dtype.kind not in "iu":
        raise ScoreError(
            f"row must hold the number of each entry's example, an integer; got {number.dtype}. To number ids: "
            f"row, ids = pandas.factorize(ids)."
        )
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
            f"{where}.{closest(unknown[:5], hierarchy)} If a class lies outside the tree, use "
            f"{argument('outside', (unknown[0],))}."
        )
    return np.fromiter(map(index.__getitem__, names), dtype=np.int64, count=len(names))


def _shares(
    hierarchy: Hierarchy, entries: _Entries, source: RowSource, *, renormalise: bool
) -> NDArray[np.float64]:
    """Return the scores, divided by their sum where that is above 1, or everywhere."""
    total = row_sums(entries.value, entries.start)
    if renormalise:
        whole = np.where(total > 0, total, 1.0)
    else:
        votes = f"If they are votes or percentages, use {argument('renormalise', True)}."
        source.check_sums(total, "at most 1", votes)
        whole = np.where(total <= 1 + _rounding(hierarchy), 1.0, total)
    return entries.value if np.all(whole == 1) else entries.value / np.repeat(whole, np.diff(entries.start))


def _summed(
    hierarchy: Hierarchy, start: Indices, node: Indices, unit: Indices
) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Sum units up the tree; return the number of nodes of each row, the nodes, and their likelihoods."""
    paths = with_ancestors(hierarchy, start, node)
    share = np.minimum(sum_below(hierarchy, node, unit, paths).astype(np.float64), 1 / UNIT) * UNIT
    if hierarchy.child_count[0] == 1:  # if all leaves are listed, this child has what the root has
        full = (hierarchy.leaf_count[paths.node] == len(hierarchy.leaves)) & (share >= 1 - _rounding(hierarchy))
        share[full] = 1
    return np.diff(paths.start), paths.node, share


def _rounding(hierarchy: Hierarchy) -> float:
    """Return the largest rounding error of a sum of probabilities."""
    return sum_rounding(len(hierarchy.leaves), float(np.finfo(np.float64).eps))
