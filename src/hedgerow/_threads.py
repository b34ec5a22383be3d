"""Row blocks on several threads: NumPy lets go of the interpreter lock in its loops."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_BLOCK_BYTES = 1 << 21  # so that a block and what is made of it stay in the cache
_WORTH_THREADS = 2  # blocks a thread; with fewer, starting threads costs more than it brings


def map_row_blocks(work: Callable[[slice], T], rows: int, row_bytes: int) -> list[T]:
    """Call `work` on consecutive slices of rows, some at the same time; return the results in order."""
    size = max(1, _BLOCK_BYTES // max(1, row_bytes))
    blocks = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
    workers = min(available_cores(), len(blocks) // _WORTH_THREADS)
    if workers < 2:
        return [work(block) for block in blocks]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, blocks))


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
