"""The form of every data set: examples in three splits, with labels that are nodes of a tree.

Inputs are features in memory (float32 [N, d]), images in memory (uint8 [N, H, W] or [N, H, W, 3]), or image files,
which are opened when needed. Models see float tensors: features unchanged, images channels first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import Dataset

from hedgerow.errors import ParameterError, ScoreError, as_settings, check_each, check_number
from hedgerow.learn.data.image_files import ImageFiles

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from hedgerow.tree import Hierarchy

Inputs = NDArray[np.float32] | NDArray[np.uint8] | ImageFiles
Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "test")

# Mean and standard deviation of the channels of ImageNet, which pretrained backbones expect.
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


@final
@dataclass(frozen=True, eq=False, repr=False)
class LabelledInputs:
    """Inputs with their labels and ids.

    Parameters
    ----------
    inputs
        float32 features [N, d]; uint8 images [N, H, W] (grey) or [N, H, W, 3]; `ImageFiles`, or a list of paths.
        Other numbers become float32.
    labels
        Node indices, any node of the tree.
    ids
        One string per example; by default its position.

    Examples
    --------
    >>> examples = LabelledInputs(np.eye(3), [1, 2, 2], ids=["a", "b", "c"])
    >>> len(examples), examples.input_shape
    (3, (3,))
    >>> examples.subset([2, 0]).ids.tolist()
    ['c', 'a']
    """

    inputs: Inputs
    labels: NDArray[np.int64]
    ids: NDArray[np.str_]

    def __init__(self, inputs: Any, labels: ArrayLike, ids: ArrayLike | None = None) -> None:
        object.__setattr__(self, "inputs", _checked_inputs(inputs))
        object.__setattr__(self, "labels", np.asarray(labels, dtype=np.int64))
        given = np.arange(len(self.inputs)) if ids is None else ids
        object.__setattr__(self, "ids", np.asarray(given, dtype=np.str_))
        for what, array in (("labels", self.labels), ("ids", self.ids)):
            check_each(what, array.shape, len(self.inputs))

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        kind = "image files" if isinstance(self.inputs, ImageFiles) else str(self.inputs.dtype)
        return f"LabelledInputs({len(self):,} x {'x'.join(map(str, self.input_shape))}, {kind})"

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one example as a model sees it: (d,) or (channels, height, width)."""
        if isinstance(self.inputs, ImageFiles):
            return self.inputs.channels, self.inputs.size, self.inputs.size
        shape = self.inputs.shape[1:]
        if len(shape) == 1:
            return shape
        return (shape[2] if len(shape) == 3 else 1), shape[0], shape[1]

    def subset(self, indices: ArrayLike) -> LabelledInputs:
        """Return the examples at the given positions, in that order, or those that a mask selects."""
        chosen = np.asarray(indices)
        if chosen.dtype == bool:
            check_each("A mask", chosen.shape, len(self))
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.int64)
        return LabelledInputs(self.inputs[chosen], self.labels[chosen], self.ids[chosen])

    def with_labels(self, labels: ArrayLike) -> LabelledInputs:
        """Return the same examples with other labels."""
        return LabelledInputs(self.inputs, labels, self.ids)

    def as_tensors(self, device: torch.device | str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
        """Return all inputs and labels on a device; uint8 stays uint8.

        Index the inputs there to form batches, and pass these through `to_float`.
        """
        if isinstance(self.inputs, ImageFiles):
            raise ParameterError("Image files are not read into memory all at once. Use as_torch_dataset().")
        # torch.tensor copies: read-only arrays cannot be shared with torch.
        return torch.tensor(self.inputs, device=device), torch.tensor(self.labels, device=device)

    def as_torch_dataset(self, *, augment: bool = False, seed: int = 0) -> TorchDataset:
        """Return a torch `Dataset` of (input, label, index), with random access; uint8 stays uint8.

        Pass the inputs of a batch through `to_float`, on the device: a byte travels faster than a float.

        Parameters
        ----------
        augment
            Crop and mirror image files at random, as a function of (seed, epoch, index): see
            `TorchDataset.set_epoch`. Arrays are passed on unchanged.
        seed
            Seed of the random changes.
        """
        return TorchDataset(self, augment=augment, seed=seed)


def _checked_inputs(inputs: Any) -> Inputs:
    if isinstance(inputs, ImageFiles):
        return inputs
    if (
        isinstance(inputs, list | tuple)
        and inputs
        and not isinstance(inputs[0], int | float | list | tuple | np.ndarray)
    ):
        return ImageFiles.of(inputs)
    array = np.asarray(inputs)
    if array.dtype.kind not in "biuf":
        raise ScoreError(f"Inputs must be numbers or image files, not {array.dtype}.")
    if array.ndim == 2:
        return array.astype(np.float32, copy=False)
    if array.dtype != np.uint8 or array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[3] != 3):
        raise ScoreError(
            f"Inputs must be features [N, d], or uint8 images [N, H, W] or [N, H, W, 3]; got {array.dtype} "
            f"of shape {array.shape}."
        )
    return array


