"""Run cells in this process, in parallel processes or on a Dask cluster; one failing cell stops no other."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

import torch

from hedgerow.cluster import run_tasks
from hedgerow.learn.training.console import told_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.connection import Connection

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell
    from hedgerow.study.records import Records

_BETWEEN_MESSAGES = 0.5  # seconds


@final
@dataclass(frozen=True)
class Failure:
    """A cell that has no record, and why."""

    cell: Cell
    message: str
    details: str = ""
    """The traceback, if there is one."""


Outcome: TypeAlias = "dict[str, Any] | Failure"
"""What a cell leaves behind: the content of its record, or a failure."""


def run_cells(
    cells: Sequence[Cell],
    splits: DataSplits,
    records: Records,
    *,
    jobs: int = 1,
    client: Any = None,
    threads: int | None = None,
    limit: float | None = None,
    done: Callable[[Cell], None] = lambda _: None,
    moved: Callable[[Cell, float], None] = lambda _, __: None,
) -> list[Failure]:
    """Run cells and write their records; return those that failed.

    Parameters
    ----------
    cells
        What to run, in this order.
    splits
        The data of all of them.
    records
        Where their records go.
    jobs
        Number of cells to run at the same time; with 1, they run in this process.
    client
        A Dask client on whose workers the cells run instead.
    threads
        Threads that torch may use in each process; None leaves them as they are.
    limit
        Seconds after which no further cell starts, and cells in other processes are stopped. A cell that a Dask
        worker has begun ends there, but has no record.
    done
        Called with every cell that ended, whether it succeeded or failed.
    moved
        Called with a cell and the share of its training that is done, from 0 to 1; not for cells on a cluster.
    """
    end = math.inf if limit is None else time.monotonic() + limit
    if client is not None:
        outcomes = _on_cluster(client, cells, splits, threads, limit)
    elif jobs == 1:
        outcomes = _one_by_one(cells, splits, threads, end, moved)
    else:
        outcomes = _in_processes(cells, splits, jobs, threads, end, moved)
    failures, waiting = [], {cell.name: cell for cell in cells}
    with closing(outcomes):
        for cell, outcome in outcomes:
            del waiting[cell.name]
            failure = outcome if isinstance(outcome, Failure) else _recorded(cell, outcome, records)
            if failure is not None:
                failures.append(failure)
            done(cell)
    return failures + [
        Failure(cell, "it was not started: the time limit was reached") for cell in waiting.values()
    ]


def _recorded(cell: Cell, content: dict[str, Any], records: Records) -> Failure | None:
    try:
        records.write(cell, content)
    except Exception as error:  # such as a figure that is not finite; the other cells continue
        return _failure(cell, error)
    return None


def _attempt(cell: Cell, splits: DataSplits, moved: Callable[[float], None]) -> Outcome:
    from hedgerow.study import EXPERIMENTS

    try:
        with told_progress(moved):
            return EXPERIMENTS.find(cell.task).work(cell, splits)
    except Exception as error:  # whatever happened, the other cells continue
        return _failure(cell, error)


def _failure(cell: Cell, error: Exception) -> Failure:
    return Failure(cell, str(error) or type(error).__name__, traceback.format_exc())


# In this process ---------------------------------------------------------------------------------------------


def _one_by_one(
    cells: Sequence[Cell],
    splits: DataSplits,
    threads: int | None,
    end: float,
    moved: Callable[[Cell, float], None],
) -> Generator[tuple[Cell, Outcome]]:
    with _threads(threads):
        for cell in cells:
            if time.monotonic() >= end:
                return
            yield cell, _attempt(cell, splits, partial(moved, cell))


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# On a cluster ------------------------------------------------------------------------------------------------


def _on_cluster(
    client: Any, cells: Sequence[Cell], splits: DataSplits, threads: int | None, limit: float | None
) -> Generator[tuple[Cell, Outcome]]:
    found = run_tasks(client, partial(_on_worker, threads=threads), list(cells), splits, limit=limit)
    for number, outcome, reason in [] if limit == 0 else found:
        yield cells[number], outcome if reason is None else Failure(cells[number], reason)


def _on_worker(cell: Cell, shared: DataSplits, *, threads: int | None) -> Outcome:
    with _threads(threads):
        return _attempt(cell, shared, lambda _: None)


# In parallel processes ---------------------------------------------------------------------------------------


def _in_processes(
    cells: Sequence[Cell],
    splits: DataSplits,
    jobs: int,
    threads: int | None,
    end: float,
    moved: Callable[[Cell, float], None],
) -> Generator[tuple[Cell, Outcome]]:
    waiting, idle = deque(cells), list[_Worker]()
    running: dict[Future[Outcome], tuple[Cell, _Worker]] = {}
    try:
        while (waiting or running) and time.monotonic() < end:
            while waiting and len(running) < jobs:
                cell, worker = waiting.popleft(), idle.pop() if idle else _Worker(splits, threads)
                running[worker.submit(cell)] = cell, worker
            ended, _ = wait(running, min(_BETWEEN_MESSAGES, end - time.monotonic()), FIRST_COMPLETED)
            for cell, worker in running.values():
                for share in worker.news():
                    moved(cell, share)
            for future in ended:
                cell, worker = running.pop(future)
                try:
                    outcome = future.result()
                    idle.append(worker)
                except BrokenProcessPool:
                    worker.stop()
                    worker.join()
                    outcome = Failure(cell, "its process was killed, perhaps for lack of memory: use fewer jobs")
                yield cell, outcome
        for cell, _ in running.values():
            yield cell, Failure(cell, "it was stopped: the time limit was reached")
    finally:
        workers = [*idle, *(worker for _, worker in running.values())]
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()


@final
class _Worker:
    """A process that runs one cell at a time.

    It has a pool of its own, because a process that dies breaks its whole pool. A pool can neither report progress
    nor stop a running task, so there is a pipe as well: progress comes up, and the process ends when the pipe is
    closed, also by the death of this process.
    """

    def __init__(self, splits: DataSplits, threads: int | None) -> None:
        context = multiprocessing.get_context("spawn")  # a fork cannot use a GPU
        self._pipe, theirs = context.Pipe()
        self._pool = ProcessPoolExecutor(1, context, _begin, (theirs, threads))
        with _ignoring_interrupts():  # the new process inherits this: the main process handles interrupts
            # Not with the arguments above: starting the process would then wait until it has read the data.
            self._pool.submit(_receive, splits)
        theirs.close()

    def submit(self, cell: Cell) -> Future[Outcome]:
        try:
            return self._pool.submit(_run_here, cell)
        except BrokenProcessPool as error:  # it died while it was idle
            broken: Future[Outcome] = Future()
            broken.set_exception(error)
            return broken

    def news(self) -> Iterator[float]:
        with suppress(EOFError, OSError):
            while self._pipe.poll():
                yield self._pipe.recv()

    def stop(self) -> None:
        self._pipe.close()

    def join(self) -> None:
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread is interrupted
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_here: dict[str, Any] = {}
"""The data and the pipe of a worker process."""


def _begin(pipe: Connection, threads: int | None) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
    _here["pipe"] = pipe
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()


def _end_with(pipe: Connection) -> None:
    with suppress(EOFError, OSError):
        pipe.recv()
    os._exit(1)


def _receive(splits: DataSplits) -> None:
    _here["splits"] = splits


def _run_here(cell: Cell) -> Outcome:
    last = time.monotonic()

    def moved(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _BETWEEN_MESSAGES:
            last = time.monotonic()
            _here["pipe"].send(share)

    return _attempt(cell, _here["splits"], moved)
