"""Turn the probabilities of any classifier, of leaves or of classes at any depth, into likelihoods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import UNIT, Array, as_numpy, as_scores, namespace, operations, ops_of
from hedgerow.errors import ScoreError, UnknownNameError, argument, closest, warn
from hedgerow.likelihood.named_columns import ColumnFit, column_names, places
from hedgerow.likelihood.scales import AGAIN, POSITIVE, PROBABILITIES, RowSource, sum_tolerance

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree import Hierarchy, Indices

_OWN = "If each column is the probability of its class itself, use likelihood.from_columns."
_NAMED = " If some leaves have no column, name the columns: classes=[...]."
_ONE = 1 << 62  # the probability 1 in units
_NEARLY = 0.05  # relative tolerance for sums of rounded numbers


def from_leaves(
    hierarchy: Hierarchy,
    probabilities: Any,
    classes: ArrayLike | None = None,
    *,
    renormalise: bool = False,
    source: RowSource | None = None,
) -> Array:
    """Sum the leaf probabilities of any classifier up the tree.

    Parameters
    ----------
    hierarchy
        The tree.
    probabilities
        [..., leaves]. Rows must sum to 1 (within 1e-3; 2e-2 in half precision) and are renormalised. The columns
        of a table with column names, such as a DataFrame, may be in any order.
    classes
        Names of the columns, if they are not in the order of `hierarchy.leaves`. Leaves without a column have the
        probability 0, which a warning says.
    renormalise
        Whether rows may have any positive sum, by which they are divided: for numbers that were rounded,
        percentages, or votes.
    source
        The source of the rows, for messages.

    Returns
    -------
    array [..., nodes]
        1 at the root; a parent is never less likely than its child, and leaves keep their probability, to 2**-62.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> likelihood.from_leaves(h, [[0.5, 0.25, 0.25]], classes=["wolf", "dog", "cat"]).tolist()
    [[1.0, 0.5, 0.25, 0.25, 0.5]]
    >>> likelihood.from_leaves(h, [[2, 1, 1]], renormalise=True).tolist()
    [[1.0, 0.75, 0.5, 0.25, 0.25]]
    """
    values, names = column_names(probabilities, classes)
    known, notice = source or RowSource(tolerance=sum_tolerance(getattr(values, "dtype", None))), ""
    if names is None:
        p = as_scores(values, len(hierarchy.leaves), "leaf", _NAMED)
    else:
        fit = ColumnFit.of(hierarchy, names)
        if fit.kind != "leaves":
            places(hierarchy, names, hierarchy.leaves, "leaves")  # raises an error that says what does not fit
        if notice := fit.notice:
            known = replace(known, if_less=f"{notice} {_OWN}")
        p = in_order(as_scores(values, len(names), "class"), fit.place)
    total = _checked_sums(p, lambda leaf: hierarchy.names[hierarchy.leaves[leaf]], known, renormalise=renormalise)
    if notice:
        warn(notice)
    if renormalise:
        p = namespace(p).astype(p / total, p.dtype)
    elif p.dtype.itemsize == 8:
        p = _divided_exactly(p, total)
    return operations.leaf_shares(hierarchy, p)


def _divided_exactly(p: Array, total: Array) -> Array:
    """Divide the rows that do not sum to 1 by their sums, which are added up in whole units, in no order.

    A sum of floats depends on the order of adding, and so would answers close to a threshold; other programs that
    follow the specification of operating points could not repeat it.
    """
    xp, count = namespace(p), p.shape[-1] + 1
    rounding = count * float(np.finfo(np.float64).eps) / 2
    if bool(xp.all(xp.abs(total - 1) <= rounding / 4)):
        return p
    units = xp.sum(xp.astype(xp.floor(p / UNIT), xp.int64), axis=-1, keepdims=True)
    exact = xp.astype(units, xp.float64) * UNIT
    return xp.where(xp.abs(units - _ONE) > count << 9, p / exact, p)  # count << 9 is `rounding` in units


def in_order(scores: Array, place: Indices, missing: float = 0.0) -> Array:
    """Return columns [..., columns] in the given order; the number of columns stands for one that is missing."""
    xp, ops = namespace(scores), ops_of(scores)
    if place.max(initial=0) >= scores.shape[-1]:
        scores = xp.concat([scores, xp.full_like(scores[..., :1], missing)], axis=-1)
    return xp.take(scores, ops.constant(place, ops.device_of(scores)), axis=-1)


def from_columns(
    hierarchy: Hierarchy,
    scores: Any,
    classes: ArrayLike | None = None,
    outside: Collection[str] = (),
    *,
    renormalise: bool = False,
    source: RowSource | None = None,
) -> Array:
    """Sum the probabilities of classes at any depth up the tree.

    A column is the probability of its class itself: at an inner node, that it is this class and nothing below it
    is known. Whatever is missing to a sum of 1 stays at the root, and classes without a column have probability 0:
    this serves models that know only a part of the tree.

    Parameters
    ----------
    hierarchy
        The tree.
    scores
        [..., columns]. Rows may sum to at most 1; a sum above 1 by no more than 1e-3 (2e-2 in half precision) is
        divided out. An array, a tensor, or a table with column names.
    classes
        Names of the columns; not needed for a table with column names.
    outside
        Names of columns that are not in the tree, such as "blank"; they count for the root.
    renormalise
        Whether rows may have any positive sum, by which they are divided: for votes and percentages.
    source
        The source of the rows, for messages.

    Returns
    -------
    array [..., nodes]
        1 at the root; a parent is never less likely than its child.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> likelihood.from_columns(h, [[0.5, 0.25, 0.25]], ["cat", "pet", "blank"], outside=["blank"]).tolist()
    [[1.0, 0.75, 0.5, 0.0, 0.0]]
    """
    values, names = column_names(scores, classes)
    if names is None:
        raise ScoreError("The columns need names: give classes, or a table with column names.")
    fit = ColumnFit.own(hierarchy, names, outside)
    if fit.kind is None:
        advice = (
            f"{closest(fit.extra[:5], hierarchy)} If a class lies outside the tree, use "
            f"{argument('outside', tuple(fit.extra[:1]))}."
        )
        raise UnknownNameError(
            f"Columns must be nodes of the tree, each once: {fit.problems}.{advice if fit.extra else ''}"
        )
    p = as_scores(values, len(names), "class")
    known = source or RowSource(tolerance=sum_tolerance(getattr(values, "dtype", None)))
    total = _checked_sums(p, names.__getitem__, known, renormalise=renormalise, at_most=True)
    xp = namespace(p)
    if renormalise:
        p, total = xp.astype(p / total, p.dtype), xp.ones_like(total)
    own = in_order(p, fit.place)
    rest = xp.clip(xp.clip(total, min=1.0) - xp.sum(own, axis=-1, dtype=xp.float64, keepdims=True), min=0.0)
    at_root = xp.astype(own[..., :1] + rest, p.dtype)
    return operations.descendant_shares(hierarchy, xp.concat([at_root, own[..., 1:]], axis=-1))


# Rows ----------------------------------------------------------------------------------------------------------


def _checked_sums(
    p: Array, name: Callable[[int], str], source: RowSource, *, renormalise: bool, at_most: bool = False
) -> Array:
    """Return the sum of each row [..., 1]; raise an error for a row that is not a distribution.

    Parameters
    ----------
    p, name
        [..., columns] probabilities, and a function that returns the name of a column.
    source
        The source of the rows, and how far their sums may be from 1.
    renormalise
        Whether any positive sum will do.
    at_most
        Whether rows may sum to less than 1.
    """
    xp = namespace(p)
    flat = xp.reshape(p, (-1, p.shape[-1]))
    if flat.shape[0] == 0:
        raise ScoreError("There are no scores: the array has no rows.")

    def advice(row: int) -> str:
        return AGAIN if renormalise else _advice(as_numpy(flat), row, source)

    bounds = POSITIVE if renormalise else PROBABILITIES._replace(highest=1 + source.tolerance)
    source.check_range(flat, bounds, name, advice)
    total = xp.sum(flat, axis=-1, dtype=xp.float64)
    wanted: Any = "positive" if renormalise else "at most 1" if at_most else "1"
    source.check_sums(total, wanted, advice, "Probabilities" if at_most else "Leaf probabilities")
    return xp.reshape(total, (*p.shape[:-1], 1))


def _advice(scores: NDArray[Any], row: int, source: RowSource) -> str:
    """Suggest what may be wrong with scores of which a row is not a distribution."""
    total = float(scores[row].sum(dtype=np.float64))
    if not np.isfinite(total) or total == 0:
        return AGAIN
    if np.fmin.reduce(scores, axis=None) < 0:
        return source.if_logits
    divide = f"use {argument('renormalise', True)}, which divides each row by its sum"
    if total < 1 and source.if_less:
        return source.if_less
    if abs(total - 1) <= _NEARLY:
        return f"If these are probabilities that were rounded, {divide}."
    if abs(total - 100) <= 100 * _NEARLY:
        return f"If these are percentages, {divide}."
    if np.fmax.reduce(scores, axis=None) <= 1:
        alone = argument("independent", True) if source.path else "likelihood.from_independent"
        return (
            f"If each is that of its class alone, use {alone}; if only the shares within a row matter, {divide}."
        )
    return f"If these are counts or weights, {divide}. {source.if_logits}"
