"""Batches: which examples, in which order, on which device.

The order of the training data is a function of (seed, epoch) alone, so that a resumed run sees what an
uninterrupted run would have seen. Data in memory is copied to the device once and divided there; image files go
through a torch DataLoader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, Sampler

from hedgerow.learn.data import DataSplits, ImageFiles, LabelledInputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from hedgerow.learn.training.recipe import Optimiser, Run

EVALUATION_BATCH = 512


@final
class BatchSampler(Sampler[list[tuple[int, int]]]):
    """The batches of one process: lists of (example number, pass number).

    Parameters
    ----------
    examples
        Number of examples.
    batch_size
        Examples per batch of this process.
    seed
        Shuffle every epoch, as a function of the seed and the epoch; None keeps the order and all examples.
    rank, world
        The number of this process, and the number of processes. When shuffling, every process gets the same number
        of batches of nearly equal size, and the examples left over, fewer than there are processes, are not used
        in this epoch; otherwise every example goes to exactly one process.
    passes
        Passes over the examples in an epoch, each in another order; needs a seed.
    """

    def __init__(
        self,
        examples: int,
        batch_size: int,
        seed: int | None = None,
        rank: int = 0,
        world: int = 1,
        passes: int = 1,
    ) -> None:
        self._examples, self._batch_size, self._seed = examples, batch_size, seed
        self._rank, self._world, self._passes = rank, world, passes
        self._epoch = 0
        self.on_epoch: Callable[[int], None] = lambda _: None
        """Called with the number of each epoch before its first batch is read."""

    @property
    def sampler(self) -> BatchSampler:
        """The sampler itself: Lightning looks for `set_epoch` here."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch; Lightning calls this."""
        self._epoch = epoch
        self.on_epoch(epoch)

    def numbers(self) -> NDArray[np.int64]:
        """Return the example numbers of this process, in order."""
        if self._seed is None:
            return np.arange(self._rank, self._examples, self._world)
        random = np.random.default_rng([self._seed, self._epoch])
        return np.concatenate(
            [
                random.permutation(self._examples)[self._rank :: self._world][: self._examples // self._world]
                for _ in range(self._passes)
            ]
        )

    def __len__(self) -> int:
        own = self._examples if self._seed is None else self._examples // self._world * self._world
        return self._passes * -(-len(range(self._rank, own, self._world)) // self._batch_size)

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        if batches := len(self):
            numbers = self.numbers()
            passes = np.arange(len(numbers)) * self._passes // len(numbers)
            for batch in np.array_split(np.stack([numbers, passes], axis=1), batches):
                yield [(number, of_pass) for number, of_pass in batch.tolist()]


@final
class MemoryBatches:
    """(Inputs, labels, example numbers) taken from tensors that are already on the device."""

    def __init__(self, inputs: Tensor, labels: Tensor, order: BatchSampler) -> None:
        self._inputs, self._labels = inputs, labels
        self.batch_sampler = order  # as in a DataLoader

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        order = self.batch_sampler
        # One copy for the whole epoch: on a GPU, every copy from the host blocks.
        numbers = torch.from_numpy(order.numbers()).to(self._inputs.device)
        for chosen in numbers.tensor_split(len(order)) if len(order) else ():
            yield self._inputs[chosen], self._labels[chosen], chosen


def batches(
    examples: LabelledInputs,
    order: BatchSampler,
    device: torch.device,
    *,
    augment: bool = False,
    seed: int = 0,
    workers: int = 0,
) -> Iterable[tuple[Tensor, Tensor, Tensor]]:
    """Return the batches of examples in a given order."""
    if isinstance(examples.inputs, ImageFiles):
        dataset = examples.as_torch_dataset(augment=augment, seed=seed)
        order.on_epoch = dataset.set_epoch
        return DataLoader(
            dataset,
            batch_sampler=order,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=device.type == "cuda",
        )
    return MemoryBatches(*examples.as_tensors(device), order)


@final
class SplitBatches(LightningDataModule):
    """The training and validation batches of a data set, for the process and device that Lightning assigns."""

    def __init__(self, splits: DataSplits, optimiser: Optimiser, run: Run) -> None:
        super().__init__()
        self._splits, self._optimiser, self._run = splits, optimiser, run

    def train_dataloader(self) -> Any:
        """Return shuffled batches."""
        trainer: Any = self.trainer
        rank, world, seed = trainer.global_rank, trainer.world_size, self._run.seed
        count, size = len(self._splits.train), max(1, self._optimiser.batch_size // world)
        once = len(BatchSampler(count, size, seed, rank, world))
        passes = max(1, round(self._optimiser.least_steps / once))  # as HedgedClassifier does
        order = BatchSampler(count, size, seed, rank, world, passes)
        device = trainer.strategy.root_device
        return batches(self._splits.train, order, device, augment=True, seed=seed, workers=self._run.loaders)

    def val_dataloader(self) -> Any:
        """Return batches in which every example occurs exactly once over all processes."""
        trainer: Any = self.trainer
        order = BatchSampler(
            len(self._splits.val), EVALUATION_BATCH, rank=trainer.global_rank, world=trainer.world_size
        )
        return batches(self._splits.val, order, trainer.strategy.root_device, workers=self._run.loaders)
