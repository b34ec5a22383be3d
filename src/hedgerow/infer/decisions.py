"""Rules that weigh the probabilities of nodes against the cost of an answer, and λ fitted to data.

A cost that depends on the label only through the lowest common ancestor needs no table of pairs:
``E[f(lca(Y, ŷ))] = Σ_{u ∈ A(ŷ)} (f(u) - f(parent u)) q(u)``, one pass down the tree. That covers the named costs.
Any other cost is tabulated, which is only possible on small trees. Nodes that are no candidates are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np

from hedgerow.arrays import (
    Array,
    TreeOnDevice,
    add_down,
    as_numpy,
    namespace,
    ops_of,
    placed,
    sum_children,
)
from hedgerow.errors import ParameterError, ScoreError, check_number
from hedgerow.infer import sparse_rules as sparse
from hedgerow.infer.pareto import Candidates, RuleOptions, prepared
from hedgerow.infer.rules import by_rows, first, map_dense_rows
from hedgerow.likelihood import BOTTOM, SparseLikelihoods, to_probability
from hedgerow.tree import BelowLabel, Hierarchy, Indices, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.infer.sparse_rules import ListedCandidates

Over = Literal["all", "leaves"]
CostFunction: TypeAlias = "Callable[[Hierarchy, Indices, Indices], ArrayLike]"
Cost: TypeAlias = "str | CostFunction | ArrayLike"

TABLE_LIMIT = 4096
"""The largest number of nodes for which a cost without a name is tabulated."""

_EDGES, _INFORMATION, _WRONG, _REWARD = "edge distance", "information distance", "1 - correct", "-correct x I"
COSTS = {
    "edge distance": _EDGES,
    "depth distance": _EDGES,  # as some papers call it
    "information distance": _INFORMATION,
    "1 - correct": _WRONG,
    "-correct x I": _REWARD,
    "-correct x information": _REWARD,
}
"""The named costs. Case, spaces and underscores do not matter: "edge_distance" works too."""
_NAMES = ", ".join(map(repr, dict.fromkeys(COSTS.values())))
_LARGEST_LAMBDA = 2.0**64  # compared with this, the information of any node is less than rounding


class FittedLambda(NamedTuple):
    """A fitted λ for `expected_information`, and the accuracy it achieves."""

    lam: float
    """The λ."""
    accuracy: float
    """The share of correct answers on the data it was fitted to."""


def fit_lambda(
    hierarchy: Hierarchy,
    q: Any,
    labels: ArrayLike | Array,
    accuracy: float,
    *,
    classes: ArrayLike | None = None,
    below_label: BelowLabel = "label",
    **options: Unpack[RuleOptions],
) -> FittedLambda:
    """Find, by bisection, a λ for `expected_information` that achieves the wanted accuracy.

    Accuracy is not a monotone function of λ. The λ returned always achieves the wanted accuracy on the given data,
    and a λ just below it does not (unless it is 0); but it need not be the smallest that does.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        [B, nodes] likelihoods of held-out examples.
    labels
        Their labels, names or integers.
    accuracy
        The wanted share of correct answers.
    classes
        Names of nodes in which integer labels are positions; without it, they are node indices.
    below_label
        How to count an answer below its label: as the "label" (so it is correct) or as "wrong".
    **options
        `information`, `single_child` and `scale`: see `hedgerow.infer`.

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.8, 0.3, 0.5, 0.2], [1, 0.9, 0.8, 0.1, 0.1]]
    >>> fitted = infer.fit_lambda(h, q, ["cat", "cat"], 1.0)
    >>> round(fitted.lam, 2), fitted.accuracy
    (1.08, 1.0)
    >>> h.names[infer.expected_information(h, q, fitted.lam)].tolist()
    ['pet', 'cat']
    """
    given, candidates = prepared(hierarchy, q, **options)
    known = hierarchy.nodes(as_numpy(labels), classes)
    if known.shape != (len(given),) or len(given) == 0:
        raise ScoreError(
            f"One label per example is needed; got {len(given)} examples and labels of shape {known.shape}."
        )
    check_number("accuracy", accuracy, 0, 1)
    settings = Settings(below_label=below_label)
    # For every λ, the answer belongs to the Pareto set; within the set, ties go to the first node.
    sets = candidates.sets(given, BOTTOM[given.scale])
    count, node, score = ops_of(sets.score).to_numpy(sets.count, sets.node, sets.score)
    p = to_probability(score, given.scale)
    example = np.repeat(np.arange(len(count)), count)
    right = hierarchy.is_ancestor(node, known[example])
    if settings.below_is_right:
        right |= hierarchy.is_ancestor(known[example], node)
    gain = candidates.value[node]
    start = (np.cumsum(count) - count)[count > 0]
    unanswered = np.count_nonzero(count == 0)  # the answer is the root, which is correct

    def achieved(lam: float) -> float:
        value = (gain + lam) * p.astype(np.float64, copy=False)
        best = np.flatnonzero(value == np.repeat(np.maximum.reduceat(value, start), count[count > 0]))
        first = best[np.diff(example[best], prepend=-1) > 0]
        return float((np.count_nonzero(right[first]) + unanswered) / len(count))

    return _bisected(achieved, accuracy) if len(start) else FittedLambda(0.0, 1.0)


def _bisected(achieved: Callable[[float], float], accuracy: float) -> FittedLambda:
    """Return a λ that achieves the accuracy, just above one that does not."""
    low, high = 0.0, 0.0
    while (reached := achieved(high)) < accuracy:
        if high >= _LARGEST_LAMBDA:
            raise ScoreError(
                f"No λ achieves accuracy {accuracy}: the largest reaches {reached:.6g}. Ask for a lower accuracy."
            )
        low, high = high, max(1.0, 2 * high)
    while low < (middle := (low + high) / 2) < high and high - low > 1e-9 * high:
        if (accuracy_there := achieved(middle)) >= accuracy:
            high, reached = middle, accuracy_there
        else:
            low = middle
    return FittedLambda(high, reached)


def most_likely_exclusive(hierarchy: Hierarchy, q: Any, **options: Unpack[RuleOptions]) -> Array:
    """Answer with the node most likely to be the label itself, and not a node below it (Brust and Denzler).

    This is the node with the largest ``q(y) - Σ_{v child of y} q(v)``.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.most_likely_exclusive(h, [[1, 0.7, 0.1, 0.2, 0.3]])].tolist()
    ['pet']
    """
    given, candidates = prepared(hierarchy, q, **options)
    if isinstance(given, SparseLikelihoods):
        return sparse.by_rows(given, candidates, sparse.most_likely_exclusive, probabilities=True)

    def rule(block: Array, _: slice) -> Array:
        nodes, p, tier = candidates.columns(block)
        return first(nodes, p > 0, (exclusive(candidates.tree, p), tier, p))

    return by_rows(given.probabilities(), rule)


def risk_minimising(
    hierarchy: Hierarchy, q: Any, cost: Cost, over: Over = "all", **options: Unpack[RuleOptions]
) -> Array:
    """Answer with the node of smallest expected cost, for a label drawn from the likelihoods.

    For "-correct x I", ties go to higher likelihood, as in `expected_information`.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        [B, nodes] likelihoods.
    cost
        By name: "edge distance" (number of edges between label and answer), "information distance",
        "1 - correct", "-correct x I"; an answer below its label is not replaced by the label. Or, on trees of up
        to 4,096 nodes, a function of (tree, labels, predictions) that broadcasts, such as `metrics.edge_distance`;
        or a matrix with a row for every label and a column for every prediction.
    over
        "all": labels and answers are any nodes; the probability of a label is the likelihood of the node minus
        those of its children. "leaves": labels and answers are leaves.
    **options
        `information`, `single_child` and `scale`: see `hedgerow.infer`. Information is used for ties, and by the
        costs that depend on it.

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer, metrics
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.6, 0.3, 0.3, 0.4]]
    >>> h.names[infer.risk_minimising(h, q, "edge distance")].tolist()
    ['pet']
    >>> h.names[infer.risk_minimising(h, q, "1 - correct", over="leaves")].tolist()
    ['wolf']
    >>> h.names[infer.risk_minimising(h, q, metrics.edge_distance, over="leaves")].tolist()
    ['wolf']
    """
    given, candidates = prepared(hierarchy, q, **options)
    if isinstance(given, SparseLikelihoods) and isinstance(cost, str):
        return sparse.by_rows(
            given, candidates, lambda rows, _: _least_risk(rows.with_ancestors(), cost, over), probabilities=True
        )

    like = given.value if isinstance(given, SparseLikelihoods) else given.raw
    expected = expected_cost(candidates, like, cost, over)
    at = TreeOnDevice.of(candidates.tree, like)
    answers = at.end - at.nodes == 1 if over == "leaves" else at.nodes >= 0

    def rule(block: Array, _: slice) -> Array:
        nodes, p, tier = candidates.columns(block)
        ties = (p, tier) if is_reward(cost) else (tier, p)
        return first(nodes, answers & (p > 0), (-expected(p), *ties))

    if isinstance(given, SparseLikelihoods):  # a cost without a name is tabulated, so the tree is small
        blocks = map_dense_rows(lambda block, rows: rule(to_probability(block, given.scale), rows), given)
        return np.concatenate([np.zeros(0, dtype=np.int64), *blocks])
    return by_rows(given.probabilities(), rule)


def _least_risk(rows: ListedCandidates, cost: str, over: Over) -> Indices:
    """Return the node of smallest expected cost in each row, for a cost with a name."""
    allowed = rows.tree.is_leaf[rows.node] if over == "leaves" else True
    ties = (rows.p, rows.tier) if is_reward(cost) else (rows.tier, rows.p)
    return rows.first(allowed & (rows.p > 0), (-expected_cost_of_rows(rows, cost, over), *ties))


# The expected cost of every answer, when the label is drawn from the likelihoods -------------------------------


def expected_cost(candidates: Candidates, like: Array, cost: Cost, over: Over) -> Callable[[Array], Array]:
    """Return the function from likelihoods to expected costs: [..., candidates] -> same, float64.

    Costs omit a term that is the same for all answers. The label is drawn from the leaves, each with its own
    likelihood, or from all nodes, each with its likelihood minus those of its children. For answers outside
    `over`, the result is meaningless.

    Parameters
    ----------
    candidates
        The nodes that may be answers, with the measure of specificity for the costs that use one.
    like
        An array or tensor of the same kind and on the same device as the likelihoods.
    cost
        See `hedgerow.infer.risk_minimising`.
    over
        "all" nodes or "leaves".
    """
    _check_over(over)
    tree = candidates.tree
    if not isinstance(cost, str):
        return _tabulated(tree, like, _table(candidates, cost, over), over)
    name = _known(cost)
    if name == _WRONG:
        return lambda p: -_mass_below(tree, p, over)
    value = _values(candidates, name)
    if name == _REWARD:
        reward = placed(value, like)
        return lambda p: -(reward * _mass_below(tree, p, over))
    step = placed(value[1:] - value[tree.parent[1:]], like)

    def distance(p: Array) -> Array:
        mass = _mass_below(tree, p, over)
        return add_down(tree, step * (mass[..., :1] - 2 * mass[..., 1:]))

    return distance


def expected_cost_of_rows(rows: ListedCandidates, cost: str, over: Over) -> NDArray[np.float64]:
    """Return the expected cost of every node of `rows`, in which all ancestors are listed; cf. `expected_cost`."""
    _check_over(over)
    name = _known(cost)
    mass = rows.p if over == "all" else rows.sum_leaves()
    if name == _WRONG:
        return -mass
    value = _values(rows.candidates, name)
    if name == _REWARD:
        return -(value[rows.node] * mass)
    step = value[rows.node] - value[np.maximum(rows.tree.parent[rows.node], 0)]
    return rows.add_down(step * (np.repeat(mass[rows.start[:-1]], rows.count) - 2 * mass))


def _check_over(over: Over) -> None:
    if over not in ("all", "leaves"):
        raise ParameterError(f"over must be 'all' or 'leaves', not {over!r}.")


def _values(candidates: Candidates, name: str) -> NDArray[np.float64]:
    """Return what a distance between candidates is measured in, and what a reward is: depth or information."""
    value = candidates.hierarchy.information("depth") if name == _EDGES else candidates.value
    return value[candidates.ascending]


def exclusive(tree: Hierarchy, p: Array) -> Array:
    """Return each node's likelihood minus those of its children, float64; negative if q is not a distribution."""
    p = _double(p)
    return p - sum_children(tree, p)


