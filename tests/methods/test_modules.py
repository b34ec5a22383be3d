"""Methods as torch modules: moving, copying, saving, compiling, half precision, large and deep trees."""

from __future__ import annotations

import copy
import io
import pickle
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hedgerow import Hierarchy, methods
from tests.methods.cases import CASES, TREES, Case, every_label, given_cut, ident, scores

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hedgerow.methods.base import Method

H = TREES["mixed"]

# torch 2.13 makes an instance of Function, which it deprecates, whenever it traces a subclass.
own_fault_of_torch = pytest.mark.filterwarnings(
    "ignore:.*Function.* should not be instantiated:DeprecationWarning"
)


def value_and_gradient(method: Method, theta: Tensor) -> tuple[Tensor, Tensor]:
    labels = every_label(method.hierarchy)
    theta = theta.detach().clone().requires_grad_()
    loss = method.loss(theta, labels, **given_cut(method, len(labels)))
    return loss.detach(), torch.autograd.grad(loss.sum(), theta)[0]


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_copies_and_pickles_behave_alike(case: Case) -> None:
    method = case.create(H)
    theta = scores(method, len(H))
    copies = [copy.deepcopy(method), pickle.loads(pickle.dumps(method))]  # noqa: S301
    buffer = io.BytesIO()
    torch.save(method, buffer)
    buffer.seek(0)
    copies.append(torch.load(buffer, weights_only=False))
    for other in copies:
        torch.testing.assert_close(value_and_gradient(other, theta), value_and_gradient(method, theta))
        torch.testing.assert_close(other.likelihood(theta), method.likelihood(theta))


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_nothing_is_saved_and_everything_moves(case: Case) -> None:
    method = case.create(H)
    assert not method.state_dict()
    assert not list(method.parameters())
    moved = case.create(H).to("meta")
    assert all(buffer.device.type == "meta" for buffer in moved.buffers())
    if case.name != "deep-rtc":  # whose cut is drawn on the CPU here
        assert moved.loss(scores(method, len(H)).to("meta"), every_label(H).to("meta")).shape == (len(H),)
    # Arrays of the tree keep their type, whatever that of the scores.
    theta = scores(method, len(H), dtype=torch.float32)
    inner = case.create(H)
    nn.Sequential(inner).bfloat16().float()
    for other in (case.create(H).double().half(), inner):
        assert [array.dtype for array in other.buffers()] == [array.dtype for array in method.buffers()]
        torch.testing.assert_close(value_and_gradient(other, theta), value_and_gradient(method, theta))


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_no_array_grows_with_the_square_of_the_tree(case: Case) -> None:
    star = Hierarchy.from_parents([str(i) for i in range(2001)], np.append(-1, np.zeros(2000, dtype=np.int64)))
    chain = Hierarchy.from_parents([str(i) for i in range(2000)], np.arange(-1, 1999))
    for h in (star, chain):
        held = sum(buffer.nbytes for buffer in case.create(h).buffers())
        assert held <= 8 * len(h) * 24


@own_fault_of_torch
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_compiled_without_a_break_gives_the_same(case: Case) -> None:
    torch._dynamo.reset()
    method = case.create(H)
    labels = every_label(H)
    compiled = torch.compile(method.loss, fullgraph=True, backend="aot_eager")
    theta = scores(method, len(H), dtype=torch.float32).requires_grad_()
    given = given_cut(method, len(labels))
    loss = compiled(theta, labels, **given)
    gradient = torch.autograd.grad(loss.sum(), theta)[0]
    torch.testing.assert_close((loss, gradient), value_and_gradient(method, theta))
    assert not loss[0] or getattr(method, "label_smoothing", 0.0) > 0


@own_fault_of_torch
def test_compiled_deep_rtc_draws_its_own_cut() -> None:
    torch._dynamo.reset()
    method = methods.create("deep-rtc", H, cut_probability=0.5)
    compiled = torch.compile(method.loss, fullgraph=True, backend="aot_eager")
    for batch in (200, 150):  # the second is compiled for any batch size
        theta = scores(method, batch, dtype=torch.float32)[:1].repeat(batch, 1)
        labels = torch.full((batch,), int(H.leaves[0]))
        assert len(set(compiled(theta, labels).tolist())) > 5


@own_fault_of_torch
@pytest.mark.filterwarnings("ignore:.*lru_cache:UserWarning")  # of array-api-compat
@pytest.mark.parametrize("name", methods.available())
def test_likelihoods_compile_once_one_has_been_computed(name: str) -> None:
    torch._dynamo.reset()
    method = methods.create(name, H)
    theta = scores(method, len(H), dtype=torch.float32)
    for function in (method.likelihood, method.log_likelihood):
        expected = function(theta)
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(theta), expected)


