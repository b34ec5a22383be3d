"""Ordered Pareto sets: all the answers that any threshold gives for one example.

The threshold rule answers with the most specific node whose likelihood exceeds τ. As τ falls from the top of the
scale to its bottom, the answer moves through the *ordered Pareto set*: the nodes that no other node beats in both
likelihood and information, from conservative to specific.

Information takes few distinct values (133 on a tree of 16,344 nodes), so no sorting per example is needed. The
nodes with the same value form a *tier*, the most likely of them is its *leader*, and the set consists of the
leaders that are more likely than those of all higher tiers. This takes time linear in the number of nodes, and
handles a whole batch at once.

A *trivial* node says the same as its only child, and is no candidate. Where the real world has classes that the
tree lacks, it says less: ``single_child="answer"`` makes it a candidate. The more specific of two nodes is then
the one with more information or, if these are equal, the deeper one; nodes of a tier are equal in both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, final

import numpy as np

from hedgerow.arrays import Array, Tiers, namespace, ops_of, placed, rounded_down
from hedgerow.errors import ParameterError, argument
from hedgerow.infer import sparse_rules as sparse
from hedgerow.likelihood import AnyLikelihoods, Likelihoods, Scale, SparseLikelihoods
from hedgerow.tree import Hierarchy, Indices, InformationKind, Settings, SingleChild

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@final
@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes that can be answers, in tiers of equal specificity.

    Use `Candidates.of`.
    """

    hierarchy: Hierarchy
    """The tree."""
    single_child: SingleChild
    """"skip": trivial nodes are no candidates; "answer": they are."""
    value: NDArray[np.float64]
    """Information of every node of the tree."""
    nodes: Indices
    """The nodes, tier by tier, ascending within each."""
    start: Indices
    """Where each tier starts among the nodes, and where the last one ends."""
    _placed: dict[Any, Tiers] = field(default_factory=dict, init=False)

    @staticmethod
    def of(hierarchy: Hierarchy, settings: Settings | None = None) -> Candidates:
        """Sort the candidates of a tree into tiers; for a named information, once per tree."""
        settings = settings or Settings()
        if isinstance(settings.information, str):
            key = ("candidates", settings.information, settings.single_child)
            return hierarchy.derived(key, lambda: Candidates._sorted(hierarchy, settings))
        return Candidates._sorted(hierarchy, settings)

    @staticmethod
    def _sorted(hierarchy: Hierarchy, settings: Settings) -> Candidates:
        value, single_child = hierarchy.information(settings.information), settings.single_child
        depth = hierarchy.depth if single_child == "answer" else np.zeros(len(hierarchy), dtype=np.int64)
        nodes = np.arange(len(hierarchy))
        if single_child == "skip":
            nodes = nodes[~hierarchy.is_trivial]
        nodes = nodes[np.lexsort((depth[nodes], value[nodes]))]
        first = (np.diff(value[nodes], prepend=-1) != 0) | (np.diff(depth[nodes], prepend=-1) != 0)
        return Candidates(hierarchy, single_child, value, nodes, np.append(np.flatnonzero(first), len(nodes)))

    @property
    def information(self) -> NDArray[np.float64]:
        """The information of each tier, ascending."""
        return self.value[self.nodes[self.start[:-1]]]

    @cached_property
    def tier(self) -> Indices:
        """The tier of every node of the tree; -1 for nodes that are no candidates."""
        tier = np.full(len(self.value), -1)
        tier[self.nodes] = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return tier

    @cached_property
    def ascending(self) -> Indices:
        """The candidates in ascending order."""
        return np.flatnonzero(self.tier >= 0)

    @cached_property
    def _specificity(self) -> NDArray[np.float64]:
        return self.tier[self.ascending].astype(np.float64)

    @cached_property
    def place(self) -> Indices:
        """The place of every node among the candidates; -1 for nodes that are none."""
        place = np.full(len(self.value), -1)
        place[self.ascending] = np.arange(len(self.ascending))
        return place

    @cached_property
    def stands_for(self) -> Indices:
        """The node whose likelihood counts for each node: for one that is never an answer, its only child."""
        stands_for = np.arange(len(self.value))
        for node in np.flatnonzero(self.tier < 0)[::-1].tolist():
            stands_for[node] = stands_for[node + 1]
        return stands_for

    @property
    def tree(self) -> Hierarchy:
        """The tree of the candidates: node i of it is `ascending[i]`."""
        return self.hierarchy.without_trivial if self.single_child == "skip" else self.hierarchy

    def columns(self, q: Array) -> tuple[Array, Array, Array]:
        """Return the candidates in ascending order, their columns of q [B, nodes], and their tiers.

        The higher its tier, the more specific a node is.
        """
        nodes, tier = placed(self.ascending, q), placed(self._specificity, q)
        return nodes, q if len(self.ascending) == q.shape[-1] else namespace(q).take(q, nodes, axis=-1), tier

    def leaders(self, q: Likelihoods) -> tuple[Array, Array]:
        """Return the most likely node of every tier, and its likelihood: [B, tiers] each; computed once."""
        return q.derived(self._key, lambda: q.read(self._tiers(q).leaders))

    def sets(self, q: AnyLikelihoods, minimum: float | None = None) -> ParetoSets:
        """Return the ordered Pareto set of every row: see `ordered_pareto_sets`."""
        if isinstance(q, SparseLikelihoods):
            found = self.sparse_sets(q)
            return found if minimum is None else found.subset(found.score > minimum)
        least = None if minimum is None else float(rounded_down(minimum, q.raw))
        records = None if q.has(self._key) else self._tiers(q).records(q.values, least)
        return ParetoSets(*(_records(*self.leaders(q), least, root=True) if records is None else records))

    def fetch_sets(self, q: AnyLikelihoods, bottom: float) -> ParetoSets:
        """Return the sets in main memory, without the root and without nodes at the bottom of the scale."""
        if isinstance(q, SparseLikelihoods):
            found = self.sparse_sets(q)
            return found.subset(found.node != 0)
        if not q.has(self._key):
            records = q.read(lambda values, check: self._tiers(q).fetch_records(values, bottom, check))
            if records is not None:
                return ParetoSets(*records)
        return ParetoSets(*ops_of(q.raw).to_numpy(*_records(*self.leaders(q), bottom, root=False)))

    def sparse_sets(self, q: SparseLikelihoods) -> ParetoSets:
        """Return the sets of sparse likelihoods, without nodes that are not listed; computed once."""
        self.require_fit(q)
        return q.derived(self._key, lambda: ParetoSets(*sparse.records(q, self.tier)))

    def require_fit(self, q: SparseLikelihoods) -> None:
        """Raise an error if compact likelihoods were made for other candidates: see `compacted`."""
        if not q.compact or self is (usual := Candidates.of(self.hierarchy)):
            return
        if self.single_child != usual.single_child:
            q.require_all(argument("single_child", self.single_child))
        if not np.array_equal(self.value, usual.value):
            q.require_all("Another measure of information")

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

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the copies on devices.
        return Candidates, (self.hierarchy, self.single_child, self.value, self.nodes, self.start)


