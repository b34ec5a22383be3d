"""The links of `hedgerow.likelihood` in a graph of ONNX: from the scores θ of a model to likelihoods of nodes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.export.onnx_likelihoods import NodeLikelihoods, Sums, Values
from hedgerow.likelihood import CERTAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.export.onnx_graph import Graph
    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy

_WIDTHS = np.array([1, 4, 16, 64, 256])  # families of siblings are padded to these, so that there are few tables


def linked(
    graph: Graph, tree: Hierarchy, scale: Scale, link: str, theta: str, temperature: float = 1.0
) -> NodeLikelihoods:
    """Return likelihoods on a scale.

    Parameters
    ----------
    graph, tree, scale
        The graph, the tree and the scale.
    link
        The name of a link.
    theta
        [N, outputs] scores, in double precision.
    temperature
        The number that a point divides the scores behind the likelihoods by: see `likelihood.tempered`.
    """
    if link not in _LINKS:
        raise ParameterError(
            f"A model with the link {link!r}, which is not one of hedgerow's, cannot be exported."
        )
    if scale == "logit" and link not in _WITH_LOGITS:
        raise ParameterError("This point is for logits, and the model has none: choose the point with this model.")
    q = _LINKS[link](graph, tree, scale, theta)
    if temperature == 1:
        return q
    divisor = graph.constant(temperature)
    if scale == "logit":
        return Values(graph, tree, scale, graph("Div", q.at(np.arange(len(tree))), divisor))
    leaves = q.at(tree.leaves)
    scores = graph("Div", leaves if scale == "log" else graph("Log", leaves), divisor)
    return Sums.of_scores(graph, tree, scale, scores, q.good)


# The links, each a function of the graph, the tree, the scale and θ ---------------------------------------------


def _ps_softmax(graph: Graph, tree: Hierarchy, scale: Scale, theta: str) -> NodeLikelihoods:
    return Sums.of_scores(graph, tree, scale, graph.columns(_path_sums(graph, tree, theta), tree.leaves - 1))


def _conditional_softmax(graph: Graph, tree: Hierarchy, scale: Scale, theta: str) -> NodeLikelihoods:
    return _products(graph, tree, scale, _among_siblings(graph, tree, theta))


def _conditional_sigmoid(graph: Graph, tree: Hierarchy, scale: Scale, theta: str) -> NodeLikelihoods:
    return _products(graph, tree, scale, _log_sigmoid(graph, theta))


def _multilabel(graph: Graph, tree: Hierarchy, scale: Scale, theta: str) -> NodeLikelihoods:
    if scale == "logit":
        return _below_root(graph, tree, scale, theta)
    return _below_root(
        graph, tree, scale, _log_sigmoid(graph, theta) if scale == "log" else graph("Sigmoid", theta)
    )


def _deep_rtc(graph: Graph, tree: Hierarchy, scale: Scale, theta: str) -> NodeLikelihoods:
    return _multilabel(graph, tree, scale, _path_sums(graph, tree, theta))


_LINKS: dict[str, Callable[[Graph, Hierarchy, Scale, str], NodeLikelihoods]] = {
    "flat_softmax": Sums.of_scores,
    "softmax_over_nodes": partial(Sums.of_scores, own=True),
    "ps_softmax": _ps_softmax,
    "conditional_softmax": _conditional_softmax,
    "conditional_sigmoid": _conditional_sigmoid,
    "multilabel": _multilabel,
    "deep_rtc": _deep_rtc,
}
"""Every link of `likelihood.LINKS`."""
_WITH_LOGITS = ("multilabel", "deep_rtc")


# What they share ------------------------------------------------------------------------------------------------


def _products(graph: Graph, tree: Hierarchy, scale: Scale, log: str) -> Values:
    """Multiply along each path, given the logarithms of the factors."""
    log_q = _path_sums(graph, tree, log)
    return _below_root(graph, tree, scale, log_q if scale == "log" else graph("Exp", log_q))


def _below_root(graph: Graph, tree: Hierarchy, scale: Scale, values: str) -> Values:
    """Put a root of likelihood 1 before the other nodes."""
    root = graph.constant(CERTAIN[scale])
    return Values(graph, tree, scale, graph("Pad", values, graph.integers([0, 1, 0, 0]), root))


def _log_sigmoid(graph: Graph, x: str) -> str:
    """Return log σ(x), safe from overflow; runtimes have no Softplus in double precision."""
    small = graph("Exp", graph("Neg", graph("Abs", x)))
    return graph(
        "Sub", graph("Min", x, graph.constant(0.0)), graph("Log", graph("Add", small, graph.constant(1.0)))
    )


def _path_sums(graph: Graph, tree: Hierarchy, x: str) -> str:
    """Sum over each node and those above it, without the root: [N, nodes but the root] -> same.

    In depth-first order, these are all nodes up to it, without those whose descendants have ended before it.
    """
    nodes = np.arange(1, len(tree))
    by_end = np.argsort(tree.end[1:], kind="stable")
    ended = np.searchsorted(tree.end[1:][by_end], nodes, side="right")
    before = graph("CumSum", x, graph.integers(1))
    left = graph.columns(graph.prefix_sums(graph.columns(x, by_end)), ended)
    return graph("Sub", before, left)


def _among_siblings(graph: Graph, tree: Hierarchy, theta: str) -> str:
    """Return the log-softmax of each node among its siblings: [N, nodes but the root] -> same."""
    _, family = np.unique(tree.parent[1:], return_inverse=True)
    place = np.argsort(family, kind="stable")
    size = np.bincount(family)
    start = np.cumsum(size) - size
    width = np.append(_WIDTHS, size.max())[np.searchsorted(_WIDTHS, size)]
    nothing = len(family)  # the place of a column of -inf, which pads the tables
    padded = graph("Pad", theta, graph.integers([0, 0, 0, 1]), graph.constant(-np.inf))
    sums, order = [], []
    for each in np.unique(width).tolist():
        chosen = np.flatnonzero(width == each)
        steps = np.arange(each)
        table = np.append(place, nothing)[
            np.where(steps < size[chosen, None], start[chosen, None] + steps, nothing)
        ]
        values = graph("Reshape", graph.columns(padded, table.ravel()), graph.integers([0, len(chosen), each]))
        sums.append(graph("ReduceLogSumExp", values, graph.integers([2]), keepdims=0))
        order.append(chosen)
    log_sum = graph.columns(graph("Concat", *sums, axis=1), np.argsort(np.concatenate(order))[family])
    return graph("Min", graph("Sub", theta, log_sum), graph.constant(0.0))
