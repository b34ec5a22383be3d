from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from PIL import Image

from hedgerow.arrays import available_cores
from hedgerow.learn.data import ImageFiles, LabelledInputs
from hedgerow.learn.data.splits import to_float
from hedgerow.learn.training.batches import BatchSampler, MemoryBatches, batches
from hedgerow.learn.training.recipe import Recipe, Run, available

if TYPE_CHECKING:
    from pathlib import Path


def numbers_of(order: BatchSampler) -> list[list[int]]:
    return [[number for number, _ in batch] for batch in order]


def test_order_is_a_function_of_seed_and_epoch() -> None:
    def drawn(seed: int, epoch: int) -> list[list[int]]:
        order = BatchSampler(20, 4, seed)
        order.set_epoch(epoch)
        return numbers_of(order)

    assert drawn(1, 2) == drawn(1, 2)
    assert drawn(1, 2) != drawn(1, 3)
    assert drawn(1, 2) != drawn(2, 2)
    assert sorted(itertools.chain(*drawn(1, 2))) == list(range(20))


@pytest.mark.parametrize("examples", [1, 2, 7, 20, 23])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_in_order_every_example_goes_to_exactly_one_process(examples: int, world: int) -> None:
    orders = [BatchSampler(examples, 4, None, rank, world) for rank in range(world)]
    dealt = [number for order in orders for batch in numbers_of(order) for number in batch]
    assert sorted(dealt) == list(range(examples))


@pytest.mark.parametrize("examples", [8, 20, 23])
@pytest.mark.parametrize("world", [1, 2])
def test_shuffled_every_process_gets_equally_many_batches_of_nearly_one_size(examples: int, world: int) -> None:
    orders = [BatchSampler(examples, 4, 0, rank, world) for rank in range(world)]
    parts = [numbers_of(order) for order in orders]
    assert {len(part) for part in parts} == {len(order) for order in orders} == {-(-(examples // world) // 4)}
    sizes = [len(batch) for part in parts for batch in part]
    assert max(sizes) <= 4
    assert max(sizes) - min(sizes) <= 1
    dealt = [number for part in parts for batch in part for number in batch]
    assert len(set(dealt)) == len(dealt) == examples - examples % world


@pytest.mark.parametrize("world", [1, 2, 3])
def test_an_epoch_of_several_passes(world: int) -> None:
    orders = [BatchSampler(11, 4, 0, rank, world, passes=3) for rank in range(world)]
    parts = [list(order) for order in orders]
    batches = 3 * -(-(11 // world) // 4)
    assert [len(part) for part in parts] == [len(order) for order in orders] == [batches] * world
    passed = np.split(np.array([order.numbers() for order in orders]), 3, axis=1)
    for each in passed:
        assert len(np.unique(each)) == each.size == 11 // world * world
    assert passed[0].tolist() != passed[1].tolist() != passed[2].tolist()
    for order, part in zip(orders, parts, strict=True):
        drawn = [pair for batch in part for pair in batch]
        assert [number for number, _ in drawn] == order.numbers().tolist()
        assert [of_pass for _, of_pass in drawn] == sorted([0, 1, 2] * (11 // world))
        assert len(set(drawn)) == len(drawn)


def test_every_pass_changes_images_in_its_own_way(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    for name in ("a.png", "b.png"):
        Image.fromarray(pixels).save(tmp_path / name)
    examples = LabelledInputs(ImageFiles.of(["a.png", "b.png"], tmp_path, 8), [0, 1])
    order = BatchSampler(2, 1, 0, passes=3)
    read = list(batches(examples, order, torch.device("cpu"), augment=True))
    assert sorted(int(number) for _, _, number in read) == [0, 0, 0, 1, 1, 1]
    assert len({image.numpy().tobytes() for image, _, _ in read}) == 6
    once = list(batches(examples, BatchSampler(2, 1, 0), torch.device("cpu"), augment=True))
    assert torch.equal(read[0][0], once[0][0])


def test_a_set_smaller_than_a_batch_is_used_whole() -> None:
    assert [len(batch) for batch in BatchSampler(3, 4, 0)] == [3]


def test_memory_batches_cut_rows() -> None:
    inputs, labels = torch.arange(10.0)[:, None], torch.arange(10)
    order = BatchSampler(10, 4, None)
    batches = list(MemoryBatches(inputs, labels, order))
    assert len(batches) == len(order) == 3
    for x, y, numbers in batches:
        assert np.array_equal(x[:, 0], numbers)
        assert torch.equal(y, numbers)


def test_images_travel_as_bytes_and_become_floats_with_channels_last(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(3, 20, 30, 3), dtype=np.uint8)
    for i, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / f"{i}.png")
    files = ImageFiles.of([f"{i}.png" for i in range(3)], tmp_path, 16)
    loader = batches(LabelledInputs(files, [1, 2, 3]), BatchSampler(3, 2), torch.device("cpu"), workers=1)
    (images, labels, numbers), _ = loader
    assert (images.dtype, images.shape, labels.tolist(), numbers.tolist()) == (
        torch.uint8,
        (2, 16, 16, 3),
        [1, 2],
        [0, 1],
    )
    assert images.is_contiguous()
    floats = to_float(images)
    assert floats.shape == (2, 3, 16, 16)
    assert floats.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(("device", "pinned"), [("cpu", False), ("cuda", True)])
def test_batches_for_a_gpu_are_pinned_and_workers_stay(device: str, pinned: bool) -> None:
    files = ImageFiles.of(["a.png"])
    loader: Any = batches(LabelledInputs(files, [1]), BatchSampler(1, 1), torch.device(device), workers=1)
    assert (loader.pin_memory, loader.num_workers, loader.persistent_workers) == (pinned, 1, True)


def test_there_are_as_many_workers_as_cores_unless_the_recipe_says_otherwise() -> None:
    assert Run(devices=1).loaders == available_cores()
    assert Run(devices=1, workers=3).loaders == Run(devices=2, workers=3).loaders == 3
    assert Run(devices=1000).loaders == 1
    for name in available():
        assert Recipe.load(name).run.workers == -1, name
