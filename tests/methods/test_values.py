"""Losses against the plain loops, run both ways; gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from hedgerow import methods
from hedgerow.methods import label_paths
from tests.methods.cases import CASES, TREES, Case, every_label, given_cut, ident, scores
from tests.strategies import trees


@pytest.fixture(params=["segments", "masks"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The two ways to run one definition."""
    monkeypatch.setattr(label_paths, "_masks_are_cheap", lambda *_: request.param == "masks")
    return str(request.param)


def test_every_method_is_in_the_table() -> None:
    assert {case.name for case in CASES} == set(methods.METHODS)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_loss_is_that_of_the_equation(case: Case) -> None:
    @seed(20220)
    @settings(max_examples=25, deadline=None, database=None)
    @given(h=trees(max_nodes=10), size=st.sampled_from([0.0, 1.0, 30.0, 1e4]), draw=st.integers(0, 1000))
    def check(h: object, size: float, draw: int) -> None:
        method = case.create(h)  # type: ignore[arg-type]
        labels = torch.arange(len(method.hierarchy))
        random = np.random.default_rng(draw)
        theta = torch.tensor(size * random.normal(size=(len(labels), len(method.outputs))))
        cut = given_cut(method, len(labels), draw)
        expected = case.losses(method.hierarchy, theta, labels, **cut)
        found = method.loss(theta, labels, **cut)
        assert found.dtype == torch.float64
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-9 * max(1.0, size))
        single = method.loss(theta.float(), labels, **cut)
        assert single.dtype == torch.float32
        np.testing.assert_allclose(single.numpy(), expected, rtol=1e-4, atol=2e-5 * max(1.0, size))

    check()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("tree", ["mixed", "chain"])
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_gradient_is_that_of_finite_differences(case: Case, tree: str) -> None:
    h = TREES[tree]
    method = case.create(h)
    labels = every_label(h)
    theta = scores(method, len(labels)).requires_grad_()
    cut = given_cut(method, len(labels))
    assert torch.autograd.gradcheck(lambda theta: method.loss(theta, labels, **cut), theta, fast_mode=True)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_extreme_scores_have_finite_losses_and_gradients(case: Case, tree: str) -> None:
    h = TREES[tree]
    method = case.create(h)
    labels = every_label(h)
    cut = given_cut(method, len(labels))
    signs = scores(method, len(labels), dtype=torch.float32).sign()
    for theta in (1e4 * signs, -1e4 * signs, torch.zeros_like(signs), torch.full_like(signs, 1e4)):
        theta.requires_grad_()
        loss = method.loss(theta, labels, **cut)
        torch.autograd.backward(loss.sum())
        assert loss.isfinite().all()
        assert (loss >= 0).all()
        assert theta.grad is not None
        assert theta.grad.isfinite().all()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_label_at_the_root_teaches_nothing(case: Case, tree: str) -> None:
    method = case.create(TREES[tree])
    if getattr(method, "label_smoothing", 0) > 0:
        pytest.skip("smoothing has a term for every leaf")
    theta = scores(method, 4, dtype=torch.float32).requires_grad_()
    loss = method.loss(theta, torch.zeros(4, dtype=torch.int64))
    torch.autograd.backward(loss.sum())
    assert theta.grad is not None
    assert not loss.any()
    assert not theta.grad.any()
