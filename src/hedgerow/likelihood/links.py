"""Likelihoods q(θ): from a classifier's scores to one likelihood per node of the tree.

One function per parametrisation of the paper's appendix, each a pure function of the tree and the scores θ:
NumPy in, NumPy out; torch in, torch out. Scores come in node order, in the layout that the parametrisation needs.
Every function returns [..., nodes], in single or double precision as θ is, and can return logarithms, computed as
such: ``scale="log"``. The sigmoid families also give ``scale="logit"``, which does not saturate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from hedgerow.arrays import Array, as_rows, as_scores, extra_ops, namespace, operations, rounded_down
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError, closest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hedgerow.tree import Hierarchy

Scale = Literal["probability", "log", "logit"]

BOTTOM: dict[Scale, float] = {"probability": 0.0, "log": -np.inf, "logit": -np.inf}
"""The lowest threshold of each scale; nodes that score no higher are never answers."""

SUM_TOLERANCE = {"float16": 2e-2, "bfloat16": 2e-2}
"""How far a row of probabilities may be from summing to 1, by type; 1e-3 for all others."""


def from_leaves(hierarchy: Hierarchy, probabilities: Any, classes: ArrayLike | None = None) -> Array:
    """Sum the leaf probabilities of any classifier up the tree.

    Parameters
    ----------
    hierarchy
        The tree.
    probabilities
        [..., leaves], rows summing to 1 (within 1e-3; 2e-2 in half precision); they are renormalised.
    classes
        Names of the columns, if they are not in the order of `h.leaves`.

    Returns
    -------
    array [..., nodes]
        1 at the root; a parent is never below its child, and leaves keep their probability, to 2**-62.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> likelihood.from_leaves(h, [[0.5, 0.25, 0.25]], classes=["wolf", "dog", "cat"]).tolist()
    [[1.0, 0.5, 0.25, 0.25, 0.5]]
    """
    given = str(getattr(probabilities, "dtype", "float64")).removeprefix("torch.")
    p = as_scores(probabilities, len(hierarchy.leaves), "leaf")
    if classes is not None:
        ops = extra_ops(p)
        p = namespace(p).take(p, ops.constant(leaf_columns(hierarchy, classes), ops.device_of(p)), axis=-1)
    check_rows(hierarchy, p, SUM_TOLERANCE.get(given, 1e-3))
    return operations.leaf_shares(hierarchy, p)


def leaf_columns(hierarchy: Hierarchy, classes: ArrayLike) -> Any:
    """Return, for each leaf in order, its column among `classes`; these must be exactly the leaves."""
    names = np.asarray(classes, dtype=object).ravel().tolist()
    leaves = hierarchy.names[hierarchy.leaves].tolist()
    column = {name: i for i, name in enumerate(names)}
    if len(column) == len(names) and column.keys() == set(leaves):
        return np.fromiter(map(column.__getitem__, leaves), dtype=np.int64, count=len(leaves))
    repeated = [name for name in column if names.count(name) > 1] if len(column) < len(names) else []
    problems = [
        (repeated, "repeated"),
        ([name for name in leaves if name not in column], "missing"),
        (unknown := [name for name in column if name not in set(leaves)], "not leaves of the tree"),
    ]
    said = "; ".join(
        f"{len(which)} {what} ({', '.join(map(repr, which[:5]))}{', ...' if len(which) > 5 else ''})"
        for which, what in problems
        if which
    )
    raise UnknownNameError(
        f"Classes must be the {len(leaves)} leaves, each once: {said}.{closest(unknown[:3], leaves)}"
    )


def check_rows(hierarchy: Hierarchy, p: Array, tolerance: float) -> None:
    """Refuse leaf probabilities that are NaN or negative, or rows that do not sum to 1."""
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
    advice = "If these are logits, take their softmax first (--logits)."
    if not bool(lowest[row] >= 0):
        column = int(xp.argmin(xp.astype(p[row, :] >= 0, xp.int8)))
        name, value = hierarchy.names[hierarchy.leaves[column]], float(p[row, column])
        raise ScoreError(f"Probabilities must be 0 or more; row {row} has {value} for {name!r}. {advice}")
    raise ScoreError(
        f"Leaf probabilities must sum to 1 within {tolerance}; row {row} sums to {float(total[row]):.6g}. {advice}"
    )


ROUNDING = 1e-5
"""How far above 1 a likelihood may be, from adding up in single precision; it then counts as 1."""


def check_likelihoods(hierarchy: Hierarchy, q: Any, scale: Scale = "probability", *, first_row: int = 0) -> Array:
    """Return likelihoods as a float array or tensor [examples, nodes], or say what is wrong with them.

    NaN is refused on every scale; on the probability scale so is what lies outside 0 .. 1. `first_row` is the
    number of the first row, where q is a part of something.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    >>> check_likelihoods(h, [[1, 0.75, 0.25]]).tolist()
    [[1.0, 0.75, 0.25]]
    >>> check_likelihoods(h, [[1, 0.75, 0.25], [1, 1.5, -0.5]])
    Traceback (most recent call last):
    hedgerow.errors.ScoreError: Likelihoods must lie between 0 and 1; row 1 has 1.5 for 'cat'. ...
    """
    if scale not in ("probability", "log", "logit"):
        raise ParameterError(f"scale must be 'probability', 'log' or 'logit', not {scale!r}.")
    q = as_rows(q, hierarchy)
    if q.shape[0] == 0:
        return q
    lowest, highest = extra_ops(q).extremes(q)
    if scale != "probability":
        if np.isnan(lowest):
            raise ScoreError(
                f"Scores must be numbers; {_offender(hierarchy, q, namespace(q).isnan(q), first_row)}."
            )
        return q
    most = float(rounded_down(1 + ROUNDING, q))
    if not (lowest >= 0 and highest <= most):  # NaN is not
        what = _offender(hierarchy, q, ~((q >= 0) & (q <= most)), first_row)
        advice = "For scores on another scale, say scale='log' or scale='logit'."
        raise ScoreError(f"Likelihoods must lie between 0 and 1; {what}. {advice}")
    return q if highest <= 1 else _at_most(q, 1.0)


@final
@dataclass(frozen=True)
class RangeCheck:
    """`check_likelihoods` for one tree and scale."""

    hierarchy: Hierarchy
    scale: Scale

    @property
    def usual(self) -> tuple[float, float]:
        """Between these, both included, scores pass as they are."""
        return (0.0, 1.0) if self.scale == "probability" else (-np.inf, np.inf)

    def __call__(self, q: Array, first_row: int) -> Array:
        """Return q as it shall be used, or refuse it; `first_row` is the number of its first row."""
        return check_likelihoods(self.hierarchy, q, self.scale, first_row=first_row)


def _offender(hierarchy: Hierarchy, q: Array, bad: Array, first_row: int) -> str:
    """Describe the first bad entry."""
    xp = namespace(q)
    row, node = divmod(int(xp.argmax(xp.astype(xp.reshape(bad, (-1,)), xp.int8))), len(hierarchy))
    return f"row {first_row + row} has {float(q[row, node]):.6g} for {hierarchy.names[node]!r}"


def flat_softmax(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Softmax over the leaves, summed up the tree: ``q(y) = Σ_{u ∈ L(y)} softmax_L(θ)_u``.

    θ is [..., leaves]. Also the parametrisation of HXE.
    """
    theta = as_scores(theta, len(hierarchy.leaves), "leaf")
    if _is_log(scale):
        return _less_root(operations.log_sum_leaves(hierarchy, _shifted(theta)))
    return operations.leaf_softmax(hierarchy, theta)


