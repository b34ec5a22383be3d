"""Names bind columns to nodes, whatever kind of table brings them."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import hedgerow as hr
from hedgerow.errors import HedgerowError, ParameterError, ScoreError, UnknownNameError, some

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

EDGES = [("root", "wolf"), ("root", "pet"), ("pet", "dog"), ("pet", "cat"), ("wolf", "grey"), ("wolf", "red")]
H = hr.Hierarchy.from_edges(EDGES)
NODES: list[str] = H.names.tolist()
LEAVES: list[str] = H.names[H.leaves].tolist()
ORDER = sorted(NODES)
P = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
Q: NDArray[np.float64] = np.asarray(hr.likelihood.from_leaves(H, P))
LABELS = ["dog", "cat", "grey", "red", "pet", "dog"]


class Polars:
    """What Polars offers: a list of column names, and values."""

    def __init__(self, columns: Sequence[str], values: NDArray[Any]) -> None:
        self.columns = list(columns)
        self._values = values

    def to_numpy(self) -> NDArray[Any]:
        return self._values


class Coordinate:
    def __init__(self, values: Sequence[str]) -> None:
        self.values = np.array(values)


class XArray:
    """What xarray offers: named dimensions, some of which have coordinates."""

    dims = ("example", "node")

    def __init__(self, columns: Sequence[str], values: NDArray[Any]) -> None:
        self.coords = {"node": Coordinate(columns)}
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._values, dtype=dtype, copy=copy)


class ArrowStream:
    """What any table with Arrow's C interface offers, and nothing else."""

    def __init__(self, columns: Sequence[str], values: NDArray[Any]) -> None:
        self._table = arrow(columns, values)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def frame(columns: Sequence[str], values: NDArray[Any]) -> pd.DataFrame:
    return pd.DataFrame(values, columns=list(columns))


def arrow(columns: Sequence[str], values: NDArray[Any]) -> Any:
    return pa.table(list(values.T), names=list(columns))


def structured(columns: Sequence[str], values: NDArray[Any]) -> NDArray[Any]:
    return frame(columns, values).to_records(index=False)


