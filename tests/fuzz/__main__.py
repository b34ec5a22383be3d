"""Try every reader with new files for some minutes: `python -m tests.fuzz MINUTES`; see `make fuzz`."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
import traceback

from tests.fuzz.harness import counts, excesses, in_memory, peak, trial
from tests.fuzz.readers import READERS, Reader

AT_ONCE, COPIES = 40, 9
"""Files that one reader is tried with before it is the next one's turn, and damaged copies of each."""


def main(minutes: float) -> int:
    """Print how many files were tried, and every different failure; return their number."""
    in_memory()
    begun = time.monotonic()
    first = time.time_ns() % 1_000_000
    print(f"fuzzing {len(READERS)} readers for {minutes:g} minutes, first seed {first}", flush=True)
    findings: dict[str, str] = {}
    with contextlib.suppress(KeyboardInterrupt):
        for start, reader in enumerate(itertools.cycle(READERS), first):
            if time.monotonic() - begun > 60 * minutes:
                break
            search(reader, start, findings)
    tried = sum(counts[reader.name] for reader in READERS)
    print(f"{tried:,} cases in {(time.monotonic() - begun) / 60:.1f} minutes, at most {peak() >> 20:,} MiB:")
    print(f"{counts['read']:,} were read, {counts['refused']:,} were refused, {len(findings)} different failures")
    print(f"{len(excesses)} took more than 1 GiB or 10 s")
    for reader in READERS:
        print(f"  {reader.name}: {counts[reader.name]:,}")
    for message in [*(f"{key}: {message}" for key, message in findings.items()), *excesses]:
        print(f"FOUND {message[:1000]}")
    return len(findings) + len(excesses)


def search(reader: Reader, start: int, findings: dict[str, str]) -> None:
    """Try one reader for a while; note and print a failure that is not known yet."""
    try:
        trial(reader, AT_ONCE, start=start, more=COPIES)()
    except Exception as error:
        last = traceback.extract_tb((error.__cause__ or error).__traceback__)[-1]
        key = f"{reader.name}: {type(error.__cause__).__name__} at {last.filename}:{last.lineno}"
        if key not in findings:
            findings[key] = str(error)
            print(f"FOUND (seed {start}) {key}\n", "".join(traceback.format_exception(error)), flush=True)


if __name__ == "__main__":
    sys.exit(min(1, main(float(sys.argv[1]) if len(sys.argv) > 1 else 1)))
