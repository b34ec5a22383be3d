"""The events of each family give, at any threshold, what the rule answers there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.choose.families import FAMILIES
from hedgerow.infer import Candidates
from hedgerow.likelihood import Likelihoods, Scale, from_probability
from hedgerow.tree import Settings
from tests.tree_strategies import parent_lists, plain_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.tree import SingleChild


@st.composite
def examples(draw: st.DrawFn) -> tuple[hr.Hierarchy, NDArray[np.float64]]:
    parent = draw(parent_lists(12))
    h = hr.Hierarchy.from_parents(plain_names(len(parent)), parent)
    rows = draw(st.integers(1, 4))
    coarse = draw(st.booleans())  # many ties
    seed = draw(st.integers(0, 2**32 - 1))
    q = np.random.default_rng(seed).random((rows, len(h)))
    q = np.round(q * 4) / 4 if coarse else q
    q[:, 0] = 1
    return h, q


@given(case=examples(), tau=st.floats(0, 1))
def test_climbing(case: tuple[hr.Hierarchy, NDArray[np.float64]], tau: float) -> None:
    h, q = case
    events = FAMILIES["climbing"].events(Likelihoods.of(h, q), np.zeros(len(q), int), Candidates.of(h))
    for t in (tau, 0.0, *events.score):
        assert events.answers_above(t).tolist() == hr.infer.climbing(h, q, t).tolist()


@pytest.mark.parametrize("single_child", ["skip", "answer"])
@given(case=examples(), tau=st.floats(0, 1), share=st.floats(0, 1))
def test_climbing_among_listed_classes(
    single_child: SingleChild, case: tuple[hr.Hierarchy, NDArray[np.float64]], tau: float, share: float
) -> None:
    h, values = case
    row, node = np.nonzero(np.random.default_rng(0).random(values.shape) < share)  # leaves are often missing
    q = hr.likelihood.from_lineages(h, row, node, values[row, node], rows=len(values))
    events = FAMILIES["climbing"].events(
        q, np.zeros(len(q), int), Candidates.of(h, Settings(single_child=single_child))
    )
    for t in (tau, 0.0, *events.score):
        answers = hr.infer.climbing(h, q, t, single_child=single_child)
        assert events.answers_above(t).tolist() == answers.tolist()


@given(case=examples(), lam=st.floats(0, 50))
def test_expected_information(case: tuple[hr.Hierarchy, NDArray[np.float64]], lam: float) -> None:
    h, q = case
    candidates = Candidates.of(h)
    events = FAMILIES["expected-information"].events(Likelihoods.of(h, q), np.zeros(len(q), int), candidates)
    answers = events.answers_above(lam)
    expected = hr.infer.expected_information(h, q, lam)
    value = (h.information() + lam) * q
    rows = np.arange(len(q))
    # The same, or as good but for rounding.
    np.testing.assert_allclose(value[rows, answers], value[rows, expected], rtol=1e-12, atol=1e-12)
    near = np.isclose(np.min(np.abs(np.append(events.score, np.inf) - lam)), 0, atol=1e-9)
    if not near and len(np.unique(q[:, 1:])) == q[:, 1:].size:
        assert answers.tolist() == expected.tolist()
    end = np.cumsum(events.count)
    for first, last in zip(end - events.count, end, strict=True):
        assert (np.diff(events.score[first:last]) <= 0).all()


@pytest.mark.parametrize("scale", ["log", "logit"])
def test_other_scales(scale: Scale) -> None:
    h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    q = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    q = np.asarray(hr.likelihood.from_leaves(h, q))
    other = Likelihoods.of(h, from_probability(q, scale), scale)
    candidates = Candidates.of(h)
    nowhere = np.zeros(50, dtype=int)
    for family in FAMILIES.values():
        plain = family.events(Likelihoods.of(h, q), nowhere, candidates)
        mapped = family.events(other, nowhere, candidates)
        assert plain.node.tolist() == mapped.node.tolist()
        if family.is_lambda:
            np.testing.assert_allclose(plain.score, mapped.score, rtol=1e-9)
    assert FAMILIES["threshold"].grid(scale)[-1] == -np.inf
    assert FAMILIES["expected-information"].grid(scale)[-1] == 0
