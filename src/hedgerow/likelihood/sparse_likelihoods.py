"""Sparse likelihoods: for each example a short list of nodes; every other node has likelihood 0.

Tools that name a few classes per example, the five best or one lineage, give these. Work and memory grow with the
number of listed nodes, not with the size of the tree.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import Derives, as_numpy, take_rows
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.likelihood.scales import BOTTOM, CERTAIN, Bounds, RowSource, Scale, check_scale, to_probability
from hedgerow.likelihood.treatment import Treatment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood.likelihoods import Likelihoods
    from hedgerow.tree import Hierarchy, Indices


class CompactError(ScoreError):
    """Compact likelihoods lack the nodes that something needs."""


@final
class SparseLikelihoods(Derives):
    """Likelihoods of a few nodes per example, with their scale.

    A node that is not listed has likelihood 0; the root, which is never listed, has 1. `likelihood.from_top` and
    `likelihood.from_lineages` make these, and every function that takes likelihoods accepts them. The arrays must
    not be changed afterwards.

    Parameters
    ----------
    hierarchy
        The tree.
    start
        [examples + 1] Where the entries of each example start, and where the last ones end.
    node
        [entries] The listed nodes: indices, ascending within each example, without the root.
    value
        [entries] Their likelihoods. Entries with likelihood 0 are dropped.
    scale
        The scale of the values: "probability" (the default), "log" or "logit".

    Examples
    --------
    >>> from hedgerow import Hierarchy, infer
    >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    >>> q = SparseLikelihoods(h, [0, 1, 1], [2], [0.75])  # two examples, of which the second lists nothing
    >>> h.names[infer.majority(h, q)].tolist()
    ['dog', 'root']
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        start: ArrayLike,
        node: ArrayLike,
        value: ArrayLike,
        scale: Scale = "probability",
    ) -> None:
        check_scale(scale)
        first, nodes = (as_numpy(each).astype(np.int64, copy=False) for each in (start, node))
        values = as_numpy(value).astype(np.float64, copy=False)
        _check_layout(hierarchy, first, nodes, values)
        _, highest = RowSource(where="example {}".format).check_range(
            values,
            Bounds.of(scale),
            lambda entry: hierarchy.names[nodes[entry]],
            row=lambda entry: int(np.searchsorted(first, entry, "right")) - 1,
        )
        if scale == "probability" and highest > 1:
            values = np.minimum(values, 1.0)
        kept = values > BOTTOM[scale]
        if not kept.all():
            first, nodes, values = np.append(0, np.cumsum(kept))[first], nodes[kept], values[kept]
        self._fill(hierarchy, first, nodes, values, scale)

    treatment: Treatment = Treatment()
    """What was done to them: prior, pooling."""

    @classmethod
    def checked(
        cls,
        hierarchy: Hierarchy,
        start: Indices,
        node: Indices,
        value: NDArray[np.float64],
        scale: Scale,
        treatment: Treatment | None = None,
        call: Indices | None = None,
        compact: bool = False,
    ) -> SparseLikelihoods:
        """Return likelihoods that need no check."""
        q = object.__new__(cls)
        q._fill(hierarchy, start, node, value, scale)
        q.treatment = treatment or Treatment()
        q.call = call
        q.compact = compact
        return q

    def _fill(
        self, hierarchy: Hierarchy, start: Indices, node: Indices, value: NDArray[np.float64], scale: Scale
    ) -> None:
        self.hierarchy = hierarchy
        self.scale: Scale = scale
        self.start = start
        """[examples + 1] The start of each example's entries, and the end of the last."""
        self.node = node
        """[entries] The listed nodes, ascending within each example; never the root."""
        self.value = value
        """[entries] Their likelihoods, float64; never 0."""
        self.call: Indices | None = None
        """[examples] The node from which `infer.climbing` starts, if whatever made the likelihoods chose it; None:
        from the most likely node without listed descendants."""
        self.compact = False
        """Whether other nodes are not at 0 but left out, because thresholds do not need them: see
        `infer.compacted`."""

    def require_all(self, what: str) -> None:
        """Raise an error if nodes were left out, which something needs."""
        if self.compact:
            again = argument("data", "PATH", python="run_scores(run, PATH)")
            raise CompactError(
                f"{what} needs the likelihoods of all nodes, and these scores are compact. Score the data again, "
                f"with {again}, or train with {argument('set', 'run.scores=all', python='run.scores=all')}."
            )

    @classmethod
    def concatenate(cls, parts: Sequence[SparseLikelihoods]) -> SparseLikelihoods:
        """Concatenate the examples of several parts, which must have the same tree and scale."""
        if not parts:
            raise ParameterError("There is nothing to join: give at least one part.")
        base = parts[0]
        for part in parts:
            if part.scale != base.scale or part.hierarchy != base.hierarchy:
                raise ParameterError("Only likelihoods with the same tree and scale can be joined.")
        start = np.append(0, np.cumsum(np.concatenate([part.count for part in parts])))
        node, value = (np.concatenate([getattr(part, name) for part in parts]) for name in ("node", "value"))
        calls = [part.call for part in parts if part.call is not None]
        call = np.concatenate(calls) if len(calls) == len(parts) else None
        compact = any(part.compact for part in parts)
        return cls.checked(base.hierarchy, start, node, value, base.scale, base.treatment, call, compact)

    @cached_property
    def count(self) -> Indices:
        """[examples] Number of nodes listed for each example."""
        return np.diff(self.start)

    @cached_property
    def row(self) -> Indices:
        """[entries] The example that each entry belongs to."""
        return np.repeat(np.arange(len(self)), self.count)

    def probabilities(self) -> NDArray[np.float64]:
        """Return the values of the entries as probabilities."""
        self.require_all("This")
        return np.asarray(to_probability(self.value, self.scale))

    def at(self, nodes: Indices) -> NDArray[np.float64]:
        """Return the likelihood of one node for each example: [examples] -> same."""
        result = np.where(nodes == 0, CERTAIN[self.scale], BOTTOM[self.scale])
        if not len(self.node):
            return result
        wide = len(self.hierarchy)
        listed, wanted = self.row * wide + self.node, np.arange(len(self)) * wide + nodes
        place = np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)
        return np.where(listed[place] == wanted, self.value[place], result)

    def below_root(self) -> NDArray[np.bool_]:
        """Return which examples have a node below the root that is possible."""
        return np.asarray(self.count > 0)

    @cached_property
    def above(self) -> Indices:
        """[entries] The position of the nearest listed ancestor of each entry; -1 if only the root is above it."""
        # Entries between an entry and its ancestor end before the entry starts: go on to their own ancestors.
        above = np.arange(len(self.node)) - 1
        above[self.start[:-1][self.count > 0]] = -1
        end = self.hierarchy.end[self.node]
        wrong = np.flatnonzero(above >= 0)
        while len(wrong := wrong[end[above[wrong]] <= self.node[wrong]]):
            above[wrong] = above[above[wrong]]
            wrong = wrong[above[wrong] >= 0]
        return above

    def growing(self) -> NDArray[np.bool_]:
        """Return, for each example, whether a node is more likely than a listed ancestor of it.

        >>> from hedgerow import Hierarchy
        >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> SparseLikelihoods(h, [0, 2, 4], [1, 2, 1, 3], [0.5, 0.6, 0.8, 0.8]).growing().tolist()
        [True, False]
        """
        below = np.flatnonzero(self.above >= 0)
        grows = below[self.value[below] > self.value[self.above[below]]]
        result = np.zeros(len(self), dtype=bool)
        result[self.row[grows]] = True
        return result

    def dense(self) -> Likelihoods:
        """Return the likelihoods of all nodes: for small trees, since memory is examples x nodes."""
        from hedgerow.likelihood.likelihoods import Likelihoods

        self.require_all("This")
        values = np.full((len(self), len(self.hierarchy)), BOTTOM[self.scale])
        values[:, 0] = CERTAIN[self.scale]
        values[self.row, self.node] = self.value
        return Likelihoods.checked(self.hierarchy, values, self.scale, self.treatment)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, rows: slice | NDArray[Any] | list[int]) -> SparseLikelihoods:
        """Return some of the examples: a slice, a mask or positions."""
        start, place = take_rows(self.start, rows)
        call = None if self.call is None else self.call[rows]
        entries = start, self.node[place], self.value[place]
        return self.checked(self.hierarchy, *entries, self.scale, self.treatment, call, self.compact)

    def called(self, call: Indices) -> SparseLikelihoods:
        """Return the same likelihoods, with the nodes [examples] from which `infer.climbing` starts."""
        entries = self.start, self.node, self.value
        return self.checked(self.hierarchy, *entries, self.scale, self.treatment, call, self.compact)

    def __reduce__(self) -> tuple[Any, ...]:
        entries = self.start, self.node, self.value
        more = self.scale, self.treatment, self.call, self.compact
        return SparseLikelihoods.checked, (self.hierarchy, *entries, *more)

    def __repr__(self) -> str:
        return (
            f"SparseLikelihoods({len(self):,} examples, {len(self.node):,} entries, "
            f"{len(self.hierarchy):,} nodes, scale {self.scale!r})"
        )


def _check_layout(hierarchy: Hierarchy, start: Indices, node: Indices, value: NDArray[np.float64]) -> None:
    """Raise an error unless the arrays have the shapes and the order that `SparseLikelihoods` describes."""
    if start.ndim != 1 or not len(start) or start[0] != 0 or np.any(np.diff(start) < 0) or start[-1] != len(node):
        raise ScoreError(
            "start must hold the start of each example's entries, and the end of the last: from 0, never "
            "falling, up to the number of entries."
        )
    if node.ndim != 1 or node.shape != value.shape:
        raise ScoreError(f"node and value need one entry each; got shapes {node.shape} and {value.shape}.")
    if len(node) and not (node.min() > 0 and node.max() < len(hierarchy)):
        raise ScoreError(f"Listed nodes must be 1 to {len(hierarchy) - 1}; the root, 0, is never listed.")
    falls = np.append(False, np.diff(node) <= 0)
    falls[start[start < len(node)]] = False  # another example
    if falls.any():
        raise ScoreError(
            f"Nodes must ascend within each example; entry {np.argmax(falls)} does not. likelihood.from_lineages "
            f"takes entries in any order."
        )
