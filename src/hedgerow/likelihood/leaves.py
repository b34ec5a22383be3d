"""From the leaf probabilities of any classifier to likelihoods of all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Array, as_scores, namespace, operations, ops_of
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood.named_columns import places, split_names

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hedgerow.tree import Hierarchy

SUM_TOLERANCE = {"float16": 2e-2, "bfloat16": 2e-2}
"""How far the sum of a row of probabilities may be from 1, by type; 1e-3 for all others."""


def from_leaves(hierarchy: Hierarchy, probabilities: Any, classes: ArrayLike | None = None) -> Array:
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
    """
    values, names = split_names(probabilities)
    if classes is not None:
        given = [str(name) for name in np.asarray(classes, dtype=object).ravel().tolist()]
        if names is not None and names != given:
            raise ParameterError(
                "The column names of the table differ from classes: leave out classes, or pass a plain array."
            )
        names = given
    precision = str(getattr(values, "dtype", "float64")).removeprefix("torch.")
    if names is not None:
        column = places(names, hierarchy.names[hierarchy.leaves].tolist(), "leaves")
    p = as_scores(values, len(hierarchy.leaves), "leaf")
    if names is not None:
        ops = ops_of(p)
        p = namespace(p).take(p, ops.constant(column, ops.device_of(p)), axis=-1)
    _check_rows(hierarchy, p, SUM_TOLERANCE.get(precision, 1e-3))
    return operations.leaf_shares(hierarchy, p)


def _check_rows(hierarchy: Hierarchy, p: Array, tolerance: float) -> None:
    """Raise an error for leaf probabilities that are NaN or negative, and for rows that do not sum to 1."""
    xp = namespace(p)
    p = xp.reshape(p, (-1, p.shape[-1]))
    if p.shape[0] == 0:
        raise ScoreError("There are no scores: the array has no rows.")
    total = xp.sum(p, axis=-1, dtype=xp.float64)
    lowest = xp.min(p, axis=-1)
    good = (lowest >= 0) & (xp.abs(total - 1) <= tolerance)  # NaN fails both
    if bool(xp.all(good)):
        return
    row = int(xp.argmin(xp.astype(good, xp.int8)))
    if not bool(lowest[row] >= 0):
        column = int(xp.argmin(xp.astype(p[row, :] >= 0, xp.int8)))
        name, value = hierarchy.names[hierarchy.leaves[column]], float(p[row, column])
        raise ScoreError(
            f"Probabilities must be 0 or more; row {row} has {value} for {name!r}. If these are logits, use "
            f"likelihood.flat_softmax, which applies a softmax first."
        )
    raise ScoreError(
        f"Leaf probabilities must sum to 1 within {tolerance}; row {row} sums to {float(total[row]):.6g}. Divide "
        f"each row by its sum; if these are logits, use likelihood.flat_softmax."
    )
