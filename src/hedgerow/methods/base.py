"""The base class of training methods, and the layer that outputs their scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, final, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.likelihood import LINKS, ScoredNodes, scored_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from scipy import sparse

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Hierarchy

Law = Literal[
    "parent covers child",
    "parent covers children",
    "leaves sum to 1",
    "loss is -log q",
    "convex",
    "convex at leaves",
    "ignores shifts",
]
"""Properties of a method, in addition to q(root) = 1 and 0 <= q <= 1, which hold for all.

- *parent covers child*: q(parent) >= q(child), exactly
- *parent covers children*: q(parent) >= the sum over its children, within rounding
- *leaves sum to 1*: within rounding
- *loss is -log q*: the loss is -log q(label), for a label at any node
- *convex*: the loss is convex in θ; *convex at leaves*: for leaf labels only
- *ignores shifts*: adding one number to all scores changes neither the loss nor the likelihood
"""

NESTED: frozenset[Law] = frozenset({"parent covers child", "parent covers children"})
DISTRIBUTION: frozenset[Law] = NESTED | {"leaves sum to 1"}


class Method(nn.Module, ABC):
    """A training method: `loss` and `likelihood` of the scores θ that a network outputs.

    Parameters
    ----------
    hierarchy
        The tree of classes.

    Notes
    -----
    A method has no weights. Its arrays are derived from the tree, move with ``.to()`` and are not saved in
    `state_dict`. Half-precision scores are converted to float32 first, even under autocast.
    """

    link: ClassVar[Callable[..., Any]]
    """The function that turns scores into likelihoods, such as those in `hedgerow.likelihood.LINKS`."""
    scores: ClassVar[ScoredNodes | None] = None
    """Which nodes have a score; by default, those of the link, which must then be one of hedgerow's."""
    scale: ClassVar[Scale] = "log"
    """The scale on which to rank likelihoods, because they do not saturate on it."""
    laws: frozenset[Law]
    """Properties of the loss and the likelihood."""
    title: ClassVar[str] = ""
    """What tables and figures call it; by default its short name, or that of its class."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__()
        self.hierarchy = hierarchy
        self.width = len(self.outputs)

    @property
    def outputs(self) -> NDArray[np.int64]:
        """The node of each column of θ."""
        return scored_nodes(self.hierarchy, self._scored)

    @property
    def _scored(self) -> ScoredNodes:
        """Which nodes have a score."""
        if self.scores is not None:
            return self.scores
        for known in LINKS.values():
            if known.function is self.link:
                return known.scored
        raise ParameterError(
            f"{type(self).__name__} has a link of its own: say which nodes have a score, as in scores = 'nodes'. "
            f"It may be {', '.join(map(repr, get_args(ScoredNodes)))}."
        )

    @property
    def step_scale(self) -> NDArray[np.float64]:
        """The factor of the steps of gradient descent along each column of θ; `HierarchicalHead` applies it.

        A softmax starts near the frequencies of the nodes, where the curvature of the loss along θ_u grows with
        ``|L(u)|``: a rate that suits leaves is too large near the root. Here the factor is ``1 / |L(u)|``, which
        evens the curvature out; methods where this is not so override it.
        """
        return 1 / self.hierarchy.leaf_count[self.outputs]

    @final
    def loss(self, theta: Tensor, labels: Tensor, **drawn: Tensor) -> Tensor:
        """Return the loss of every example.

        Parameters
        ----------
        theta
            Scores, float [B, len(outputs)].
        labels
            Nodes, int64 [B]. A label that is not a leaf means "known no deeper"; a label at the root says nothing.
        **drawn
            The result of `draw`; by default, the method draws itself.

        Returns
        -------
        Tensor
            [B], float32, or float64 if theta is float64.
        """
        return self._loss(*self._checked(theta, labels), **drawn)

    @abstractmethod
    def _loss(self, theta: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of every example, [B]; scores and labels have been checked."""

    def draw(self, batch: int) -> dict[str, Tensor]:  # noqa: ARG002
        """Return the random draws that the loss of a batch needs, by argument name; most methods need none."""
        return {}

    def summed(self) -> tuple[Method, sparse.csr_matrix] | None:
        """Return a method, and a matrix [its width, width] of sums of θ from which its loss is that of this one.

        A solver may then sum weights instead of the scores of every example. Few methods have it.
        """
        return None

    @final
    def likelihood(self, theta: Tensor, scale: Scale = "probability") -> Tensor:
        """Return q of every node, including the root: [B, len(outputs)] -> [B, len(hierarchy)].

        With ``scale=method.scale`` it does not saturate.
        """
        return cast("Tensor", self.link(self.hierarchy, theta, scale=scale))

    @final
    def log_likelihood(self, theta: Tensor) -> Tensor:
        """Return log q of every node, computed directly, so that it does not saturate where q is near 0."""
        return self.likelihood(theta, "log")

    def _apply(self, fn: Any, recurse: bool = True) -> Method:
        """Move the arrays of the tree with the module, but keep their precision: only scores change theirs."""
        exact = {name: array for name, array in self.named_buffers(recurse=False) if array.is_floating_point()}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, array in exact.items():
            setattr(self, name, array.to(getattr(self, name).device))
        return self

    def forward(self, theta: Tensor, labels: Tensor) -> Tensor:
        """Return `loss`, so that a method can be used like a torch criterion with ``reduction="none"``."""
        return self.loss(theta, labels)

    def _checked(self, theta: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Check shapes and values; return scores in at least float32 and labels in int64."""
        if theta.ndim != 2 or theta.shape[1] != self.width:
            raise ScoreError(
                f"Scores must be [batch, {self.width}], one column for each of the {self._scored}; "
                f"their shape is {tuple(theta.shape)}."
            )
        if not isinstance(labels, Tensor):
            raise ScoreError(
                f"Labels must be a tensor of node indices, such as torch.tensor(h.indices(names)), not "
                f"{type(labels).__name__}."
            )
        if labels.shape != theta.shape[:1]:
            raise ScoreError(
                f"One label per row is needed; got {len(theta)} rows and labels of shape {tuple(labels.shape)}."
            )
        if labels.is_floating_point() or labels.dtype == torch.bool:
            raise ScoreError(f"Labels must be integer node indices, not {labels.dtype}.")
        # Only if reading values neither waits for a device nor breaks a graph; in torch.func there are no values.
        if labels.device.type == "cpu" and not torch.compiler.is_compiling():
            with suppress(RuntimeError):
                self.hierarchy.nodes(labels.numpy())
        return theta.to(torch.promote_types(theta.dtype, torch.float32)), labels.long()

    def extra_repr(self) -> str:
        """Show the tree."""
        return repr(self.hierarchy)


@final
class HierarchicalHead(nn.Module):
    """A linear layer that outputs the scores of a method, together with the method.

    Parameters
    ----------
    in_features
        Width of the features.
    method
        What `hedgerow.methods.create` returns.
    even_steps
        Train as if the output of the layer were multiplied by a constant c_u for each score, c² being
        `Method.step_scale`, so that one learning rate suits nodes near the root and leaves. The constants are part
        of the weights: these start smaller, and their gradient is multiplied by c²; scores, loss and the gradient
        of the features are unchanged. Optimisers that divide by the size of past gradients, such as Adam, undo it.

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

    step_scale: Tensor | None

    def __init__(self, in_features: int, method: Method, *, even_steps: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, method.width)
        self.method = method
        scale = torch.tensor(method.step_scale, dtype=torch.float32)
        uneven = even_steps and bool((method.step_scale != 1).any())
        self.register_buffer("step_scale", scale if uneven else None, persistent=False)
        if uneven:
            with torch.no_grad():
                self.linear.weight.mul_(scale.sqrt()[:, None])
                self.linear.bias.mul_(scale.sqrt())

    def forward(self, features: Tensor) -> Tensor:
        """Return θ: [..., in_features] -> [..., len(method.outputs)]."""
        replaced = type(self.linear).forward is not nn.Linear.forward  # by an adapter with weights of its own
        if self.step_scale is None or replaced or not torch.is_grad_enabled():
            return cast("Tensor", self.linear(features))
        weight = _with_scaled_gradient(self.linear.weight, self.step_scale[:, None])
        return functional.linear(features, weight, _with_scaled_gradient(self.linear.bias, self.step_scale))


def _with_scaled_gradient(parameter: Tensor, scale: Tensor) -> Tensor:
    """Return a parameter as it is; only its gradient is multiplied."""
    fixed = parameter.detach()
    return fixed + (parameter - fixed) * scale
