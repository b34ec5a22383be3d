"""Sparse likelihoods are answered like dense ones with the same values."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Hierarchy, infer, likelihood, metrics, ordered_pareto_sets
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.infer.pareto import Candidates
from hedgerow.likelihood import SparseLikelihoods, from_probability
from hedgerow.tree import Settings
from tests import oracle
from tests.sparse_strategies import SCALES, sparse_likelihoods, sparse_of
from tests.strategies import QUICK, information_kinds, likelihoods, trees

if TYPE_CHECKING:
    from collections.abc import Callable

SINGLE_CHILD: st.SearchStrategy[Any] = st.sampled_from(["skip", "answer"])
THRESHOLDS = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.999, 1.0])
PETS = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])


def same(rule: Callable[[Any], Any], q: SparseLikelihoods) -> None:
    found = rule(q)
    assert found.dtype == np.int64
    assert found.tolist() == rule(q.dense()).tolist()


@settings(QUICK, max_examples=120)
@given(data=st.data())
def test_rules_that_compare(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods())
    kind, single, tau = data.draw(information_kinds(h)), data.draw(SINGLE_CHILD), data.draw(THRESHOLDS)
    inclusive = data.draw(st.booleans())
    how: dict[str, Any] = {"information": kind, "single_child": single}
    same(lambda q: infer.leaf(h, q), q)
    same(lambda q: infer.threshold(h, q, tau, inclusive=inclusive, **how), q)
    each = np.resize([0.3, 0.5, 0.75, 0.0], len(q))
    same(lambda q: infer.threshold(h, q, each, **how), q)
    same(lambda q: infer.majority(h, q, **how), q)
    same(lambda q: infer.plurality(h, q, **how), q)
    same(lambda q: infer.top_down(h, q, each, **how), q)
    zeta = data.draw(st.sampled_from(h.information(kind).tolist()))
    same(lambda q: infer.information_threshold(h, q, zeta, **how), q)


@settings(QUICK, max_examples=60)
@given(data=st.data())
def test_rules_that_weigh(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods())
    q = sparse_of(h, np.round(64 * np.asarray(q.dense().probabilities())) / 64)  # so that sums are exact
    kind, single = data.draw(information_kinds(h, exact=True)), data.draw(SINGLE_CHILD)
    how: dict[str, Any] = {"information": kind, "single_child": single}
    same(lambda q: infer.expected_information(h, q, 1.0, **how), q)
    same(lambda q: infer.most_likely_exclusive(h, q, **how), q)
    named = ("edge distance", "information distance", "1 - correct", "-correct x I")
    cost: Any
    over: Any
    for cost, over in itertools.product((*named, metrics.edge_distance), ("all", "leaves")):
        same(partial(infer.risk_minimising, h, cost=cost, over=over, **how), q)


@settings(QUICK, max_examples=80)
@given(data=st.data())
def test_climbing(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods())
    tau, single = data.draw(THRESHOLDS), data.draw(SINGLE_CHILD)
    inclusive = data.draw(st.booleans())
    t, cut = oracle.Tree(h.parent.tolist(), single), float(from_probability(tau, q.scale))
    expected = []
    for row in range(len(q)):
        part = q[row : row + 1]
        p = {0: np.inf} | {v: x for v, x in zip(part.node.tolist(), part.value, strict=True) if v in t.candidates}
        ends = [v for v in p if not any(u != v and v in t.ancestors(u) for u in p)]
        lowest = max(ends, key=lambda v: (p[v], -v))
        passing = [v for v in t.path(lowest) if v in p and (p[v] > cut or (inclusive and p[v] == cut))]
        expected.append(passing[0] if passing else 0)
    assert infer.climbing(h, q, tau, inclusive=inclusive, single_child=single).tolist() == expected


@QUICK
@given(data=st.data())
def test_climbing_from_leaves(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods(lawful=True, leaves_only=True))
    tau, single = data.draw(THRESHOLDS), data.draw(SINGLE_CHILD)
    same(lambda q: infer.climbing(h, q, tau, single_child=single), q)


@settings(QUICK, max_examples=120)
@given(data=st.data())
def test_pareto_sets(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods())
    kind, single = data.draw(information_kinds(h)), data.draw(SINGLE_CHILD)
    bottom = likelihood.BOTTOM[q.scale]
    minimum = data.draw(st.sampled_from([bottom, -1.0, 0.25, 0.5]))
    found = ordered_pareto_sets(h, q, information=kind, minimum=max(bottom, minimum), single_child=single)
    dense = ordered_pareto_sets(h, q.dense(), information=kind, minimum=max(bottom, minimum), single_child=single)
    candidates = Candidates.of(h, Settings(kind, single))
    pairs = [(found, dense), (candidates.fetch_sets(q, bottom), candidates.fetch_sets(q.dense(), bottom))]
    for mine, theirs in pairs:
        assert mine.count.tolist() == theirs.count.tolist()
        assert mine.node.tolist() == theirs.node.tolist()
        assert mine.score.tolist() == theirs.score.tolist()


def test_rows_of_very_different_lengths() -> None:
    """Thousands of rows go in blocks, and a row with thousands of entries is among short ones."""
    random = np.random.default_rng(0)
    parent = np.concatenate([[-1], np.zeros(40, int), np.repeat(np.arange(1, 41), 50)])
    h = Hierarchy.from_parents([f"n{i}" for i in range(len(parent))], parent)
    size = np.where(np.arange(9000) % 1000 == 7, len(h) - 1, random.integers(0, 6, 9000))
    size[np.arange(9000) % 1000 != 7] = np.minimum(size[np.arange(9000) % 1000 != 7], 5)
    node = np.concatenate([np.sort(random.choice(np.arange(1, len(h)), n, replace=False)) for n in size])
    value = random.integers(1, 33, len(node)) / 32
    q = SparseLikelihoods(h, np.append(0, np.cumsum(size)), node, value)
    rules: list[Callable[[Any], Any]] = [
        lambda q: infer.leaf(h, q),
        lambda q: infer.majority(h, q),
        lambda q: infer.plurality(h, q),
        lambda q: infer.expected_information(h, q, single_child="answer"),
        lambda q: infer.top_down(h, q, 0.3),
        lambda q: infer.risk_minimising(h, q, "edge distance"),
    ]
    part = slice(5000, 5100)
    for rule in rules:
        assert rule(q)[part].tolist() == rule(q[part].dense()).tolist()


def test_no_examples_and_no_entries() -> None:
    none, empty = SparseLikelihoods(PETS, [0], [], []), SparseLikelihoods(PETS, [0, 0, 0], [], [])
    for rule in (
        infer.leaf, infer.majority, infer.plurality, infer.expected_information, infer.most_likely_exclusive,
        lambda h, q: infer.climbing(h, q, 0.5), lambda h, q: infer.top_down(h, q, 0.5),
        lambda h, q: infer.risk_minimising(h, q, "edge distance"),
        lambda h, q: infer.risk_minimising(h, q, metrics.edge_distance),
    ):  # fmt: skip
        assert rule(PETS, none).tolist() == []
        assert rule(PETS, empty).tolist() == [0, 0]


@QUICK
@given(data=st.data())
def test_the_fitted_lambda_is_the_same(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods(lawful=True))
    labels = np.resize(data.draw(st.lists(st.integers(0, len(h) - 1), min_size=1)), len(q))
    single = data.draw(SINGLE_CHILD)
    try:
        expected: Any = infer.fit_lambda(h, q.dense(), labels, 0.5, single_child=single)
    except HedgerowError as error:
        expected = str(error)
    try:
        found: Any = infer.fit_lambda(h, q, labels, 0.5, single_child=single)
    except HedgerowError as error:
        found = str(error)
    assert found == expected


@pytest.mark.parametrize("scale", SCALES)
def test_the_scale_is_checked(scale: Any) -> None:
    q = SparseLikelihoods(PETS, [0, 1], [1], [0.5], scale)
    other = "log" if scale == "probability" else "probability"
    with pytest.raises(ParameterError, match="on the scale"):
        infer.leaf(PETS, q, scale=other)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="another tree"):
        infer.leaf(Hierarchy.from_edges([("a", "b"), ("a", "c")]), q)


# At least, instead of more than ----------------------------------------------------------------------------


@QUICK
@given(data=st.data())
def test_inclusive(data: st.DataObject) -> None:
    h = data.draw(trees(12))
    q = np.round(data.draw(likelihoods(h)) * 8) / 8
    q[:, 0] = 1
    tau = data.draw(st.sampled_from([0.125, 0.25, 0.3, 0.5, 0.7, 0.875, 1.0]))
    lower = np.nextafter(tau, 0)
    for precision in (np.float32, np.float64):
        p = q.astype(precision)
        assert infer.threshold(h, p, tau, inclusive=True).tolist() == infer.threshold(h, q, lower).tolist()
        assert infer.climbing(h, p, tau, inclusive=True).tolist() == infer.climbing(h, q, lower).tolist()


def test_inclusive_never_answers_what_has_no_likelihood() -> None:
    assert infer.threshold(PETS, [[1, 0, 0, 0, 0]], 0.0, inclusive=True).tolist() == [0]