KINDS: dict[str, Callable[[Sequence[str], NDArray[Any]], Any]] = {
    "pandas": frame,
    "pandas nullable": lambda c, v: frame(c, v).convert_dtypes(),
    "pandas on Arrow": lambda c, v: frame(c, v).convert_dtypes(dtype_backend="pyarrow"),
    "pandas categorical columns": lambda c, v: pd.DataFrame(v, columns=pd.CategoricalIndex(c)),
    "Polars": Polars,
    "Arrow table": arrow,
    "Arrow batch": lambda c, v: arrow(c, v).to_batches()[0],
    "Arrow stream": ArrowStream,
    "xarray": XArray,
    "dictionary": lambda c, v: dict(zip(c, v.T.tolist(), strict=True)),
    "structured array": structured,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def nodes(kind: str, names: Sequence[str] = ORDER) -> Any:
    """Q as a table, its columns in the order of the names."""
    return KINDS[kind](names, Q[:, H.indices(list(names))])


def leaves(kind: str) -> Any:
    order = sorted(LEAVES)
    return KINDS[kind](order, P[:, [LEAVES.index(name) for name in order]])


def test_the_order_of_these_tests_is_not_that_of_the_tree() -> None:
    assert ORDER != NODES
    assert sorted(LEAVES) != LEAVES


@every_kind
def test_leaves(kind: str) -> None:
    np.testing.assert_array_equal(hr.likelihood.from_leaves(H, leaves(kind)), Q)
    order = sorted(LEAVES)
    np.testing.assert_array_equal(hr.likelihood.from_leaves(H, leaves(kind), classes=order), Q)
    with pytest.raises(ParameterError, match="column names of the table differ"):
        hr.likelihood.from_leaves(H, leaves(kind), classes=LEAVES)


@every_kind
def test_everything_that_takes_likelihoods(kind: str) -> None:
    table = nodes(kind)
    expected = hr.operating_curve(H, Q, LABELS)
    found = hr.operating_curve(H, table, LABELS)
    np.testing.assert_array_equal(found.threshold, expected.threshold)
    np.testing.assert_array_equal(found.correct, expected.correct)
    assert hr.evaluate(H, table, LABELS).summary() == hr.evaluate(H, Q, LABELS).summary()
    for rule in (hr.infer.leaf, hr.infer.majority, hr.infer.plurality, hr.infer.expected_information):
        np.testing.assert_array_equal(rule(H, table), rule(H, Q))
    builder = hr.CurveBuilder(H)
    builder.update(table, LABELS)
    np.testing.assert_array_equal(builder.compute().correct, expected.correct)


@every_kind
def test_the_root_may_be_missing(kind: str) -> None:
    without = [name for name in ORDER if name != "root"]
    np.testing.assert_array_equal(hr.infer.majority(H, nodes(kind, without)), hr.infer.majority(H, Q))
    with np.errstate(divide="ignore"):
        logs = KINDS[kind](without, np.log(Q[:, H.indices(without)]))
        found = hr.infer.majority(H, logs, scale="log")
    np.testing.assert_array_equal(found, hr.infer.majority(H, np.log(Q), scale="log"))


LINKS = {
    "flat_softmax": H.leaves,
    "multilabel": np.arange(1, len(H)),
    "conditional_softmax": np.arange(1, len(H)),
    "conditional_sigmoid": np.arange(1, len(H)),
    "deep_rtc": np.arange(1, len(H)),
    "ps_softmax": np.arange(1, len(H)),
    "softmax_over_nodes": np.arange(len(H)),
}


@every_kind
@pytest.mark.parametrize("name", LINKS)
def test_links(name: str, kind: str) -> None:
    link, outputs = getattr(hr.likelihood, name), LINKS[name]
    theta = np.random.default_rng(1).normal(size=(5, len(outputs)))
    order = np.argsort(H.names[outputs])
    table = KINDS[kind](H.names[outputs][order].tolist(), theta[:, order])
    np.testing.assert_array_equal(link(H, table), link(H, theta))
    with pytest.raises(UnknownNameError, match=r"Columns must be the \d (leaves|nodes)"):
        link(H, KINDS[kind](["x", *H.names[outputs][order].tolist()[1:]], theta))


def test_one_row() -> None:
    row = frame(sorted(LEAVES), P[:, [LEAVES.index(name) for name in sorted(LEAVES)]]).iloc[2]
    np.testing.assert_array_equal(hr.likelihood.from_leaves(H, row), Q[2])


def test_columns_without_names() -> None:
    np.testing.assert_array_equal(hr.likelihood.from_leaves(H, pd.DataFrame(P)), Q)
    unnamed = XArray([], P)
    unnamed.coords = {}
    np.testing.assert_array_equal(hr.likelihood.from_leaves(H, unnamed), Q)
    for tensor in (torch.from_numpy(P), P, P.tolist()):
        np.testing.assert_array_equal(hr.likelihood.from_leaves(H, tensor), Q)


def test_numbers_in_another_order_are_names() -> None:
    moved = [pd.DataFrame(P).iloc[:, ::-1], pd.DataFrame(P)[[2, 0, 1, 3]], pd.DataFrame(P, columns=range(1, 5))]
    for table in moved:
        with pytest.raises(UnknownNameError, match=r"4 missing .*; 4 not leaves of the tree \('\d', '\d'"):
            hr.likelihood.from_leaves(H, table)
    numbered = hr.Hierarchy.from_edges([("r", "1"), ("r", "2"), ("r", "0")])
    table = pd.DataFrame(P[:, :3], columns=[0, 2, 1])
    found = hr.likelihood.from_leaves(numbered, table, renormalise=True)
    expected = hr.likelihood.from_leaves(numbered, P[:, [2, 1, 0]], renormalise=True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (frame(["dog", "dog", "grey", "red"], P), "1 repeated ('dog'); 1 missing ('cat')"),
        (arrow(["dog", "dog", "grey", "red"], P), "1 repeated ('dog'); 1 missing ('cat')"),
        (frame(LEAVES, P).assign(label="dog"), "1 not leaves of the tree ('label')"),
        (
            frame([*LEAVES[:3], "catt"], P),
            "1 missing ('cat'); 1 not leaves of the tree ('catt'). Did you mean 'cat'?",
        ),
        (pd.DataFrame(P, columns=pd.MultiIndex.from_product([["p"], LEAVES])), "get_level_values(-1)"),
        (frame(NODES, Q), "These are all nodes: if they are likelihoods, use them directly."),
        (pa.table({}), "4 missing"),
        ({}, "4 missing"),
    ],
)
def test_columns_that_are_not_the_leaves(table: Any, said: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        hr.likelihood.from_leaves(H, table)
    assert said in str(caught.value)


@every_kind
def test_leaves_where_nodes_are_wanted(kind: str) -> None:
    for use in (
        partial(hr.infer.leaf, H),
        lambda table, **scale: hr.evaluate(H, table, LABELS, **scale),
        lambda table, **scale: hr.operating_curve(H, table, LABELS, **scale),
    ):
        with pytest.raises(UnknownNameError, match=r"These are the leaves: .* sums their probabilities"):
            use(leaves(kind), scale="log")
        found, expected = use(leaves(kind)), use(hr.likelihood.from_leaves(H, frame(LEAVES, P)))
        if isinstance(found, np.ndarray):
            np.testing.assert_array_equal(found, expected)
        else:
            assert found.summary() == expected.summary()


def test_a_classifier_that_never_saw_some_leaves() -> None:
    known, p = ["grey", "cat"], np.array([[0.25, 0.75], [0.5, 0.5]])
    full = np.zeros((2, len(LEAVES)))
    full[:, [LEAVES.index(name) for name in known]] = p
    expected = hr.likelihood.from_leaves(H, full, LEAVES)
    others = some(name for name in LEAVES if name not in known)
    missing = re.escape(f"2 leaves have no column, and so probability 0: {others}.")
    with pytest.warns(UserWarning, match=missing) as said:
        np.testing.assert_array_equal(hr.likelihood.from_leaves(H, p, known), expected)
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match=missing):
        np.testing.assert_array_equal(hr.likelihood.from_leaves(H, frame(known, p)), expected)
    with pytest.warns(UserWarning, match=missing):
        found = hr.evaluate(H, p, [0, 1], classes=known)  # the labels are positions in the names of the columns
    assert found.summary() == hr.evaluate(H, expected, known).summary()
    with pytest.warns(UserWarning, match=missing):
        assert hr.operating_curve(H, p, known, classes=known).summary() == found.curve.summary()
    with pytest.warns(UserWarning, match=missing):
        point = hr.select(H, p, known, classes=known, target=("correct", 0.5), guarantee="empirical")
    assert point == hr.select(H, expected, known, target=("correct", 0.5), guarantee="empirical")
    with pytest.raises(
        ScoreError,
        match=r"at least 2\)\. 2 leaves have no column.* use likelihood\.from_columns",
    ):
        hr.likelihood.from_leaves(H, 0.8 * p, known)
    with pytest.raises(ScoreError, match=r"For probabilities of the 4 leaves, use likelihood\.from_leaves"):
        hr.evaluate(H, full, known)
    with pytest.raises(ScoreError, match=r"some of the leaves, name the columns: classes="):
        hr.evaluate(H, p, known)
    with pytest.raises(ScoreError, match=r"If some leaves have no column, name the columns: classes="):
        hr.likelihood.from_leaves(H, p)
    with pytest.raises(UnknownNameError, match=r"must be the 4 leaves.* 1 not leaves of the tree \('eel'\)"):
        hr.evaluate(H, p, known, classes=["grey", "eel"])


