"""The last layer of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, final

from torch import Tensor, nn

if TYPE_CHECKING:
    from hedgerow.methods.base import Method


@final
class HierarchicalHead(nn.Module):
    """A linear layer that outputs the scores a method needs, together with the method.

    Parameters
    ----------
    in_features
        Width of the features.
    method
        What `hedgerow.methods.create` returns.

    Examples
    --------
    >>> import torch
    >>> from hedgerow import Hierarchy, methods
    >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> head = HierarchicalHead(16, methods.create("softmax-margin", h))
    >>> theta = head(torch.randn(8, 16))
    >>> loss = head.method.loss(theta, torch.full((8,), h.index("cat"))).mean()
    >>> head.method.likelihood(theta).shape
    torch.Size([8, 5])
    """

    def __init__(self, in_features: int, method: Method) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, len(method.outputs))
        self.method = method

    def forward(self, features: Tensor) -> Tensor:
        """Return θ: [..., in_features] -> [..., len(method.outputs)]."""
        return cast("Tensor", self.linear(features))