@own_fault_of_torch
@pytest.mark.parametrize("name", ["deep-rtc", "ps-softmax"])
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_wide_nodes_keep_their_digits(name: str, compiled: bool) -> None:
    torch._dynamo.reset()
    wide = 100_000
    h = Hierarchy.from_parents([str(i) for i in range(wide + 3)], [-1, 0, *[1] * wide, 0])
    method = methods.create(name, h)
    theta = torch.zeros(1, wide + 2, requires_grad=True)
    loss = torch.compile(method.loss, fullgraph=True, backend="aot_eager") if compiled else method.loss
    given = {"cut": torch.zeros(1, len(h), dtype=torch.bool)} if name == "deep-rtc" else {}
    gradient = torch.autograd.grad(loss(theta, torch.tensor([wide + 2]), **given).sum(), theta)[0]
    assert gradient[0, 0].item() == pytest.approx(wide / (wide + 1), rel=1e-6)


@own_fault_of_torch
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_functional_gradients_are_the_same(case: Case) -> None:
    method = case.create(H)
    theta = scores(method, len(H))
    given = given_cut(method, len(H))
    gradient = torch.func.grad(lambda t: method.loss(t, every_label(H), **given).sum())(theta)
    torch.testing.assert_close(gradient, value_and_gradient(method, theta)[1])


@own_fault_of_torch
@pytest.mark.parametrize("name", methods.available())
@pytest.mark.parametrize("tree", ["mixed", "comb"])
def test_second_derivatives(name: str, tree: str) -> None:
    h = TREES[tree]
    method = methods.create(name, h)
    given = given_cut(method, len(h))
    theta = scores(method, len(h)).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda t: method.loss(t, every_label(h), **given), theta)


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_methods_made_in_inference_mode_can_be_trained(case: Case) -> None:
    with torch.inference_mode():
        method = case.create(H)
    assert value_and_gradient(method, scores(method, len(H)))[1].isfinite().all()


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_large_scores_lose_no_more_digits_than_they_have(case: Case) -> None:
    method = case.create(H)
    if "ignores shifts" not in method.laws or case.name == "softmax-margin":
        pytest.skip("a shift changes its loss, or the scores to which it adds its margin")
    theta = scores(method, len(H)).round(decimals=1).mul(10).round()  # whole numbers: none is rounded by the shift
    loss, gradient = value_and_gradient(method, theta)
    shifted = value_and_gradient(method, (theta + 2.0**20).float())
    torch.testing.assert_close(shifted, (loss.float(), gradient.float()), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_half_precision_scores_have_a_single_precision_loss(case: Case) -> None:
    method = case.create(H)
    head = methods.HierarchicalHead(8, method)
    features = torch.randn(len(H), 8, generator=torch.Generator().manual_seed(0))
    given = given_cut(method, len(H))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        theta = head(features)
        assert theta.dtype == torch.bfloat16
        loss = method.loss(theta, every_label(H), **given)
    expected = method.loss(theta.float(), every_label(H), **given)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected)
    assert method.likelihood(theta).dtype == torch.float32
    torch.autograd.backward(loss.sum())
    assert head.linear.weight.grad is not None
    assert head.linear.weight.grad.isfinite().all()


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_head_learns_three_examples(case: Case) -> None:
    torch.manual_seed(0)
    h = TREES["comb"]
    method = case.create(h)
    head = methods.HierarchicalHead(3, method)
    labels = torch.tensor(h.indices(["b", "e", "d"]))
    optimiser = torch.optim.Adam(head.parameters(), lr=0.2)
    for _ in range(60):
        optimiser.zero_grad()
        loss = method(head(torch.eye(3)), labels).mean()
        torch.autograd.backward(loss)
        optimiser.step()
    q = method.likelihood(head(torch.eye(3)))
    assert q[:, h.leaves.tolist()].argmax(1).tolist() == [h.leaves.tolist().index(y) for y in labels.tolist()]


