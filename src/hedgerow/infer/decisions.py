"""Rules that weigh the probabilities of nodes against the cost of an answer, and λ fitted to data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedgerow.arrays import Array, Layout, as_numpy, map_row_blocks, ops_of
from hedgerow.errors import ParameterError, ScoreError, a_number
from hedgerow.infer import sparse
from hedgerow.infer.expected_cost import exclusive, expected_cost, expected_cost_of_rows, is_reward
from hedgerow.infer.pareto import candidates_of
from hedgerow.infer.rules import by_rows, first
from hedgerow.likelihood import BOTTOM, Likelihoods, SparseLikelihoods, to_probability
from hedgerow.tree import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from hedgerow.infer.expected_cost import Cost, Over
    from hedgerow.infer.pareto import Specificity
    from hedgerow.infer.sparse import Rows
    from hedgerow.likelihood import AnyLikelihoods, Scale
    from hedgerow.tree import BelowLabel, Hierarchy, Indices, SingleChild

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
    information: Specificity = "leaves",
    single_child: SingleChild = "skip",
    below_label: BelowLabel = "label",
    scale: Scale | None = None,
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
    information
        The measure of specificity.
    single_child
        Whether nodes with one child may be answers ("answer") or not ("skip").
    below_label
        How to count an answer below its label: as the "label" (so it is correct) or as "wrong".
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".

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
    given: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    known = hierarchy.nodes(as_numpy(labels), classes)
    if known.shape != (len(given),) or len(given) == 0:
        raise ScoreError(
            f"One label per example is needed; got {len(given)} examples and labels of shape {known.shape}."
        )
    if not 0 <= a_number(accuracy, "accuracy") <= 1:
        raise ParameterError(f"accuracy must lie between 0 and 1, not {accuracy}.")
    settings = Settings(below_label=below_label)
    # For every λ, the answer belongs to the Pareto set; within the set, ties go to the first node.
    candidates = candidates_of(hierarchy, information, single_child)
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


def most_likely_exclusive(
    hierarchy: Hierarchy,
    q: Any,
    *,
    information: Specificity = "leaves",
    single_child: SingleChild = "skip",
    scale: Scale | None = None,
) -> Array:
    """Answer with the node most likely to be the label itself, and not a node below it (Brust and Denzler).

    This is the node with the largest ``q(y) - Σ_{v child of y} q(v)``.

    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> h.names[infer.most_likely_exclusive(h, [[1, 0.7, 0.1, 0.2, 0.3]])].tolist()
    ['pet']
    """
    given: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    candidates = candidates_of(hierarchy, information, single_child)
    if isinstance(given, SparseLikelihoods):
        return sparse.by_rows(given, candidates, sparse.most_likely_exclusive, probabilities=True)

    def rule(block: Array, _: slice) -> Array:
        nodes, p, tier = candidates.columns(block)
        return first(nodes, p > 0, (exclusive(candidates.tree, p), tier, p))

    return by_rows(given.probabilities(), rule)


def risk_minimising(
    hierarchy: Hierarchy,
    q: Any,
    cost: Cost,
    over: Over = "all",
    *,
    information: Specificity = "leaves",
    single_child: SingleChild = "skip",
    scale: Scale | None = None,
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
    information
        The measure of specificity, for ties and for the costs that use one.
    single_child
        Whether nodes with one child may be answers ("answer") or not ("skip").
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".

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
    given: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    candidates = candidates_of(hierarchy, information, single_child)
    if isinstance(given, SparseLikelihoods) and isinstance(cost, str):
        return sparse.by_rows(
            given, candidates, lambda rows, _: _least_risk(rows.with_ancestors(), cost, over), probabilities=True
        )

    like = given.value if isinstance(given, SparseLikelihoods) else given.raw
    expected = expected_cost(candidates, like, cost, over)
    at = Layout.of(candidates.tree, like)
    answers = at.end - at.nodes == 1 if over == "leaves" else at.nodes >= 0

    def rule(block: Array, _: slice) -> Array:
        nodes, p, tier = candidates.columns(block)
        ties = (p, tier) if is_reward(cost) else (tier, p)
        return first(nodes, answers & (p > 0), (-expected(p), *ties))

    if isinstance(given, SparseLikelihoods):  # a cost without a name is tabulated, so the tree is small
        blocks = map_row_blocks(
            lambda rows: rule(given[rows].dense().probabilities(), rows), len(given), 8 * len(hierarchy)
        )
        return np.concatenate([np.zeros(0, dtype=np.int64), *blocks])
    return by_rows(given.probabilities(), rule)


def _least_risk(rows: Rows, cost: str, over: Over) -> Indices:
    """Return the node of smallest expected cost in each row, for a cost with a name."""
    allowed = rows.tree.is_leaf[rows.node] if over == "leaves" else True
    ties = (rows.p, rows.tier) if is_reward(cost) else (rows.tier, rows.p)
    return rows.first(allowed & (rows.p > 0), (-expected_cost_of_rows(rows, cost, over), *ties))
