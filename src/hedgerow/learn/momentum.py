"""Gradient descent with momentum and one step size for each output, for linear models and small networks.

The gradient of all weights of an output is divided by its root mean square, as Adam does for each weight, so that
an output moves along its gradient. Adam moves all weights equally far, even those of features that are unrelated
to a class. If a class has few examples, that costs accuracy and takes long to undo.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOMENTUM, SQUARES = 0.9, 0.95
"""How much of the averages of gradients and of their squares is kept in a step."""
_NO_GRADIENT = 1e-9  # far above rounding errors, which must not become steps


State = dict[str, Any]
"""The running averages of a parameter; empty before the first step."""


@torch.no_grad()
def move(
    parameter: Tensor, gradient: Tensor, state: State, lr: float, weight_decay: float = 0.0, *, outputs: int = 0
) -> None:
    """Move a parameter along its gradient, which is overwritten.

    Made for layers whose inputs have variance 1. Biases move as fast as scores may: with many classes, they must
    fall far before the weights separate the classes.

    Parameters
    ----------
    parameter, gradient
        Weights of a linear layer, or biases (one-dimensional).
    state
        The state of this parameter; changed in place.
    lr
        Size of a step, for inputs of mean squared norm 1.
    weight_decay
        λ in loss + λ/2 |W|², with W acting on inputs of mean squared norm 1. Biases are not penalised.
    outputs
        The axis of the outputs; 0 in torch's own layers.
    """
    inputs = [axis for axis in range(parameter.ndim) if axis != outputs] if parameter.ndim > 1 else []
    count = math.prod(parameter.shape[axis] for axis in inputs)
    if not state:
        state.update(step=0, mean=torch.zeros_like(parameter), square=parameter.new_zeros(()))
    state["step"] += 1
    # In place: with many inputs and outputs, allocating memory would take most of the time.
    if inputs:
        gradient.add_(parameter, alpha=weight_decay * count)
    state["mean"].lerp_(gradient, 1 - MOMENTUM)
    square = gradient.square_()
    square = square.mean(inputs, keepdim=True) if inputs else square
    state["square"] = torch.lerp(state["square"], square, 1 - SQUARES)
    size = (state["square"] / (1 - SQUARES ** state["step"])).sqrt_().add_(_NO_GRADIENT)
    rate = lr / math.sqrt(count) / (1 - MOMENTUM ** state["step"])
    parameter.addcmul_(state["mean"], rate / size, value=-1)


class OutputMomentum(torch.optim.Optimizer):
    """`move` as a torch optimiser; a step overwrites the gradients.

    `HedgedClassifier` calls `move` itself: the first optimiser of a process makes torch load its compiler, which
    takes seconds.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take a step along the gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    move(parameter, parameter.grad, self.state[parameter], group["lr"], group["weight_decay"])
        return loss
