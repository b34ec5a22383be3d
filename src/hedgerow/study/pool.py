"""Cells in parallel processes; a cell that fails, or whose process dies, does not stop the others."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, final

from hedgerow.cluster import run_tasks
from hedgerow.study.records import Records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell

_PATIENCE = 5.0  # seconds for a process to end by itself
_BETWEEN_MESSAGES = 0.5  # seconds


@final
@dataclass(frozen=True)
class Failure:
    """A cell that has no record, and why."""

    cell: Cell
    message: str
    details: str = ""
    """The traceback, if there is one."""


def run_cells(
    cells: Sequence[Cell],
    splits: DataSplits,
    records: Records,
    *,
    jobs: int,
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
    threads
        Threads that torch may use in each process; None leaves them as they are.
    limit
        Seconds after which no further cell starts, and cells in other processes are stopped.
    done
        Called with every cell that ended, whether it succeeded or failed.
    moved
        Called with a cell and the share of its training that is done, from 0 to 1.
    """
    end = None if limit is None else time.monotonic() + limit
    if jobs == 1:
        with _threads(threads):
            return _one_by_one(cells, splits, records, end, done, moved)
    return _Pool(splits, records.folder, threads, done, moved).run(list(cells), min(jobs, len(cells)), end)


def run_cells_on(
    client: Any,
    cells: Sequence[Cell],
    splits: DataSplits,
    records: Records,
    *,
    threads: int | None = None,
    limit: float | None = None,
    done: Callable[[Cell], None] = lambda _: None,
) -> list[Failure]:
    """Run cells on the workers of a Dask client, and write their records here; the parameters are as above.

    A cell that was begun when the limit is reached ends on its worker, but has no record.
    """
    failures: list[Failure] = []
    waiting = dict(enumerate(cells))
    found = run_tasks(client, partial(_task, threads=threads), list(cells), splits, limit=limit)
    for number, result, failure in [] if limit == 0 else found:
        cell = waiting.pop(number)
        if failure is not None:
            failures.append(Failure(cell, failure))
        elif isinstance(result, Failure):
            failures.append(result)
        else:
            records.write(cell, result)
        done(cell)
    return failures + [_not_started(cell) for cell in waiting.values()]


def _task(cell: Cell, shared: DataSplits, *, threads: int | None) -> dict[str, Any] | Failure:
    """Run a cell in the process of a Dask worker."""
    from hedgerow.study import EXPERIMENTS

    try:
        with _threads(threads):
            return EXPERIMENTS[cell.task].work(cell, shared)
    except Exception as error:
        return Failure(cell, _short(error), traceback.format_exc())


def _one_by_one(
    cells: Sequence[Cell],
    splits: DataSplits,
    records: Records,
    end: float | None,
    done: Callable[[Cell], None],
    moved: Callable[[Cell, float], None],
) -> list[Failure]:
    failures = []
    for cell in cells:
        if _over(end):
            failures.append(_not_started(cell))
            continue
        try:
            _run(cell, splits, records, partial(moved, cell))
        except Exception as error:  # whatever happened, the other cells continue
            failures.append(Failure(cell, _short(error), traceback.format_exc()))
        done(cell)
    return failures


def _run(cell: Cell, splits: DataSplits, records: Records, moved: Callable[[float], None]) -> None:
    from hedgerow.learn.training.console import told_progress
    from hedgerow.study import EXPERIMENTS

    with told_progress(moved):
        records.write(cell, EXPERIMENTS[cell.task].work(cell, splits))


