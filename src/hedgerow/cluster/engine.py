"""Call a function on every part, or on other items: in this process, or as Dask tasks."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from hedgerow.arrays import at_most_threads
from hedgerow.cluster.client import VERSION
from hedgerow.errors import HedgerowError, ParameterError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from hedgerow.cluster.data_parts import DataPart
    from hedgerow.tree import Hierarchy

_LISTED = 10  # failures in a message
_POLL, _POLL_WORKERS = 0.02, 1.0  # seconds between checks for results, and for workers
_PATIENCE = 30.0  # seconds without any worker

Work: TypeAlias = "Callable[[Hierarchy, DataPart], tuple[Any, int]]"
"""From the tree and a part to its result and number of examples; it is sent to the workers."""
PartsProgress: TypeAlias = "Callable[[int], AbstractContextManager[Callable[[int], None]]]"
"""Called with the number of parts; yields a callback for the number of examples of each finished part."""


def no_progress(_parts: int, /) -> AbstractContextManager[Any]:
    """Show no progress."""
    return nullcontext(lambda _examples: None)


@final
@dataclass(frozen=True)
class Failure:
    """A part that failed, and why."""

    part: str
    message: str


@final
class PartsError(HedgerowError):
    """Some parts failed; the others were finished.

    Parameters
    ----------
    failures
        Which parts failed, and why.
    parts
        Number of all parts.
    finished
        The results of the others; None if there are none.
    """

    def __init__(self, failures: Sequence[Failure], parts: int, finished: Any = None) -> None:
        self.failures = tuple(failures)
        self.finished = finished
        lines = [
            f"  {failure.part}: {failure.message.removeprefix(failure.part).lstrip(' :')}"
            for failure in failures[:_LISTED]
        ]
        if len(failures) > _LISTED:
            lines.append(f"  and {len(failures) - _LISTED:,} more")
        failed = f"{len(failures):,} of {counted(parts, 'part', 'parts')} failed"
        super().__init__("\n".join([f"{failed}:", *lines]))


def run(
    work: Work,
    hierarchy: Hierarchy,
    parts: Sequence[DataPart],
    client: Any = None,
    progress: PartsProgress = no_progress,
) -> list[Any]:
    """Process all parts and return their results, in order.

    Raises
    ------
    PartsError
        If parts failed. The others are finished; their results are the error's `finished`.
    """
    results: dict[int, Any] = {}
    failures: dict[int, Failure] = {}
    with progress(len(parts)) as advance:
        for i, done, why in _done(work, hierarchy, parts, client):
            if why is None:
                results[i], examples = done
                advance(examples)
            else:
                failures[i] = Failure(parts[i].name, why)
                advance(0)
    found = [results[i] for i in sorted(results)]
    if failures:
        raise PartsError([failures[i] for i in sorted(failures)], len(parts), found or None)
    return found


def _done(
    work: Work, hierarchy: Hierarchy, parts: Sequence[DataPart], client: Any
) -> Iterator[tuple[int, Any, str | None]]:
    """Yield the number of each finished part, and its result or why it failed."""
    if client is None:
        yield from ((i, *_attempt(work, hierarchy, part)) for i, part in enumerate(parts))
        return
    for i, answer, died in _tasks(client, _work_task, parts, (VERSION, work, hierarchy)):
        done, why = (None, died) if died else answer
        yield i, done, why


def _attempt(work: Work, hierarchy: Hierarchy, part: DataPart) -> tuple[Any, str | None]:
    """Process one part; return its result, or what went wrong."""
    try:
        return work(hierarchy, part), None
    except HedgerowError as error:
        return None, str(error)
    except Exception as error:  # from a library, the disk, the memory: the other parts go on
        return None, f"{type(error).__name__}: {error}"


# As Dask tasks ----------------------------------------------------------------------------------------------


def _work_task(part: DataPart, *, shared: tuple[str, Work, Hierarchy]) -> tuple[Any, str | None]:
    version, work, hierarchy = shared
    if version != VERSION:  # a worker that joined after the versions were compared
        return None, f"a worker has hedgerow {VERSION}, and this process {version}: install the same version"
    with at_most_threads(1):  # Dask runs as many tasks as a worker has threads
        return _attempt(work, hierarchy, part)


def run_tasks(
    client: Any, work: Callable[..., Any], items: Sequence[Any], shared: Any, *, limit: float | None = None
) -> Iterator[tuple[int, Any, str | None]]:
    """Call a function on every item, one at a time in each process, and yield results as they come.

    Parameters
    ----------
    client
        A Dask client whose workers have one thread each, so that changes that the function makes to its process,
        such as a random seed, do not affect other items.
    work
        A function of an item and `shared`.
    items, shared
        What to process, and what every item needs, which is sent to each worker once.
    limit
        Seconds after which no further item starts, and running ones are cancelled.

    Yields
    ------
    number, result, failure
        The number of the item, and what the function returned, or why it failed; cancelled items are not yielded.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    for address, worker in sorted(workers.items()):
        if worker["nthreads"] != 1:
            raise ParameterError(
                f"The worker {address} has {worker['nthreads']} threads, and this needs workers with one each. "
                f"Start them with: dask worker --nthreads 1"
            )
    yield from _tasks(client, work, items, shared, math.inf if limit is None else time.monotonic() + limit)


