"""The specification of points in fractions and plain loops; it shares no code with the package."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

INF = math.inf
UNIT = Fraction(1, 1 << 62)


def reference(point: dict[str, Any], what: str, row: list[float], group: str) -> int | None:
    """Return the answer to a row, a node; None if it must be refused."""
    if point["schema"] != 4 or any(point[field] for field in ("prior", "pool", "weight_steps")):
        return None
    tree = Tree(point)
    q = tree.likelihoods(what, row)
    if q is None:
        return None
    floor = 0.0 if point["scale"] == "probability" else -INF
    thresholds = {name: float(tau) for name, tau in point["thresholds"].items()}
    candidates = [v for v in tree.nodes if tree.is_candidate(v)]
    likely = [v for v in candidates if q[v] > floor]
    tips = [v for v in likely if not any(w != v and tree.is_above(v, w) for w in likely)]
    tip = min(tips, key=lambda v: (-q[v], v)) if tips else 0

    def most_specific(nodes: list[int]) -> int:
        return min(nodes, key=lambda v: (*(-x for x in tree.specificity(v)), -q[v], v)) if nodes else 0

    if point["rule"] == "ranks":
        path = [v for v in tree.nodes if tree.is_above(v, tip)]
        lowest = {v: thresholds.get(tree.ranks[v], -INF) for v in path}
        open_nodes = [v for v in path if all(w == 0 or q[tree.stand_in(w)] > lowest[w] for w in path if w <= v)]
        passing = [v for v in open_nodes if tree.is_candidate(v) and q[v] > floor]
        return most_specific(passing)
    name = ""
    if point["by"] == "group":
        name = group
    if point["by"] == "clade":
        name = tree.names[
            max(v for v in tree.nodes if tree.is_above(v, tip) and tree.depth[v] <= point["clade_depth"])
        ]
    if name not in thresholds and not point["root_is_safe"]:
        return None
    tau = thresholds.get(name, INF)
    if point["rule"] == "threshold":
        return most_specific([v for v in likely if q[v] > tau])
    if point["rule"] == "climbing":
        leaf = min(tree.leaves, key=lambda v: (-q[v], v))
        return max((v for v in likely if tree.is_above(v, leaf) and q[v] > tau), default=0)
    if tau == INF:
        return 0
    probability = {v: math.exp(q[v]) if point["scale"] == "log" else q[v] for v in likely}
    return min(
        likely,
        key=lambda v: (-(tree.bits(v) + tau) * probability[v], -q[v], *(-x for x in tree.specificity(v)), v),
    )


class Tree:
    """The tree of a point, by plain loops."""

    def __init__(self, point: dict[str, Any]) -> None:
        self.point, self.settings = point, point["request"]["settings"]
        self.names, self.parents = point["tree"]["names"], point["tree"]["parents"]
        self.nodes = range(len(self.names))
        self.depth = [sum(self.is_above(w, v) for w in self.nodes) - 1 for v in self.nodes]
        self.ranks = point["tree"].get("ranks") or list(map(str, self.depth))
        self.leaves = [v for v in self.nodes if v not in self.parents]

    def is_above(self, a: int, b: int) -> bool:
        """Tell whether a is b or one of its ancestors."""
        while b > a:
            b = self.parents[b]
        return a == b

    def is_candidate(self, v: int) -> bool:
        """Tell whether a node may be an answer."""
        return v == 0 or self.parents.count(v) != 1 or self.settings["single_child"] == "answer"

    def stand_in(self, v: int) -> int:
        """Return the node whose likelihood counts for a node."""
        return v if self.is_candidate(v) else self.stand_in(v + 1)

    def below(self, v: int) -> list[int]:
        """Return the places of the leaves below a node."""
        return [i for i, leaf in enumerate(self.leaves) if self.is_above(v, leaf)]

    def specificity(self, v: int) -> tuple[int, ...]:
        """Return numbers that are larger for more specific nodes."""
        by_depth = self.settings["information"] == "depth"
        first = self.depth[v] if by_depth else -len(self.below(v))
        return (first, self.depth[v]) if self.settings["single_child"] == "answer" else (first,)

    def bits(self, v: int) -> float:
        """Return the information of a node."""
        if self.settings["information"] == "depth":
            return float(self.depth[v])
        return math.log2(len(self.leaves)) - math.log2(len(self.below(v)))

    def likelihoods(self, what: str, row: list[float]) -> list[float] | None:
        """Return the likelihood of every node; None if the row must be refused."""
        scale, temperature = self.point["scale"], self.point["temperature"]
        if what == "likelihoods":
            highest = 1.00001 if scale == "probability" else INF
            lowest = 0.0 if scale == "probability" else -INF
            if len(row) != len(self.nodes) or not all(lowest <= x <= highest for x in row):
                return None
            return [min(x, 1.0) for x in row] if scale == "probability" else row
        if len(row) != len(self.leaves):
            return None
        if what == "logits":
            if any(map(math.isnan, row)) or not math.isfinite(max(row)):
                return None
            mass = softmax([x / temperature for x in row])
        else:
            if not all(x >= 0 for x in row) or not abs(math.fsum(row) - 1) <= 1e-3:
                return None
            total = sum(units(x) for x in row)
            divisor = float(total * UNIT) if abs(total - (1 << 62)) > (len(row) + 1) * 512 else 1.0
            mass = [x / divisor for x in row]
            if temperature != 1:
                mass = softmax([math.log(x) / temperature if x > 0 else -INF for x in mass])
        q = [min(1.0, float(sum(units(mass[i]) for i in self.below(v)) * UNIT)) for v in self.nodes]
        q[0] = 1.0
        return [math.log(x) if x > 0 else -INF for x in q] if scale == "log" else q


def units(x: float) -> int:
    """Return a probability in whole multiples of 2^-62, rounded down."""
    return math.floor(Fraction(x) / UNIT)


def softmax(x: list[float]) -> list[float]:
    """Return exp(x), divided by its sum."""
    mass = [math.exp(each - max(x)) for each in x]
    return [each / math.fsum(mass) for each in mass]
