"""One model in training: what stays the same from one set of examples, or one penalty, to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from hedgerow.learn.solver import Network, Schedule, Solver, TrainingSet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow.learn.columns import Columns
    from hedgerow.learn.momentum import State
    from hedgerow.learn.scaling import Scaling
    from hedgerow.learn.solver import Layer
    from hedgerow.likelihood import Scale
    from hedgerow.methods import Method
    from hedgerow.tree import Indices

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fitting:
    """How a model is fitted."""

    method: Method
    scaling: Scaling
    schedule: Schedule
    """All but its penalty."""
    device: str = "cpu"
    dtype: Any = np.float32

    def examples(self, X: Any, node: Indices, weight: Floats) -> TrainingSet:
        """Return examples as they are trained with."""
        return TrainingSet.of(X, self.scaling, node, weight, torch.device(self.device), self.dtype)

    def network(self, layers: Sequence[Layer], columns: Columns | None) -> Network:
        """Return a network that starts with these weights."""
        return Network(layers, self.dtype, columns).to(self.device)

    def train(
        self,
        network: Network,
        examples: TrainingSet,
        penalty: float,
        *,
        held_out: TrainingSet | None = None,
        state: Sequence[State] | None = None,
        done: Callable[[float], None] = lambda _: None,
        **changed: Any,
    ) -> Solver:
        """Train a network, with a penalty λ on mean losses and changes of the schedule, and return its solver."""
        schedule = replace(self.schedule, penalty=penalty, **changed)
        solver = Solver(network, self.method.to(self.device), schedule, state)
        try:
            solver.run(examples, held_out, done)
        finally:
            self.method.to("cpu")
        return solver


def likelihood(method: Method, scaling: Scaling, layers: Sequence[Layer], X: Any, scale: Scale) -> Floats:
    """Return likelihoods of all nodes, in double precision: an answer must not depend on the rows beside it."""
    theta = scaling.apply(X)
    for i, (weight, bias) in enumerate(layers):
        theta = (np.maximum(theta, 0) if i else theta) @ weight + bias
    q: Floats = method.link(method.hierarchy, theta, scale=scale)
    return q
