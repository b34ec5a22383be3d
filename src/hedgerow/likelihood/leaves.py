"""From the leaf probabilities of any classifier to likelihoods of all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Array, as_scores, namespace, operations, ops_of
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood.named_columns import places, split_names
from hedgerow.likelihood.scales import sum_tolerance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hedgerow.tree import Hierarchy

_IF_LOGITS = "If these are logits, use likelihood.flat_softmax, which takes their softmax first."


def from_leaves(
    hierarchy: Hierarchy, probabilities: Any, classes: ArrayLike | None = None, *, renormalise: bool = False
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
        Names of the columns, if they are not in the order of `hierarchy.leaves`.
    renormalise
        Whether rows may have any positive sum, by which they are divided: for numbers that were rounded,
        percentages, or votes.

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
    column = None if names is None else places(hierarchy, names, hierarchy.leaves, "leaves")
    p = as_scores(values, len(hierarchy.leaves), "leaf")
    if column is not None:
        ops = ops_of(p)
        p = namespace(p).take(p, ops.constant(column, ops.device_of(p)), axis=-1)
    total = _checked_sums(hierarchy, p, None if renormalise else sum_tolerance(getattr(values, "dtype", None)))
    if renormalise:
        p = namespace(p).astype(p / total, p.dtype)
    return operations.leaf_shares(hierarchy, p)


def column_names(table: Any, classes: ArrayLike | None) -> tuple[Any, list[str] | None]:
    """Return values, and the names of their columns: those of the table or those given, which must not differ."""
    values, names = split_names(table)
    if classes is None:
        return values, names
    given = [str(name) for name in np.asarray(classes, dtype=object).ravel().tolist()]
    if names is not None and names != given:
        raise ParameterError(
            "The column names of the table differ from classes: leave out classes, or pass a plain array."
        )
    return values, given


def _checked_sums(hierarchy: Hierarchy, p: Array, tolerance: float | None) -> Array:
    """Return the sum of each row [..., 1], or refuse rows that are no distribution.

    Without a tolerance, any positive sum will do.
    """
    xp = namespace(p)
    flat = xp.reshape(p, (-1, p.shape[-1]))
    if flat.shape[0] == 0:
        raise ScoreError("There are no scores: the array has no rows.")
    total = xp.sum(flat, axis=-1, dtype=xp.float64)
    lowest = xp.min(flat, axis=-1)
    sums = (total > 0) & (total < np.inf) if tolerance is None else xp.abs(total - 1) <= tolerance
    good = (lowest >= 0) & sums  # NaN fails both
    if not bool(xp.all(good)):
        row = int(xp.argmin(xp.astype(good, xp.int8)))
        if not bool(lowest[row] >= 0):
            column = int(xp.argmin(xp.astype(flat[row, :] >= 0, xp.int8)))
            name, value = hierarchy.names[hierarchy.leaves[column]], float(flat[row, column])
            advice = "" if np.isnan(value) else f" {_IF_LOGITS}"
            raise ScoreError(f"Probabilities must be 0 or more; row {row} has {value} for {name!r}.{advice}")
        wanted = "have a positive sum" if tolerance is None else f"sum to 1 within {tolerance}"
        at_most_1 = bool(xp.max(flat) <= 1)  # as logits seldom are
        divide = "" if tolerance is None else " To divide each row by its sum, say renormalise=True."
        raise ScoreError(
            f"Leaf probabilities must {wanted}; row {row} sums to {float(total[row]):.6g}.{divide}"
            f"{'' if at_most_1 else f' {_IF_LOGITS}'}"
        )
    return xp.reshape(total, (*p.shape[:-1], 1))
