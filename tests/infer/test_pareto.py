from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy, ordered_pareto_sets
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.infer.pareto import Candidates
from hedgerow.tree import Settings
from tests import oracle
from tests.backends import BACKENDS, make, values_of
from tests.strategies import QUICK, information_kinds, likelihoods, trees, trees_and_likelihoods


def split(backend: Any, sets: Any) -> tuple[list[list[int]], list[list[float]]]:
    stop = np.cumsum(values_of(backend, sets.count))[:-1]
    node, score = values_of(backend, sets.node), values_of(backend, sets.score)
    assert node.dtype == np.int64
    return [part.tolist() for part in np.split(node, stop)], [part.tolist() for part in np.split(score, stop)]


def check(h: Hierarchy, q: Any, kind: Any, minimum: float | None, single: Any = "skip") -> None:
    t, info = oracle.Tree(h.parent.tolist(), single), h.information(kind)
    for backend in BACKENDS:
        given_q = make(backend, q)
        nodes, scores = split(
            backend, ordered_pareto_sets(h, given_q, information=kind, minimum=minimum, single_child=single)
        )
        for i, p in enumerate(values_of(backend, given_q).astype(np.float64)):
            least = -np.inf if minimum is None else minimum
            assert nodes[i] == oracle.pareto_set(t, p.tolist(), info.tolist(), least)
            assert scores[i] == p[nodes[i]].tolist()


@QUICK
@given(data=st.data())
def test_the_papers_algorithm(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    minimum = data.draw(st.sampled_from([None, -np.inf, 0.0, 0.25, 0.3, 0.5, 1.0]))
    check(h, q, data.draw(information_kinds(h)), minimum, data.draw(st.sampled_from(["skip", "answer"])))


@QUICK
@given(data=st.data())
def test_the_papers_definition(data: st.DataObject) -> None:
    h, q = data.draw(trees_and_likelihoods())
    info = h.information(kind := data.draw(information_kinds(h)))
    t, sets = oracle.Tree(h.parent.tolist()), ordered_pareto_sets(h, q, information=kind)
    for p, node in zip(q, np.split(sets.node, np.cumsum(sets.count)[:-1]), strict=True):
        assert np.all(np.diff(p[node]) < 0)
        assert np.all(np.diff(info[node]) > 0)
        for y in t.candidates:
            beaten = any(p[u] >= p[y] and info[u] >= info[y] for u in t.candidates if u != y)
            strictly = any(p[u] > p[y] and info[u] > info[y] for u in t.candidates)
            assert y in node if not beaten else True
            assert y not in node if strictly else True


@QUICK
@given(data=st.data())
def test_any_increasing_scale(data: st.DataObject) -> None:
    h = data.draw(trees(12))
    q = data.draw(likelihoods(h))
    with np.errstate(divide="ignore"):
        logit = np.log(q) - np.log1p(-q)
    for backend in BACKENDS:
        if backend[1] == "float64":
            nodes, _ = split(backend, ordered_pareto_sets(h, make(backend, q)))
            assert split(backend, ordered_pareto_sets(h, make(backend, logit)))[0] == nodes


def test_large_rungs_and_many_rows() -> None:
    random = np.random.default_rng(0)
    parent = np.concatenate(
        [[-1], np.zeros(30, dtype=int), np.repeat(np.arange(1, 31), random.integers(0, 9, 30))]
    )
    h = Hierarchy.from_parents([f"n{i}" for i in range(len(parent))], parent)
    assert len(h.leaves) > 64
    check(h, np.round(random.random((40, len(h))), 2), "leaves", 0.0)
    q = random.random((4000, len(h))).astype(np.float32)
    whole = ordered_pareto_sets(h, q)
    some = ordered_pareto_sets(h, q[3000:])
    assert whole.count[3000:].tolist() == some.count.tolist()
    assert whole.node[-len(some.node) :].tolist() == some.node.tolist()


def test_candidates_may_be_prepared() -> None:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    prepared = Candidates.of(h, Settings(np.array([0, 1, 2, 2, 1.0])))
    found = ordered_pareto_sets(h, [[1, 0.5, 0.25, 0.25, 0.5]], information=prepared)
    assert found.node.tolist() == [0, 1, 2]
    assert Candidates.of(h) is Candidates.of(h, Settings("leaves"))


def test_no_examples() -> None:
    h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    for backend in BACKENDS:
        sets = ordered_pareto_sets(h, make(backend, np.zeros((0, 3))))
        assert [len(x) for x in (sets.count, sets.node, sets.score)] == [0, 0, 0]
        assert values_of(backend, sets.node).dtype == np.int64


def test_bad_arguments() -> None:
    h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    with pytest.raises(ScoreError, match="one column per node"):
        ordered_pareto_sets(h, [[1, 0.5]])
    with pytest.raises(ScoreError, match="one row per example"):
        ordered_pareto_sets(h, [1, 0.5, 0.5])
    with pytest.raises(ParameterError):
        ordered_pareto_sets(h, [[1, 0.5, 0.5]], information="bits")


def test_the_minimum_is_compared_exactly() -> None:
    h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    for tau in (0.1, 0.3, 0.7):
        check(h, [[1, tau, 0]], "leaves", tau)


def test_any_order_in_memory() -> None:
    h = Hierarchy.from_parents([str(i) for i in range(40)], [-1, *((i - 1) // 3 for i in range(1, 40))])
    q = np.random.default_rng(0).random((7, 40))
    expected = ordered_pareto_sets(h, q)
    found = ordered_pareto_sets(h, np.asfortranarray(q))
    assert found.node.tolist() == expected.node.tolist()
    assert found.score.tolist() == expected.score.tolist()
