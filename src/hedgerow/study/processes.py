"""Run cells in this process, in parallel processes or on a Dask cluster; a failing cell stops no other."""

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
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

import torch

from hedgerow.cluster import run_tasks
from hedgerow.learn.training.console import reporting_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.connection import Connection

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell
    from hedgerow.study.records import Records

_REPORT_EVERY = 0.5  # seconds


@final
@dataclass(frozen=True)
class Failure:
    """A cell without a record, and the reason."""

    cell: Cell
    message: str
    details: str = ""
    """The traceback, if there is one."""


Outcome: TypeAlias = "dict[str, Any] | Failure"
"""The content of a cell's record, or a failure."""


class Watcher:
    """Follows the progress of cells; this one does nothing."""

    def done(self, cell: Cell) -> None:
        """Note that a cell has ended, whether it succeeded or failed."""

    def moved(self, cell: Cell, share: float) -> None:
        """Note the share of a cell's training that is done, from 0 to 1; not called for cells on a cluster."""


@final
@dataclass(frozen=True)
class CellRunner:
    """Where and how cells run."""

    splits: DataSplits
    """The data of all cells."""
    jobs: int = 1
    """Number of cells to run at the same time; with 1, they run in this process."""
    client: Any = None
    """A Dask client on whose workers the cells run instead."""
    threads: int | None = None
    """Threads that torch may use in each process; None leaves them as they are."""
    limit: float | None = None
    """Seconds after which no further cell starts, and cells in other processes are stopped. A cell that has begun
    on a Dask worker runs to its end, but gets no record."""
    watcher: Watcher = field(default_factory=Watcher)

    def run(self, cells: Sequence[Cell], records: Records) -> list[Failure]:
        """Run cells in this order and write their records; return those that failed."""
        end = math.inf if self.limit is None else time.monotonic() + self.limit
        if self.client is not None:
            outcomes = self._on_cluster(cells)
        else:
            outcomes = self._one_by_one(cells, end) if self.jobs == 1 else self._in_processes(cells, end)
        failures, waiting = [], {cell.name: cell for cell in cells}
        with closing(outcomes):
            for cell, outcome in outcomes:
                del waiting[cell.name]
                if not isinstance(outcome, Failure):
                    try:
                        records.write(cell, outcome)
                    except Exception as error:  # such as a metric that is not finite; the other cells continue
                        outcome = _failure(cell, error)
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                self.watcher.done(cell)
        return failures + [
            Failure(cell, "it was not started: the time limit was reached") for cell in waiting.values()
        ]

    def _one_by_one(self, cells: Sequence[Cell], end: float) -> Generator[tuple[Cell, Outcome]]:
        with _threads(self.threads):
            for cell in cells:
                if time.monotonic() >= end:
                    return
                yield cell, _attempt(cell, self.splits, partial(self.watcher.moved, cell))

    def _on_cluster(self, cells: Sequence[Cell]) -> Generator[tuple[Cell, Outcome]]:
        work = partial(_on_worker, threads=self.threads)
        found = run_tasks(self.client, work, list(cells), self.splits, limit=self.limit)
        for number, outcome, reason in [] if self.limit == 0 else found:
            yield cells[number], outcome if reason is None else Failure(cells[number], reason)

    def _in_processes(self, cells: Sequence[Cell], end: float) -> Generator[tuple[Cell, Outcome]]:
        waiting, idle = deque(cells), list[_Worker]()
        running: dict[Future[Outcome], tuple[Cell, _Worker]] = {}
        try:
            while (waiting or running) and time.monotonic() < end:
                while waiting and len(running) < self.jobs:
                    cell, worker = waiting.popleft(), idle.pop() if idle else _Worker(self.splits, self.threads)
                    running[worker.submit(cell)] = cell, worker
                ended, _ = wait(running, min(_REPORT_EVERY, end - time.monotonic()), FIRST_COMPLETED)
                for cell, worker in running.values():
                    for share in worker.reported():
                        self.watcher.moved(cell, share)
                for future in ended:
                    cell, worker = running.pop(future)
                    try:
                        outcome = future.result()
                        idle.append(worker)
                    except BrokenProcessPool:
                        worker.stop()
                        worker.join()
                        outcome = Failure(
                            cell, "its process was killed, perhaps for lack of memory: use fewer jobs"
                        )
                    yield cell, outcome
            for cell, _ in running.values():
                yield cell, Failure(cell, "it was stopped: the time limit was reached")
        finally:
            workers = [*idle, *(worker for _, worker in running.values())]
            for worker in workers:
                worker.stop()
            for worker in workers:
                worker.join()


def _attempt(cell: Cell, splits: DataSplits, moved: Callable[[float], None]) -> Outcome:
    from hedgerow.study import EXPERIMENTS

    try:
        with reporting_progress(moved):
            return EXPERIMENTS.find(cell.task).work(cell, splits)
    except Exception as error:  # whatever happened, the other cells continue
        return _failure(cell, error)


def _failure(cell: Cell, error: Exception) -> Failure:
    return Failure(cell, str(error) or type(error).__name__, traceback.format_exc())


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _on_worker(cell: Cell, shared: DataSplits, *, threads: int | None) -> Outcome:
    with _threads(threads):
        return _attempt(cell, shared, lambda _: None)


@final
class _Worker:
    """A process that runs one cell at a time.

    Each has its own pool, because a process that dies breaks its whole pool. A pool can neither report progress
    nor stop a running task, so there is a pipe as well: the process reports progress through it, and ends when it
    is closed, even if that is because this process died.
    """

    def __init__(self, splits: DataSplits, threads: int | None) -> None:
        context = multiprocessing.get_context("spawn")  # a fork cannot use a GPU
        self._pipe, theirs = context.Pipe()
        self._pool = ProcessPoolExecutor(1, context, _begin, (theirs, threads))
        with _ignoring_interrupts():  # inherited by the new process: only this one handles interrupts
            # Not with the arguments above: starting the process would then wait until it has read the data.
            self._pool.submit(_receive, splits)
        theirs.close()

    def submit(self, cell: Cell) -> Future[Outcome]:
        try:
            return self._pool.submit(_run_here, cell)
        except BrokenProcessPool as error:  # it died while idle
            broken: Future[Outcome] = Future()
            broken.set_exception(error)
            return broken

    def reported(self) -> Iterator[float]:
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
    threading.Thread(target=_exit_when_closed, args=(pipe,), daemon=True).start()


def _exit_when_closed(pipe: Connection) -> None:
    with suppress(EOFError, OSError):
        pipe.recv()
    os._exit(1)


def _receive(splits: DataSplits) -> None:
    _here["splits"] = splits


def _run_here(cell: Cell) -> Outcome:
    last = time.monotonic()

    def moved(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _REPORT_EVERY:
            last = time.monotonic()
            _here["pipe"].send(share)

    return _attempt(cell, _here["splits"], moved)
