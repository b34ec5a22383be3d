"""The mass that is a node's own: its likelihood minus those of its children; and what becomes of other masses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hedgerow.arrays import as_numpy, map_row_blocks, operations
from hedgerow.errors import ScoreError
from hedgerow.likelihood.entries import from_top
from hedgerow.likelihood.likelihoods import AnyLikelihoods, Likelihoods
from hedgerow.likelihood.sparse_likelihoods import SparseLikelihoods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy, Indices

_EXCESS = 1e-3
"""How far the children of a node may exceed it, by rounding, before their likelihoods are no probabilities."""
_NOTHING = 1e-12
"""A smaller share of a node is what rounding leaves of it when its children are subtracted."""


def reweighted(
    hierarchy: Hierarchy, q: AnyLikelihoods, factor: NDArray[np.float64], member: Indices, what: str
) -> AnyLikelihoods:
    """Return the likelihoods after each node's own mass is multiplied by a factor, and all of them sum to 1 again.

    Where nothing is left, only the root remains. A node that is more likely than its parent, as bootstrap values
    may be, is first lowered to it.

    Parameters
    ----------
    hierarchy, q
        The tree and the likelihoods.
    factor
        [groups, nodes] The factors.
    member
        [examples] The group of each example.
    what
        What is done, for messages: "restricted".
    """
    if isinstance(q, SparseLikelihoods):
        row, node, own = own_entries(hierarchy, q, what)
        mass = own * factor[member[row], node]
        there = mass > 0
        return from_top(hierarchy, row[there], node[there], mass[there], rows=len(q), renormalise=True)
    p = as_numpy(q.probabilities())

    def work(rows: slice) -> NDArray[np.float64]:
        own = _own_dense(hierarchy, p[rows], rows.start, what) * factor[member[rows]]
        own[own.sum(axis=1) == 0, 0] = 1
        return np.asarray(operations.descendant_shares(hierarchy, own))

    blocks = map_row_blocks(work, len(p), p[:1].nbytes)
    return Likelihoods.checked(hierarchy, np.concatenate(blocks) if blocks else p, "probability")


def _own_dense(hierarchy: Hierarchy, given: NDArray[Any], first_row: int, what: str) -> NDArray[np.float64]:
    p = given.astype(np.float64)
    p[:, 0] = 1
    for level in hierarchy.levels[1:]:
        p[:, level] = np.minimum(p[:, level], p[:, hierarchy.parent[level]])
    own, bad = _own_mass(p, operations.sum_children(hierarchy, p))
    if bad.any():
        row, node = np.argwhere(bad)[0]
        _refuse(first_row + row, hierarchy.names[node], what)
    return own


def own_entries(
    hierarchy: Hierarchy, q: SparseLikelihoods, what: str
) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Return the own masses of the listed nodes, and then of the root of each example: its row, node and mass."""
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
        _refuse(row[entry], hierarchy.names[node[entry]], what)
    return row, node, own


def _own_mass(
    p: NDArray[np.float64], children: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the likelihood of each node minus those of its children, and where the children exceed it."""
    own = p - children
    bad = own < -_EXCESS
    own[own <= _NOTHING * p] = 0
    return own, bad


def _refuse(row: int, name: str, what: str) -> NoReturn:
    raise ScoreError(
        f"Only likelihoods in which children share that of their parent can be {what}; in row {row}, the "
        f"children of {name!r} sum to more than {name!r} itself. Give probabilities of leaves instead."
    )
