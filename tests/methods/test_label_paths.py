"""The pieces that the losses share, against loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hedgerow import Hierarchy
from hedgerow.methods import label_paths
from tests.methods.cases import TREES


def random_tree(nodes: int, seed: int) -> Hierarchy:
    random = np.random.default_rng(seed)
    parent = np.append(-1, [random.integers(max(0, i - 6), i) for i in range(1, nodes)])
    return Hierarchy.from_parents([str(i) for i in range(nodes)], parent)


FOREST = [*TREES.values(), random_tree(60, 0), random_tree(200, 1)]


@pytest.mark.parametrize("h", FOREST, ids=repr)
def test_paths_lead_from_the_root_to_the_label(h: Hierarchy) -> None:
    found = label_paths.Paths(h)
    path = found(torch.arange(len(h)))
    steps = found.below_root(torch.arange(len(h)))
    for node in range(len(h)):
        lineage = h.lineage(node).tolist()
        assert path[node].tolist() == lineage + [node] * (found.length - len(lineage))
        assert steps[node].sum() == len(lineage) - 1


@pytest.mark.parametrize("h", FOREST, ids=repr)
def test_path_children_are_those_of_the_proper_ancestors(h: Hierarchy) -> None:
    found = label_paths.Paths(h)
    children, depth = label_paths.PathChildren(h)(found(torch.arange(len(h))))
    for node in range(len(h)):
        expected = [(child, k) for k, u in enumerate(h.lineage(node)[:-1]) for child in h.children(u).tolist()]
        kept = depth[node] < found.length - 1
        assert list(zip(children[node][kept].tolist(), depth[node][kept].tolist(), strict=True)) == expected


@pytest.mark.parametrize("h", FOREST, ids=repr)
def test_sums_over_ancestors(h: Hierarchy) -> None:
    ancestry = label_paths.Ancestry(h)
    theta = torch.tensor(np.random.default_rng(0).normal(size=(3, len(h) - 1))).requires_grad_()
    matrix = torch.tensor(h.is_ancestor(np.arange(len(h))[:, None], np.arange(len(h))))
    expected = theta @ matrix[1:].double()
    torch.testing.assert_close(ancestry.path_scores(theta), expected)
    weight = torch.randn(expected.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        torch.autograd.grad((ancestry.path_scores(theta) * weight).sum(), theta),
        torch.autograd.grad((expected * weight).sum(), theta, retain_graph=True),
    )
    inner = ancestry.inner.tolist()
    strictly = matrix & ~torch.eye(len(h), dtype=torch.bool)
    cut = torch.tensor(np.random.default_rng(1).random((3, len(inner))) < 0.2)
    below = cut.double() @ strictly[inner].double() > 0
    assert torch.equal(ancestry.any_above(cut), below)
    kept = torch.tensor(h.is_leaf).repeat(3, 1).index_copy(1, ancestry.inner, cut) & ~below
    scores = ancestry.path_scores(theta, cut)
    torch.testing.assert_close(scores[kept], expected[kept])
    assert (scores[~kept] <= 0.9 * label_paths.NOTHING).all()
    torch.testing.assert_close(
        torch.autograd.grad((scores * weight)[kept].sum(), theta),
        torch.autograd.grad((expected * weight)[kept].sum(), theta),
    )


@pytest.mark.parametrize("h", FOREST, ids=repr)
@pytest.mark.parametrize("inside", [True, False])
def test_both_ways_to_sum_slices_agree(h: Hierarchy, inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path = label_paths.Paths(h)(torch.arange(len(h)))
    end = torch.tensor(h.end)[path]
    x = torch.tensor(np.random.default_rng(0).normal(size=(len(h), len(h))) * 100).requires_grad_()
    results = []
    for masks in (True, False):
        monkeypatch.setattr(label_paths, "_masks_are_cheap", lambda *_, masks=masks: masks)
        sums = label_paths.slice_log_sums(x, path, end, inside=inside)
        # Sums over nothing are as good as minus infinity, and have no gradient.
        real = torch.where(sums > label_paths.NOTHING / 2, sums, 0.0)
        results.append((real, torch.autograd.grad((real * path.cos()).sum(), x)[0]))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("h", FOREST, ids=repr)
def test_which_nodes_are_ancestors_or_descendants(h: Hierarchy) -> None:
    node = np.arange(len(h))
    related = label_paths.Paths(h).related(torch.arange(len(h)))
    assert related.tolist() == (h.is_ancestor(node, node[:, None]) | h.is_ancestor(node[:, None], node)).tolist()


def test_masks_are_for_gpus_and_graphs_and_short_paths() -> None:
    assert not label_paths._masks_are_cheap(torch.zeros(1), 2)
    seen = torch.compile(lambda x: x + label_paths._masks_are_cheap(x, 2), fullgraph=True, backend="eager")(
        torch.zeros(1)
    )
    assert seen == 1
    deep = torch.compile(lambda x: x + label_paths._masks_are_cheap(x, 10_000), fullgraph=True, backend="eager")
    assert deep(torch.zeros(1)) == 0


@pytest.mark.parametrize("h", FOREST, ids=repr)
@pytest.mark.parametrize("masks", [True, False])
def test_columns_take_the_value_of_the_innermost_slice(
    h: Hierarchy, masks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: masks)
    path = label_paths.Paths(h)(torch.arange(len(h)))
    given = label_paths.innermost(path.double(), path, torch.tensor(h.end)[path], len(h))
    lca = h.lca(np.arange(len(h))[:, None], np.arange(len(h)))
    assert given.tolist() == lca.tolist()
