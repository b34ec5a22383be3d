"""Gradient descent with momentum and one step size for each output, for linear models and small networks."""

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


class OutputMomentum(torch.optim.Optimizer):
    """Momentum with one step size for each output of a layer.

    The gradient of all weights of an output is divided by its root mean square, as Adam does with each weight, so
    that an output moves along its gradient. Adam moves all weights equally far, even those of features that say
    nothing about a class. If a class has few examples, that costs accuracy and takes long to undo.

    Made for layers whose inputs have variance 1. Biases move as fast as scores may: with many classes they must
    fall far before weights tell classes apart.

    Parameters
    ----------
    parameters
        Weights of linear layers, and biases (one-dimensional).
    lr
        Size of a step, for inputs of mean squared norm 1.
    weight_decay
        λ in loss + λ/2 |W|², with W acting on inputs of mean squared norm 1. Biases are free.
    outputs
        The axis of weights that stands for outputs; torch's own layers have 0.
    """

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float = 0.0, *, outputs: int = 0
    ) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay, "outputs": outputs})

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
                    self._move(parameter, parameter.grad, group)
        return loss

    def _move(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        inputs = [axis for axis in range(parameter.ndim) if axis != group["outputs"]] if parameter.ndim > 1 else []
        count = math.prod(parameter.shape[axis] for axis in inputs)
        if inputs:
            gradient = gradient.add(parameter, alpha=group["weight_decay"] * count)
        square = gradient.square()
        square = square.mean(inputs, keepdim=True) if inputs else square
        if not state:
            state.update(step=0, mean=torch.zeros_like(parameter), square=torch.zeros_like(square))
        state["step"] += 1
        state["mean"].lerp_(gradient, 1 - MOMENTUM)
        state["square"].lerp_(square, 1 - SQUARES)
        size = (state["square"] / (1 - SQUARES ** state["step"])).sqrt_().add_(_NO_GRADIENT)
        rate = group["lr"] / math.sqrt(count) / (1 - MOMENTUM ** state["step"])
        parameter.addcmul_(state["mean"], rate / size, value=-1)
