"""Examples as a torch data set with random access."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch.utils.data import Dataset

from hedgerow.learn.data import ImageFiles

if TYPE_CHECKING:
    from hedgerow.learn.data import Examples

# Mean and standard deviation of the channels of ImageNet, which pretrained backbones expect.
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


def to_float(batch: torch.Tensor) -> torch.Tensor:
    """Convert inputs from the form in which they are held to the form that models see, on their own device.

    Parameters
    ----------
    batch
        Features [B, d], returned unchanged; uint8 grey images [B, H, W], scaled to [0, 1]; uint8 images
        [B, H, W, 3], standardised with the channel means and deviations of ImageNet.

    Returns
    -------
    Tensor
        Features [B, d] or images [B, channels, H, W].
    """
    if batch.dtype != torch.uint8:
        return batch
    scaled = batch.float() / 255
    if batch.ndim == 3:
        return scaled[:, None]
    mean, deviation = torch.tensor(_MEAN, device=batch.device), torch.tensor(_DEVIATION, device=batch.device)
    return ((scaled - mean) / deviation).permute(0, 3, 1, 2).contiguous()


@final
class TorchDataset(Dataset[tuple[torch.Tensor, int, int]]):
    """(Float input, label, index) by index; the sampler decides the order.

    Parameters
    ----------
    examples
        What to read.
    augment, seed
        See `Examples.as_torch_dataset`.
    """

    def __init__(self, examples: Examples, *, augment: bool = False, seed: int = 0) -> None:
        self.examples = examples
        self.augment = augment
        self.seed = seed
        # In shared memory, so that workers that live longer than an epoch see it change.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]

    def set_epoch(self, epoch: int) -> None:
        """Choose the randomness of an epoch; call it before the loader starts to read."""
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int | tuple[int, int]) -> tuple[torch.Tensor, int, int]:
        """Read an example; of a pair (index, pass), as it is changed in a later pass of the same epoch."""
        index, of_pass = index if isinstance(index, tuple) else (int(index), 0)
        inputs = self.examples.inputs
        if isinstance(inputs, ImageFiles):
            seeds = [self.seed, int(self._epoch), index, of_pass]
            rng = np.random.default_rng(seeds) if self.augment else None
            item = inputs.read(index, rng)
        else:
            item = inputs[index]
        return to_float(torch.tensor(item)[None])[0], int(self.examples.labels[index]), index