def test_columns_that_are_some_of_the_groups() -> None:
    for use in (partial(hr.likelihood.from_leaves, H), lambda table: hr.evaluate(H, table, LABELS)):
        with pytest.raises(
            UnknownNameError, match=r"probability of its class itself, use likelihood\.from_columns"
        ):
            use(frame(["wolf", "pet"], P[:, :2]))


def test_the_path_of_a_score_file_is_no_table() -> None:
    for use in (hr.infer.leaf, partial(hr.evaluate, labels=LABELS)):
        with pytest.raises(ParameterError, match=r"must be opened first: hedgerow\.open_scores"):
            use(H, "scores.csv")


def test_columns_that_are_not_numbers() -> None:
    for table in (frame(LEAVES, P).astype(str), arrow(LEAVES, P.astype(str)), frame(LEAVES, P).astype(object)):
        with pytest.raises(ScoreError, match="must be numbers"):
            hr.likelihood.from_leaves(H, table)


def test_numbers_that_are_missing() -> None:
    table = frame(LEAVES, P).convert_dtypes()
    table.iloc[1, 2] = pd.NA
    arrow_table = pa.table(
        [[None if x == P[1, 2] else x for x in column] for column in P.T.tolist()], names=LEAVES
    )
    for given in (table, arrow_table):
        with pytest.raises(ScoreError, match=rf"row 1 has no number \(NaN\) for '{LEAVES[2]}'"):
            hr.likelihood.from_leaves(H, given)


def test_a_data_set_is_not_an_array() -> None:
    data = XArray(LEAVES, P)
    data.data_vars = {}  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="pass the one with the scores"):
        hr.likelihood.from_leaves(H, data)


# Sums ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [np.asarray, torch.tensor, lambda values: torch.tensor(values, dtype=torch.float32)]
)
def test_rows_are_divided_by_their_sum(make: Callable[[Any], Any]) -> None:
    votes: list[list[list[float]]]
    votes = [[[1, 2, 3, 4], [0, 0, 9, 0]], [[0.33, 0.33, 0.33, 0], [25, 25, 25, 25]]]
    found = hr.likelihood.from_leaves(H, make(votes), renormalise=True)
    shares = [[[x / sum(row) for x in row] for row in rows] for rows in votes]
    np.testing.assert_allclose(np.asarray(found)[..., H.leaves], shares, rtol=1e-6)
    with pytest.raises(
        ScoreError,
        match=r"row 0 has 2 for 'red'.*use renormalise=True, which divides each row by its sum. If",
    ):
        hr.likelihood.from_leaves(H, make(votes))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([0.0, 0, 0, 0], "must have a positive sum; row 0 sums to 0"),
        ([-1.0, 2, 0, 0], "must be finite, and 0 or more; row 0 has -1 for"),
        ([np.nan, 2, 0, 0], r"must be finite, and 0 or more; row 0 has no number \(NaN\)"),
        ([np.inf, 2, 0, 0], "must be finite, and 0 or more; row 0 has inf"),
    ],
)
def test_rows_that_cannot_be_divided(row: list[float], said: str) -> None:
    with pytest.raises(HedgerowError, match=said):
        hr.likelihood.from_leaves(H, [row], renormalise=True)


def test_probabilities_are_not_taken_for_logits() -> None:
    with pytest.raises(ScoreError) as caught:
        hr.likelihood.from_leaves(H, [[0.33, 0.33, 0.33, 0.0]])
    assert str(caught.value).endswith("use renormalise=True, which divides each row by its sum.")
