"""Pooling of events against slow definitions, dense and listed, on every scale."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from scipy import special

from hedgerow import Hierarchy, likelihood
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood import Likelihoods, Pooling, Treatment
from hedgerow.likelihood.pooling import _MODES

TREE = Hierarchy.from_json({"r": {"a": ["b", "c"], "d": ["e", "f", "g"]}})
pool: Any = likelihood.pool  # dense or sparse, as the likelihoods are
EVENTS = ["x", "y", "x", "z", "y", "x"]
Array = np.ndarray[Any, Any]


def leaves(seed: int = 0) -> Array:
    p: Array = np.random.default_rng(seed).dirichlet(np.full(5, 0.4), size=len(EVENTS))
    return p


def up(p: Array) -> Array:
    """Sum leaf probabilities up the tree, node by node."""
    rows = [
        [
            sum(p_leaf for leaf, p_leaf in zip(TREE.leaves, row, strict=True) if TREE.is_ancestor(v, leaf))
            for v in range(8)
        ]
        for row in p
    ]
    return np.array(rows)


def slow(p: Array, how: str) -> Array:
    """One row per event, in order of first appearance."""
    rows = []
    for event in dict.fromkeys(EVENTS):
        mine = np.array([row for row, name in zip(p, EVENTS, strict=True) if name == event])
        if how == "max":
            rows.append(up(mine).max(axis=0))
            continue
        pooled = {
            "mean": mine.mean(axis=0),
            "geometric": np.prod(mine, axis=0) ** (1 / len(mine)),
        }[how]
        rows.append(up(pooled[None] / pooled.sum())[0])
    return np.array(rows)


def test_every_mode_has_its_functions() -> None:
    assert set(_MODES) == set(get_args(Pooling)), "src/hedgerow/likelihood/pooling.py: Pooling and _MODES differ"


@pytest.mark.parametrize("how", get_args(Pooling))
@pytest.mark.parametrize("scale", ["probability", "log", "logit"])
def test_pooling_is_its_definition(how: Any, scale: Any) -> None:
    p = leaves()
    convert: Any = {"probability": np.asarray, "log": np.log, "logit": special.logit}[scale]
    with np.errstate(divide="ignore"):
        q = Likelihoods.of(TREE, convert(np.minimum(up(p), 1)), scale)
    if (how, scale) == ("geometric", "logit"):
        with pytest.raises(ParameterError, match="Pool them by mean or max"):
            pool(TREE, q, EVENTS, how)
        return
    pooled, names = pool(TREE, q, EVENTS, how)
    assert names.tolist() == ["x", "y", "z"]
    assert pooled.scale == scale
    assert pooled.treatment == Treatment(pool=how)
    assert np.allclose(pooled.probabilities(), slow(p, how), atol=1e-12)
    if scale == "probability":
        listed = likelihood.from_top(
            TREE, np.repeat(np.arange(6), 5), np.tile(TREE.leaves, 6), p.ravel(), rows=6, renormalise=True
        )
        sparse, again = pool(TREE, listed, EVENTS, how)
        assert again.tolist() == names.tolist()
        assert np.allclose(sparse.dense().values, slow(p, how), atol=1e-12)


def test_small_differences_from_certainty_survive_on_logs_and_logits() -> None:
    tree = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
    log = Likelihoods.of(tree, [[0, -1e-20, -46], [0, -3e-20, -46]], "log")
    pooled, _ = pool(tree, log, ["e", "e"])
    assert pooled.values[0, 1] == pytest.approx(-2e-20)
    logit = Likelihoods.of(tree, [[np.inf, 50.0, -50.0], [np.inf, 60.0, -60.0]], "logit")
    pooled, _ = pool(tree, logit, ["e", "e"])
    assert pooled.values[0].tolist() == pytest.approx([np.inf, 50 + np.log(2), -50 - np.log(2)], abs=1e-4)


def test_listed_classes() -> None:
    """What one example does not list is 0 there; own masses of inner nodes stay theirs."""
    q = likelihood.from_top(TREE, [0, 0, 1, 1, 2], ["b", "d", "b", "c", "e"], [0.6, 0.3, 0.2, 0.6, 1.0], rows=3)
    mean, _ = pool(TREE, q, ["m", "m", "n"])
    names = dict(zip(TREE.names.tolist(), mean.dense().values[0].tolist(), strict=True))
    assert names == pytest.approx({"r": 1, "a": 0.7, "b": 0.4, "c": 0.3, "d": 0.15, "e": 0, "f": 0, "g": 0})
    geometric, _ = pool(TREE, q, ["m", "m", "n"], "geometric")
    own = {"b": (0.6 * 0.2) ** 0.5, "r": (0.1 * 0.2) ** 0.5}  # listed, or left over, in both
    b = own["b"] / sum(own.values())
    found = dict(zip(TREE.names.tolist(), geometric.dense().values[0].tolist(), strict=True))
    assert found == pytest.approx({"r": 1, "a": b, "b": b, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0})


def test_events_that_agree_on_nothing_are_the_root() -> None:
    p = np.array([[1.0, 0, 0, 0, 0], [0, 1, 0, 0, 0]])
    dense, _ = pool(TREE, likelihood.from_leaves(TREE, p), ["e", "e"], "geometric")
    assert np.asarray(dense).tolist() == [[1, 0, 0, 0, 0, 0, 0, 0]]
    listed = likelihood.from_top(TREE, [0, 1], ["b", "c"], [1.0, 1.0], rows=2)
    sparse, _ = pool(TREE, listed, ["e", "e"], "geometric")
    assert sparse.dense().values.tolist() == [[1, 0, 0, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize("sparse", [False, True])
def test_no_child_exceeds_its_parent(sparse: bool) -> None:
    p = np.random.default_rng(1).dirichlet(np.full(5, 0.1), size=3000)
    events = np.random.default_rng(2).integers(300, size=3000)
    q = likelihood.from_leaves(TREE, p)
    if sparse:
        entries = np.repeat(np.arange(3000), 5), np.tile(TREE.leaves, 3000), p.ravel()
        q = likelihood.from_top(TREE, *entries, rows=3000, renormalise=True)
    pooled, _ = pool(TREE, q, events)
    values = np.asarray(pooled.dense() if sparse else pooled)
    assert (values[:, 1:] <= values[:, TREE.parent[1:]]).all()


def test_bad_input() -> None:
    q = likelihood.from_leaves(TREE, leaves())
    with pytest.raises(ParameterError, match="pooled by mean, geometric, max, not by 'median'"):
        pool(TREE, q, EVENTS, "median")
    with pytest.raises(ScoreError, match="one entry per example, 6; got 2"):
        pool(TREE, q, ["a", "b"])
    pooled, names = pool(TREE, q, EVENTS)
    with pytest.raises(ParameterError, match="already been pooled"):
        pool(TREE, pooled, names)
    with pytest.raises(ParameterError, match="A temperature comes first"):
        likelihood.tempered(TREE, pooled, 2.0)
