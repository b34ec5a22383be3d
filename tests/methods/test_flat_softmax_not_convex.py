"""A flat softmax is not convex where the label is not a leaf: one counterexample, by hand."""

from __future__ import annotations

import torch

from hedgerow import Hierarchy, methods


def test_halfway_between_two_sure_answers_is_an_unsure_one() -> None:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    method = methods.create("flat-softmax", h)
    cat, dog = torch.tensor([[8.0, 0.0, 4.0]]), torch.tensor([[0.0, 8.0, 4.0]])
    pet = torch.tensor([h.index("pet")])
    ends = (method.loss(cat, pet) + method.loss(dog, pet)) / 2
    assert method.loss((cat + dog) / 2, pet) > ends + 0.3
