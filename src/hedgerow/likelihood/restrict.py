"""Likelihoods given that the class is one of some: a list of the species of a region, or a clade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import as_numpy, operations
from hedgerow.errors import ParameterError
from hedgerow.likelihood.likelihoods import AnyLikelihoods, Likelihoods
from hedgerow.likelihood.own_mass import reweighted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood.scales import Scale
    from hedgerow.tree import Hierarchy


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
    everyone = np.zeros(len(given), dtype=np.int64)
    restricted = reweighted(hierarchy, given, kept[None].astype(np.float64), everyone, "restricted")
    restricted.treatment = given.treatment
    if isinstance(given, Likelihoods) and isinstance(restricted, Likelihoods) and given.logits is not None:
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
