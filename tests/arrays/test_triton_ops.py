"""The kernel for GPUs; with TRITON_INTERPRET=1 it runs without one, slowly."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch

from hedgerow import CurveBuilder, Hierarchy, operating_curve
from hedgerow.arrays import TreeOnDevice, operations, torch_ops
from hedgerow.errors import ScoreError
from hedgerow.infer.pareto import Candidates, _records, ordered_pareto_sets
from hedgerow.likelihood.likelihoods import Likelihoods

pytest.importorskip("triton", reason="Triton comes with torch for GPUs")
if not (torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET") == "1"):
    pytest.skip("there is no GPU", allow_module_level=True)

from hedgerow.arrays import triton_ops
from hedgerow.tree import Settings

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def random_tree(count: int, seed: int) -> Hierarchy:
    random = np.random.default_rng(seed)
    parent = [-1, *(int(random.integers(i)) for i in range(1, count))]
    return Hierarchy.from_parents([str(i) for i in range(count)], parent)


TREES = {
    "two nodes": Hierarchy.from_parents(["a", "b"], [-1, 0]),
    "chain": Hierarchy.from_parents([str(i) for i in range(50)], list(range(-1, 49))),
    "star": Hierarchy.from_parents([str(i) for i in range(3000)], [-1] + 2999 * [0]),
    "small": random_tree(40, 0),
    "several blocks": random_tree(5000, 1),
    "binary": Hierarchy.from_parents([str(i) for i in range(4095)], [(i - 1) // 2 for i in range(4095)]),
}


@pytest.mark.parametrize("kind", ["distinct", "ties", "all equal", "near the limit", "nothing"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("information", ["leaves", "depth"])
@pytest.mark.parametrize("name", TREES)
def test_the_kernel_finds_what_numpy_finds(name: str, information: str, dtype: torch.dtype, kind: str) -> None:
    h = TREES[name]
    scores = np.random.default_rng(2).normal(size=(3, len(h)))
    if kind == "ties":
        scores = np.round(scores)
    elif kind == "all equal":
        scores = np.full_like(scores, 0.25)
    elif kind == "near the limit":
        scores = np.nextafter(0.3, scores)
    elif kind == "nothing":
        scores[:, ::2] = -np.inf
        scores[1] = -np.inf
    candidates = Candidates.of(h, Settings(information))
    q = torch.tensor(scores, dtype=dtype)
    leaders = candidates.leaders(Likelihoods.of(h, q.numpy(), "logit"))
    kernel = triton_ops.RecordKernel(candidates.nodes, candidates.start, len(h), DEVICE)
    for minimum, root in ((None, True), (0.25, True), (-np.inf, False), (0.3, False)):
        count, node, score = _records(*leaders, minimum, root=root)
        kept, number, pairs = (part.cpu() for part in kernel(q.to(DEVICE), minimum, root, None))
        assert number.tolist() == kept.sum(1).tolist() == count.tolist()
        assert pairs.view(torch_ops.NODES[dtype])[kept][:, 0].tolist() == node.tolist()
        assert pairs[kept][:, 1].tolist() == score.tolist()


def test_rows_that_lie_apart_and_no_rows() -> None:
    h = TREES["small"]
    candidates = Candidates.of(h)
    kernel = triton_ops.RecordKernel(candidates.nodes, candidates.start, len(h), DEVICE)
    wide = torch.rand(2 * len(h), 6, device=DEVICE)
    for q in (wide[: len(h)].T, wide[::2].T, wide[: len(h), :0].T):
        kept, count, pairs = kernel(q, None, True, None)
        assert kept.shape == pairs.shape[:2] == (q.shape[0], len(candidates.information))
        assert count.shape == q.shape[:1]
        row = kept.nonzero()[:, 0]
        assert torch.equal(q[row, pairs.view(torch.int32)[kept][:, 0].long()], pairs[kept][:, 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["chain", "small", "several blocks"])
def test_rows_with_unusual_scores_are_marked(name: str, dtype: torch.dtype) -> None:
    h = TREES[name]
    candidates = Candidates.of(h)
    kernel = triton_ops.RecordKernel(candidates.nodes, candidates.start, len(h), DEVICE)
    above_1 = torch.nextafter(torch.tensor(1.0, dtype=dtype), torch.tensor(2.0)).item()
    for place in {0, 1, len(h) // 2, len(h) - 1}:
        for value, bounds, expected in (
            (0.0, (0.0, 1.0), False),
            (-0.0, (0.0, 1.0), False),
            (1.0, (0.0, 1.0), False),
            (above_1, (0.0, 1.0), True),
            (-1e-30, (0.0, 1.0), True),
            (np.nan, (0.0, 1.0), True),
            (np.nan, (-np.inf, np.inf), True),
            (np.inf, (-np.inf, np.inf), False),
            (-np.inf, (-np.inf, np.inf), False),
            (np.nan, None, False),
        ):
            q = torch.full((3, len(h)), 0.5, dtype=dtype)
            q[1, place] = value
            count = kernel(q.to(DEVICE), None, True, bounds)[1].tolist()
            assert [number < 0 for number in count] == [False, expected, False]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_curves_of_gpu_tensors_refuse_what_is_out_of_range(scale: Any) -> None:
    h = TREES["small"]
    q = torch.rand(50, len(h), device="cuda")
    builder = CurveBuilder(h, scale=scale)
    builder.update(q, torch.zeros(50, dtype=torch.int64, device="cuda"))
    q[7, 3] = torch.nan
    with pytest.raises(ScoreError, match="row 7 has no number"):
        builder.update(q, torch.zeros(50, dtype=torch.int64, device="cuda"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_what_is_rounded_above_1_counts_as_1() -> None:
    h = TREES["small"]
    q = torch.rand(50, len(h), device="cuda")
    q[7, 3] = 1 + 2e-7
    curve = operating_curve(h, q, torch.zeros(50, dtype=torch.int64))
    expected = operating_curve(h, q.cpu().numpy(), np.zeros(50, dtype=np.int64))
    assert curve.threshold.tolist() == expected.threshold.tolist()
    assert curve.threshold.max() <= 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_it_is_what_gpu_tensors_get(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    whole = triton_ops.RecordKernel.__call__

    def counted(self: triton_ops.RecordKernel, q: torch.Tensor, *options: Any) -> tuple[torch.Tensor, ...]:
        calls.append(len(q))
        return whole(self, q, *options)

    monkeypatch.setattr(triton_ops.RecordKernel, "__call__", counted)
    the_same_sets(random_tree(5000, 1))
    assert calls == [5]


def the_same_sets(h: Hierarchy) -> None:
    q = torch.rand(5, len(h), device="cuda")
    found, expected = ordered_pareto_sets(h, q), ordered_pareto_sets(h, q.cpu().numpy())
    for part in ("count", "node", "score"):
        assert np.array_equal(getattr(found, part).cpu().numpy(), getattr(expected, part))


@pytest.mark.skipif(DEVICE.type != "cuda", reason="the kernel runs several programs a multiprocessor of a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", sorted(TREES))
def test_softmaxes_are_those_of_plain_torch(name: str, dtype: torch.dtype) -> None:
    h = TREES[name]
    theta = 5 * torch.randn(700, len(h), generator=torch.Generator().manual_seed(0), dtype=dtype)
    theta[:, -1] = theta[:, 1]
    theta[1], theta[2], theta[3, 1] = torch.nan, -torch.inf, torch.inf
    theta = theta.to(DEVICE)
    intervals = TreeOnDevice.of(h, theta).descendant_intervals
    found = operations.descendant_softmax(h, theta)
    expected = torch_ops.interval_shares((theta - theta.amax(-1, keepdim=True)).exp(), intervals)
    tolerance = {torch.float32: 1e-6, torch.float64: 1e-14}[dtype]
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=0, equal_nan=True)
    good = found[4:]
    assert (good[:, 0] == 1).all()
    assert (good[:, torch.tensor(h.parent[1:])] >= good[:, 1:]).all()
