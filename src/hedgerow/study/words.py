"""What a study says on the terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hedgerow.study.cells import Cell
    from hedgerow.study.run import Report


@contextmanager
def bar(cells: int, missing: int) -> Iterator[Callable[[Cell], None]]:
    """Show how many cells are done and the time left; where nobody watches, a line a cell."""
    console = Console(stderr=True, highlight=False)
    if missing < cells:
        console.print(f"{cells - missing} of {cells} cells have their record already.")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=console, disable=not console.is_terminal)
    task = progress.add_task(f"Training {missing} cells", total=missing)
    ended = 0

    def done(cell: Cell) -> None:
        nonlocal ended
        ended += 1
        progress.update(task, advance=1, description=cell.title)
        if not console.is_terminal:
            console.print(f"[{ended}/{missing}] {cell.task}: {cell.title}", markup=False)

    with progress:
        yield done


def print_report(report: Report, console: Console) -> None:
    """Print every table and what it shows, what failed, and what to look at."""
    for found in report.findings.values():
        for table in found.tables.values():
            console.print(table.rich())
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
