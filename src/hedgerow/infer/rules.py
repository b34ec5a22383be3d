"""Rules that compare likelihoods, on any scale, and the registry of rules that need no threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import (
    Array,
    Layout,
    as_numpy,
    map_row_blocks,
    max_unrelated,
    namespace,
    ops_of,
    rounded_down,
    sum_ancestors,
)
from hedgerow.errors import ParameterError, argument, no_such
from hedgerow.infer.pareto import Candidates
from hedgerow.likelihood import BOTTOM, Likelihoods, from_probability, to_probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy, InformationKind

    Specificity = InformationKind | ArrayLike | Candidates


def leaf(hierarchy: Hierarchy, q: Any, *, scale: Scale | None = None) -> Array:
    """Answer with the most likely leaf.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.leaf(h, [[1, 0.6, 0.3, 0.3, 0.4]])].tolist()
    ['wolf']
    """
    q = Likelihoods.of(hierarchy, q, scale)
    leaves = Layout.of(hierarchy, q.raw).leaves

    def rule(block: Array, _: slice) -> Array:
        p = namespace(block).take(block, leaves, axis=-1)
        return first(leaves, p > BOTTOM[q.scale], (p,))

    return by_rows(q.values, rule)


def threshold(
    hierarchy: Hierarchy,
    q: Any,
    tau: ArrayLike | Array,
    *,
    information: Specificity = "leaves",
    scale: Scale | None = None,
) -> Array:
    """Answer with the most specific node whose likelihood exceeds τ: ``argmax I(y) subject to q(y) > τ``.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        [B, nodes] likelihoods.
    tau
        The threshold, a probability: one number, or one per example.
    information
        The measure of specificity.
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.6, 0.5, 0.1, 0.4]] * 4
    >>> h.names[infer.threshold(h, q, [0.7, 0.6, 0.5, 0.4])].tolist()
    ['root', 'root', 'pet', 'cat']
    """
    q = Likelihoods.of(hierarchy, q, scale)
    cut = _cut_at(q, tau)
    return best_leader(hierarchy, q, information, lambda p, value: (p > cut, value, p))


def majority(
    hierarchy: Hierarchy, q: Any, *, information: Specificity = "leaves", scale: Scale | None = None
) -> Array:
    """Answer with the most specific node that is more likely than not: `threshold` at one half.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.majority(h, [[1, 0.6, 0.3, 0.3, 0.4]])].tolist()
    ['pet']
    """
    return threshold(hierarchy, q, 0.5, information=information, scale=scale)


def plurality(
    hierarchy: Hierarchy, q: Any, *, information: Specificity = "leaves", scale: Scale | None = None
) -> Array:
    """Answer with the most specific of the nodes that are more likely than every node unrelated to them.

    Unrelated means neither ancestor nor descendant.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.plurality(h, [[1, 0.6, 0.3, 0.3, 0.4], [1, 0.6, 0.45, 0.15, 0.4]])].tolist()
    ['pet', 'cat']
    """
    q = Likelihoods.of(hierarchy, q, scale)
    value = information_of(hierarchy, q.raw, information)

    def rule(block: Array, _: slice) -> Array:
        p = nontrivial(hierarchy, block)
        qualified = (p > max_unrelated(hierarchy.without_trivial, p)) & (p > BOTTOM[q.scale])
        return first(Layout.of(hierarchy, block).nontrivial, qualified, (value, p))

    return by_rows(q.values, rule)


def information_threshold(
    hierarchy: Hierarchy,
    q: Any,
    zeta: float,
    *,
    information: Specificity = "leaves",
    scale: Scale | None = None,
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
    q = Likelihoods.of(hierarchy, q, scale)
    candidates = Candidates.of(hierarchy, information)
    largest = float(candidates.information[-1])
    if not zeta <= largest:
        raise ParameterError(f"zeta is {zeta}, but no node has more information than {largest:.6g}. Lower zeta.")
    bottom = BOTTOM[q.scale]
    return best_leader(hierarchy, q, candidates, lambda p, value: ((value >= zeta) & (p > bottom), p, value))


def expected_information(
    hierarchy: Hierarchy,
    q: Any,
    lam: float = 0.0,
    *,
    information: Specificity = "leaves",
    scale: Scale | None = None,
) -> Array:
    """Answer with the node with the largest ``(I(y) + λ) q(y)`` (Deng et al.); ties go to higher likelihood.

    With λ = 0, this is the expected information of the answer, where a wrong answer has none. A large λ favours
    likely nodes, above all the root.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> [h.names[infer.expected_information(h, [[1, 0.8, 0.3, 0.5, 0.2]], lam)].item() for lam in (0, 2, 5)]
    ['dog', 'pet', 'root']
    """
    q = Likelihoods.of(hierarchy, q, scale)
    if not 0 <= lam < np.inf:
        raise ParameterError(f"lam must be finite and at least 0, not {lam}.")
    bottom = BOTTOM[q.scale]

    def ask(score: Array, value: Array) -> tuple[Array, ...]:
        return score > bottom, (value + lam) * to_probability(score, q.scale), score, value

    return best_leader(hierarchy, q, information, ask)


def climbing(hierarchy: Hierarchy, q: Any, tau: ArrayLike | Array, *, scale: Scale | None = None) -> Array:
    """Start at the most likely leaf and go up to the first node whose likelihood exceeds τ (Goren et al.).

    τ is a probability: one number, or one per example.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.climbing(h, [[1, 0.6, 0.3, 0.3, 0.4]] * 2, [0.3, 0.5])].tolist()
    ['wolf', 'root']
    """
    q = Likelihoods.of(hierarchy, q, scale)
    cut = _cut_at(q, tau)
    at = Layout.of(hierarchy.without_trivial, q.raw)

    def rule(block: Array, rows: slice) -> Array:
        xp, p = namespace(block), nontrivial(hierarchy, block)
        start = xp.take(at.leaves, xp.argmax(xp.take(p, at.leaves, axis=-1), axis=-1))[..., None]
        passing = (at.nodes <= start) & (start < at.end) & (p > cut[rows])
        return _deepest(hierarchy, passing)

    return by_rows(q.values, rule)


def top_down(
    hierarchy: Hierarchy,
    q: Any,
    tau: ArrayLike | Array,
    *,
    information: Specificity = "leaves",
    scale: Scale | None = None,
) -> Array:
    """Start at the root and move to the most likely child while its likelihood exceeds τ (Deep RTC).

    τ is a probability: one number, or one per example.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.top_down(h, [[1, 0.6, 0.3, 0.2, 0.4]] * 2, [0.2, 0.5])].tolist()
    ['cat', 'pet']
    """
    q = Likelihoods.of(hierarchy, q, scale)
    cut = _cut_at(q, tau)
    smaller = hierarchy.without_trivial
    value = Candidates.of(hierarchy, information).value[~hierarchy.is_trivial]
    # Siblings are adjacent, and those that win ties come first.
    preferred = np.lexsort((-value[1:], smaller.parent[1:]))
    order, back = placed(preferred, q.raw), placed(np.argsort(preferred), q.raw)
    earlier = placed(-np.arange(len(preferred), dtype=np.float64), q.raw)

    def rule(block: Array, rows: slice) -> Array:
        xp, at = namespace(block), Layout.of(smaller, block)

        def largest(x: Array) -> Array:
            best = ops_of(x).segment_max(x, at.sibling_start, at.sibling_group)
            return x == xp.take(best, at.sibling_group, axis=-1)

        p = xp.take(nontrivial(hierarchy, block)[..., 1:], order, axis=-1)
        chosen = largest(xp.where(largest(p), earlier, -np.inf)) & (p > cut[rows])
        missed = xp.astype(~xp.take(chosen, back, axis=-1), xp.float32)
        detours = sum_ancestors(smaller, xp.concat([xp.zeros_like(missed[..., :1]), missed], axis=-1))
        return _deepest(hierarchy, detours == 0)

    return by_rows(q.values, rule)


# The registry ----------------------------------------------------------------------------------------------

Rule = Callable[["Hierarchy", Likelihoods, "Specificity"], Any]
"""A function from a tree, likelihoods and a measure of specificity to node indices."""

RULES: dict[str, Rule] = {
    "leaf": lambda hierarchy, q, _: leaf(hierarchy, q),
    "majority": lambda hierarchy, q, information: majority(hierarchy, q, information=information),
    "plurality": lambda hierarchy, q, information: plurality(hierarchy, q, information=information),
    "expected_information": lambda hierarchy, q, information: expected_information(
        hierarchy, q, information=information
    ),
}
"""The rules that need no threshold, by name: every evaluation reports them, and `hedgerow predict` takes them."""


def register(name: str, rule: Rule) -> None:
    """Add your own rule to `RULES`: every evaluation reports its operating point, and `predict` takes it."""
    if name.replace("-", "_") in RULES:
        raise ParameterError(f"A rule named {name!r} already exists. Choose another name.")
    RULES[name.replace("-", "_")] = rule


def find_rule(name: str) -> Rule:
    """Return the rule with this name; "expected-information" also finds "expected_information"."""
    spelt = name.replace("-", "_")
    if spelt not in RULES:
        raise ParameterError(no_such("rule", name, RULES))
    return RULES[spelt]


def answering_rule(
    tau: float | None, rule: str | None, information: Specificity = "leaves"
) -> Callable[[Hierarchy, Likelihoods], Any]:
    """Return a function of tree and likelihoods that applies a threshold or a rule given by name."""
    if (tau is None) == (rule is None):
        raise ParameterError(
            f"Give either a threshold, {argument('tau', '0.8')}, or a rule, {argument('rule', 'majority')}."
        )
    if rule is not None:
        found = find_rule(rule)
        return lambda hierarchy, q: found(hierarchy, q, information)
    if tau is None or not 0 <= tau <= 1:
        raise ParameterError(f"The threshold must lie between 0 and 1, not {tau}.")
    return lambda hierarchy, q: threshold(hierarchy, q, tau, information=information)


# Building blocks of the rules ------------------------------------------------------------------------------


def first(nodes: Array, passing: Array, keys: Sequence[Array]) -> Array:
    """Return the passing node with the largest first key, then second key, ...; the root if none passes."""
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


def best_leader(
    hierarchy: Hierarchy,
    q: Likelihoods,
    information: Specificity,
    ask: Callable[[Array, Array], tuple[Array, ...]],
) -> Array:
    """Apply a rule that considers only the most likely of equally specific nodes.

    `ask` is given the likelihoods [B, tiers] and the information of the tiers; it returns which of them pass, and
    the keys to choose by.
    """
    candidates = Candidates.of(hierarchy, information)
    nodes, score = candidates.leaders(q)
    passing, *keys = ask(score, placed(candidates.information, score))
    return first(nodes, passing, keys)


def by_rows(q: Array, rule: Callable[[Array, slice], Array]) -> Array:
    """Apply a rule to an array in blocks of rows, or to a tensor all at once."""
    if not isinstance(q, np.ndarray):
        return rule(q.detach(), slice(None))
    if len(q) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate(map_row_blocks(lambda rows: rule(q[rows], rows), len(q), q[:1].nbytes))


def nontrivial(hierarchy: Hierarchy, q: Array) -> Array:
    """Return the likelihoods of the nontrivial nodes."""
    if not hierarchy.is_trivial.any():
        return q
    return namespace(q).take(q, Layout.of(hierarchy, q).nontrivial, axis=-1)


def information_of(hierarchy: Hierarchy, like: Array, information: Specificity) -> Array:
    """Return the information of the nontrivial nodes, on the device of `like`."""
    return placed(Candidates.of(hierarchy, information).value[~hierarchy.is_trivial], like)


def placed(values: NDArray[Any], like: Array) -> Array:
    """Return values on the device of `like`."""
    ops = ops_of(like)
    return ops.constant(values, ops.device_of(like))


def _deepest(hierarchy: Hierarchy, passing: Array) -> Array:
    """Return the deepest of the passing nontrivial nodes, which lie on one path; the root if none passes."""
    xp, nodes = namespace(passing), Layout.of(hierarchy.without_trivial, passing).nodes
    last = xp.max(xp.where(passing, nodes, 0), axis=-1)
    return xp.take(Layout.of(hierarchy, passing).nontrivial, last)


def _cut_at(q: Likelihoods, tau: ArrayLike | Array) -> Array:
    """Return thresholds [B, 1] on the scale and in the precision of q: q exceeds them just where it exceeds τ."""
    given = as_numpy(tau).astype(np.float64)
    if given.ndim > 0 and given.shape != (len(q),):
        raise ParameterError(
            f"tau must be one number, or one per example, {len(q)} in all; got shape {given.shape}."
        )
    if np.isnan(given).any():
        raise ParameterError("tau must be a number, not NaN.")
    cut = rounded_down(np.maximum(from_probability(given, q.scale), BOTTOM[q.scale]), q.raw)
    return placed(np.broadcast_to(cut.reshape(-1, 1), (len(q), 1)), q.raw)
