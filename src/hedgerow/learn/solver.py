"""The solver of `HedgedClassifier`: momentum with one step size per output, falling to 0.

An L2 penalty means the same for all data: ``|W|²/2C`` is added to the sum of the losses, for features whose mean
squared norm is 1.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from hedgerow.arrays import available_cores
from hedgerow.errors import HedgerowError
from hedgerow.export import Layer, layer_scores
from hedgerow.learn.momentum import State, move
from hedgerow.learn.network import Network, SharedOutputs, quiet_about_sparsity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hedgerow.learn.scaling import Scaling
    from hedgerow.methods import Method
    from hedgerow.tree import Indices

    Work = Callable[[Tensor], list[Tensor]]
    Map = Callable[[Work, Tensor], list[list[Tensor]]]

Floats = NDArray[np.float64]
STEPS = 60
"""An epoch has about this many steps or more; it goes through small data several times."""
_VIEWS = 16  # an epoch shows an example of each label this many times or more, on average
_BATCHES = 128, 512  # the smallest and the largest batch, unless a size is given
_RATE, _HIDDEN_RATE, _SPARSE_RATE = 0.3, 0.1, 0.03  # size of the first steps in the largest batches
_WARM_PACE = 0.5  # of steps from weights that are nearly right: larger ones would undo them
EPOCHS = 5
"""Of a round."""
ROUNDS = 4
"""How many rounds there may be until the loss no longer falls."""
PATIENCE = 5
"""Epochs without a better loss on the held-out examples before training stops early."""
_TWO_PARTS, _FOUR_PARTS = 1 << 25, 1 << 28  # multiplications per step from which two or four threads pay off
_CONVERGED = 0.01  # the largest improvement in the last round, as a share of the loss before any training
_BLOCK = 1 << 14  # rows scaled at a time, since that needs a temporary copy


@dataclass(frozen=True)
class TrainingSet:
    """Scaled features, labels and weights (1 on average), all on one device."""

    features: Tensor | sparse.csr_matrix
    label: Tensor
    weight: Tensor

    def __len__(self) -> int:
        return len(self.label)

    def batch(self, rows: Tensor) -> tuple[Tensor | sparse.csr_matrix, Tensor, Tensor]:
        """Return features, labels and weights of some examples; sparse features become a tensor only on a GPU."""
        if isinstance(self.features, Tensor):
            return self.features[rows], self.label[rows], self.weight[rows]
        chosen = self.features[rows.cpu().numpy()]
        if self.label.device.type == "cpu":
            return chosen, self.label[rows], self.weight[rows]
        part = chosen.tocoo()
        index = torch.from_numpy(np.stack([part.row, part.col]).astype(np.int64))
        values = torch.from_numpy(part.data)
        features = torch.sparse_coo_tensor(index, values, part.shape, is_coalesced=True, check_invariants=False)
        return features.to(self.label.device), self.label[rows], self.weight[rows]


@dataclass(frozen=True)
class Schedule:
    """How long, and in which steps, to train."""

    epochs: int
    """Of a round."""
    batch_size: int
    learning_rate: float
    """Size of the first steps, for inputs of mean squared norm 1."""
    penalty: float = 0.0
    """λ in mean loss + λ/2 |W|², W acting on inputs of mean squared norm 1."""
    anneal: bool = True
    """Whether steps fall to 0, along a cosine."""
    rounds: int = 1
    """How many rounds, in each of which steps fall, there may be: until the loss no longer does."""
    least_steps: int = STEPS
    seed: int = 0

    @classmethod
    def usual(
        cls,
        label: Indices,
        *,
        seed: int,
        batch_size: int | None = None,
        hidden: bool = False,
        sparse: bool = False,
    ) -> Schedule:
        """Return what suits these examples.

        Smaller data get smaller batches, but for the smallest: these are one batch, in which a weight acts exactly
        like repetition. Steps are smaller in smaller batches, with hidden layers, and for sparse features, since
        most of these are 0 in most batches.
        """
        least, most = _BATCHES
        if batch_size is None:
            batch_size = most if len(label) <= most else min(max(len(label) // STEPS, least), most)
        rate = (_SPARSE_RATE if sparse else _HIDDEN_RATE if hidden else _RATE) * math.sqrt(batch_size / most)
        steps = max(STEPS, _VIEWS * len(np.unique(label)) // batch_size)
        return cls(EPOCHS, batch_size, rate, rounds=1 if hidden else ROUNDS, least_steps=steps, seed=seed)


class Solver:
    """Trains a network with the loss of a method."""

    def __init__(
        self,
        network: Network,
        method: Method,
        schedule: Schedule,
        state: Sequence[State] | None = None,
    ) -> None:
        self.network = network
        self.method = method
        self.schedule = schedule
        self.parameters = list(network.parameters())
        self._pace = 1.0
        self._momentum: list[State] = [{} for _ in self.parameters]
        if state is not None:
            self._momentum = [_on(own, self.parameters[0].device) for own in state]
        self.losses: list[float] = []
        self.held_out_losses: list[float] = []
        self.falling = ""
        """How the loss fell in the last of all rounds; blank if it no longer did, or there was one round only."""

    def run(
        self,
        examples: TrainingSet,
        held_out: TrainingSet | None,
        done: Callable[[float], None],
        reached: float | None = None,
    ) -> None:
        """Train until the loss no longer falls, from one round to the next or on the held-out examples.

        If the weights come from similar examples, `reached` is the `objective` they had there.
        """
        device = examples.label.device
        with _seeded(self.schedule.seed, device), _workers(self._parts(examples)) as every:
            if self.schedule.rounds == 1:
                self._round(examples, held_out, done, every)
                return
            after = start = self._start(examples)
            if reached is not None:
                after, self._pace = reached, _WARM_PACE
            for _ in range(self.schedule.rounds):
                before = after
                self._round(examples, held_out, done, every)
                after = self.objective(examples)
                if before - after <= _CONVERGED * start:
                    return
                self._pace = _WARM_PACE
        self.falling = f"from {before:.3g} to {after:.3g}"

    def _round(
        self, examples: TrainingSet, held_out: TrainingSet | None, done: Callable[[float], None], every: Map
    ) -> None:
        """Train for the epochs scheduled, or until the loss on the held-out examples stops falling."""
        epochs = self.schedule.epochs
        best, best_weights, best_epoch = math.inf, None, 0
        for epoch in range(epochs):
            self.losses.append(self._epoch(examples, epoch / epochs, 1 / epochs, every))
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

    @torch.no_grad()
    def _start(self, examples: TrainingSet) -> float:
        """Return the mean loss if all scores are 0, to which improvements are compared."""
        label, member = examples.label.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        weight = torch.bincount(member, examples.weight)
        total = 0.0
        for rows in torch.arange(len(label), device=label.device).split(self.schedule.batch_size):  # type: ignore[no-untyped-call]
            zero = examples.weight.new_zeros(len(rows), self.method.width)
            total += float((weight[rows] * self.method.loss(zero, label[rows])).sum())
        return total / len(examples)

    @torch.no_grad()
    def objective(self, examples: TrainingSet) -> float:
        """Return the mean loss and the penalty; losses that draw random numbers draw the same each time."""
        with _seeded(self.schedule.seed, examples.label.device):
            loss = self._loss(examples)
        squares = (float((weight**2).sum()) * len(weight) for weight, _ in self.network.layers())
        return loss + self.schedule.penalty / 2 * sum(squares)

    def state(self) -> list[State]:
        """Return the momentum, on the CPU, with which another solver can continue."""
        return [_on(own, torch.device("cpu")) for own in self._momentum]

    def _parts(self, examples: TrainingSet) -> int:
        """Return the number of parts of a step, which must not depend on the machine: the order of sums does."""
        work = self.schedule.batch_size * sum(map(torch.numel, self.network.weights))
        if examples.label.device.type != "cpu" or work < _TWO_PARTS or not isinstance(examples.features, Tensor):
            return 1
        if self._draws(examples):  # the order in which threads draw would be random
            return 1
        return 4 if work >= _FOUR_PARTS else 2

    def _draws(self, examples: TrainingSet) -> bool:
        """Return whether the loss draws random numbers."""
        before = torch.random.get_rng_state()
        self._slopes(examples, torch.arange(1), 1)
        return not torch.equal(before, torch.random.get_rng_state())

    def _epoch(self, examples: TrainingSet, begin: float, share: float, every: Map) -> float:
        """Train for an epoch, which begins when a share of the round is done, and return its mean loss."""
        batches = math.ceil(len(examples) / self.schedule.batch_size)
        passes = max(1, round(self.schedule.least_steps / batches))
        device = examples.label.device
        total = torch.zeros((), device=device)
        for i in range(passes):
            order = torch.randperm(len(examples)) if batches > 1 else torch.arange(len(examples))
            for j, rows in enumerate(order.to(device).tensor_split(batches)):
                done = begin + share * (i + j / batches) / passes
                total += self._step(examples, rows, (1 + math.cos(math.pi * done)) / 2, every)
        loss = float(total) / (batches * passes)
        if not math.isfinite(loss):
            raise HedgerowError(
                f"The loss became {loss} in epoch {len(self.losses) + 1}. Try a smaller learning_rate, or look "
                f"for extreme values among the features."
            )
        return loss

    def _step(self, examples: TrainingSet, rows: Tensor, share: float, every: Map) -> Tensor:
        sums, *others = every(lambda part: self._slopes(examples, part, len(rows)), rows)
        for other in others:
            for own, more in zip(sums, other, strict=True):
                own.add_(more)
        loss, *gradients = sums
        rate = self.schedule.learning_rate * self._pace * (share if self.schedule.anneal else 1)
        for parameter, gradient, state in zip(self.parameters, gradients, self._momentum, strict=True):
            move(parameter, gradient, state, rate, self.schedule.penalty, outputs=1)
        return loss

    def _slopes(self, examples: TrainingSet, rows: Tensor, count: int) -> list[Tensor]:
        """Return the loss of some of the `count` examples of a step, and its gradients."""
        x, label, weight = examples.batch(rows)
        loss = (weight * self.method.loss(self.network(x), label)).sum() / count
        return [loss.detach(), *torch.autograd.grad(loss, self.parameters)]

    @torch.no_grad()
    def _loss(self, examples: TrainingSet) -> float:
        total = 0.0
        every = torch.arange(len(examples), device=examples.label.device)
        for rows in every.split(self.schedule.batch_size):  # type: ignore[no-untyped-call]
            x, label, weight = examples.batch(rows)
            total += float((weight * self.method.loss(self.network(x), label)).sum())
        return total / len(examples)


@dataclass(frozen=True)
class Fitting:
    """What all fits of a model share."""

    method: Method
    scaling: Scaling
    schedule: Schedule
    """Without the penalty."""
    device: str = "cpu"
    dtype: Any = np.float32
    shared: SharedOutputs | None = None

    def examples(self, X: Any, node: Indices, weight: Floats) -> TrainingSet:
        """Scale features and put everything on the device; sparse features stay on the CPU."""
        if sparse.issparse(X) and self.scaling.mean is None:
            features = self.scaling.apply(X).astype(self.dtype)
        else:
            scaled = np.empty(X.shape, dtype=self.dtype)
            for start in range(0, X.shape[0], _BLOCK):
                scaled[start : start + _BLOCK] = self.scaling.apply(X[start : start + _BLOCK])
            features = torch.from_numpy(scaled).to(self.device)
        weight = (weight / weight.mean()).astype(self.dtype)
        return TrainingSet(
            features, torch.from_numpy(node).to(self.device), torch.from_numpy(weight).to(self.device)
        )

    def network(self, layers: Sequence[Layer]) -> Network:
        """Return a network that starts with these weights."""
        sums = None
        # To sum the weights of an input costs as much as to sum the scores of an example.
        if self.shared is None and len(layers[-1][0]) <= self.schedule.batch_size and self._summed is not None:
            sums = self._summed[1]
        return Network(layers, self.dtype, self.shared, sums).to(self.device)

    @cached_property
    def _summed(self) -> tuple[Method, sparse.csr_matrix] | None:
        return self.method.summed()

    def train(
        self,
        network: Network,
        examples: TrainingSet,
        penalty: float,
        *,
        held_out: TrainingSet | None = None,
        reached: float | None = None,
        state: Sequence[State] | None = None,
        done: Callable[[float], None] = lambda _: None,
        **changed: Any,
    ) -> Solver:
        """Train a network with a penalty λ on mean losses and a changed schedule; return its solver."""
        with self._solver(network, penalty, state, **changed) as solver:
            solver.run(examples, held_out, done, reached)
        return solver

    def objective(self, network: Network, examples: TrainingSet, penalty: float) -> float:
        """Return what a network should make small: mean loss and penalty."""
        with _workers(1), self._solver(network, penalty) as solver:
            return solver.objective(examples)

    @contextmanager
    def _solver(
        self, network: Network, penalty: float, state: Sequence[State] | None = None, **changed: Any
    ) -> Iterator[Solver]:
        method = self.method if network.sums is None or self._summed is None else self._summed[0]
        schedule = replace(self.schedule, penalty=penalty, **changed)
        try:
            with quiet_about_sparsity():
                yield Solver(network, method.to(self.device), schedule, state)
        finally:
            method.to("cpu")


def scores(scaling: Scaling, layers: Sequence[Layer], X: Any) -> Floats:
    """Return the scores θ of a model, as those that it will answer with."""
    return layer_scores(layers, scaling.apply(X))


def _on(state: State, device: torch.device) -> State:
    """Return a copy on a device."""
    return {name: v.to(device, copy=True) if isinstance(v, Tensor) else v for name, v in state.items()}


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's generator, from which some losses draw, and restore it afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def _workers(parts: int) -> Iterator[Map]:
    """Yield a function that maps work over the parts of some rows, on the available cores.

    Torch's own threads wait by spinning, which makes a run ten times slower beside one busy process. These sleep
    while they wait, and each keeps torch to one thread.
    """
    before = torch.get_num_threads()
    others = min(parts, available_cores()) - 1
    _train_in_this_thread()
    try:
        if others < 1:
            yield lambda work, rows: [work(part) for part in rows.tensor_split(parts)]
            return
        with ThreadPoolExecutor(others, initializer=_train_in_this_thread) as pool:
            yield lambda work, rows: _shared_out(pool, work, rows.tensor_split(parts), others)
    finally:
        torch.set_num_threads(before)
        torch.set_flush_denormal(False)


def _train_in_this_thread() -> None:
    """Let torch use no other threads, and round the tiniest numbers, which are slow, to 0."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def _shared_out(pool: ThreadPoolExecutor, work: Work, parts: Sequence[Tensor], others: int) -> list[list[Tensor]]:
    """Do the first parts in this thread and the rest in the pool."""
    own = len(parts) // (others + 1)
    rest = [pool.submit(work, part) for part in parts[own:]]
    return [*map(work, parts[:own]), *(future.result() for future in rest)]