Specificity: TypeAlias = "InformationKind | ArrayLike | Candidates"
"""A measure of specificity, as rules take it: see `Hierarchy.information`; or candidates that were prepared."""


class RuleOptions(TypedDict, total=False):
    """The keywords of every rule."""

    information: Specificity
    """The measure of specificity, "leaves" by default; `Candidates` bring it, and which nodes may be answers."""
    single_child: SingleChild
    """Whether nodes with one child may be answers ("answer") or not ("skip", the default)."""
    scale: Scale | None
    """The scale of plain likelihoods: "probability" (the default), "log" or "logit"."""


def prepared(
    hierarchy: Hierarchy,
    q: Any,
    information: Specificity = "leaves",
    single_child: SingleChild = "skip",
    scale: Scale | None = None,
) -> tuple[AnyLikelihoods, Candidates]:
    """Return the likelihoods and the candidates that the keywords of a rule ask for."""
    likelihoods: AnyLikelihoods = Likelihoods.of(hierarchy, q, scale)
    if not isinstance(information, Candidates):
        return likelihoods, Candidates.of(hierarchy, Settings(information, single_child))
    if single_child == "answer" != information.single_child:
        raise ParameterError("These candidates were made with single_child='skip', not with 'answer'.")
    return likelihoods, information


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
    """The nodes: each is more specific than the one before it."""
    score: Array
    """Their likelihoods: strictly decreasing along a set."""

    def subset(self, kept: NDArray[np.bool_]) -> ParetoSets:
        """Return the sets, in main memory, without some of their nodes."""
        before = np.append(0, np.cumsum(kept))
        end = np.cumsum(self.count)
        return ParetoSets(before[end] - before[end - self.count], self.node[kept], self.score[kept])


def ordered_pareto_sets(
    hierarchy: Hierarchy, q: Any, *, minimum: float | None = None, **options: Unpack[RuleOptions]
) -> ParetoSets:
    """Return the ordered Pareto set of every example.

    Of equally likely nodes, the most specific is kept; of nodes equal in both, the one with the lower index. Any
    scores except NaN are allowed, hierarchical or not, on any increasing scale; the result has no gradient.

    Parameters
    ----------
    hierarchy
        The tree.
    q
        [B, nodes] likelihoods: `Likelihoods`, `SparseLikelihoods`, an array, a tensor, or a table whose columns
        are named by nodes.
    minimum
        If given, only nodes whose likelihood exceeds it are included. Of `SparseLikelihoods`, nodes that are not
        listed never are.
    **options
        `information`, `single_child` and `scale`: see `hedgerow.infer`.

    Examples
    --------
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> sets = ordered_pareto_sets(h, [[1, 0.7, 0.5, 0.2, 0.3], [1, 0.4, 0.2, 0.2, 0.6]])
    >>> sets.count.tolist(), h.names[sets.node].tolist(), sets.score.tolist()
    ([3, 2], ['root', 'pet', 'cat', 'root', 'wolf'], [1.0, 0.7, 0.5, 1.0, 0.6])
    """
    given, candidates = prepared(hierarchy, q, **options)
    return candidates.sets(given if isinstance(given, SparseLikelihoods) else given.unchecked(), minimum)
