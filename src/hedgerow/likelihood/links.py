"""Links q(θ): from a classifier's scores θ to one likelihood per node of the tree.

One function per parametrisation of the paper's appendix, each a pure function of the tree and the scores θ:
NumPy in, NumPy out; torch in, torch out. Scores come in node order, in the layout that the parametrisation needs;
a table with named columns, such as a DataFrame, may have them in any order.
Every function returns [..., nodes], in single or double precision as θ is, and can return logarithms, computed as
such: ``scale="log"``. The sigmoid families also give ``scale="logit"``, which does not saturate.

Each declares which nodes have a score, and is listed in `LINKS`, from which models are saved and exported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

import numpy as np

from hedgerow.arrays import Array, as_numpy, as_scores, namespace, operations, ops_of
from hedgerow.errors import ParameterError
from hedgerow.likelihood.named_columns import places, split_names
from hedgerow.likelihood.scales import BOTTOM, CERTAIN, Scale, check_scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy, Indices

ScoredNodes = Literal["leaves", "nodes but the root", "nodes"]
"""The nodes that have a score θ; always in node order."""
_SINGULAR: dict[ScoredNodes, str] = {"leaves": "leaf", "nodes but the root": "node but the root", "nodes": "node"}
_Function = TypeVar("_Function", bound=Callable[..., Array])


class Link(NamedTuple):
    """A function from scores to likelihoods."""

    function: Callable[..., Array]
    scored: ScoredNodes
    """The nodes that have a score."""


LINKS: dict[str, Link] = {}
"""All links, by the name of the function."""


def scored_nodes(hierarchy: Hierarchy, scored: ScoredNodes) -> Indices:
    """Return the node of each column of θ."""
    return hierarchy.leaves if scored == "leaves" else np.arange(0 if scored == "nodes" else 1, len(hierarchy))


def _link(scored: ScoredNodes) -> Callable[[_Function], _Function]:
    """Declare a link: its scores are checked, and bound by name if their columns have names."""

    def declared(function: _Function) -> _Function:
        @wraps(function)
        def link(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
            nodes = scored_nodes(hierarchy, scored)
            values, names = split_names(theta)
            if names is not None:
                values = np.take(values, places(hierarchy, names, nodes, scored), axis=-1)
            return function(hierarchy, as_scores(values, len(nodes), _SINGULAR[scored]), scale=scale)

        LINKS[function.__name__] = Link(link, scored)
        return cast("_Function", link)

    return declared


@_link("leaves")
def flat_softmax(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Softmax over the leaves, summed up the tree: ``q(y) = Σ_{u ∈ L(y)} softmax_L(θ)_u``.

    θ is [..., leaves]. Also the parametrisation of HXE.
    """
    if _is_log(scale):
        return _less_root(operations.log_sum_leaves(hierarchy, _shifted(theta)))
    return operations.leaf_softmax(hierarchy, theta)


def softmax_or_root(hierarchy: Hierarchy, theta: NDArray[Any], *, scale: Scale = "probability") -> NDArray[Any]:
    """Softmax over the leaves [examples, leaves]; the root where all scores are -inf, as nothing else is left."""
    nothing = np.flatnonzero(theta.max(axis=1, initial=-np.inf) == -np.inf)
    theta[nothing] = 0.0
    q = np.array(as_numpy(flat_softmax(hierarchy, theta, scale=scale)))
    q[nothing, 1:], q[nothing, 0] = BOTTOM[scale], CERTAIN[scale]
    return q


