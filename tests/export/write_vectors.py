"""Write the test vectors of the specification of points: `python -m tests.export.write_vectors`.

Every program that answers at an operating point must pass them. Points are made here field by field, so that rows
can lie exactly at their thresholds. Rows hold numbers that are the same in single precision. The answers are those
of `reference`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hedgerow as hr
from hedgerow.choose import Request
from hedgerow.tree import Settings
from tests.export.reference import reference

if TYPE_CHECKING:
    from collections.abc import Iterator

VECTORS = Path(__file__).with_name("vectors.json")
INF, NAN = math.inf, math.nan
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


def made_point(
    tree: hr.Hierarchy,
    thresholds: float | dict[str, float],
    *,
    rule: str = "threshold",
    by: str = "all",
    clade_depth: int | None = None,
    settings: Settings | None = None,
    **fields: Any,
) -> hr.OperatingPoint:
    """Return a point with a threshold, or with several by name; other fields may be given."""
    taus = thresholds if isinstance(thresholds, dict) else {"": thresholds}
    asked: dict[str, Any] = {"target": ("correct", 0.9), "rule": rule}
    if rule == "ranks":
        asked = {"per_rank": dict.fromkeys(taus, 0.9)}
    request = Request.of(
        guarantee="empirical" if "weight_steps" not in fields else "conformal",
        groups=by == "group",
        weights="weight_steps" in fields,
        clades=clade_depth,
        settings=settings,
        **asked,
    )
    usual: dict[str, Any] = {"scale": "probability", "examples": 100}
    return hr.OperatingPoint(tree, request, thresholds=taus, **usual | fields)


def case(
    name: str,
    tree: hr.Hierarchy,
    thresholds: float | dict[str, float],
    rows: Rows,
    what: str = "probabilities",
    *,
    groups: list[str] | None = None,
    changes: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return rows, the point that answers them, with changes that `made_point` refuses, and the answers."""
    point = made_point(tree, thresholds, **fields).to_dict() | (changes or {})
    found = [
        reference(point, what, row, group) for row, group in zip(rows, groups or [""] * len(rows), strict=True)
    ]
    # Where nothing but sums and comparisons is involved, every program must agree.
    sums = what == "likelihoods" or (what == "probabilities" and "temperature" not in fields)
    return {
        "name": name,
        "exact": sums and fields.get("rule") != "expected-information",
        "input": what,
        "point": point,
        "rows": [[written(float(x)) for x in row] for row in rows],
        **({"groups": groups} if groups else {}),
        "answers": [None if node is None else tree.names[node] for node in found],
    }


def written(x: float) -> float | str:
    """Return a number as JSON has it."""
    return x if math.isfinite(x) else "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"


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


