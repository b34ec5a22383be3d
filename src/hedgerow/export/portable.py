"""Answers to rows of scores at an operating point: what a service returns, in the words of the specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import as_numpy, as_scores
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood import (
    Likelihoods,
    RowSource,
    Treatment,
    column_names,
    flat_softmax,
    from_leaves,
    places,
    tempered,
    to_probability,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose import OperatingPoint
    from hedgerow.tree import Hierarchy

_MORE = {"prior": "a prior", "pool": "pooled events", "weight_steps": "weights"}
"""Fields of a point, if set, with which an answer depends on more than the scores of an example and its group."""


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
        on its scale, taken as they are. The columns of a table are found by name; those of an array are in the
        order of the tree, unless `classes` names them.
    classes
        The names of the columns.
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
    check_portable(point)
    q = _likelihoods(point, rows, classes, logits=logits)
    return named(point.hierarchy, point.predict(q, groups), q)


def check_portable(point: OperatingPoint) -> None:
    """Refuse points whose answers need more than a row of scores, and the group of the example."""
    needed = [what for name, what in _MORE.items() if getattr(point, name)]
    if needed:
        raise ParameterError(
            f"The point has {' and '.join(needed)}, so its answers need more than scores: use hedgerow predict."
        )


def _likelihoods(point: OperatingPoint, rows: Any, classes: ArrayLike | None, *, logits: bool) -> Likelihoods:
    """Return the likelihoods of all nodes, on the scale of the point and divided by its temperature."""
    tree, scale = point.hierarchy, point.scale
    values, names = column_names(rows, classes)
    values = as_numpy(values)
    width = values.shape[-1] if values.ndim == 2 else 0
    by_node = width == len(tree) > len(tree.leaves) and not logits
    nodes, what = (np.arange(len(tree)), "nodes") if by_node else (tree.leaves, "leaves")
    if not width or (names is None and width != len(nodes)):
        raise ScoreError(
            f"Scores need one row per example and one column per leaf, {len(tree.leaves)}, or for likelihoods per "
            f"node, {len(tree)}; their shape is {values.shape}."
        )
    values = as_scores(values, width if names is None else len(names), "class").astype(np.float64)
    if names is not None:
        values = values[:, places(tree, names, nodes, what)]
    if by_node:
        found = values
    elif scale == "logit":
        raise ParameterError("This point is for logits of all nodes: give a column per node.")
    else:
        if logits:
            RowSource().check_logits(values, lambda leaf: str(tree.names[nodes[leaf]]))
            found = flat_softmax(tree, values / point.temperature)
        else:
            found = np.asarray(tempered(tree, from_leaves(tree, values), point.temperature))
        if scale == "log":
            with np.errstate(divide="ignore"):
                found = np.log(found)
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
