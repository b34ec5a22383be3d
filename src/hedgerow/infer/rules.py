"""Rules that compare likelihoods, on any scale, and the registry of rules that need no threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack

import numpy as np

from hedgerow.arrays import (
    Array,
    TreeOnDevice,
    as_numpy,
    map_row_blocks,
    max_unrelated,
    namespace,
    ops_of,
    placed,
    rounded_down,
    running_max,
    sum_ancestors,
    take_rows,
    with_ancestors,
)
from hedgerow.errors import ParameterError, a_number, argument, check_number
from hedgerow.infer import sparse_rules as sparse
from hedgerow.infer.pareto import Candidates, ParetoSets, RuleOptions, prepared
from hedgerow.likelihood import BOTTOM, AnyLikelihoods, SparseLikelihoods, from_probability, to_probability
from hedgerow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.score_files import Block
    from hedgerow.tree import Hierarchy, Indices, Settings

T = TypeVar("T")

_ROUNDED = 2.0**-45


def leaf(hierarchy: Hierarchy, q: Any, **options: Unpack[RuleOptions]) -> Array:
    """Answer with the most likely leaf.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.leaf(h, [[1, 0.6, 0.3, 0.3, 0.4]])].tolist()
    ['wolf']
    """
    given, candidates = prepared(hierarchy, q, **options)
    if isinstance(given, SparseLikelihoods):
        return sparse.by_rows(given, candidates, sparse.leaf)
    leaves, bottom = TreeOnDevice.of(hierarchy, given.raw).leaves, BOTTOM[given.scale]

    def rule(block: Array, _: slice) -> Array:
        p = namespace(block).take(block, leaves, axis=-1)
        return first(leaves, p > bottom, (p,))

    return by_rows(given.values, rule)


def threshold(
    hierarchy: Hierarchy,
    q: Any,
    tau: ArrayLike | Array,
    *,
    inclusive: bool = False,
    **options: Unpack[RuleOptions],
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
    inclusive
        Whether a likelihood of exactly τ is enough.
    **options
        `information`, `single_child` and `scale`: see `hedgerow.infer`.

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.6, 0.5, 0.1, 0.4]] * 4
    >>> h.names[infer.threshold(h, q, [0.7, 0.6, 0.5, 0.4])].tolist()
    ['root', 'root', 'pet', 'cat']
    """
    given, candidates = prepared(hierarchy, q, **options)
    return _most_specific(given, candidates, _cut_at(given, tau, inclusive=inclusive))


def most_specific_above(q: AnyLikelihoods, candidates: Candidates, tau: ArrayLike) -> Array:
    """Answer as `threshold` does, with τ on the scale of q: one number, or one per example."""
    return _most_specific(q, candidates, _cut(q, np.asarray(tau)))


def _most_specific(q: AnyLikelihoods, candidates: Candidates, cut: Array) -> Array:
    if isinstance(q, SparseLikelihoods):
        sets = candidates.sparse_sets(q)
        passing = sets.score > np.repeat(cut[:, 0], sets.count)
        start = np.append(0, np.cumsum(sets.count))
        return sparse.first(start, sets.node, passing, (candidates.tier[sets.node],))
    nodes, score = candidates.leaders(q)
    passing = score > cut  # of the tiers, from coarse to specific
    xp = namespace(passing)
    from_last = xp.argmax(xp.astype(xp.flip(passing, axis=-1), xp.int8), axis=-1)
    place = (passing.shape[-1] - 1 - from_last)[:, None]
    node, passes = (xp.take_along_axis(each, place, axis=-1)[:, 0] for each in (nodes, passing))
    return xp.where(passes, node, 0)


def majority(hierarchy: Hierarchy, q: Any, **options: Unpack[RuleOptions]) -> Array:
    """Answer with the most specific node that is more likely than not: `threshold` at one half.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.majority(h, [[1, 0.6, 0.3, 0.3, 0.4]])].tolist()
    ['pet']
    """
    return threshold(hierarchy, q, 0.5, **options)