def hold_out(examples: LabelledInputs, share: float, seed: int) -> tuple[LabelledInputs, LabelledInputs]:
    """Split off a share of every class at random; return what remains and what was split off.

    Fractions are rounded up or down at random, so that small classes lose their share on average. No class loses
    its last example.
    """
    check_number("The share to hold out", share, 0, 1, with_ends=False)
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(examples)), examples.labels))
    _, first, size = np.unique(examples.labels[order], return_index=True, return_counts=True)
    taken = np.minimum(np.floor(share * size + rng.random(len(size))), size - 1)
    position = np.arange(len(order)) - np.repeat(first, size)
    chosen = np.zeros(len(examples), dtype=bool)
    chosen[order] = position < np.repeat(taken, size)
    return examples.subset(~chosen), examples.subset(chosen)


def to_float(batch: torch.Tensor) -> torch.Tensor:
    """Convert stored inputs to what models see, on the same device.

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
    return ((scaled - mean) / deviation).permute(0, 3, 1, 2)  # channels last in memory, which suits convolutions


@final
class TorchDataset(Dataset[tuple[torch.Tensor, int, int]]):
    """(Input, label, index) by index; the sampler decides the order.

    Parameters
    ----------
    examples
        What to read.
    augment, seed
        See `LabelledInputs.as_torch_dataset`.
    """

    def __init__(self, examples: LabelledInputs, *, augment: bool = False, seed: int = 0) -> None:
        self.examples = examples
        self.augment = augment
        self.seed = seed
        # In shared memory, so that persistent workers see it change.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]

    def set_epoch(self, epoch: int) -> None:
        """Choose the randomness of an epoch; call it before the loader starts to read."""
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int | tuple[int, int]) -> tuple[torch.Tensor, int, int]:
        """Read an example; with a pair (index, pass), as augmented in a later pass of the same epoch."""
        index, of_pass = index if isinstance(index, tuple) else (int(index), 0)
        inputs = self.examples.inputs
        if isinstance(inputs, ImageFiles):
            seeds = [self.seed, int(self._epoch), index, of_pass]
            rng = np.random.default_rng(seeds) if self.augment else None
            item = inputs.read(index, rng)
        else:
            item = inputs[index]
        return torch.tensor(item), int(self.examples.labels[index]), index


@final
@dataclass(frozen=True, eq=False)
class DataSplits:
    """A data set: its tree, and the examples for training, validation and testing.

    Parameters
    ----------
    name
        Its name in tables.
    hierarchy
        The tree that the labels refer to.
    train, val, test
        The three splits.
    """

    name: str
    hierarchy: Hierarchy
    train: LabelledInputs
    val: LabelledInputs
    test: LabelledInputs

    def __post_init__(self) -> None:
        for split in SPLITS:
            examples = self.split(split)
            self.hierarchy.nodes(examples.labels)
            if examples.input_shape != self.input_shape:
                raise ScoreError(
                    f"Examples of {self.name} differ in shape: {self.input_shape} in train, "
                    f"{examples.input_shape} in {split}."
                )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one example as a model sees it: (d,) or (channels, height, width)."""
        return self.train.input_shape

    def projected(self, hierarchy: Hierarchy, projection: NDArray[np.int64]) -> DataSplits:
        """Return the same data under another tree, with each label replaced by its projection."""
        parts = [part.with_labels(projection[part.labels]) for part in (self.train, self.val, self.test)]
        return DataSplits(self.name, hierarchy, *parts)

    def split(self, name: str) -> LabelledInputs:
        """Return the examples of "train", "val" or "test"."""
        if name not in SPLITS:
            raise ParameterError(f"There is no split {name!r}. Splits: {', '.join(SPLITS)}.")
        examples: LabelledInputs = getattr(self, name)
        return examples


def tree_settings() -> AbstractContextManager[None]:
    """Make messages about a tree name the settings of a recipe instead of the arguments of its reader."""
    return as_settings({"format": "data.tree_format", "root": "data.root"})
