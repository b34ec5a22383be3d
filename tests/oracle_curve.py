"""Curves and their figures by brute force, from the definitions of the paper.

At every threshold that can matter, every example's answer is looked for among all nodes; metrics come from sets of
ancestors. Only the parents and the information of the nodes are taken from the tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests import oracle

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("correct", "exact", "precision", "recall", "f1", "coverage")


@dataclass
class Curve:
    threshold: list[float]
    values: dict[str, list[float]]


def answer(t: oracle.Tree, p: Sequence[float], info: Sequence[float], tau: float, bottom: float) -> int:
    """The most specific nontrivial node with p > τ; then the likeliest; then the first; the root if none."""
    passing = [v for v in t.candidates if p[v] > tau and p[v] > bottom]
    return min(passing, key=lambda v: (-info[v], -p[v], v), default=t.root)


def answers(
    t: oracle.Tree, q: Sequence[Sequence[float]], info: Sequence[float], tau: float, bottom: float = 0.0
) -> list[int]:
    return [answer(t, p, info, tau, bottom) for p in q]


def curve(
    t: oracle.Tree,
    q: Sequence[Sequence[float]],
    labels: Sequence[int],
    info: Sequence[float],
    below_label: str = "label",
    bottom: float = 0.0,
    names: Sequence[str] = NAMES,
) -> Curve:
    """Try every threshold at which an answer could change; keep those at which one does."""
    scores = sorted({float(x) for p in q for x in p if x > bottom} | {bottom, math.inf}, reverse=True)
    kept, states = [math.inf], [[t.root] * len(q)]
    for tau in scores:
        state = answers(t, q, info, tau, bottom)
        if state == states[-1]:
            kept[-1] = tau  # the smallest threshold that gives this point
        else:
            kept.append(tau)
            states.append(state)
    values: dict[str, list[float]] = {name: [] for name in names}
    for state in states:
        found = [oracle.metrics(t, y, a, info, below_label) for y, a in zip(labels, state, strict=True)]
        for name in names:
            values[name].append(math.fsum(m[name] for m in found) / len(found))
    return Curve(kept, values)


def integral(over: Sequence[float], of: Sequence[float]) -> float:
    """The sum of b_i (a_i - a_(i-1)) from a = 0, b being the best at any point whose a is at least as large."""
    total, previous = 0.0, 0.0
    for a in sorted(set(over)):
        best = max(b for other, b in zip(over, of, strict=True) if other >= a)
        total += best * (a - previous)
        previous = a
    return total


def intercept(of: Sequence[float], where: Sequence[float], at_least: float) -> float:
    """The largest value among the points where another metric is large enough; 0 if there are none."""
    return max((a for a, b in zip(of, where, strict=True) if b >= at_least), default=0.0)
