"""Tasks for whoever has many: a function called on every item, on the workers of a Dask client."""

from __future__ import annotations

import math
import time
import warnings
from typing import TYPE_CHECKING, Any

from hedgerow.cluster.engine import alone, finished, same
from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def run_tasks(
    client: Any, work: Callable[..., Any], items: Sequence[Any], shared: Any, *, limit: float | None = None
) -> Iterator[tuple[int, Any, str | None]]:
    """Call a function on every item, one at a time in each process, and yield what it returned, as it comes.

    Parameters
    ----------
    client
        A Dask client whose workers have one thread each: what the function does to its process, such as setting a
        random seed, must not reach other items.
    work
        A function of an item and `shared`.
    items, shared
        What to work on, and what all of them need, which is sent to each worker once.
    limit
        Seconds after which no further item starts, and those being worked on are given up.

    Yields
    ------
    number, result, failure
        The number of the item, and what the function returned, or why it did not; items that were given up are not
        yielded.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    for address, worker in sorted(workers.items()):
        if worker["nthreads"] != 1:
            raise ParameterError(
                f"The worker {address} has {worker['nthreads']} threads, and this needs workers with one each. "
                f"Start them with: dask worker --nthreads 1"
            )
    from distributed import as_completed

    end = math.inf if limit is None else time.monotonic() + limit
    with warnings.catch_warnings():
        # A task and not scattered: it can be made again if all processes that hold the data die.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        data = client.submit(same, shared, pure=False)
    futures = client.map(work, items, shared=data, pure=False)
    number = {future.key: i for i, future in enumerate(futures)}
    failed: list[int] = []
    try:
        for future in finished(client, as_completed(futures), end):
            if future.status == "error":
                failed.append(number[future.key])
            else:
                yield number[future.key], future.result(), None
        for i in failed:
            futures.append(client.submit(work, items[i], shared=data, pure=False))
            yield i, *alone(client, futures[-1], end)
    except TimeoutError:
        return
    finally:
        client.cancel(futures)
