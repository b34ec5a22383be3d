"""The losses once more, as plain loops over sets of names in double precision, written from the equations.

Nothing here knows depth-first order, intervals or torch. A tree is a dictionary from each node to its children.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Theta = dict[str, float]


@dataclass(frozen=True)
class Tree:
    """Sets of nodes, straight from their definitions."""

    children: Mapping[str, list[str]]
    root: str

    @cached_property
    def nodes(self) -> list[str]:
        return list(self.children)

    @cached_property
    def parent(self) -> dict[str, str]:
        return {child: node for node, children in self.children.items() for child in children}

    @cached_property
    def leaves(self) -> list[str]:
        return [node for node in self.nodes if not self.children[node]]

    @cached_property
    def paths(self) -> dict[str, list[str]]:
        """From the root to each node."""
        found = {self.root: [self.root]}
        todo = [self.root]
        while todo:
            node = todo.pop()
            for child in self.children[node]:
                found[child] = [*found[node], child]
                todo.append(child)
        return found

    def path(self, node: str) -> list[str]:
        return self.paths[node]

    def descendants(self, node: str) -> set[str]:
        return {u for u in self.nodes if node in self.path(u)}

    def leaves_below(self, node: str) -> list[str]:
        return [leaf for leaf in self.leaves if node in self.path(leaf)]

    def unrelated(self, node: str) -> list[str]:
        """Neither ancestors nor descendants."""
        return [u for u in self.nodes if u not in self.path(node) and node not in self.path(u)]

    def lca(self, u: str, v: str) -> str:
        return [a for a, b in zip(self.path(u), self.path(v), strict=False) if a == b][-1]

    def depth(self, node: str) -> int:
        return len(self.path(node)) - 1

    @cached_property
    def heights(self) -> dict[str, int]:
        """Edges down to the deepest leaf."""
        found = dict.fromkeys(self.nodes, 0)
        for leaf in self.leaves:
            for above, node in enumerate(reversed(self.path(leaf))):
                found[node] = max(found[node], above)
        return found

    def information(self, node: str) -> float:
        return math.log2(len(self.leaves)) - math.log2(len(self.leaves_below(node)))


def lse(values: Iterable[float]) -> float:
    values = list(values)
    top = max(values)
    return top + math.log(math.fsum(math.exp(v - top) for v in values))


def log_sigmoid(x: float) -> float:
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


def flat_softmax(tree: Tree, theta: Theta, y: str, *, label_smoothing: float = 0.0) -> float:
    whole = lse(theta[u] for u in tree.leaves)
    log_q_label = lse(theta[u] for u in tree.leaves_below(y)) - whole
    spread = math.fsum(theta[u] - whole for u in tree.leaves) / len(tree.leaves)
    return -(1 - label_smoothing) * log_q_label - label_smoothing * spread


def hxe(tree: Tree, theta: Theta, y: str, *, alpha: float = 0.1) -> float:
    path = tree.path(y)
    mass = [lse(theta[u] for u in tree.leaves_below(node)) for node in path]
    return math.fsum(math.exp(-alpha) ** (k - 1) * (mass[k - 1] - mass[k]) for k in range(1, len(path)))


def multilabel_focal(tree: Tree, theta: Theta, y: str, *, alpha: float | None = 0.9, gamma: float = 1.0) -> float:
    on, off = (1.0, 1.0) if alpha is None else (alpha, 1 - alpha)
    loss = 0.0
    for u in tree.path(y)[1:]:
        loss -= on * math.exp(gamma * log_sigmoid(-theta[u])) * log_sigmoid(theta[u])
    for u in tree.unrelated(y):
        loss -= off * math.exp(gamma * log_sigmoid(theta[u])) * log_sigmoid(-theta[u])
    return loss


def conditional_softmax(tree: Tree, theta: Theta, y: str) -> float:
    return math.fsum(lse(theta[v] for v in tree.children[tree.parent[u]]) - theta[u] for u in tree.path(y)[1:])


def conditional_sigmoid(tree: Tree, theta: Theta, y: str) -> float:
    loss = 0.0
    for u in tree.path(y)[:-1]:
        for v in tree.children[u]:
            loss -= log_sigmoid(theta[v]) if v in tree.path(y) else log_sigmoid(-theta[v])
    return loss


def path_score(tree: Tree, theta: Theta, node: str) -> float:
    return math.fsum(theta[u] for u in tree.path(node)[1:])


def deep_rtc(tree: Tree, theta: Theta, y: str, *, cut: set[str]) -> float:
    kept = [
        v
        for v in tree.nodes
        if (v in cut or not tree.children[v]) and not any(u in cut for u in tree.path(v)[:-1])
    ]
    beta = {v: path_score(tree, theta, v) for v in kept}
    right = [v for v in kept if v in tree.path(y) or y in tree.path(v)]
    return lse(beta.values()) - lse(beta[v] for v in right)


def ps_softmax(tree: Tree, theta: Theta, y: str) -> float:
    beta = {v: path_score(tree, theta, v) for v in tree.leaves}
    return lse(beta.values()) - lse(beta[v] for v in tree.leaves_below(y))


def softmax_descendant(tree: Tree, theta: Theta, y: str) -> float:
    return math.fsum(
        (lse([theta[u], *(theta[v] for v in tree.unrelated(u))]) - theta[u]) / len(tree.leaves_below(u))
        for u in tree.path(y)[1:]
    )


def margin(tree: Tree, kind: str | Callable[[str], float], y: str, v: str) -> float:
    """C(y, v): a prediction below the label counts as the label."""
    if y in tree.path(v):
        return 0.0
    shared = tree.lca(y, v)
    if kind == "correct":
        return 0.0 if v in tree.path(y) else 1.0
    if kind == "depth":
        return float(tree.depth(y) + tree.depth(v) - 2 * tree.depth(shared))
    if kind == "information":
        return tree.information(y) + tree.information(v) - 2 * tree.information(shared)
    assert callable(kind)
    return kind(shared)


def softmax_margin(
    tree: Tree,
    theta: Theta,
    y: str,
    *,
    alpha: float = 5.0,
    kind: str | Callable[[str], float] = "correct",
    hard: bool = False,
) -> float:
    raised = {v: theta[v] + alpha * margin(tree, kind, y, v) for v in tree.nodes}
    right = tree.descendants(y)
    if not hard:
        return lse(raised.values()) - lse(theta[v] for v in right)
    wrong = [raised[v] for v in tree.nodes if v not in right]
    return max([0.0, *(w - max(theta[v] for v in right) for w in wrong)])


def soft_labels(tree: Tree, theta: Theta, y: str, *, beta: float = 10.0) -> float:
    whole = lse(theta[u] for u in tree.leaves)
    below = tree.leaves_below(y)
    weight = {"label": 1.0}
    log_q = {"label": lse(theta[u] for u in below) - whole}
    for u in tree.leaves:
        if y not in tree.path(u):
            weight["leaf " + u] = math.exp(-beta * tree.heights[tree.lca(u, y)] / tree.heights[tree.root])
            log_q["leaf " + u] = theta[u] - whole
    return -math.fsum(weight[k] * log_q[k] for k in weight) / math.fsum(weight.values())


def logit_adjusted(tree: Tree, theta: Theta, y: str, *, counts: Mapping[str, float], tau: float = 1.0) -> float:
    common = dict.fromkeys(tree.nodes, 0.0)
    for u in tree.nodes:
        for node in tree.path(u):
            common[node] += counts[u] + (not tree.children[u])
    adjusted = {v: theta[v] + tau * math.log(common[v] / common[tree.parent[v]]) for v in theta}
    return conditional_softmax(tree, adjusted, y)
