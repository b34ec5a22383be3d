"""Write the test vectors of the specification of points: `python -m tests.export.write_vectors`.

Every program that answers at an operating point must pass them. Points are made here field by field, so that rows
can lie exactly at their thresholds. Rows hold numbers that are the same in single precision. The answers are those
of `reference`, a definition with fractions and plain loops that shares no code with the package.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow.tree import Settings

VECTORS = Path(__file__).with_name("vectors.json")
INF = math.inf
Rows = list[list[float]]

PETS = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
CHAINS = hr.Hierarchy.from_lineages(
    [
        {"order": "songbirds", "family": "thrushes", "species": "robin"},
        {"order": "songbirds", "family": "wrens", "species": "wren"},
        {"order": "songbirds", "family": "wrens", "species": "rock wren"},
        {"order": "owls", "family": "true owls", "species": "tawny owl"},
        {"order": "owls", "family": "true owls", "species": "little owl"},
        {"order": "owls", "family": "true owls", "species": "Käuzchen"},
        {"order": "auks", "family": "", "species": "auk"},
    ],
    root="bird",
)
UNEVEN = hr.Hierarchy.from_edges(
    [("r", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("b", "f"), ("r", "g"), ("g", "h"), ("h", "i")]
)
ONE = hr.Hierarchy.from_edges([("root", "only"), ("only", "x"), ("only", "y")])


@dataclass
class Case:
    """Rows, and the point that answers them."""

    name: str
    tree: hr.Hierarchy
    thresholds: dict[str, float]
    rows: Any
    input: str = "probabilities"
    groups: list[str] | None = None
    about: dict[str, Any] = field(default_factory=dict)
    """Other fields of the point."""

    def point(self) -> hr.OperatingPoint:
        """Return the point."""
        by_rank = self.about.get("rule") == "ranks"
        given: dict[str, Any] = {
            "target": dict.fromkeys(self.thresholds, 0.9) if by_rank else {"correct": 0.9},
            "overclassification": {},
            "guarantee": "empirical",
            "delta": None,
            "rule": "threshold",
            "by": "rank" if by_rank else "all",
            "scale": "probability",
            "examples": 100,
        }
        return hr.OperatingPoint(self.tree, thresholds=self.thresholds, **given | self.about)

    @property
    def exact(self) -> bool:
        """Whether every program must agree: nothing but sums and comparisons is involved."""
        plain = self.input == "likelihoods" or (
            self.input == "probabilities" and not self.about.get("temperature")
        )
        return plain and self.about.get("rule") != "expected-information"


def _listed(rows: Any) -> Rows:
    listed: Rows = rows.tolist()
    return listed


def shares(rows: Any, bits: int = 12) -> Rows:
    """Round rows to multiples of 2^-bits that sum to exactly 1."""
    given = np.asarray(rows, dtype=np.float64)
    units = np.floor(given / given.sum(axis=1, keepdims=True) * 2**bits).astype(np.int64)
    units[np.arange(len(units)), units.argmax(axis=1)] += 2**bits - units.sum(axis=1)
    return _listed(units / 2**bits)


def drawn(tree: hr.Hierarchy, rows: int, seed: int, sharpness: float = 0.3) -> Rows:
    """Draw rows of leaf probabilities."""
    return shares(np.random.default_rng(seed).dirichlet(np.full(len(tree.leaves), sharpness), rows))


def singles(rows: Any) -> Rows:
    """Return rows in single precision, as the doubles that are equal to them."""
    return _listed(np.asarray(rows, dtype=np.float32).astype(np.float64))


def softmaxed(tree: hr.Hierarchy, rows: int, seed: int) -> Rows:
    """Draw softmaxes in single precision, whose rows do not quite sum to 1."""
    x = np.random.default_rng(seed).normal(size=(rows, len(tree.leaves))).astype(np.float32) * 3
    e = np.exp(x - x.max(axis=1, keepdims=True), dtype=np.float32)
    return singles(e / e.sum(axis=1, keepdims=True, dtype=np.float32))


def node_rows(tree: hr.Hierarchy, rows: int, seed: int, scale: str) -> Rows:
    """Draw likelihoods of nodes that are nested or not, with ties and zeros."""
    random = np.random.default_rng(seed)
    q = random.integers(0, 9, size=(rows, len(tree))) / 8
    q[: rows // 2] = hr.likelihood.from_leaves(tree, drawn(tree, rows // 2, seed))
    q[:, 0] = 1
    if scale == "probability":
        return _listed(q)
    with np.errstate(divide="ignore"):
        found = np.log(q) if scale == "log" else 8 * q - 4
    found[:, 0] = 0 if scale == "log" else INF
    return singles(found)


def cases() -> list[Case]:
    """Return all cases."""
    ties = [[0.25, 0.25, 0.5], [0.5, 0.0, 0.5], [0.375, 0.375, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    nan, half = math.nan, {"": 0.5}
    skip, every = Settings(), Settings(single_child="answer")
    deep = Settings(information="depth")
    return [
        Case("ties, and rows exactly at the threshold", PETS, half, ties),
        Case("the threshold 0: zeros are never answers", PETS, {"": 0.0}, ties),
        Case("always the root", PETS, {"": INF}, ties),
        Case("a negative threshold", PETS, {"": -INF}, ties),
        Case("single children are skipped", CHAINS, half, drawn(CHAINS, 40, 1), about={"settings": skip}),
        Case("single children are answers", CHAINS, half, drawn(CHAINS, 40, 2), about={"settings": every}),
        Case("specificity by depth", UNEVEN, {"": 0.25}, drawn(UNEVEN, 40, 3, 1.0), about={"settings": deep}),
        Case("a root with one child", ONE, {"": 0.75}, [[0.5, 0.5], [0.75, 0.25], [0.875, 0.125]]),
        Case(
            "a root with one child, which is an answer",
            ONE,
            {"": 0.75},
            [[0.5, 0.5], [0.75, 0.25], [0.875, 0.125]],
            about={"settings": every},
        ),
        Case("low thresholds, uneven tree", UNEVEN, {"": 0.125}, drawn(UNEVEN, 40, 4)),
        Case("rows that do not quite sum to 1", CHAINS, {"": 0.6}, softmaxed(CHAINS, 40, 5)),
        Case(
            "rows that are far from 1, and refused",
            PETS,
            half,
            [[0.5, 0.25, 0.125], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]],
        ),
        Case(
            "rows that sum to 1 within the tolerance",
            PETS,
            half,
            [[0.5, 0.25, 0.25 + 2**-11], [0.5, 0.25, 0.25 - 2**-11], [0.75, 0.25 + 2**-10.5, 0.0]],
        ),
        Case(
            "numbers that are none",
            PETS,
            half,
            [[nan, 0.5, 0.5], [-0.25, 0.75, 0.5], [INF, 0.0, 0.0], [1.0, 0.0, 0.0], [-INF, 1.0, 0.0]],
        ),
        Case("rows that are too short", PETS, half, [[0.5, 0.5]]),
        Case("rows that are too long", PETS, half, [[0.5, 0.5, 0.0, 0.0]]),
        Case(
            "groups, of which one is unknown",
            CHAINS,
            {"day": 0.25, "night": 0.75},
            drawn(CHAINS, 30, 6),
            groups=["day", "night", "dusk"] * 10,
            about={"by": "group"},
        ),
        Case(
            "groups without a promise are refused",
            CHAINS,
            {"day": 0.25},
            drawn(CHAINS, 4, 7),
            groups=["day", "dusk"] * 2,
            about={"by": "group", "root_is_safe": False},
        ),
        Case(
            "clades, of which one is unknown",
            CHAINS,
            {"songbirds": 0.25, "owls": 0.5},
            drawn(CHAINS, 40, 8),
            about={"by": "clade", "clade_depth": 1},
        ),
        Case(
            "deep clades",
            UNEVEN,
            {"c": 0.25, "f": 0.125, "h": 0.5},
            drawn(UNEVEN, 40, 9),
            about={"by": "clade", "clade_depth": 3},
        ),
        Case(
            "a threshold for each rank",
            CHAINS,
            {"order": 0.25, "species": 0.5},
            drawn(CHAINS, 40, 10),
            about={"rule": "ranks"},
        ),
        Case(
            "a threshold for each depth",
            UNEVEN,
            {"1": 0.5, "3": 0.25, "4": 0.125},
            drawn(UNEVEN, 40, 11, 1.0),
            about={"rule": "ranks"},
        ),
        Case(
            "ranks of nodes with single children that are answers",
            CHAINS,
            {"order": 0.25, "family": 0.5},
            drawn(CHAINS, 40, 12),
            about={"rule": "ranks", "settings": every},
        ),
        Case("climbing", CHAINS, half, drawn(CHAINS, 40, 13, 1.0), about={"rule": "climbing"}),
        Case("climbing, ties", PETS, {"": 0.25}, ties, about={"rule": "climbing"}),
        Case(
            "expected information",
            CHAINS,
            {"": 0.7},
            drawn(CHAINS, 40, 14),
            about={"rule": "expected-information"},
        ),
        Case("no λ is large enough", PETS, {"": INF}, ties, about={"rule": "expected-information"}),
        Case("likelihoods of nodes", CHAINS, half, node_rows(CHAINS, 40, 15, "probability"), "likelihoods"),
        Case(
            "likelihoods of nodes, refused",
            PETS,
            half,
            [
                [1.0, nan, 0.5, 0.5, 0.5],
                [1.0, 1.5, 0.5, 0.5, 0.5],
                [1.0, -0.5, 0.5, 0.5, 0.5],
                [1, 0.75, 0.5, 0, 0],
            ],
            "likelihoods",
        ),
        Case("likelihoods above 1 by rounding", PETS, half, [[1.0, 1.0, 1.0, 1 + 2**-18, 0.0]], "likelihoods"),
        Case(
            "the log scale",
            CHAINS,
            {"": singles([[-0.5]])[0][0]},
            node_rows(CHAINS, 40, 16, "log"),
            "likelihoods",
            about={"scale": "log"},
        ),
        Case(
            "the log scale, at the bottom",
            CHAINS,
            {"": -INF},
            node_rows(CHAINS, 20, 17, "log"),
            "likelihoods",
            about={"scale": "log"},
        ),
        Case(
            "the logit scale",
            UNEVEN,
            {"": 0.0},
            node_rows(UNEVEN, 40, 18, "logit"),
            "likelihoods",
            about={"scale": "logit"},
        ),
        Case(
            "clades on the logit scale",
            UNEVEN,
            {"a": 1.0, "g": -1.0},
            node_rows(UNEVEN, 40, 19, "logit"),
            "likelihoods",
            about={"scale": "logit", "by": "clade", "clade_depth": 1},
        ),
        Case(
            "ranks on the log scale",
            CHAINS,
            {"order": -1.0, "family": -0.5},
            node_rows(CHAINS, 40, 20, "log"),
            "likelihoods",
            about={"scale": "log", "rule": "ranks"},
        ),
        Case(
            "climbing on the logit scale",
            UNEVEN,
            {"": 1.0},
            node_rows(UNEVEN, 40, 21, "logit"),
            "likelihoods",
            about={"scale": "logit", "rule": "climbing"},
        ),
        Case("a temperature", CHAINS, half, drawn(CHAINS, 40, 22, 1.0), about={"temperature": 2.0}),
        Case("logits", CHAINS, half, singles(np.random.default_rng(23).normal(size=(40, 7)) * 2), "logits"),
        Case(
            "logits and a temperature, on the log scale",
            CHAINS,
            {"": -0.7},
            singles(np.random.default_rng(24).normal(size=(40, 7)) * 3),
            "logits",
            about={"scale": "log", "temperature": 1.5},
        ),
        Case(
            "logits that are none",
            PETS,
            half,
            [[nan, 0.0, 0.0], [INF, 0.0, 0.0], [-INF] * 3, [-INF, 0.0, 4.0]],
            "logits",
        ),
        Case("probabilities on the log scale", CHAINS, {"": -0.25}, drawn(CHAINS, 30, 25), about={"scale": "log"}),
    ]


def written(x: float) -> float | str:
    """Return a number as JSON has it."""
    return x if math.isfinite(x) else "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"


def vectors() -> dict[str, Any]:
    """Return the content of the file."""
    listed = []
    for case in cases():
        point = case.point()
        rows = [[written(float(x)) for x in row] for row in case.rows]
        content: dict[str, Any] = {
            "name": case.name,
            "exact": case.exact,
            "input": case.input,
            "point": point.to_dict(),
            "rows": rows,
        }
        if case.groups is not None:
            content["groups"] = case.groups
        groups = case.groups or [""] * len(rows)
        found = [
            reference(content["point"], case.input, list(map(float, row)), group)
            for row, group in zip(case.rows, groups, strict=True)
        ]
        content["answers"] = [node if node is None else point.hierarchy.names[node] for node in found]
        listed.append(content)
    return {"format": "hedgerow test vectors", "schema": 1, "cases": listed}


# The definition ------------------------------------------------------------------------------------------------

UNIT = Fraction(1, 1 << 62)


def reference(point: dict[str, Any], what: str, row: list[float], group: str) -> int | None:
    """Return the answer to a row, a node; None if it must be refused."""
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
        self.point = point
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
        return v == 0 or self.parents.count(v) != 1 or self.point["settings"]["single_child"] == "answer"

    def stand_in(self, v: int) -> int:
        """Return the node whose likelihood counts for a node."""
        return v if self.is_candidate(v) else self.stand_in(v + 1)

    def below(self, v: int) -> list[int]:
        """Return the places of the leaves below a node."""
        return [i for i, leaf in enumerate(self.leaves) if self.is_above(v, leaf)]

    def specificity(self, v: int) -> tuple[int, ...]:
        """Return numbers that are larger for more specific nodes."""
        by_depth = self.point["settings"]["information"] == "depth"
        first = self.depth[v] if by_depth else -len(self.below(v))
        return (first, self.depth[v]) if self.point["settings"]["single_child"] == "answer" else (first,)

    def bits(self, v: int) -> float:
        """Return the information of a node."""
        if self.point["settings"]["information"] == "depth":
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


def as_json() -> str:
    """Return the text of the file: a line for each row would be long, so a case is a line."""
    content = vectors()
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in content.pop("cases"))
    head = json.dumps(content)[:-1]
    return f'{head}, "cases": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    VECTORS.write_text(as_json(), encoding="utf-8")
