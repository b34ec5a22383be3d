"""Likelihoods given that the class is one of some: a list of the species of a region, or a clade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import as_numpy, map_row_blocks, operations
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood.entries import from_top
from hedgerow.likelihood.likelihoods import AnyLikelihoods, Likelihoods
from hedgerow.likelihood.sparse import SparseLikelihoods

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood.scales import Scale
    from hedgerow.tree import Hierarchy

_EXCESS = 1e-3
"""How far the children of a node may exceed it, by rounding, before their likelihoods are no probabilities."""
_NOTHING = 1e-12
"""A smaller share of a node is what rounding leaves of it when its children are subtracted."""


def restrict(hierarchy: Hierarchy, q: Any, nodes: ArrayLike, *, scale: Scale | None = None) -> AnyLikelihoods:
    """Return the likelihoods given that the class is one of some nodes, or below one of them.

    The mass of every other class is dropped, and what remains is divided by its sum. An ancestor of the given
    nodes, the root included, keeps the mass that is its own and not its children's: it says that the class is
    known no better, so it may still be one of them. Where everything is dropped, only the root remains. A node
    that is more likely than its parent, as bootstrap values may be, is first lowered to it.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        Likelihoods in which children share the likelihood of their parent: from `from_leaves`, `from_columns`,
        `from_top`, `from_lineages` or a softmax; with independent sigmoids, this has no meaning and is an error.
    nodes
        The nodes to keep, by name or index: leaves, or inner nodes with all that is below them.
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".

    Returns
    -------
    Likelihoods or SparseLikelihoods
        On the scale "probability"; sparse if q is.

    Examples
    --------
    >>> from hedgerow import Hierarchy, likelihood
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = likelihood.from_leaves(h, [[0.25, 0.5, 0.25]])
    >>> likelihood.restrict(h, q, ["cat", "wolf"]).values.tolist()
    [[1.0, 0.5, 0.5, 0.0, 0.5]]
    """
    kept = _kept(hierarchy, nodes)
    given: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    if isinstance(given, SparseLikelihoods):
        return _restrict_sparse(hierarchy, given, kept)
    p = as_numpy(given.probabilities())
    blocks = map_row_blocks(
        lambda rows: _restrict_dense(hierarchy, p[rows], kept, rows.start), len(p), p[:1].nbytes
    )
    restricted = Likelihoods.checked(hierarchy, np.concatenate(blocks) if blocks else p, "probability")
    if given.logits is not None:
        restricted.logits = np.where(kept[hierarchy.leaves], as_numpy(given.logits), -np.inf)
    return restricted


def _kept(hierarchy: Hierarchy, nodes: ArrayLike) -> NDArray[np.bool_]:
    """Return which nodes keep their own mass: those given, those below them and those above them."""
    chosen = np.atleast_1d(hierarchy.nodes(nodes)).ravel()
    if not len(chosen):
        raise ParameterError("There is nothing to restrict likelihoods to: give at least one node.")
    given = np.zeros(len(hierarchy))
    given[chosen] = 1
    before = np.append(0, np.cumsum(given))
    above = before[hierarchy.end] > before[:-1]
    return np.asarray(above | (operations.sum_ancestors(hierarchy, given) > 0))


def _restrict_dense(
    hierarchy: Hierarchy, p: NDArray[Any], kept: NDArray[np.bool_], first_row: int
) -> NDArray[np.float64]:
    p = p.astype(np.float64)
    p[:, 0] = 1
    for level in hierarchy.levels[1:]:
        p[:, level] = np.minimum(p[:, level], p[:, hierarchy.parent[level]])
    own, bad = _own_mass(p, operations.sum_children(hierarchy, p))
    if bad.any():
        row, node = np.argwhere(bad)[0]
        _refuse(first_row + row, hierarchy.names[node])
    own[:, ~kept] = 0
    own[own.sum(axis=1) == 0, 0] = 1
    return np.asarray(operations.descendant_shares(hierarchy, own))


def _restrict_sparse(hierarchy: Hierarchy, q: SparseLikelihoods, kept: NDArray[np.bool_]) -> SparseLikelihoods:
    p, above = q.probabilities().copy(), q.above
    up = above
    while (below := np.flatnonzero(up >= 0)).size:
        p[below] = np.minimum(p[below], p[up[below]])
        up = np.where(up >= 0, up[up], -1)
    top = above < 0
    children = np.bincount(above[~top], weights=p[~top], minlength=len(p))
    at_root = np.bincount(q.row[top], weights=p[top], minlength=len(q))
    own, bad = _own_mass(np.append(p, np.ones(len(q))), np.append(children, at_root))
    row = np.append(q.row, np.arange(len(q)))
    node = np.append(q.node, np.zeros(len(q), dtype=np.int64))
    if bad.any():
        entry = int(np.argmax(bad))
        _refuse(row[entry], hierarchy.names[node[entry]])
    there = kept[node]
    return from_top(hierarchy, row[there], node[there], own[there], rows=len(q), renormalise=True)


def _own_mass(
    p: NDArray[np.float64], children: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the likelihood of each node minus those of its children, and where the children exceed it."""
    own = p - children
    bad = own < -_EXCESS
    own[own <= _NOTHING * p] = 0
    return own, bad


def _refuse(row: int, name: str) -> None:
    raise ScoreError(
        f"Only likelihoods in which children share that of their parent can be restricted; in row {row}, the "
        f"children of {name!r} sum to more than {name!r} itself. Restrict probabilities of leaves instead."
    )