def plurality(hierarchy: Hierarchy, q: Any, **options: Unpack[RuleOptions]) -> Array:
    """Answer with the most specific of the nodes that are more likely than every node unrelated to them.

    Unrelated means neither ancestor nor descendant.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.plurality(h, [[1, 0.6, 0.3, 0.3, 0.4], [1, 0.6, 0.45, 0.15, 0.4]])].tolist()
    ['pet', 'cat']
    """
    given, candidates = prepared(hierarchy, q, **options)
    if isinstance(given, SparseLikelihoods):
        given.require_all("The plurality of likelihoods")
        return sparse.by_rows(given, candidates, sparse.plurality)
    bottom = BOTTOM[given.scale]

    def rule(block: Array, _: slice) -> Array:
        nodes, p, tier = candidates.columns(block)
        qualified = (p > max_unrelated(candidates.tree, p)) & (p > bottom)
        return first(nodes, qualified, (tier, p))

    return by_rows(given.values, rule)


def information_threshold(hierarchy: Hierarchy, q: Any, zeta: float, **options: Unpack[RuleOptions]) -> Array:
    """Answer with the most likely node that is specific enough: ``argmax q(y) subject to I(y) >= ζ``.

    ζ above the information of every node is an error.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.information_threshold(h, [[1, 0.6, 0.3, 0.3, 0.4]], 0.5)].tolist()
    ['pet']
    >>> h.names[infer.information_threshold(h, [[1, 0.6, 0.3, 0.3, 0.4]], 1)].tolist()
    ['wolf']
    """
    given, candidates = prepared(hierarchy, q, **options)
    largest = float(candidates.information[-1])
    if not a_number(zeta, "zeta") <= largest:
        raise ParameterError(f"zeta is {zeta}, but no node has more information than {largest:.6g}. Lower zeta.")
    bottom = BOTTOM[given.scale]
    return best_leader(given, candidates, lambda p, value, tier: ((value >= zeta) & (p > bottom), p, tier))


def expected_information(hierarchy: Hierarchy, q: Any, lam: float = 0.0, **options: Unpack[RuleOptions]) -> Array:
    """Answer with the node with the largest ``(I(y) + λ) q(y)`` (Deng et al.); ties go to higher likelihood.

    With λ = 0, this is the expected information of the answer, where a wrong answer has none. A large λ favours
    likely nodes, above all the root.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> [h.names[infer.expected_information(h, [[1, 0.8, 0.3, 0.5, 0.2]], lam)].item() for lam in (0, 2, 5)]
    ['dog', 'pet', 'root']
    """
    given, candidates = prepared(hierarchy, q, **options)
    check_number("lam", lam, 0)
    bottom = BOTTOM[given.scale]

    def ask(score: Array, value: Array, tier: Array) -> tuple[Array, ...]:
        return score > bottom, (value + lam) * to_probability(score, given.scale), score, tier

    return best_leader(given, candidates, ask)


def climbing(
    hierarchy: Hierarchy,
    q: Any,
    tau: ArrayLike | Array,
    *,
    inclusive: bool = False,
    **options: Unpack[RuleOptions],
) -> Array:
    """Start at the most likely leaf and go up to the first node whose likelihood exceeds τ (Goren et al.).

    τ is a probability: one number, or one per example; with `inclusive`, a likelihood of exactly τ is enough. For
    `SparseLikelihoods`, listed nodes without listed descendants take the place of the leaves, or the `call` of a
    tool such as Kraken 2, if it is known.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.climbing(h, [[1, 0.6, 0.3, 0.3, 0.4]] * 2, [0.3, 0.5])].tolist()
    ['wolf', 'root']
    """
    given, candidates = prepared(hierarchy, q, **options)
    cut = _cut_at(given, tau, inclusive=inclusive)
    if isinstance(given, SparseLikelihoods):
        return sparse.by_rows(given, candidates, lambda rows, block: sparse.climbing(rows, cut[block, 0]))
    at = TreeOnDevice.of(candidates.tree, given.raw)

    def rule(block: Array, rows: slice) -> Array:
        xp, (nodes, p, _) = namespace(block), candidates.columns(block)
        start = xp.take(at.leaves, xp.argmax(xp.take(p, at.leaves, axis=-1), axis=-1))[..., None]
        passing = (at.nodes <= start) & (start < at.end) & (p > cut[rows])
        return _deepest(nodes, passing)

    return by_rows(given.values, rule)