def test_distributed_training_takes_a_head(tmp_path: Path) -> None:
    torch.distributed.init_process_group("gloo", f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        for name in methods.available():
            method = methods.create(name, H)
            model = nn.parallel.DistributedDataParallel(methods.HierarchicalHead(4, method))
            loss = method.loss(model(torch.randn(len(H), 4)), every_label(H)).mean()
            torch.autograd.backward(loss)
            assert all(weight.grad is not None for weight in model.parameters())
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_chain_of_ten_thousand_nodes(case: Case) -> None:
    chain = Hierarchy.from_parents([str(i) for i in range(10_001)], np.arange(-1, 10_000))
    start = time.perf_counter()
    method = case.create(chain)
    labels = torch.tensor([0, 1, 5_000, 10_000])
    theta = scores(method, 4, dtype=torch.float32).requires_grad_()
    loss = method.loss(theta, labels)
    gradient = torch.autograd.grad(loss.sum(), theta)[0]
    assert loss.isfinite().all()
    assert gradient.isfinite().all()
    assert sum(buffer.nbytes for buffer in method.buffers()) < 10 << 20
    assert time.perf_counter() - start < 15


def declared(case: Case, h: Hierarchy) -> list[float]:
    """The factor of the steps of each output: that of sigmoids is 1, of others one part for each leaf below."""
    if case.name in ("multilabel-focal", "conditional-sigmoid"):
        return [1.0] * len(case.create(h).outputs)
    leaves = h.leaves.tolist()
    return [1 / sum(bool(h.is_ancestor(v, leaf)) for leaf in leaves) for v in case.create(h).outputs.tolist()]


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_a_head_trains_like_a_layer_times_a_constant_for_each_score(case: Case) -> None:
    """The constants are folded into the weights: the same scores after the same steps of gradient descent."""
    h = TREES["comb"]
    method = case.create(h)
    features = torch.randn(len(h), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    given = given_cut(method, len(h))

    def trained(module: nn.Module, scores: Callable[[], Tensor]) -> Tensor:
        optimiser = torch.optim.SGD(module.parameters(), lr=0.3, momentum=0.9, weight_decay=0.01)
        for _ in range(5):
            optimiser.zero_grad()
            torch.autograd.backward(method.loss(scores(), every_label(h), **given).mean())
            optimiser.step()
        return scores().detach()

    torch.manual_seed(1)
    head = methods.HierarchicalHead(3, method).double()
    torch.manual_seed(1)
    plain = nn.Linear(3, method.width).double()
    constants = torch.tensor(method.step_scale).sqrt()
    expected = trained(plain, lambda: plain(features) * constants)
    torch.testing.assert_close(trained(head, lambda: head(features)), expected)
    with torch.inference_mode():  # the constants are part of the weights
        torch.testing.assert_close(features @ head.linear.weight.T + head.linear.bias, expected)
    assert head.state_dict().keys() == {"linear.weight", "linear.bias"}


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_even_steps_change_neither_scores_nor_the_gradient_of_features(case: Case) -> None:
    method = case.create(H)
    even, plain = methods.HierarchicalHead(3, method), methods.HierarchicalHead(3, method, even_steps=False)
    plain.load_state_dict(even.state_dict())
    features = torch.randn(len(H), 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    given = given_cut(method, len(H))
    slopes = []
    for head in (even, plain):
        loss = method.loss(head(features), every_label(H), **given).mean()
        slopes.append(torch.autograd.grad(loss, [features, head.linear.weight, head.linear.bias]))
    assert torch.equal(even(features), plain(features))
    assert torch.equal(slopes[0][0], slopes[1][0])
    shares = torch.tensor(declared(case, H), dtype=torch.float32)
    torch.testing.assert_close(slopes[0][1], slopes[1][1] * shares[:, None])
    torch.testing.assert_close(slopes[0][2], slopes[1][2] * shares)


def test_a_layer_in_the_place_of_the_linear_one_is_trained_as_it_is() -> None:
    class Adapted(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) + 1

    head = methods.HierarchicalHead(3, methods.create("ps-softmax", H))
    before, features = head.linear, torch.randn(5, 3)
    head.linear = Adapted(3, before.out_features)
    head.linear.load_state_dict(before.state_dict())
    assert torch.equal(head(features), before(features) + 1)


@pytest.mark.parametrize("name", ["ps-softmax", "conditional-softmax"])
def test_the_curvature_where_a_softmax_predicts_frequencies_grows_with_the_leaves_below(name: str) -> None:
    h = TREES["mixed"]
    method = methods.create(name, h)
    share = torch.tensor(h.leaf_count[method.outputs] / len(h.leaves))
    start = torch.zeros(method.width, dtype=torch.float64) if name == "ps-softmax" else share.log()
    torch.testing.assert_close(method.likelihood(start[None])[0, 1:], share)
    leaves = torch.tensor(h.leaves)

    def mean_loss(theta: Tensor) -> Tensor:
        return method.loss(theta.expand(len(leaves), -1), leaves).mean()

    hessian = torch.autograd.functional.hessian(mean_loss, start)  # type: ignore[no-untyped-call]
    curvature = hessian.diagonal()
    above = 1.0 if name == "ps-softmax" else torch.tensor(h.leaf_count[h.parent[method.outputs]] / len(h.leaves))
    torch.testing.assert_close(curvature, share * (1 - share / above))
