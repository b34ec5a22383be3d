"""Row blocks on several threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.arrays import threads
from hedgerow.arrays.threads import at_most_threads, available_cores, map_row_blocks, row_blocks
from tests.strategies import QUICK

MEGABYTE = 1 << 20


@pytest.fixture(params=[1, 2, 3], autouse=True)
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(threads, "available_cores", lambda: request.param)
    return int(request.param)


@pytest.mark.parametrize("rows", [*range(40), 1000])
@pytest.mark.parametrize("row_bytes", [0, 1, MEGABYTE, 3 * MEGABYTE])
def test_every_row_once_and_in_order(rows: int, row_bytes: int) -> None:
    blocks = map_row_blocks(lambda block: block, rows, row_bytes)
    assert [i for block in blocks for i in range(rows)[block]] == list(range(rows))
    assert all(block.stop > block.start for block in blocks)
    assert all((block.stop - block.start - 1) * row_bytes < 2 * MEGABYTE for block in blocks)


def test_blocks_do_not_depend_on_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    found = map_row_blocks(lambda block: block, 45, MEGABYTE)
    monkeypatch.setattr(threads, "available_cores", lambda: 64)
    assert map_row_blocks(lambda block: block, 45, MEGABYTE) == found


def test_several_threads_work_at_the_same_time(cores: int) -> None:
    together = threading.Barrier(cores, timeout=10)
    seen = map_row_blocks(lambda _: together.wait() >= 0 and threading.get_ident(), 6 * cores, 2 * MEGABYTE)
    assert len(set(seen)) == cores


@QUICK
@given(st.sets(st.integers(0, 29), min_size=1))
def test_the_first_error_is_raised(bad: set[int]) -> None:
    def work(block: slice) -> None:
        for i in range(30)[block]:
            if i in bad:
                raise ValueError(f"row {i}")

    with pytest.raises(ValueError, match=f"^row {min(bad)}$"):
        map_row_blocks(work, 30, MEGABYTE)


def test_nothing_is_begun_after_an_error(cores: int) -> None:
    begun = []

    def work(block: slice) -> None:
        begun.append(block)
        raise ValueError

    with pytest.raises(ValueError):
        map_row_blocks(work, 100, 2 * MEGABYTE)
    assert len(begun) <= cores


def test_numpy_settings_of_the_caller_hold_in_every_thread(cores: int) -> None:
    together = threading.Barrier(cores, timeout=10)

    def work(_: slice) -> str:
        together.wait()
        return str(np.geterr()["divide"])

    with np.errstate(divide="raise"):
        assert set(map_row_blocks(work, 6 * cores, 2 * MEGABYTE)) == {"raise"}


def test_row_blocks_are_those_of_the_map() -> None:
    assert row_blocks(1000, MEGABYTE) == map_row_blocks(lambda block: block, 1000, MEGABYTE)


def test_a_limit_holds_in_its_block_and_not_in_other_threads() -> None:
    before = available_cores()
    seen: list[int] = []
    with at_most_threads(1):
        assert available_cores() == 1
        thread = threading.Thread(target=lambda: seen.append(available_cores()))
        thread.start()
        thread.join()
    assert available_cores() == before
    assert seen == [before]  # other threads are not affected, unless they run in a copy of the context
