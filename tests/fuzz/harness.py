"""What a reader may do with a file: return something, or raise a HedgerowError; in bounded time and memory."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, seed, settings

from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.readers import Files, Reader

MOST_MEMORY = 1 << 30
"""Bytes that a case may add to the largest memory of the process."""
MOST_TIME = 10.0
"""Seconds that a case may take, if time is looked at."""

counts: Counter[str] = Counter()
"""Cases tried, by reader and by outcome."""


class FuzzError(AssertionError):
    """A reader did something that it must not do."""


def peak() -> int:
    """Return the largest memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def attempt(reader: Reader, files: Files, *, timed: bool = False) -> None:
    """Let a reader read some files."""
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer, "case")
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        before, begun = peak(), time.perf_counter()
        counts[reader.name] += 1
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(None):
                warnings.simplefilter("ignore")
                reader.read(folder)
            counts["read"] += 1
        except HedgerowError:
            counts["refused"] += 1
        except Exception as error:
            raise FuzzError(f"{reader.name}: {type(error).__name__}: {error}") from error
        grown, taken = peak() - before, time.perf_counter() - begun
        if grown > MOST_MEMORY or (timed and taken > MOST_TIME):
            size = sum(map(len, files.values()))
            raise FuzzError(f"{reader.name}: {size:,} bytes took {grown >> 20:,} MiB and {taken:.1f} s")


def trial(reader: Reader, examples: int, *, start: int | None = None, timed: bool = False) -> Callable[[], None]:
    """Return a function that tries so many files; `start` is the seed, by default always the same files."""
    chosen = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=start is None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )

    @chosen
    @given(reader.files)
    def run(files: Files) -> None:
        attempt(reader, files, timed=timed)

    wanted: Callable[[], None] = run if start is None else seed(start)(run)
    return wanted


def in_memory() -> None:
    """Put the many small files of the cases where they cost no disk, if there is such a place."""
    if Path("/dev/shm").is_dir() and os.access("/dev/shm", os.W_OK):  # noqa: S108
        tempfile.tempdir = "/dev/shm"  # noqa: S108
