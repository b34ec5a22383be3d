"""What methods promise, and what follows from the equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from hedgerow import Hierarchy, methods
from tests.methods.cases import CASES, TREES, Case, every_label, given_cut, ident, scores

if TYPE_CHECKING:
    from torch import Tensor

    from hedgerow.methods.base import Law, Method

pytestmark = pytest.mark.parametrize("tree", TREES)


def promised(law: Law) -> pytest.MarkDecorator:
    h = TREES["mixed"]
    return pytest.mark.parametrize("case", [c for c in CASES if law in c.create(h).laws], ids=ident)


def likelihoods(method: Method) -> list[Tensor]:
    theta = scores(method, 20)
    extreme = 1e4 * theta.sign()
    return [method.likelihood(theta), method.likelihood(theta.float()), method.likelihood(extreme)]


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_likelihoods_are_likelihoods(case: Case, tree: str) -> None:
    h = TREES[tree]
    method = case.create(h)
    for q in likelihoods(method):
        assert q.shape == (20, len(h))
        assert (q[:, 0] == 1).all()
        assert ((q >= 0) & (q <= 1)).all()
    theta = scores(method, 20)
    torch.testing.assert_close(method.log_likelihood(theta).exp(), method.likelihood(theta))


@promised("parent covers child")
def test_no_child_exceeds_its_parent(case: Case, tree: str) -> None:
    h = TREES[tree]
    for q in likelihoods(case.create(h)):
        assert (q[:, h.parent[1:].tolist()] >= q[:, 1:]).all()


@promised("parent covers children")
def test_children_sum_to_no_more_than_their_parent(case: Case, tree: str) -> None:
    h = TREES[tree]
    for q in likelihoods(case.create(h)):
        total = torch.zeros_like(q).index_add(1, torch.tensor(h.parent[1:]), q[:, 1:])
        assert (total <= q + 1e-6).all()


@promised("leaves sum to 1")
def test_leaves_sum_to_one(case: Case, tree: str) -> None:
    h = TREES[tree]
    for q in likelihoods(case.create(h)):
        torch.testing.assert_close(q[:, h.leaves.tolist()].sum(1), torch.ones_like(q[:, 0]))


@promised("loss is -log q")
def test_loss_is_the_negative_log_likelihood_of_the_label(case: Case, tree: str) -> None:
    h = TREES[tree]
    method = case.create(h)
    labels = every_label(h)
    theta = scores(method, len(labels))
    expected = -method.log_likelihood(theta)[torch.arange(len(labels)), labels]
    torch.testing.assert_close(method.loss(theta, labels), expected)


def bulge(method: Method, labels: Tensor) -> Tensor:
    """How far the loss half-way between random scores lies above the mean of the losses at both ends."""
    rows = labels.repeat(40)
    a, b = scores(method, len(rows), seed=1), scores(method, len(rows), seed=2)
    given = given_cut(method, len(rows))
    ends = (method.loss(a, rows, **given) + method.loss(b, rows, **given)) / 2
    return (method.loss((a + b) / 2, rows, **given) - ends).max()


@promised("convex")
def test_loss_is_convex_for_every_label(case: Case, tree: str) -> None:
    h = TREES[tree]
    assert bulge(case.create(h), every_label(h)) < 1e-12


@promised("convex at leaves")
def test_loss_is_convex_for_leaf_labels(case: Case, tree: str) -> None:
    h = TREES[tree]
    assert bulge(case.create(h), torch.tensor(h.leaves)) < 1e-12


@promised("ignores shifts")
def test_adding_a_number_to_all_scores_changes_nothing(case: Case, tree: str) -> None:
    h = TREES[tree]
    method = case.create(h)
    labels = every_label(h)
    theta = scores(method, len(labels))
    torch.testing.assert_close(method.loss(theta + 7.5, labels), method.loss(theta, labels))
    torch.testing.assert_close(method.likelihood(theta + 7.5), method.likelihood(theta))


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_the_order_of_the_input_changes_nothing(case: Case, tree: str) -> None:
    h = TREES[tree]
    shuffled = np.random.default_rng(5).permutation(np.arange(1, len(h)))
    order = np.append(0, shuffled)
    other = Hierarchy.from_parents(h.names[order].tolist(), np.append(-1, np.argsort(order)[h.parent[shuffled]]))
    here, there = case.create(h), case.create(other)
    place = {name: i for i, name in enumerate(h.names[here.outputs])}
    columns = [place[name] for name in other.names[there.outputs]]
    nodes = h.indices(other.names)
    labels = every_label(h)
    theta = scores(here, len(labels))
    given = given_cut(here, len(labels))
    moved = {key: cut[nodes][:, nodes] for key, cut in given.items()}
    expected = here.loss(theta, labels, **given)[nodes]
    found = there.loss(theta[nodes][:, columns], torch.arange(len(other)), **moved)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(there.likelihood(theta[nodes][:, columns]), here.likelihood(theta)[nodes][:, nodes])


def test_hxe_without_discount_is_a_flat_softmax(tree: str) -> None:
    h = TREES[tree]
    assert_same_loss(methods.create("hxe", h, alpha=0.0), methods.create("flat-softmax", h))


def test_soft_labels_that_fall_off_at_once_are_a_flat_softmax(tree: str) -> None:
    h = TREES[tree]
    assert_same_loss(methods.create("soft-labels", h, beta=1e4), methods.create("flat-softmax", h))


def test_logit_adjustment_by_nothing_is_a_conditional_softmax(tree: str) -> None:
    h = TREES[tree]
    assert_same_loss(
        methods.create("logit-adjusted-conditional-softmax", h, tau=0.0), methods.create("conditional-softmax", h)
    )


def test_deep_rtc_without_cuts_has_the_loss_of_the_ps_softmax(tree: str) -> None:
    h = TREES[tree]
    assert_same_loss(methods.create("deep-rtc", h, cut_probability=0.0), methods.create("ps-softmax", h))


def assert_same_loss(method: Method, other: Method) -> None:
    labels = every_label(method.hierarchy)
    theta = scores(method, len(labels))
    torch.testing.assert_close(method.loss(theta, labels), other.loss(theta, labels))


def test_flat_softmax_at_leaves_is_cross_entropy(tree: str) -> None:
    h = TREES[tree]
    for smoothing in (0.0, 0.3):
        method = methods.create("flat-softmax", h, label_smoothing=smoothing)
        theta = scores(method, len(h.leaves))
        expected = torch.nn.functional.cross_entropy(
            theta, torch.arange(len(h.leaves)), reduction="none", label_smoothing=smoothing
        )
        torch.testing.assert_close(method.loss(theta, torch.tensor(h.leaves)), expected)


def test_a_margin_of_nothing_is_a_softmax_over_all_nodes_for_leaf_labels(tree: str) -> None:
    h = TREES[tree]
    method = methods.create("softmax-margin", h, alpha=0.0)
    leaves = torch.tensor(h.leaves)
    theta = scores(method, len(leaves))
    expected = torch.nn.functional.cross_entropy(theta, leaves, reduction="none")
    torch.testing.assert_close(method.loss(theta, leaves), expected)


def test_plain_focal_at_leaves_is_binary_cross_entropy(tree: str) -> None:
    h = TREES[tree]
    method = methods.create("multilabel-focal", h, alpha=None, gamma=0.0)
    theta = scores(method, len(h.leaves))
    target = torch.tensor(h.is_ancestor(method.outputs, h.leaves[:, None]), dtype=theta.dtype)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(theta, target, reduction="none").sum(1)
    torch.testing.assert_close(method.loss(theta, torch.tensor(h.leaves)), expected)
