"""Ordered Pareto sets: all the answers that any threshold gives for one example.

The threshold rule answers with the most specific node whose likelihood exceeds τ. As τ falls from the top of the
scale to its bottom, the answer moves through the *ordered Pareto set*: the nodes that no other node beats in both
likelihood and information, from conservative to specific.

Information takes few distinct values (133 on a tree of 16,344 nodes), so no sorting per example is needed. The
nodes with the same value form a *tier*, the most likely of them is its *leader*, and the set consists of the
leaders that are more likely than those of all higher tiers. This takes time linear in the number of nodes, and
handles a whole batch at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import Array, namespace, ops_of, rounded_down
from hedgerow.likelihood import Likelihoods

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.arrays import Tiers
    from hedgerow.tree import Hierarchy, Indices, InformationKind


@final
@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes that can be answers (all but the trivial ones), in tiers of equal information.

    Use `Candidates.of`.
    """

    value: NDArray[np.float64]
    """Information of every node of the tree."""
    information: NDArray[np.float64]
    """The distinct values of information, ascending: one per tier."""
    nodes: Indices
    """The nodes, tier by tier, ascending within each."""
    start: Indices
    """Where each tier starts among the nodes, and where the last one ends."""
    _placed: dict[Any, Tiers] = field(default_factory=dict, init=False)

    @staticmethod
    def of(hierarchy: Hierarchy, information: InformationKind | ArrayLike | Candidates = "leaves") -> Candidates:
        """Sort the candidates of a tree into tiers; for a named kind, this is done once per tree."""
        if isinstance(information, Candidates):
            return information
        if isinstance(information, str):
            key = ("candidates", information)
            return hierarchy.derived(key, lambda: Candidates._sorted(hierarchy, information))
        return Candidates._sorted(hierarchy, information)

    @staticmethod
    def _sorted(hierarchy: Hierarchy, information: InformationKind | ArrayLike) -> Candidates:
        value = hierarchy.information(information)
        nodes = np.flatnonzero(~hierarchy.is_trivial)
        nodes = nodes[np.argsort(value[nodes], kind="stable")]
        distinct, start = np.unique(value[nodes], return_index=True)
        return Candidates(value, distinct, nodes, np.append(start, len(nodes)))

    def leaders(self, q: Likelihoods) -> tuple[Array, Array]:
        """Return the most likely node of every tier, and its likelihood: [B, tiers] each; computed once."""
        return q.derived(self._key, lambda: q.read(self._tiers(q).leaders))

    def sets(self, q: Likelihoods, minimum: float | None = None) -> ParetoSets:
        """Return the ordered Pareto set of every row: see `ordered_pareto_sets`."""
        least = None if minimum is None else float(rounded_down(minimum, q.raw))
        found = None if q.has(self._key) else self._tiers(q).records(q.values, least)
        return ParetoSets(*(_records(*self.leaders(q), least, root=True) if found is None else found))

    def fetch_sets(self, q: Likelihoods, bottom: float) -> ParetoSets:
        """Return the sets in main memory, without the root and without nodes at the bottom of the scale."""
        if not q.has(self._key):
            found = q.read(lambda values, check: self._tiers(q).fetch_records(values, bottom, check))
            if found is not None:
                return ParetoSets(*found)
        return ParetoSets(*ops_of(q.raw).to_numpy(*_records(*self.leaders(q), bottom, root=False)))

    def _tiers(self, q: Likelihoods) -> Tiers:
        """Return the tiers on the device of q; they are copied there once."""
        ops = ops_of(q.raw)
        device = ops.device_of(q.raw)
        if device not in self._placed:
            self._placed[device] = ops.Tiers(self.nodes, self.start, len(self.value), device)
        return self._placed[device]

    @property
    def _key(self) -> tuple[str, Candidates]:
        return "leaders", self

    def __reduce__(self) -> tuple[type[Candidates], tuple[Any, ...]]:
        return Candidates, (self.value, self.information, self.nodes, self.start)  # without the copies on devices


def _records(node: Array, score: Array, minimum: float | None, *, root: bool) -> tuple[Array, Array, Array]:
    """Keep the leaders whose score exceeds `minimum` and those of all higher tiers."""
    xp, ops = namespace(score), ops_of(score)
    highest_above = xp.flip(ops.running_max(xp.flip(score[:, 1:], axis=-1)), axis=-1)
    kept = xp.concat([score[:, :-1] > highest_above, xp.ones_like(score[:, -1:], dtype=xp.bool)], axis=-1)
    if minimum is not None:
        kept &= score > minimum
    if not root:
        kept &= node != 0
    at = xp.nonzero(xp.reshape(kept, (-1,)))[0]
    kept_node, kept_score = (xp.take(xp.reshape(each, (-1,)), at) for each in (node, score))
    return xp.sum(kept, axis=-1), kept_node, kept_score


@final
@dataclass(frozen=True, eq=False)
class ParetoSets:
    """The ordered Pareto sets of a batch, concatenated, each from conservative to specific."""

    count: Array
    """Size of each example's set."""
    node: Array
    """The nodes: information strictly increases along a set."""
    score: Array
    """Their likelihoods: strictly decreasing along a set."""


def ordered_pareto_sets(
    hierarchy: Hierarchy,
    q: Any,
    *,
    information: InformationKind | ArrayLike | Candidates = "leaves",
    minimum: float | None = None,
) -> ParetoSets:
    """Return the ordered Pareto set of every example.

    Of equally likely nodes, the most specific is kept; of nodes equal in both, the one with the lower index. Any
    scores except NaN are allowed, hierarchical or not, on any increasing scale; the result has no gradient.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        [B, nodes] likelihoods: `Likelihoods`, an array, a tensor, or a table whose columns are named by nodes.
    information
        The measure of specificity: see `Hierarchy.information`.
    minimum
        If given, only nodes whose likelihood exceeds it are included.

    Examples
    --------
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> sets = ordered_pareto_sets(h, [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.4, 0.2, 0.2, 0.6]])
    >>> sets.count.tolist(), h.names[sets.node].tolist(), sets.score.tolist()
    ([3, 2], ['root', 'pet', 'cat', 'root', 'wolf'], [1.0, 0.7, 0.5, 1.0, 0.6])
    """
    return Candidates.of(hierarchy, information).sets(Likelihoods.of(hierarchy, q).unchecked(), minimum)
