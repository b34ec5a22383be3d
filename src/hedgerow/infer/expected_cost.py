"""The expected cost of every answer, when the label is drawn from the likelihoods.

A cost that depends on the label only through the lowest common ancestor needs no table of pairs:
``E[f(lca(Y, ŷ))] = Σ_{u ∈ A(ŷ)} (f(u) - f(parent u)) q(u)``, one pass down the tree. That covers the named costs.
Any other cost is tabulated, which is only possible on small trees. Nodes that are no candidates are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from hedgerow.arrays import Array, Layout, add_down, namespace, ops_of, sum_children
from hedgerow.errors import ParameterError, ScoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.infer.pareto import Candidates
    from hedgerow.infer.sparse import Rows
    from hedgerow.tree import Hierarchy, Indices

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
    ops = ops_of(like)
    value = _values(candidates, name)
    if name == _REWARD:
        reward = ops.constant(value, ops.device_of(like))
        return lambda p: -(reward * _mass_below(tree, p, over))
    step = ops.constant(value[1:] - value[tree.parent[1:]], ops.device_of(like))

    def distance(p: Array) -> Array:
        mass = _mass_below(tree, p, over)
        return add_down(tree, step * (mass[..., :1] - 2 * mass[..., 1:]))

    return distance


def expected_cost_of_rows(rows: Rows, candidates: Candidates, cost: str, over: Over) -> NDArray[np.float64]:
    """Return the expected cost of every node of `rows`, in which all ancestors are listed; cf. `expected_cost`."""
    _check_over(over)
    name = _known(cost)
    mass = rows.p if over == "all" else rows.sum_leaves()
    if name == _WRONG:
        return -mass
    value = _values(candidates, name)
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
    xp, at = namespace(p), Layout.of(tree, p)
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
    ops = ops_of(like)
    placed = ops.constant(table, ops.device_of(like))
    if over == "leaves":
        return lambda p: _double(p) @ placed
    return lambda p: exclusive(tree, p) @ placed
