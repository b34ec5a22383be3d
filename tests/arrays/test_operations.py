from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy
from hedgerow.arrays import as_scores, numpy_ops, operations, torch_ops
from hedgerow.arrays.interface import ArrayOps
from hedgerow.errors import ScoreError
from tests import oracle
from tests.backends import BACKENDS, make, values_of
from tests.strategies import QUICK, trees

if TYPE_CHECKING:
    from types import ModuleType

CASES = st.tuples(trees(14), st.integers(0, 2**32 - 1), st.sampled_from([(), (2,), (2, 3)]))
Case = tuple[Hierarchy, int, tuple[int, ...]]


def numbers(case: Case, width: int) -> Any:
    """Small whole numbers of either sign: their sums are exact in every precision."""
    _, seed, shape = case
    return np.random.default_rng(seed).integers(-8, 9, (*shape, width)).astype(np.float64)


def rowwise(x: Any, function: Any) -> Any:
    """Apply a function from a list to a list to every row."""
    return np.apply_along_axis(lambda row: np.array(function(row.tolist())), -1, x)


def check(found: Any, expected: Any, precision: str) -> None:
    tolerance = 2e-6 if precision == "float32" else 1e-13
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@QUICK
@given(case=CASES)
def test_sums(case: Case) -> None:
    h = case[0]
    t, x = oracle.Tree(h.parent.tolist()), numbers(case, len(h))
    ancestors = rowwise(x, lambda row: [sum(row[u] for u in t.ancestors(v)) for v in t.nodes])
    children = rowwise(x, lambda row: [sum(row[u] for u in t.children[v]) for v in t.nodes])
    unrelated = rowwise(x, lambda row: [max((row[u] for u in t.unrelated(v)), default=-math.inf) for v in t.nodes])
    for backend in BACKENDS:
        given_x = make(backend, x)
        np.testing.assert_array_equal(values_of(backend, operations.sum_ancestors(h, given_x)), ancestors)
        np.testing.assert_array_equal(values_of(backend, operations.sum_children(h, given_x)), children)
        np.testing.assert_array_equal(values_of(backend, operations.max_unrelated(h, given_x)), unrelated)


@QUICK
@given(case=CASES)
def test_shares(case: Case) -> None:
    h = case[0]
    t = oracle.Tree(h.parent.tolist())
    x = np.abs(numbers(case, len(h)))
    x[..., h.leaves[0]] += 1  # not all may be 0

    def share(row: list[float], nodes: list[int]) -> list[float]:
        return [sum(row[u] for u in t.descendants(v) if u in nodes) / sum(row[u] for u in nodes) for v in t.nodes]

    below = rowwise(np.exp(x), lambda row: share(row, t.nodes))
    exp_leaves_below = rowwise(np.exp(x), lambda row: share(row, t.leaves))
    leaves_below = rowwise(x, lambda row: share(row, t.leaves))
    for backend in BACKENDS:
        all_nodes, leaves = make(backend, x), make(backend, x[..., h.leaves])
        check(values_of(backend, operations.descendant_softmax(h, all_nodes)), below, backend[1])
        check(values_of(backend, operations.leaf_softmax(h, leaves)), exp_leaves_below, backend[1])
        found = values_of(backend, operations.leaf_shares(h, leaves))
        check(found, leaves_below, backend[1])
        assert found.dtype == backend[1]


@QUICK
@given(case=CASES)
def test_down_the_tree(case: Case) -> None:
    h = case[0]
    t, x = oracle.Tree(h.parent.tolist()), numbers(case, len(h) - 1)
    total = rowwise(x, lambda row: [sum(row[u - 1] for u in t.path(v)[:-1]) for v in t.nodes])
    product = rowwise(x, lambda row: [math.prod(row[u - 1] / 8 for u in t.path(v)[:-1]) for v in t.nodes])
    for backend in BACKENDS:
        np.testing.assert_array_equal(values_of(backend, operations.add_down(h, make(backend, x))), total)
        check(values_of(backend, operations.multiply_down(h, make(backend, x / 8))), product, backend[1])


def log_sum(values: list[float]) -> float:
    largest = max(values)
    if math.isinf(largest):
        return largest
    return largest + math.log(math.fsum(math.exp(value - largest) for value in values))


@QUICK
@given(case=CASES, spread=st.sampled_from([0.1, 1, 100]), nothing=st.booleans())
def test_logarithms_of_sums(case: Case, spread: float, nothing: bool) -> None:
    h = case[0]
    t, x = oracle.Tree(h.parent.tolist()), spread * numbers(case, len(h))
    if nothing:
        x[x < -4 * spread] = -np.inf
    below = rowwise(x, lambda row: [log_sum([row[u] for u in t.descendants(v)]) for v in t.nodes])
    leaves = rowwise(x, lambda row: [log_sum([row[u] for u in t.leaves_below(v)]) for v in t.nodes])
    for backend in BACKENDS:
        check(values_of(backend, operations.log_sum_descendants(h, make(backend, x))), below, backend[1])
        check(
            values_of(backend, operations.log_sum_leaves(h, make(backend, x[..., h.leaves]))), leaves, backend[1]
        )


