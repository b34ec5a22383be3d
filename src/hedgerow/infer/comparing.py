"""Rules that only compare likelihoods, on any increasing scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Array, Layout, extra_ops, max_unrelated, namespace, sum_ancestors
from hedgerow.errors import ParameterError
from hedgerow.infer.choice import (
    best_rung,
    by_rows,
    cut_at,
    deepest,
    first,
    information_of,
    nontrivial,
    placed,
)
from hedgerow.infer.pareto import Candidates
from hedgerow.likelihood import BOTTOM, check_likelihoods

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy, InformationKind

_HALF = {"probability": 0.5, "log": float(np.log(0.5)), "logit": 0.0}


def leaf(hierarchy: Hierarchy, q: Any, *, scale: Scale = "probability") -> Array:
    """Answer with the most likely leaf.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.leaf(h, [[1, 0.6, 0.3, 0.3, 0.4]])].tolist()
    ['wolf']
    """
    q = check_likelihoods(hierarchy, q, scale)
    leaves = Layout.of(hierarchy, q).leaves

    def rule(q: Array, _: slice) -> Array:
        p = namespace(q).take(q, leaves, axis=-1)
        return first(leaves, p > BOTTOM[scale], (p,))

    return by_rows(q, rule)


def threshold(
    hierarchy: Hierarchy,
    q: Any,
    tau: ArrayLike | Array,
    *,
    information: InformationKind | ArrayLike = "leaves",
    scale: Scale = "probability",
) -> Array:
    """Answer with the most specific node whose likelihood exceeds τ: ``argmax I(y) subject to q(y) > τ``.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        [B, nodes] likelihoods.
    tau
        The threshold: one number, or one an example.
    information
        The measure of specificity.
    scale
        What the likelihoods and τ are given in.

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.6, 0.5, 0.1, 0.4]] * 4
    >>> h.names[infer.threshold(h, q, [0.7, 0.6, 0.5, 0.4])].tolist()
    ['root', 'root', 'pet', 'cat']
    """
    q = check_likelihoods(hierarchy, q, scale)
    cut = cut_at(q, tau, scale)
    return best_rung(hierarchy, q, information, lambda p, value, rows: (p > cut[rows], value, p))


def majority(
    hierarchy: Hierarchy,
    q: Any,
    *,
    information: InformationKind | ArrayLike = "leaves",
    scale: Scale = "probability",
) -> Array:
    """Answer with the most specific node that is more likely than not: `threshold` at one half.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.majority(h, [[1, 0.6, 0.3, 0.3, 0.4]])].tolist()
    ['pet']
    """
    return threshold(hierarchy, q, _HALF.get(scale, 0.5), information=information, scale=scale)


def plurality(
    hierarchy: Hierarchy,
    q: Any,
    *,
    information: InformationKind | ArrayLike = "leaves",
    scale: Scale = "probability",
) -> Array:
    """Answer with the most specific of the nodes that are more likely than every node unrelated to them.

    Unrelated means neither ancestor nor descendant.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.plurality(h, [[1, 0.6, 0.3, 0.3, 0.4], [1, 0.6, 0.45, 0.15, 0.4]])].tolist()
    ['pet', 'cat']
    """
    q = check_likelihoods(hierarchy, q, scale)
    value = information_of(hierarchy, q, information)

    def rule(q: Array, _: slice) -> Array:
        p = nontrivial(hierarchy, q)
        qualified = (p > max_unrelated(hierarchy.without_trivial, p)) & (p > BOTTOM[scale])
        return first(Layout.of(hierarchy, q).nontrivial, qualified, (value, p))

    return by_rows(q, rule)


def information_threshold(
    hierarchy: Hierarchy,
    q: Any,
    zeta: float,
    *,
    information: InformationKind | ArrayLike = "leaves",
    scale: Scale = "probability",
) -> Array:
    """Answer with the most likely node that is specific enough: ``argmax q(y) subject to I(y) >= ζ``.

    ζ above the information of every node is an error.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.information_threshold(h, [[1, 0.6, 0.3, 0.3, 0.4]], 0.5)].tolist()
    ['pet']
    >>> h.names[infer.information_threshold(h, [[1, 0.6, 0.3, 0.3, 0.4]], 1)].tolist()
    ['wolf']
    """
    q = check_likelihoods(hierarchy, q, scale)
    largest = float(Candidates.of(hierarchy, information).information[-1])
    if not zeta <= largest:
        raise ParameterError(f"zeta is {zeta}, but no node has information above {largest:.6g}.")
    return best_rung(
        hierarchy, q, information, lambda p, value, _: ((value >= zeta) & (p > BOTTOM[scale]), p, value)
    )


def climbing(hierarchy: Hierarchy, q: Any, tau: ArrayLike | Array, *, scale: Scale = "probability") -> Array:
    """Start at the most likely leaf and go up to the first node whose likelihood exceeds τ (Goren et al.).

    τ is one number, or one an example.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.climbing(h, [[1, 0.6, 0.3, 0.3, 0.4]] * 2, [0.3, 0.5])].tolist()
    ['wolf', 'root']
    """
    q = check_likelihoods(hierarchy, q, scale)
    cut = cut_at(q, tau, scale)

    at = Layout.of(hierarchy.without_trivial, q)

    def rule(q: Array, rows: slice) -> Array:
        xp, p = namespace(q), nontrivial(hierarchy, q)
        start = xp.take(at.leaves, xp.argmax(xp.take(p, at.leaves, axis=-1), axis=-1))[..., None]
        passing = (at.nodes <= start) & (start < at.end) & (p > cut[rows])
        return deepest(hierarchy, passing)

    return by_rows(q, rule)


def top_down(
    hierarchy: Hierarchy,
    q: Any,
    tau: ArrayLike | Array,
    *,
    information: InformationKind | ArrayLike = "leaves",
    scale: Scale = "probability",
) -> Array:
    """Start at the root and go on to the most likely child while its likelihood exceeds τ (Deep RTC).

    τ is one number, or one an example.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.top_down(h, [[1, 0.6, 0.3, 0.2, 0.4]] * 2, [0.2, 0.5])].tolist()
    ['cat', 'pet']
    """
    q = check_likelihoods(hierarchy, q, scale)
    cut = cut_at(q, tau, scale)
    tree, value = hierarchy.without_trivial, hierarchy.information(information)[~hierarchy.is_trivial]
    # Siblings side by side, those that win a tie first.
    preferred = np.lexsort((-value[1:], tree.parent[1:]))
    order, back = placed(preferred, q), placed(np.argsort(preferred), q)
    earlier = placed(-np.arange(len(preferred), dtype=np.float64), q)

    def rule(q: Array, rows: slice) -> Array:
        xp, at = namespace(q), Layout.of(tree, q)

        def largest(x: Array) -> Array:
            best = extra_ops(x).segment_max(x, at.sibling_start, at.sibling_group)
            return x == xp.take(best, at.sibling_group, axis=-1)

        p = xp.take(nontrivial(hierarchy, q)[..., 1:], order, axis=-1)
        chosen = largest(xp.where(largest(p), earlier, -np.inf)) & (p > cut[rows])
        missed = xp.astype(~xp.take(chosen, back, axis=-1), xp.float32)
        detours = sum_ancestors(tree, xp.concat([xp.zeros_like(missed[..., :1]), missed], axis=-1))
        return deepest(hierarchy, detours == 0)

    return by_rows(q, rule)