def _work(pipe: Connection, folder: Path, threads: int | None) -> None:
    """Run in a worker process: receive the data and then cells through a pipe, and run them until it is closed."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    records = Records(folder)
    splits: DataSplits | None = None
    while True:
        try:
            if splits is None:
                splits = pipe.recv()
            cell = pipe.recv()
        except (EOFError, OSError):  # closed, perhaps in the middle of the data
            return
        try:
            _run(cell, splits, records, _now_and_then(pipe.send))
            answer = None
        except Exception as error:
            answer = (_short(error), traceback.format_exc())
        pipe.send(answer)


def _now_and_then(tell: Callable[[float], None]) -> Callable[[float], None]:
    """Return a function that passes on the progress at most twice a second."""
    last = time.monotonic()

    def moved(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _BETWEEN_MESSAGES:
            last = time.monotonic()
            tell(share)

    return moved


@final
class _Worker:
    """A process and the cell that it works on."""

    def __init__(self, context: Any, folder: Path, threads: int | None) -> None:
        self.pipe, theirs = context.Pipe()
        # Not a daemon, because it starts processes that load image files. It ends when the pipe is closed.
        self.process = context.Process(target=_work, args=(theirs, folder, threads))
        with _ignoring_interrupts():  # the new process inherits this: the main process handles interrupts
            self.process.start()
        theirs.close()
        self.cell: Cell | None = None

    def stop(self) -> None:
        self.pipe.close()
        if self.cell is not None:
            self.process.terminate()
        self.process.join(_PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@final
class _Pool:
    """As many processes as cells may run at the same time; one that dies is replaced."""

    def __init__(
        self,
        splits: DataSplits,
        folder: Path,
        threads: int | None,
        done: Callable[[Cell], None],
        moved: Callable[[Cell, float], None],
    ) -> None:
        self._done = done
        self._moved = moved
        self._context = multiprocessing.get_context("spawn")  # a fork cannot use a GPU
        self._splits = splits
        self._of_all = (folder, threads)

    def run(self, waiting: list[Cell], size: int, end: float | None) -> list[Failure]:
        workers: list[_Worker] = []
        failures: list[Failure] = []
        try:
            while not _over(end):
                wanted = size - len(workers) if waiting else 0
                fresh = [_Worker(self._context, *self._of_all) for _ in range(wanted)]
                workers += fresh
                for worker in fresh:  # only after all have started: each reads its data once its imports are done
                    _send(worker, self._splits)
                for worker in workers:
                    if worker.cell is None and waiting:
                        worker.cell = waiting.pop(0)
                        _send(worker, worker.cell)
                if all(worker.cell is None for worker in workers):
                    return failures
                for worker in _ready(workers, end):
                    failures += self._heard(worker, workers)
            stopped = [worker.cell for worker in workers if worker.cell is not None]
            failures += [Failure(cell, "it was stopped: the time limit was reached") for cell in stopped]
            return failures + [_not_started(cell) for cell in waiting]
        finally:
            for worker in workers:
                worker.stop()

    def _heard(self, worker: _Worker, workers: list[_Worker]) -> list[Failure]:
        """Handle a message from a process: its progress, its answer, or its end."""
        cell = worker.cell
        try:
            answer = worker.pipe.recv()
            if isinstance(answer, float):
                if cell is not None:
                    self._moved(cell, answer)
                return []
            worker.cell = None
        except (EOFError, OSError):
            workers.remove(worker)
            worker.stop()
            code = worker.process.exitcode
            answer = (f"its process ended with status {code}, perhaps for lack of memory: use fewer jobs", "")
        if cell is None:
            return []
        self._done(cell)
        return [] if answer is None else [Failure(cell, *answer)]


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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


def _send(worker: _Worker, what: DataSplits | Cell) -> None:
    with suppress(OSError):  # if the process is gone, waiting for its answer will show it
        worker.pipe.send(what)


def _ready(workers: list[_Worker], end: float | None) -> list[_Worker]:
    """Wait until processes have sent something, or the time limit is reached."""
    busy = {worker.pipe: worker for worker in workers if worker.cell is not None}
    timeout = None if end is None else max(0.0, end - time.monotonic())
    return [busy[pipe] for pipe in connection.wait(list(busy), timeout)]


def _over(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end


def _not_started(cell: Cell) -> Failure:
    return Failure(cell, "it was not started: the time limit was reached")


def _short(error: Exception) -> str:
    return str(error) or type(error).__name__
