"""A threshold for each rank, and what unknown taxa are given."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hedgerow as hr
from hedgerow.measure import Ranks, mistakes
from hedgerow.tree import BelowLabel, Settings
from tests.choose.populations import population
from tests.choose.test_select import quiet
from tests.oracle import Tree
from tests.tree_strategies import parent_lists, plain_names

PEOPLE = population(leaves=27, size=6_000)
TREE = PEOPLE.hierarchy
LABELS = TREE.names[PEOPLE.labels]


@st.composite
def cases(draw: st.DrawFn) -> tuple[hr.Hierarchy, Any, Any]:
    parent = draw(parent_lists(12))
    h = hr.Hierarchy.from_parents(plain_names(len(parent)), parent)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    q = random.random((draw(st.integers(1, 12)), len(h)))
    q = np.round(q, 1) if draw(st.booleans()) else q
    q[:, 0] = 1
    return h, q, random.integers(len(h), size=len(q))


def representative(h: hr.Hierarchy, node: int) -> int:
    while h.is_trivial[node]:
        node = int(h.children(node)[0])
    return node


@settings(max_examples=80, deadline=None)
@given(case=cases())
def test_thresholds_and_answers_by_their_definitions(case: Any) -> None:
    h, q, labels = case
    ranks = [str(depth) for depth in range(1, int(h.depth.max()) + 1)]
    point = quiet(h, q, h.names[labels], per_rank=dict.fromkeys(ranks, "0.5"))
    for rank in ranks:
        nodes = [v for v in range(len(h)) if h.depth[v] == int(rank)]
        r = []
        for row, label in zip(q, labels, strict=True):
            related = [v for v in nodes if h.is_ancestor(v, label) or h.is_ancestor(label, v)]
            r.append(max((row[representative(h, v)] for v in nodes if v not in related), default=0.0))
        # ceil((n + 1) / 2) of them are not larger
        place = -(-(len(r) + 1) // 2)
        assert point.thresholds[rank] == (np.inf if place > len(r) else sorted(r)[place - 1])
    for row, answer in zip(q, point.predict(q), strict=True):
        likely = [v for v in range(len(h)) if row[representative(h, v)] > 0]
        tips = [v for v in likely if not set(h.children(v).tolist()) & set(likely)]
        tip = max(tips, key=lambda v: (row[representative(h, v)], -v))
        allowed = [
            v
            for v in h.lineage(tip).tolist()
            if not h.is_trivial[v]
            and row[v] > 0
            and all(row[representative(h, u)] > point.thresholds[str(h.depth[u])] for u in h.lineage(v)[1:])
        ]
        information = h.information()
        best = max(allowed, key=lambda v: (information[v], row[v], -v))
        assert answer == best


def test_ranks_without_a_level_get_no_unlikely_answers() -> None:
    h = hr.Hierarchy.from_paths(["a/b/c", "a/b/d", "a/e/f", "a/e/g", "h/i/j", "h/i/k", "h/l/m"])
    q = hr.likelihood.from_leaves(h, [[0.5, 0.3, 0.1, 0.04, 0.03, 0.02, 0.01]] * 40)
    point = quiet(h, q, ["c"] * 20 + ["d"] * 20, per_rank={"3": "0.99"})
    assert set(h.names[point.predict(q)]) == {"b"}


@pytest.mark.parametrize("guarantee", ["conformal", "pac"])
def test_promises_per_rank_are_kept_together(guarantee: Any) -> None:
    random = np.random.default_rng(0)
    levels = {"1": 0.98, "2": 0.9, "3": 0.7}
    wrong: list[list[float]] = []
    for _ in range(60):
        chosen = random.permutation(len(LABELS))
        here, new = chosen[:150], chosen[150:]
        point = quiet(TREE, PEOPLE.q[here], LABELS[here], per_rank=levels, guarantee=guarantee, delta=0.2)
        found = mistakes(TREE, PEOPLE.labels[new], point.predict(PEOPLE.q[new]))
        wrong.append([float(found[rank]["misclassified"] or 0) for rank in levels])
    allowed = [1 - level for level in levels.values()]
    if guarantee == "conformal":
        margin = 4 * np.std(wrong, axis=0) / np.sqrt(60)
        assert (np.mean(wrong, axis=0) <= allowed + margin).all()
    else:
        broken = (np.array(wrong) > allowed).any(axis=1).sum()
        assert broken <= stats.binom.ppf(0.9999, 60, 0.2)


def test_too_few_examples_for_a_rank() -> None:
    with pytest.warns(UserWarning, match="The promise for 1 needs at least 99 examples; found 50"):
        point = hr.select(TREE, PEOPLE.q[:50], LABELS[:50], per_rank={"1": 0.99, "2": 0.5})
    assert (point.predict(PEOPLE.q) == 0).all()


def unknown_genera(genera: int, random: np.random.Generator) -> tuple[Any, Any, Any]:
    """Examples of genera that the tree does not have: each has its own way of looking like known ones."""
    size = random.integers(1, 20, size=genera)
    taxon = np.repeat(np.arange(genera), size)
    leaves = len(TREE.leaves)
    place = random.integers(leaves, size=genera)
    looks = random.gamma(1.0, 2.0, size=genera)
    logits = random.normal(size=(len(taxon), leaves))
    logits[np.arange(len(taxon)), place[taxon]] += looks[taxon]
    p = np.exp(logits)
    q = np.asarray(hr.likelihood.from_leaves(TREE, p / p.sum(axis=1, keepdims=True)))
    family = Ranks.of(TREE).at("1")[TREE.leaves[place]]
    return q, TREE.names[family[taxon]], taxon


def test_overclassification_of_new_taxa() -> None:
    """At most a fifth of the examples of a new unknown genus is given a genus."""
    random = np.random.default_rng(0)
    q, _, taxon = unknown_genera(4_000, random)
    shares = []
    for _ in range(100):
        known_q, known_labels, known_taxon = unknown_genera(30, random)
        point = quiet(TREE, known_q, known_labels, overclassification={"2": 0.2}, clusters=known_taxon)
        named = TREE.depth[point.predict(q)] >= 2
        shares.append(float(np.mean(np.bincount(taxon, named) / np.bincount(taxon))))
    assert np.mean(shares) <= 0.2 + 4 * np.std(shares) / 10
    assert np.mean(shares) > 0.12  # and not at any price


def test_overclassification_together_with_levels_per_rank() -> None:
    random = np.random.default_rng(1)
    q, labels, taxon = unknown_genera(40, random)
    both_q = np.concatenate([PEOPLE.q[:300], q])
    both = np.concatenate([LABELS[:300], labels])
    clusters = [f"known{i}" for i in range(300)] + [f"unknown{t}" for t in taxon]
    point = quiet(
        TREE,
        both_q,
        both,
        per_rank={"1": 0.9, "2": 0.8},
        overclassification={"2": 0.05},
        clusters=clusters,
        below_label="wrong",
    )
    alone = quiet(TREE, q, labels, overclassification={"2": 0.05}, clusters=taxon)
    assert point.thresholds["2"] >= alone.thresholds["2"]
    assert any("Nothing is promised for examples of known classes" in note for note in alone.notes)
    assert not any("Nothing is promised" in note for note in point.notes)
    assert point.request.overclassification == {"2": Fraction(1, 20)}


def test_overclassification_needs_unknown_taxa() -> None:
    with pytest.raises(
        hr.HedgerowError,
        match="There are no examples of an unknown 2: no label has nodes of that rank below",
    ):
        quiet(TREE, PEOPLE.q[:50], LABELS[:50], overclassification={"2": 0.05}, clusters=np.arange(50))


def test_mistakes_by_their_definition() -> None:
    random = np.random.default_rng(0)
    labels, answers = (random.integers(len(TREE), size=500) for _ in range(2))
    below_label: BelowLabel
    for below_label in ("label", "wrong"):
        found = mistakes(TREE, labels, answers, Settings(below_label=below_label))
        for depth in (1, 2, 3):
            counts = {"right": 0, "mis": 0, "under": 0, "known": 0, "over": 0, "unknown": 0}
            for label, answer in zip(labels, answers, strict=True):
                path, given_path = TREE.lineage(label), TREE.lineage(answer)
                named = given_path[depth] if len(given_path) > depth else None
                if len(path) > depth:
                    counts["known"] += 1
                    counts["right"] += named == path[depth]
                    counts["under"] += named is None
                    counts["mis"] += named is not None and named != path[depth]
                elif below_label == "wrong":
                    counts["unknown"] += 1
                    counts["over"] += named is not None
            figures = found[str(depth)]
            assert figures["known"] == counts["known"]
            assert figures["unknown"] == counts["unknown"]
            assert figures["correct"] == counts["right"] / counts["known"]
            assert figures["misclassified"] == counts["mis"] / counts["known"]
            assert figures["underclassified"] == counts["under"] / counts["known"]
            over = counts["over"] / counts["unknown"] if counts["unknown"] else None
            assert figures["overclassified"] == over


@settings(max_examples=60, deadline=None)
@given(data=st.data(), ranked=st.booleans())
def test_mistakes_in_uneven_trees(data: st.DataObject, ranked: bool) -> None:
    """Ranks may be skipped, and a leaf may lie above the last rank: it is no unknown taxon."""
    parent = data.draw(parent_lists(12))
    h = hr.Hierarchy.from_parents(plain_names(len(parent)), parent)
    if ranked:
        ranks = st.lists(st.sampled_from(["genus", "species", ""]), min_size=len(h), max_size=len(h))
        h = hr.Hierarchy.from_parents(h.names.tolist(), h.parent, ["", *data.draw(ranks)[1:]])
    tree = Tree(h.parent.tolist())
    node = st.integers(0, len(h) - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), min_size=1, max_size=12))
    labels, answers = np.array(pairs).T

    def has(v: int, rank: str) -> bool:
        return str(tree.depth(v)) == rank if h.rank is None else h.rank[v] == rank

    def at(v: int, rank: str) -> int | None:
        return next((u for u in tree.path(v) if has(u, rank)), None)

    for rank, found in mistakes(h, labels, answers, Settings(below_label="wrong")).items():
        known = [(at(y, rank), at(v, rank)) for y, v in pairs if at(y, rank) is not None]
        unknown = [
            at(v, rank) for y, v in pairs if at(y, rank) is None and any(has(u, rank) for u in tree.descendants(y))
        ]
        assert (found["known"], found["unknown"]) == (len(known), len(unknown))
        if known:
            assert found["correct"] == sum(y == v for y, v in known) / len(known)
            assert found["underclassified"] == sum(v is None for _, v in known) / len(known)
            assert found["misclassified"] == sum(v not in (None, y) for y, v in known) / len(known)
        if unknown:
            assert found["overclassified"] == sum(v is not None for v in unknown) / len(unknown)
    names = Ranks.of(h).names
    last = [max((i for i, rank in enumerate(names) if at(v, rank) is not None), default=-1) for v in tree.nodes]
    assert Ranks.of(h).reached.tolist() == last


def test_ranks_are_in_order_and_may_be_missing() -> None:
    rows = [("birds", "robins", "robin"), ("birds", "", "owl"), ("fish", "eels", "eel")]
    h = hr.Hierarchy.from_lineages(rows, ranks=["class", "genus", "species"])
    ranks = Ranks.of(h)
    assert ranks.names == ("class", "genus", "species")
    assert ranks.at("genus")[h.index("owl")] == -1
    assert h.names[ranks.at("genus")[h.index("robin")]] == "robins"
    figures = mistakes(h, h.indices(["owl"]), h.indices(["owl"]), Settings(below_label="wrong"))
    assert (figures["genus"]["known"], figures["genus"]["unknown"]) == (0, 0)