def climbing_sets(q: AnyLikelihoods, candidates: Candidates) -> ParetoSets:
    """Return the answers of `climbing` to each example, from the highest τ to the lowest, without the root.

    These are the nodes on the path to the most likely leaf that are more likely than all nodes below them there.
    """
    bottom = BOTTOM[q.scale]
    if isinstance(q, SparseLikelihoods):
        if not len(q):
            return ParetoSets(*(np.zeros(0, dtype=np.int64),) * 2, np.zeros(0))
        rows = sparse.ListedCandidates.of(q, candidates)
        on_path = sparse.climbing_path(rows) & (rows.node > 0)
        start = np.append(0, np.cumsum(on_path))[rows.start]
        return _rising(start, candidates.ascending[rows.node[on_path]], rows.p[on_path], bottom)
    tree = candidates.tree
    paths = with_ancestors(tree, np.arange(len(tree.leaves) + 1), tree.leaves)
    leaves, on_paths = candidates.ascending[tree.leaves], candidates.ascending[paths.node]

    def block(part: NDArray[Any], _: slice) -> ParetoSets:
        start, places = take_rows(paths.start, np.argmax(part[:, leaves], axis=1))
        node = on_paths[places]
        row = np.repeat(np.arange(len(part)), np.diff(start))
        return _rising(start, node, part[row, node].astype(np.float64), bottom)

    sets = [ParetoSets(*(np.zeros(0, dtype=np.int64),) * 2, np.zeros(0)), *map_dense_rows(block, q)]
    return ParetoSets(*(np.concatenate([getattr(one, name) for one in sets]) for name in vars(sets[0])))


def _rising(start: Indices, node: Indices, score: NDArray[np.float64], bottom: float) -> ParetoSets:
    """Keep the nodes of each path, given from the top down, that are more likely than all nodes below them."""
    below_it = np.repeat(start[1:], np.diff(start)) - 1 - np.arange(len(node))
    largest = np.append(running_max(score[::-1], below_it[::-1])[::-1], -np.inf)
    kept = (score > np.where(below_it > 0, largest[1:], -np.inf)) & (score > bottom)
    return ParetoSets(np.diff(np.append(0, np.cumsum(kept))[start]), node[kept], score[kept])


def most_likely_tip(q: AnyLikelihoods, candidates: Candidates) -> Indices:
    """Return the most likely of the nodes with nothing likely below them, for each example: [examples].

    Where leaves have likelihoods, it is the most likely leaf. It is the root where no other node has a likelihood.
    """
    if isinstance(q, SparseLikelihoods):
        return sparse.by_rows(q, candidates, sparse.most_likely_tip)
    tree, bottom = candidates.tree, BOTTOM[q.scale]
    below = np.arange(1, len(tree) + 1)

    def block(part: NDArray[Any], _: slice) -> Indices:
        p = part[:, candidates.ascending]
        likely = p > bottom
        before = np.zeros((len(p), len(tree) + 1), dtype=np.int32)  # how many likely nodes come before each node
        np.cumsum(likely, axis=1, out=before[:, 1:])
        tips = likely & (before[:, tree.end] == before[:, below])
        found: Indices = candidates.ascending[np.argmax(np.where(tips, p, -np.inf), axis=1)]
        return found

    return np.concatenate([np.zeros(0, dtype=np.int64), *map_dense_rows(block, q)])


