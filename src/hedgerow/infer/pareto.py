"""Ordered Pareto sets: all the answers that some threshold gives, for one example.

The threshold rule answers with the most specific node whose likelihood exceeds τ. As τ falls from the top of the
scale to its bottom, the answer moves through the *ordered Pareto set*: the nodes that no other node beats in both
likelihood and information, from conservative to specific.

Information takes few distinct values (133 on a tree of 16,344 nodes), so no sorting per example is needed: the
set consists of the most likely node of each value, kept if it is more likely than those of all larger values.
That is linear in the number of nodes, and done for a whole batch at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import Array, as_rows, extra_ops, rounded_down

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.arrays import Check
    from hedgerow.tree import Hierarchy, Indices, InformationKind


@final
@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes that may be answers (all but the trivial ones), in rungs of equal information.

    Use `Candidates.of`.
    """

    information: NDArray[np.float64]
    """The distinct values of information, ascending: one a rung."""
    nodes: Indices
    """The nodes, rung after rung, ascending within each."""
    start: Indices
    """Where each rung begins among the nodes, and where the last ends."""
    width: int
    """Number of nodes of the tree."""
    _placed: dict[Any, Any] = field(default_factory=dict, init=False)

    @staticmethod
    def of(hierarchy: Hierarchy, information: InformationKind | ArrayLike = "leaves") -> Candidates:
        """Sort the candidates of a tree into rungs; done once per tree for a kind known by name."""
        if isinstance(information, str):
            return hierarchy.derived(
                ("candidates", information), lambda: Candidates._sorted(hierarchy, information)
            )
        return Candidates._sorted(hierarchy, information)

    @staticmethod
    def _sorted(hierarchy: Hierarchy, information: InformationKind | ArrayLike) -> Candidates:
        value = hierarchy.information(information)
        nodes = np.flatnonzero(~hierarchy.is_trivial)
        nodes = nodes[np.argsort(value[nodes], kind="stable")]
        distinct, start = np.unique(value[nodes], return_index=True)
        return Candidates(distinct, nodes, np.append(start, len(nodes)), len(hierarchy))

    def sets(self, q: Array, minimum: float | None = None) -> ParetoSets:
        """Return the ordered Pareto set of every row of q, [B, nodes]: see `ordered_pareto_sets`."""
        least = None if minimum is None else float(rounded_down(minimum, q))
        return ParetoSets(*self.rungs(q).records(q, least))

    def fetch_sets(self, q: Array, bottom: float, check: Check) -> ParetoSets:
        """Return the sets in main memory, without the root and what scores no more than the bottom of a scale.

        What does not pass the check is refused.
        """
        return ParetoSets(*self.rungs(q).fetch_records(q, bottom, check))

    def rungs(self, q: Array) -> Any:
        """Return the rungs where q lives, an object like `numpy_ops.Rungs`; they are placed there once."""
        ops = extra_ops(q)
        device = ops.device_of(q)
        if device not in self._placed:
            self._placed[device] = ops.Rungs(self.nodes, self.start, self.width, device)
        return self._placed[device]

    def __reduce__(self) -> tuple[type[Candidates], tuple[Any, ...]]:
        return Candidates, (self.information, self.nodes, self.start, self.width)  # what is on devices stays there


@final
@dataclass(frozen=True, eq=False)
class ParetoSets:
    """The ordered Pareto sets of a batch, laid end to end, each from conservative to specific."""

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

    Of equally likely nodes the most specific stays; of nodes equal in both, the one with the lower index. Any
    scores but NaN will do, hierarchical or not, on any increasing scale; they come back without a gradient.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        [B, nodes] likelihoods; an array or a tensor.
    information
        The measure of specificity: see `Hierarchy.information`.
    minimum
        If given, only nodes whose likelihood exceeds this are taken.

    Examples
    --------
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> sets = ordered_pareto_sets(h, [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.4, 0.2, 0.2, 0.6]])
    >>> sets.count.tolist(), h.names[sets.node].tolist(), sets.score.tolist()
    ([3, 2], ['root', 'pet', 'cat', 'root', 'wolf'], [1.0, 0.7, 0.5, 1.0, 0.6])
    """
    q = as_rows(q, hierarchy)
    candidates = information if isinstance(information, Candidates) else Candidates.of(hierarchy, information)
    return candidates.sets(q, minimum)
