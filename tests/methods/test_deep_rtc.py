"""The random cut of Deep RTC."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hedgerow.methods.deep_rtc import DeepRTC
from tests.methods.cases import TREES, every_label, scores


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_the_cut_has_one_node_on_every_path_from_the_root_to_a_leaf(tree: str, probability: float) -> None:
    h = TREES[tree]
    cut = DeepRTC(h, cut_probability=probability).sample_cut(50, torch.Generator().manual_seed(0))
    assert cut.shape == (50, len(h))
    assert cut.dtype == torch.bool
    for leaf in h.leaves:
        assert (cut[:, h.lineage(leaf).tolist()].sum(1) == 1).all()
    assert not cut[:, 0].any()


def test_each_node_is_in_the_cut_as_often_as_it_should() -> None:
    h, p, draws = TREES["mixed"], 0.3, 20_000
    cut = DeepRTC(h, cut_probability=p).sample_cut(draws, torch.Generator().manual_seed(0))
    for node in range(1, len(h)):
        above = h.depth[node] - 1  # nodes between it and the root, all internal
        expected = (1 - p) ** above * (1 if h.is_leaf[node] else p)
        error = 4 * np.sqrt(expected * (1 - expected) / draws)
        assert abs(cut[:, node].double().mean().item() - expected) < error + 1e-12


def test_cuts_of_different_examples_are_independent() -> None:
    h = TREES["comb"]
    cut = DeepRTC(h, cut_probability=0.5).sample_cut(4_000, torch.Generator().manual_seed(0)).double()
    node = cut[:, h.index("a")]
    assert abs(torch.corrcoef(torch.stack([node[:-1], node[1:]]))[0, 1]) < 0.06


def test_the_loss_is_right_on_average_over_its_own_draws() -> None:
    h = TREES["comb"]
    method = DeepRTC(h, cut_probability=0.5)
    theta = scores(method, 1).repeat(20_000, 1)
    labels = torch.full((20_000,), h.index("e"))
    torch.manual_seed(0)
    found = method.loss(theta, labels)
    expected = 0.0
    for a in (False, True):
        for c in (False, True):  # the two internal nodes below the root
            cut = torch.zeros(1, len(h), dtype=torch.bool)
            cut[0, h.index("a")], cut[0, h.index("c")] = a, c
            expected += 0.25 * method.loss(theta[:1], labels[:1], cut=cut).item()
    assert abs(found.mean().item() - expected) < 4 * found.std().item() / np.sqrt(len(found))


def test_a_generator_repeats_and_its_absence_does_not() -> None:
    method = DeepRTC(TREES["mixed"], cut_probability=0.5)
    one, two = (method.sample_cut(20, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(one, two)
    assert not torch.equal(method.sample_cut(20), method.sample_cut(20))
    theta = scores(method, 1).repeat(20, 1)
    labels = torch.full((20,), int(method.hierarchy.leaves[0]))
    assert not torch.equal(method.loss(theta, labels), method.loss(theta, labels))


def test_marking_the_cut_nodes_alone_is_enough() -> None:
    h = TREES["mixed"]
    method = DeepRTC(h)
    theta = scores(method, len(h))
    marked = torch.zeros(len(h), len(h), dtype=torch.bool)
    marked[:, [h.index("b"), h.index("b2"), h.index("e")]] = True  # b2 lies below b
    whole = torch.zeros_like(marked)
    whole[:, h.indices(["b", "c", "e", "k"]).tolist()] = True
    torch.testing.assert_close(
        method.loss(theta, every_label(h), cut=marked), method.loss(theta, every_label(h), cut=whole)
    )
