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

from hedgerow._threads import map_row_blocks
from hedgerow.treeops import Array, as_rows, extra_ops, rounded_down

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.hierarchy import Hierarchy, InformationKind
    from hedgerow.parents import Indices

_WIDTHS = np.array([1, 8, 64, 512])  # smaller sets of equal information are padded to these, to be few arrays


@final
@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes that may be answers (all but the trivial ones), in rungs of equal information.

    Use `Candidates.of`.
    """

    information: NDArray[np.float64]
    """The distinct values of information, ascending: one a rung."""
    buckets: tuple[Indices, ...]
    """The nodes of the rungs, [rungs of this bucket, size]; shorter rungs repeat their last node."""
    rung_order: Indices
    """Where each rung stands in the buckets laid end to end."""
    _on_device: dict[Any, list[Array]] = field(default_factory=dict, init=False)

    @staticmethod
    def of(h: Hierarchy, information: InformationKind | ArrayLike = "leaves") -> Candidates:
        """Sort the candidates of a tree into rungs; done once per tree for a kind known by name."""
        if isinstance(information, str):
            return h.derived(("candidates", information), lambda: Candidates._sorted(h, information))
        return Candidates._sorted(h, information)

    @staticmethod
    def _sorted(h: Hierarchy, information: InformationKind | ArrayLike) -> Candidates:
        value = h.information(information)
        nodes = np.flatnonzero(~h.is_trivial)
        nodes = nodes[np.argsort(value[nodes], kind="stable")]
        distinct, start, size = np.unique(value[nodes], return_index=True, return_counts=True)
        padded = np.append(_WIDTHS, 0)[np.searchsorted(_WIDTHS, size)]
        width = np.maximum(size, padded)
        buckets, rungs = [], []
        for w in np.unique(width):
            rung = np.flatnonzero(width == w)
            place = np.minimum(np.arange(w), size[rung, None] - 1)
            buckets.append(nodes[start[rung, None] + place])
            rungs.append(rung)
        return Candidates(distinct, tuple(buckets), np.argsort(np.concatenate(rungs)))

    def best(self, q: Array) -> tuple[Array, Array]:
        """Return the most likely node of every rung, and its likelihood: [B, nodes] -> two [B, rungs].

        Of equally likely nodes the one with the lowest index counts.
        """
        members, first, rung_order = self._placed(q)
        shapes = [bucket.shape for bucket in self.buckets]
        node, score = extra_ops(q).largest_of_rows(q, members, first, shapes)
        return node[:, rung_order], score[:, rung_order]

    def _placed(self, like: Array) -> list[Array]:
        """Return the nodes of all buckets, where each rung begins among them, and the order of the rungs.

        They are moved to where `like` lives once.
        """
        ops = extra_ops(like)
        device = ops.device_of(like)
        if device not in self._on_device:
            members = np.concatenate([bucket.reshape(-1) for bucket in self.buckets])
            width = np.concatenate([np.full(len(bucket), bucket.shape[1]) for bucket in self.buckets])
            arrays = (members, np.cumsum(width) - width, self.rung_order)
            self._on_device[device] = [ops.constant(array, device) for array in arrays]
        return self._on_device[device]

    def __reduce__(self) -> tuple[type[Candidates], tuple[Any, ...]]:
        return Candidates, (self.information, self.buckets, self.rung_order)  # what is on devices stays there


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

    @staticmethod
    def among(node: Array, score: Array, minimum: float | None) -> ParetoSets:
        """Keep, of the best node of every rung and its likelihood, those that beat all more specific ones.

        Both are [B, rungs]: see `Candidates.best`. Only likelihoods above `minimum` are kept, if that is given.
        """
        least = None if minimum is None else float(rounded_down(minimum, score))
        return ParetoSets(*extra_ops(score).records(node, score, least))


def ordered_pareto_sets(
    h: Hierarchy,
    q: Any,
    *,
    information: InformationKind | ArrayLike | Candidates = "leaves",
    minimum: float | None = None,
) -> ParetoSets:
    """Return the ordered Pareto set of every example.

    Of equally likely nodes the most specific stays; of nodes equal in both, the one with the lower index. Any
    scores will do, hierarchical or not, on any increasing scale.

    Parameters
    ----------
    h
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
    q = as_rows(q, h)
    candidates = information if isinstance(information, Candidates) else Candidates.of(h, information)
    if not isinstance(q, np.ndarray) or len(q) == 0:
        return ParetoSets.among(*candidates.best(q), minimum)
    parts = map_row_blocks(lambda rows: candidates.best(q[rows]), len(q), q[:1].nbytes)
    node, score = (np.concatenate(part) for part in zip(*parts, strict=True))
    return ParetoSets.among(node, score, minimum)
