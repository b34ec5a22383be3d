"""What a study says on the terminal."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console

from hedgerow.show import live_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hedgerow.study.cells import Cell
    from hedgerow.study.run import Report


@contextmanager
def bar(cells: int, missing: int) -> Iterator[Callable[[Cell], None]]:
    """Print a line a cell on the standard output; where somebody watches, show a bar with the time left."""
    out = Console(highlight=False, markup=False, soft_wrap=True)
    if missing < cells:
        out.print(f"{cells - missing} of {cells} cells have their record already.")
    begun, ended = time.monotonic(), 0
    with live_bar(out if out.is_terminal else Console(stderr=True), counted=True) as progress:
        task = progress.add_task("Training", total=missing)

        def done(cell: Cell) -> None:
            nonlocal ended
            ended += 1
            passed = timedelta(seconds=round(time.monotonic() - begun))
            out.print(f"[{ended}/{missing}] {passed} {cell.task}: {cell.title}")
            progress.advance(task)

        yield done


def print_report(report: Report, console: Console) -> None:
    """Print every table and what it shows, what failed, and what to look at."""
    for found in report.findings.values():
        for table in found.tables.values():
            table.print(console)
            for note in table.notes:
                console.print(note, style="dim", markup=False, highlight=False)
        if found.sentences:
            console.print("\n" + " ".join(found.sentences) + "\n", markup=False, highlight=False)
    if report.failures:
        console.print(f"{len(report.failures)} of {report.cells} cells have no record:", style="red")
        for failure in report.failures:
            console.print(f"  {failure.cell.task}: {failure.cell.title}: {failure.message}", markup=False)
        console.print(
            f"Run the same command again to try these alone; {report.folder / 'failed.txt'} has the details.",
            markup=False,
            soft_wrap=True,
        )
    if report.files:
        pictures = [str(path) for path in report.files if path.suffix == ".png"]
        shown = " and ".join([str(report.files[0]), *pictures[:1]])
        console.print(f"Open {shown}.", markup=False, highlight=False, soft_wrap=True)
