"""How `HedgedClassifier` learns: features on one scale, then Adam with a falling step.

An L2 penalty means the same for all data: ``|W|²/2C`` against the sum of the losses, in features whose mean
squared norm is 1.
"""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hedgerow.learn.scaling import Scaling
    from hedgerow.methods import Method

Floats = NDArray[np.float64]
Layer = tuple[Floats, Floats]
"""Weights [inputs, outputs] and biases [outputs]."""

STEPS = 20
"""The fewest steps in an epoch; small data are gone through several times."""
PATIENCE = 5
"""Epochs without a better loss on the held-out examples before training stops early."""
_SHARED_WORK = 1 << 30  # multiplications a step from which threads are worth waking
_BLOCK = 1 << 14  # rows at a time, where a pass needs a temporary copy


@dataclass(frozen=True)
class Examples:
    """Scaled features, labels and weights (1 on average) to learn from, all on one device."""

    features: Tensor | sparse.csr_matrix
    label: Tensor
    weight: Tensor

    @staticmethod
    def of(
        X: Any, scaling: Scaling, label: NDArray[np.int64], weight: Floats, device: torch.device, dtype: Any
    ) -> Examples:
        """Scale features and put everything on a device; sparse features stay where they are."""
        if sparse.issparse(X) and scaling.mean is None:
            features = scaling.apply(X).astype(dtype)
        else:
            scaled = np.empty(X.shape, dtype=dtype)
            for start in range(0, X.shape[0], _BLOCK):
                scaled[start : start + _BLOCK] = scaling.apply(X[start : start + _BLOCK])
            features = torch.from_numpy(scaled).to(device)
        weight = (weight / weight.mean()).astype(dtype)
        return Examples(features, torch.from_numpy(label).to(device), torch.from_numpy(weight).to(device))

    def __len__(self) -> int:
        return len(self.label)

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return features, labels and weights of some examples."""
        if isinstance(self.features, Tensor):
            return self.features[rows], self.label[rows], self.weight[rows]
        part = self.features[rows.cpu().numpy()].tocoo()
        index = torch.from_numpy(np.stack([part.row, part.col]).astype(np.int64))
        values = torch.from_numpy(part.data)
        features = torch.sparse_coo_tensor(index, values, part.shape, is_coalesced=True, check_invariants=False)
        return features.to(self.label.device), self.label[rows], self.weight[rows]


class Network(nn.Module):
    """Linear layers with ReLU between them; takes sparse features as well."""

    def __init__(self, layers: Sequence[Layer], dtype: Any) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.from_numpy(w.astype(dtype)) for w, _ in layers)
        self.biases = nn.ParameterList(torch.from_numpy(b.astype(dtype)) for _, b in layers)

    @staticmethod
    def start(widths: Sequence[int], random: np.random.RandomState) -> list[Layer]:
        """Draw first weights: zero for the scores, He's for what comes before them."""
        *hidden, scores = pairwise(widths)
        layers = [(random.normal(0, math.sqrt(2 / a), (a, b)), np.zeros(b)) for a, b in hidden]
        return [*layers, (np.zeros(scores), np.zeros(scores[1]))]

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores."""
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = (functional.relu(x) if i else x) @ weight + bias
        return x

    def layers(self) -> list[Layer]:
        """Return the weights as arrays."""
        return [(_array(w), _array(b)) for w, b in zip(self.weights, self.biases, strict=True)]


def _array(tensor: Tensor) -> Floats:
    return tensor.detach().cpu().numpy().astype(np.float64)


@dataclass(frozen=True)
class Plan:
    """How to go through the examples."""

    epochs: int
    batch_size: int
    learning_rate: float
    """Step of Adam, for inputs of mean squared norm 1."""
    penalty: float
    """λ in mean loss + λ/2 |W|², W acting on inputs of mean squared norm 1."""
    memory: float = 10.0
    """Steps over which Adam averages gradients."""
    anneal: bool = True
    """Whether the step falls to 0, along a cosine."""
    least_steps: int = STEPS
    seed: int = 0


class Solver:
    """Adam on a network, with its state; `run` may be called again with more examples."""

    def __init__(self, network: Network, method: Method, plan: Plan, state: dict[str, Any] | None = None) -> None:
        self.network = network
        self.method = method
        self.plan = plan
        groups = [_group(w, plan.learning_rate / math.sqrt(len(w))) for w in network.weights]
        groups += [_group(b, plan.learning_rate / 10) for b in network.biases]
        self.adam = torch.optim.Adam(groups, betas=(1 - 1 / plan.memory, 0.999), fused=True)
        if state is not None:
            self.adam.load_state_dict(state)
        self.losses: list[float] = []
        self.held_out_losses: list[float] = []

    def run(self, examples: Examples, held_out: Examples | None, done: Callable[[float], None]) -> None:
        """Train for the epochs planned, or until the loss on the held-out examples stops falling."""
        batches = math.ceil(len(examples) / self.plan.batch_size)
        passes = math.ceil(self.plan.least_steps / batches)
        best, best_weights, best_epoch = math.inf, None, 0
        work = self.plan.batch_size * sum(map(torch.numel, self.network.weights))
        # Said aloud, or torch warns.
        with _seeded(self.plan.seed, examples.label.device), _threads_for(work), _quiet_about_sparsity():
            for epoch in range(self.plan.epochs):
                self.losses.append(self._epoch(examples, epoch, batches, passes))
                done(self.losses[-1])
                if held_out is None:
                    continue
                self.held_out_losses.append(self._loss(held_out))
                if self.held_out_losses[-1] < best:
                    best, best_epoch = self.held_out_losses[-1], epoch
                    best_weights = {k: v.clone() for k, v in self.network.state_dict().items()}
                elif epoch - best_epoch >= PATIENCE:
                    break
        if best_weights is not None:
            self.network.load_state_dict(best_weights)

    def state(self) -> dict[str, Any]:
        """Return the state of Adam, on the CPU."""
        state = self.adam.state_dict()
        moments = {i: {k: v.cpu() for k, v in moment.items()} for i, moment in state["state"].items()}
        return {**state, "state": moments}

    def _epoch(self, examples: Examples, epoch: int, batches: int, passes: int) -> float:
        total = torch.zeros((), device=examples.label.device)
        whole = examples.batch(torch.arange(len(examples))) if batches == 1 else None
        for i in range(passes):
            order = torch.randperm(len(examples)).to(examples.label.device)
            for j, rows in enumerate(order.tensor_split(batches)):
                share = (epoch + (i + j / batches) / passes) / self.plan.epochs
                total += self._step(*(whole or examples.batch(rows)), share)
        loss = float(total) / (batches * passes)
        if not math.isfinite(loss):
            raise HedgerowError(
                f"The loss became {loss} in epoch {epoch + 1}. Try a smaller learning_rate, or look for extreme "
                f"values among the features."
            )
        return loss

    def _step(self, x: Tensor, label: Tensor, weight: Tensor, share: float) -> Tensor:
        for group in self.adam.param_groups:
            slower = (1 + math.cos(math.pi * share)) / 2 if self.plan.anneal else 1.0
            group["lr"] = group["full_rate"] * slower
        loss = (weight * self.method.loss(self.network(x), label)).mean()
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for w in self.network.weights:
            if w.grad is not None:
                w.grad.add_(w.detach(), alpha=self.plan.penalty * len(w))
        self.adam.step()
        return loss.detach()

    @torch.no_grad()
    def _loss(self, examples: Examples) -> float:
        total = 0.0
        every = torch.arange(len(examples), device=examples.label.device)
        for rows in every.split(self.plan.batch_size):  # type: ignore[no-untyped-call]
            x, label, weight = examples.batch(rows)
            total += float((weight * self.method.loss(self.network(x), label)).sum())
        return total / len(examples)


def _group(parameter: Tensor, rate: float) -> dict[str, Any]:
    return {"params": [parameter], "lr": rate, "full_rate": rate}


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's own generator (some losses draw from it) and put it back afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def _threads_for(work: int) -> Iterator[None]:
    """Keep small steps on one thread: waking the others for each takes longer, far longer on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(before if work >= _SHARED_WORK else 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet_about_sparsity() -> Iterator[None]:
    """Drop a warning that torch before 2.13 gives although it was told not to check sparse tensors."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled", UserWarning)
        yield