@_link("nodes but the root")
def multilabel(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:  # noqa: ARG001
    """Independent sigmoids: ``q(y) = σ(θ_y)``, 1 at the root. θ is [..., nodes but the root]."""
    return _sigmoid_below_root(theta, scale)


@_link("nodes but the root")
def conditional_softmax(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Softmax among siblings, multiplied down the tree: ``q(y) = q(π(y)) softmax_{C(π(y))}(θ)_y``.

    θ is [..., nodes except the root].
    """
    log_conditional = operations.sibling_log_softmax(hierarchy, theta)
    if _is_log(scale):
        return operations.add_down(hierarchy, _at_most(log_conditional, 0.0))
    return operations.multiply_down(hierarchy, _at_most(namespace(theta).exp(log_conditional), 1.0))


@_link("nodes but the root")
def conditional_sigmoid(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Sigmoids given the parent, multiplied down the tree: ``q(y) = q(π(y)) σ(θ_y)``.

    θ is [..., nodes except the root].
    """
    if _is_log(scale):
        return operations.add_down(hierarchy, ops_of(theta).log_sigmoid(theta))
    return operations.multiply_down(hierarchy, ops_of(theta).sigmoid(theta))


@_link("nodes but the root")
def deep_rtc(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Sigmoid of the path score: ``q(y) = σ(β_y)`` with ``β_y = Σ_{u ∈ A(y)} θ_u``, 1 at the root.

    θ is [..., nodes except the root]. In single precision, σ(β) is 1 above β = 17; to rank nodes, use
    ``scale="logit"``, which is β itself.
    """
    return _sigmoid_below_root(_path_scores(hierarchy, theta)[..., 1:], scale)


@_link("nodes but the root")
def ps_softmax(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Softmax over the leaves' path scores, summed up the tree: ``q = A_L softmax_L(A_Lᵀ θ)``.

    θ is [..., nodes except the root].
    """
    xp = namespace(theta)
    beta = xp.astype(operations.sum_above_leaves(hierarchy, theta), theta.dtype, copy=False)
    return flat_softmax(hierarchy, beta, scale=scale)


@_link("nodes")
def softmax_over_nodes(hierarchy: Hierarchy, theta: Any, *, scale: Scale = "probability") -> Array:
    """Softmax over all nodes, summed up the tree: ``q = A softmax_Y(θ)``; internal nodes have mass of their own.

    θ is [..., nodes]. The parametrisation of soft-max-descendant and soft-max-margin.
    """
    if _is_log(scale):
        return _less_root(operations.log_sum_descendants(hierarchy, _shifted(theta)))
    return operations.descendant_softmax(hierarchy, theta)


def _is_log(scale: Scale) -> bool:
    if scale not in ("probability", "log"):
        raise ParameterError(f"scale must be 'probability' or 'log' here, not {scale!r}.")
    return scale == "log"


def _shifted(theta: Array) -> Array:
    """Subtract the largest score of each row: logarithms of large scores would lose precision."""
    return theta - namespace(theta).max(theta, axis=-1, keepdims=True)


def _less_root(log_mass: Array) -> Array:
    """Subtract the logarithm at the root."""
    return log_mass - log_mass[..., :1]


def _at_most(x: Array, bound: float) -> Array:
    """Remove the small amount by which rounding can lift a softmax above 1."""
    return namespace(x).clip(x, max=bound)


def _path_scores(hierarchy: Hierarchy, theta: Array) -> Array:
    """β = Aᵀθ with θ = 0 at the root, in the precision of θ."""
    xp = namespace(theta)
    with_root = xp.concat([xp.zeros_like(theta[..., :1]), theta], axis=-1)
    return xp.astype(operations.sum_ancestors(hierarchy, with_root), theta.dtype, copy=False)


def _sigmoid_below_root(logit: Array, scale: Scale) -> Array:
    """Put a root of likelihood 1 before the other nodes, given by their logits, on the requested scale."""
    check_scale(scale)
    xp, ops = namespace(logit), ops_of(logit)
    if scale == "probability":
        at_root, others = 1.0, ops.sigmoid(logit)
    elif scale == "log":
        at_root, others = 0.0, ops.log_sigmoid(logit)
    else:
        at_root, others = np.inf, logit
    return xp.concat([xp.full_like(logit[..., :1], at_root), others], axis=-1)
