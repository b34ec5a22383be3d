"""Likelihoods from probabilities of classes at any depth of the tree."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Array, as_scores, namespace, operations, ops_of
from hedgerow.errors import ScoreError, UnknownNameError, argument, closest, counted, itemised
from hedgerow.likelihood.leaves import column_names
from hedgerow.likelihood.scales import sum_tolerance

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike

    from hedgerow.tree import Hierarchy, Indices


def from_columns(
    hierarchy: Hierarchy, scores: Any, classes: ArrayLike | None = None, outside: Collection[str] = ()
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
    p = as_scores(values, len(names), "class")
    xp, ops = namespace(p), ops_of(p)
    place = ops.constant(_places(hierarchy, names, outside), ops.device_of(p))
    total = _checked_sums(p, names, sum_tolerance(getattr(values, "dtype", None)))
    # Nodes without a column take theirs from a last one, of zeros.
    own = xp.take(xp.concat([p, xp.zeros_like(p[..., :1])], axis=-1), place, axis=-1)
    rest = xp.clip(xp.clip(total, min=1.0) - xp.sum(own, axis=-1, dtype=xp.float64, keepdims=True), min=0.0)
    at_root = xp.astype(own[..., :1] + rest, p.dtype)
    return operations.descendant_shares(hierarchy, xp.concat([at_root, own[..., 1:]], axis=-1))


def _places(hierarchy: Hierarchy, names: list[str], outside: Collection[str]) -> Indices:
    """Return the column of each node; one past the last for nodes without a column."""
    elsewhere = {outside} if isinstance(outside, str) else set(outside)
    twice = [name for name, count in Counter(names).items() if count > 1]
    unknown = [name for name in names if name not in hierarchy and name not in elsewhere]
    inside = [name for name in sorted(elsewhere) if name in hierarchy]
    if twice or unknown or inside:
        said = itemised(
            (twice, "repeated"), (unknown, "not in the tree"), (inside, "declared outside, but in the tree")
        )
        advice = (
            f"{closest(unknown[:5], hierarchy)} If a class lies outside the tree, say so: "
            f"{argument('outside', tuple(unknown[:1]))}."
        )
        raise UnknownNameError(f"Columns must be nodes of the tree, each once: {said}.{advice if unknown else ''}")
    place = np.full(len(hierarchy), len(names))
    bound = [column for column, name in enumerate(names) if name in hierarchy]
    place[hierarchy.indices([names[column] for column in bound])] = bound
    return place


def _checked_sums(p: Array, names: list[str], tolerance: float) -> Array:
    """Return the sum of each row [..., 1]; raise an error for negative numbers, NaN, or a sum above 1."""
    xp = namespace(p)
    flat = xp.reshape(p, (-1, p.shape[-1]))
    if flat.shape[0] == 0:
        raise ScoreError("There are no scores: the array has no rows.")
    bad = ~(flat >= 0)
    if bool(xp.any(bad)):
        row, column = divmod(int(xp.argmax(xp.astype(xp.reshape(bad, (-1,)), xp.int8))), len(names))
        raise ScoreError(
            f"Probabilities must be 0 or more; row {row} has {float(flat[row, column]):.6g} for {names[column]!r}."
        )
    total = xp.sum(flat, axis=-1, dtype=xp.float64)
    above = total > 1 + tolerance
    if bool(xp.any(above)):
        row = int(xp.argmax(xp.astype(above, xp.int8)))
        count = counted(int(xp.sum(xp.astype(above, xp.int64))), "row", "rows")
        raise ScoreError(
            f"Probabilities must sum to at most 1, within {tolerance:g}; row {row} sums to "
            f"{float(total[row]):.6g} ({count} in all). Divide votes and percentages by the sum of their row."
        )
    return xp.reshape(total, (*p.shape[:-1], 1))