@QUICK
@given(case=CASES, spread=st.sampled_from([0.1, 1, 1000]))
def test_softmax_among_siblings(case: Case, spread: float) -> None:
    h = case[0]
    t, x = oracle.Tree(h.parent.tolist()), spread * numbers(case, len(h) - 1)

    def among_siblings(row: list[float]) -> list[float]:
        groups = {v: t.children[u] for u in t.nodes for v in t.children[u]}
        return [-log_sum([row[u - 1] - row[v - 1] for u in groups[v]]) for v in t.nodes[1:]]

    expected = rowwise(x, among_siblings)
    for backend in BACKENDS:
        check(values_of(backend, operations.sibling_log_softmax(h, make(backend, x))), expected, backend[1])


@QUICK
@given(h=trees())
def test_without_trivial_nodes(h: Hierarchy) -> None:
    t, small = oracle.Tree(h.parent.tolist()), h.without_trivial
    assert small.names.tolist() == h.names[t.candidates].tolist()
    assert (small is h) == (not h.is_trivial.any())
    for v, node in enumerate(t.candidates):
        assert [t.candidates[u] for u in small.children(v)] == t.answer_children(node)
    assert h.without_trivial is small


@QUICK
@given(h=trees(), seed=st.integers(0, 2**32 - 1))
def test_a_parent_never_has_less_than_its_child(h: Hierarchy, seed: int) -> None:
    x = np.random.default_rng(seed).lognormal(sigma=5, size=(3, len(h.leaves)))
    for backend in BACKENDS:
        share = values_of(backend, operations.leaf_shares(h, make(backend, x)))
        assert np.all(share[:, 0] == 1)
        assert np.all(share[:, 1:] <= share[:, h.parent[1:]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [1, 30])
def test_wide_trees_and_many_rows(dtype: Any, spread: float) -> None:
    random = np.random.default_rng(0)
    parent = np.concatenate([[-1], [random.integers(max(0, i - 200), i) for i in range(1, 4000)]])
    h = Hierarchy.from_parents([f"n{i}" for i in range(len(parent))], parent)
    assert len(h.leaves) > 1000
    theta = (spread * random.standard_normal((300, len(h.leaves)))).astype(dtype)
    theta[7, 5] = np.nan
    found = operations.leaf_softmax(h, theta)
    assert np.isnan(found[7]).all()
    good = np.delete(np.arange(300), 7)
    assert np.all(found[good, 0] == 1)
    assert np.all(found[good][:, h.parent[1:]] >= found[good, 1:])
    for row in (0, 150, 299):  # alone, as among others; and as its leaves add up
        assert np.array_equal(operations.leaf_softmax(h, theta[row]), found[row])
        p = np.exp(theta[row].astype(np.float64) - theta[row].max())
        expected = [math.fsum(p[(h.leaves >= v) & (h.leaves < h.end[v])]) / math.fsum(p) for v in range(len(h))]
        np.testing.assert_allclose(found[row], expected, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-13)


def test_scores_may_be_lists_integers_and_half_precision() -> None:
    assert as_scores([[1, 2]], 2, "node").dtype == np.float64
    assert as_scores(np.ones(2, dtype=np.float16), 2, "node").dtype == np.float32
    assert as_scores(np.ones(2, dtype=bool), 2, "node").dtype == np.float64
    assert as_scores(np.ones(2, dtype=np.longdouble), 2, "node").dtype == np.float64
    assert as_scores(torch.ones(2, dtype=torch.bfloat16), 2, "node").dtype == torch.float32
    assert as_scores(torch.ones(2, dtype=torch.int32), 2, "node").dtype == torch.float64


@pytest.mark.parametrize(
    "bad", [[["a", "b"]], np.ones((1, 2), dtype=complex), np.array([[None, 1]]), np.ones((2, 3)), 3.0, [[]]]
)
def test_what_is_no_score(bad: Any) -> None:
    with pytest.raises(ScoreError):
        as_scores(bad, 2, "node")


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("backend", BACKENDS, ids=repr)
def test_nothing_and_not_a_number_have_no_shares(backend: Any) -> None:
    h = Hierarchy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("a", "d")])
    shares = values_of(
        backend,
        operations.leaf_shares(h, make(backend, [[0, 0, 0], [1, math.nan, 0], [math.inf, 0, 1], [2, 1, 1]])),
    )
    assert np.isnan(shares[:3]).all()
    assert shares[3].tolist() == [1, 0.75, 0.5, 0.25, 0.25]


@pytest.mark.parametrize("module", [numpy_ops, torch_ops], ids=lambda module: module.__name__)
def test_each_kind_of_array_has_every_operation(module: ModuleType) -> None:
    wanted = {name for name in vars(ArrayOps) if not name.startswith("_")}
    missing = sorted(name for name in wanted if not hasattr(module, name))
    assert not missing, f"{module.__name__} lacks {missing}, which ArrayOps in arrays/interface.py declares"
