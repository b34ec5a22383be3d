"""The decision at a point as a model of ONNX: scores of a batch in; nodes, names and likelihoods out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from hedgerow.choose import OperatingPoint
from hedgerow.errors import ParameterError, argument
from hedgerow.export.onnx_graph import Graph
from hedgerow.export.onnx_likelihoods import NodeLikelihoods, Sums, Values
from hedgerow.export.onnx_links import linked
from hedgerow.export.portable import check_portable
from hedgerow.infer import Candidates
from hedgerow.likelihood import BOTTOM, Treatment

if TYPE_CHECKING:
    from hedgerow.export.model import Model
    from hedgerow.tree import Hierarchy

_REFUSED = (
    "A row is refused: probabilities are 0 or more and sum to 1, scores are numbers, and a group has a threshold"
)


def check_onnx(point: OperatingPoint) -> None:
    """Refuse points that have no ONNX model."""
    check_portable(point)
    if point.by in ("clade", "rank"):
        raise ParameterError(
            f"The point has a threshold for each {point.by}, and ONNX takes one for all examples or each group: "
            f"use hedgerow.js (hedgerow export POINT -o app/) or Python."
        )


def onnx_model(point: OperatingPoint, *, logits: bool = False, nodes: bool = False, double: bool = False) -> Any:
    """Return the decision at a point as a model of ONNX.

    Its input is a batch of scores: by default `probabilities` of the leaves, in the order of the tree. Its outputs
    are `node`, `name` and `likelihood`, one per row. A point by group has a second input, the strings `group`. A
    bad row is an error of the runtime. The metadata hold the promise, the fingerprint of the tree and the names of
    the leaves in the order of the columns.

    Parameters
    ----------
    point
        The point.
    logits
        Whether the input is `logits` of the leaves.
    nodes
        Whether the input is `likelihoods` of all nodes, on the scale of the point; always on the scale "logit".
    double
        Whether the input is in double precision; by default it is in single precision, as most models give it.
    """
    check_onnx(point)
    tree = point.hierarchy
    nodes = nodes or point.scale == "logit"
    if logits and nodes:
        raise ParameterError(
            f"The input is likelihoods of all nodes, not logits of leaves: leave out {argument('logits', True)}."
        )
    graph, kind = Graph(), "float64" if double else "float32"
    q: NodeLikelihoods
    if nodes:
        x = graph.input("likelihoods", kind, len(tree))
        q = Values(graph, tree, point.scale, graph.cast(x, "float64"))
    elif logits:
        x = graph.cast(graph.input("logits", kind, len(tree.leaves)), "float64")
        q = Sums.of_scores(graph, tree, point.scale, graph("Div", x, graph.constant(point.temperature)))
    else:
        x = graph.input("probabilities", kind, len(tree.leaves))
        q = Sums.of_probabilities(graph, tree, point.scale, x, point.temperature, kind)
    return _finished(point, q)


def classifier_onnx(model: Model) -> Any:
    """Return a classifier with its decision as a model of ONNX, from `features` in double precision."""
    point = model.point
    if not isinstance(point, OperatingPoint):
        raise ParameterError("An ONNX model needs a point that hedgerow.select chose: give one.")
    check_onnx(point)
    point.check_treatment(Treatment())
    graph = Graph()
    x = graph.input("features", "float64", len(model.divisor))
    if model.mean is not None:
        x = graph("Sub", x, graph.constant(model.mean))
    x = graph("Div", x, graph.constant(model.divisor))
    for i, (weight, bias) in enumerate(model.layers):
        x = graph(
            "Add", graph("MatMul", graph("Relu", x) if i else x, graph.constant(weight)), graph.constant(bias)
        )
    theta = graph("Div", x, graph.constant(model.temperature))
    return _finished(point, linked(graph, model.hierarchy, point.scale, model.link.__name__, theta))


def network_onnx(network: bytes, tree: Hierarchy, link: str, point: OperatingPoint) -> Any:
    """Return a network, whose ONNX has the output `theta`, with its link and the decision as a model of ONNX."""
    graph = Graph(network)
    theta = graph.cast("theta", "float64")
    return _finished(point, linked(graph, tree, point.scale, link, theta, point.temperature))


def _finished(point: OperatingPoint, q: NodeLikelihoods) -> Any:
    """Add the decision to a graph that has likelihoods, and return the model."""
    point.check_tree(q.tree)
    graph, tree = q.graph, q.tree  # that of the point, perhaps with siblings in another order
    node, likelihood, good = _Decision(point, q).answer()
    # A graph cannot raise an error of its own, but an index out of range is one.
    outside = graph("Where", good, node, graph.integers(len(tree)))
    node = graph("Gather", graph.integers(np.arange(len(tree))), outside, name=_REFUSED)
    node, likelihood = (graph("Squeeze", each, graph.integers([1])) for each in (node, likelihood))
    graph.output("node", node, "int64")
    graph.output("name", graph("Gather", graph.constant(tree.names, object), node), "str")
    graph.output("likelihood", likelihood, "float64")
    content = {name: value for name, value in point.to_dict().items() if name != "tree"}
    return graph.model(
        {
            "hedgerow_version": point.version,
            "hedgerow_tree": tree.fingerprint,
            "hedgerow_promise": point.promise,
            "hedgerow_point": json.dumps(content, ensure_ascii=False),
            "hedgerow_classes": json.dumps(tree.names[tree.leaves].tolist(), ensure_ascii=False),
        }
    )


@final
class _Decision:
    """The rules of the specification, as nodes of a graph."""

    def __init__(self, point: OperatingPoint, q: NodeLikelihoods) -> None:
        self.point, self.q, self.graph, self.tree, self.good = point, q, q.graph, q.tree, q.good
        self.candidates = Candidates.of(q.tree, point.settings)
        self.nodes, self.bottom = self.candidates.ascending, BOTTOM[point.scale]

    def answer(self) -> tuple[str, str, str]:
        """Return node, likelihood as a probability, and whether there is an answer: [N, 1] each."""
        node, q = self.RULES[self.point.rule](self)
        return node, self._probability(q), self.good

    def _tau(self) -> str:
        """Return the threshold of each row, [N, 1] or [1, 1]; it is at least the bottom of the scale."""
        graph, point = self.graph, self.point
        if point.by == "all":
            return graph.constant([[max(point.threshold, self.bottom)]])
        given = graph("Unsqueeze", graph.input("group", "str"), graph.integers([1]))
        names = np.array(list(point.thresholds), dtype=object)
        same = graph("Equal", given, graph.constant(names, object))
        taus = np.maximum(list(point.thresholds.values()), self.bottom)
        tau = graph.reduce("ReduceMax", graph("Where", same, graph.constant(taus), graph.constant(-np.inf)))
        known = graph("Equal", graph.reduce("ReduceMax", graph.cast(same, "int64")), graph.integers(1))
        if not point.root_is_safe:
            self.good = graph("And", self.good, known)
        return graph("Where", known, tau, graph.constant(np.inf))

    # Each rule returns the answer and its likelihood, [N, 1] each. Where no node passes, the root does.

    def _threshold(self) -> tuple[str, str]:
        graph, nodes, tau = self.graph, self.nodes, self._tau()
        # Of the most specific nodes, usually all leaves and by far the most, the most likely is all that matters.
        is_top = self.candidates.tier[nodes] == self.candidates.tier[nodes].max()
        first, largest = self.q.best(nodes[is_top])
        rest = nodes[~is_top | (nodes == 0)]
        q, nothing = self.q.at(rest), graph.constant(np.where(rest == 0, -1, -2)[None], np.float32)
        tier = graph.constant(self.candidates.tier[None, rest], np.float32)
        tiers = graph("Where", graph("Greater", q, tau), tier, nothing)
        best = graph("Equal", tiers, graph.reduce("ReduceMax", tiers))
        node, chosen = self.q.chosen(rest, graph("Where", best, q, graph.constant(-np.inf)), q)
        passes = graph("Greater", largest, tau)
        return graph("Where", passes, first, node), graph("Where", passes, largest, chosen)

    def _climbing(self) -> tuple[str, str]:
        graph, nodes, tau = self.graph, self.nodes, self._tau()
        leaf, _ = self.q.best(self.tree.leaves)
        q = self.q.at(nodes)
        every, nothing = graph.integers(nodes[None]), graph.integers(np.where(nodes == 0, 0, -1)[None])
        ends_after = graph("Less", leaf, graph.integers(self.tree.end[nodes][None]))
        above = graph("And", graph("LessOrEqual", every, leaf), ends_after)
        passing = graph("And", above, graph("Greater", q, tau))
        return self.q.chosen(nodes, graph("Where", passing, every, nothing), q)  # the deepest

    def _expected_information(self) -> tuple[str, str]:
        graph, tau = self.graph, self._tau()
        # The most specific first; equally specific ones ascending.
        order = self.nodes[np.argsort(-self.candidates.tier[self.nodes], kind="stable")]
        q, information = self.q.at(order), graph.constant(self.candidates.value[order][None])
        gain = graph("Mul", graph("Add", information, tau), self._probability(q))
        is_finite = graph("Less", tau, graph.constant(np.inf))
        passing = graph("And", graph("Greater", q, graph.constant(self.bottom)), is_finite)
        gain = graph("Where", passing, gain, graph.constant(np.where(order == 0, -1, -np.inf)[None]))
        best = graph("Equal", gain, graph.reduce("ReduceMax", gain))
        return self.q.chosen(order, graph("Where", best, q, graph.constant(-np.inf)), q)

    RULES: ClassVar = {
        "threshold": _threshold,
        "climbing": _climbing,
        "expected-information": _expected_information,
    }
    """Every rule of `choose.FAMILIES`."""

    def _probability(self, q: str) -> str:
        if self.q.scale == "log":
            return self.graph("Min", self.graph("Exp", q), self.graph.constant(1.0))
        return self.graph("Sigmoid", q) if self.q.scale == "logit" else q
