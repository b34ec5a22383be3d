"""Work on every part, and results merged in a tree: in this process, or as Dask tasks."""

from __future__ import annotations

import math
import secrets
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

from hedgerow import __version__
from hedgerow.arrays import at_most_threads
from hedgerow.errors import HedgerowError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from hedgerow.cluster.sources import Source
    from hedgerow.tree import Hierarchy

_AT_ONCE = 8  # results that are merged into one
_NAMED = 10  # failures that a message lists
_POLL, _LOOK = 0.02, 1.0  # seconds between looks for results, and for workers
_PATIENCE = 30.0  # seconds without any worker

PartsProgress: TypeAlias = "Callable[[int], AbstractContextManager[Callable[[int], None]]]"
"""Called with the number of parts; the `with` block gets a function to call with the examples of each one done."""


def unseen(_parts: int, /) -> AbstractContextManager[Any]:
    """Show no progress."""
    return nullcontext(lambda _examples: None)


@final
@dataclass(frozen=True)
class Failure:
    """A part that could not be worked on, and why."""

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
        What the others gave, if there are any.
    """

    def __init__(self, failures: Sequence[Failure], parts: int, finished: Any = None) -> None:
        self.failures = tuple(failures)
        self.finished = finished
        lines = [f"  {failure.part}: {_without(failure)}" for failure in failures[:_NAMED]]
        if len(failures) > _NAMED:
            lines.append(f"  and {len(failures) - _NAMED:,} more")
        failed = f"{len(failures):,} of {counted(parts, 'part', 'parts')} failed"
        super().__init__("\n".join([f"{failed}:", *lines]))


def _without(failure: Failure) -> str:
    """Return the message of a failure without the name of the part, if it starts with it."""
    return failure.message.removeprefix(failure.part).lstrip(" :")


class Job(ABC):
    """What to do with every part, and how to put the results together; it is sent to the workers."""

    @abstractmethod
    def work(self, hierarchy: Hierarchy, source: Source) -> tuple[Any, int]:
        """Return the result of a part and the number of its examples."""

    @abstractmethod
    def merged(self, hierarchy: Hierarchy, results: Sequence[Any]) -> Any:
        """Return the result of several parts from theirs; neither order nor grouping may matter."""


@final
@dataclass(frozen=True)
class Outcome:
    """What some parts gave, and which of them failed."""

    results: tuple[Any, ...] = ()
    """One result, or none if all parts failed."""
    failures: tuple[Failure, ...] = ()


def run(
    job: Job,
    hierarchy: Hierarchy,
    sources: Sequence[Source],
    client: Any = None,
    progress: PartsProgress = unseen,
) -> Any:
    """Work on all parts and return the merged result; if parts failed, finish the others and raise an error."""
    with progress(len(sources)) as advance:
        if client is None:
            outcome = _one_by_one(job, hierarchy, sources, advance)
        else:
            outcome = _as_tasks(job, hierarchy, sources, client, advance)
    result = outcome.results[0] if outcome.results else None
    if outcome.failures:
        place = {source.name: i for i, source in enumerate(sources)}
        raise PartsError(sorted(outcome.failures, key=lambda failure: place[failure.part]), len(sources), result)
    return result


def _one_by_one(
    job: Job, hierarchy: Hierarchy, sources: Sequence[Source], advance: Callable[[int], None]
) -> Outcome:
    levels: list[list[Outcome]] = [[]]  # outcomes of single parts, then of eight, then of sixty-four, ...
    for source in sources:
        outcome, examples = work_on(job, hierarchy, source)
        advance(examples)
        levels[0].append(outcome)
        for i, level in enumerate(levels):
            if len(level) == _AT_ONCE:
                if i + 1 == len(levels):
                    levels.append([])
                levels[i + 1].append(merge(job, hierarchy, level))
                level.clear()
    return merge(job, hierarchy, [outcome for level in levels for outcome in level])


def work_on(job: Job, hierarchy: Hierarchy, source: Source) -> tuple[Outcome, int]:
    """Work on one part; whatever goes wrong is the outcome."""
    try:
        result, examples = job.work(hierarchy, source)
    except HedgerowError as error:
        return Outcome(failures=(Failure(source.name, str(error)),)), 0
    except Exception as error:  # a library underneath, the disk, the memory: the other parts go on
        return Outcome(failures=(Failure(source.name, f"{type(error).__name__}: {error}"),)), 0
    return Outcome((result,)), examples


def merge(job: Job, hierarchy: Hierarchy, outcomes: Sequence[Outcome]) -> Outcome:
    """Merge outcomes into one."""
    results = [result for outcome in outcomes for result in outcome.results]
    failures = tuple(failure for outcome in outcomes for failure in outcome.failures)
    return Outcome((job.merged(hierarchy, results),) if results else (), failures)


# As Dask tasks ----------------------------------------------------------------------------------------------


def _as_tasks(
    job: Job, hierarchy: Hierarchy, sources: Sequence[Source], client: Any, advance: Callable[[int], None]
) -> Outcome:
    topic = f"hedgerow-{secrets.token_hex(8)}"
    with _telling(client, topic, advance):
        # A task and not scattered: it can be made again if all processes that hold it die.
        tree = client.submit(same, hierarchy, key=f"{topic}-tree")
        common = {"job": job, "hierarchy": tree, "pure": False}
        work = partial(_work_task, topic=topic, version=__version__)
        found, failed = _merged_as_done(client, client.map(work, range(len(sources)), sources, **common), common)
        for number in failed:
            result, why = alone(client, client.submit(work, number, sources[number], **common))
            found.append(Outcome(failures=(Failure(sources[number].name, why),)) if why else result)
        return merge(job, hierarchy, found)


@contextmanager
def _telling(client: Any, topic: str, advance: Callable[[int], None]) -> Iterator[None]:
    """Call `advance` with the examples of each part that a worker has done, once."""
    told: set[int] = set()

    def hear(event: Any) -> None:
        number, examples = event[1]
        if number not in told:  # a part is done again if the process that holds its result dies
            told.add(number)
            advance(examples)

    client.subscribe_topic(topic, hear)
    try:
        yield
    finally:
        client.unsubscribe_topic(topic)


def _merged_as_done(client: Any, parts: list[Any], common: dict[str, Any]) -> tuple[list[Outcome], list[int]]:
    """Merge the outcomes of parts as they are done; return what is left in the end, and which parts failed."""
    from distributed import as_completed

    numbers = {future.key: number for number, future in enumerate(parts)}
    done = as_completed(parts)
    parts.clear()  # a result that nobody holds is freed
    waiting: list[Any] = []
    failed: list[int] = []
    merging: dict[str, list[Any]] = {}  # what a merge was made from, by its key
    for future in finished(client, done):
        if future.key not in merging:
            if future.status == "error":
                failed.append(numbers[future.key])
            else:
                waiting.append(future)
        elif future.status != "error":
            merging.pop(future.key)
            waiting.append(future)
        elif not _was_killed(future.exception()):
            future.result()  # raises its error
        else:  # once more, with what is still there
            given = merging.pop(future.key)
            failed += [numbers[one.key] for one in given if one.status == "error"]
            waiting += [one for one in given if one.status != "error"]
        # Merges come before parts, so that few results wait on the workers.
        if len(waiting) >= _AT_ONCE or (len(waiting) > 1 and done.is_empty()):
            merged = client.submit(_merge_task, waiting, priority=1, **common)
            merging[merged.key] = waiting
            done.add(merged)
            waiting = []
    return [future.result() for future in waiting], failed


def alone(client: Any, future: Any, end: float = math.inf) -> tuple[Any, str | None]:
    """Wait for a task that failed among others and is done again; return its result, or why it failed again.

    When a process dies, Dask blames all that was to be done there. Alone, only the culprit fails again.
    """
    from distributed import as_completed

    (done,) = finished(client, as_completed([future]), end)
    error = done.exception()
    return (None, reason(error)) if error else (done.result(), None)


def finished(client: Any, futures: Any, end: float = math.inf) -> Iterator[Any]:
    """Yield the futures of an `as_completed` as they are done.

    Dask starts a process again that died, but not one that dies while it is being started. So there may be no
    worker left, for which Dask itself would wait for ever.

    Raises
    ------
    HedgerowError
        If there is no worker for half a minute.
    TimeoutError
        At the time `end`, as `time.monotonic` counts it.
    """
    alive = look = time.monotonic()
    while not futures.is_empty():
        if futures.has_ready():
            yield next(futures)
            alive = time.monotonic()
            continue
        time.sleep(_POLL)
        if (now := time.monotonic()) > end:
            raise TimeoutError
        if now < look:
            continue
        look = now + _LOOK
        if client.scheduler_info(n_workers=1)["workers"]:
            alive = now
        elif now - alive > _PATIENCE:
            raise HedgerowError(
                "No worker is left: all processes died, perhaps for lack of memory. Use fewer workers, or smaller "
                "parts."
            )


def same(data: Any) -> Any:
    """Return the data; a task that does so can be run again if the processes that hold its result die."""
    return data


def _work_task(
    number: int, source: Source, *, job: Job, hierarchy: Hierarchy, topic: str, version: str
) -> Outcome:
    from distributed import get_worker

    if version != __version__:  # a worker that joined after the versions were compared
        message = f"a worker has hedgerow {__version__}, and this process {version}: install the same version"
        return Outcome(failures=(Failure(source.name, message),))
    with at_most_threads(1):  # Dask runs as many tasks as a worker has threads
        outcome, examples = work_on(job, hierarchy, source)
    get_worker().log_event(topic, (number, examples))
    return outcome


def _merge_task(outcomes: Sequence[Outcome], *, job: Job, hierarchy: Hierarchy) -> Outcome:
    with at_most_threads(1):
        return merge(job, hierarchy, outcomes)


def reason(error: BaseException) -> str:
    """Say why a task failed."""
    if _was_killed(error):
        return "the processes that worked on it died, perhaps for lack of memory"
    return f"{type(error).__name__}: {error}"


def _was_killed(error: BaseException) -> bool:
    return type(error).__name__ == "KilledWorker"