def is_reward(cost: Cost) -> bool:
    """Return whether a cost is, by name, the negative information of correct answers."""
    return isinstance(cost, str) and _known(cost) == _REWARD


def _known(cost: str) -> str:
    def squeezed(name: str) -> str:
        return "".join(name.lower().replace("_", " ").replace("×", "x").split())

    names = {squeezed(name): canonical for name, canonical in COSTS.items()}
    if squeezed(cost) not in names:
        raise ParameterError(
            f"There is no cost {cost!r}; the named costs are {_NAMES}. "
            "For any other cost, give a function of tree, label and prediction, or a matrix."
        )
    return names[squeezed(cost)]


def _mass_below(tree: Hierarchy, p: Array, over: Over) -> Array:
    """Return the probability, float64, that the label lies at or below each node."""
    p = _double(p)
    if over == "all":
        return p
    xp, at = namespace(p), TreeOnDevice.of(tree, p)
    sums = ops_of(p).prefix_sums(xp.take(p, at.leaves, axis=-1))
    below = xp.take(sums, at.last_leaf, axis=-1) - xp.take(sums, at.first_leaf, axis=-1)
    return xp.where(at.end - at.nodes == 1, p, below)  # leaves unchanged, so that equal ones stay equal


def _double(p: Array) -> Array:
    xp = namespace(p)
    return xp.astype(p, xp.float64, copy=False)