def top_down(
    hierarchy: Hierarchy,
    q: Any,
    tau: ArrayLike | Array,
    *,
    inclusive: bool = False,
    **options: Unpack[RuleOptions],
) -> Array:
    """Start at the root and move to the most likely child while its likelihood exceeds τ (Deep RTC).

    τ is a probability: one number, or one per example; with `inclusive`, a likelihood of exactly τ is enough.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.top_down(h, [[1, 0.6, 0.3, 0.2, 0.4]] * 2, [0.2, 0.5])].tolist()
    ['cat', 'pet']
    """
    given, candidates = prepared(hierarchy, q, **options)
    cut = _cut_at(given, tau, inclusive=inclusive)
    if isinstance(given, SparseLikelihoods):
        given.require_all("A walk down the tree")
        return sparse.by_rows(given, candidates, lambda rows, block: sparse.top_down(rows, cut[block, 0]))
    tree, specificity = candidates.tree, candidates.tier[candidates.ascending]
    # Siblings are adjacent, and those that win ties come first.
    preferred = np.lexsort((-specificity[1:], tree.parent[1:]))
    order, back = placed(preferred, given.raw), placed(np.argsort(preferred), given.raw)
    earlier = placed(-np.arange(len(preferred), dtype=np.float64), given.raw)

    def rule(block: Array, rows: slice) -> Array:
        xp, at = namespace(block), TreeOnDevice.of(tree, block)

        def largest(x: Array) -> Array:
            best = ops_of(x).segment_max(x, at.sibling_start, at.sibling_group)
            return x == xp.take(best, at.sibling_group, axis=-1)

        nodes, p, _ = candidates.columns(block)
        p = xp.take(p[..., 1:], order, axis=-1)
        chosen = largest(xp.where(largest(p), earlier, -np.inf)) & (p > cut[rows])
        missed = xp.astype(~xp.take(chosen, back, axis=-1), xp.float32)
        detours = sum_ancestors(tree, xp.concat([xp.zeros_like(missed[..., :1]), missed], axis=-1))
        return _deepest(nodes, detours == 0)

    return by_rows(given.values, rule)


# The registry ----------------------------------------------------------------------------------------------


class Rule(Protocol):
    """A function from a tree, likelihoods and a measure of specificity to node indices."""

    def __call__(self, hierarchy: Hierarchy, q: AnyLikelihoods, /, *, information: Candidates) -> Any:
        """Return the answer to each example; `information` also says which nodes may be answers."""


RULES: Registry[Rule] = Registry(
    "rule",
    {"leaf": leaf, "majority": majority, "plurality": plurality, "expected-information": expected_information},
)
"""The rules that need no threshold; `RULES.register` adds your own. Every evaluation reports their operating
points, and `hedgerow predict` takes their names."""

_AT_THRESHOLD: dict[str, Callable[..., Any]] = {"threshold": threshold, "climbing": climbing}


