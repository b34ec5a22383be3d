"""What a reader may do with a file: return something, or raise a HedgerowError; in bounded time and memory."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings

from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fuzz.readers import Files, Reader

MOST_MEMORY = 1 << 30
"""Bytes that a case may add to the largest memory of the process."""
MOST_TIME = 10.0
"""Seconds of the processor that a case may take."""

counts: Counter[str] = Counter()
"""Cases tried, by reader and by outcome."""
excesses: list[str] = []
"""Cases that took too much; they cannot be tried again, as the largest memory never shrinks."""


class FuzzError(AssertionError):
    """A reader did something that it must not do."""


# An attacker can compute digests; with those of the files, readers would not look further.
_FITTING = patch("hedgerow.files.documents.content_digest", lambda content, *_: content.get("digest"))


def peak() -> int:
    """Return the largest memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def attempt(reader: Reader, files: Files) -> None:
    """Let a reader read some files."""
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer, "case")
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        before, begun = peak(), time.process_time()
        counts[reader.name] += 1
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(None), _FITTING:
                warnings.simplefilter("ignore")
                reader.read(folder)
            counts["read"] += 1
        except HedgerowError:
            counts["refused"] += 1
        except Exception as error:
            raise FuzzError(f"{reader.name}: {type(error).__name__}: {error}") from error
        grown, taken = peak() - before, time.process_time() - begun
        if grown > MOST_MEMORY or taken > MOST_TIME:
            excesses.append(f"{reader.name}: took {grown >> 20:,} MiB and {taken:.1f} s for {files!r}")


def copies(files: Files, count: int) -> Iterator[Files]:
    """Yield copies of files with some bytes changed in one of them; they depend on the files alone."""
    chance = random.Random(zlib.crc32(b"".join(files.values())))  # noqa: S311
    for _ in range(count):
        name = chance.choice(sorted(files))
        data = bytearray(files[name])
        for _ in range(chance.choice([1, 1, 2, 5])):
            start = chance.randrange(len(data) + 1)
            new = chance.choice([chance.randbytes(1), chance.randbytes(4), b"\xff\xff\xff\xff", b"\0", b"", b'"'])
            data[start : start + chance.choice([0, 1, 4, 4, 30])] = new
        yield files | {name: bytes(data)}


def trial(reader: Reader, examples: int, *, start: int | None = None, more: int = 0) -> Callable[[], None]:
    """Return a function that tries files.

    Parameters
    ----------
    reader
        Who reads them.
    examples
        How many hypothesis draws.
    start
        The seed; by default the files are always the same.
    more
        Copies of each to be damaged, which is much faster than drawing.
    """
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
        for case in (files, *copies(files, more if files else 0)):
            attempt(reader, case)

    wanted: Callable[[], None] = run if start is None else seed(start)(run)
    return wanted


def in_memory() -> None:
    """Put the many small files of the cases where they cost no disk, if there is such a place."""
    if Path("/dev/shm").is_dir() and os.access("/dev/shm", os.W_OK):  # noqa: S108
        tempfile.tempdir = "/dev/shm"  # noqa: S108
