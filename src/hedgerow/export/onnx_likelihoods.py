"""Likelihoods of nodes in a graph of ONNX: sums of probabilities in exact units, or values for each node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.arrays import UNIT
from hedgerow.likelihood import ROUNDING, SUM_TOLERANCE

if TYPE_CHECKING:
    from hedgerow.export.onnx_graph import Graph
    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy, Indices

_ONE = round(1 / UNIT)


class NodeLikelihoods(ABC):
    """Likelihoods of the nodes of a tree, on a scale.

    Parameters
    ----------
    graph
        The graph.
    tree, scale
        The tree, and the scale.
    good
        Whether each row may be answered, [N, 1].
    """

    def __init__(self, graph: Graph, tree: Hierarchy, scale: Scale, good: str) -> None:
        self.graph, self.tree, self.scale, self.good = graph, tree, scale, good

    @abstractmethod
    def at(self, nodes: Indices) -> str:
        """Return the likelihoods of some nodes, [N, nodes]."""

    def best(self, nodes: Indices) -> tuple[str, str]:
        """Return the most likely of some nodes, the first of equals, and its likelihood: [N, 1] each."""
        return self.chosen(nodes, self.at(nodes))

    def chosen(self, nodes: Indices, value: str, q: str | None = None) -> tuple[str, str]:
        """Return the node where a value is largest, the first of equals, and its entry in q (or the value)."""
        place = self.graph.first_largest(value)
        entry = self.graph("GatherElements", q or value, place, axis=1)
        return self.graph("Gather", self.graph.integers(nodes), place), entry


@final
class Values(NodeLikelihoods):
    """Likelihoods [N, nodes] that are given, in double precision."""

    def __init__(self, graph: Graph, tree: Hierarchy, scale: Scale, values: str) -> None:
        is_nan = graph.cast(graph("IsNaN", values), "int64")
        good = graph("Equal", graph.reduce("ReduceMax", is_nan), graph.integers(0))
        if scale == "probability":
            low, high = graph.reduce("ReduceMin", values), graph.reduce("ReduceMax", values)
            inside = graph("LessOrEqual", high, graph.constant(1 + ROUNDING))
            good = graph("And", good, graph("And", graph("GreaterOrEqual", low, graph.constant(0.0)), inside))
            values = graph("Min", values, graph.constant(1.0))
        else:  # the root answers where no node does, also if it is given as impossible
            lowest = np.where(np.arange(len(tree)) == 0, np.finfo(np.float64).min, -np.inf)
            values = graph("Max", values, graph.constant(lowest[None]))
        super().__init__(graph, tree, scale, good)
        self._values = values

    def at(self, nodes: Indices) -> str:
        """Return the likelihoods of some nodes, [N, nodes]."""
        return self.graph.columns(self._values, nodes)


@final
class Sums(NodeLikelihoods):
    """Sums of masses below each node, in the exact units of `likelihood.from_leaves`.

    Parameters
    ----------
    graph, tree, scale, good
        See `NodeLikelihoods`.
    units
        [N, leaves] or [N, nodes] masses in units, int64.
    own
        Whether every node has a mass of its own, not only the leaves.
    """

    def __init__(self, graph: Graph, tree: Hierarchy, scale: Scale, good: str, units: str, *, own: bool) -> None:
        super().__init__(graph, tree, scale, good)
        before = np.arange(len(tree) + 1) if own else tree.leaves_before
        self._first, self._last = before[:-1], before[tree.end]
        self._units, self._own = units, own
        self._sums = ""

    @staticmethod
    def of_probabilities(
        graph: Graph, tree: Hierarchy, scale: Scale, x: str, temperature: float, dtype: str
    ) -> Sums:
        """Check probabilities of the leaves, divide them by their exact sum and by a temperature."""
        width = len(tree.leaves)
        given = graph.cast(graph("Mul", x, graph.constant(1 / UNIT, dtype)), "int64")
        every = graph("CumSum", given, graph.integers(1))  # ReduceSum of integers takes many times as long
        total = graph("Slice", every, *map(graph.integers, ([width - 1], [width], [1])))
        off = graph("Abs", graph("Sub", total, graph.integers(_ONE)))
        beside = graph("Abs", graph("Sub", graph.reduce("ReduceSum", x), graph.constant(1, dtype)))
        sums = graph("LessOrEqual", beside, graph.constant(SUM_TOLERANCE, dtype))  # NaN is not
        least = graph.reduce("ReduceMin", x)
        good = graph("And", sums, graph("GreaterOrEqual", least, graph.constant(0, dtype)))
        exact = graph("Mul", graph.cast(total, "float64"), graph.constant(UNIT * UNIT))
        is_off = graph("Greater", off, graph.integers(512 * (width + 1)))
        divided = graph("Div", graph.cast(x, "float64"), graph("Where", is_off, exact, graph.constant(UNIT)))
        if temperature == 1:
            return Sums(graph, tree, scale, good, graph.cast(divided, "int64"), own=False)
        theta = graph("Div", graph("Log", divided), graph.constant(temperature))
        return Sums.of_scores(graph, tree, scale, theta, good)

    @staticmethod
    def of_scores(
        graph: Graph, tree: Hierarchy, scale: Scale, theta: str, good: str | None = None, *, own: bool = False
    ) -> Sums:
        """Take the softmax of scores of the leaves, or of all nodes."""
        mass = graph("Softmax", theta, axis=1)
        off = graph("Abs", graph("Sub", graph.reduce("ReduceSum", mass), graph.constant(1.0)))
        finite = graph("LessOrEqual", off, graph.constant(SUM_TOLERANCE))
        units = graph.cast(graph("Mul", mass, graph.constant(1 / UNIT)), "int64")
        return Sums(graph, tree, scale, graph("And", good, finite) if good else finite, units, own=own)

    def at(self, nodes: Indices) -> str:
        """Return the likelihoods of some nodes, [N, nodes]."""
        return self._on_scale(self._raw(nodes), nodes)

    def best(self, nodes: Indices) -> tuple[str, str]:
        """Return the most likely of some nodes, the first of equals, and its likelihood: [N, 1] each."""
        if 0 in nodes or (self._last - self._first)[nodes].max() > 1:
            return super().best(nodes)
        node, units = self.chosen(nodes, self._raw(nodes))  # single masses are the same as integers and as doubles
        return node, self._on_scale(units, nodes[:1])

    def _raw(self, nodes: Indices) -> str:
        first, last = self._first[nodes], self._last[nodes]
        if (last - first).max() == 1:
            whole = not self._own and np.array_equal(nodes, self.tree.leaves)
            return self._units if whole else self.graph.columns(self._units, first)
        self._sums = self._sums or self.graph.prefix_sums(self._units)
        both = self.graph.columns(self._sums, np.concatenate([first, last]))
        half = self.graph.integers([len(nodes)])
        first_sum = self.graph("Slice", both, self.graph.integers([0]), half, self.graph.integers([1]))
        last_sum = self.graph("Slice", both, half, self.graph.integers([2 * len(nodes)]), self.graph.integers([1]))
        return self.graph("Sub", last_sum, first_sum)

    def _on_scale(self, units: str, nodes: Indices) -> str:
        graph = self.graph
        share = graph("Mul", graph.cast(units, "float64"), graph.constant(UNIT))
        share = graph("Min", share, graph.constant(1.0))
        if 0 in nodes:
            share = graph("Where", graph.constant(nodes[None] == 0, bool), graph.constant(1.0), share)
        return graph("Log", share) if self.scale == "log" else share
