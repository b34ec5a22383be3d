"""Row blocks on several threads: NumPy releases the interpreter lock in its loops."""

from __future__ import annotations

import os
import sys
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

S = TypeVar("S")
T = TypeVar("T")

_BLOCK_BYTES = 1 << 21  # a block and its results stay in the cache
_WORTH_THREADS = 2  # blocks per thread; with fewer, starting threads costs more than it saves
_most_threads = ContextVar("_most_threads", default=sys.maxsize)
_EVEN = 4  # larger numbers of blocks are a multiple of this, so that two or four threads finish together


def map_row_blocks(work: Callable[[slice], T], rows: int, row_bytes: int) -> list[T]:
    """Call `work` on consecutive slices of rows, some at the same time; return the results in order.

    The slices do not depend on the number of cores, so sums over them do not either.
    """
    blocks = row_blocks(rows, row_bytes)
    return map_on_threads(work, blocks, len(blocks) // _WORTH_THREADS)


def row_blocks(rows: int, row_bytes: int) -> list[slice]:
    """Return consecutive slices of rows, each large enough to be worth a call."""
    size = max(1, _BLOCK_BYTES // max(1, row_bytes))
    count = -(-rows // size)
    if count > _WORTH_THREADS:
        count = min(rows, -(-count // _EVEN) * _EVEN)
    return [slice(rows * i // count, rows * (i + 1) // count) for i in range(count)]


def map_on_threads(work: Callable[[S], T], items: Sequence[S], most: int = sys.maxsize) -> list[T]:
    """Call `work` on items, on `most` threads or fewer, as there are cores; return the results in order.

    If several calls fail, the first error is raised.
    """
    workers = min(available_cores(), len(items), most)
    if workers < 2:
        return [work(item) for item in items]

    # This thread works too, and every thread takes the next block when it has finished one. A pool would wake its
    # threads for every block, which takes as long as a small block itself.
    todo = iter(enumerate(items))
    results: dict[int, T] = {}
    failures: dict[int, BaseException] = {}

    def take_blocks() -> None:
        for i, item in todo:
            try:
                results[i] = work(item)
            except BaseException as error:
                failures[i] = error
                deque(todo, maxlen=0)  # no thread starts another; earlier blocks have already been taken

    # Threads run in copies of this context, which contains settings such as `numpy.errstate`.
    threads = [Thread(target=copy_context().run, args=(take_blocks,)) for _ in range(workers - 1)]
    try:
        for thread in threads:
            thread.start()
        take_blocks()
    finally:
        deque(todo, maxlen=0)  # Ctrl-C between two blocks leaves some
        for thread in threads:
            if thread.is_alive():
                thread.join()
    if failures:
        raise failures[min(failures)]
    return [results[i] for i in range(len(items))]


def available_cores() -> int:
    """Return how many cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _most_threads.get())


@contextmanager
def at_most_threads(number: int) -> Iterator[None]:
    """Use at most `number` threads within this block; other threads of the caller are not affected."""
    token = _most_threads.set(number)
    try:
        yield
    finally:
        _most_threads.reset(token)