def multilabel(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Independent sigmoids: ``q(y) = σ(θ_y)``, 1 at the root. θ is [..., nodes but the root]."""
    return _sigmoid_below_root(as_scores(theta, len(hierarchy) - 1, "node but the root"), scale)


def conditional_softmax(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Softmax among siblings, multiplied down the tree: ``q(y) = q(π(y)) softmax_{C(π(y))}(θ)_y``.

    θ is [..., nodes but the root].
    """
    theta = as_scores(theta, len(hierarchy) - 1, "node but the root")
    log_conditional = operations.sibling_log_softmax(hierarchy, theta)
    if _is_log(scale):
        return operations.add_down(hierarchy, _at_most(log_conditional, 0.0))
    return operations.multiply_down(hierarchy, _at_most(namespace(theta).exp(log_conditional), 1.0))


def conditional_sigmoid(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Sigmoids given the parent, multiplied down the tree: ``q(y) = q(π(y)) σ(θ_y)``.

    θ is [..., nodes but the root].
    """
    theta = as_scores(theta, len(hierarchy) - 1, "node but the root")
    if _is_log(scale):
        return operations.add_down(hierarchy, extra_ops(theta).log_sigmoid(theta))
    return operations.multiply_down(hierarchy, extra_ops(theta).sigmoid(theta))


def deep_rtc(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Sigmoid of the path score: ``q(y) = σ(β_y)`` with ``β_y = Σ_{u ∈ A(y)} θ_u``, 1 at the root.

    θ is [..., nodes but the root]. In single precision σ(β) is 1 above β = 17; rank by ``scale="logit"``, which
    is β itself.
    """
    theta = as_scores(theta, len(hierarchy) - 1, "node but the root")
    return _sigmoid_below_root(_path_scores(hierarchy, theta)[..., 1:], scale)


def ps_softmax(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Softmax over the leaves' path scores, summed up the tree: ``q = A_L softmax_L(A_Lᵀ θ)``.

    θ is [..., nodes but the root].
    """
    theta = as_scores(theta, len(hierarchy) - 1, "node but the root")
    beta = _path_scores(hierarchy, theta)
    return flat_softmax(
        hierarchy, namespace(beta).take(beta, operations.Layout.of(hierarchy, beta).leaves, axis=-1), scale=scale
    )


def softmax_over_nodes(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Softmax over all nodes, summed up the tree: ``q = A softmax_Y(θ)``; internal nodes have mass of their own.

    θ is [..., nodes]. The parametrisation of soft-max-descendant and soft-max-margin.
    """
    theta = as_scores(theta, len(hierarchy), "node")
    if _is_log(scale):
        return _less_root(operations.log_sum_descendants(hierarchy, _shifted(theta)))
    return operations.descendant_softmax(hierarchy, theta)


def _is_log(scale: Scale) -> bool:
    if scale not in ("probability", "log"):
        raise ParameterError(f"scale must be 'probability' or 'log' here, not {scale!r}.")
    return scale == "log"


def _shifted(theta: Array) -> Array:
    """Scores less the largest of their row: large ones would cost the logarithms their precision."""
    return theta - namespace(theta).max(theta, axis=-1, keepdims=True)


def _less_root(log_mass: Array) -> Array:
    """Subtract the logarithm at the root."""
    return log_mass - log_mass[..., :1]


def _at_most(x: Array, bound: float) -> Array:
    """Take off the hair by which rounding can carry a softmax above 1."""
    return namespace(x).clip(x, max=bound)


def _path_scores(hierarchy: Hierarchy, theta: Array) -> Array:
    """β = Aᵀθ with θ = 0 at the root, in the precision of θ."""
    xp = namespace(theta)
    with_root = xp.concat([xp.zeros_like(theta[..., :1]), theta], axis=-1)
    return xp.astype(operations.sum_ancestors(hierarchy, with_root), theta.dtype, copy=False)


def _sigmoid_below_root(logit: Array, scale: Scale) -> Array:
    """Put a certain root before the logits of the other nodes, on the scale asked for."""
    xp, ops = namespace(logit), extra_ops(logit)
    if scale == "probability":
        at_root, others = 1.0, ops.sigmoid(logit)
    elif scale == "log":
        at_root, others = 0.0, ops.log_sigmoid(logit)
    elif scale == "logit":
        at_root, others = np.inf, logit
    else:
        raise ParameterError(f"scale must be 'probability', 'log' or 'logit', not {scale!r}.")
    return xp.concat([xp.full_like(logit[..., :1], at_root), others], axis=-1)
