"""A method may say from which sums of scores its loss is that of a simpler one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from hypothesis import given

from hedgerow import Hierarchy, methods
from hedgerow.learn.network import Network, SharedOutputs
from tests.methods.cases import CASES, TREES, every_label, ident, scores
from tests.strategies import QUICK, trees

if TYPE_CHECKING:
    from hedgerow.export import Layer
    from tests.methods.cases import Case

SUMMED = [case for case in CASES if case.create(TREES["mixed"]).summed() is not None]


@pytest.mark.parametrize("case", SUMMED, ids=ident)
@given(h=trees())
@QUICK
def test_the_loss_of_the_sums_is_that_of_the_scores(case: Case, h: Hierarchy) -> None:
    method = case.create(h)
    found = method.summed()
    assert found is not None
    other, sums = found
    labels = every_label(h)
    theta = scores(method, len(labels))
    summed = torch.from_numpy(theta.numpy() @ sums.toarray().T)
    torch.testing.assert_close(other.loss(summed, labels), method.loss(theta, labels))


def test_the_method_of_path_sums_has_them() -> None:
    assert [case.name for case in SUMMED] == ["ps-softmax"]


def test_very_long_paths_are_not_summed() -> None:
    edges = [(f"n{i}", f"{kind}{i + 1}") for i in range(300) for kind in "ln"]
    assert methods.create("ps-softmax", Hierarchy.from_edges(edges)).summed() is None


def test_a_network_that_sums_weights_has_the_gradients_of_one_that_sums_scores() -> None:
    method = methods.create("ps-softmax", TREES["mixed"])
    found = method.summed()
    assert found is not None
    random = np.random.RandomState(0)
    layers = start([5, 4, method.width], random)
    x, labels = (
        torch.from_numpy(random.normal(size=(7, 5))),
        torch.from_numpy(random.randint(len(TREES["mixed"]), size=7)),
    )
    other, sums = found
    expected, summing = Network(layers, np.float64), Network(layers, np.float64, sums=sums)
    slopes = [
        torch.autograd.grad(kind.loss(network(x), labels).sum(), list(network.parameters()))
        for kind, network in ((method, expected), (other, summing))
    ]
    torch.testing.assert_close(slopes[1], slopes[0])


def test_shared_outputs_follow_one_of_them() -> None:
    random = np.random.RandomState(0)
    shared = SharedOutputs(kept=np.array([0, 1, 3]), place=np.array([0, 1, 1, 2, 1]))
    network = Network(start([3, 5], random), np.float64, shared)
    x, slope = torch.from_numpy(random.normal(size=(4, 3))), torch.from_numpy(random.normal(size=(4, 5)))
    weight, bias = torch.autograd.grad(network(x), list(network.parameters()), slope)
    torch.testing.assert_close(weight, x.T @ slope[:, [0, 1, 3]])
    torch.testing.assert_close(bias, slope[:, [0, 1, 3]].sum(0))
    theta = network(x)
    torch.testing.assert_close(theta[:, [2, 4]], theta[:, [1, 1]])


def start(widths: list[int], random: np.random.RandomState) -> list[Layer]:
    return [(random.normal(size=pair), random.normal(size=pair[1])) for pair in pairwise(widths)]
