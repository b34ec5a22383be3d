"""The kernel for GPUs; with TRITON_INTERPRET=1 it runs without one, slowly."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch

from hedgerow import Hierarchy, _numpy_ops
from hedgerow.pareto import Candidates, ordered_pareto_sets

pytest.importorskip("triton", reason="Triton comes with torch for GPUs")
if not (torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET") == "1"):
    pytest.skip("there is no GPU", allow_module_level=True)

from hedgerow import _triton_ops

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
    candidates = Candidates.of(h, information)
    q = torch.tensor(scores, dtype=dtype)
    rungs = _numpy_ops.Rungs(candidates.nodes, candidates.start, "numpy")
    kernel = _triton_ops.Records(candidates.nodes, candidates.start, DEVICE)
    for minimum, root in ((None, True), (0.25, True), (-np.inf, False), (0.3, False)):
        count, node, score = rungs.records(q.numpy(), lambda q, _: q, minimum, root=root)
        found = [part.cpu().numpy() for part in kernel(q.to(DEVICE), minimum, root)]
        kept = found[0]
        assert found[1].tolist() == kept.sum(1).tolist() == count.tolist()
        assert found[2][kept].tolist() == node.tolist()
        assert found[3][kept].tolist() == score.tolist()


def test_rows_that_lie_apart_and_no_rows() -> None:
    h = TREES["small"]
    candidates = Candidates.of(h)
    kernel = _triton_ops.Records(candidates.nodes, candidates.start, DEVICE)
    wide = torch.rand(2 * len(h), 6, device=DEVICE)
    for q in (wide[: len(h)].T, wide[::2].T, wide[: len(h), :0].T):
        kept, count, node, score = kernel(q, None, True)
        assert kept.shape == node.shape == score.shape == (q.shape[0], len(candidates.information))
        assert count.shape == q.shape[:1]
        assert torch.equal(q.gather(1, node), score)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_it_is_what_gpu_tensors_get(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    whole = _triton_ops.Records.__call__

    def counted(self: _triton_ops.Records, q: torch.Tensor, *options: Any) -> tuple[torch.Tensor, ...]:
        calls.append(len(q))
        return whole(self, q, *options)

    monkeypatch.setattr(_triton_ops.Records, "__call__", counted)
    the_same_sets(random_tree(5000, 1))
    assert calls == [5]


def the_same_sets(h: Hierarchy) -> None:
    q = torch.rand(5, len(h), device="cuda")
    found, expected = ordered_pareto_sets(h, q), ordered_pareto_sets(h, q.cpu().numpy())
    for part in ("count", "node", "score"):
        assert np.array_equal(getattr(found, part).cpu().numpy(), getattr(expected, part))
