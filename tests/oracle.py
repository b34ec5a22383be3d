"""Slow definitions, written from the paper with loops over sets, to test the fast code against.

Nothing here uses the package: a tree is a list of parents, likelihoods are lists of floats.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Tree:
    """A tree as a dict of parents and what follows from it."""

    def __init__(self, parent: Sequence[int], single_child: str = "skip") -> None:
        self.parent: dict[int, int | None] = {v: (None if p < 0 else int(p)) for v, p in enumerate(parent)}
        self.nodes = list(self.parent)
        self.children: dict[int, list[int]] = {v: [] for v in self.nodes}
        for v, p in self.parent.items():
            if p is not None:
                self.children[p].append(v)
        self.root = next(v for v, p in self.parent.items() if p is None)
        self.leaves = [v for v in self.nodes if not self.children[v]]
        self.single_child = single_child
        self.candidates = [
            v for v in self.nodes if single_child == "answer" or v == self.root or len(self.children[v]) != 1
        ]
        self._ancestors = {v: frozenset(self.path(v)) for v in self.nodes}

    def path(self, v: int) -> list[int]:
        """The node, its parent, ..., the root."""
        path = [v]
        while (up := self.parent[path[-1]]) is not None:
            path.append(up)
        return path

    def ancestors(self, v: int) -> frozenset[int]:
        return self._ancestors[v]

    def descendants(self, v: int) -> set[int]:
        return {u for u in self.nodes if v in self.ancestors(u)}

    def leaves_below(self, v: int) -> list[int]:
        return [u for u in self.leaves if v in self.ancestors(u)]

    def unrelated(self, v: int) -> set[int]:
        return set(self.nodes) - self.ancestors(v) - self.descendants(v)

    def depth(self, v: int) -> int:
        return len(self.path(v)) - 1

    def lca(self, a: int, b: int) -> int:
        return max(self.ancestors(a) & self.ancestors(b), key=self.depth)

    def information(self, v: int) -> float:
        return math.log2(len(self.leaves)) - math.log2(len(self.leaves_below(v)))

    def specificity(self, v: int, info: Sequence[float]) -> tuple[float, int]:
        """How specific a node is: its information and, if trivial nodes are answers, its depth."""
        return info[v], self.depth(v) if self.single_child == "answer" else 0

    def answer_children(self, v: int) -> list[int]:
        """Children where trivial nodes are replaced by what is below them."""
        found = []
        for child in self.children[v]:
            node = child
            while node not in self.candidates:
                (node,) = self.children[node]
            found.append(node)
        return found


# Inference rules ------------------------------------------------------------------------------------------


def _best(nodes: Sequence[int], key: Callable[[int], tuple[float | Fraction, ...]], root: int) -> int:
    """The node of largest key, ties going to the lower index; the root if there are none."""
    return max(nodes, key=lambda v: (*key(v), -v)) if nodes else root


def leaf(t: Tree, p: Sequence[float]) -> int:
    return _best([v for v in t.leaves if p[v] > 0], lambda v: (p[v],), t.root)


def threshold(t: Tree, p: Sequence[float], info: Sequence[float], tau: float) -> int:
    passing = [v for v in t.candidates if p[v] > tau and p[v] > 0]
    return _best(passing, lambda v: (*t.specificity(v, info), p[v]), t.root)


def plurality(t: Tree, p: Sequence[float], info: Sequence[float]) -> int:
    def qualifies(v: int) -> bool:
        return all(p[v] > p[u] for u in t.unrelated(v) if u in t.candidates)

    passing = [v for v in t.candidates if p[v] > 0 and qualifies(v)]
    return _best(passing, lambda v: (*t.specificity(v, info), p[v]), t.root)


def information_threshold(t: Tree, p: Sequence[float], info: Sequence[float], zeta: float) -> int:
    passing = [v for v in t.candidates if info[v] >= zeta and p[v] > 0]
    return _best(passing, lambda v: (p[v], *t.specificity(v, info)), t.root)


def expected_information(t: Tree, p: Sequence[float], info: Sequence[float], lam: float) -> int:
    passing = [v for v in t.candidates if p[v] > 0]
    return _best(passing, lambda v: ((info[v] + lam) * p[v], p[v], *t.specificity(v, info)), t.root)


def climbing(t: Tree, p: Sequence[float], tau: float) -> int:
    start = _best(t.leaves, lambda v: (p[v],), t.root)
    for v in t.path(start):
        if v in t.candidates and p[v] > tau and p[v] > 0:
            return v
    return t.root


def top_down(t: Tree, p: Sequence[float], info: Sequence[float], tau: float) -> int:
    node = t.root
    while t.children[node]:
        child = _best(t.answer_children(node), lambda v: (p[v], *t.specificity(v, info)), t.root)
        if not (p[child] > tau and p[child] > 0):
            break
        node = child
    return node


def exclusive(t: Tree, p: Sequence[float]) -> dict[int, Fraction]:
    """The likelihood of a node and not its children, for the nodes that may be answers."""
    return {v: Fraction(p[v]) - sum(Fraction(p[u]) for u in t.answer_children(v)) for v in t.candidates}


def most_likely_exclusive(t: Tree, p: Sequence[float], info: Sequence[float]) -> int:
    own = exclusive(t, p)
    passing = [v for v in t.candidates if p[v] > 0]
    return _best(passing, lambda v: (own[v], *t.specificity(v, info), p[v]), t.root)


def risks(
    t: Tree, p: Sequence[float], cost: Callable[[int, int], float | Fraction], over: str
) -> dict[int, Fraction]:
    """The expected cost of every answer that is allowed."""
    mass = {u: Fraction(p[u]) for u in t.leaves} if over == "leaves" else exclusive(t, p)
    return {v: sum((Fraction(cost(u, v)) * m for u, m in mass.items()), Fraction(0)) for v in mass if p[v] > 0}


def risk_minimising(
    t: Tree,
    p: Sequence[float],
    info: Sequence[float],
    cost: Callable[[int, int], float | Fraction],
    over: str,
    *,
    likely_first: bool = False,
) -> int:
    risk = risks(t, p, cost, over)

    def key(v: int) -> tuple[float | Fraction, ...]:
        specific = t.specificity(v, info)
        return (-risk[v], p[v], *specific) if likely_first else (-risk[v], *specific, p[v])

    return _best(list(risk), key, t.root)


# The paper's Algorithm 1 ----------------------------------------------------------------------------------


def ordered_pareto_set(x: Sequence[float], y: Sequence[float]) -> list[int]:
    """Indices of the ordered Pareto set of points (x, y): two stable sorts and a running maximum."""
    xs, ys = np.array(x), np.array(y)
    pi = np.argsort(-ys, kind="stable")
    xs, ys = xs[pi], ys[pi]
    rho = np.argsort(-xs, kind="stable")
    xs, ys, pi = xs[rho], ys[rho], pi[rho]
    running = np.maximum.accumulate(ys)
    omega = [i for i in range(len(ys)) if i == 0 or running[i - 1] < ys[i]]
    return [int(i) for i in pi[omega]]


def pareto_set(t: Tree, p: Sequence[float], info: Sequence[float], minimum: float) -> list[int]:
    """The ordered Pareto set of the candidates that are more likely than a minimum."""
    nodes = [v for v in t.candidates if p[v] > minimum]
    ranks = sorted({t.specificity(v, info) for v in nodes})
    chosen = ordered_pareto_set([p[v] for v in nodes], [ranks.index(t.specificity(v, info)) for v in nodes])
    return [nodes[i] for i in chosen]


# Metrics --------------------------------------------------------------------------------------------------


def metrics(t: Tree, y: int, answer: int, info: Sequence[float], below_label: str = "label") -> dict[str, float]:
    """All metrics of an answer to the label y."""
    yhat = y if below_label == "label" and answer in t.descendants(y) else answer
    common = t.lca(y, yhat)
    depth = {v: t.depth(v) for v in t.nodes}

    def ratio(part: float, whole: float) -> float:
        return part / whole if whole else 1.0

    def harmonic(a: float, b: float) -> float:
        return 2 * a * b / (a + b) if a + b else 0.0

    mine, theirs = t.ancestors(answer) - {t.root}, t.ancestors(y) - {t.root}
    set_precision = ratio(len(mine & theirs), len(mine))
    set_recall = ratio(len(mine & theirs), len(theirs))
    right = yhat in t.ancestors(y)
    ruled_out = len(t.leaves) - len(t.leaves_below(yhat))
    return {
        "correct": right,
        "exact": yhat == y,
        "strictly_exact": answer == y,
        "precision": ratio(info[common], info[yhat]),
        "recall": ratio(info[common], info[y]),
        "f1": harmonic(ratio(info[common], info[yhat]), ratio(info[common], info[y])),
        "depth_precision": ratio(depth[common], depth[yhat]),
        "depth_recall": ratio(depth[common], depth[y]),
        "depth_f1": harmonic(ratio(depth[common], depth[yhat]), ratio(depth[common], depth[y])),
        "lca_depth": depth[common],
        "edge_distance": len(t.ancestors(y) ^ t.ancestors(yhat)),
        "information_distance": info[y] + info[yhat] - 2 * info[common],
        "excess": info[yhat] - info[common],
        "deficient": info[y] - info[common],
        "depth_excess": len(t.ancestors(yhat) - t.ancestors(y)),
        "depth_deficient": len(t.ancestors(y) - t.ancestors(yhat)),
        "hierarchical_precision": set_precision,
        "hierarchical_recall": set_recall,
        "hierarchical_f1": harmonic(set_precision, set_recall),
        "non_root": yhat != t.root,
        "true_negative_leaves": right * ruled_out / len(t.leaves),
        "coverage": info[yhat] / max(info) if max(info) else 1.0,
    }


# Likelihoods ----------------------------------------------------------------------------------------------


def _softmax(x: dict[int, float]) -> dict[int, float]:
    largest = max(x.values())
    total = math.fsum(math.exp(value - largest) for value in x.values())
    return {v: math.exp(value - largest) / total for v, value in x.items()}


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _below(t: Tree, mass: dict[int, float]) -> list[float]:
    return [math.fsum(m for u, m in mass.items() if v in t.ancestors(u)) for v in t.nodes]


def _path_scores(t: Tree, theta: Sequence[float]) -> dict[int, float]:
    return {v: math.fsum(theta[u - 1] for u in t.path(v) if u != t.root) for v in t.nodes}


def flat_softmax(t: Tree, theta: Sequence[float]) -> list[float]:
    return _below(t, _softmax(dict(zip(t.leaves, theta, strict=True))))


def multilabel(t: Tree, theta: Sequence[float]) -> list[float]:
    return [1.0, *(_sigmoid(x) for x in theta)]


def conditional_softmax(t: Tree, theta: Sequence[float]) -> list[float]:
    given = {t.root: 1.0}
    for u in t.nodes:
        if t.children[u]:
            given |= _softmax({v: theta[v - 1] for v in t.children[u]})
    return [math.prod(given[u] for u in t.path(v)) for v in t.nodes]


def conditional_sigmoid(t: Tree, theta: Sequence[float]) -> list[float]:
    return [math.prod(_sigmoid(theta[u - 1]) for u in t.path(v) if u != t.root) for v in t.nodes]


def deep_rtc(t: Tree, theta: Sequence[float]) -> list[float]:
    return [1.0 if v == t.root else _sigmoid(beta) for v, beta in _path_scores(t, theta).items()]


def ps_softmax(t: Tree, theta: Sequence[float]) -> list[float]:
    beta = _path_scores(t, theta)
    return _below(t, _softmax({v: beta[v] for v in t.leaves}))


def softmax_over_nodes(t: Tree, theta: Sequence[float]) -> list[float]:
    return _below(t, _softmax(dict(zip(t.nodes, theta, strict=True))))
