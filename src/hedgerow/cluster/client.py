"""Dask clients: of worker processes on this machine, or of a running scheduler."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError, argument, some

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

VERSION = version("hedgerow")
_PATIENCE = 10  # seconds
_ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
_DASK_THRESHOLD = 65536


@contextmanager
def connect(*, workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Start worker processes on this machine, or connect to a scheduler, and yield a Dask client.

    Without either, yield None: Dask is not needed then.

    Parameters
    ----------
    workers
        Number of processes to start; they end with the `with` block.
    scheduler
        The address of a running scheduler, such as "tcp://10.0.0.1:8786"; it must answer within ten seconds.

    Raises
    ------
    ParameterError
        If both are given, Dask is not installed, or the scheduler does not answer, has no workers, or has workers
        with another version of hedgerow.
    """
    if workers is not None and scheduler is not None:
        given = argument("workers", "N"), argument("scheduler", "ADDRESS")
        raise ParameterError(f"Give {given[0]} or {given[1]}, not both.")
    if workers is None and scheduler is None:
        yield None
        return
    distributed = _distributed()
    if scheduler is None:
        with (
            _default_malloc(),
            _local_cluster(distributed, workers) as cluster,
            distributed.Client(cluster, direct_to_workers=True) as client,  # not through the scheduler
        ):
            yield client
        return
    with _client_of(distributed, scheduler) as client:
        check_workers(client)
        yield client


def _local_cluster(distributed: Any, workers: int | None) -> Any:
    try:
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,  # of workers that are killed while they start, an error says it
        )
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ParameterError(
            f"The worker processes could not be started ({error}). If they were killed, memory may be short: use "
            f"fewer, such as {argument('workers', '1')}."
        ) from None


def _default_malloc() -> AbstractContextManager[Any]:
    """Keep Dask from changing how much freed memory its workers keep.

    With its setting, every freed array goes back to the system, and the next one needs fresh pages: blocks of a
    few megabytes take two or three times as long.
    """
    import dask

    environment = dict(dask.config.get(_ENVIRONMENT))
    if environment.get("MALLOC_TRIM_THRESHOLD_") == _DASK_THRESHOLD:  # any other is the user's
        del environment["MALLOC_TRIM_THRESHOLD_"]
    return dask.config.set({_ENVIRONMENT: environment})


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise ParameterError(
            "Several workers need Dask, which is not installed: pip install 'hedgerow[dask]'"
        ) from None
    return distributed


def _client_of(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError):  # ValueError: not an address at all
        raise ParameterError(
            f"No Dask scheduler answers at {address}, after {_PATIENCE} seconds. Check the address, or start one: "
            f"dask scheduler"
        ) from None


def check_workers(client: Any) -> None:
    """Raise an error if a client has no workers, or some with another version of hedgerow."""
    address = client.scheduler.address
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise ParameterError(
            f"The scheduler at {address} has no workers. Start some: dask worker {address}"
        ) from None
    versions = client.run(version_here, on_error="return")
    others = {worker: found for worker, found in versions.items() if found != VERSION}
    if others:
        worker, found = min(others.items())
        what = "no importable hedgerow" if isinstance(found, BaseException) else f"hedgerow {found}"
        raise ParameterError(
            f"The worker {worker} has {what}, and this process {VERSION}. This concerns {len(others):,} of "
            f"{len(versions):,} workers: {some(sorted(others), 3)}. Install hedgerow {VERSION} on all of them."
        )


def version_here() -> str:
    """Return the version of hedgerow in the process that runs this."""
    return VERSION
