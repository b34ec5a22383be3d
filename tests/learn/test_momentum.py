from __future__ import annotations

import numpy as np
import pytest
import torch

from hedgerow.learn.momentum import MOMENTUM, SQUARES, OutputMomentum, State, move


@pytest.mark.parametrize("outputs", [0, 1])
def test_steps_as_in_the_plain_definition(outputs: int) -> None:
    rng = np.random.default_rng(0)
    shape = (3, 5) if outputs == 0 else (5, 3)
    weight, bias = rng.normal(size=shape), rng.normal(size=3)
    parameters = [torch.tensor(weight, requires_grad=True), torch.tensor(bias, requires_grad=True)]
    states: list[State] = [{}, {}]
    w = weight if outputs == 0 else weight.T  # one output a row
    mean_w, mean_b, square_w, square_b = np.zeros((3, 5)), np.zeros(3), np.zeros(3), np.zeros(3)
    for step in range(1, 6):
        slopes = rng.normal(size=shape), rng.normal(size=3)
        for parameter, slope, state in zip(parameters, slopes, states, strict=True):
            move(parameter, torch.tensor(slope), state, 0.1, 0.01, outputs=outputs)
        slope_w = (slopes[0] if outputs == 0 else slopes[0].T) + 0.01 * 5 * w
        mean_w = MOMENTUM * mean_w + (1 - MOMENTUM) * slope_w
        mean_b = MOMENTUM * mean_b + (1 - MOMENTUM) * slopes[1]
        kept, kept_squares = 1 - MOMENTUM**step, 1 - SQUARES**step
        new = w.copy()
        for output in range(3):
            square_w[output] = SQUARES * square_w[output] + (1 - SQUARES) * np.mean(slope_w[output] ** 2)
            square_b[output] = SQUARES * square_b[output] + (1 - SQUARES) * slopes[1][output] ** 2
            new[output] -= 0.1 / np.sqrt(5) * mean_w[output] / kept / np.sqrt(square_w[output] / kept_squares)
            bias[output] -= 0.1 * mean_b[output] / kept / np.sqrt(square_b[output] / kept_squares)
        w = new
        found = parameters[0].detach().numpy()
        np.testing.assert_allclose(found if outputs == 0 else found.T, w, rtol=1e-6)
        np.testing.assert_allclose(parameters[1].detach().numpy(), bias, rtol=1e-6)


def test_the_optimiser_makes_the_same_moves() -> None:
    torch.manual_seed(0)
    optimised = [torch.zeros(2, 3, requires_grad=True), torch.zeros(2, requires_grad=True)]
    moved = [parameter.detach().clone() for parameter in optimised]
    optimiser, states = OutputMomentum(optimised, 0.1, 0.01), [State(), State()]
    for _ in range(3):
        slopes = [torch.randn_like(parameter) for parameter in moved]
        for parameter, own, slope, state in zip(optimised, moved, slopes, states, strict=True):
            parameter.grad = slope.clone()
            move(own, slope, state, 0.1, 0.01)
        optimiser.step()
    for parameter, own in zip(optimised, moved, strict=True):
        assert torch.equal(parameter, own)


def test_an_output_without_gradient_stays() -> None:
    weight = torch.ones(2, 3, requires_grad=True)
    weight.grad = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    OutputMomentum([weight], 0.1).step()
    assert torch.equal(weight[1], torch.ones(3))
    assert (weight[0] < 1).all()
