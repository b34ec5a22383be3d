from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from hedgerow.learn.training.batches import MemoryBatches, Order


def test_order_is_a_function_of_seed_and_epoch() -> None:
    def drawn(seed: int, epoch: int) -> list[list[int]]:
        order = Order(20, 4, seed)
        order.set_epoch(epoch)
        return list(order)

    assert drawn(1, 2) == drawn(1, 2)
    assert drawn(1, 2) != drawn(1, 3)
    assert drawn(1, 2) != drawn(2, 2)
    assert sorted(itertools.chain(*drawn(1, 2))) == list(range(20))


@pytest.mark.parametrize("examples", [1, 2, 7, 20, 23])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_in_order_every_example_goes_to_exactly_one_process(examples: int, world: int) -> None:
    dealt = [
        number for rank in range(world) for batch in Order(examples, 4, None, rank, world) for number in batch
    ]
    assert sorted(dealt) == list(range(examples))


@pytest.mark.parametrize("examples", [8, 20, 23])
@pytest.mark.parametrize("world", [1, 2])
def test_shuffled_every_process_gets_equally_many_batches_of_nearly_one_size(examples: int, world: int) -> None:
    orders = [Order(examples, 4, 0, rank, world) for rank in range(world)]
    parts = [list(order) for order in orders]
    assert {len(part) for part in parts} == {len(order) for order in orders} == {-(-(examples // world) // 4)}
    sizes = [len(batch) for part in parts for batch in part]
    assert max(sizes) <= 4
    assert max(sizes) - min(sizes) <= 1
    dealt = [number for part in parts for batch in part for number in batch]
    assert len(set(dealt)) == len(dealt) == examples - examples % world


@pytest.mark.parametrize("world", [1, 2, 3])
def test_an_epoch_of_several_passes(world: int) -> None:
    orders = [Order(11, 4, 0, rank, world, passes=3) for rank in range(world)]
    parts = [list(order) for order in orders]
    batches = 3 * -(-(11 // world) // 4)
    assert [len(part) for part in parts] == [len(order) for order in orders] == [batches] * world
    passed = np.split(np.array([order.numbers() for order in orders]), 3, axis=1)
    for each in passed:
        assert len(np.unique(each)) == each.size == 11 // world * world
    assert passed[0].tolist() != passed[1].tolist() != passed[2].tolist()


def test_a_set_smaller_than_a_batch_is_used_whole() -> None:
    assert [len(batch) for batch in Order(3, 4, 0)] == [3]


def test_memory_batches_cut_rows() -> None:
    inputs, labels = torch.arange(10.0)[:, None], torch.arange(10)
    order = Order(10, 4, None)
    batches = list(MemoryBatches(inputs, labels, order))
    assert len(batches) == len(order) == 3
    for x, y, numbers in batches:
        assert np.array_equal(x[:, 0], numbers)
        assert torch.equal(y, numbers)
