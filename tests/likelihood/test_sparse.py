"""Sparse likelihoods: sums of a few classes, lineages, columns at any depth, restriction to some classes."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Hierarchy, likelihood
from hedgerow.errors import HedgerowError, ParameterError, ScoreError, UnknownNameError
from hedgerow.likelihood import Likelihoods, SparseLikelihoods
from tests import oracle
from tests.sparse_strategies import sparse_likelihoods, sparse_of
from tests.strategies import QUICK, likelihoods, trees

if TYPE_CHECKING:
    from collections.abc import Callable

PETS = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])


def dense(q: SparseLikelihoods) -> list[list[float]]:
    values: list[list[float]] = np.asarray(q.dense().values).tolist()
    return values


# From the top ----------------------------------------------------------------------------------------------


@settings(QUICK, max_examples=100)
@given(data=st.data())
def test_all_leaves_give_the_bits_of_from_leaves(data: st.DataObject) -> None:
    h = data.draw(trees())
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    rows = data.draw(st.integers(1, 5))
    p = random.dirichlet(np.full(len(h.leaves), data.draw(st.sampled_from([0.05, 1.0, 30.0]))), size=rows)
    row, leaf = np.divmod(random.permutation(p.size), len(h.leaves))
    found = likelihood.from_top(h, row, h.leaves[leaf], p[row, leaf], rows=rows)
    assert np.array_equal(found.dense().values, likelihood.from_leaves(h, p))
    columns = likelihood.from_columns(h, p, h.names[h.leaves])
    np.testing.assert_allclose(columns, likelihood.from_leaves(h, p), rtol=0, atol=1e-15)
    by_name = likelihood.from_top(h, row, h.names[h.leaves[leaf]], p[row, leaf], rows=rows)
    assert dense(by_name) == dense(found)


@settings(QUICK, max_examples=100)
@given(data=st.data())
def test_own_mass_counts_for_a_node_and_its_ancestors(data: st.DataObject) -> None:
    h = data.draw(trees())
    t = oracle.Tree(h.parent.tolist())
    listed = data.draw(st.lists(st.lists(st.integers(0, len(h) - 1), unique=True, max_size=8), min_size=1))
    entries = [(row, node, data.draw(st.integers(0, 8))) for row, nodes in enumerate(listed) for node in nodes]
    row, node, eighths = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    q = likelihood.from_top(h, row, node, eighths / 64, rows=len(listed))
    expected = [
        [1.0] + [sum(m for r, u, m in entries if r == i and v in t.ancestors(u)) / 64 for v in t.nodes[1:]]
        for i in range(len(listed))
    ]
    assert dense(q) == expected
    assert len(q) == len(listed)
    assert np.all(q.value > 0)


def test_sums_are_exact_in_any_order() -> None:
    random = np.random.default_rng(0)
    p = random.dirichlet(np.ones(2), size=1000) * 0.9
    row = np.repeat(np.arange(1000), 2)
    order = random.permutation(2000)
    a = likelihood.from_top(PETS, row, np.tile([2, 3], 1000), p.ravel(), rows=1000)
    b = likelihood.from_top(PETS, row[order], np.tile([2, 3], 1000)[order], p.ravel()[order], rows=1000)
    assert np.array_equal(a.value, b.value)
    exact = [float(sum(int(Fraction(x) * 2**62) for x in pair) / Fraction(2**62)) for pair in p.tolist()]
    assert a.dense().values[:, 1].tolist() == exact


def test_mass_outside_the_tree_and_at_the_root_stays_at_the_root() -> None:
    names = ["cat", "blank", "root", "vehicle"]
    q = likelihood.from_top(PETS, [0] * 4, names, [0.25] * 4, rows=2, outside=["vehicle", "blank"])
    assert dense(q) == [[1, 0.25, 0.25, 0, 0], [1, 0, 0, 0, 0]]
    votes = likelihood.from_top(PETS, [0, 0], ["cat", "blank"], [1, 3], rows=1, outside="blank", renormalise=True)
    assert dense(votes) == [[1, 0.25, 0.25, 0, 0]]


def test_sums_a_little_above_1_are_divided_out() -> None:
    q = likelihood.from_top(PETS, [0, 0], ["cat", "wolf"], [0.5, 0.501], rows=1)
    np.testing.assert_allclose(dense(q), [[1, 0.5 / 1.001, 0.5 / 1.001, 0, 0.501 / 1.001]], rtol=1e-15)
    votes = likelihood.from_top(PETS, [1, 1, 1], ["cat", "dog", "wolf"], [3, 1, 4], rows=2, renormalise=True)
    assert dense(votes) == [[1, 0, 0, 0, 0], [1, 0.5, 0.375, 0.125, 0.5]]
    tiny = likelihood.from_top(PETS, [0, 0], ["cat", "wolf"], [5e-324, 5e-324], rows=1, renormalise=True)
    assert dense(tiny) == [[1, 0.5, 0.5, 0, 0.5]]
    assert dense(likelihood.from_top(PETS, [0], ["cat"], [1e-300], rows=1)) == [[1, 0, 0, 0, 0]]  # below the unit


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (([0, 1, 1], ["caat", "cat", "caat"], [0.1] * 3), "'caat', listed by 2 examples. Did you mean 'cat'?"),
        (([0, 1, 1], ["dog", "blank", "van"], [0.1] * 3), "2 classes are not in the tree: 'blank' and 'van'"),
        (([0, 1, 1], ["dog", "cat", "cat"], [0.1] * 3), "Example 1 lists 'cat' more than once"),
        (([0, 1, 1], [3, 2, 2], [0.1] * 3), "Example 1 lists 'cat' more than once"),
        (([0, 1, 1], ["dog", "cat", "wolf"], [0.1, 0.6, 0.7]), "at most 1 within 0.001; example 1 sums to 1.3."),
        (([0, 1, 1], ["dog", "cat", "wolf"], [0.1, -0.5, 0.7]), "example 1 has -0.5 for 'cat'"),
        (([0, 1, 1], ["dog", "cat", "wolf"], [0.1, np.nan, 0.7]), "example 1 has no number (NaN) for 'cat'"),
        (([0, 1, 1], ["dog", "cat", "wolf"], [0.1, np.inf, 0.7]), "example 1 has inf for 'cat'"),
        (([0, 1, 2], ["dog", "cat", "wolf"], [0.1] * 3), "2 is not the number of an example: with"),
        (([0, 1, -1], ["dog", "cat", "wolf"], [0.1] * 3), "-1 is not the number of an example"),
        (([0, 1.5, 1], ["dog", "cat", "wolf"], [0.1] * 3), "row must hold the number"),
        (([0, 1], ["dog", "cat", "wolf"], [0.1] * 3), "one value per entry"),
        (([0, 1, 1], [1, 2, 5], [0.1] * 3), "5 is not a node index"),
        (([0, 1, 1], [1.0, 2.0, 3.0], [0.1] * 3), "by name or by node index"),
        (([0, 1, 1], ["dog", "cat", None], [0.1] * 3), "1 class is not in the tree: 'None'"),
        (([0, 1, 1], ["dog", "cat", "wolf"], ["0.1"] * 3), "Scores must be numbers"),
    ],
)  # fmt: skip
def test_entries_that_are_refused(entries: Any, message: str) -> None:
    with pytest.raises(HedgerowError, match=re.escape(message)):
        likelihood.from_top(PETS, *entries, rows=2)


def test_declared_classes_outside_the_tree_are_refused_inside_it() -> None:
    with pytest.raises(UnknownNameError, match="'cat' is in the tree"):
        likelihood.from_top(PETS, [0], ["cat"], [0.5], rows=1, outside=["cat"])
    with pytest.raises(ScoreError, match="'blank' more than once"):
        likelihood.from_top(PETS, [0, 0], ["blank", "blank"], [0.5, 0.2], rows=1, outside=["blank"])


def test_tables_and_tensors() -> None:
    table = pd.DataFrame({"row": [0, 0], "class": ["cat", "wolf"], "score": [0.5, 0.25]})
    for strings in ("object", "string", "category"):
        classes = table["class"].astype(strings)
        q = likelihood.from_top(PETS, table["row"], classes, table["score"], rows=1)
        assert dense(q) == [[1, 0.5, 0.5, 0, 0.25]]
    tensors = [torch.tensor(x) for x in ([0, 0], [2, 4], [0.5, 0.25])]
    assert dense(likelihood.from_top(PETS, *tensors, rows=1)) == dense(q)


def test_no_entries() -> None:
    assert len(likelihood.from_top(PETS, [], [], [], rows=0)) == 0
    assert dense(likelihood.from_top(PETS, [], [], [], rows=2)) == [[1, 0, 0, 0, 0]] * 2
    assert dense(likelihood.from_lineages(PETS, [], [], [], rows=1)) == [[1, 0, 0, 0, 0]]
    assert dense(likelihood.from_top(PETS, [0], ["root"], [1.0], rows=1)) == [[1, 0, 0, 0, 0]]


# Lineages --------------------------------------------------------------------------------------------------


@QUICK
@given(data=st.data())
def test_lineages_of_what_a_dense_row_holds(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods())
    values = np.asarray(q.dense().values)
    row, node = np.divmod(np.random.default_rng(0).permutation(values.size), len(h))
    found = likelihood.from_lineages(h, row, node, values[row, node], rows=len(q), scale=q.scale)
    for name in ("start", "node", "value"):
        assert np.array_equal(getattr(found, name), getattr(q, name))
    t = oracle.Tree(h.parent.tolist())
    grows = [
        any(p[v] > p[u] > likelihood.BOTTOM[q.scale] for v in t.nodes for u in t.ancestors(v) - {t.root, v})
        for p in values.tolist()
    ]
    assert q.growing().tolist() == grows


def test_lineages_that_are_refused() -> None:
    with pytest.raises(ScoreError, match=r"between 0 and 1; example 1 has 1.2 for 'cat'"):
        likelihood.from_lineages(PETS, [0, 1], ["dog", "cat"], [0.5, 1.2], rows=2)
    with pytest.raises(ScoreError, match=r"example 0 has no number \(NaN\) for 'dog'"):
        likelihood.from_lineages(PETS, [0, 1], ["dog", "cat"], [np.nan, -1.2], rows=2, scale="log")
    with pytest.raises(ParameterError, match="scale must be"):
        likelihood.from_lineages(PETS, [0], ["dog"], [0.5], rows=1, scale=["log"])  # type: ignore[arg-type]
    assert likelihood.from_lineages(PETS, [0], ["dog"], [1 + 1e-6], rows=1).value.tolist() == [1.0]


# The container ---------------------------------------------------------------------------------------------


@QUICK
@given(data=st.data())
def test_parts_of_it(data: st.DataObject) -> None:
    h, q = data.draw(sparse_likelihoods(max_rows=6))
    whole = np.asarray(q.dense().values)
    rows = data.draw(st.lists(st.integers(0, len(q) - 1)))
    mask = np.isin(np.arange(len(q)), rows)
    for which in (slice(1, 3), slice(None, None, 2), slice(4, 2), np.array(rows, dtype=np.int64), mask):
        assert np.array_equal(q[which].dense().values, whole[which])
    again = SparseLikelihoods.concatenate([q[:2], q[2:], q[:0]])
    assert np.array_equal(again.dense().values, whole)
    copy = pickle.loads(pickle.dumps(q))  # noqa: S301
    assert np.array_equal(copy.dense().values, whole)
    nodes = np.resize(data.draw(st.lists(st.integers(0, len(h) - 1), min_size=1)), len(q))
    assert q.at(nodes).tolist() == np.asarray(q.dense().at(nodes)).tolist()
    assert Likelihoods.of(h, q) is q


@QUICK
@given(drawn=sparse_likelihoods())
def test_nearest_listed_ancestors(drawn: tuple[Hierarchy, SparseLikelihoods]) -> None:
    h, q = drawn
    t = oracle.Tree(h.parent.tolist())
    for place, above in enumerate(q.above.tolist()):
        row = q.row[place]
        listed = {int(q.node[i]): i for i in range(q.start[row], q.start[row + 1])}
        path = [v for v in t.path(int(q.node[place]))[1:] if v in listed]
        assert above == (listed[path[0]] if path else -1)


def test_ancestors_along_a_chain_of_many_levels() -> None:
    """A leaf hangs from every level; in preorder, that of the root comes after all of the chain."""
    levels, rows = 30_000, 4
    chain = [(f"n{i}", f"n{i + 1}") for i in range(levels)]
    h = Hierarchy.from_edges([*chain, *((f"n{i}", f"leaf {i}") for i in range(levels))])
    classes = [f"n{levels}", "leaf 1"] * rows
    q = likelihood.from_top(h, np.repeat(np.arange(rows), 2), classes, np.full(2 * rows, 0.5), rows=rows)
    listed = np.where(q.above < 0, 0, q.node[q.above])
    np.testing.assert_array_equal(listed, h.parent[q.node])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 2], [1], [0.5]), "start must hold"),
        (([0, 1, 0, 1], [1], [0.5]), "start must hold"),
        (([], [1], [0.5]), "start must hold"),
        (([0, 1], [0], [0.5]), "the root, 0, is never listed"),
        (([0, 1], [5], [0.5]), "must be 1 to 4"),
        (([0, 2], [2, 1], [0.5, 0.5]), "must ascend within each example; entry 1"),
        (([0, 2], [2, 2], [0.5, 0.5]), "must ascend within each example; entry 1"),
        (([0, 2], [1, 2], [0.5]), "one entry each"),
        (([0, 1, 3], [1, 1, 2], [0.5, 0.5, -1]), "example 1 has -1 for 'cat'"),
    ],
)
def test_arrays_that_are_refused(arrays: Any, message: str) -> None:
    with pytest.raises(ScoreError, match=re.escape(message)):
        SparseLikelihoods(PETS, *arrays)


def test_parts_that_do_not_belong_together() -> None:
    q = SparseLikelihoods(PETS, [0, 1], [1], [0.5])
    for other in (
        SparseLikelihoods(PETS, [0, 1], [1], [0.5], "log"),
        SparseLikelihoods(Hierarchy.from_edges([("a", "b")]), [0, 1], [1], [0.5]),
    ):
        with pytest.raises(ParameterError, match="same tree and scale"):
            SparseLikelihoods.concatenate([q, other])
    with pytest.raises(ParameterError, match="nothing to join"):
        SparseLikelihoods.concatenate([])


# Columns at any depth --------------------------------------------------------------------------------------


@QUICK
@given(data=st.data())
def test_columns_at_any_depth(data: st.DataObject) -> None:
    h = data.draw(trees(12))
    columns = data.draw(st.lists(st.integers(0, len(h) - 1), unique=True, min_size=1))
    rows = data.draw(st.integers(1, 3))
    eighths = np.array(
        data.draw(st.lists(st.integers(0, 4), min_size=rows * len(columns), max_size=rows * len(columns)))
    )
    p = eighths.reshape(rows, -1) / 64
    row = np.repeat(np.arange(rows), len(columns))
    expected = likelihood.from_top(h, row, np.tile(columns, rows), p.ravel(), rows=rows).dense().values
    names = h.names[columns].tolist()
    found: Callable[..., Any] = likelihood.from_columns
    assert np.array_equal(found(h, p, names), expected)
    assert np.array_equal(found(h, pd.DataFrame(p, columns=names)), expected)
    tensor = found(h, torch.tensor(p, dtype=torch.float32), names)
    assert tensor.dtype == torch.float32
    assert np.array_equal(tensor.numpy(), np.asarray(expected, dtype=np.float32))
    wider = np.concatenate([np.full((rows, 1), 0.25), p], axis=1)
    assert np.array_equal(found(h, wider, ["blank!", *names], outside=["blank!"]), expected)


def test_columns_that_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"1 not in the tree \('caat'\). Did you mean 'cat'"):
        likelihood.from_columns(PETS, [[0.1, 0.2]], ["caat", "dog"])
    with pytest.raises(UnknownNameError, match=r"1 repeated \('dog'\)"):
        likelihood.from_columns(PETS, [[0.1, 0.2]], ["dog", "dog"])
    with pytest.raises(UnknownNameError, match=r"declared outside, but in the tree \('dog'\)"):
        likelihood.from_columns(PETS, [[0.1, 0.2]], ["cat", "dog"], outside=["dog"])
    with pytest.raises(ScoreError, match=r"row 1 sums to 1\.2"):
        likelihood.from_columns(PETS, [[0.1, 0.2], [1, 0.2]], ["cat", "dog"])
    for bad, said in ((-0.5, "-0.5"), (np.nan, r"no number \(NaN\)")):
        with pytest.raises(ScoreError, match=f"row 1 has {said} for 'dog'"):
            likelihood.from_columns(PETS, [[0.1, 0.2], [1, bad]], ["cat", "dog"])
    with pytest.raises(ScoreError, match="columns need names"):
        likelihood.from_columns(PETS, [[0.1, 0.2]])
    with pytest.raises(ScoreError, match="no rows"):
        likelihood.from_columns(PETS, np.zeros((0, 2)), ["cat", "dog"])
    half = likelihood.from_columns(PETS, np.array([[1.01, 0]], dtype=np.float16), ["cat", "dog"])
    assert half.tolist() == [[1, 1, 1, 0, 0]]


# Restricted to some classes --------------------------------------------------------------------------------


@settings(QUICK, max_examples=100)
@given(data=st.data())
def test_restricted_to_some_nodes(data: st.DataObject) -> None:
    h = data.draw(trees(12))
    q = data.draw(likelihoods(h, lawful=True))
    nodes = data.draw(st.lists(st.integers(0, len(h) - 1), min_size=1))
    t = oracle.Tree(h.parent.tolist())
    kept = {v for node in nodes for v in t.descendants(node) | t.ancestors(node)}
    expected = []
    for p in q.tolist():
        own = {v: Fraction(p[v]) - sum(Fraction(p[u]) for u in t.children[v]) for v in t.nodes}
        mass = {v: m for v, m in own.items() if v in kept}
        whole = sum(mass.values())
        share = [sum(m for u, m in mass.items() if v in t.ancestors(u)) for v in t.nodes]
        expected.append([float(m / whole) if whole else float(v == 0) for v, m in enumerate(share)])
    found = likelihood.restrict(h, q, nodes)
    assert isinstance(found, Likelihoods)
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12)
    sparse = likelihood.restrict(h, sparse_of(h, q), h.names[nodes])
    assert isinstance(sparse, SparseLikelihoods)
    np.testing.assert_allclose(sparse.dense().values, expected, rtol=0, atol=1e-12)


def test_restricted_scores_keep_their_precision() -> None:
    p = np.array([[1e-15, 3e-15, 1 - 4e-15]])
    for q in (likelihood.from_leaves(PETS, p), np.log(likelihood.from_leaves(PETS, p))):
        scale: Any = "probability" if q[0, 0] == 1 else "log"
        found = likelihood.restrict(PETS, q, ["cat", "dog"], scale=scale)
        assert isinstance(found, Likelihoods)
        np.testing.assert_allclose(found.values, [[1, 1, 0.25, 0.75, 0]], rtol=1e-2)


def test_restricted_lineages_with_gaps_and_growth() -> None:
    chain = Hierarchy.from_paths(["a/b/c", "a/b/d", "a/e"])
    assert chain.names.tolist() == ["a", "b", "c", "d", "e"]
    # The second example says more of c than of b, which counts as much as b; the third says nothing of b.
    q = likelihood.from_lineages(chain, [0, 0, 1, 1, 2], list("bdbcc"), [0.75, 0.5, 0.5, 0.75, 0.5], rows=3)
    kept = likelihood.restrict(chain, q, ["c"])
    assert isinstance(kept, SparseLikelihoods)
    assert dense(kept) == [[1, 0.5, 0, 0, 0], [1, 0.5, 0.5, 0, 0], [1, 0.5, 0.5, 0, 0]]


def test_restrictions_that_are_refused() -> None:
    sigmoids = [[1, 0.9, 0.9, 0.9, 0.9]]
    with pytest.raises(ScoreError, match="children of 'root' sum to more than 'root' itself"):
        likelihood.restrict(PETS, sigmoids, ["cat"])
    with pytest.raises(ScoreError, match="children of 'pet' sum to more"):
        likelihood.restrict(PETS, sparse_of(PETS, np.array(sigmoids)), ["cat"])
    with pytest.raises(ParameterError, match="at least one node"):
        likelihood.restrict(PETS, [[1, 0.5, 0.5, 0, 0.5]], np.array([], dtype=np.int64))
    with pytest.raises(UnknownNameError, match="Did you mean 'cat'"):
        likelihood.restrict(PETS, [[1, 0.5, 0.5, 0, 0.5]], ["caat"])