def _tasks(
    client: Any, work: Callable[..., Any], items: Sequence[Any], shared: Any, end: float = math.inf
) -> Iterator[tuple[int, Any, str | None]]:
    """Yield the number of each item, and its result or why it failed; until the time `end`."""
    with warnings.catch_warnings():
        # A task, not scattered data: it can be run again if all processes that hold the data die.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        data = client.submit(_same, shared, pure=False)
    futures = client.map(work, items, shared=data, pure=False)
    number = {future.key: i for i, future in enumerate(futures)}
    left = {future.key: future for future in futures}
    futures.clear()  # so that results are freed once they are read
    failed = []
    try:
        for future in _finished(client, list(left.values()), end):
            i = number[left.pop(future.key).key]
            if future.status == "error":
                failed.append(i)
            else:
                yield i, future.result(), None
        # When a process dies, Dask fails every task assigned to it. Alone, only the culprit fails again.
        for i in failed:
            left[""] = client.submit(work, items[i], shared=data, pure=False)
            (future,) = _finished(client, [left[""]], end)
            error = future.exception()
            yield (i, None, _reason(error)) if error else (i, future.result(), None)
    except TimeoutError:
        return
    finally:
        client.cancel(list(left.values()))


def _finished(client: Any, futures: list[Any], end: float) -> Iterator[Any]:
    """Yield futures as they are done.

    Dask restarts a process that died, but not one that dies while it starts. If no worker is left, Dask would wait
    for ever.

    Raises
    ------
    HedgerowError
        If there is no worker for half a minute.
    TimeoutError
        At the time `end` of `time.monotonic`.
    """
    from distributed import as_completed

    waiting = as_completed(futures)
    futures.clear()
    alive = next_check = time.monotonic()
    while not waiting.is_empty():
        if waiting.has_ready():
            yield next(waiting)
            alive = time.monotonic()
            continue
        time.sleep(_POLL)
        if (now := time.monotonic()) > end:
            raise TimeoutError
        if now < next_check:
            continue
        next_check = now + _POLL_WORKERS
        if client.scheduler_info(n_workers=1)["workers"]:
            alive = now
        elif now - alive > _PATIENCE:
            raise HedgerowError(
                "No worker is left: all processes died, perhaps for lack of memory. Use fewer workers, or smaller "
                "parts."
            )


def _same(data: Any) -> Any:
    """Return the data; a task that does so can be run again if the processes that hold its result die."""
    return data


def _reason(error: BaseException) -> str:
    """Return why a task failed."""
    if type(error).__name__ == "KilledWorker":
        return "the processes that worked on it died, perhaps for lack of memory"
    return f"{type(error).__name__}: {error}"
