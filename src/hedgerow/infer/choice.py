"""What the rules are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Array, Layout, as_numpy, extra_ops, map_row_blocks, namespace, rounded_down
from hedgerow.errors import ParameterError
from hedgerow.infer.pareto import Candidates
from hedgerow.likelihood import BOTTOM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy, InformationKind


def first(nodes: Array, passing: Array, keys: Sequence[Array]) -> Array:
    """Return the node, of those that pass, with the largest first key, then second key, ...; else the root."""
    xp = namespace(passing)
    for key in keys:
        largest = xp.max(xp.where(passing, key, -np.inf), axis=-1, keepdims=True)
        passing = passing & (key == largest)
    place = xp.argmax(xp.astype(passing, xp.int8), axis=-1)
    if nodes.ndim == 1:
        node = xp.take(nodes, place)
    else:
        node = xp.take_along_axis(nodes, place[..., None], axis=-1)[..., 0]
    return xp.where(xp.any(passing, axis=-1), node, 0)


def deepest(hierarchy: Hierarchy, passing: Array) -> Array:
    """Return the last of the nontrivial nodes that pass, which lie on one path; the root, if none does."""
    xp, nodes = namespace(passing), Layout.of(hierarchy.without_trivial, passing).nodes
    last = xp.max(xp.where(passing, nodes, 0), axis=-1)
    return xp.take(Layout.of(hierarchy, passing).nontrivial, last)


def best_rung(
    hierarchy: Hierarchy,
    q: Array,
    information: InformationKind | ArrayLike,
    ask: Callable[[Array, Array, slice], tuple[Array, ...]],
) -> Array:
    """Apply a rule that, of equally specific nodes, only ever looks at the most likely one.

    `ask` gets the likelihoods and the information of these, and the rows; it returns which of them pass and the
    keys to choose by.
    """
    candidates = Candidates.of(hierarchy, information)
    rungs = candidates.rungs(q)
    value = placed(candidates.information, q)

    def rule(q: Array, rows: slice) -> Array:
        nodes, p = rungs.best(q)
        passing, *keys = ask(p, value, rows)
        return first(nodes, passing, keys)

    return by_rows(q, rule)


def by_rows(q: Array, rule: Callable[[Array, slice], Array]) -> Array:
    """Apply a rule to blocks of rows, of arrays, or to all rows at once, of tensors."""
    if not isinstance(q, np.ndarray):
        return rule(q.detach(), slice(None))
    if len(q) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate(map_row_blocks(lambda rows: rule(q[rows], rows), len(q), q[:1].nbytes))


def nontrivial(hierarchy: Hierarchy, q: Array) -> Array:
    """Return the likelihoods of the nontrivial nodes."""
    return namespace(q).take(q, Layout.of(hierarchy, q).nontrivial, axis=-1) if hierarchy.is_trivial.any() else q


def information_of(hierarchy: Hierarchy, like: Array, information: InformationKind | ArrayLike) -> Array:
    """Return the information of the nontrivial nodes where `like` lives."""
    return placed(hierarchy.information(information)[~hierarchy.is_trivial], like)


def placed(values: NDArray[Any], like: Array) -> Array:
    """Return values where `like` lives."""
    ops = extra_ops(like)
    return ops.constant(values, ops.device_of(like))


def cut_at(q: Array, tau: ArrayLike | Array, scale: Scale) -> Array:
    """Return thresholds [B, 1] in the precision of q that exactly the likelihoods above τ exceed."""
    given = as_numpy(tau).astype(np.float64)
    if given.ndim > 0 and given.shape != (q.shape[0],):
        raise ParameterError(
            f"tau is one number, or one an example, {q.shape[0]} in all; got shape {given.shape}."
        )
    if np.isnan(given).any():
        raise ParameterError("tau must be a number, not NaN.")
    cut = rounded_down(np.maximum(given, BOTTOM[scale]), q)
    return placed(np.broadcast_to(cut.reshape(-1, 1), (q.shape[0], 1)), q)