def _table(candidates: Candidates, cost: CostFunction | ArrayLike, over: Over) -> NDArray[np.float64]:
    """Return the cost of every answer (column) to every label (row), over the leaves or the candidates."""
    hierarchy = candidates.hierarchy
    nodes = hierarchy.leaves if over == "leaves" else candidates.ascending
    if len(nodes) > TABLE_LIMIT:
        raise ParameterError(
            f"A cost without a name needs a table of all pairs, here {len(nodes):,} x {len(nodes):,}; the limit "
            f"is {TABLE_LIMIT:,} nodes. Use a named cost: {_NAMES}."
        )
    if getattr(cost, "higher_is_better", False):
        name = getattr(cost, "name", cost)
        raise ParameterError(
            f"{name!r} is not a cost, because higher values are better; give a function that negates it."
        )
    if callable(cost):
        table = np.asarray(cost(hierarchy, nodes[:, None], nodes[None, :]), dtype=np.float64)
        if table.shape != (len(nodes), len(nodes)):
            raise ScoreError(
                f"A cost must return one number per pair: for labels [{len(nodes)}, 1] and predictions "
                f"[1, {len(nodes)}], it returned shape {table.shape}."
            )
    else:
        full = np.asarray(cost, dtype=np.float64)
        if full.shape != (len(hierarchy), len(hierarchy)):
            raise ScoreError(
                f"A matrix of costs needs a row for every label and a column for every prediction, "
                f"{len(hierarchy)} x {len(hierarchy)}; got shape {full.shape}."
            )
        table = full[np.ix_(nodes, nodes)]
    if not np.isfinite(table).all():
        label, answer = np.argwhere(~np.isfinite(table))[0]
        raise ScoreError(
            f"Costs must be finite; the cost of {hierarchy.names[nodes[answer]]!r} for the label "
            f"{hierarchy.names[nodes[label]]!r} is {table[label, answer]}."
        )
    return table


def _tabulated(tree: Hierarchy, like: Array, table: NDArray[np.float64], over: Over) -> Callable[[Array], Array]:
    if over == "leaves":
        padded = np.zeros((len(tree), len(tree)))
        padded[np.ix_(tree.leaves, tree.leaves)] = table
        table = padded
    costs = placed(table, like)
    if over == "leaves":
        return lambda p: _double(p) @ costs
    return lambda p: exclusive(tree, p) @ costs
