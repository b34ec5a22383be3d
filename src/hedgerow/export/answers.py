"""Answers to rows of scores at an operating point: what a service returns, in the words of the specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood import (
    ColumnFit,
    Likelihoods,
    Treatment,
    flat_softmax,
    from_leaves,
    in_order,
    tempered,
    to_probability,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose import OperatingPoint
    from hedgerow.tree import Hierarchy


@final
@dataclass(frozen=True)
class Answer:
    """One answer, ready for JSON with `dataclasses.asdict`."""

    node: int
    """The index of the node in the tree of the point."""
    name: str
    """Its name."""
    likelihood: float
    """How likely it is: a probability."""
    lineage: list[str]
    """The names of the nodes above it, the root first, and its own."""


def answers(
    point: OperatingPoint,
    rows: Any,
    classes: ArrayLike | None = None,
    *,
    logits: bool = False,
    groups: ArrayLike | None = None,
) -> list[Answer]:
    """Answer rows of scores at an operating point, as every other program does that follows its specification.

    Parameters
    ----------
    point
        The point, which has the tree.
    rows
        [examples, leaves] probabilities, divided by the point's temperature here; or [examples, nodes] likelihoods
        on its scale, taken as they are. Without column names, they are in the order of the tree.
    classes
        The names of the columns of the leaves.
    logits
        Whether the rows hold logits of the leaves.
    groups
        The group of each example, if the point has thresholds by group.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.export import answers
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = hr.likelihood.from_leaves(h, [[0.5, 0.25, 0.25]] * 20)
    >>> point = hr.select(h, q, ["cat"] * 10 + ["dog"] * 9 + ["wolf"], target=("correct", 0.9))
    >>> answers(point, [[0.25, 0.25, 0.5]], ["cat", "wolf", "dog"])[0].name
    'pet'
    """
    q = row_likelihoods(point, rows, classes, logits=logits)
    return named(point.hierarchy, point.predict(q, groups), q)


def row_likelihoods(
    point: OperatingPoint, rows: Any, classes: ArrayLike | None = None, *, logits: bool = False
) -> Likelihoods:
    """Return the likelihoods of all nodes, on the scale of the point and divided by its temperature.

    The parameters are those of `answers`.
    """
    tree, scale = point.hierarchy, point.scale
    values = np.asarray(rows, dtype=np.float64)
    names = tree.names[tree.leaves] if classes is None else np.asarray(classes, dtype=object)
    if values.ndim != 2 or values.shape[1] not in (len(names), len(tree)):
        raise ScoreError(
            f"Scores need one row per example and one column per leaf, {len(names)}, or per node, {len(tree)}; "
            f"their shape is {values.shape}."
        )
    if values.shape[1] != len(names):
        found: Any = values
    elif scale == "logit":
        raise ParameterError("This point is for logits of all nodes: give a column per node.")
    elif logits:
        if (bad := np.flatnonzero(~np.isfinite(values.max(axis=1)))).size:  # NaN is the largest where there is one
            raise ScoreError(f"Logits must be finite (or -inf), which those of row {bad[0]} are not.")
        theta = in_order(values, ColumnFit.of(tree, list(names)).place) / point.temperature
        found = flat_softmax(tree, theta, scale=scale)
    else:
        found = np.asarray(tempered(tree, from_leaves(tree, values, classes), point.temperature))
        with np.errstate(divide="ignore"):
            found = np.log(found) if scale == "log" else found
    q: Likelihoods = Likelihoods.of(tree, found, scale)
    q.treatment = Treatment(point.temperature)
    return q


def named(tree: Hierarchy, nodes: NDArray[np.int64], q: Likelihoods) -> list[Answer]:
    """Return answers with their names, lineages and likelihoods."""
    likelihood = to_probability(q.at(nodes).astype(np.float64), q.scale)
    return [
        Answer(node, str(tree.names[node]), p, tree.names[tree.lineage(node)].tolist())
        for node, p in zip(nodes.tolist(), likelihood.tolist(), strict=True)
    ]
