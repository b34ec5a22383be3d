"""Try every reader with new files for some minutes: `python -m tests.fuzz MINUTES`; see `make fuzz`."""

from __future__ import annotations

import sys
import time
import traceback

from tests.fuzz.harness import counts, excesses, in_memory, peak, trial
from tests.fuzz.readers import READERS

AT_ONCE, COPIES = 40, 9
"""Files that one reader is tried with before it is the next one's turn, and damaged copies of each."""


def main(minutes: float) -> int:
    """Print how many files were tried, and every different failure; return their number."""
    in_memory()
    begun = time.monotonic()
    findings: dict[str, str] = {}
    start = time.time_ns() % 1_000_000
    print(f"fuzzing {len(READERS)} readers for {minutes:g} minutes, first seed {start}")
    while time.monotonic() - begun < 60 * minutes:
        for reader in READERS:
            start += 1
            try:
                trial(reader, AT_ONCE, start=start, more=COPIES)()
            except Exception as error:
                last = traceback.extract_tb((error.__cause__ or error).__traceback__)[-1]
                key = f"{reader.name}: {type(error.__cause__).__name__} at {last.filename}:{last.lineno}"
                if key not in findings:
                    findings[key] = str(error)
                    print(f"FOUND (seed {start}) {key}\n", "".join(traceback.format_exception(error)), flush=True)
    tried = sum(counts[reader.name] for reader in READERS)
    print(f"{tried:,} cases in {(time.monotonic() - begun) / 60:.1f} minutes, at most {peak() >> 20:,} MiB:")
    print(f"{counts['read']:,} were read, {counts['refused']:,} were refused, {len(findings)} different failures")
    print(f"{len(excesses)} took more than 1 GiB or 10 s")
    for reader in READERS:
        print(f"  {reader.name}: {counts[reader.name]:,}")
    for key, message in findings.items():
        print(f"FOUND {key}: {message[:300]}")
    for message in excesses:
        print(f"FOUND {message[:1000]}")
    return len(findings) + len(excesses)


if __name__ == "__main__":
    sys.exit(min(1, main(float(sys.argv[1]) if len(sys.argv) > 1 else 1)))