def answering_rule(
    tau: float | None, rule: str | None, settings: Settings | None = None
) -> Callable[[Block], Any]:
    """Return a function that answers the examples of a block, by a threshold, a rule given by name, or both.

    Without a rule, it is `threshold`. Where a tool's call is known, `climbing` is the tool's own rule: it starts
    there and includes τ.
    """
    if rule is None and tau is not None:
        rule = "threshold"
    if rule is None or (tau is None) == (rule in _AT_THRESHOLD):
        raise ParameterError(
            f"Give either a threshold, {argument('tau', '0.8')}, alone or with {argument('rule', 'climbing')}; or "
            f"a rule that needs none, such as {argument('rule', 'majority')}."
        )
    if tau is None:
        found = RULES.find(rule)
        return lambda block: found(
            block.likelihoods.hierarchy,
            block.likelihoods,
            information=Candidates.of(block.likelihoods.hierarchy, settings),
        )
    _probabilities(tau)  # refuse what is none
    at_threshold = _AT_THRESHOLD[rule]

    def answer(block: Block) -> Any:
        q = block.likelihoods
        own = rule == "climbing" and isinstance(q, SparseLikelihoods) and q.call is not None
        candidates = Candidates.of(q.hierarchy, settings)
        return at_threshold(q.hierarchy, q, tau, inclusive=own, information=candidates)

    return answer


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
    q: AnyLikelihoods,
    candidates: Candidates,
    ask: Callable[[Array, Array, Array], tuple[Array, ...]],
) -> Array:
    """Apply a rule that considers only the most likely of equally specific nodes.

    `ask` is given the likelihoods [B, tiers], the information of the tiers and their numbers (the higher, the more
    specific); it returns which of them pass, and the keys to choose by. For sparse likelihoods, it is given those
    of the Pareto sets, concatenated: no other node can win.
    """
    if isinstance(q, SparseLikelihoods):
        sets = candidates.sparse_sets(q)
        passing, *keys = ask(sets.score, candidates.value[sets.node], candidates.tier[sets.node])
        return sparse.first(np.append(0, np.cumsum(sets.count)), sets.node, passing, keys)
    nodes, score = candidates.leaders(q)
    value = candidates.information
    tier = placed(np.arange(len(value), dtype=np.float64), score)
    passing, *keys = ask(score, placed(value, score), tier)
    return first(nodes, passing, keys)


def by_rows(q: Array, rule: Callable[[Array, slice], Array]) -> Array:
    """Apply a rule to an array in blocks of rows, or to a tensor all at once."""
    if not isinstance(q, np.ndarray):
        return rule(q.detach(), slice(None))
    if len(q) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate(map_row_blocks(lambda rows: rule(q[rows], rows), len(q), q[:1].nbytes))


def map_dense_rows(work: Callable[[NDArray[Any], slice], T], q: AnyLikelihoods) -> list[T]:
    """Call a function on the likelihoods [rows, nodes] of some examples at a time, and on which these are."""
    if isinstance(q, SparseLikelihoods):
        row_bytes = 8 * len(q.hierarchy)
        return map_row_blocks(lambda rows: work(as_numpy(q[rows].dense()), rows), len(q), row_bytes)
    values = as_numpy(q)
    return map_row_blocks(lambda rows: work(values[rows], rows), len(values), values[:1].nbytes)


def _deepest(nodes: Array, passing: Array) -> Array:
    """Return the deepest of the passing nodes, which lie on one path; the root if none passes."""
    xp = namespace(passing)
    return xp.max(xp.where(passing, nodes, 0), axis=-1)


def _probabilities(tau: ArrayLike | Array) -> NDArray[np.float64]:
    """Return thresholds as an array; raise an error if one is no probability."""
    try:
        given = as_numpy(tau).astype(np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"tau must be one number, or one per example, not {tau!r}.") from None
    for wrong in given[~((given >= 0) & (given <= 1))]:  # also NaN
        check_number("tau, a probability,", wrong, 0, 1)
    return given


def _cut_at(q: AnyLikelihoods, tau: ArrayLike | Array, *, inclusive: bool = False) -> Array:
    """Return cuts [B, 1] on the scale and in the precision of q: q exceeds them just where τ lets it pass."""
    given = _probabilities(tau)
    if given.ndim > 0 and given.shape != (len(q),):
        raise ParameterError(
            f"tau must be one number, or one per example, {len(q)} in all; got shape {given.shape}."
        )
    # At least τ is more than a number just below it, by what adding up rounded shares may lose.
    wanted = from_probability(given * (1 - _ROUNDED) if inclusive else given, q.scale)
    return _cut(q, wanted)


def _cut(q: AnyLikelihoods, tau: NDArray[np.float64]) -> Array:
    """Return cuts [B, 1] in the precision of q, for thresholds on its scale."""
    like = q.value if isinstance(q, SparseLikelihoods) else q.raw
    cut = rounded_down(np.maximum(tau, BOTTOM[q.scale]), like)
    return placed(np.broadcast_to(cut.reshape(-1, 1), (len(q), 1)), like)