def cases() -> Iterator[dict[str, Any]]:
    """Yield all cases."""
    ties = [[0.25, 0.25, 0.5], [0.5, 0.0, 0.5], [0.375, 0.375, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    every, deep = Settings(single_child="answer"), Settings(information="depth")

    yield case("ties, and rows exactly at the threshold", PETS, 0.5, ties)
    yield case("the threshold 0: zeros are never answers", PETS, 0.0, ties)
    yield case("always the root", PETS, INF, ties)
    yield case("a negative threshold", PETS, -INF, ties)
    yield case("single children are skipped", CHAINS, 0.5, drawn(CHAINS, 40, 1))
    yield case("single children are answers", CHAINS, 0.5, drawn(CHAINS, 40, 2), settings=every)
    yield case("specificity by depth", UNEVEN, 0.25, drawn(UNEVEN, 40, 3, 1.0), settings=deep)
    halves = [[0.5, 0.5], [0.75, 0.25], [0.875, 0.125]]
    yield case("a root with one child", ONE, 0.75, halves)
    yield case("a root with one child, which is an answer", ONE, 0.75, halves, settings=every)
    yield case("low thresholds, uneven tree", UNEVEN, 0.125, drawn(UNEVEN, 40, 4))
    yield case("rows that do not quite sum to 1", CHAINS, 0.6, softmaxed(CHAINS, 40, 5))
    far = [[0.5, 0.25, 0.125], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    yield case("rows that are far from 1, and refused", PETS, 0.5, far)
    near = [[0.5, 0.25, 0.25 + 2**-11], [0.5, 0.25, 0.25 - 2**-11], [0.75, 0.25 + 2**-10.5, 0.0]]
    yield case("rows that sum to 1 within the tolerance", PETS, 0.5, near)
    none = [[NAN, 0.5, 0.5], [-0.25, 0.75, 0.5], [INF, 0.0, 0.0], [1.0, 0.0, 0.0], [-INF, 1.0, 0.0]]
    yield case("numbers that are none", PETS, 0.5, none)
    yield case("rows that are too short", PETS, 0.5, [[0.5, 0.5]])
    yield case("rows that are too long", PETS, 0.5, [[0.5, 0.5, 0.0, 0.0]])

    by_day, days = {"day": 0.25, "night": 0.75}, ["day", "night", "dusk"] * 10
    rows = drawn(CHAINS, 30, 6)
    yield case("groups, of which one is unknown", CHAINS, by_day, rows, groups=days, by="group")
    unsafe: dict[str, Any] = {"groups": ["day", "dusk"] * 2, "by": "group", "root_is_safe": False}
    yield case("groups without a promise are refused", CHAINS, {"day": 0.25}, drawn(CHAINS, 4, 7), **unsafe)
    orders, deeper = {"songbirds": 0.25, "owls": 0.5}, {"c": 0.25, "f": 0.125, "h": 0.5}
    yield case("clades, of which one is unknown", CHAINS, orders, drawn(CHAINS, 40, 8), by="clade", clade_depth=1)
    yield case("deep clades", UNEVEN, deeper, drawn(UNEVEN, 40, 9), by="clade", clade_depth=3)
    by_rank, by_depth = {"order": 0.25, "species": 0.5}, {"1": 0.5, "3": 0.25, "4": 0.125}
    yield case("a threshold for each rank", CHAINS, by_rank, drawn(CHAINS, 40, 10), rule="ranks")
    yield case("a threshold for each depth", UNEVEN, by_depth, drawn(UNEVEN, 40, 11, 1.0), rule="ranks")
    families, rows = {"order": 0.25, "family": 0.5}, drawn(CHAINS, 40, 12)
    yield case(
        "ranks of nodes with single children that are answers",
        CHAINS,
        families,
        rows,
        rule="ranks",
        settings=every,
    )
    yield case("climbing", CHAINS, 0.5, drawn(CHAINS, 40, 13, 1.0), rule="climbing")
    yield case("climbing, ties", PETS, 0.25, ties, rule="climbing")
    yield case("expected information", CHAINS, 0.7, drawn(CHAINS, 40, 14), rule="expected-information")
    yield case("no λ is large enough", PETS, INF, ties, rule="expected-information")

    yield case("likelihoods of nodes", CHAINS, 0.5, node_rows(CHAINS, 40, 15, "probability"), "likelihoods")
    refused = [[1, NAN, 0.5, 0.5, 0.5], [1, 1.5, 0.5, 0.5, 0.5], [1, -0.5, 0.5, 0.5, 0.5], [1, 0.75, 0.5, 0, 0]]
    yield case("likelihoods of nodes, refused", PETS, 0.5, refused, "likelihoods")
    above = [[1.0, 1.0, 1.0, 1 + 2**-18, 0.0]]
    yield case("likelihoods above 1 by rounding", PETS, 0.5, above, "likelihoods")
    for name, tree, scale, seed, thresholds, fields in (
        ("the log scale", CHAINS, "log", 16, -0.5, {}),
        ("the log scale, at the bottom", CHAINS, "log", 17, -INF, {}),
        ("the logit scale", UNEVEN, "logit", 18, 0.0, {}),
        (
            "clades on the logit scale",
            UNEVEN,
            "logit",
            19,
            {"a": 1.0, "g": -1.0},
            {"by": "clade", "clade_depth": 1},
        ),
        ("ranks on the log scale", CHAINS, "log", 20, {"order": -1.0, "family": -0.5}, {"rule": "ranks"}),
        ("climbing on the logit scale", UNEVEN, "logit", 21, 1.0, {"rule": "climbing"}),
    ):
        rows = node_rows(tree, 40, seed, scale)
        yield case(name, tree, thresholds, rows, "likelihoods", scale=scale, **fields)
    nothing = [[-INF, -1.0, -2.0, -1.5, -3.0]]
    yield case("a root that is given as impossible", PETS, 0.0, nothing, "likelihoods", scale="log")

    yield case("a temperature", CHAINS, 0.5, drawn(CHAINS, 40, 22, 1.0), temperature=2.0)
    normal = [np.random.default_rng(seed).normal(size=(40, 7)) for seed in (23, 24)]
    yield case("logits", CHAINS, 0.5, singles(normal[0] * 2), "logits")
    hot = singles(normal[1] * 3)
    yield case(
        "logits and a temperature, on the log scale", CHAINS, -0.7, hot, "logits", scale="log", temperature=1.5
    )
    bad = [[NAN, 0.0, 0.0], [INF, 0.0, 0.0], [-INF] * 3, [-INF, 0.0, 4.0]]
    yield case("logits that are none", PETS, 0.5, bad, "logits")
    yield case("logits of all nodes", PETS, 0.5, [[0.0] * 5], "logits")
    yield case("probabilities on the log scale", CHAINS, -0.25, drawn(CHAINS, 30, 25), scale="log")

    yield case("a point with a prior", PETS, 0.5, ties[:1], prior="ab")
    yield case("a point for events", PETS, 0.5, ties[:1], pool="mean")
    yield case("a point with weights", PETS, 0.5, ties[:1], weight_steps=((1.0, 0.5),))
    yield case("a point of another version", PETS, 0.5, ties[:1], changes={"schema": 2})


def as_json() -> str:
    """Return the text of the file: a line for each row would be long, so a case is a line."""
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases())
    return f'{{"format": "hedgerow test vectors", "schema": 1, "cases": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    VECTORS.write_text(as_json(), encoding="utf-8")
